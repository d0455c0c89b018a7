"""At the threshold itself: no livelock, no wrong side, nothing lost to rounding where numbers are whole."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.expressions import Expression, Unary
from tacit.functions.goals import AllOf, AnyOf, Comparison, Goal, Track
from tacit.functions.monitor import Monitor
from tests.functions.cases import GAIN, STDDEV, x0, x1

pytestmark = pytest.mark.xdist_group("kernels")


def inside(goal: Goal, e: tuple[float, ...], u: tuple[float, ...], known: bool = True) -> bool:
    monitor = Monitor(goal, [], len(e), nonnegative=[known] * len(e))
    zones = monitor.zones(1)
    monitor.refresh(zones, np.array([0]), np.array([e]))
    return bool(monitor.inside(zones, np.array([0]), np.array([u]))[0])


@pytest.mark.parametrize(
    ("operator", "e", "u", "expected"),
    [
        (">", 100.0, 90.0, True),  # f(e) = T is not met; moving away keeps it
        (">", 100.0, 101.0, False),
        (">", 95.0, 100.0, True),  # up to T it is not met
        (">", 95.0, 101.0, False),
        (">", 105.0, 101.0, True),
        (">", 105.0, 100.0, False),  # T itself is not met any more
        (">=", 100.0, 110.0, True),
        (">=", 105.0, 100.0, True),
        (">=", 105.0, 99.0, False),
        (">=", 95.0, 99.0, True),
        (">=", 95.0, 100.0, False),
        ("<", 100.0, 110.0, True),
        ("<", 95.0, 100.0, False),
        ("<=", 95.0, 100.0, True),
        ("<=", 105.0, 101.0, True),
        ("<=", 105.0, 100.0, False),
        (">", 100.0, 99.7, True),  # not whole, still exact: one component moved away
        (">=", 100.0, 100.3, True),
    ],
)
def test_counts(operator: str, e: float, u: float, expected: bool) -> None:
    assert inside(Comparison(x0, operator, 100.0), (e,), (u,)) is expected


def test_whole_numbers_in_two_dimensions() -> None:
    goal = Comparison(x0 - 2.0 * x1, ">", 3.0)
    assert inside(goal, (5.0, 1.0), (4.0, 3.0), known=False)  # f(e) = T and straight away from it
    assert not inside(goal, (5.0, 1.0), (4.0, 1.0), known=False)  # the ball bulges over the threshold
    assert inside(Comparison(x0 / x1, ">", 2.0), (2.0, 1.0), (1.0, 3.0)) is inside(
        goal, (5.0, 1.0), (4.0, 3.0), known=False
    )


def test_a_ball_of_radius_zero_is_silent() -> None:
    goal = Comparison(x0 / x1, ">", 2.0)
    assert inside(goal, (0.0, 0.0), (0.0, 0.0))  # even where nothing is defined
    assert inside(goal, (2.0, 1.0), (2.0, 1.0))
    assert not inside(goal, (0.0, 0.0), (0.0, 1.0))
    assert not inside(goal, (2.0, 1.0), (2.0, 1.0 + 1e-16 + 2e-16))


@pytest.mark.parametrize("drift", [(np.inf, 1.0), (np.nan, 1.0), (1e308, -1e308)])
def test_absurd_drifts_are_outside(drift: tuple[float, float]) -> None:
    assert not inside(Comparison(x0 / x1, ">", 2.0), (9.0, 1.0), drift)


def test_unknown_answers_decide_nothing() -> None:
    monitor = Monitor(Comparison(x0 / x1, ">", 2.0), [x0 / x1], 2, nonnegative=[True, True])
    zones = monitor.zones(2)
    assert zones.answer.tolist() == [2, 2]
    monitor.refresh(zones, np.array([0, 1]), np.array([[1.0, 0.0], [9.0, 1.0]]))
    assert zones.answer.tolist() == [2, 1]
    assert zones.radius[0] == 0.0
    assert np.isnan(monitor.values(zones.estimate)[0, 0])


def test_kleene() -> None:
    ratio, level = Comparison(x0 / x1, ">", 2.0), Comparison(x0, ">", 5.0)
    points = np.array([[9.0, 0.0], [1.0, 0.0]])
    assert Monitor(AnyOf((ratio, level)), [], 2).answers(points).tolist() == [1, 2]
    assert Monitor(AllOf((ratio, level)), [], 2).answers(points).tolist() == [2, 0]


def test_undefined_means_not_met() -> None:
    """Where the count reaches 0 the ratio loses its value: right for not met, wrong for met."""
    assert not inside(Comparison(x0 / x1, ">", 2.0), (9.0, 1.0), (9.0, -1.0))
    assert inside(Comparison(x0 / x1, "<", 2.0), (9.0, 1.0), (9.0, -1.0))


def test_thresholds_that_are_always_or_never_met() -> None:
    assert inside(Comparison(STDDEV, ">", -1.0), (50.0, 1.0, 20.0), (60.0, 3.0, 40.0))
    assert inside(Comparison(STDDEV, "<", -1.0), (50.0, 1.0, 20.0), (60.0, 3.0, 40.0))
    assert inside(Comparison(GAIN, ">=", 0.0), (5.0, 1.0, 2.0, 9.0), (4.0, 0.0, 3.0, 8.0))
    assert inside(Comparison(Unary("unit", x0 / x1), ">", -3.0), (1.0, 4.0), (2.0, 9.0))
    assert not inside(Comparison(STDDEV, ">", -1.0), (50.0, 1.0, 20.0), (-60.0, 1.0, 20.0))  # no value with one row


@pytest.mark.parametrize(
    ("f", "threshold"),
    [
        (Unary("sqrt", x0), 3.0),
        (Unary("exp", x0 * 0.1), np.exp(0.9)),
        (Unary("log", x0), np.log(9.0)),
        (2.0 * Unary("sqrt", x0) + 1.0, 7.0),
        (10.0 - Unary("sqrt", x0) * 3.0, 1.0),
        (Unary("sigmoid", x0 - 9.0), 0.5),
        (Unary("tanh", x0 - 9.0), 0.0),
        (-(x0 * x0), -81.0),
        (100.0 / x0, 100.0 / 9.0),
    ],
    ids=str,
)
def test_monotone_functions_move_into_the_threshold(f: Expression, threshold: float) -> None:
    """All of them cross at 9: balls that stop a hair before are inside, balls that cross are not."""
    for operator in (">", "<"):
        goal = Comparison(f, operator, threshold)
        assert inside(goal, (5.0,), (8.99999,), known=False)
        assert inside(goal, (14.0,), (9.00001,), known=False)
        assert not inside(goal, (5.0,), (9.00001,), known=False)
        assert not inside(goal, (14.0,), (8.99999,), known=False)


@pytest.mark.parametrize(("e", "u", "expected"), [(50.0, 60.0, True), (50.0, 40.0, True), (50.0, 61.0, False)])
def test_tracking_a_count(e: float, u: float, expected: bool) -> None:
    assert inside(Track(x0, 10.0), (e,), (u,)) is expected


def test_tracking_percent() -> None:
    goal = Track(x0, 10.0, percent=True)
    assert inside(goal, (99.0,), (109.9,))  # 99 is within a tenth of 110
    assert not inside(goal, (99.0,), (110.1,))
    assert inside(goal, (99.0,), (90.1,))
    assert not inside(goal, (99.0,), (89.9,))
    assert inside(goal, (-99.0,), (-109.9,), known=False)
    assert not inside(goal, (0.0,), (1e-9,), known=False)


def test_margins_widen() -> None:
    goal = Comparison(x0, ">", 100.0, margin=5.0)
    assert inside(goal, (99.0,), (105.0,))
    assert not inside(goal, (99.0,), (106.0,))
    assert inside(goal, (101.0,), (96.0,))
    assert not inside(goal, (101.0,), (95.0,))
