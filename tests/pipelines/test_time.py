"""The time column: every type it may have, and the text that is refused."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tacit.pipelines.time import time_column, utc
from tacit.vocabulary.errors import DataError

NOON_US = 1_362_139_200_000_000  # 2013-03-01 12:00 UTC


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        ("1362139200", NOON_US),
        ("CAST(1362139200 AS BIGINT)", NOON_US),
        ("1362139200.000001D", NOON_US + 1),
        ("CAST(1362139200.25 AS DECIMAL(20, 6))", NOON_US + 250_000),
        ("-0.5D", -500_000),
        ("TIMESTAMP_NTZ'2013-03-01 12:00:00'", NOON_US),
        ("TIMESTAMP'2013-03-01 14:00:00+02:00'", NOON_US),
        ("DATE'2013-03-01'", NOON_US - 43_200_000_000),
        ("'2013-03-01T12:00:00Z'", NOON_US),
        ("'2013-03-01 12:00:00.000001'", NOON_US + 1),
        ("' 2013-03-01 21:00:00 Asia/Tokyo'", NOON_US),
        ("'2013-03-01'", NOON_US - 43_200_000_000),
        ("CAST(NULL AS TIMESTAMP)", None),
        ("CAST('NaN' AS DOUBLE)", None),
        ("CAST('-Infinity' AS DOUBLE)", None),
        ("''", None),
    ],
)
def test_times_of_every_type(spark: SparkSession, value: str, micros: int | None) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with utc(spark):
            frame = spark.sql(f"SELECT {value} AS ts")
            time = time_column(frame, "TS")
            row = frame.select(
                time.micros.alias("t"), *([time.bad.alias("bad")] if time.bad is not None else [])
            ).first()
        assert row is not None
        assert row.t == micros
        assert time.bad is None or row.bad is None
        assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


@pytest.mark.parametrize(
    "value", ["'yesterday'", "'now'", "'12:00'", "'T12:00'", "'01/03/2013'", "1.7e12D", "1700000000000"]
)
def test_values_that_are_no_time(spark: SparkSession, value: str) -> None:
    frame = spark.sql(f"SELECT {value} AS ts")
    time = time_column(frame, "ts")
    assert time.bad is not None
    row = frame.select(time.micros, time.bad).first()
    assert row is not None
    assert row[0] is None
    assert row[1] is not None


def test_sentences(spark: SparkSession) -> None:
    frame = spark.sql("SELECT 'x' AS ts, 1 AS seconds, true AS flag")
    assert str(time_column(frame, "ts").complain(1, "x")) == (
        "the time column ts holds text that is no time: 'x' (1 such value); "
        "write ISO 8601, such as 2013-03-01T00:00:00Z"
    )
    assert str(time_column(frame, "seconds").complain(1234, "5")) == (
        "the time column seconds reaches beyond the year 9999: 5 (1,234 such values); "
        "a time in numbers is in seconds since 1970, so divide milliseconds by 1000"
    )
    for name, sentence in {
        "flag": "the time column flag is boolean; a time is a timestamp, a date, a number or text",
        "tss": "there is no column named tss to take the time from; did you mean ts?",
        "when": "there is no column named when to take the time from; the columns are ts, seconds, flag",
    }.items():
        with pytest.raises(DataError) as caught:
            time_column(frame, name)
        assert str(caught.value) == sentence
