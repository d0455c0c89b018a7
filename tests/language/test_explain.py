"""EXPLAIN WATCH."""

from __future__ import annotations

import json

import pytest

from tacit.language import PythonFunction, describe, explain_text, parse_watch
from tacit.language.explain import form_of
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
