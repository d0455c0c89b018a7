"""Generated data that looks like the real kinds: air quality, web requests, news, sensors.

For the demo and for benchmarks where real data is absent. Everything is native Spark expressions of a seed (see
``dice``): the same seed gives the same rows on any machine. News stories are written in ``news``.
"""

from __future__ import annotations

import math

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.dice import noise, normal, uniform, zipf
from tacit.pipelines.news import news

__all__ = ["air_quality", "news", "sensors", "web_requests"]

_TAU = 2.0 * math.pi
_AIR_START = 1_362_096_000  # 2013-03-01 UTC
_WEB_START = 893_973_600  # 1998-04-30 22:00 UTC
_SENSOR_START = 1_700_000_000
_MISSING = 0.02


def air_quality(spark: SparkSession, stations: int = 12, hours: int = 24 * 365, seed: int = 0) -> DataFrame:
    """Hourly readings per station: station, ts, pm25, pm10, so2, no2, co, o3, temp, pres, dewp, rain, wspm.

    Stations differ in level, share the weather, follow the day and the year; SO2 falls over time as it did in Beijing,
    and each pollutant is NULL in 2% of the rows.
    """
    rows = spark.range(stations * hours).select(
        sf.pmod("id", sf.lit(stations)).alias("k"), (sf.col("id") / stations).cast("bigint").alias("h")
    )
    k, h = sf.col("k"), sf.col("h")
    day, year = h / 24.0, h / (24.0 * 365.25)
    # What several readings depend on is a column first, so that it is worked out once.
    causes = {
        "weather": noise(seed, "weather", h / 60.0),  # the same for all stations
        "front": noise(seed, "front", h / 72.0),
        "local": noise(seed, "local", h / 18.0, k),
        "level": sf.exp(normal(seed, "level", k) * 0.25),
        "winter": sf.cos((year + 1 / 6) * _TAU),  # 1 near the turn of the year, for a start in March
        "rush": sf.sin((day - 0.1) * 2 * _TAU) * 0.2 + sf.cos((day - 0.8) * _TAU) * 0.15,
        "afternoon": sf.cos((day - 0.6) * _TAU),
    }
    weather, front, local, level, winter, rush, afternoon = (sf.col(name) for name in causes)

    def lognormal(name: str, middle: float, log: Column) -> Column:
        value = sf.exp(log + normal(seed, name, h, k) * 0.15) * level * middle
        kept = uniform(seed, name + "/missing", h, k) >= _MISSING
        return sf.when(kept, sf.greatest(sf.round(value), sf.lit(1.0)))

    return rows.withColumns(causes).select(
        sf.format_string("station_%02d", k).alias("station"),
        sf.timestamp_seconds(h * 3600 + _AIR_START).alias("ts"),
        lognormal("pm25", 60.0, weather * 0.7 + local * 0.3 + winter * 0.2).alias("pm25"),
        lognormal("pm10", 85.0, weather * 0.55 + local * 0.35 + winter * 0.1).alias("pm10"),
        lognormal("so2", 17.0, weather * 0.4 + local * 0.4 + winter * 0.6 - year * 0.2).alias("so2"),
        lognormal("no2", 42.0, weather * 0.35 + local * 0.25 + winter * 0.2 + rush).alias("no2"),
        lognormal("co", 950.0, weather * 0.5 + local * 0.25 + winter * 0.35).alias("co"),
        lognormal("o3", 45.0, afternoon * 0.7 - winter * 0.6 + local * 0.3).alias("o3"),
        sf.round(13.5 - winter * 14.0 + afternoon * 4.5 + front * 3.5, 1).alias("temp"),
        sf.round(1010.0 + winter * 9.0 - front * 5.0, 1).alias("pres"),
        sf.round(2.0 - winter * 13.0 + weather * 4.0, 1).alias("dewp"),
        sf.when(weather > 1.6, sf.round((weather - 1.6) * 6.0, 1)).otherwise(0.0).alias("rain"),
        sf.round(sf.exp(0.35 - weather * 0.4 + normal(seed, "wind", h, k) * 0.35), 1).alias("wspm"),
    )


def web_requests(spark: SparkSession, rows: int = 200_000, sites: int = 12, seed: int = 0) -> DataFrame:
    """A day of requests: ts, client, url, status, bytes and the server that answered.

    The rate follows the day, urls are Zipf (and the popular ones change after noon), servers differ in load.
    """
    i = sf.col("id")
    through = (i + 0.5) / rows
    second = (through + sf.sin(through * _TAU) * 0.1) * 86_400
    client = zipf(seed, "client", max(rows // 50, 10), i)
    rank = zipf(seed, "url", 2_000, i)
    moved = sf.when((through > 0.5) & (rank < 50), 49 - rank).otherwise(rank)
    luck = uniform(seed, "status", i)
    status = sf.when(luck < 0.75, 200.0).when(luck < 0.93, 304.0).when(luck < 0.99, 404.0).otherwise(500.0)
    size = sf.round(sf.exp(7.5 + normal(seed, "page", moved) * 1.1 + normal(seed, "size", i) * 0.3))
    server = sf.floor(sf.pow(uniform(seed, "server", client), sf.lit(1.3)) * sites)
    return spark.range(rows).select(
        sf.timestamp_seconds(sf.floor(second) + _WEB_START).alias("ts"),
        client.alias("client"),
        sf.format_string("/page/%04d.html", moved).alias("url"),
        status.alias("status"),
        sf.when(status == 200.0, size).otherwise(0.0).alias("bytes"),
        sf.format_string("server_%03d", server).alias("server"),
    )


def sensors(spark: SparkSession, rows: int = 100_000, sites: int = 10, seed: int = 0) -> DataFrame:
    """Readings (sensor, ts, x, y) whose mean wanders over the plane, for sine and two-layer-network watches.

    The mean drifts from (-1.5, -1.5) to (1.5, 1.5) on a bent path; each sensor has its own offset and its own noise.
    """
    i = sf.col("id")
    k, step = sf.pmod(i, sf.lit(sites)), sf.floor(i / sites)
    through = i / float(max(rows - 1, 1))
    drift = through * 3.0 - 1.5
    bend = sf.sin(through * _TAU) * 0.6

    def reading(name: str, mean: Column) -> Column:
        offset = normal(seed, name + "/offset", k) * 0.2
        wander = noise(seed, name + "/wander", step / 400.0, k) * 0.25
        return mean + offset + wander + normal(seed, name, i) * 0.3

    return spark.range(rows).select(
        sf.format_string("sensor_%03d", k).alias("sensor"),
        sf.timestamp_seconds(step + _SENSOR_START).alias("ts"),
        reading("x", drift + bend).alias("x"),
        reading("y", drift - bend).alias("y"),
    )
