"""Sketches of DataFrames, against exact counts and against sketches of the same rows in this process."""

from __future__ import annotations

from collections import Counter
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.pipelines import ecm, ecm_by
from tacit.sketches import EcmSketch, SlidingWindow
from tacit.vocabulary.errors import DataError, MergeError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, WINDOW = 6_000, 1_000
ASKED: dict[str, Any] = {"key": "key", "time": "time", "window": WINDOW, "epsilon": 0.05, "delta": 0.01}


def rows(seed: int = 3) -> tuple[list[int], list[int]]:
    """Keys of which a few are frequent, and times that rise."""
    dice = np.random.default_rng(seed)
    return np.minimum(dice.zipf(1.4, ROWS), 400).tolist(), np.sort(dice.integers(0, 3_000, ROWS)).tolist()


def framed(spark: SparkSession, keys: list[Any], times: list[Any], parts: int = 1, **more: Any) -> DataFrame:
    """The rows in so many partitions, one after the other, each in the order given."""
    table = pa.table({"key": keys, "time": times} | more)
    schema = spark.createDataFrame(table.slice(0, 0)).schema
    listed = zip(*(each.to_pylist() for each in table.columns), strict=True)
    return spark.createDataFrame(spark.sparkContext.parallelize(list(listed), parts), schema, verifySchema=False)


def exact(keys: list[Any], times: list[int], length: int = WINDOW) -> Counter[Any]:
    last = max(times)
    return Counter(key for key, time in zip(keys, times, strict=True) if last - length < time <= last)


