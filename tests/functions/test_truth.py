"""The judge, judged by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.goals import AllOf, AnyOf, Comparison, Track
from tacit.functions.truth import may_say_met, may_say_not_met, met, tracking_error
from tests.functions.cases import x0, x1

POINTS = np.array([[3.0, 1.0], [4.0, 1.0], [5.0, 1.0], [6.0, 1.0], [7.0, 1.0], [9.0, 0.0]])


@pytest.mark.parametrize(
    ("operator", "holds", "may", "may_not"),
    [
        (">", [0, 0, 0, 1, 1, 0], [0, 0, 1, 1, 1, 0], [1, 1, 1, 1, 0, 1]),
        (">=", [0, 0, 1, 1, 1, 0], [0, 1, 1, 1, 1, 0], [1, 1, 1, 0, 0, 1]),
        ("<", [1, 1, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 1]),
        ("<=", [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 1]),
    ],
)
def test_comparisons(operator: str, holds: list[int], may: list[int], may_not: list[int]) -> None:
    goal = Comparison(x0 / x1, operator, 5.0, margin=1.0)
    assert met(goal, POINTS).astype(int).tolist() == holds
    assert may_say_met(goal, POINTS).astype(int).tolist() == may
    assert may_say_not_met(goal, POINTS).astype(int).tolist() == may_not


def test_both_answers_are_right_within_the_margin_only() -> None:
    goal = AnyOf((Comparison(x0 / x1, ">", 5.0, 1.0), AllOf((Comparison(x0, "<", 4.0, 2.0), Comparison(x1, ">", 9.0)))))
    assert (may_say_met(goal, POINTS) | may_say_not_met(goal, POINTS)).all()
    assert (may_say_met(goal, POINTS) & may_say_not_met(goal, POINTS)).tolist() == [
        False,
        False,
        True,
        True,
        False,
        False,
    ]


def test_tracking() -> None:
    goal = Track(x0 / x1, 2.0)
    truth = np.array([[6.0, 2.0], [6.0, 0.0], [6.0, 0.0], [6.0, 2.0]])
    np.testing.assert_array_equal(
        tracking_error(goal, truth, np.array([4.0, np.nan, 1.0, np.nan])), [0.5, 0.0, np.inf, np.inf]
    )
    percent = Track(x0, 10.0, percent=True)
    np.testing.assert_allclose(
        tracking_error(percent, np.array([[100.0], [0.0], [0.0]]), np.array([95.0, 0.0, 1.0])), [0.5, 0, np.inf]
    )
