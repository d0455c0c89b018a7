"""ALERT WHEN and TRACK as goals."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest

from tacit.functions.expressions import Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition
from tacit.language import parse_watch

A, B, C = Variable(0), Variable(1), Variable(2)


def goal(condition: str) -> object:
    select = "SELECT SUM(x) AS a, SUM(y) AS b, SUM(z) AS c FROM t"
    return parse_watch(f"CREATE WATCH w AS {select} ALERT WHEN {condition}").goal


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a > 1", Comparison(A, ">", 1.0)),
        ("a >= -1.5e3", Comparison(A, ">=", -1500.0)),
        ("a < 1 MARGIN 0", Comparison(A, "<", 1.0)),
        ("a <= 1 MARGIN 1/4", Comparison(A, "<=", 1.0, 0.25)),
        ("1 < a MARGIN 0.5", Comparison(A, ">", 1.0, 0.5)),
        ("1 >= a", Comparison(A, "<=", 1.0)),
        ("a > b", Comparison(A - B, ">", 0.0)),
        ("a > b MARGIN 2", Comparison(A - B, ">", 0.0, 2.0)),
        ("SUM(x) > 1", Comparison(A, ">", 1.0)),
        (
            "a > 1 AND b > 2 AND c > 3",
            AllOf((Comparison(A, ">", 1.0), Comparison(B, ">", 2.0), Comparison(C, ">", 3.0))),
        ),
        (
            "a > 1 MARGIN 0.1 OR b > 2 AND c > 3 MARGIN 0.3",
            AnyOf((Comparison(A, ">", 1.0, 0.1), AllOf((Comparison(B, ">", 2.0), Comparison(C, ">", 3.0, 0.3))))),
        ),
        (
            "(a > 1 OR b > 2) AND c > 3",
            AllOf((AnyOf((Comparison(A, ">", 1.0), Comparison(B, ">", 2.0))), Comparison(C, ">", 3.0))),
        ),
        ("a BETWEEN 1 AND 2 MARGIN 0.1", AllOf((Comparison(A, ">=", 1.0, 0.1), Comparison(A, "<=", 2.0, 0.1)))),
        ("a NOT BETWEEN 1 AND 2", AnyOf((Comparison(A, "<", 1.0), Comparison(A, ">", 2.0)))),
        ("NOT a > 1 MARGIN 0.1", Comparison(A, "<=", 1.0, 0.1)),
        ("NOT NOT a > 1", Comparison(A, ">", 1.0)),
        ("NOT (a > 1 OR NOT b >= 2)", AllOf((Comparison(A, "<=", 1.0), Comparison(B, ">=", 2.0)))),
        (
            "NOT (a > 1 AND b BETWEEN 2 AND 3)",
            AnyOf((Comparison(A, "<=", 1.0), Comparison(B, "<", 2.0), Comparison(B, ">", 3.0))),
        ),
    ],
)
def test_goal(text: str, expected: Condition) -> None:
    assert goal(text) == expected


def met(condition: Condition, values: Mapping[Variable, float]) -> bool:
    if isinstance(condition, AllOf):
        return all(met(part, values) for part in condition.parts)
    if isinstance(condition, AnyOf):
        return any(met(part, values) for part in condition.parts)
    value = values[condition.expression]  # type: ignore[index]
    return bool(eval(f"{value} {condition.operator} {condition.threshold}"))


@pytest.mark.parametrize(
    "text",
    [
        "NOT (a > 1 OR (b <= 2 AND NOT c < 3))",
        "NOT (NOT (a > 1 AND b > 2) OR c >= 3)",
        "NOT a > 1 AND NOT (b < 2 OR c > 3)",
    ],
)
def test_pushing_not_down_changes_no_truth(text: str) -> None:
    condition = goal(text)
    for a, b, c in itertools.product((0, 1, 2, 3, 4), repeat=3):
        expected = eval(text.replace("NOT", "not").replace("AND", "and").replace("OR", "or"), {"a": a, "b": b, "c": c})
        assert met(condition, {A: a, B: b, C: c}) == expected  # type: ignore[arg-type]
