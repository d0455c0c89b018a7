"""What the planner asks: degrees, substitution, kinds; and user functions."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.evaluate import value
from tacit.functions.expressions import Binary, Constant, Expression, Opaque, Unary
from tacit.functions.forms import degree, kind_of, means_form, substitute, variables
from tacit.functions.goals import AllOf, AnyOf, Comparison, Goal, Track
from tacit.functions.monitor import Monitor
from tacit.vocabulary.errors import OptionError
from tests.functions.cases import CHI, CORR, CORR_MEANS, ENTROPY, GAIN, NET, STDDEV, wobble, x0, x1, x2


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (x0, 1.0), (x0 / x1, 0.0), (x0 * x1, 2.0), (x0 + 1.0, None), (Constant(3.0), 0.0), (x0 + 0.0, 1.0),
        (Unary("sqrt", x0 * x1), 1.0), (Unary("exp", x0 / x1), 0.0), (Unary("exp", x0), None), (x0**2.0, 2.0),
        (GAIN, 0.0), (CHI, 1.0), (CORR, 0.0), (STDDEV, None), (ENTROPY, 0.0), (Unary("xlogx", x0), None),
        (Binary("least", x0 / x1, x1 / x2), 0.0), (Opaque("f", wobble, (x0 / x1, x1 / x2)), 0.0), (x0 - x1 * x2, None),
    ],
    ids=str,
)  # fmt: skip
def test_degree(expression: Expression, expected: float | None) -> None:
    assert degree(expression) == expected
    if expected is not None:
        points = np.random.default_rng(0).uniform(1.0, 4.0, size=(20, 6)) + np.array([0, 0, 9, 0, 9, 0])
        np.testing.assert_allclose(
            value(expression, 3.0 * points), 3.0**expected * value(expression, points), rtol=1e-9
        )


def test_means_form_has_the_same_value() -> None:
    goal = means_form(Comparison(CORR, ">", 0.5), 0)
    assert isinstance(goal, Comparison)
    points = np.random.default_rng(0).uniform(1.0, 4.0, size=(20, 6)) + np.array([9, 0, 9, 0, 9, 0])
    np.testing.assert_allclose(value(goal.expression, points / points[:, :1]), value(CORR, points), rtol=1e-9)
    assert means_form(Comparison(STDDEV, ">", 0.5), 0) is None


def test_substitute_and_variables() -> None:
    swapped = substitute(CHI, {0: x1 + x2, 1: Constant(2.0)})
    assert variables(swapped) == {1, 2, 3}
    point = np.array([[1.0, 2.0, 3.0, 4.0]])
    assert value(swapped, point)[0] == value(CHI, np.array([[5.0, 2.0, 3.0, 4.0]]))[0]


@pytest.mark.parametrize(
    ("goal", "expected"),
    [
        (Comparison(x0 - x1, ">", 1.0), "affine, exact"),
        (Comparison(x0 / x1, ">", 1.0), "ratio, exact"),
        (Comparison(STDDEV, ">", 1.0), "quadratic, exact"),
        (Track(STDDEV, 1.0), "quadratic, exact"),
        (Comparison(GAIN, ">", 0.1), "entropy, chord bounds"),
        (Comparison(CORR_MEANS, ">", 0.1), "geometric mean of quadratics, nearly exact"),
        (Comparison(NET, ">", 0.1), "interval, mean value, branch and bound"),
        (Comparison(Opaque("f", wobble, (x0, x1), 1.2), ">", 0.1), "Lipschitz"),
        (Comparison(Opaque("f", wobble, (x0, x1), unsound=True), ">", 0.1), "unsound"),
        (AnyOf((Comparison(x0, ">", 1.0), Comparison(x0 / x1, ">", 1.0))), "affine, exact; ratio, exact"),
        (AllOf((Comparison(x0, ">", 1.0), Comparison(x1, ">", 1.0))), "affine, exact"),
    ],
)
def test_kind(goal: Goal, expected: str) -> None:
    assert kind_of(goal) == expected


@pytest.mark.xdist_group("kernels")
def test_user_functions() -> None:
    calls = []

    def steep(a: np.ndarray) -> np.ndarray:
        calls.append(len(a))
        return 3.0 * a

    with pytest.raises(OptionError, match="Lipschitz"):
        Monitor(Comparison(Opaque("f", steep, (x0,)), ">", 30.0), [], 1)
    sound = Monitor(Comparison(Opaque("f", steep, (x0,), 3.0), ">", 30.0), [], 1)
    guess = Monitor(Comparison(Opaque("f", steep, (x0,), unsound=True), ">", 30.0), [], 1)
    assert sound.sound
    assert not guess.sound
    for monitor in (sound, guess):
        zones = monitor.zones(3)
        monitor.refresh(zones, np.arange(3), np.array([[5.0], [9.0], [20.0]]))
        assert zones.answer.tolist() == [0, 0, 1]
        assert monitor.inside(zones, np.array([0, 1, 2]), np.array([[6.0], [9.4], [18.0]])).all()
        assert not monitor.inside(zones, np.array([0, 1, 2]), np.array([[11.0], [11.0], [9.0]])).any()
    before = len(calls)
    sound.inside(zones, np.array([0, 1, 2]), np.array([[6.0], [9.5], [15.0]]))
    assert len(calls) == before, "silent checks never call Python"


@pytest.mark.xdist_group("kernels")
def test_outputs_may_be_named() -> None:
    monitor = Monitor(Comparison(x0, ">", 1.0), [("ratio", x0 / x1), ("level", x0)], 2, scale=np.array([2.0, 0.5]))
    np.testing.assert_array_equal(monitor.values(np.array([[3.0, 4.0]])), [[3.0, 6.0]])
