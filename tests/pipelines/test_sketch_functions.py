"""Functions on columns of sketches, in SQL and on DataFrames."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.pipelines import ecm_by, register_sketches
from tacit.pipelines import sketch_functions as functions
from tacit.pipelines.failures import one_sentence, translate
from tacit.pipelines.sketch_answers import answer
from tacit.pipelines.sketch_columns import word_of
from tacit.sketches import (
    BloomFilter,
    CountMin,
    DyadicCountMin,
    DyadicEcm,
    EcmSketch,
    ExponentialHistogram,
    SlidingWindow,
    fingerprints,
)
from tacit.vocabulary.errors import DataError, LineageMismatch, OptionError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

WINDOW = SlidingWindow(1_000)


@pytest.fixture(scope="module")
def sql(spark: SparkSession) -> SparkSession:
    register_sketches(spark)
    return spark


def sketched(keys: list[Any], times: list[int], seed: int = 0) -> EcmSketch:
    made = EcmSketch.for_query(0.05, 0.01, window=WINDOW, seed=seed, query="inner_product", levels=2)
    made.update_many(keys, times)
    return made


def framed(spark: SparkSession, **columns: list[Any]) -> DataFrame:
    return spark.createDataFrame(pa.table(columns))


@pytest.fixture(scope="module")
def hours(sql: SparkSession) -> list[EcmSketch]:
    """Two sketches of texts, as the view `hourly`; the third row has none."""
    made = [sketched(["tea", "milk", "tea"], [1, 500, 900]), sketched(["tea", "茶"], [1_200, 1_250])]
    rows = framed(sql, hour=[0, 1, 2], sketch=[*(each.to_bytes() for each in made), None])
    rows.createOrReplaceTempView("hourly")
    return made


def test_spark_hashes_texts_and_bytes_as_we_do(spark: SparkSession) -> None:
    dice = np.random.default_rng(5)
    letters = "abc äöü茶🍵\x00\n'"
    texts = ["".join(dice.choice(list(letters), size)) for size in range(101) for _ in range(2)]
    data = [dice.bytes(size) for size in range(101) for _ in range(2)]
    frame = framed(spark, text=texts, data=data)
    kinds = frame.schema["text"].dataType, frame.schema["data"].dataType
    for seed in (0, 2**63 - 1, -(2**63)):
        hashed = frame.select(
            word_of(frame.text, kinds[0], "text", seed=seed).alias("text"),
            word_of(frame.data, kinds[1], "data", seed=seed).alias("data"),
        ).toArrow()
        for name, values in (("text", texts), ("data", data)):
            found = hashed.column(name).to_numpy().view(np.uint64)
            assert found.tolist() == fingerprints(values, seed=seed).tolist()
    caseless = frame.selectExpr("text COLLATE UTF8_LCASE AS text")
    word = word_of(caseless.text, caseless.schema["text"].dataType, "text", seed=7).alias("text")
    found = caseless.select(word).toArrow().column("text").to_numpy().view(np.uint64)
    assert found.tolist() == fingerprints(texts, seed=7).tolist()


def test_sql_asks_sketches(sql: SparkSession, hours: list[EcmSketch]) -> None:
    rows = sql.sql("""
        SELECT ecm_estimate(sketch, 'tea') AS tea, ecm_estimate(sketch, '茶', 1000L) AS cha,
               ecm_estimate(sketch, 'tea', 100L) AS late_tea, ecm_estimate(sketch, CAST(NULL AS STRING)) AS nobody,
               ecm_total(sketch) AS total, ecm_total(sketch, 100L) AS late_total, ecm_self_join(sketch) AS squares,
               ecm_error(sketch) AS error
        FROM hourly ORDER BY hour""").collect()
    one, two = hours
    assert rows[0][:7] == (2, 0, 1, None, 3, 1, one.self_join_size())
    assert rows[1][:7] == (1, 1, 1, None, 2, 2, 2)
    assert rows[0].error == one.point_error
    assert list(rows[2]) == [None] * 8
    (row,) = sql.sql("""
        SELECT ecm_estimate(sketch, NULL), ecm_estimate(sketch, 'tea', NULL), ecm_total(sketch, NULL), ecm_total(NULL)
        FROM hourly WHERE hour = 0""").collect()
    assert list(row) == [None] * 4
    (row,) = sql.sql("""
        SELECT ecm_inner_product(a.sketch, b.sketch) AS product, sketch_merge(a.sketch, b.sketch) AS both
        FROM hourly a JOIN hourly b ON a.hour = 0 AND b.hour = 1""").collect()
    assert row.product == one.inner_product(two)
    assert EcmSketch.from_bytes(row.both).to_bytes() == one.merge(two).to_bytes()


def test_sql_merges_any_range_of_hours(sql: SparkSession, hours: list[EcmSketch]) -> None:
    both = EcmSketch.merge_all(hours)
    (row,) = sql.sql("SELECT sketch_merge_all(sketch) AS merged FROM hourly").collect()
    assert row.merged == both.to_bytes()
    (row,) = sql.sql(
        "SELECT ecm_estimate(m, 'tea') AS tea FROM (SELECT sketch_merge_all(sketch) AS m FROM hourly)"
    ).collect()
    assert row.tea == both.estimate("tea")
    grouped = sql.sql(
        "SELECT hour DIV 2 AS two, sketch_merge_all(sketch) AS m FROM hourly GROUP BY 1 ORDER BY 1"
    ).collect()
    assert [(each.two, each.m) for each in grouped] == [(0, both.to_bytes()), (1, None)]


def test_keys_of_each_row(sql: SparkSession) -> None:
    keys = list(range(50)) * 4
    one, two = sketched(keys, list(range(200))), sketched([7] * 30, list(range(30)), seed=9)
    asked = [7, 8, None, 7, 300, 49]
    which = [one, one, one, two, two, None]
    frame = framed(sql, sketch=[each and each.to_bytes() for each in which], key=asked, small=[1, 2, 3, 4, 5, 6])
    found = frame.select(
        functions.ecm_estimate("sketch", "key"), functions.ecm_estimate(frame.sketch, frame.key.cast("int"), 20),
        functions.sketch_estimate("sketch", "key"), functions.ecm_estimate("sketch", "key", frame.small),
    ).collect()  # fmt: skip
    true = [None if s is None or k is None else s.estimate(k) for s, k in zip(which, asked, strict=True)]
    late = [None if s is None or k is None else s.estimate(k, 20) for s, k in zip(which, asked, strict=True)]
    own = [
        None if s is None or k is None else s.estimate(k, length)
        for s, k, length in zip(which, asked, range(1, 7), strict=True)
    ]
    assert [list(each) for each in zip(*found, strict=True)] == [true, late, true, own]


def test_one_sketch_for_many_rows(sql: SparkSession) -> None:
    one = sketched(["a"] * 5 + ["b"] * 2, list(range(7)))
    frame = framed(sql, key=["b", None, "a", "c"])
    found = frame.select(
        functions.estimates_of(one, "key"), functions.estimates_of(one.to_bytes(), frame.key, 3)
    ).collect()
    assert [tuple(row) for row in found] == [(2, 2), (None, None), (5, 1), (0, 0)]
    with pytest.raises(DataError, match="these bytes are no sketch"):
        functions.estimates_of(b"nothing", "key")
    with pytest.raises(DataError, match="a sketch is read from bytes, and a NoneType is given"):
        functions.estimates_of(None, "key")
    with pytest.raises(OptionError, match="a CountMin counts without a window; leave the length out"):
        functions.estimates_of(COUNTS, "key", 3)


def test_other_sketches(sql: SparkSession) -> None:
    count, seen = CountMin.for_error(0.01, 0.01, seed=5), BloomFilter.for_capacity(100, 0.001, seed=6)
    ranges, windowed = DyadicCountMin.for_error(0.1, 0.1, bits=8), DyadicEcm.for_query(0.1, 0.1, bits=8, window=WINDOW)
    count.update_many(["a", "b", "a"])
    seen.update_many(["a", "b"])
    ranges.update_many([1, 1, 2])
    windowed.update_many([1, 1, 2], [1, 2, 3])
    columns = {"c": count, "s": seen, "r": ranges, "w": windowed}
    frame = framed(sql, **{name: [each.to_bytes()] for name, each in columns.items()})
    frame.createOrReplaceTempView("others")
    (row,) = sql.sql("""
        SELECT sketch_estimate(c, 'a'), bloom_contains(s, 'a'), bloom_contains(s, X'61'), bloom_contains(s, 'q'),
               sketch_estimate(r, 1), ecm_estimate(w, 1, 2L), sketch_estimate(w, 2)
        FROM others""").collect()
    assert tuple(row) == (2, True, True, False, 2, 1, 1)
    (row,) = frame.select(functions.sketch_merge("c", "c").alias("twice")).collect()
    assert CountMin.from_bytes(row.twice).estimate("a") == 4
    (row,) = (
        frame.union(frame)
        .agg(functions.sketch_merge_all("s").alias("s"), functions.sketch_merge_all("c").alias("c"))
        .collect()
    )
    assert row.s == seen.to_bytes()
    assert CountMin.from_bytes(row.c).total == 6


GOOD, OTHER = sketched(["tea"], [1]).to_bytes(), sketched(["tea"], [1], seed=8).to_bytes()
COUNTS, COUNTER = CountMin(width=30, depth=3).to_bytes(), ExponentialHistogram(window=WINDOW, epsilon=0.1).to_bytes()
RANGES = DyadicCountMin.for_error(0.1, 0.1, bits=8).to_bytes()
BAD: list[tuple[str, tuple[Any, ...], type[Exception], str]] = [
    ("ecm_estimate", (b"no", 1), DataError, "these bytes are no sketch: they do not begin with TSKT"),
    ("ecm_estimate", (GOOD[:-3], "tea"), DataError, "the bytes of this sketch are damaged: its checksum does not fit;"),
    ("ecm_estimate", ("text", 1), DataError, "a column of sketches is BINARY, and string is given"),
    ("ecm_estimate", (GOOD, 0.5), DataError, "a key of a sketch is a whole number, a text or binary, and double is"),
    ("ecm_estimate", (GOOD, "tea", 5_000), OptionError, "a length of 1 to 1000, and 5000 is none"),
    ("ecm_estimate", (GOOD, "tea", "day"), DataError, "a length is a whole number of ticks, and string is given"),
    ("ecm_estimate", (GOOD,), OptionError, "ecm_estimate takes (sketch, key, length)"),
    ("bloom_contains", (GOOD, 1), DataError, "a Bloom filter is asked for, and EcmSketch is given"),
    ("sketch_merge", (GOOD, OTHER), LineageMismatch, "they differ in seed (0 and 8)"),
    ("sketch_merge_all", (b"no",), DataError, "these bytes are no sketch"),
    ("ecm_inner_product", (GOOD, COUNTS), DataError, "an ECM-sketch is asked for, and CountMin is given"),
    ("sketch_estimate", (COUNTER, 1), DataError, "that counts keys is asked for, and ExponentialHistogram is given"),
    ("sketch_estimate", (RANGES, "tea"), DataError, "keys of DyadicCountMin are whole numbers, and string is given"),
]


@pytest.mark.parametrize(("name", "given", "kind", "told"), BAD)
def test_what_cannot_be_is_one_sentence(name: str, given: tuple[Any, ...], kind: type, told: str) -> None:
    with pytest.raises(kind) as caught:
        answer(name, *(pa.array([each]) for each in given))
    assert told in str(caught.value)
    assert "\n" not in str(caught.value)


def test_spark_tells_that_sentence_and_nothing_else(sql: SparkSession, capfd: Any) -> None:
    from pyspark.errors import PythonException

    with pytest.raises(PythonException) as caught:
        sql.sql("SELECT ecm_total(X'00')").collect()
    told = "these bytes are no sketch: they do not begin with TSKT"
    assert str(caught.value).strip().splitlines() == [
        "An exception was thrown from the Python worker:", f"tacit.vocabulary.errors.DataError: {told}"
    ]  # fmt: skip
    ours = translate(caught.value)
    assert (type(ours), str(ours)) == (DataError, told)
    with pytest.raises(DataError, match=told), one_sentence():
        sql.sql("SELECT sketch_merge_all(X'00') FROM range(2) GROUP BY id").collect()


def test_hourly_tables_from_end_to_end(sql: SparkSession, tmp_path: Any) -> None:
    frame = sql.range(0, 4_000, numPartitions=3).selectExpr("id % 10 AS key", "id AS time", "id DIV 1000 AS hour")
    made = ecm_by(frame, ["hour"], key="key", time="time", window=10_000, epsilon=0.05, delta=0.01, merges_later=1)
    made.write.parquet(os.fspath(tmp_path / "hourly"))
    kept = sql.read.parquet(os.fspath(tmp_path / "hourly"))
    with one_sentence():
        (row,) = kept.where("hour BETWEEN 1 AND 2").agg(functions.sketch_merge_all("sketch").alias("sketch")).collect()
    merged = EcmSketch.from_bytes(row.sketch)
    assert merged.levels <= 2
    assert merged.point_error <= 0.05
    assert all(abs(merged.estimate(key) - 200) <= 0.05 * 2_000 for key in range(10))
    assert merged.total() == pytest.approx(2_000, rel=0.05)
