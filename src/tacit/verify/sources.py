"""The rows of all sites, read from the files that their tables name, in DuckDB.

Every table of the configuration becomes one table of DuckDB with the rows of all its sites. Beside its own columns a
row has ``__site``, ``__t`` (its time in microseconds since 1970, UTC) and ``__came`` (when its file was last written).
Times without a zone are UTC. Only tables of files can be read; of others the judge says so.
"""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path

import duckdb

from tacit.runtime.config_models import Config
from tacit.runtime.config_tables import AnyTable, FileTable
from tacit.verify.rows import Rows, Source
from tacit.verify.spark_sql import duck_columns, duck_sql
from tacit.vocabulary.errors import DataError, OptionError

__all__ = ["read_sources"]

_ENDINGS = {"parquet": (".parquet",), "csv": (".csv",), "json": (".json", ".jsonl", ".ndjson")}
_PACKED = (".gz", ".bz2")


def read_sources(config: Config, tables: Iterable[str]) -> Rows:
    """The rows of these tables at all sites of a configuration, as they are now."""
    database = duckdb.connect()
    database.execute("SET TimeZone = 'UTC'")
    wanted = {table.casefold() for table in tables}
    sources: dict[str, list[Source]] = {}
    parts: dict[str, list[str]] = {}
    for site, section in config.sites.items():
        for name, table in section.tables.items():
            if name.casefold() not in wanted:
                continue
            if not isinstance(table, FileTable):
                raise OptionError(
                    f"the table {name} of site {site} is of source {table.source}: the judge reads files only"
                )
            sources.setdefault(name, []).append(Source(site, table.watermark_us, table.clock))
            part = f"part_{sum(map(len, sources.values()))}"
            if _read(database, part, site, table):
                parts.setdefault(name, []).append(part)
    for number, name in enumerate(sources):
        together = " UNION ALL BY NAME ".join(f"SELECT * FROM {part}" for part in parts.get(name, []))
        if not together:
            raise DataError(f"no site has rows in the table {name} yet, so there is nothing to judge by")
        database.execute(f"CREATE TABLE rows_{number} AS SELECT * FROM ({together}) ORDER BY __t")
    names = {name: f"rows_{number}" for number, name in enumerate(sources)}
    return Rows(database, {name: tuple(each) for name, each in sources.items()}, names)


