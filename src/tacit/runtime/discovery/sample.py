"""A sample of the rows of a folder, and what its columns look like. Nothing is read twice as large as it need be."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pa_csv
import pyarrow.json as pa_json
import pyarrow.parquet as pq

from tacit.runtime.discovery.layout import Layout
from tacit.vocabulary.errors import DataError

__all__ = ["Column", "Sample", "spark_type", "take_sample"]

FILES_MAX = 16
BYTES_MAX = 2 << 20  # of each file
TAIL_BYTES = 1 << 18
ROWS_MAX = 50_000  # of each file
EXAMPLES = 3


@dataclass(frozen=True, slots=True)
class Column:
    """A column, as people want to see it."""

    name: str
    type: pa.DataType
    spark: str  # the type as Spark writes it
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Rows of some files, in the order of the files, and how to read all of them."""

    rows: pa.Table
    columns: tuple[Column, ...]
    delimiter: str = ","
    arrays: bool = False  # .json files that are one array each

    def column(self, name: str) -> Column | None:
        return next((each for each in self.columns if each.name == name), None)


def take_sample(layout: Layout) -> Sample:
    """Some rows of some files of the folder; DataError when the files differ or hold nothing."""
    files = _some(layout.files)
    delimiter, arrays = ",", False
    tables: list[pa.Table] = []
    if layout.kind == "csv":
        delimiter = _delimiter(files[0])
    for path in files:
        try:
            if layout.kind == "parquet":
                table = _parquet(path)
            elif layout.kind == "csv":
                table = _csv(path, delimiter)
            else:
                table, array = _json(path)
                arrays = arrays or array
        except (pa.ArrowException, ValueError, OSError, EOFError) as error:
            reason = str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__
            raise DataError(f"{path} is not a readable {layout.kind} file: {reason}") from None
        if tables and layout.kind != "json" and table.column_names != tables[0].column_names:
            other = set(table.column_names) ^ set(tables[0].column_names)
            which = f"column {sorted(other)[0]} is only in one of them" if other else "they stand in another order"
            raise DataError(f"{files[0]} and {path} have different columns: {which}")
        tables.append(table)
    rows = _together(tables)
    if rows.num_rows == 0:
        raise DataError(f"there are no rows in {layout.folder}")
    return Sample(rows, tuple(_column(rows, name) for name in rows.column_names), delimiter, arrays)


def spark_type(kind: pa.DataType) -> str:
    """An Arrow type as Spark's DDL has it.

    >>> spark_type(pa.timestamp("ns")), spark_type(pa.list_(pa.int32())), spark_type(pa.null())
    ('TIMESTAMP', 'ARRAY<INT>', 'STRING')
    """
    types = pa.types
    if types.is_boolean(kind):
        return "BOOLEAN"
    if types.is_integer(kind):
        bits = kind.bit_width * (2 if types.is_unsigned_integer(kind) else 1)
        return {8: "TINYINT", 16: "SMALLINT", 32: "INT"}.get(bits, "BIGINT")
    if types.is_floating(kind):
        return "DOUBLE"
    if types.is_timestamp(kind):
        return "TIMESTAMP"
    if types.is_date(kind):
        return "DATE"
    if types.is_decimal(kind):
        return f"DECIMAL({kind.precision}, {kind.scale})"
    if types.is_list(kind) or types.is_large_list(kind):
        return f"ARRAY<{spark_type(kind.value_type)}>"
    if types.is_struct(kind):
        return f"STRUCT<{', '.join(f'`{field.name}`: {spark_type(field.type)}' for field in kind)}>"
    if types.is_map(kind):
        return f"MAP<{spark_type(kind.key_type)}, {spark_type(kind.item_type)}>"
    if types.is_binary(kind) or types.is_large_binary(kind):
        return "BINARY"
    if types.is_dictionary(kind):
        return spark_type(kind.value_type)
    return "STRING"


def _some(files: Sequence[Path]) -> list[Path]:
    """Some of the files, the first and the last among them."""
    if len(files) <= FILES_MAX:
        return list(files)
    step = (len(files) - 1) / (FILES_MAX - 1)
    return [files[round(index * step)] for index in range(FILES_MAX)]


