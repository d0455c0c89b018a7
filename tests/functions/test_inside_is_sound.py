"""``inside`` never says yes when a feasible point of the ball is on the wrong side: the promise of the whole house."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison
from tests.functions.cases import CASES, Case, worst

pytestmark = pytest.mark.xdist_group("kernels")
GROUPS = 60


def drifts(case: Case, rng: np.random.Generator, estimates: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Around the safe radius, where it matters, and anywhere."""
    result = []
    for e, safe in zip(estimates, radius, strict=True):
        if 0.0 < safe < 1e9 and rng.random() < 0.7:
            step = rng.normal(size=case.dimension)
            if case.simplex is not None:
                step -= step @ case.units() * case.units() / (case.units() @ case.units())
            result.append(e + step / np.linalg.norm(step) * safe * rng.uniform(0.8, 4.0))
        else:
            other = case.draw(rng) / case.units()
            result.append(e + (other - e) * rng.choice([1.0, 0.3, 0.1, 0.01]))
    return np.array(result)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("seed", range(3))
def test_no_wrong_inside(case: Case, seed: int) -> None:
    rng = np.random.default_rng(seed)
    monitor = case.monitor()
    zones = monitor.zones(GROUPS)
    groups = np.arange(GROUPS)
    estimates = np.array([case.draw(rng) for _ in groups]) / case.units()
    monitor.refresh(zones, groups, estimates)
    # As the zones would be checked without the filter, too: both paths must be sound.
    for attempt in range(3):
        u = drifts(case, rng, estimates, zones.radius)
        inside = monitor.inside(zones, groups, u)
        for g in np.flatnonzero(inside):
            x = case.in_ball(rng, estimates[g], u[g], 300)
            wrong = ~case.right(monitor, zones, int(g), x)
            assert not wrong.any(), (case.name, estimates[g], u[g], x[wrong][0], attempt)


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c.goal, Comparison)], ids=lambda case: case.name)
def test_no_wrong_inside_by_search(case: Case) -> None:
    """A local search for the worst point of the ball, which random points hardly ever are."""
    assert isinstance(case.goal, Comparison)
    rng = np.random.default_rng(11)
    monitor = case.monitor()
    zones = monitor.zones(GROUPS)
    groups = np.arange(GROUPS)
    estimates = np.array([case.draw(rng) for _ in groups]) / case.units()
    monitor.refresh(zones, groups, estimates)
    u = drifts(case, rng, estimates, zones.radius)
    for g in np.flatnonzero(monitor.inside(zones, groups, u))[:25]:
        upward = case.goal.operator.startswith(">") == (zones.answer[g] == 1)
        sign = -1.0 if upward else 1.0
        limit = case.goal.threshold + sign * case.goal.margin
        found = worst(
            case, rng, case.goal.expression, estimates[g], u[g], sign, np.inf if zones.answer[g] == 1 else -np.inf
        )
        assert found <= sign * limit + 1e-9 * (1.0 + abs(limit)), (case.name, estimates[g], u[g])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_safe_radius(case: Case) -> None:
    rng = np.random.default_rng(7)
    monitor = case.monitor()
    zones = monitor.zones(GROUPS)
    groups = np.arange(GROUPS)
    estimates = np.array([case.draw(rng) for _ in groups]) / case.units()
    monitor.refresh(zones, groups, estimates)
    assert np.all(zones.radius >= 0.0)
    assert np.all(zones.radius[zones.answer == 2] == 0.0)
    for g in np.flatnonzero((zones.radius > 0.0) & (zones.radius < 1e12)):
        step = rng.normal(size=case.dimension)
        step *= zones.radius[g] * (1.0 - 1e-9) / np.linalg.norm(step)
        x = case.in_ball(rng, estimates[g] - step, estimates[g] + step, 300)
        assert case.right(monitor, zones, int(g), x).all(), (case.name, estimates[g], zones.radius[g])
        if case.simplex is None:
            assert monitor.inside(zones, np.array([g]), (estimates[g] + 0.999 * step)[None])[0]


@pytest.mark.parametrize("case", [c for c in CASES if isinstance(c.goal, Comparison)], ids=lambda case: case.name)
def test_hair_from_the_threshold(case: Case) -> None:
    """Balls so small that a careless difference of large numbers would decide."""
    assert isinstance(case.goal, Comparison)
    rng = np.random.default_rng(5)
    for _ in range(4):
        e = case.draw(rng) / case.units()
        at = float(value(case.goal.expression, (e * case.units())[None])[0])
        for hair in (-1e-4, 1e-7, -1e-10, 1e-10):
            if np.isnan(at):
                continue
            limit = at + hair * (1.0 + abs(at))
            near = replace(case, goal=replace(case.goal, threshold=limit, margin=0.0))
            monitor = near.monitor()
            zones = monitor.zones(1)
            monitor.refresh(zones, np.array([0]), e[None])
            if not 0.0 < zones.radius[0] < 1e9:
                continue
            step = rng.normal(size=case.dimension)
            if case.simplex is not None:
                step -= step @ case.units() * case.units() / (case.units() @ case.units())
            u = e + step / np.linalg.norm(step) * zones.radius[0] * rng.uniform(0.9, 3.0)
            if not monitor.inside(zones, np.array([0]), u[None])[0] or not len(near.in_ball(rng, e, u, 400)):
                continue
            sign = -1.0 if case.goal.operator.startswith(">") == (zones.answer[0] == 1) else 1.0
            found = worst(near, rng, case.goal.expression, e, u, sign, np.inf if zones.answer[0] == 1 else -np.inf)
            assert found <= sign * limit + 2e-14 * (1.0 + abs(limit)), (case.name, e, u, limit)


def test_thousands_of_balls_around_empty_cells() -> None:
    """Information gain where more than half of the tables have an empty cell."""
    case = next(c for c in CASES if c.name == "information gain")
    rng = np.random.default_rng(3)
    monitor = case.monitor()
    estimates = np.array([case.draw(rng) for _ in range(1500)])
    estimates[::2, rng.integers(0, 4)] = 0.0
    estimates = estimates[estimates.sum(axis=1) > 0]
    groups = np.arange(len(estimates))
    zones = monitor.zones(len(groups))
    monitor.refresh(zones, groups, estimates)
    moves = rng.integers(-3, 4, size=estimates.shape) * rng.choice([1, 3, 10], size=(len(groups), 1))
    u = estimates + moves
    inside = monitor.inside(zones, groups, u)
    assert inside.mean() > 0.3
    for g in np.flatnonzero(inside):
        x = case.in_ball(rng, estimates[g], u[g], 60)
        assert case.right(monitor, zones, int(g), x).all()
