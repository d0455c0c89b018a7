"""From paths, folders and globs to the files that hold the data, all of one kind.

Folders are searched to any depth; names that start with ``_`` or ``.`` are bookkeeping, as for Spark, and files of
kinds that tacit does not read are passed over.
"""

from __future__ import annotations

import glob
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tacit.vocabulary.errors import DataError

__all__ = ["KINDS", "Paths", "SourceFile", "files_inside", "find_files", "fits", "kind_of", "names_of"]

Paths = str | Path | Sequence[str | Path]

KINDS = {"parquet": (".parquet",), "csv": (".csv",), "json": (".json", ".jsonl", ".ndjson")}
_PACKED = ("", ".gz", ".bz2")  # in small letters only: Spark unpacks no others
_READS = "tacit reads .parquet, .csv, .json, .jsonl and .ndjson (text also as .gz or .bz2)"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """One data file; ``root`` is the folder it was found in when its path holds partition values (``year=2016``)."""

    path: Path
    kind: str
    root: Path | None = None


def names_of(kind: str) -> tuple[str, ...]:
    """Patterns of the names that files of a kind have, in capitals or not; Spark and Python read them alike.

    >>> names_of("parquet")
    ('*.[pP][aA][rR][qQ][uU][eE][tT]',)
    """
    packed = ("",) if kind == "parquet" else _PACKED
    endings = ["".join(f"[{each}{each.upper()}]" if each != "." else "." for each in ending) for ending in KINDS[kind]]
    return tuple("*" + ending + each for ending in endings for each in packed)


def fits(name: str, patterns: Iterable[str]) -> bool:
    """Does a name fit one of the patterns?

    >>> fits("A.CSV", names_of("csv")), fits("a.csv.part", names_of("csv"))
    (True, False)
    """
    return any(fnmatchcase(name, pattern) for pattern in patterns)


_NAMES = {kind: names_of(kind) for kind in KINDS}


def kind_of(path: Path) -> str | None:
    """The kind of a file by its name.

    >>> kind_of(Path("air.csv.gz")), kind_of(Path("AIR.NDJSON")), kind_of(Path("README.md"))
    ('csv', 'json', None)
    """
    return next((kind for kind, patterns in _NAMES.items() if fits(path.name, patterns)), None)


def find_files(paths: Paths) -> tuple[SourceFile, ...]:
    """Every data file that the paths name, in a fixed order; DataError when one names nothing or kinds are mixed."""
    wanted = [paths] if isinstance(paths, (str, Path)) else list(paths)
    if not wanted:
        raise DataError("no data is named; give at least one file, folder or glob")
    found: dict[Path, SourceFile] = {}
    for each in wanted:
        for file in _expand(str(each)):
            found.setdefault(file.path, file)
    files = tuple(found.values())
    for file in files:
        if file.kind != files[0].kind:
            raise DataError(
                f"the data mixes kinds: {files[0].path} is {files[0].kind} and {file.path} is {file.kind}; "
                "name files of one kind"
            )
        if file.path.stat().st_size == 0:
            raise DataError(f"{file.path} is empty")
    return files


def _expand(text: str) -> list[SourceFile]:
    if "://" in text and not text.startswith("file://"):
        raise DataError(f"{text} is not on this machine's file system; copy the data to where this machine reads it")
    text = text.removeprefix("file://")
    path = Path(text).expanduser()
    if path.exists():
        return _one(path)
    if not glob.has_magic(text):
        raise DataError(f"{text} does not exist")
    matches = sorted(glob.glob(str(path), recursive=True))
    if not matches:
        raise DataError(f"no file matches {text}")
    return [file for match in matches for file in _one(Path(match))]


def _one(path: Path) -> list[SourceFile]:
    path = path.resolve()
    if path.is_dir():
        return _inside(path)
    kind = kind_of(path)
    if kind is None:
        raise DataError(f"{path} is of a kind that tacit does not read; {_READS}")
    return [SourceFile(path, kind)]


def _inside(folder: Path) -> list[SourceFile]:
    files = files_inside(folder)
    if not files:
        raise DataError(f"the folder {folder} holds no data file; {_READS}")
    return files


def files_inside(folder: Path, kind: Callable[[Path], str | None] = kind_of) -> list[SourceFile]:
    """The data files in a folder, to any depth, of whatever kinds; ``kind`` says of which one a file is, if any."""
    files = []
    for path in sorted(folder.rglob("*")):
        inner = path.relative_to(folder)
        hidden = any(part.startswith((".", "_")) for part in inner.parts)
        found = kind(path)
        if found is not None and not hidden and path.is_file():
            partitioned = any("=" in part for part in inner.parts[:-1])
            files.append(SourceFile(path, found, folder if partitioned else None))
    return files
