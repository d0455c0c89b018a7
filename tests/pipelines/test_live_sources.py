"""Live sources: what is refused before anything runs, and what comes of each kind."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from tacit.pipelines.live_sources import TableSource, open_source, packages_for
from tacit.vocabulary.errors import DataError, OptionError, TacitError


def drained(frame: DataFrame, tmp_path: Path) -> list[Row]:
    """All rows that are there now, read by a streaming query."""
    found: list[Row] = []
    query = (
        frame.writeStream.foreachBatch(lambda batch, number: found.extend(batch.collect()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return sorted(found, key=str)


@pytest.fixture
def mine(spark: SparkSession) -> SparkSession:
    """A session of its own: reading nanoseconds sets an option of the session."""
    return spark.newSession()


def kinds(frame: DataFrame) -> dict[str, str]:
    return {field.name: field.dataType.simpleString() for field in frame.schema}


def test_csv_by_name_at_any_depth_and_nothing_that_is_half_written(mine: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in [1]"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.csv").write_text('ts,v,s\n2020-01-01T00:00:00Z,1,"x ""y"""\n')
    (folder / "b.csv").write_text("ts,v,s\n2020-01-01T00:00:01Z,2.5,z\n")
    (folder / "deep" / "c.csv").write_text("ts,v,s\n2020-01-01T00:00:02Z,3,w\n")
    (folder / "d.csv.part").write_text("ts,v,s\n2020-01-01T00:00:0")
    (folder / "empty.csv").touch()
    frame = open_source(mine, TableSource("files", path=str(folder)))
    assert kinds(frame) == {"ts": "timestamp", "v": "double", "s": "string"}
    assert [(row.v, row.s) for row in drained(frame, tmp_path)] == [(1.0, 'x "y"'), (2.5, "z"), (3.0, "w")]


