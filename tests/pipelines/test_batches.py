"""A micro-batch: for random rows and random sets of watches Spark says what a plain Python twin says."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime
from decimal import Decimal

import numpy as np
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sf

from tacit.language import parse_watch
from tacit.language.plan import ByKey, ByMember
from tacit.language.recorded import live_plan
from tacit.pipelines.batches import SparkBatch
from tacit.vocabulary.batches import PaneDeltas
from tacit.vocabulary.errors import DataError, SentenceError
from tests.pipelines.batch_twin import Expression, Row, Said
from tests.pipelines.plans import sum_of, watch
from tests.tiers import parametrize_in_tiers

SECOND = 1_000_000
LENGTHS = (SECOND, 2 * SECOND, 5 * SECOND, 7 * SECOND, 60 * SECOND, 999_983)  # the last divides none: a pass of its own


def number(value: float | None) -> float:
    return 0.0 if value is None or math.isnan(value) else value


def known(value: float | None) -> bool:
    return value is not None and not math.isnan(value)


WHERES: list[tuple[str | None, Expression | None]] = [
    (None, None),
    ("n > 1", lambda row: None if row.n is None else row.n > 1),
    ("b", lambda row: row.b),
    ("k <> 'a' OR n = 2", lambda row: (row.k is not None and row.k != "a") or row.n == 2),
    ("n > 100", lambda row: row.n is not None and row.n > 100),  # nobody passes
]
GROUPINGS: list[tuple[ByKey | None, tuple[Expression, ...]]] = [
    (None, ()),
    (ByKey(("k",), ("k",)), (lambda row: row.k,)),
    (ByKey(("k", "b"), ("k", "b")), (lambda row: row.k, lambda row: row.b)),
    (ByKey(("x",), ("x",)), (lambda row: row.x,)),
]
X = "CASE WHEN isnan(x) THEN NULL ELSE x END"
CENTRED = f"coalesce({X} - {{0}}, 0D)"
STATISTICS = [
    ("count", "1D", lambda row, at: 1.0),
    ("sum x", f"coalesce({X}, 0D)", lambda row, at: number(row.x)),
    ("count n", "CASE WHEN n IS NULL THEN 0D ELSE 1D END", lambda row, at: float(row.n is not None)),
    ("nan is nothing", "x", lambda row, at: number(row.x)),
    ("centred", CENTRED, lambda row, at: row.x - at[0] if known(row.x) else 0.0),
    ("square", f"{CENTRED} * {CENTRED}", lambda row, at: (row.x - at[0]) ** 2 if known(row.x) else 0.0),
    ("other", "coalesce(n - {1}, 0D)", lambda row, at: 0.0 if row.n is None else row.n - at[1]),
]


def random_rows(rng: np.random.Generator, count: int) -> list[Row]:
    """Few different values, so that rows meet; NULL, NaN, -0.0, equal rows, times before 1970."""

    def pick(*values: object) -> object:
        return values[rng.integers(len(values))]

    start = int(rng.integers(-30, 30)) * SECOND
    rows = [
        Row(
            None if rng.random() < 0.1 else start + int(rng.integers(-40 * SECOND, 40 * SECOND)),
            pick(None, "a", "b", 'c"d', ""),  # type: ignore[arg-type]
            pick(None, True, False),  # type: ignore[arg-type]
            pick(None, math.nan, -0.0, 0.0, 2.5, -3.25, 0.1),  # type: ignore[arg-type]
            pick(None, 0, 1, 2, 3),  # type: ignore[arg-type]
        )
        for _ in range(count)
    ]
    return rows + rows[: count // 10]


def random_watch(rng: np.random.Generator) -> Said:
    (where, passes), (grouping, keys) = WHERES[rng.integers(len(WHERES))], GROUPINGS[rng.integers(len(GROUPINGS))]
    chosen = [STATISTICS[i] for i in sorted(rng.choice(len(STATISTICS), size=rng.integers(1, 5), replace=False))]
    plan = watch(*((name, text) for name, text, _ in chosen), where=where, grouping=grouping, centres=(X, "n"))
    values = tuple(value for _, _, value in chosen)
    return Said(plan, passes, keys, values, (lambda row: row.x if known(row.x) else None, lambda row: row.n))


def frame_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    schema = "t bigint, k string, b boolean, x double, n bigint"
    made = spark.createDataFrame([(row.t, row.k, row.b, row.x, row.n) for row in rows], schema)
    return made.select(sf.timestamp_micros("t").alias("time"), "k", "b", "x", "n").repartition(3)


@pytest.fixture
def batch_of(spark: SparkSession) -> Iterator[object]:
    made: list[SparkBatch] = []

    def make(rows: list[Row]) -> SparkBatch:
        made.append(SparkBatch(frame_of(spark, rows), "time"))
        return made[-1]

    yield make
    for each in made:
        each.close()


def same(got: object, expected: object) -> None:
    assert type(got) is type(expected)
    for name in type(got).__slots__:  # type: ignore[attr-defined]
        mine, other = getattr(got, name), getattr(expected, name)
        if isinstance(other, np.ndarray):
            assert (mine.dtype, mine.shape) == (other.dtype, other.shape), name
            np.testing.assert_allclose(mine, other, rtol=1e-13, atol=1e-12, err_msg=name)
        else:
            assert mine == other, name


@parametrize_in_tiers("seed", range(4), in_test=1)
def test_it_says_what_its_twin_says(batch_of, seed: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, int(rng.integers(1, 120)))
    said = [random_watch(rng) for _ in range(int(rng.integers(1, 9)))]
    wanted = [(each.plan, (0.5, -0.25), LENGTHS[rng.integers(len(LENGTHS))]) for each in said]
    batch = batch_of(rows)
    for got, each, (_, centres, sub_us) in zip(batch.pane_outcomes(wanted), said, wanted, strict=True):
        same(got, each.pane_deltas(rows, centres, sub_us))
    times = [row.t for row in rows if row.t is not None]
    assert (batch.rows, batch.no_time, batch.max_time) == (len(rows), len(rows) - len(times), max(times, default=None))
    for each in said[:2]:
        same(batch.row_block(each.plan, (0.5, -0.25)), each.row_block(rows, (0.5, -0.25)))
        lo, hi = (int(np.quantile(times, q)) for q in (0.2, 0.9)) if times else (0, 1)
        for count in (3, 1000):
            same(batch.sample(each.plan, (0.5, -0.25), lo, hi, count), each.sample(rows, (0.5, -0.25), lo, hi, count))
        assert batch.draw_centres(each.plan) == each.draw_centres(rows)


MANY = [Row(k * SECOND, "ab"[k % 2], None, k / 4, k % 5) for k in range(40)] + [Row(None, "a", None, 1.0, 1)]


def jobs(spark: SparkSession, name: str) -> int:
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(name))  # type: ignore[no-untyped-call]


def test_counts_go_along_with_the_first_pass_and_two_passes_keep_nothing(spark: SparkSession) -> None:
    kept = spark.sparkContext._jsc.getPersistentRDDs().size()  # type: ignore[union-attr]
    batch = SparkBatch(frame_of(spark, MANY), "time")
    plans = [watch(sum_of("x"), where=where) for where in (None, "n > 1", "k = 'a'")]
    spark.sparkContext.setJobGroup("sums", "")
    batch.pane_outcomes([(plan, (), SECOND * (3 - index)) for index, plan in enumerate(plans)])
    spark.sparkContext.setJobGroup("counts", "")
    assert (batch.rows, batch.no_time, batch.max_time) == (41, 1, 39 * SECOND)
    assert batch.time_problem is None
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept  # type: ignore[union-attr]
    spark.sparkContext.setJobGroup("block", "")
    batch.row_block(plans[0], ())
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept  # type: ignore[union-attr]
    batch.row_block(plans[1], ())
    spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]
    assert (jobs(spark, "sums") > 0, jobs(spark, "counts")) == (True, 0)
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept + 1  # type: ignore[union-attr]
    batch.close()
    batch.close()
    assert spark.sparkContext._jsc.getPersistentRDDs().size() == kept  # type: ignore[union-attr]


def test_a_batch_without_watches_still_counts(spark: SparkSession) -> None:
    batch = SparkBatch(frame_of(spark, MANY), "TIME")
    assert batch.pane_outcomes([]) == []
    assert (batch.rows, batch.no_time, batch.max_time) == (41, 1, 39 * SECOND)
    batch.close()
    empty = SparkBatch(frame_of(spark, []), "time")
    assert (empty.rows, empty.no_time, empty.max_time) == (0, 0, None)
    (none,) = empty.pane_outcomes([(watch(sum_of("x"), grouping=ByKey(("k",), ("k",))), (), SECOND)])
    assert isinstance(none, PaneDeltas)
    assert (none.keys, none.sums.shape) == ((), (0, 1))
    assert empty.sample(watch(sum_of("x")), (), 0, 1, 5).values.shape == (0, 1)
    assert empty.draw_centres(watch(sum_of("x"), centres=("x",))) == (None,)
    empty.close()


def test_one_watch_fails_alone(spark: SparkSession) -> None:
    """Division by zero, infinity, sums beyond what can be multiplied, a column that is not there, no list for EACH."""
    batch = SparkBatch(frame_of(spark, MANY), "time")
    texts = {
        "fine": ("x", "coalesce(x, 0)"),
        "zero": ("inverse", "1 / n"),
        "infinite": ("far", "x / 1e-308 / 1e-308"),
        "large": ("large", "x * 1e150"),
        "missing": ("lost", "y"),
    }
    wanted = [(watch(each), (), SECOND) for each in texts.values()]
    wanted.append((watch(sum_of("x"), grouping=ByMember("k", "k")), (), SECOND))
    fine, *errors = batch.pane_outcomes(wanted)
    assert isinstance(fine, PaneDeltas)
    assert fine.sums.sum() == sum(k / 4 for k in range(40))
    where = "watch w, table data at 1970-01-01T00:00:0"
    assert list(map(str, errors)) == [
        "a row divides by zero; write NULLIF(divisor, 0) instead of the divisor to leave such rows out",
        f"{where}1Z: the values of far add up to infinity; leave rows that are so large out with WHERE",
        f"{where}5Z: the values of large are too large to be added up; divide them by a power of ten",
        "there is no column named y; the columns are b, k, n, x, time",
        "EACH needs a list and k is string",
    ]
    for plan, _, _ in wanted[1:]:
        with pytest.raises((DataError, SentenceError)):
            batch.row_block(plan, ())
    batch.close()


def test_where_protects_contributions_keys_and_centres(spark: SparkSession) -> None:
    batch = SparkBatch(frame_of(spark, MANY), "time")
    plan = watch(("inverse", "6 / n"), where="n <> 0", grouping=ByKey(("6 / n",), ("g",)), centres=("1 / n",))
    (deltas,) = batch.pane_outcomes([(plan, (0.0,), 100 * SECOND)])
    assert isinstance(deltas, PaneDeltas)
    assert deltas.keys == ('["1.5"]', '["2.0"]', '["3.0"]', '["6.0"]')
    assert deltas.sums[:, 0].tolist() == [12.0, 16.0, 24.0, 48.0]
    assert batch.row_block(plan, (0.0,)).keys == deltas.keys
    assert len(batch.sample(plan, (0.0,), 0, 100 * SECOND, 1000).keys) == 32
    assert batch.draw_centres(plan)[0] in (1.0, 1 / 2, 1 / 3, 1 / 4)
    batch.close()


def test_times_that_cannot_be_read_are_told_and_not_counted(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("2020-01-01T00:00:00Z",), ("soon",), (None,)], "at string")
    batch = SparkBatch(frame, "at")
    (deltas,) = batch.pane_outcomes([(watch(("one", "1D")), (), SECOND)])
    assert isinstance(deltas, PaneDeltas)
    assert (deltas.sub.tolist(), deltas.rows.tolist()) == ([1577836800], [1])
    assert (batch.rows, batch.no_time, batch.max_time) == (3, 2, 1577836800 * SECOND)
    assert "'soon' (1 such value)" in str(batch.time_problem)


def test_rows_without_a_value_are_told_alike_for_every_watch_on_a_key(spark: SparkSession) -> None:
    """Whichever watch comes first: one sketch serves frequent keys and self-joins, also on keys that are no numbers."""
    schema = (
        "time TIMESTAMP, s STRING, x DOUBLE, f FLOAT, n DECIMAL(9, 2), b BOOLEAN, d DATE, o BINARY, r STRUCT<x: FLOAT>"
    )
    day, time = date(2026, 1, 1), datetime(2026, 1, 1, tzinfo=UTC)
    rows = [
        (time, "NaN", math.nan, math.nan, Decimal(0), False, day, b"NaN", (math.nan,)),
        (time, "null", -0.0, 2.5, Decimal(1), True, day, b"", (1.0,)),
        (time, *[None] * 8),
    ]
    batch = SparkBatch(spark.createDataFrame(rows, schema), "time")
    keys = ("s", "x", "f", "n", "b", "d", "o", "r.x", "x + 1", "d + 1", "time - d", "x > 1")
    window = "FROM t WINDOW LAST 9 SECONDS EVERY 1 SECOND"
    often = [parse_watch(f"CREATE WATCH w AS SELECT {key} {window} GROUP BY {key} HAVING COUNT(*) > 1") for key in keys]
    joins = [
        parse_watch(f"CREATE WATCH w AS SELECT SELF_JOIN_SIZE({key}) AS j {window} TRACK j WITHIN 5 PERCENT")
        for key in keys
    ]
    plans = [live_plan(plan) for plan in (*often, *joins)]
    found = batch.pane_outcomes([(plan, (), SECOND) for plan in plans])
    for key, one, other in zip(keys, found, found[len(keys) :], strict=False):
        assert isinstance(one, PaneDeltas), key
        same(one, other)
        without = {one.keys[group] for group, sums in zip(one.group, one.sums, strict=True) if sums[1] > 0.5}
        floating = key in ("x", "f", "r.x", "x + 1")
        assert without == ({"[null]", '["NaN"]'} if floating else {"[null]"}), key
        assert one.sums[:, 1].sum() == (2.0 if floating else 1.0)
    batch.close()


def test_rows_that_came_too_late_can_be_told(spark: SparkSession) -> None:
    frame = spark.sql(
        "SELECT * FROM VALUES (1.5D, 'a', NULL), (2D, 'ü', 3), (CAST(NULL AS DOUBLE), 'c', 4) AS (ts, k, n)"
    )
    batch = SparkBatch(frame, "ts")
    assert batch.rows_before(2 * SECOND) == [(1_500_000, {"ts": 1.5, "k": "a"})]
    assert batch.rows_before(3 * SECOND)[1] == (2_000_000, {"ts": 2.0, "k": "ü", "n": 3})
