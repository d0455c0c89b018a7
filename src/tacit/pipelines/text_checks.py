"""CSV and JSON are promises: these checks hold each file to the header, the lines and the types of the others.

Each check is one native Spark job over the files and returns a reader whose schema is fixed by *all* rows. A column
may be a whole number in one file and a fraction in another; a number in one and text in another is a mixed schema,
and so is a column that one file lacks. ``.json`` files that start with ``[`` are read as one array.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, cast
from urllib.parse import unquote, urlparse

from pyspark.sql import Column, DataFrameReader, Row, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.columns import column
from tacit.vocabulary.errors import DataError

__all__ = ["check_csv", "check_json", "holds_array", "no_rows", "separator_of", "spark_path"]

_BAD = "__tacit_bad"
_SHOWN = 60  # characters of a bad line that an error shows
_SEPARATORS = (";", "\t", "|")  # looked for where a header has no comma between its names
_BOM = b"\xef\xbb\xbf"
# In this order: the first kind that all values of a column fit.
_TEXT_KINDS = {"a number": "double", "a boolean": "boolean", "a time": "timestamp"}


def spark_path(path: Path) -> str:
    """The path as Spark takes it literally: Hadoop would read brackets, braces, * and ? as a glob."""
    return "file://" + re.sub(r"([\\\[\]{}*?])", r"\\\1", str(path))


def no_rows(paths: Sequence[Path]) -> DataError:
    """The error for files that hold nothing but their headers."""
    return DataError(f"there are no rows in {paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else ""))


def check_csv(spark: SparkSession, paths: Sequence[Path], options: Mapping[str, str] | None = None) -> DataFrameReader:
    """A reader for CSV files with a header: the same names in the same order, every row as wide as its header.

    ``options`` are Spark's; without ``sep`` among them the first header tells what stands between its names.
    """
    options = dict(options or {})
    separator = options["sep"] = separator_of(paths[0], options)
    headers = {path: _header(path, separator) for path in paths}
    for path, header in headers.items():
        _check_header(path, header)
        _compare_headers(paths[0], headers[paths[0]], path, header)
    lines = not any(_start(path).startswith(_BOM) for path in paths)  # only the whole-file parser skips the mark
    reader, found = _look_at_csv(spark, paths, options, lines=lines)
    if lines and any(row.bad for row in found):
        # A quoted field may hold line ends; files are then parsed whole instead of in pieces.
        reader, found = _look_at_csv(spark, paths, options, lines=False)
    for row in found:
        if row.bad:
            rows = "1 row does" if row.bad == 1 else f"{row.bad:,} rows do"
            width = len(headers[paths[0]])
            example = _short(row.example)
            raise DataError(f"{_path(row)}: {rows} not have the header's {width} fields, such as '{example}'")
    if not sum(row.rows for row in found):
        raise no_rows(paths)
    _compare_kinds({_path(row): row.kinds.asDict() for row in found})
    return reader


def check_json(spark: SparkSession, paths: Sequence[Path], options: Mapping[str, str] | None = None) -> DataFrameReader:
    """A reader for JSON: one object per line, or files that are one array of objects. ``options`` are Spark's."""
    whole = any(map(holds_array, paths))
    if whole:
        _check_names(paths)
    text = spark.read.format("text").option("wholetext", whole).load([spark_path(path) for path in paths])
    value = sf.col("value")
    parsed = sf.expr("try_parse_json(value)")
    found = (
        text.where(sf.trim(value) != "")
        .select(sf.col("_metadata.file_path").alias("file"), value, parsed.alias("parsed"))
        .groupBy("file")
        .agg(
            sf.count("*").alias("rows"),
            sf.count_if(sf.col("parsed").isNull()).alias("bad"),
            sf.first(sf.when(sf.col("parsed").isNull(), value), ignorenulls=True).alias("example"),
            sf.expr("schema_of_variant_agg(parsed)").alias("schema"),
        )
        .orderBy("file")
        .collect()
    )
    kinds: dict[Path, dict[str, str | None]] = {}
    for row in found:
        path = _path(row)
        if row.bad:
            lines = "it is" if whole else "1 line is" if row.bad == 1 else f"{row.bad:,} lines are"
            raise DataError(f"{path}: {lines} not JSON, such as '{_short(row.example)}'")
        kinds[path] = _json_kinds(path, row.schema)
    if not any(kinds.values()):
        raise no_rows(paths)
    first, names = next(iter(kinds.items()))
    for path, mine in kinds.items():
        for name in names | mine:
            if name not in names or name not in mine:
                has, lacks = (first, path) if name in names else (path, first)
                raise DataError(f"the files have different schemas: column {name} is in {has} and not in {lacks}")
    _compare_kinds(kinds)
    reader = spark.read.format("json").option("multiLine", whole).option("inferTimestamp", True)
    reader = reader.option("timeZone", "UTC").option("mode", "FAILFAST").options(**(options or {}))
    return reader.schema(reader.load([spark_path(path) for path in paths]).schema)