def check(sketch: EcmSketch, keys: list[Any], times: list[int], epsilon: float = 0.05) -> None:
    """Every key's count, in three ranges, within the guarantee (a key in a hundred may miss it)."""
    assert sketch.point_error <= epsilon * (1 + 1e-9)
    for length in (WINDOW, WINDOW // 3, 10):
        true = exact(keys, times, length)
        missed = [k for k in set(keys) if abs(sketch.estimate(k, length) - true[k]) > epsilon * true.total()]
        assert len(missed) <= len(set(keys)) // 100
        assert abs(sketch.total(length) - true.total()) <= epsilon * true.total()


def test_one_partition_gives_the_very_sketch_of_the_driver(spark: SparkSession) -> None:
    keys, times = rows()
    here = EcmSketch.for_query(0.05, 0.01, window=SlidingWindow(WINDOW))
    here.update_many(keys, times)
    assert ecm(framed(spark, keys, times), **ASKED).to_bytes() == here.to_bytes()
    assert ecm(framed(spark, keys, times), ordered=True, **ASKED).to_bytes() == here.to_bytes()


@pytest.mark.parametrize(("parts", "fan_in", "levels"), [(2, 16, 1), (5, 2, 3)])
def test_many_partitions_are_merged_in_a_tree(spark: SparkSession, parts: int, fan_in: int, levels: int) -> None:
    keys, times = rows()
    frame = framed(spark, keys, times, parts)
    sketch = ecm(frame, fan_in=fan_in, **ASKED)
    assert sketch.levels == levels
    check(sketch, keys, times)
    assert ecm(frame, fan_in=fan_in, **ASKED).to_bytes() == sketch.to_bytes()


def test_shuffled_rows_are_sorted_by_time_within_their_partitions(spark: SparkSession) -> None:
    keys, times = rows()
    mixed = framed(spark, keys, times, 2).repartition(3)
    sketch = ecm(mixed, **ASKED)
    assert sketch.late == 0
    assert sketch.levels <= 2  # how many partitions there will be is a guess here
    check(sketch, keys, times)
    back = framed(spark, keys[::-1], times[::-1])
    assert ecm(back, ordered=True, **ASKED).late > ROWS // 2
    assert ecm(back, **ASKED).late == 0


@pytest.mark.parametrize("counter", ["wave", "random_wave"])
def test_other_counters(spark: SparkSession, counter: Any) -> None:
    keys, times = rows()
    check(ecm(framed(spark, keys, times, 3), counter=counter, **ASKED | {"epsilon": 0.1}), keys, times, 0.1)


def test_inner_products_and_merging_later(spark: SparkSession) -> None:
    (keys, times), (others, moments) = rows(), rows(4)
    options = ASKED | {"query": "inner_product", "merges_later": 2}
    one, two = (ecm(framed(spark, *each, 2), **options) for each in ((keys, times), (others, moments)))
    mine, its = exact(keys, times), exact(others, moments)
    end = max(one.now, two.now)
    assert times[-1] == moments[-1] == end
    true = sum(mine[key] * its[key] for key in mine)
    assert abs(one.inner_product(two) - true) <= 0.05 * mine.total() * its.total()
    again = one.merge(two).merge(two)
    assert again.levels == 3
    assert again.inner_product_error <= 0.05 * (1 + 1e-9)


@pytest.mark.parametrize(
    ("keys", "asked"),
    [
        (["", "tea", "grün", "茶", "🍵" * 30, None] * 3, ["", "tea", "grün", "茶", "🍵" * 30, "no"]),
        ([b"", b"tea", b"\x00\xff", b"x" * 100, None, b"tea"] * 3, [b"", b"tea", b"\x00\xff", b"x" * 100, b"no"]),
        ([0, -1, 2**63 - 1, -(2**63), None, 7] * 3, [0, -1, 2**63 - 1, -(2**63), 7, 8]),
    ],
    ids=["texts", "binary", "whole"],
)
def test_keys_of_all_kinds_and_nulls(spark: SparkSession, keys: list[Any], asked: list[Any]) -> None:
    times: list[int | None] = [*range(len(keys) - 1), None]
    frame = framed(spark, keys, times, 2)
    sketch = ecm(frame, seed=11, **ASKED)
    true = Counter(keys[:-1])
    assert [sketch.estimate(key) for key in asked] == [true[key] for key in asked]
    (row,) = ecm_by(frame, seed=11, **ASKED).collect()
    assert row.rows_left_out == true[None] + 1
    assert EcmSketch.from_bytes(row.sketch).total() == len(keys) - row.rows_left_out


def test_timestamps_dates_and_counts(spark: SparkSession) -> None:
    frame = spark.sql("""
        SELECT * FROM VALUES
        (1, TIMESTAMP'2026-07-01 10:00:00Z', TIMESTAMP_NTZ'2026-07-01 10:00:00', DATE'2026-07-01', 5),
        (1, TIMESTAMP'2026-07-01 10:59:00Z', TIMESTAMP_NTZ'2026-07-01 10:59:00', DATE'2026-07-02', 1),
        (2, TIMESTAMP'2026-07-01 11:30:00Z', TIMESTAMP_NTZ'2026-07-01 11:30:00', DATE'2026-07-03', NULL),
        (1, TIMESTAMP'2026-07-01 11:30:00Z', TIMESTAMP_NTZ'2026-07-01 11:30:00', DATE'2026-07-03', 3)
        AS t(key, at, plain, day, often)""").coalesce(1)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        for time in ("at", "plain"):
            asked = {"key": "key", "time": time, "window": timedelta(hours=1), "epsilon": 0.01, "delta": 0.01}
            sketch = ecm(frame, **asked)
            assert sketch.now == 1_782_905_400_000_000
            assert (sketch.estimate(1), sketch.estimate(2)) == (2, 1)
            assert ecm(frame, count="often", **asked).estimate(1) == 4
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone or "UTC")
    by_day = ecm(frame, key="key", time="day", window=timedelta(days=2), epsilon=0.01, delta=0.01)
    assert (by_day.estimate(1), by_day.total()) == (2, 3)


@pytest.mark.parametrize("parts", [0, 3])
def test_nothing_at_all(spark: SparkSession, parts: int) -> None:
    frame = spark.range(0, parts, numPartitions=max(parts, 1)).where("id < 0").selectExpr("id AS key", "id AS time")
    sketch = ecm(frame, **ASKED)
    assert (sketch.total(), sketch.levels, sketch.estimate(1)) == (0, 0, 0)
    (row,) = ecm_by(frame, **ASKED).collect()
    assert EcmSketch.from_bytes(row.sketch).total() == row.rows_left_out == 0
    assert ecm_by(frame, ["key"], **ASKED).collect() == []


