"""Reading files: what is read, and the one sentence that each kind of bad file gets."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tacit.pipelines.sources import read_data
from tacit.vocabulary.errors import DataError


def put(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def values(spark: SparkSession, *paths: Path | str) -> list[tuple[object, ...]]:
    frame = read_data(spark, paths)
    return sorted(tuple(row) for row in frame.select(*sorted(frame.columns)).collect())


ROWS_CSV = "a,b,name\n1,2.5,x\n3,,y\n"
ROWS_JSON = '{"a": 1, "b": 2.5, "name": "x"}\n\n{"a": 3, "name": "y"}\n'
ROWS = [(1, 2.5, "x"), (3, None, "y")]


def test_every_kind_and_packing(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"a": [1, 3], "b": [2.5, None], "name": ["x", "y"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    for path in (
        tmp_path / "rows.parquet",
        put(tmp_path / "rows.csv", ROWS_CSV),
        put(tmp_path / "rows.csv.gz", gzip.compress(ROWS_CSV.encode())),
        put(tmp_path / "rows.json", ROWS_JSON),
        put(tmp_path / "rows.ndjson", ROWS_JSON),
        put(tmp_path / "rows.jsonl.gz", gzip.compress(ROWS_JSON.encode())),
        put(tmp_path / "array.json", '[{"a": 1, "b": 2.5, "name": "x"},\n {"a": 3, "b": null, "name": "y"}]'),
    ):
        assert values(spark, path) == ROWS, path.name


def test_folders_globs_and_partitions(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "data" / "year=2013" / "one.csv", "a,b\n1,2\n")
    put(tmp_path / "data" / "year=2014" / "two.csv", "a,b\n3,4.5\n")
    put(tmp_path / "data" / "_SUCCESS", "")
    put(tmp_path / "data" / "README.md", "words")
    assert values(spark, tmp_path / "data") == [(1, 2.0, 2013), (3, 4.5, 2014)]
    assert values(spark, f"{tmp_path}/data/*/*.csv") == [(1, 2.0), (3, 4.5)]
    assert values(spark, f"{tmp_path}/data/year=2013/one.csv", f"file://{tmp_path}/data/year=2014") == [
        (1, 2.0),
        (3, 4.5),
    ]


def test_csv_with_quotes_line_ends_and_a_byte_order_mark(spark: SparkSession, tmp_path: Path) -> None:
    content = b'\xef\xbb\xbfa,name\n1,"two\nlines, and ""quotes"""\n'
    assert values(spark, put(tmp_path / "odd file.csv", content)) == [(1, 'two\nlines, and "quotes"')]
    assert values(spark, put(tmp_path / "odd, [1] {2} *.csv", "a\n1\n")) == [(1,)]
    path = put(tmp_path / "odd [3].csv", content)
    with pytest.raises(DataError, match=r"odd .3..csv has to be parsed whole and Spark cannot find it by this name"):
        values(spark, path)


def test_nanoseconds_as_pandas_writes_them(spark: SparkSession, tmp_path: Path) -> None:
    stamps = np.array(["2013-03-01T00:00:00.123456789", "1969-12-31T23:59:59.999999999"], "datetime64[ns]")
    pq.write_table(pa.table({"ts": stamps}), tmp_path / "ns.parquet")
    frame = read_data(spark, tmp_path / "ns.parquet").selectExpr("unix_micros(ts) AS t").orderBy("t")
    assert [row.t for row in frame.collect()] == [-1, 1_362_096_000_123_456]


def test_whole_numbers_and_fractions_may_be_in_different_files(spark: SparkSession, tmp_path: Path) -> None:
    put(tmp_path / "csv" / "1.csv", "a,b\n1,\n")
    put(tmp_path / "csv" / "2.csv", "a,b\n2.5,x\n")
    put(tmp_path / "json" / "1.json", '{"a": 1, "b": null}\n')
    put(tmp_path / "json" / "2.json", '{"a": 2.5, "b": "x"}\n')
    for kind in ("csv", "json"):
        assert values(spark, tmp_path / kind) == [(1.0, None), (2.5, "x")]


def parquet(**columns: object) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return bytes(sink.getvalue())


