"""The tables of a configuration's sites as far as they are known without Spark.

A coordinator checks sentences against what sites said when they joined. A site that has not joined yet may stand in the
same configuration, as with ``tacit up``; then a slip in a sentence is found before anybody waits for Spark.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from tacit.language.schema_text import columns_of
from tacit.runtime.config_models import Config
from tacit.runtime.config_tables import FileTable, KafkaTable, RateTable, Table

__all__ = ["configured_tables"]

_LOOKED_AT = 1_000  # entries of a folder, at most, until a file is found that says its columns


def configured_tables(config: Config) -> dict[str, dict[str, dict[str, str]]]:
    """By site and table the columns and their types; a table without columns is one whose columns are not known."""
    return {
        name: {table: _columns(source) for table, source in site.tables.items()} for name, site in config.sites.items()
    }


def _columns(table: Table) -> dict[str, str]:
    match table:
        case RateTable(select=select) if select == RateTable.model_fields["select"].default:
            return {"ts": "timestamp", "value": "double"}
        case _ if table.select:
            return {}
        case KafkaTable():
            return columns_of(table.schema_text)
        case FileTable() if _has_partitions(Path(table.path)):
            return {}  # folders named column=value add columns
        case FileTable(schema_text=str(text)):
            return columns_of(text)
        case FileTable():
            return _columns_of_parquet(Path(table.path), table.format)
    return {}


def _entries(folder: Path) -> Iterator[Any]:
    with suppress(OSError), os.scandir(folder) as found:
        for _, entry in zip(range(_LOOKED_AT), found, strict=False):
            yield entry


def _has_partitions(folder: Path) -> bool:
    return any("=" in entry.name for entry in _entries(folder))


def _columns_of_parquet(folder: Path, format: str | None) -> dict[str, str]:
    """The columns of some Parquet file of the folder."""
    first = next((entry.path for entry in _entries(folder) if entry.name.endswith(".parquet")), None)
    if first is None or format not in (None, "parquet"):
        return {}
    import pyarrow as pa
    import pyarrow.parquet as pq

    from tacit.runtime.discovery.sample import spark_type

    with suppress(OSError, pa.ArrowException):
        return {field.name: spark_type(field.type).lower() for field in pq.read_schema(first)}
    return {}
