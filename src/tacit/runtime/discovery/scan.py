"""One column of all rows, in pieces."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.dataset as ds

from tacit.runtime.discovery.layout import Layout
from tacit.runtime.discovery.sample import Sample

__all__ = ["scan"]


def scan(layout: Layout, sample: Sample, column: str, kind: pa.DataType | None = None) -> Iterator[pa.Array]:
    """The column as ``kind``, by default the sample's. Arrow's errors say that a value is not of that kind;
    NotImplementedError, that such files are not read in pieces.
    """
    packed = layout.kind == "json" and any(path.suffix in (".gz", ".bz2") for path in layout.files)
    if sample.arrays or packed:
        raise NotImplementedError
    form: Any = layout.kind
    if layout.kind == "csv":
        form = ds.CsvFileFormat(parse_options=pa_csv.ParseOptions(delimiter=sample.delimiter, newlines_in_values=True))
    schema = pa.schema([pa.field(column, kind or sample.rows.schema.field(column).type)])
    data = ds.dataset([str(path) for path in layout.files], format=form, schema=schema)
    for batch in data.to_batches(columns=[column]):
        yield batch.column(0)
