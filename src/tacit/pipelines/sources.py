"""Reading data: Parquet, CSV and JSON, by file name, checked before anything is computed from it.

Each file is looked at once before Spark's own reader is trusted with it, because that reader is lenient: it fills
columns that a file lacks with NULL, reads CSV columns by position whatever their header says, and turns lines that it
cannot parse into NULLs. Here each of these is a :class:`DataError` that names the file. Times without zone are UTC.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import LongType

from tacit.pipelines.columns import column
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.files import Paths, SourceFile, find_files
from tacit.pipelines.text_checks import check_csv, check_json, no_rows, spark_path
from tacit.vocabulary.errors import DataError

__all__ = ["from_nanoseconds", "read_data", "read_files", "scan_files"]


def read_data(spark: SparkSession, paths: Paths) -> DataFrame:
    """The rows of files, folders or globs of one kind and one schema, as one DataFrame."""
    return read_files(spark, find_files(paths))


def read_files(spark: SparkSession, files: Sequence[SourceFile], options: Mapping[str, str] | None = None) -> DataFrame:
    """The rows of these files; they are of one kind. ``options`` go to Spark's reader of text."""
    with one_sentence():
        if files[0].kind == "parquet":
            return _read_parquet(spark, files)
        check = check_csv if files[0].kind == "csv" else check_json
        reader = check(spark, [file.path for file in files], options)
        return scan_files(reader, files)


def scan_files(reader: DataFrameReader, files: Sequence[SourceFile]) -> DataFrame:
    """One scan, or one per folder when folders hold partition values in their names."""
    # None first: a reader keeps the options it was given.
    roots = sorted({file.root for file in files}, key=lambda root: (root is not None, str(root)))
    frames = []
    for root in roots:
        if root is not None:
            reader = reader.option("basePath", f"file://{root}")
        frames.append(reader.load([spark_path(file.path) for file in files if file.root == root]))
    return reduce(DataFrame.unionByName, frames)


def _read_parquet(spark: SparkSession, files: Sequence[SourceFile]) -> DataFrame:
    schemas: dict[Path, pa.Schema] = {}
    rows = 0
    for file in files:
        try:
            with pq.ParquetFile(file.path) as opened:
                schemas[file.path] = opened.schema_arrow
                rows += opened.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0].rstrip(".")
            raise DataError(f"{file.path} is not a readable Parquet file: {reason}") from None
    nanoseconds = {
        field.name
        for schema in schemas.values()
        for field in schema
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
    }
    if nanoseconds:
        # Spark has no nanosecond timestamps and refuses such files (pandas writes them) without this setting.
        spark.conf.set("spark.sql.legacy.parquet.nanosAsLong", "true")
    _compare_parquet(spark, schemas)
    if rows == 0:
        raise no_rows(list(schemas))
    frame = scan_files(spark.read.format("parquet"), files)
    # Arrow also says nanoseconds of the old 96-bit timestamps that Spark writes; those Spark reads as they are.
    numbers = [name for name in sorted(nanoseconds) if frame.schema[name].dataType == LongType()]
    return frame.withColumns({name: from_nanoseconds(name) for name in numbers}) if numbers else frame


def from_nanoseconds(name: str) -> Column:
    """A column of nanoseconds since 1970 as timestamps."""
    value = column(name)
    return sf.timestamp_micros(((value - sf.pmod(value, sf.lit(1000))) / 1000).cast("bigint"))


def _compare_parquet(spark: SparkSession, schemas: Mapping[Path, pa.Schema]) -> None:
    """Arrow tells string from large_string and Spark does not, so Spark is asked once per different Arrow schema."""
    seen: list[tuple[pa.Schema, Path]] = []
    for path, schema in schemas.items():
        if not any(schema.equals(other) for other, _ in seen):
            seen.append((schema, path))
    if len(seen) < 2:
        return
    kinds = [
        {field.name: field.dataType.simpleString() for field in spark.read.parquet(spark_path(path)).schema}
        for _, path in seen
    ]
    first = seen[0][1]
    for (_, path), mine in zip(seen[1:], kinds[1:], strict=True):
        for name in kinds[0] | mine:
            a, b = kinds[0].get(name), mine.get(name)
            if a is None or b is None:
                has, lacks = (first, path) if b is None else (path, first)
                raise DataError(f"the files have different schemas: column {name} is in {has} and not in {lacks}")
            if a != b:
                raise DataError(f"the files have different schemas: column {name} is {a} in {first} and {b} in {path}")