def test_names_in_capitals_and_names_that_the_user_gives(mine: SparkSession, tmp_path: Path) -> None:
    """What is looked at for the columns is what is read; a folder whose files would all be passed over is refused."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "A.CSV").write_text("t,v\n1,2\n")
    source = TableSource("files", path=str(folder))
    assert drained(open_source(mine, source), tmp_path / "first") == [(1, 2)]
    (folder / "A.CSV").rename(folder / "a.txt")
    source = replace(source, format="csv", schema="t BIGINT, v BIGINT")
    with pytest.raises(DataError, match=r"no file whose name ends in \.csv.*pathGlobFilter = \"\*\.txt\""):
        open_source(mine, source)
    source = replace(source, schema=None, options={"pathGlobFilter": "*.txt"})
    assert drained(open_source(mine, source), tmp_path / "second") == [(1, 2)]


def test_json_lines_and_select(mine: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"ts": "2020-01-01T00:00:00Z", "v": 1}\n{"ts": "2020-01-01T00:00:01Z", "v": 2}\n')
    source = TableSource("files", path=f"file://{folder}", select=("unix_seconds(ts) AS at", "v * 2 AS w"))
    assert drained(open_source(mine, source), tmp_path) == [(1577836800, 2), (1577836801, 4)]


def test_json_arrays(mine: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.json").write_text('[{"t": 1},\n {"t": 2}]')
    assert drained(open_source(mine, TableSource("files", path=str(tmp_path / "in"))), tmp_path) == [(1,), (2,)]


def test_parquet_with_nanoseconds_and_partitions(mine: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in" / "region=north"
    folder.mkdir(parents=True)
    times = pa.array(np.array([1_000_000_500, 2_000_000_000]), pa.timestamp("ns", tz="UTC"))
    pq.write_table(pa.table({"ts": times, "v": [1.0, 2.0]}), folder / "a.parquet")
    frame = open_source(mine, TableSource("files", path=str(tmp_path / "in"), format="parquet", files_per_batch=1))
    assert kinds(frame) == {"ts": "timestamp", "v": "double", "region": "string"}
    rows = drained(frame.selectExpr("unix_micros(ts)", "v", "region"), tmp_path)
    assert rows == [(1_000_000, 1.0, "north"), (2_000_000, 2.0, "north")]


def test_an_empty_folder_with_a_schema(mine: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    source = TableSource("files", path=str(tmp_path / "in"), format="csv", schema="ts TIMESTAMP, v DOUBLE")
    frame = open_source(mine, source)
    assert kinds(frame) == {"ts": "timestamp", "v": "double"}
    assert drained(frame, tmp_path) == []
    (tmp_path / "in" / "a.csv").write_text("ts,v\n2020-01-01T00:00:00Z,1\n2020-01-01T00:00:00Z,what\n")
    assert sorted(str(row.v) for row in drained(frame, tmp_path)) == ["1.0", "None"]


def test_rate(mine: SparkSession) -> None:
    source = TableSource("rate", rows_per_second=7, select=("timestamp AS ts", "value % 3 AS device"))
    frame = open_source(mine, source)
    assert frame.isStreaming
    assert kinds(frame) == {"ts": "timestamp", "device": "bigint"}


def test_python(mine: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_live_rows.py").write_text(
        "class Made:\n"
        "    @staticmethod\n"
        "    def rows(spark): return spark.readStream.format('rate').load()\n"
        "def still(spark): return spark.range(3)\n"
        "def nothing(spark): return None\n"
        "def broken(spark): return 1 / 0\n"
        "text = 'no function'\n"
    )
    monkeypatch.setattr(sys, "path", list(sys.path))

    def opened(function: str) -> DataFrame:
        return open_source(mine, TableSource("python", path=str(tmp_path), function=function))

    assert opened("my_live_rows:Made.rows").isStreaming
    for function, said in {
        "my_live_rows:still": "returned a DataFrame that does not stream",
        "my_live_rows:nothing": "returned NoneType",
        "my_live_rows:broken": "the function my_live_rows:broken failed: ZeroDivisionError",
        "my_live_rows:text": "my_live_rows:text is not a function",
        "my_live_rows:lost": "the module my_live_rows has no function lost",
        "my_lost_rows:rows": "the function my_lost_rows:rows cannot be imported",
        "rows": "written module:function",
    }.items():
        with pytest.raises(OptionError, match=said):
            opened(function)
    sys.modules.pop("my_live_rows")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (TableSource("folder"), "kind is 'folder', but must be one of files, kafka, rate, python"),
        (TableSource("files"), "needs path"),
        (TableSource("files", path="{tmp}/nowhere"), "nowhere is not a folder"),
        (TableSource("files", path="{tmp}"), "holds no data file yet, so its columns are not known"),
        (TableSource("files", path="{tmp}", format="csv"), "holds no csv file yet"),
        (TableSource("files", path="{tmp}", format="orc"), "format is 'orc', but must be one of parquet, csv, json"),
        (TableSource("files", path="{tmp}", schema="v DOUBLE"), "give a format and a schema"),
        (TableSource("files", path="{tmp}", schema="v what is this"), "the schema 'v what is this' cannot be read"),
        (TableSource("files", path="{tmp}", files_per_batch=0), "files_per_batch is 0"),
        (TableSource("files", path="s3a://bucket/air"), "say its format"),
        (TableSource("rate", rows_per_second=0), "rows_per_second is 0"),
        (TableSource("rate", select=("lost AS l",)), "there is no column named lost"),
        (TableSource("kafka"), "needs servers"),
        (TableSource("kafka", servers="localhost:1", topic="t"), "needs schema"),
        (TableSource("kafka", servers="localhost:1", topic="t", schema="v INT", starting="5"), "earliest or latest"),
        (TableSource("kafka", servers="localhost:1", topic="t", schema="v INT", format="avro"), "json or csv"),
        (TableSource("kafka", servers="localhost:1", topic="t", schema="v INT"), "without its Kafka connector"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.kind,
)
def test_refused_in_one_sentence(mine: SparkSession, tmp_path: Path, source: TableSource, said: str) -> None:
    source = replace(source, path=source.path and source.path.format(tmp=tmp_path))
    with pytest.raises(TacitError, match=said) as raised:
        open_source(mine, source)
    assert "\n" not in str(raised.value)


def test_a_folder_of_two_kinds(mine: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t\n1\n")
    (tmp_path / "b.json").write_text('{"t": 1}\n')
    (tmp_path / "c.md").write_text("What these files are.\n")
    with pytest.raises(DataError, match="holds csv and json files; say which format"):
        open_source(mine, TableSource("files", path=str(tmp_path)))
    assert kinds(open_source(mine, TableSource("files", path=str(tmp_path), format="csv"))) == {"t": "int"}


def test_packages() -> None:
    (package,) = packages_for(TableSource("kafka"))
    assert package.startswith("org.apache.spark:spark-sql-kafka-0-10_2.13:4.")