def holds_array(path: Path) -> bool:
    """Is the JSON file one array of objects, rather than one object per line?"""
    return _start(path).lstrip(_BOM + b" \t\r\n").startswith(b"[")


def _look_at_csv(
    spark: SparkSession, paths: Sequence[Path], options: Mapping[str, str], *, lines: bool
) -> tuple[DataFrameReader, list[Row]]:
    """A reader with the types of all rows, and per file: rows, rows of a wrong width, the kinds of its text columns."""
    if not lines:
        _check_names(paths)

    def base() -> DataFrameReader:
        reader = spark.read.format("csv").options(header=True, timeZone="UTC", escape='"', multiLine=not lines)
        return reader.options(**options)

    files = [spark_path(path) for path in paths]
    schema = base().option("inferSchema", True).load(files).schema
    checked = st.StructType([*schema.fields, st.StructField(_BAD, st.StringType())])
    strict = base().option("columnPruning", False).option("columnNameOfCorruptRecord", _BAD)
    texts = [field.name for field in schema if isinstance(field.dataType, st.StringType)] if len(paths) > 1 else []
    found = (
        strict.schema(checked)
        .load(files)
        .withColumn("__tacit_file", sf.col("_metadata.file_path"))
        .groupBy(sf.col("__tacit_file").alias("file"))
        .agg(
            sf.count("*").alias("rows"),
            sf.count(_BAD).alias("bad"),
            sf.first(_BAD, ignorenulls=True).alias("example"),
            # Every column is used here: Spark refuses to read the bad rows alone.
            sf.max(sf.xxhash64(*(column(field.name) for field in schema))).alias("parsed"),
            sf.struct(sf.lit(None).alias(_BAD), *(_text_kind(name).alias(name) for name in texts)).alias("kinds"),
        )
        .orderBy("file")
        .collect()
    )
    return base().schema(schema), found


def _check_names(paths: Sequence[Path]) -> None:
    """Spark's parsers of whole files take names as patterns, whatever was escaped; with pieces of files all is well."""
    for path in paths:
        if re.search(r"[\\\[\]{}*?,]", str(path)):
            raise DataError(
                f"{path} has to be parsed whole and Spark cannot find it by this name; rename it without ,*?[]{{}}"
            )


def _text_kind(name: str) -> Column:
    """What all values of a text column in a group are, for the kinds that Spark would have inferred; NULL for none."""
    value = column(name)
    kind = sf.when(sf.count(value) == 0, sf.lit(None).cast("string"))
    for words, target in _TEXT_KINDS.items():
        kind = kind.when(sf.every(value.isNull() | value.try_cast(target).isNotNull()), sf.lit(words))
    return kind.otherwise(sf.lit("text"))


def _check_header(path: Path, header: list[str]) -> None:
    """Spark makes up names where a header has none, or one twice; who wrote the sentence would not find the column."""
    if not any(name.strip() for name in header):
        raise DataError(f"{path} has no header; its first line must name the columns")
    folded = [name.strip().casefold() for name in header if name.strip()]
    for name in folded:
        if folded.count(name) > 1:
            raise DataError(f"the header of {path} names the column {name} twice; give each its own name")


