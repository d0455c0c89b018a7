"""Zones for recentring keep their promise: where a zone covers the estimate, f stays within its bounds on all of it."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.curvature import Curves
from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression, InformationGain, Unary, Variable
from tacit.functions.roaming import Costs, RoamingZone, best_zone

X, Y, Z = Variable(0), Variable(1), Variable(2)
SIZES = tuple(2.0 ** np.arange(-6.0, 5.0))
FUNCTIONS: dict[str, Expression] = {
    "sum": X + 2.0 * Y - Z,
    "variance": Y - X * X,
    "saddle": X * X - Y * Y + X * Z,
    "rosenbrock": (1.0 - X) ** 2 + 100.0 * (Y - X * X) ** 2,
    "ratio": X / (Y * Y + 1.0) + Z,
    "bump": Unary("exp", -8.0 * (X * X + Y * Y + Z * Z)),
    "network": Unary("tanh", 1.5 * X - Y) * 0.7 + Unary("tanh", Unary("tanh", Y + Z) - 2.0 * X),
    "waves": Unary("sin", 3.0 * X) * Unary("cos", Y) + Unary("sigmoid", 4.0 * Z),
    "divergence": Unary("xlogx", X * X + 0.1) - (X * X + 0.1) * Unary("log", Y * Y + 0.2),
    "gain": InformationGain(X * X + 0.1, Y * Y + 0.2, Z * Z + 0.1, X * X + 0.3),
}


def made(name: str, seed: int) -> tuple[RoamingZone | None, np.ndarray, np.ndarray, np.random.Generator]:
    dice = np.random.default_rng(seed)
    at = dice.normal(size=3)
    moves = dice.normal(size=(20, 3)) * dice.uniform(0.05, 2.0, 3)
    within = float(10.0 ** dice.uniform(-3, 0.5))
    costs = Costs(messages=10.0, refreshes=float(10.0 ** dice.uniform(-4, 1)))
    return best_zone(Curves(FUNCTIONS[name]), at, within, moves, costs, SIZES), at, moves, dice


@settings(max_examples=60, deadline=None)
@given(name=st.sampled_from(sorted(FUNCTIONS)), seed=st.integers(0, 10**6))
def test_f_stays_within_its_bounds(name: str, seed: int) -> None:
    zone, at, moves, dice = made(name, seed)
    assert zone is not None
    f = FUNCTIONS[name]
    curves = Curves(f)
    assert zone.covers(curves, at)
    for step in 10.0 ** dice.uniform(-3, 0.5, 12):
        estimate = at + dice.normal(size=3) * step * zone.radius * np.abs(moves).mean(axis=0)
        if not zone.covers(curves, estimate):
            continue
        ways = dice.normal(size=(60, 3)) * zone.box
        edges = zone.distances(ways)[:, None] * ways
        inside = edges * dice.choice([0.999999, 0.5, 0.9], (60, 1))
        assert zone.contains(inside).all()
        assert not zone.contains(edges * 1.0001).any()
        several = inside[dice.integers(0, 60, (40, 4))]
        mixed = np.einsum("kn,knd->kd", dice.dirichlet(np.ones(4), 40), several)  # convex: means are inside
        assert zone.contains(mixed * (1.0 - 1e-9)).all()
        moved = np.concatenate([inside, mixed])
        rise = value(f, estimate + moved) - value(f, estimate[None])
        tiny = 1e-9 * (1.0 + np.abs(value(f, estimate[None])))
        assert (rise <= zone.up + tiny).all()
        assert (rise >= -zone.down - tiny).all()
        assert (np.abs(rise - zone.offset) <= zone.error + tiny).all()


def test_of_what_is_straight_the_reach_has_no_end() -> None:
    """The slope of a sum never turns: the zone covers every estimate, and nobody ever needs another one."""
    zone, at, _, dice = made("sum", 1)
    assert zone is not None
    for _ in range(20):
        assert zone.covers(Curves(FUNCTIONS["sum"]), at + dice.normal(size=3) * 1e6)


def test_where_f_turns_away_it_does_not_cover() -> None:
    zone, at, _, _ = made("bump", 3)
    assert zone is not None
    assert zone.turned(Curves(FUNCTIONS["bump"]), at) < 1e-6
    near = best_zone(Curves(FUNCTIONS["bump"]), np.full(3, 2.0), 0.01, np.eye(3), Costs(), SIZES)
    assert near is not None
    assert not near.covers(Curves(FUNCTIONS["bump"]), np.zeros(3))


@pytest.mark.parametrize("dear", [1e-6, 1e6])
def test_what_is_dear_is_rare(dear: float) -> None:
    """The dearer refreshes are beside reports, the further e may go, and the smaller the zone."""
    f, at = Curves(FUNCTIONS["saddle"]), np.array([1.0, 0.5, -0.2])
    even = best_zone(f, at, 0.1, np.eye(3), Costs(), SIZES)
    other = best_zone(f, at, 0.1, np.eye(3), Costs(refreshes=dear), SIZES)
    assert even is not None
    assert other is not None
    assert (other.reach > even.reach) == (dear > 1)
    assert (other.radius < even.radius) == (dear > 1)


def test_without_a_proof_there_is_no_zone() -> None:
    assert best_zone(Curves(Unary("abs", X)), np.zeros(3), 0.1, np.eye(3), Costs(), SIZES) is None
    assert best_zone(Curves(Unary("log", X)), np.array([-1.0, 0.0, 0.0]), 0.1, np.eye(3), Costs(), SIZES) is None
