"""Every aggregate, lowered and evaluated, against NumPy's twin of Spark's definition."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.functions.expressions import InformationGain, Unary
from tests.language.twins import outputs, statistics, watch

ROWS = [
    {"x": 1.5, "y": 2.0, "f": 1, "g": 0},
    {"x": 4.0, "y": None, "f": 0, "g": 1},
    {"x": None, "y": 7.0, "f": None, "g": 1},
    {"x": -2.0, "y": 3.5, "f": 1, "g": 1},
    {"x": 0.25, "y": -1.0, "f": 1, "g": None},
    {"x": 9.0, "y": 11.0, "f": 0, "g": 0},
]
X = np.array([1.5, 4.0, -2.0, 0.25, 9.0])
PX, PY = np.array([1.5, -2.0, 0.25, 9.0]), np.array([2.0, 3.5, -1.0, 11.0])


def entropy(*masses: float) -> float:
    shares = np.array(masses) / sum(masses)
    return float(-(shares * np.log2(shares)).sum())


def gain(table: list[list[float]]) -> float:
    cells = np.array(table, dtype=float) / np.sum(table)
    expected = cells.sum(1, keepdims=True) * cells.sum(0, keepdims=True)
    return float(sum(c * math.log2(c / e) for c, e in zip(cells.flat, expected.flat, strict=True) if c))


CASES = {
    "SUM(x)": X.sum(),
    "COUNT(*)": 6,
    "COUNT(1)": 6,
    "COUNT(y)": 5,
    "COUNT(x, y)": 4,
    "COUNT_IF(x > 1)": 3,
    "AVG(x)": X.mean(),
    "MEAN(x)": X.mean(),
    "AVG(x * 2 + y)": (PX * 2 + PY).mean(),
    "AVG(x > 1)": 3 / 5,
    "SUM(x > 1 AND y > 1)": 2,
    "SUM(CASE WHEN x > 1 THEN x END)": 14.5,
    "SUM(x) FILTER (WHERE y > 2)": 7.0,
    "AVG(x) FILTER (WHERE y > 2)": 3.5,
    "COUNT(*) FILTER (WHERE f)": 3,
    "VAR_POP(x)": X.var(),
    "VAR_SAMP(x)": X.var(ddof=1),
    "VARIANCE(x)": X.var(ddof=1),
    "STDDEV(x)": X.std(ddof=1),
    "STD(x)": X.std(ddof=1),
    "STDDEV_SAMP(x)": X.std(ddof=1),
    "STDDEV_POP(x)": X.std(),
    "STDDEV(x) FILTER (WHERE x > 1)": np.std([1.5, 4.0, 9.0], ddof=1),
    "COVAR_POP(x, y)": np.cov(PX, PY, ddof=0)[0, 1],
    "COVAR_SAMP(x, y)": np.cov(PX, PY)[0, 1],
    "CORR(x, y)": np.corrcoef(PX, PY)[0, 1],
    "REGR_SLOPE(y, x)": np.polyfit(PX, PY, 1)[0],
    "REGR_SLOPE(x, y)": np.polyfit(PY, PX, 1)[0],
    "ENTROPY(f)": entropy(3, 2),
    "ENTROPY(x > 1)": entropy(3, 2),
    "ENTROPY(COALESCE(x, 1) * COALESCE(x, 1), y + 2, 3)": entropy(X @ X + 1, 22.5 + 10, 18),
    "CHI_SQUARE(f, g)": 4 * (1 * 1 - 1 * 1) ** 2 / (2 * 2 * 2 * 2),
    "CHI_SQUARE(x > 1, y > 5)": 4 * (1 * 2 - 1 * 0) ** 2 / (2 * 2 * 1 * 3),
    "INFORMATION_GAIN(f, g)": gain([[1, 1], [1, 1]]),
    "INFORMATION_GAIN(x > 1, y > 5)": gain([[1, 1], [0, 2]]),
}


@pytest.mark.parametrize("text", CASES)
@pytest.mark.parametrize("shift", [0.0, 2.5])
def test_value(text: str, shift: float) -> None:
    got = outputs(watch(f"{text} AS v"), ROWS, shift=shift)["v"]
    assert got == pytest.approx(CASES[text], rel=1e-9, abs=1e-9)


ALGEBRA = {
    "AVG(x) / AVG(y)": X.mean() / 4.5,
    "-AVG(x) + 2 * COUNT(*) - 1": -X.mean() + 11,
    "abs(-AVG(x))": X.mean(),
    "sqrt(AVG(x)) + exp(-AVG(x))": math.sqrt(X.mean()) + math.exp(-X.mean()),
    "log(AVG(x))": math.log(X.mean()),
    "ln(AVG(x))": math.log(X.mean()),
    "log2(AVG(x))": math.log2(X.mean()),
    "log10(AVG(x))": math.log10(X.mean()),
    "log(3, AVG(x))": math.log(X.mean(), 3),
    "power(AVG(x), 2)": X.mean() ** 2,
    "pow(AVG(x), AVG(y))": X.mean() ** 4.5,
    "sin(AVG(x)) * cos(AVG(x)) + tanh(AVG(x))": math.sin(X.mean()) * math.cos(X.mean()) + math.tanh(X.mean()),
    "sigmoid(AVG(x))": 1 / (1 + math.exp(-X.mean())),
    "least(AVG(x), AVG(y), 3)": X.mean(),
    "greatest(AVG(x), AVG(y), 3)": 4.5,
    "pi() * AVG(x)": math.pi * X.mean(),
    "CAST(AVG(x) AS DOUBLE)": X.mean(),
}


@pytest.mark.parametrize("text", ALGEBRA)
def test_arithmetic_over_aggregates(text: str) -> None:
    assert outputs(watch(f"{text} AS v"), ROWS)["v"] == pytest.approx(ALGEBRA[text], rel=1e-12)


def test_without_values_there_is_none() -> None:
    rows = [{"x": None, "y": 1.0}]
    plan = watch("AVG(x) AS a, STDDEV(x) AS s, STDDEV(y) AS one, CORR(x, y) AS c, SUM(x) AS t, COUNT(x) AS n")
    got = outputs(plan, rows)
    assert all(math.isnan(got[name]) for name in ("a", "s", "one", "c"))
    assert got["t"] == got["n"] == 0


def test_the_same_sum_is_kept_once() -> None:
    plan = watch("AVG(x) AS a, AVG( t.X ) AS b, SUM(x) AS c, COUNT(x) AS d, AVG((x)) AS e")
    assert [statistic.name for statistic in plan.statistics] == ["sum(x)", "count(x)", "count(*)"]


def test_pair_aggregates_share_their_sums_whatever_the_order() -> None:
    together = watch("CORR(x, y) AS a, REGR_SLOPE(y, x) AS b, REGR_SLOPE(x, y) AS c, COVAR_POP(y, x) AS d")
    assert len(together.statistics) == 6 + 1
    assert outputs(together, ROWS)["b"] == pytest.approx(CASES["REGR_SLOPE(y, x)"])


def test_moment_facts_hold() -> None:
    plan = watch("CORR(x, y) AS c, VAR_POP(x) AS v")
    x = statistics(plan, ROWS, shift=1.0)
    assert len(plan.moments) == 4
    for fact in plan.moments:
        assert x[fact.count] * x[fact.square] >= x[fact.first] ** 2


def test_what_is_known_of_the_sums() -> None:
    plan = watch("COUNT(*) AS a, SUM(x) AS b, SUM(x > 1) AS c, SUM(x * x) AS d, SUM(abs(x) + 2) AS e, VAR_POP(x) AS f")
    known = {statistic.name: (statistic.nonnegative, statistic.count) for statistic in plan.statistics}
    assert known == {
        "count(*)": (True, True),
        "sum(x)": (False, False),
        "count_if(x > 1)": (True, True),
        "sum(x * x)": (True, False),
        "sum(abs(x) + 2)": (True, False),
        "count(x)": (True, True),
        "sum(x - centre)": (False, False),
        "sum((x - centre)^2)": (True, False),
    }


def test_variance_is_a_ratio_of_quadratics() -> None:
    ((_, expression),) = watch("VAR_SAMP(x) AS v").outputs
    assert str(expression) == "(nonnegative(((x0 * x2) - (x1 * x1))) / (x0 * (x0 - 1)))"
    ((_, root),) = watch("STDDEV_POP(x) AS v").outputs
    assert isinstance(root, Unary)
    assert root.operator == "sqrt"


def test_every_contribution_can_be_formatted() -> None:
    plan = watch("VAR_POP(x) FILTER (WHERE name = '{0} {') AS v, SUM(CASE WHEN name = '}{' THEN 1 ELSE 0 END) AS w")
    texts = [statistic.present.format(7.0) for statistic in plan.statistics]
    assert any("'{0} {'" in text and "- 7.0" in text for text in texts)
    assert any("'}{'" in text for text in texts)


def test_each_member_has_two_texts() -> None:
    plan = watch(
        "term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain, "
        "AVG(CASE WHEN present THEN x END) AS m, COUNT(*) AS n",
        "GROUP BY EACH(terms) AS term",
    )
    by_name = {statistic.name: statistic for statistic in plan.statistics}
    cell = by_name["count(array_contains(topics, 'earn') and PRESENT)"]
    assert cell.present == "CASE WHEN (array_contains(topics, 'earn')) AND (TRUE) THEN 1D ELSE 0D END"
    assert cell.absent == "CASE WHEN (array_contains(topics, 'earn')) AND (FALSE) THEN 1D ELSE 0D END"
    assert by_name["count(*)"].present == by_name["count(*)"].absent == "1D"
    assert "CASE WHEN TRUE THEN x END" in by_name["sum(CASE WHEN present THEN x END)"].present
    assert isinstance(dict(plan.outputs)["gain"], InformationGain)
    assert [name for name, _ in plan.outputs] == ["gain", "m", "n"]


numbers = st.one_of(st.none(), st.floats(-100, 100).map(lambda number: round(number, 3)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.fixed_dictionaries({"x": numbers, "y": numbers}), min_size=1, max_size=12))
def test_second_moments_of_any_rows(rows: list[dict[str, float | None]]) -> None:
    got = outputs(watch("VAR_POP(x) AS v, COVAR_POP(x, y) AS c, AVG(y) AS m"), rows, shift=0.3)
    x = np.array([row["x"] for row in rows if row["x"] is not None], dtype=float)
    y = np.array([row["y"] for row in rows if row["y"] is not None], dtype=float)
    pairs = np.array([(row["x"], row["y"]) for row in rows if None not in row.values()], dtype=float).reshape(-1, 2)
    assert got["v"] == pytest.approx(x.var() if len(x) else math.nan, abs=1e-6, nan_ok=True)
    assert got["m"] == pytest.approx(y.mean() if len(y) else math.nan, abs=1e-9, nan_ok=True)
    covariance = np.cov(pairs.T, ddof=0)[0, 1] if len(pairs) else math.nan
    assert got["c"] == pytest.approx(covariance, abs=1e-6, nan_ok=True)