def _compare_headers(first: Path, expected: list[str], path: Path, header: list[str]) -> None:
    if header == expected:
        return
    for name in [*expected, *header]:
        if name not in header or name not in expected:
            has, lacks = (first, path) if name in expected else (path, first)
            raise DataError(f"the files have different schemas: column {name} is in {has} and not in {lacks}")
    place = next(i for i, (a, b) in enumerate(zip(expected, header, strict=False)) if a != b)
    a, b = expected[place], header[place]
    raise DataError(f"the files have different schemas: column {place + 1} is {a} in {first} and {b} in {path}")


def _compare_kinds(kinds: Mapping[Path, Mapping[str, str | None]]) -> None:
    """None fits every kind: a file may hold nothing but NULLs in a column."""
    known: dict[str, tuple[Path, str]] = {}
    for path, mine in kinds.items():
        for name, kind in mine.items():
            if kind is None:
                continue
            first, expected = known.setdefault(name, (path, kind))
            if kind != expected:
                raise DataError(
                    f"the files have different schemas: column {name} is {expected} in {first} and {kind} in {path}"
                )


def _json_kinds(path: Path, schema: str) -> dict[str, str | None]:
    """The columns of ``OBJECT<a: BIGINT, b: ARRAY<STRING>>`` (or an array of such), each as a kind.

    >>> _json_kinds(Path("a.json"), "OBJECT<a: DECIMAL(21,1), b: ARRAY<STRING>, c: VOID>")
    {'a': 'a number', 'b': 'a list', 'c': None}
    """
    if schema.startswith("ARRAY<"):
        schema = schema.removeprefix("ARRAY<").removesuffix(">")
    if schema == "VOID":
        return {}
    if not schema.startswith("OBJECT<"):
        raise DataError(f"{path}: a row must be a JSON object with a name for each value")
    columns, depth, start, inner = {}, 0, 0, schema.removeprefix("OBJECT<").removesuffix(">")
    for index, letter in enumerate(inner + ","):
        depth += (letter in "<(") - (letter in ">)")
        if letter == "," and depth == 0 and index > start:
            name, _, kind = inner[start:index].strip().partition(": ")
            columns[name.strip("`")] = _json_kind(kind)
            start = index + 1
    return columns


def _json_kind(kind: str) -> str | None:
    head = re.split(r"[<(]", kind)[0]
    words = {"STRING": "text", "BOOLEAN": "a boolean", "ARRAY": "a list", "OBJECT": "an object", "VOID": None}
    return words.get(head, "a number")


def separator_of(path: Path, options: Mapping[str, str]) -> str:
    """What stands between the values of a CSV file: what the options say, else what the names in its header say."""
    for name, value in options.items():
        if name.lower() in ("sep", "delimiter"):
            return value.replace("\\t", "\t")
    header = _header(path, ",")
    if len(header) != 1:
        return ","
    counts = {each: header[0].count(each) for each in _SEPARATORS}
    best = max(counts, key=counts.__getitem__)
    return best if counts[best] else ","


def _header(path: Path, separator: str) -> list[str]:
    try:
        with _open(path) as file:
            text = (line.decode("utf-8-sig", errors="replace") for line in file)
            if len(separator) != 1:
                return next((line.rstrip("\r\n").split(separator) for line in text if line.strip()), [])
            rows = csv.reader(text, delimiter=separator)
            return next((row for row in rows if row), [])  # Spark passes over blank lines too
    except (OSError, EOFError, csv.Error) as error:
        raise DataError(f"cannot read {path}: {error}") from None


def _start(path: Path) -> bytes:
    try:
        with _open(path) as file:
            return file.read(64)
    except (OSError, EOFError) as error:
        raise DataError(f"cannot read {path}: {error}") from None


def _open(path: Path) -> IO[bytes]:
    if path.suffix.lower() == ".gz":
        return cast(IO[bytes], gzip.open(path, "rb"))
    if path.suffix.lower() == ".bz2":
        return cast(IO[bytes], bz2.open(path, "rb"))
    return path.open("rb")


def _path(row: Row) -> Path:
    return Path(unquote(urlparse(row.file).path))


def _short(line: str) -> str:
    line = " ".join(line.split())
    return line if len(line) <= _SHOWN else line[: _SHOWN - 1] + "…"