def _read(database: duckdb.DuckDBPyConnection, part: str, site: str, table: FileTable) -> bool:
    """Make a table of one site's files; False where there are none."""
    folder = Path(table.path.removeprefix("file://"))
    if "://" in str(table.path) and not str(table.path).startswith("file://"):
        raise OptionError(f"{table.path} is not on this machine's file system: the judge reads files only")
    kind, files = _files(folder, table)
    if not files:
        return False
    database.execute("CREATE OR REPLACE TEMP TABLE came (__path VARCHAR, __us BIGINT)")
    database.executemany("INSERT INTO came VALUES (?, ?)", [(str(f), f.stat().st_mtime_ns // 1000) for f in files])
    reader = _reader(kind, files, table)
    database.execute(f"CREATE OR REPLACE TEMP VIEW raw AS SELECT * FROM {reader}")
    columns = database.execute("DESCRIBE raw").fetchall()
    typed = _typed([(name, str(type_)) for name, type_, *_ in columns if name != "filename"], table)
    shaped = [duck_sql(text) for text in table.select] or ["* EXCLUDE (filename)"]
    where = f"WHERE {duck_sql(table.where)}" if table.where else ""
    time = _micros(database, typed, shaped, table)
    database.execute(
        f"CREATE TEMP TABLE {part} AS WITH typed AS (SELECT {typed}, filename FROM raw),"
        f" shaped AS (SELECT {', '.join(shaped)}, filename FROM typed)"
        f" SELECT '{site.replace(chr(39), chr(39) * 2)}' AS __site, {time} AS __t, came.__us AS __came,"
        f" shaped.* EXCLUDE (filename) FROM shaped JOIN came ON came.__path = shaped.filename {where}"
    )
    database.execute(f"DELETE FROM {part} WHERE __t IS NULL")
    return True


def _files(folder: Path, table: FileTable) -> tuple[str, list[Path]]:
    pattern = table.options.get("pathGlobFilter")
    found = []
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if not path.is_file() or any(piece[0] in "._" and "=" not in piece for piece in inside.parts):
            continue
        kind = _kind(path)
        if pattern is not None:
            if fnmatchcase(path.name, str(pattern)):
                found.append((table.format or kind or "csv", path))
        elif kind is not None and table.format in (None, kind) and path.stat().st_size:
            found.append((kind, path))
    kinds = {kind for kind, _ in found}
    if len(kinds) > 1:
        raise DataError(
            f"the folder {folder} holds {' and '.join(sorted(kinds))} files; say which format the table has"
        )
    return (kinds.pop() if kinds else "parquet"), [path for _, path in found]


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((kind for kind, endings in _ENDINGS.items() if name.endswith(endings)), None)


def _reader(kind: str, files: list[Path], table: FileTable) -> str:
    listed = "[" + ", ".join("'" + str(path).replace("'", "''") + "'" for path in files) + "]"
    if kind == "parquet":
        return f"read_parquet({listed}, union_by_name = true, filename = true)"
    if kind == "json":
        return f"read_json({listed}, union_by_name = true, filename = true)"
    options = {key.casefold(): str(value) for key, value in table.options.items()}
    sep = options.get("sep", options.get("delimiter", ","))
    header = options.get("header", "true").lower()
    said = [f"delim = '{sep}'", "quote = '\"'", "escape = '\"'", f"header = {header}", "union_by_name = true"]
    if "nullvalue" in options:
        said.append(f"nullstr = ['', '{options['nullvalue']}']")
    if table.schema_text is not None:
        said.append("all_varchar = true")
    return f"read_csv({listed}, filename = true, {', '.join(said)})"


def _typed(columns: list[tuple[str, str]], table: FileTable) -> str:
    """The columns as the table's schema types them, with every instant as a timestamp in UTC."""
    wanted = {} if table.schema_text is None else duck_columns(table.schema_text)
    folded = {name.casefold(): (name, type_) for name, type_ in wanted.items()}
    said = []
    for name, type_ in columns:
        quoted = '"' + name.replace('"', '""') + '"'
        if wanted and name.casefold() not in folded:
            continue
        called, target = folded.get(name.casefold(), (name, type_))
        value = quoted if target == type_ else f"TRY_CAST({quoted} AS {target})"
        if target in ("TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE"):
            value = f"({value} AT TIME ZONE 'UTC')"
        elif target.startswith("TIMESTAMP"):
            value = f"CAST({value} AS TIMESTAMP)"
        said.append(f'{value} AS "{called}"')
    there = {name.casefold() for name, _ in columns}
    said += [f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in wanted.items() if name.casefold() not in there]
    return ", ".join(said)


def _micros(database: duckdb.DuckDBPyConnection, typed: str, shaped: list[str], table: AnyTable) -> str:
    """SQL for the time of a row in microseconds since 1970."""
    described = database.execute(
        f"DESCRIBE WITH typed AS (SELECT {typed}, filename FROM raw) SELECT {', '.join(shaped)}, filename FROM typed"
    ).fetchall()
    column = '"' + table.time.replace('"', '""') + '"'
    type_ = next((str(type_) for name, type_, *_ in described if name.casefold() == table.time.casefold()), None)
    if type_ is None:
        raise DataError(f"the table has no column {table.time}, which is said to be its time")
    if type_.startswith("TIMESTAMP") or type_ == "DATE":
        return f"epoch_us(CAST({column} AS TIMESTAMP))"
    if type_ == "VARCHAR":
        return f"epoch_us(TRY_CAST({column} AS TIMESTAMPTZ) AT TIME ZONE 'UTC')"
    return f"TRY_CAST(round({column} * 1000000) AS BIGINT)"
