"""What Spark is given: contributions give the numbers of Spark's own aggregates, and row functions exist."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tacit.functions.evaluate import value
from tacit.language import WatchPlan, parse_watch
from tacit.language.recorded import recorded_plans
from tacit.language.spark_functions import AGGREGATE_FUNCTIONS, ROW_FUNCTIONS, UNREPEATABLE
from tests.language.twins import watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPARKS = (
    "SUM(x)", "COUNT(*)", "COUNT(x)", "COUNT(name)", "COUNT(x, name)", "COUNT_IF(i > 4)", "AVG(x)", "AVG(i / 2 + y)",
    "VAR_POP(x)", "VAR_SAMP(x)", "STDDEV(x)", "STDDEV_POP(i)", "COVAR_POP(x, y)", "COVAR_SAMP(x, y)", "CORR(x, y)",
    "REGR_SLOPE(y, x)", "SUM(CASE WHEN ok THEN i ELSE -1 END)", "AVG(x) FILTER (WHERE ok)",
    "COUNT(*) FILTER (WHERE name LIKE 'a%')", "SUM(i DIV 2)", "AVG(length(name))", "COUNT(tags)", "AVG(d)",
)  # fmt: skip


@pytest.fixture(scope="module")
def frame(spark: SparkSession) -> DataFrame:
    rows = [
        (1.5, 2.0, 3, True, "ab", ["x"], 1),
        (1e6 + 0.25, None, 4, False, "b", [], 2),
        (None, 7.0, 5, None, None, None, 3),
        (float("nan"), 3.5, None, True, "a{0}c", ["x", "y"], 4),
        (-4.0, float("nan"), 7, True, "NaN", ["y"], 5),
        (0.125, -1.0, 8, False, "it's", ["x"], 6),
        (1e6, 11.0, 9, True, "abc", ["x"], None),
    ]
    schema = "x double, y double, i int, ok boolean, name string, tags array<string>, d decimal(5,1)"
    return spark.createDataFrame([(*row[:6], None if row[6] is None else Decimal(row[6])) for row in rows], schema)


def point(plan: WatchPlan, frame: DataFrame, side: str = "present") -> np.ndarray:
    texts = [getattr(statistic, side).format(*(["1000.0D"] * len(plan.centres))) for statistic in plan.statistics]
    (row,) = frame.where(plan.where or "true").selectExpr(*(f"sum({text})" for text in texts)).collect()
    return np.array([row], dtype=float)


def test_the_same_numbers_as_sparks_aggregates(frame: DataFrame) -> None:
    plan = watch(", ".join(f"{text} AS v{index}" for index, text in enumerate(SPARKS)), "WHERE i > 3 OR i IS NULL")
    sums = point(plan, frame)
    ours = [float(value(expression, sums)[0]) for _, expression in plan.outputs]
    clean = frame.where(plan.where or "").selectExpr(
        "nanvl(x, NULL) AS x", "nanvl(y, NULL) AS y", "i", "ok", "name", "tags", "d"
    )
    (row,) = clean.selectExpr(*(f"CAST({text} AS DOUBLE)" for text in SPARKS)).collect()
    for text, mine, theirs in zip(SPARKS, ours, row, strict=True):
        assert mine == pytest.approx(math.nan if theirs is None else theirs, rel=1e-9, nan_ok=True), text


def test_centres_are_numbers(frame: DataFrame) -> None:
    plan = watch("VAR_POP(x) AS v, STDDEV(i) AS s")
    means = frame.selectExpr(*(f"avg({text})" for text in plan.centres)).collect()[0]
    assert all(math.isfinite(mean) for mean in means)


def test_members(frame: DataFrame) -> None:
    plan = watch("m, INFORMATION_GAIN(ok, PRESENT) AS g, COUNT(*) AS n", "GROUP BY EACH(tags) AS m")
    having = frame.where("array_contains(tags, 'x')")
    total = point(plan, frame, "absent") + point(plan, having, "present") - point(plan, having, "absent")
    by_name = dict(zip([statistic.name for statistic in plan.statistics], total[0], strict=True))
    assert by_name == {
        "count(ok and PRESENT)": 3.0,
        "count(ok and not PRESENT)": 1.0,
        "count(not ok and PRESENT)": 1.0,
        "count(not ok and not PRESENT)": 1.0,
        "count(*)": 7.0,
    }


def test_text_keeps_its_letters(frame: DataFrame) -> None:
    plan = parse_watch(
        "CREATE WATCH w AS SELECT COUNT_IF(name IN ('a{0}c', 'it\\'s', \"b\")) AS n FROM t ALERT WHEN n > 1"
    )
    assert point(plan, frame)[0, 0] == 3.0


def test_the_functions_are_sparks(spark: SparkSession) -> None:
    sparks = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}
    grammar = {"timestampadd", "timestampdiff", "try_cast"}  # part of Spark's grammar, not of its list
    assert (ROW_FUNCTIONS | UNREPEATABLE | AGGREGATE_FUNCTIONS) - sparks == grammar
    assert not ROW_FUNCTIONS & AGGREGATE_FUNCTIONS


def test_the_keys_of_sketches_are_counted_in_rows_that_have_one(frame: DataFrame) -> None:
    def counted(aggregate: str, where: str = "") -> list[tuple[object, ...]]:
        plan = parse_watch(f"CREATE WATCH w AS SELECT {aggregate} AS v FROM t {where} TRACK v WITHIN 5 PERCENT")
        found: list[tuple[object, ...]] = []
        for key in plan.keys:
            counts = f"coalesce(({key.where or 'true'}), false) AND NOT ({key.missing or 'false'})"
            rows = frame.where(counts).selectExpr(f"CAST({key.expression} AS STRING) AS k").orderBy("k").collect()
            found.append(tuple(row.k for row in rows))
        return found

    assert counted("SELF_JOIN_SIZE(name)") == [("NaN", "ab", "abc", "a{0}c", "b", "it's")]
    assert counted("SELF_JOIN_SIZE(x)", "WHERE ok") == [("-4.0", "1.5", "1000000.0")]
    assert counted("SELF_JOIN_SIZE(get(t.tags, 0))", "WHERE t.i > 3") == [("x", "x", "y")]
    assert counted("INNER_PRODUCT(i, y)", "WHERE ok") == [("3", "7", "9"), ("11.0", "2.0", "3.5")]
    assert counted("QUANTILE(i / 2 + y, 0.5)") == [("15.5", "3.0", "3.5", "9.5")]


def test_infinite_values_do_not_count_in_a_quantile(frame: DataFrame) -> None:
    words = "QUANTILE(CASE WHEN i = 3 THEN double('inf') WHEN i = 7 THEN double('-inf') ELSE i END, 0.5)"
    for where in ("", "WHERE i > 0 OR ok"):
        plan = parse_watch(f"CREATE WATCH w AS SELECT {words} AS v FROM t {where} TRACK v WITHIN 5 PERCENT")
        (recorded,) = recorded_plans(plan)
        assert recorded.where is not None
        rows = frame.where(recorded.where).selectExpr("i").collect()
        assert rows
        assert not {3, 7, None} & {row.i for row in rows}
