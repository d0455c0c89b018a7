"""EXPLAIN WATCH."""

from __future__ import annotations

import json

import pytest

from tacit.language import PythonFunction, describe, explain_text, parse_watch
from tacit.language.explain import form_of
from tacit.language.recorded import recorded_plans
from tests.language.twins import watch

PLAN = parse_watch(
    "EXPLAIN WATCH w AS SELECT h, AVG(x) / AVG(y) AS r FROM t WHERE x > 0 WINDOW LAST 90 MINUTES EVERY 1 MINUTE "
    "GROUP BY h ALERT WHEN r > 0.5 MARGIN 0.1 OR NOT (SUM(x) < 3 OR COUNT(*) > 9)"
)


def test_describe_is_plain_values() -> None:
    found = describe(PLAN, predicted={"messages": 12.0})
    assert json.loads(json.dumps(found)) == found
    assert found["shape"] == "threshold"
    assert found["goal"] == "r > 0.5 margin 0.1 OR (sum(x) >= 3 AND count(*) <= 9)"
    assert found["margins"] == [0.1, 0.0, 0.0]
    assert found["window"] == "last 90 minutes"
    assert found["every"] == "1 minute"
    assert found["groups"] == "one per h"
    assert found["columns"] == ["h", "x", "y"]
    assert found["predicted"] == {"messages": 12.0}


def test_text() -> None:
    text = explain_text(PLAN, predicted={"messages": 1234.5})
    assert text.splitlines()[0] == "watch w on t"
    for part in ("r > 0.5 margin 0.1", "where       x > 0", "every 1 minute", "one per h", "messages: 1,234.5"):
        assert part in text


def test_text_of_a_tracking_watch_with_a_python_function() -> None:
    functions = {"f": PythonFunction(lambda x: x, unsound=True)}
    plan = parse_watch("CREATE WATCH w AS SELECT f(AVG(x)) AS r FROM t TRACK r WITHIN 3 PERCENT", functions=functions)
    assert "r within 3 percent (tracking)" in explain_text(plan)
    assert "f has no proved bound" in explain_text(plan)
    assert describe(plan)["unsound"] == ["f"]


@pytest.mark.parametrize(
    ("select", "form"),
    [
        ("SUM(x) + 2 * COUNT(*)", "affine"),
        ("AVG(x)", "ratio of affine"),
        ("SUM(x) * SUM(y)", "quadratic"),
        ("VAR_POP(x)", "ratio of quadratic"),
        ("STDDEV(x)", "square root of ratio of quadratic"),
        ("INFORMATION_GAIN(x > 1, y > 1)", "information gain"),
        ("CHI_SQUARE(x > 1, y > 1)", "chi-square"),
        ("ENTROPY(x > 1)", "entropy"),
        ("exp(SUM(x))", "general"),
    ],
)
def test_form(select: str, form: str) -> None:
    ((_, expression),) = watch(f"{select} AS v").outputs
    assert form_of(expression) == form


@pytest.mark.parametrize(
    ("text", "window"),
    [
        (
            "SELECT QUANTILE(x, 0.5) AS q FROM t WINDOW LAST 100 ROWS TRACK q WITHIN 5 PERCENT",
            "100 rows with a value of",
        ),
        ("SELECT SELF_JOIN_SIZE(k) AS f FROM t WINDOW LAST 1 ROW TRACK f WITHIN 5 PERCENT", "1 row with a value of"),
        ("SELECT k FROM t WINDOW LAST 100 ROWS GROUP BY k HAVING COUNT(*) > 9", "100 rows of"),
        ("SELECT AVG(x) AS a FROM t WINDOW LAST 100 ROWS TRACK a WITHIN 5", "100 rows of"),
    ],
)
def test_whether_rows_without_a_value_take_a_place_in_the_window(text: str, window: str) -> None:
    """What EXPLAIN says is what is recorded: such rows are left out before windows are made, or they stay."""
    plan = parse_watch(f"CREATE WATCH w AS {text}")
    assert f"last {window} each site" in explain_text(plan)
    (recorded,) = recorded_plans(plan)
    assert (recorded.where is not None) == ("with a value" in window)