def test_empty_partitions_are_not_merged(spark: SparkSession) -> None:
    frame = spark.range(0, 40, numPartitions=4).where("id >= 30").selectExpr("id % 3 AS key", "id AS time")
    sketch = ecm(frame, **ASKED)
    assert (sketch.levels, sketch.total()) == (0, 10)


def test_windows_by_rows_need_one_partition(spark: SparkSession) -> None:
    keys, times = rows()
    asked = {"key": "key", "window": SlidingWindow(500, by="rows"), "epsilon": 0.05, "delta": 0.01}
    here = EcmSketch.for_query(0.05, 0.01, window=SlidingWindow(500, by="rows"))
    here.update_many(keys)
    assert ecm(framed(spark, keys, times), **asked).to_bytes() == here.to_bytes()
    several = framed(spark, keys, times, 3)
    told = "the last rows of 3 partitions together are not known"
    with pytest.raises(MergeError, match=told):
        ecm(several, **asked)
    with pytest.raises(MergeError, match=told):  # how many there are is known after the job only
        ecm(several.repartitionById(3, (several.key % 3).cast("int")), **asked)
    with pytest.raises(OptionError, match="which windows by rows do not allow"):
        ecm_by(several, **asked)
    with pytest.raises(OptionError, match="leave time out"):
        ecm(several, time="time", **asked)


def test_groups_each_have_their_sketch(spark: SparkSession) -> None:
    keys, times = rows()
    hours: list[Any] = [None if key == 3 else time // 1_000 for key, time in zip(keys, times, strict=True)]
    names = ["a" if key % 2 else None for key in keys]
    weights = [float("nan") if key == 5 else -0.0 if key == 7 else 0.0 for key in keys]
    frame = framed(spark, keys, times, 3, hour=pa.array(hours, pa.int32()), name=names, weight=weights)
    made = ecm_by(frame, ["hour", "NAME"], **ASKED)
    assert made.columns == ["hour", "name", "sketch", "rows_left_out"]
    found = {(row.hour, row.name): EcmSketch.from_bytes(row.sketch) for row in made.collect()}
    groups = set(zip(hours, names, strict=True))
    assert set(found) == groups
    for group in groups:
        mine = [i for i in range(ROWS) if (hours[i], names[i]) == group]
        check(found[group], [keys[i] for i in mine], [times[i] for i in mine])
    weighed = {str(row.weight): EcmSketch.from_bytes(row.sketch).total() for row in ecm_by(
        frame, ["weight"], **ASKED | {"window": 10_000}).collect()}  # fmt: skip
    assert weighed == pytest.approx({"nan": keys.count(5), "0.0": ROWS - keys.count(5)}, rel=0.05)


BAD: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"key": "kye"}, DataError, "there is no column named kye to take the key from; did you mean key?"),
    ({"time": "tim"}, DataError, "there is no column named tim to take the time from; did you mean time?"),
    ({"key": "half"}, DataError, "the key column half is double; keys of a sketch are whole numbers, texts or binary"),
    ({"time": "half"}, DataError, "the time column half is double; times of a sketch are timestamps, dates or whole"),
    ({"time": "text"}, DataError, "so write TO_TIMESTAMP(text)"),
    ({"count": "text"}, DataError, "the count column text is string; counts of a sketch are whole numbers"),
    ({"time": None}, OptionError, "a sliding window by time needs the time of each row; give time="),
    ({"epsilon": 1.5}, OptionError, "epsilon of a sketch is between 0 and 1, and 1.5 is not"),
    ({"delta": 0}, OptionError, "delta of a sketch is between 0 and 1, and 0 is not"),
    ({"window": 0}, OptionError, "a sliding window has a length of 1 to 2^60, and 0 is none"),
    ({"window": "1 hour"}, OptionError, "a window is a SlidingWindow, a timedelta or a whole number of ticks"),
    ({"window": timedelta(hours=1)}, OptionError, "how long a tick of numeric times is only you know"),
    ({"query": "range"}, OptionError, "a sketch is made for the query point or inner_product"),
    ({"counter": "list"}, OptionError, "'list' is none of them"),
    ({"seed": 2**63}, OptionError, "a seed is a whole number of 64 bits"),
    ({"key": "text", "seed": 2**63}, OptionError, "a seed is a whole number of 64 bits"),
    ({"key": 5}, OptionError, "the key is a column by its name, or an expression, and 5 is neither"),
    ({"key": "twice"}, DataError, "2 columns are named twice, and the key is taken from one; rename the others"),
    ({"fan_in": 2.5}, OptionError, "a task merges 2 sketches or more, and fan_in is 2.5"),
    ({"merges_later": "a"}, OptionError, "merges_later is a"),
    ({"fan_in": 1}, OptionError, "a task merges 2 sketches or more, and fan_in is 1"),
    ({"merges_later": -1}, OptionError, "merges_later is -1"),
]


