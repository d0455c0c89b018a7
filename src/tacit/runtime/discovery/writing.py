"""The text of a configuration for a folder that was looked at."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tacit.runtime.config_errors import toml_value
from tacit.runtime.discovery.layout import Layout
from tacit.runtime.discovery.sample import Sample
from tacit.runtime.discovery.sites import SiteGuess, quoted_name
from tacit.runtime.discovery.times import TimeGuess

__all__ = ["Draft", "table_name", "write_draft"]

DULL = {"data", "csv", "json", "parquet", "files", "input", "raw", "table", "tables", "tmp"}
WORDS = {
    "select",
    "from",
    "where",
    "group",
    "order",
    "limit",
    "window",
    "track",
    "alert",
    "table",
    "join",
    "case",
    "as",
}


@dataclass(frozen=True, slots=True)
class Draft:
    """A configuration's text and the name of its table."""

    text: str
    table: str


def table_name(folder: Path) -> str:
    """What the table is called: as its folder, or the folder around it where that says nothing.

    >>> table_name(Path("/x/Beijing Air/data")), table_name(Path("/2024"))
    ('beijing_air', 't_2024')
    """
    for name in (folder.name, folder.parent.name):
        plain = re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_").lower()
        if plain and plain not in DULL:
            return f"t_{plain}" if plain[0].isdigit() or plain in WORDS else plain
    return "readings"


def write_draft(
    layout: Layout, sample: Sample, time: TimeGuess, sites: SiteGuess, out: Path, *, watches: str, now_us: int
) -> Draft:
    """The configuration, with a comment wherever something was guessed."""
    table = table_name(layout.folder)
    lines = [
        f"# Written by tacit init from {layout.folder.name}. All keys: docs/CONFIGURATION.md",
        "",
        "[coordinator]",
        'listen = "127.0.0.1:7070"',
        'state = "state/coordinator"',
        f"watches = [{toml_value(watches)}]  # run at the first start",
        "",
        "[[sinks]]",
        'kind = "log"',
        "",
        f"[tables.{table}]",
        'source = "files"',
        *_paths(layout, sites, out),
        f"format = {toml_value(layout.kind)}",
    ]
    if layout.kind != "parquet":
        lines.append(
            "# A value that does not fit its type is read as NULL: BIGINT is for numbers that are always whole."
        )
        lines.append(f"schema = {toml_value(_schema(sample))}")
    if options := _options(layout, sample):
        lines.append(f"options = {toml_value(options)}")
    lines.append(f"time = {toml_value(time.name)}  # {time.why}")
    if time.is_old(now_us):
        lines += [
            f"# The newest row that was seen is of {_day(time.last_us)}: recorded data, so only rows make time pass.",
            '# For data that arrives now, write clock = "wall".',
            'clock = "event"',
        ]
    else:
        lines += ['watermark = "10 seconds"  # how late a row may come', 'clock = "wall"']
    lines.append(
        "# A watch that is created later begins with what is in these files; backfill = false leaves that out."
    )
    lines += ["", f"# Sites: {sites.why}.", *(f"# Note: {note}." for note in sites.notes)]
    templated = _is_templated(sites)
    for site in sites.sites:
        plain = site.where is None and templated
        lines.append(f"[sites.{_key(site.name)}" + ("]" if plain else f".tables.{table}]"))
        if site.where is not None:
            lines.append(f"where = {toml_value(site.where)}")
        if site.path is not None and not templated:
            lines.append(f"path = {toml_value(_beside(site.path, out))}")
        lines.append("")
    return Draft("\n".join(lines).rstrip() + "\n", table)


def _paths(layout: Layout, sites: SiteGuess, out: Path) -> list[str]:
    by_folder = bool(sites.sites) and sites.sites[0].path is not None
    if not by_folder:
        return [f"path = {toml_value(_beside(layout.folder, out))}"]
    if _is_templated(sites):
        return [f"path = {toml_value(_beside(layout.folder, out) + '/{site}')}"]
    return []


def _is_templated(sites: SiteGuess) -> bool:
    """Is every site's folder called as the site is?"""
    return all(site.path is None or site.path.name == site.name for site in sites.sites)


def _beside(path: Path, out: Path) -> str:
    """Relative where the data lies under the configuration's folder, so that both can move together."""
    home = out.resolve().parent
    return os.path.relpath(path, home) if path.is_relative_to(home) else str(path)


def _schema(sample: Sample) -> str:
    return ", ".join(f"{quoted_name(column.name)} {column.spark}" for column in sample.columns)


def _options(layout: Layout, sample: Sample) -> dict[str, object]:
    options: dict[str, object] = {}
    if layout.kind == "csv":
        options["header"] = True
        if sample.delimiter != ",":
            options["sep"] = sample.delimiter
    if sample.arrays:
        options["multiLine"] = True
    if layout.nested:
        options["recursiveFileLookup"] = True
    return options


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml_value(name)


def _day(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1e6, tz=UTC).date().isoformat()
