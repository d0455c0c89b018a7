"""Generated data: the same from every layout, and of the shape that the demo and the benchmarks count on."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.generate import air_quality, news, sensors, web_requests

MAKERS: dict[str, Callable[[SparkSession, int], DataFrame]] = {
    "air": lambda spark, seed: air_quality(spark, stations=3, hours=40, seed=seed),
    "web": lambda spark, seed: web_requests(spark, rows=120, sites=4, seed=seed),
    "news": lambda spark, seed: news(spark, docs=60, terms=200, seed=seed),
    "sensors": lambda spark, seed: sensors(spark, rows=120, sites=4, seed=seed),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_a_seed_is_a_data_set(spark: SparkSession, kind: str) -> None:
    make = MAKERS[kind]
    first = sorted(map(str, make(spark, 1).collect()))
    assert first == sorted(map(str, make(spark, 1).repartition(5).collect()))
    assert first != sorted(map(str, make(spark, 2).collect()))


def test_air_has_rhythm_stations_and_gaps(spark: SparkSession) -> None:
    air = air_quality(spark, stations=6, hours=24 * 120).cache()
    assert air.columns == [
        "station",
        "ts",
        "pm25",
        "pm10",
        "so2",
        "no2",
        "co",
        "o3",
        "temp",
        "pres",
        "dewp",
        "rain",
        "wspm",
    ]
    assert air.count() == 6 * 24 * 120
    missing = air.agg(
        *(sf.avg(sf.col(name).isNull().cast("int")).alias(name) for name in ("pm25", "so2", "temp"))
    ).first()
    assert missing is not None
    assert missing.pm25 == pytest.approx(0.02, abs=0.004)
    assert missing.so2 == pytest.approx(0.02, abs=0.004)
    assert missing.temp == 0
    levels = [row[1] for row in air.groupBy("station").avg("no2").collect()]
    assert max(levels) > 1.2 * min(levels)
    hours = {row[0]: row[1] for row in air.groupBy(sf.hour("ts")).avg("o3").collect()}
    assert hours[14] > 1.5 * hours[2]


def test_requests_are_zipf(spark: SparkSession) -> None:
    web = web_requests(spark, rows=20_000, sites=8).cache()
    morning = web.where("ts < '1998-05-01 10:00:00'")  # the popular pages change at half-time
    hits = np.array([row[1] for row in morning.groupBy("url").count().orderBy(sf.desc("count")).collect()])
    assert 11 * hits[20] < hits[0] < 40 * hits[20]
    assert web.select("server").distinct().count() == 8
    times = web.agg((sf.max("ts").cast("double") - sf.min("ts").cast("double")).alias("span")).first()
    assert times is not None
    assert 0.9 * 86_400 < times.span <= 86_400


def test_three_contrasting_terms(spark: SparkSession) -> None:
    """Information gain about earn: term 0 declines, term 1 stays, term 2 peaks half-way."""
    docs = 9_000
    stories = news(spark, docs=docs, terms=500).withColumn("third", sf.floor((sf.col("doc") - 1) * 3 / docs))
    earn = sf.array_contains("topics", "earn")
    counts = stories.groupBy("third").agg(
        *(
            sf.count_if((sf.array_contains("terms", term) == sf.lit(has)) & (earn == sf.lit(is_earn))).alias(
                f"n{term}{int(has)}{int(is_earn)}"
            )
            for term in range(3)
            for has in (True, False)
            for is_earn in (True, False)
        )
    )
    rows = {row.third: row for row in counts.collect()}

    def gain(third: int, term: int) -> float:
        table = np.array([[rows[third][f"n{term}{a}{b}"] for b in (1, 0)] for a in (1, 0)]) / (docs / 3)
        return float(np.sum(table * np.log2(table / np.outer(table.sum(1), table.sum(0)))))

    gains = np.array([[gain(third, term) for third in range(3)] for term in range(3)])
    assert gains[0, 0] > 2 * gains[0, 1] > 4 * gains[0, 2]
    assert gains[1].max() < 1.6 * gains[1].min()
    assert gains[2, 1] > 3 * gains[2, 0]
    assert gains[2, 1] > 3 * gains[2, 2]
    terms = stories.selectExpr("terms", "terms = array_sort(array_distinct(terms)) AS tidy")
    assert terms.where("NOT tidy OR terms[0] < 0 OR element_at(terms, -1) >= 500").count() == 0


def test_sensors_drift_across_the_plane(spark: SparkSession) -> None:
    readings = sensors(spark, rows=4_000, sites=4)
    ends = readings.groupBy((sf.unix_seconds("ts") < 1_700_000_100).alias("early")).agg(sf.avg("x"), sf.avg("y"))
    means = {row.early: (row[1], row[2]) for row in ends.collect()}
    assert means[True][0] < 0.3 < means[False][0] + 0.6
    assert readings.select("sensor").distinct().count() == 4