@pytest.mark.parametrize(("wrong", "kind", "told"), BAD, ids=[str(sorted(each[0].items())[0]) for each in BAD])
def test_what_is_wrong_is_told_before_a_job_runs(
    spark: SparkSession, wrong: dict[str, Any], kind: type, told: str
) -> None:
    frame = spark.range(3).selectExpr(
        "raise_error('a job ran') AS key", "id AS time", "0.5D AS half", "'x' AS text", "id"
    ).selectExpr("CAST(key AS BIGINT) AS key", "time", "half", "text", "time AS twice", "text AS twice")  # fmt: skip
    for call in (ecm, ecm_by):
        with pytest.raises(kind) as caught:
            call(frame, **ASKED | wrong)
        assert told in str(caught.value)
        assert "\n" not in str(caught.value)


def test_groups_that_cannot_be(spark: SparkSession) -> None:
    frame = spark.range(3).selectExpr("id AS key", "id AS time", "array(id) AS list", "id AS sketch")
    with pytest.raises(DataError, match="there is no column named lst to take the group from; did you mean list"):
        ecm_by(frame, ["lst"], **ASKED)
    with pytest.raises(OptionError, match="groups of sketches are by plain values, and list is array<bigint>"):
        ecm_by(frame, ["list"], **ASKED)
    with pytest.raises(OptionError, match="the column sketch is what the result is called"):
        ecm_by(frame, ["sketch"], **ASKED)
    with pytest.raises(
        OptionError, match="groups of sketches are by columns of the frame, by their names, and None is"
    ):
        ecm_by(frame, [None], **ASKED)
    assert ecm_by(frame, "time", **ASKED).columns == ecm_by(frame, ["time", "TIME"], **ASKED).columns
    with pytest.raises(TypeError, match="epsilom"):
        ecm(frame, epsilom=0.1, **ASKED)


def test_what_is_wrong_in_a_task_is_one_sentence(spark: SparkSession, capfd: Any) -> None:
    frame = spark.range(3).selectExpr("id AS key", "id AS time", "1 - id AS often")
    with pytest.raises(DataError) as caught:
        ecm(frame, count="often", **ASKED)
    assert str(caught.value) == "a count of a sketch is 0 or more, and -1 is not"
    with pytest.raises(DataError, match="a time of a sketch is a whole number between"):
        ecm(frame.selectExpr("key", "time + 2e18::BIGINT AS time"), **ASKED)
    assert capfd.readouterr().err == ""


def test_expressions_and_settings(spark: SparkSession) -> None:
    from pyspark.sql import functions as sf

    setting = "spark.sql.execution.arrow.maxRecordsPerBatch"
    frame = spark.range(100).withColumnRenamed("id", "a.b")
    sketch = ecm(frame, **ASKED | {"key": sf.concat(sf.lit("k"), sf.col("`a.b`") % 2), "time": "a.b"})
    assert (sketch.estimate("k0"), sketch.estimate("k1")) == (50, 50)
    assert spark.conf.get(setting) == "10000"
    spark.conf.set(setting, "7")
    try:
        assert ecm(frame, **ASKED | {"key": "a.b", "time": "a.b"}).total() == 100
        assert spark.conf.get(setting) == "7"
    finally:
        spark.conf.unset(setting)
    with pytest.raises(OptionError, match="sketch its batches"):
        ecm(spark.readStream.format("rate").load(), **ASKED)
