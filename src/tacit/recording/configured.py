"""Data of a replay as a configuration describes it: its tables' folders, options, schemas, columns, times and sites.

What is said on the command line counts before the configuration: a path takes the place of the tables' folders, a site
rule that of the sites' names, a time column that of the table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tacit.language.plan import WatchPlan
from tacit.recording.settings import Settings
from tacit.recording.sides import data_of_tables
from tacit.runtime.config import Config
from tacit.runtime.config_tables import FileTable, Table, source_of
from tacit.vocabulary.errors import MachineError, OptionError

if TYPE_CHECKING:
    from tacit.pipelines.recorded_tables import RecordedTable

__all__ = ["described_data", "live_settings", "read_options"]


def live_settings(settings: Settings, config: Config | None) -> Settings:
    """The settings with the protocol that this configuration's coordinator keeps watches by, unless one was chosen."""
    if config is None or settings.protocol != "auto" or settings.zone != "auto":
        return settings
    wanted = config.coordinator.protocol
    if wanted == "fitted":
        return replace(settings, protocol="coordinator", zone="fitted", follows=True)
    return replace(settings, protocol=wanted, follows=True)


def read_options(texts: Sequence[str]) -> dict[str, str]:
    """Options of Spark's reader from ``NAME=VALUE``.

    >>> read_options(["sep=;", "dateFormat=dd.MM.yyyy"])
    {'sep': ';', 'dateFormat': 'dd.MM.yyyy'}
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name.strip() and equals):
            raise OptionError(f"--option {text}: write NAME=VALUE, as in --option 'sep=;'")
        found[name.strip()] = value
    return found


def described_data(
    plan: WatchPlan, data: Any, config: Config | None, options: Mapping[str, str], site: str | None
) -> Any:
    """The data of each table of the watch, read as the configuration and the options say; plain data without them."""
    if config is None and not options:
        return data
    given: Mapping[str, Any] = {} if data is None else data_of_tables(plan, data)
    if config is None:
        return {table: _plain(table, paths, options) for table, paths in given.items()}
    return {table: _described(config, table, given.get(table), options, site) for table in plan.tables}


def _plain(table: str, paths: Any, options: Mapping[str, str]) -> RecordedTable:
    room = _pipelines()
    if not _is_paths(paths):
        raise OptionError("options of a reader are for files; leave them out where the data is a table in memory")
    part = room.SiteTable(None, room.TableSource("files", options=dict(options)), paths)
    found: RecordedTable = room.RecordedTable(table, (part,))
    return found


def _described(config: Config, name: str, paths: Any, options: Mapping[str, str], site: str | None) -> RecordedTable:
    room = _pipelines()
    if paths is not None and not _is_paths(paths):
        raise OptionError("a configuration describes files; leave it out where the data is a table in memory")
    tables = _tables(config, name)
    parts = []
    for owner, table in tables.items():
        source = room.TableSource(**source_of(table), where=table.where)
        if paths is not None:
            source = replace(source, kind="files")
        source = replace(source, options={**source.options, **options})
        parts.append(room.SiteTable(owner, source, _place(owner, name, table) if paths is None else paths))
    times = sorted({table.time for table in tables.values()})
    if len(times) > 1:
        raise OptionError(f"the sites' tables {name} have different times, {' and '.join(times)}; give one with --time")
    if paths is not None:
        parts = _of_one_place(name, parts, site)
    found: RecordedTable = room.RecordedTable(name, tuple(parts), times[0])
    return found


def _tables(config: Config, name: str) -> dict[str, Table]:
    """The table at each site that has it."""
    known = sorted({each for site in config.sites.values() for each in site.tables})
    wanted = next((each for each in known if each == name), None)
    wanted = wanted or next((each for each in known if each.casefold() == name.casefold()), None)
    if wanted is None:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise OptionError(f"no site of the configuration has a table {name}; {has}")
    return {owner: site.tables[wanted] for owner, site in config.sites.items() if wanted in site.tables}


def _place(owner: str, name: str, table: Table) -> str:
    """Where the rows of a site's table are on disk."""
    if isinstance(table, FileTable):
        return str(table.path)
    if table.backfill is not None:
        return str(table.backfill)
    raise OptionError(
        f"the table {name} of site {owner} comes from {table.source}, which cannot be replayed; say where "
        "recorded rows are, with --data or as backfill of the table"
    )


def _of_one_place(name: str, parts: list[Any], site: str | None) -> list[Any]:
    """Data that was named takes the place of all sites' folders: rows are told apart by a rule, or by each WHERE."""
    if site is None:
        if len(parts) > 1 and any(part.source.where is None for part in parts):
            raise OptionError(
                f"the sites' tables {name} have no where that tells whose a row of this data is; say it with --site"
            )
        return parts
    common = {repr(replace(part.source, where=None, path=None)) for part in parts}
    if len(common) > 1:
        raise OptionError(f"the sites read their tables {name} in different ways; leave --data or --site out")
    return [replace(parts[0], site=None, source=replace(parts[0].source, where=None))]


def _is_paths(data: Any) -> bool:
    from pathlib import Path

    return isinstance(data, (str, Path)) or (
        isinstance(data, (list, tuple)) and all(isinstance(each, (str, Path)) for each in data)
    )


def _pipelines() -> Any:
    """The room that reads files; MachineError where Spark is not installed."""
    try:
        from tacit.pipelines import recorded_tables
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pyspark", "py4j"):
            raise
        raise MachineError("Spark is not installed; run: pip install 'tacit[site]'") from error
    return recorded_tables
