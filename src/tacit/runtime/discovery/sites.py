"""Where rows belong: subfolders are sites, or a column tells sites apart, or rows are spread by a hash."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tacit.runtime.discovery.layout import SITE_NAMES, SITES_MAX, SITES_MIN, Layout, site_names
from tacit.runtime.discovery.measures import WATCHED, measures_of
from tacit.runtime.discovery.sample import Column, Sample
from tacit.runtime.discovery.scan import scan
from tacit.runtime.discovery.times import no_column
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["GuessedSite", "SiteGuess", "guess_sites"]


@dataclass(frozen=True, slots=True)
class GuessedSite:
    """A site: where its files are, or which rows are its own (Spark SQL)."""

    name: str
    path: Path | None = None
    where: str | None = None


@dataclass(frozen=True, slots=True)
class SiteGuess:
    """The sites and why; ``column`` where one tells them apart. ``notes`` are for the user to read."""

    sites: tuple[GuessedSite, ...]
    why: str
    column: str | None = None
    notes: tuple[str, ...] = ()


def guess_sites(
    layout: Layout, sample: Sample, time: str, asked: str | None = None, count: int | None = None
) -> SiteGuess:
    """The sites: as asked for, or as the folder and its columns suggest; otherwise an error that says what to ask."""
    if asked is not None:
        column = sample.column(asked)
        if column is None:
            raise OptionError(f"--site {asked}: {no_column(sample, asked)}")
        if count is not None:
            return _spread(asked, count, f"you said so: rows of one {asked} stay together", asked)
        if not _is_plain(column):
            raise OptionError(f"--site {asked}: a site is told by a text or a whole number, not by {column.spark}")
        return _by_column(layout, sample, asked, "you said so", f"--site {asked}: ")
    if count is not None:
        return _spread(time, count, "you said how many: rows are spread by a hash of their time")
    if layout.sites:
        sites = tuple(GuessedSite(site.name, path=site.path) for site in layout.sites)
        return SiteGuess(sites, "each subfolder is a site")
    for name in SITE_NAMES:
        for column in sample.columns:
            if _folded(column.name) == name and column.name != time and _has_few_values(layout, sample, column):
                why = f"{column.name} is called as a site is, and has few values"
                return _by_column(layout, sample, column.name, why, "")
    measured = measures_of(sample, time, None)[:WATCHED]
    few = [
        each for each in sample.columns if each.name not in (time, *measured) and _has_few_values(layout, sample, each)
    ]
    few.sort(key=lambda column: pa.types.is_integer(column.type))  # texts first
    named = f", such as {' or '.join(column.name for column in few[:3])}" if few else ""
    raise DataError(
        f"nothing says which rows belong to which site; say --site COLUMN{named}, or --sites 4 to spread the rows by "
        "a hash"
    )


def _spread(column: str, count: int, why: str, tells: str | None = None) -> SiteGuess:
    quoted = quoted_name(column)
    sites = [GuessedSite(f"site{k + 1}", where=f"pmod(xxhash64({quoted}), {count}) = {k}") for k in range(count)]
    return SiteGuess(tuple(sites), why, tells)


def _by_column(layout: Layout, sample: Sample, column: str, why: str, prefix: str) -> SiteGuess:
    notes: list[str] = []
    values, nulls, whole = _distinct(layout, sample, column)
    if len(values) > SITES_MAX:
        raise OptionError(
            f"{prefix}{column} has more than {SITES_MAX} values; spread them over fewer sites with "
            f"--site {column} --sites 8"
        )
    if not values:
        raise OptionError(f"{prefix}{column} is empty")
    if nulls:
        notes.append(f"rows without a {column} belong to no site and are left out")
    if not whole:
        notes.append(f"only a part of the data was looked at: other values of {column} would belong to no site")
    quoted = quoted_name(column)
    sites = [
        GuessedSite(name, where=f"{quoted} = {_literal(value)}")
        for name, value in zip(site_names(values), values, strict=True)
    ]
    return SiteGuess(tuple(sites), why, column, tuple(notes))


def quoted_name(name: str) -> str:
    """A column's name in SQL.

    >>> quoted_name("so2"), quoted_name("PM2.5")
    ('so2', '`PM2.5`')
    """
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) else "`" + name.replace("`", "``") + "`"


def _literal(value: Any) -> str:
    """A value in Spark's SQL, whose texts know the backslash."""
    if isinstance(value, int):
        return str(value)
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def _folded(name: str) -> str:
    folded = re.sub(r"\W+", "_", name).lower()
    return re.sub(r"_?(id|name|code|no)$", "", folded) or folded


def _is_plain(column: Column) -> bool:
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_integer(kind))


def _has_few_values(layout: Layout, sample: Sample, column: Column) -> bool:
    if not _is_plain(column) or int(pc.count_distinct(sample.rows[column.name]).as_py()) > SITES_MAX:
        return False
    # Files may be sorted by site, and the sample is of their starts: all rows are looked at before a site is missed.
    return SITES_MIN <= len(_distinct(layout, sample, column.name)[0]) <= SITES_MAX


def _distinct(layout: Layout, sample: Sample, column: str) -> tuple[list[Any], bool, bool]:
    """All values of the column, whether some rows have none, and whether all rows were looked at."""
    seen: set[Any] = set()
    nulls, whole = False, True
    try:
        for batch in scan(layout, sample, column):
            seen.update(pc.unique(batch).to_pylist())
            if len(seen) > SITES_MAX + 1:
                break
    except (pa.ArrowException, OSError, ValueError, NotImplementedError):
        seen.update(pc.unique(sample.rows[column]).to_pylist())
        whole = False
    if None in seen:
        nulls = True
        seen.discard(None)
    return sorted(seen), nulls, whole
