"""Bounds over boxes and balls contain every sampled value; where something is undefined they say nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.functions.evaluate import value
from tacit.functions.expressions import Binary, Constant, Expression, Opaque, Unary, Variable
from tacit.functions.interval import bounds_over_ball, bounds_over_box
from tests.functions.cases import CHI, CORR_MEANS, GAIN, NET, wobble, x0, x1, x2

pytestmark = pytest.mark.xdist_group("kernels")

D = 3
numbers = st.floats(-3.0, 3.0).map(lambda number: round(number, 3))
leaves = st.one_of(st.integers(0, D - 1).map(Variable), numbers.map(Constant))
SAFE = ("neg", "abs", "sin", "cos", "tanh", "sigmoid", "nonnegative", "unit", "exp", "sqrt", "log", "xlogx")


def grow(inner: st.SearchStrategy[Expression]) -> st.SearchStrategy[Expression]:
    return st.one_of(
        st.builds(Unary, st.sampled_from(SAFE), inner),
        st.builds(Binary, st.sampled_from(("+", "-", "*", "/", "least", "greatest")), inner, inner),
        st.builds(lambda base, power: base**power, inner, st.sampled_from((2.0, 3.0, -1.0, -2.0, 0.5, 1.5, 0.0))),
        st.builds(lambda a, b: Binary("pow", a, b), inner, inner),
        st.builds(lambda a, b: Opaque("f", wobble, (a, b), 1.2), inner, inner),
    )


expressions = st.recursive(leaves, grow, max_leaves=8)


def judge(expression: Expression, points: np.ndarray, low: float, high: float) -> None:
    values = value(expression, points)
    if not (np.isneginf(low) and np.isposinf(high)):
        assert not np.isnan(values).any(), "undefined, but bounded"
    values = values[~np.isnan(values)]
    # What NumPy itself may have lost, where large numbers cancel.
    slip = 1e-9 * (1.0 + np.abs(values)) + 1e-7 * (np.abs(values) > 1e3)
    assert np.all(values >= low - slip)
    assert np.all(values <= high + slip)


@settings(max_examples=200, deadline=None)
@given(
    expressions, st.lists(st.tuples(numbers, st.floats(0.0, 2.0)), min_size=D, max_size=D), st.integers(0, 2**32 - 1)
)
def test_boxes_contain_values(expression: Expression, sides: list[tuple[float, float]], seed: int) -> None:
    low = np.array([a for a, _ in sides])
    high = low + np.array([b for _, b in sides])
    least, most = bounds_over_box(expression, low[None], high[None])
    rng = np.random.default_rng(seed)
    points = rng.uniform(low, high, size=(60, D))
    corners = np.where(rng.random((20, D)) < 0.5, low, high)
    judge(expression, np.concatenate([points, corners]), least[0], most[0])


@settings(max_examples=200, deadline=None)
@given(expressions, st.lists(numbers, min_size=D, max_size=D), st.floats(0.0, 2.0), st.integers(0, 2**32 - 1))
def test_balls_contain_values(expression: Expression, centre: list[float], radius: float, seed: int) -> None:
    c = np.array(centre)
    known = np.array([True, False, True])
    least, most = bounds_over_ball(expression, c[None], np.array([radius]), feasible=known)
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(80, D))
    steps *= (radius * rng.random(80) ** 0.3 / np.linalg.norm(steps, axis=1))[:, None]
    points = c + steps
    points = points[np.all(points[:, known] >= 0.0, axis=1)]
    judge(expression, points, least[0], most[0])


def test_exact_range_of_quadratics() -> None:
    """Dense samples of the sphere come as near as they can; the bound is never inside them."""
    rng = np.random.default_rng(0)
    sphere = rng.normal(size=(200_000, 2))
    sphere /= np.linalg.norm(sphere, axis=1)[:, None]
    disc = np.concatenate([sphere, sphere * np.sqrt(rng.random((200_000, 1)))])
    for _ in range(40):
        a, b, c, d, e = rng.normal(size=5)
        f = a * x0 * x0 + b * x0 * x1 + c * x1 * x1 + d * x0 + e * x1
        centre, radius = rng.normal(size=2), rng.uniform(0.1, 3.0)
        values = value(f, centre + radius * disc)
        low, high = bounds_over_ball(f, centre[None], np.array([radius]))
        span = values.max() - values.min()
        assert values.min() - 1e-3 * span <= low[0] <= values.min()
        assert values.max() <= high[0] <= values.max() + 1e-3 * span


@pytest.mark.parametrize(
    ("f", "centre"),
    [
        (x0 * x0 + x1 * x1, (0.0, 0.0)),  # the hard case: no gradient at the centre
        (x0 * x0 - x1 * x1, (0.0, 0.0)),
        (x0 * x0 - x1 * x1 + x1, (0.0, 0.0)),  # a gradient without a part along the top eigenvector
        (-1.0 * x0 * x0 - x1 * x1, (0.1, 0.0)),  # the top is inside the ball
        (x0 * x0, (0.0, 5.0)),
        (x0 * 0.0 + 2.0, (0.0, 0.0)),
    ],
    ids=str,
)
def test_hard_cases_of_the_trust_region(f: Expression, centre: tuple[float, float]) -> None:
    angle = np.linspace(0.0, 2.0 * np.pi, 20_001)
    circle = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    points = np.concatenate([np.array(centre) + circle * r for r in np.linspace(0.0, 1.0, 41)])
    values = value(f, points)
    low, high = bounds_over_ball(f, np.array([centre]), np.array([1.0]))
    assert low[0] == pytest.approx(values.min(), abs=1e-3)
    assert high[0] == pytest.approx(values.max(), abs=1e-3)
    assert low[0] <= values.min()
    assert high[0] >= values.max()


@pytest.mark.parametrize(
    "f",
    [1.0 / x0, Unary("log", x0), Unary("sqrt", x0), x0**-1.0, Unary("exp", 1000.0 * x0), Binary("pow", x0, x1),
     GAIN / x0, Unary("xlogx", x0)],
    ids=str,
)  # fmt: skip
def test_undecided_around_an_undefined_point(f: Expression) -> None:
    low, high = bounds_over_box(f, np.array([[-1.0, 0.5, 0.5, 0.5]]), np.array([[1.0, 1.0, 1.0, 1.0]]))
    assert low[0] == -np.inf
    assert high[0] == np.inf


def test_mean_value_form_helps() -> None:
    """x - x^2 over a short interval: the natural interval alone is of first order."""
    low, high = bounds_over_box(x0 - x0 * x0, np.array([[0.5]]), np.array([[0.51]]))
    assert high[0] - low[0] < 3e-4


def test_many_at_once() -> None:
    rng = np.random.default_rng(4)
    low = rng.uniform(0.5, 2.0, size=(500, 5))
    for f in (GAIN, CHI, CORR_MEANS, NET, x0 / x1 - x2):
        least, most = bounds_over_box(f, low, low + 0.01)
        values = value(f, low + 0.005)
        some = ~np.isnan(values)
        assert np.all((least <= values)[some])
        assert np.all((values <= most)[some])