def _parquet(path: Path) -> pa.Table:
    with pq.ParquetFile(path) as file:
        rows = [next(file.iter_batches(batch_size=ROWS_MAX // 2, row_groups=[group]), None) for group in _ends(file)]
        schema = file.schema_arrow
    return pa.Table.from_batches([each for each in rows if each is not None], schema=schema)


def _ends(file: pq.ParquetFile) -> list[int]:
    return sorted({0, file.num_row_groups - 1}) if file.num_row_groups else []


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return cast(IO[bytes], gzip.open(path))
    return cast(IO[bytes], bz2.open(path) if path.suffix == ".bz2" else path.open("rb"))


def _text(path: Path) -> bytes:
    """The first and the last lines of a text, whole ones only; the newest rows are often at the end."""
    with _opened(path) as file:
        start = file.read(BYTES_MAX).removeprefix(b"\xef\xbb\xbf")
        if not (after := file.read(TAIL_BYTES)):
            return start
        start = start[: start.rfind(b"\n") + 1]
        if path.suffix in (".gz", ".bz2"):  # the end of a packed file is reached only through all of it
            return start
        file.seek(max(-TAIL_BYTES, -len(after)), io.SEEK_END)
        end = file.read()
    return start + end[end.find(b"\n") + 1 :]


def _delimiter(path: Path) -> str:
    header = _text(path).split(b"\n", 1)[0].decode(errors="replace")
    return max(",;\t|", key=header.count)


def _csv(path: Path, delimiter: str) -> pa.Table:
    text = _text(path)
    header = next(csv.reader(io.StringIO(text.decode(errors="replace")), delimiter=delimiter), [])
    if any(_is_number(name) for name in header) or not any(name.strip() for name in header):
        raise DataError(f"{path} does not start with the names of its columns; write them into the first line")
    return pa_csv.read_csv(
        io.BytesIO(text),
        parse_options=pa_csv.ParseOptions(
            delimiter=delimiter, newlines_in_values=True, invalid_row_handler=lambda _row: "skip"
        ),
    )


def _json(path: Path) -> tuple[pa.Table, bool]:
    text = _text(path)
    if text.lstrip().startswith(b"["):
        with _opened(path) as file:
            return _timed(pa.Table.from_pylist(json.loads(file.read()))), True
    return pa_json.read_json(io.BytesIO(text)), False


def _timed(table: pa.Table) -> pa.Table:
    """Texts that are all ISO 8601 become times, as the reader of JSON lines makes them."""
    for index, field in enumerate(table.schema):
        if pa.types.is_string(field.type):
            try:
                times = [
                    None if each is None else datetime.fromisoformat(each) for each in table[field.name].to_pylist()
                ]
                table = table.set_column(index, field.name, pa.array(times, type=pa.timestamp("us", tz="UTC")))
            except (ValueError, pa.ArrowException):
                continue
    return table


def _together(tables: Sequence[pa.Table]) -> pa.Table:
    names = list(dict.fromkeys(name for table in tables for name in table.column_names))
    columns = {}
    for name in names:
        parts = [table[name] if name in table.column_names else pa.nulls(table.num_rows) for table in tables]
        kind = _common([part.type for part in parts])
        columns[name] = pa.chunked_array(
            [chunk for part in parts for chunk in _chunks(part.cast(kind) if part.type != kind else part)], type=kind
        )
    return pa.table(columns)


def _chunks(part: pa.Array | pa.ChunkedArray) -> list[pa.Array]:
    return part.chunks if isinstance(part, pa.ChunkedArray) else [part]


def _common(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """The type that holds the values of all; text if nothing else does."""
    left = list(dict.fromkeys(kind for kind in kinds if not pa.types.is_null(kind))) or [pa.string()]
    if len(left) == 1:
        return left[0]
    if all(pa.types.is_integer(kind) or pa.types.is_floating(kind) for kind in left):
        return pa.float64() if any(pa.types.is_floating(kind) for kind in left) else pa.int64()
    if all(pa.types.is_timestamp(kind) for kind in left):
        return pa.timestamp("us", tz="UTC" if any(kind.tz for kind in left) else None)
    if all(pa.types.is_timestamp(kind) or pa.types.is_date(kind) for kind in left):
        return pa.timestamp("us")
    return pa.string()


def _column(rows: pa.Table, name: str) -> Column:
    kind = rows.schema.field(name).type
    values = pc.drop_null(rows[name].combine_chunks())
    seen: dict[str, None] = {}
    for value in values.slice(0, 1000):
        seen.setdefault(_shown(value.as_py()))
        if len(seen) == EXAMPLES:
            break
    return Column(name, kind, spark_type(kind), tuple(seen))


def _shown(value: Any) -> str:
    text = (
        value.isoformat()
        if isinstance(value, (date, datetime))
        else f"{value:g}"
        if isinstance(value, float)
        else str(value)
    )
    return text if len(text) <= 24 else text[:23] + "…"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
