"""How a folder is laid out: which files, of which kind, and whether its subfolders are sites."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tacit.pipelines.files import find_files
from tacit.vocabulary.errors import DataError

__all__ = ["SITE_NAMES", "Layout", "SiteFolder", "lay_out", "site_names"]

SITE_NAMES = (
    "site", "station", "region", "host", "hostname", "server", "sensor", "location", "node", "gateway", "plant",
    "store", "branch", "city", "country", "state", "zone", "datacenter", "data_center", "dc", "cluster", "rack",
    "device", "building", "hospital", "machine", "source", "place", "area", "district", "shop", "factory", "cell",
)  # fmt: skip
SITES_MIN, SITES_MAX = 2, 64


@dataclass(frozen=True, slots=True)
class SiteFolder:
    """A subfolder that is a site."""

    name: str
    path: Path


@dataclass(frozen=True, slots=True)
class Layout:
    """The data files of a folder, all of one kind; ``sites`` when each subfolder is one."""

    folder: Path
    kind: str
    files: tuple[Path, ...]
    sites: tuple[SiteFolder, ...] = ()
    nested: bool = False  # files lie deeper than Spark looks by itself


def lay_out(folder: Path) -> Layout:
    """DataError when there is nothing to read, or files of several kinds."""
    if not folder.exists():
        raise DataError(f"{folder} does not exist; name a folder of Parquet, CSV or JSON files")
    if not folder.is_dir():
        raise DataError(f"{folder} is a file; name the folder that it lies in")
    found = find_files(folder)
    root = folder.resolve()
    paths = tuple(each.path for each in found)
    inner = [path.relative_to(root) for path in paths]
    firsts = list(dict.fromkeys(path.parts[0] for path in inner if len(path.parts) > 1))
    subfolders = all(len(path.parts) > 1 for path in inner)
    by_folder = subfolders and SITES_MIN <= len(firsts) <= SITES_MAX and _are_sites(firsts)
    below = inner if not by_folder else [Path(*path.parts[1:]) for path in inner]
    nested = any("=" not in part for path in below for part in path.parts[:-1])
    if not by_folder:
        return Layout(root, found[0].kind, paths, nested=nested)
    names = site_names(first.partition("=")[2] or first for first in firsts)
    sites = tuple(SiteFolder(name, root / first) for name, first in zip(names, firsts, strict=True))
    return Layout(root, found[0].kind, paths, sites, nested)


def site_names(values: Iterable[object]) -> list[str]:
    """Names that a configuration takes, one for each value.

    >>> site_names(["Aoti", "Tian tan", "Tian-tan", "Tian/tan", 7])
    ['Aoti', 'Tian_tan', 'Tian-tan', 'Tian_tan_2', '7']
    """
    names: list[str] = []
    for value in values:
        plain = re.sub(r"[^\w.-]+", "_", str(value)).lstrip("_.-")[:60] or "site"
        name, count = plain, 1
        while name.casefold() in {each.casefold() for each in names}:  # state folders may not tell case apart
            count += 1
            name = f"{plain}_{count}"
        names.append(name)
    return names


def _are_sites(names: list[str]) -> bool:
    """Folders named by years, months or days hold times, not sites; ``station=Aoti`` holds a site."""
    if all("=" in name for name in names):
        return {name.partition("=")[0].lower() for name in names} <= set(SITE_NAMES)
    return not all(re.fullmatch(r"[\d_-]+", name) for name in names) and not any("=" in name for name in names)
