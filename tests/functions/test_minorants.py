"""Concave functions below expressions: below them all over their boxes, touching at their point, and concave."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression, Unary, Variable
from tacit.functions.minorants import Shape

X, Y, Z = Variable(0), Variable(1), Variable(2)


def log(tree: Expression) -> Expression:
    return Unary("log", tree)


def h(tree: Expression) -> Expression:
    return Unary("xlogx", tree)


EVERYWHERE: dict[str, Expression] = {
    "affine": X - 2.0 * Y + 0.5,
    "saddle": X * X - 3.0 * (Y * Y) + X * Z,
    "exponential": Unary("exp", X + Y) - 2.0 * Unary("exp", Z * 0.5),
    "divergence": (X + 0.1) * log((X + 0.1) / (Y + 0.1)) + Z,
    "mixed": log(X + Y + 0.2) - X * X + Unary("sqrt", Z + 0.1) * 3.0,
    "choice": h(X + Y) - h(X) - h(Y) - 2.0 * h(Z),
    "negative": -(h(X + Y) - h(X) - h(Y)) + 0.5 * log(Z + 0.05),
}
BOXED: dict[str, Expression] = {
    "rosenbrock": (1.0 - X) ** 2 + 100.0 * (Y - X * X) ** 2,
    "network": Unary("tanh", 1.5 * X - Y) * 0.7 + Unary("tanh", Unary("tanh", Y + Z) - 2.0 * X),
    "bump and more": Unary("exp", -8.0 * (X * X + Y * Y)) + Z * Z - log(X + 0.1),
}


@settings(max_examples=150, deadline=None)
@given(name=st.sampled_from([*EVERYWHERE, *BOXED]), above=st.booleans(), seed=st.integers(0, 10**6))
def test_below_everywhere_and_touching(name: str, above: bool, seed: int) -> None:
    dice = np.random.default_rng(seed)
    tree = EVERYWHERE.get(name) or BOXED[name]
    shape = Shape(tree, 3)
    assert shape.needs_box == (name in BOXED)
    at = dice.uniform(0.02, 2.0, 3)
    width = at * dice.uniform(0.01, 0.9, 3)
    pieces = int(dice.choice([1, 8]))
    below = shape.minorant(at, at - width, at + width, above=above, plus=0.25, pieces=pieces)
    assert below is not None
    anywhere, around = dice.uniform(0.0, 4.0, (200, 3)), at + width * dice.uniform(-1, 1, (200, 3))
    points = anywhere if name in EVERYWHERE else around
    truth = (1.0 if above else -1.0) * value(tree, points) + 0.25
    found = below.values(points)
    assert (found <= truth + 1e-9 * (1.0 + np.abs(truth)))[np.isfinite(truth)].all()
    assert np.isneginf(found[np.isnan(truth)]).all()
    here = (1.0 if above else -1.0) * value(tree, at[None])[0] + 0.25
    np.testing.assert_allclose(below.values(at[None])[0], here, rtol=1e-9, atol=1e-9)
    pairs = points[dice.integers(0, 200, (100, 2))]
    ends, middle = below.values(pairs.reshape(-1, 3)).reshape(-1, 2), below.values(pairs.mean(axis=1))
    sure = np.isfinite(ends).all(axis=1)
    size = 1e-9 * (1.0 + np.abs(ends).max(axis=1))
    assert (middle >= ends.mean(axis=1) - size)[sure].all()


@pytest.mark.parametrize("tree", [X * log(X / Y), (X * 2.0) * log((X * 2.0) / (Y - 1.0))])
def test_a_divergence_of_negative_numbers_bends_the_other_way(tree: Expression) -> None:
    """x log(x / y) has a value where both are negative; nothing convex is claimed of it there."""
    shape = Shape(tree, 2)
    for above in (True, False):
        below = shape.minorant(np.array([1.0, 3.0]), above=above)
        assert below is not None
        assert np.isneginf(below.values(np.array([[-1.0, -2.0]])))[0]


def test_without_a_box_or_a_value_there_is_none() -> None:
    shape = Shape(BOXED["network"], 3)
    assert shape.minorant(np.zeros(3)) is None
    assert Shape(-log(X), 1).minorant(np.array([-1.0])) is None
    assert Shape(Unary("abs", X), 1).minorant(np.zeros(1), np.array([-1.0]), np.array([1.0])) is None
