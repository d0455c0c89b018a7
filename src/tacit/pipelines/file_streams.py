"""A folder that grows, as a streaming DataFrame: Parquet, CSV or JSON files, each read once.

The columns are those of the files that are there at first, unless a schema is given: a folder that is still empty
needs one. Only files of the folder's kind count, by their names; so a file that is still being written belongs under
another name (``.part``) until it is complete, and files that are called otherwise need Spark's option
``pathGlobFilter``. Times without a zone are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import types as st

from tacit.pipelines.files import KINDS, SourceFile, files_inside, fits, kind_of, names_of
from tacit.pipelines.sources import from_nanoseconds, read_files
from tacit.pipelines.text_checks import holds_array, separator_of, spark_path
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["READ_AS", "files_of", "open_files", "readable"]

_LOOKED_AT = 16  # files that the columns are taken from
_NAMES = "pathGlobFilter"  # Spark's option for names; who sets it says himself which files count
_OF_FILES = (_NAMES, "maxFilesPerTrigger", "maxFileAge", "recursiveFileLookup", "cleanSource", "sourceArchiveDir")
_COMING = ("*.part", "*.tmp", "*._COPYING_")  # not complete yet
READ_AS = {
    # A header that differs from the columns is an error, not values in wrong columns.
    "csv": {"header": "true", "timeZone": "UTC", "escape": '"', "enforceSchema": "false"},
    "json": {"timeZone": "UTC"},
    "parquet": {},
}
# Spark forgets files so much older than the newest, to keep its list of files that it has seen short; one that is then
# copied in with its old time would never be read.
_FILE_AGE_MAX = "365d"


def open_files(
    spark: SparkSession, folder: str, *, kind: str | None, schema: st.StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """The files of a folder as a stream; ``kind`` is parquet, csv or json, and by default what the files' names say."""
    if kind is not None and kind not in KINDS:
        raise OptionError(f"a table's format is {kind!r}, but must be one of {', '.join(KINDS)}")
    if "://" in folder and not folder.startswith("file://"):
        return _open_elsewhere(spark, folder, kind, schema, options)
    path = Path(folder.removeprefix("file://")).expanduser().absolute()
    if not path.is_dir():
        raise DataError(f"{path} is not a folder; a table of files needs one that they come into")
    files = files_of(path, kind, options)[:_LOOKED_AT]
    if not files and kind is not None:
        _check_not_all_skipped(path, kind, options.get(_NAMES))
    if not files and (kind is None or schema is None):
        raise DataError(
            f"the folder {path} holds no {kind or 'data'} file yet, so its columns are not known; give a format and a "
            "schema, as in 'ts TIMESTAMP, value DOUBLE', or put a first file there"
        )
    kind = kind or files[0].kind
    chosen = {**READ_AS[kind], _NAMES: _glob(kind), "maxFileAge": _FILE_AGE_MAX}
    if not any(file.root for file in files):  # else the names of folders hold values, and Spark reads those
        chosen["recursiveFileLookup"] = "true"
    if kind == "json" and any(holds_array(file.path) for file in files):
        chosen["multiLine"] = "true"
    if kind == "csv" and files:
        chosen["sep"] = separator_of(files[0].path, options)
    known = schema or read_files(spark, files, readable(options)).schema
    written = known if schema is not None or kind != "parquet" else _as_written(spark, files)
    reader = spark.readStream.format(kind).options(**{**chosen, **options}).schema(written)
    numbers = [a.name for a in written if a.dataType == st.LongType() != known[a.name].dataType]
    frame = reader.load(spark_path(path))
    return frame.withColumns({name: from_nanoseconds(name) for name in numbers}) if numbers else frame


def readable(options: Mapping[str, str]) -> dict[str, str]:
    """The options without those that say which files count, and how many at once."""
    return {name: value for name, value in options.items() if name not in _OF_FILES}


def files_of(path: Path, kind: str | None, options: Mapping[str, str]) -> list[SourceFile]:
    """The files of a table that are there already; those without content say nothing."""
    names = options.get(_NAMES)
    if names is None:
        inside = [file for file in files_inside(path) if kind in (None, file.kind)]
    else:
        inside = files_inside(path, lambda file: (kind or kind_of(file)) if fits(file.name, [names]) else None)
    found = [file for file in inside if file.path.stat().st_size]
    kinds = sorted({file.kind for file in found})
    if len(kinds) > 1:
        raise DataError(f"the folder {path} holds {' and '.join(kinds)} files; say which format the table has")
    return found


def _check_not_all_skipped(path: Path, kind: str, names: str | None) -> None:
    """Where every file that is there would be passed over, those to come would be too, without a word."""
    there = files_inside(path, lambda file: None if fits(file.name, _COMING) else "any")
    if names is None and there and not any(fits(file.path.name, names_of(kind)) for file in there):
        *most, last = KINDS[kind]
        endings = f"{', '.join(most)} or {last}" if most else last
        name = there[0].path.name
        pattern = f"*{there[0].path.suffix}" if there[0].path.suffix else name
        raise DataError(
            f"the folder {path} holds no file whose name ends in {endings}, so the table would read nothing; "
            f'if files such as {name} are {kind}, set options = {{ {_NAMES} = "{pattern}" }}, else correct the path '
            "or the format"
        )


def _glob(kind: str) -> str:
    return "{" + ",".join(names_of(kind)) + "}"


def _as_written(spark: SparkSession, files: Sequence[SourceFile]) -> st.StructType:
    """The columns as Spark's own reader sees them: nanoseconds, which it has no type for, as whole numbers."""
    reader = spark.read
    if files[0].root is not None:
        reader = reader.option("basePath", f"file://{files[0].root}")
    return reader.parquet(*(spark_path(file.path) for file in files)).schema


def _open_elsewhere(
    spark: SparkSession, folder: str, kind: str | None, schema: st.StructType | None, options: Mapping[str, str]
) -> DataFrame:
    """A folder in a store that this machine does not see as files: Spark looks there itself."""
    if kind is None:
        raise OptionError(f"{folder} is not on this machine's file system; say its format, one of {', '.join(KINDS)}")
    read_as = {**READ_AS[kind], _NAMES: _glob(kind)}
    if schema is None:
        infer = {"inferSchema": "true"} if kind == "csv" else {"inferTimestamp": "true"} if kind == "json" else {}
        schema = spark.read.format(kind).options(**{**read_as, **infer, **options}).load(folder).schema
    wanted = {**read_as, "maxFileAge": _FILE_AGE_MAX, **options}
    return spark.readStream.format(kind).options(**wanted).schema(schema).load(folder)
