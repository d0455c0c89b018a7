"""A table of a configuration as a recording: the files of every site, read as the sites read them.

Each site has its own folder, options, schema, ``select`` and ``where``; its rows get the site's name in a column of
their own, so that a replay gives them to that site. Rows of a source that is no folder of files (a Kafka topic) are
taken from the table's history, which is a folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.file_streams import files_of
from tacit.pipelines.files import Paths, SourceFile, find_files
from tacit.pipelines.history import open_files_of
from tacit.pipelines.live_sources import TableSource
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["SITE", "RecordedTable", "SiteTable", "open_recorded", "recorded_files"]

SITE = "__tacit_site_name"
"""The column with the name of the site that a row was read at."""


@dataclass(frozen=True, slots=True)
class SiteTable:
    """The table at one site; ``path`` is a folder, a file or a glob. ``site`` is None where a column tells the site."""

    site: str | None
    source: TableSource
    path: Paths


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """A table over all sites that have it; ``time`` is the column with its time, where the configuration says it."""

    name: str
    parts: tuple[SiteTable, ...]
    time: str | None = None

    @property
    def site(self) -> str | None:
        """Which site a row belongs to, as a replay's rule; None where the rows do not tell."""
        return SITE if all(part.site is not None for part in self.parts) else None

    def marks(self) -> list[str]:
        """What beside the files themselves decides which rows there are."""
        sources = [replace(part.source, options=dict(sorted(part.source.options.items()))) for part in self.parts]
        return [repr((part.site, source)) for part, source in zip(self.parts, sources, strict=True)]


def recorded_files(table: RecordedTable) -> list[SourceFile]:
    """The files of all sites; DataError where there is none at all."""
    found = [file for part in table.parts for file in _files(part)]
    if not found:
        places = " and ".join(dict.fromkeys(str(part.path) for part in table.parts))
        raise DataError(f"the table {table.name} has no file in {places}; wait for rows, or name others with --data")
    return found


def open_recorded(spark: SparkSession, table: RecordedTable) -> DataFrame:
    """The rows of all sites as one DataFrame, with the name of each row's site where the table is split by folders."""
    recorded_files(table)
    opened: list[tuple[SiteTable, DataFrame]] = []
    for part in table.parts:
        if files := _files(part):
            frame = open_files_of(spark, part.source, str(part.path), files)
            opened.append((part, frame if part.site is None else frame.withColumn(SITE, sf.lit(part.site))))
    (first, like), *others = opened
    for part, frame in others:
        if odd := sorted(set(frame.columns) ^ set(like.columns)):
            raise DataError(
                f"the table {table.name} has a column {odd[0]} at only one of the sites {first.site} and {part.site}; "
                "give both the same columns with select"
            )
    return reduce(DataFrame.unionByName, [frame for _, frame in opened])


def _files(part: SiteTable) -> Sequence[SourceFile]:
    if not isinstance(part.path, (str, Path)):
        return find_files(part.path)
    text = str(part.path).removeprefix("file://")
    if "://" in text:
        raise OptionError(f"{text} is not on this machine's file system; copy the data and name it with --data")
    folder = Path(text).expanduser().absolute()
    if not folder.is_dir():
        return find_files(part.path)
    return files_of(folder, part.source.format if part.source.kind == "files" else None, part.source.options)
