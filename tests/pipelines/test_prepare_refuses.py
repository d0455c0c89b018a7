"""Bad input gets one exact sentence and changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.language.plan import ByKey, ByMember, ColumnUse
from tacit.pipelines.prepare import prepare
from tacit.vocabulary.errors import DataError, InputError, OptionError, SentenceError
from tests.pipelines.plans import watch


@pytest.fixture(scope="module")
def data(spark: SparkSession) -> DataFrame:
    rows = [("a", 1, 1.0, "2013-03-01", "x"), ("b", 2, 0.0, "3", "y")]
    return spark.createDataFrame(rows, "station string, ts bigint, v double, text string, word string").cache()


CASES: dict[str, tuple[type[InputError], dict[str, object], str]] = {
    "unknown column": (
        SentenceError,
        {"columns": (ColumnUse("vv", 2, 14, "number"),)},
        "line 2, column 14: there is no column named vv; did you mean v?",
    ),
    "nothing passes WHERE": (
        DataError,
        {"where": "v > 100"},
        "no row passes WHERE, so there is nothing to replay",
    ),
    "text in a numeric column": (
        SentenceError,
        {"columns": (ColumnUse("word", 1, 8, "number"),)},
        "line 1, column 8: word is of type string where a number is expected; "
        "cast it, as in CAST(word AS DOUBLE), if its texts are numbers",
    ),
    "text that is cast": (DataError, {"present": "CAST(word AS DOUBLE)"}, "the value '…"),
    "unknown column that no one checked": (
        SentenceError,
        {"present": "nothing + 1"},
        "there is no column named nothing; the columns are station, text, ts, v, word",
    ),
    "unknown function": (SentenceError, {"present": "frobnicate(v)"}, "there is no function named frobnicate"),
    "division by zero": (
        SentenceError,
        {"present": "1 / v"},
        "a row divides by zero; write NULLIF(divisor, 0) instead of the divisor to leave such rows out",
    ),
    "division by zero in a centre": (
        SentenceError,
        {"centres": ("1 / v",)},
        "a row divides by zero; write NULLIF(divisor, 0) instead of the divisor to leave such rows out",
    ),
    "types that do not fit": (
        SentenceError,
        {"where": "v > array(1)"},
        'Spark cannot work with this sentence: Cannot resolve "(v > array(1))" due to data type mismatch: the left '
        'and right operands of the binary operator have incompatible types ("DOUBLE" and "ARRAY<INT>")',
    ),
    "infinity": (
        DataError,
        {"present": "v * DOUBLE('Infinity')"},
        "a row contributes infinity to s; leave such rows out with WHERE",
    ),
    "a list that is none": (
        SentenceError,
        {"grouping": ByMember("word", "w")},
        "EACH needs a list and word is string",
    ),
    "a group that cannot be": (
        SentenceError,
        {"grouping": ByKey(("map(1, v)",), ("m",))},
        "map(1, v) cannot be grouped by: it is map<int,double>",
    ),
    "no time column": (
        DataError,
        {"time": "tss"},
        "there is no column named tss to take the time from; did you mean ts?",
    ),
    "times that do not parse": (
        DataError,
        {"time": "word"},
        "the time column word holds text that is no time: 'x' (2 such values); "
        "write ISO 8601, such as 2013-03-01T00:00:00Z",
    ),
    "one time that does not parse": (
        DataError,
        {"time": "text"},
        "the time column text holds text that is no time: '3' (1 such value); "
        "write ISO 8601, such as 2013-03-01T00:00:00Z",
    ),
    "no site column": (
        DataError,
        {"site": "region"},
        "there is no column named region to take the site from; the columns are station, ts, v, text, word",
    ),
    "too few sites": (
        OptionError,
        {"site": "hash:station:1"},
        "the site assignment 'hash:station:1' makes 1 site; a watch needs at least 2",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_one_sentence_and_nothing_changed(
    spark: SparkSession, tmp_path: Path, data: DataFrame, case: str, capfd: pytest.CaptureFixture[str]
) -> None:
    kind, parts, sentence = CASES[case]
    parts = dict(parts)
    site, time = str(parts.pop("site", "station")), str(parts.pop("time", "ts"))
    plan = watch(("s", str(parts.pop("present", "v"))), **parts)
    with pytest.raises(InputError) as caught:
        prepare(spark, plan, data, site=site, time=time, folder=tmp_path / "recording")
    assert type(caught.value) is kind
    message = str(caught.value)
    assert message.startswith(sentence.removesuffix("…")) if sentence.endswith("…") else message == sentence
    assert "\n" not in message
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


def test_data_that_makes_no_recording(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    for frame, sentence in (
        (data.limit(0), "the data has no rows"),
        (
            data.withColumn("station", sf.lit("a")),
            "the site column station has one value, 'a'; a watch needs at least 2 sites, and round_robin:N makes them",
        ),
        (data.withColumn("ts", sf.lit(None).cast("bigint")), "no row has both a site and a time in column ts"),
        (data.withColumn("station", sf.lit(None).cast("string")), "no row has both a site and a time in column ts"),
        (
            spark.range(10_001).selectExpr("id AS ts", "id AS station", "1 AS v"),
            "the site column station has more than 10,000 values; group them with hash:station:N",
        ),
    ):
        with pytest.raises(DataError) as caught:
            prepare(spark, watch(("s", "v")), frame, site="station", time="ts", folder=tmp_path / "recording")
        assert str(caught.value) == sentence
    assert list(tmp_path.iterdir()) == []


def test_a_folder_of_something_else_is_left_alone(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    precious = tmp_path / "thesis"
    precious.mkdir()
    (precious / "chapter.txt").write_text("once")
    with pytest.raises(OptionError) as caught:
        prepare(spark, watch(("s", "v")), data, site="station", time="ts", folder=precious)
    assert str(caught.value) == f"{precious} exists and is not a prepared recording; choose another folder"
    assert (precious / "chapter.txt").read_text() == "once"


def test_a_failure_keeps_the_recording_that_was_there(spark: SparkSession, tmp_path: Path, data: DataFrame) -> None:
    folder = prepare(spark, watch(("s", "v")), data, site="station", time="ts", folder=tmp_path / "recording")
    before = (folder / "meta.json").read_text()
    with pytest.raises(SentenceError):
        prepare(spark, watch(("s", "1 / v")), data, site="station", time="ts", folder=folder)
    assert (folder / "meta.json").read_text() == before
    assert [path.name for path in tmp_path.iterdir()] == ["recording"]