PACKED = gzip.compress(("a,b\n" + "\n".join(f"{i},{i * i}" for i in range(50_000))).encode())
BAD: dict[str, tuple[dict[str, str | bytes], str, str]] = {
    "no path": ({}, "none.csv", "{0}/none.csv does not exist"),
    "no match": ({}, "none*.csv", "no file matches {0}/none*.csv"),
    "no data in folder": (
        {"d/x.txt": "x"},
        "d",
        "the folder {0}/d holds no data file; tacit reads .parquet, .csv, .json, .jsonl and .ndjson "
        "(text also as .gz or .bz2)",
    ),
    "empty csv": ({"x.csv": ""}, "x.csv", "{0}/x.csv is empty"),
    "empty parquet": ({"x.parquet": b""}, "x.parquet", "{0}/x.parquet is empty"),
    "header only": ({"x.csv": "a,b\n"}, "x.csv", "there are no rows in {0}/x.csv"),
    "blank json": ({"x.json": "\n\n"}, "x.json", "there are no rows in {0}/x.json"),
    "no rows": ({"x.parquet": parquet(a=pa.array([], pa.int64()))}, "x.parquet", "there are no rows in {0}/x.parquet"),
    "mixed kinds": (
        {"d/1.csv": "a\n1\n", "d/2.json": '{"a": 1}\n'},
        "d",
        "the data mixes kinds: {0}/d/1.csv is csv and {0}/d/2.json is json; name files of one kind",
    ),
    "csv columns": (
        {"d/1.csv": "a,b\n1,2\n", "d/2.csv": "a,c\n1,2\n"},
        "d",
        "the files have different schemas: column b is in {0}/d/1.csv and not in {0}/d/2.csv",
    ),
    "csv order": (
        {"d/1.csv": "a,b\n1,2\n", "d/2.csv": "b,a\n1,2\n"},
        "d",
        "the files have different schemas: column 1 is a in {0}/d/1.csv and b in {0}/d/2.csv",
    ),
    "csv types": (
        {"d/1.csv": "a,b\n1,2\n", "d/2.csv": "a,b\n1,two\n"},
        "d",
        "the files have different schemas: column b is a number in {0}/d/1.csv and text in {0}/d/2.csv",
    ),
    "json columns": (
        {"d/1.json": '{"a": 1}\n', "d/2.json": '{"a": 1, "b": 2}\n'},
        "d",
        "the files have different schemas: column b is in {0}/d/2.json and not in {0}/d/1.json",
    ),
    "json types": (
        {"d/1.json": '{"a": 1}\n', "d/2.json": '{"a": "one"}\n'},
        "d",
        "the files have different schemas: column a is a number in {0}/d/1.json and text in {0}/d/2.json",
    ),
    "parquet columns": (
        {"d/1.parquet": parquet(a=[1], b=[1]), "d/2.parquet": parquet(a=[1])},
        "d",
        "the files have different schemas: column b is in {0}/d/1.parquet and not in {0}/d/2.parquet",
    ),
    "parquet types": (
        {"d/1.parquet": parquet(a=[1]), "d/2.parquet": parquet(a=["one"])},
        "d",
        "the files have different schemas: column a is bigint in {0}/d/1.parquet and string in {0}/d/2.parquet",
    ),
    "short row": (
        {"x.csv": "a,b,c\n1,2,3\n4,5\n"},
        "x.csv",
        "{0}/x.csv: 1 row does not have the header's 3 fields, such as '4,5'",
    ),
    "not json": ({"x.json": '{"a": 1}\n{"a":\n'}, "x.json", "{0}/x.json: 1 line is not JSON, such as '{{\"a\":'"),
    "no object": ({"x.json": "1\n2\n"}, "x.json", "{0}/x.json: a row must be a JSON object with a name for each value"),
    "cut gzip": (
        {"x.csv.gz": PACKED[: len(PACKED) // 2]},
        "x.csv.gz",
        "cannot read {0}/x.csv.gz: it is damaged or not what its name says",
    ),
    "no gzip": ({"x.csv.gz": b"a,b"}, "x.csv.gz", "cannot read {0}/x.csv.gz: Not a gzipped file (b'a,')"),
    "no kind": (
        {"x.xml": "<a/>"},
        "x.xml",
        "{0}/x.xml is of a kind that tacit does not read; tacit reads .parquet, .csv, .json, .jsonl and .ndjson "
        "(text also as .gz or .bz2)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_get_one_sentence(spark: SparkSession, tmp_path: Path, case: str) -> None:
    files, path, sentence = BAD[case]
    for name, content in files.items():
        put(tmp_path / name, content)
    with pytest.raises(DataError) as caught:
        read_data(spark, tmp_path / path)
    assert str(caught.value) == sentence.format(tmp_path)


def test_damaged_parquet_is_named(spark: SparkSession, tmp_path: Path) -> None:
    path = put(tmp_path / "x.parquet", parquet(a=[1, 2, 3])[:-20])
    with pytest.raises(DataError, match=re.escape(f"{path} is not a readable Parquet file: ")) as caught:
        read_data(spark, path)
    assert "\n" not in str(caught.value)


def test_only_this_machine(spark: SparkSession) -> None:
    with pytest.raises(DataError, match=r"s3://bucket/x.csv is not on this machine's file system"):
        read_data(spark, "s3://bucket/x.csv")
