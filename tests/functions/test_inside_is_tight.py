"""``inside`` says yes wherever a form is exact, and often enough elsewhere: silence is what the product sells."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.goals import Comparison, Track
from tests.functions.cases import CASES, Case, Generator, worst

pytestmark = pytest.mark.xdist_group("kernels")

EXACT = [case for case in CASES if case.exact]
# The share of balls on one side, by a local search, that must be found; measured, less a reserve.
FOUND = {
    "ratio": 0.97,
    "ratio of means": 0.95,
    "standard deviation": 0.85,
    "correlation": 0.65,
    "correlation of means": 0.65,
    "information gain": 0.85,
    "gain on the simplex": 0.85,
    "chi-square": 0.8,
    "entropy": 0.9,
    "track a deviation": 0.9,
    "quadratic of shares": 0.9,
}


def one_side(case: Case, rng: Generator, low: float, high: float, e: np.ndarray, u: np.ndarray, met: bool) -> bool:
    """Is the value surely in [low, high] on the ball, with a little to spare?"""
    f = case.goal.expression  # type: ignore[union-attr]
    undefined = np.inf if met else -np.inf
    slack = 1e-6 * (1.0 + abs(low if np.isfinite(low) else 0.0) + abs(high if np.isfinite(high) else 0.0))
    if np.isfinite(high) and worst(case, rng, f, e, u, 1.0, undefined) > high - slack:
        return False
    return not (np.isfinite(low) and -worst(case, rng, f, e, u, -1.0, undefined) < low + slack)


def count_found(case: Case, groups: int, seed: int) -> tuple[int, int]:
    """How many of the balls on one side were found, and how many there were."""
    rng = np.random.default_rng(seed)
    monitor = case.monitor()
    zones = monitor.zones(groups)
    estimates = np.array([case.draw(rng) for _ in range(groups)]) / case.units()
    monitor.refresh(zones, np.arange(groups), estimates)
    found = total = 0
    for g in np.flatnonzero((zones.radius > 0.0) & (zones.radius < 1e9)):
        step = rng.normal(size=case.dimension)
        if case.simplex is not None:
            step -= step.mean()
        u = estimates[g] + step / np.linalg.norm(step) * zones.radius[g] * rng.uniform(1.0, 4.0)
        if isinstance(case.goal, Track):
            at = monitor.tracked(estimates[g : g + 1])[0]
            low, high = at - case.goal.within, at + case.goal.within
        else:
            assert isinstance(case.goal, Comparison)
            upward = case.goal.operator.startswith(">") == (zones.answer[g] == 1)
            give = -case.goal.margin if upward else case.goal.margin
            low, high = (case.goal.threshold + give, np.inf) if upward else (-np.inf, case.goal.threshold + give)
        if one_side(case, rng, low, high, estimates[g], u, zones.answer[g] == 1):
            total += 1
            found += bool(monitor.inside(zones, np.array([g]), u[None])[0])
    return found, total


@pytest.mark.parametrize("case", EXACT, ids=lambda case: case.name)
def test_exact_forms_find_every_ball(case: Case) -> None:
    found, total = count_found(case, 80, seed=1)
    assert total > 15
    assert found == total


@pytest.mark.parametrize("case", [case for case in CASES if case.name in FOUND], ids=lambda case: case.name)
def test_other_forms_find_most(case: Case) -> None:
    found, total = count_found(case, 60, seed=2)
    assert total > 10
    assert found >= FOUND[case.name] * total, (found, total)


def test_safe_radius_is_near_the_distance() -> None:
    """For an affine threshold the distance is known."""
    case = next(c for c in CASES if c.name == "affine")
    rng = np.random.default_rng(0)
    monitor = case.monitor()
    zones = monitor.zones(50)
    estimates = np.array([case.draw(rng) for _ in range(50)])
    monitor.refresh(zones, np.arange(50), estimates)
    distance = np.abs(estimates @ [1.0, 2.0, -1.0] - 1.0) / np.sqrt(6.0)
    assert np.all(zones.radius <= distance)
    assert np.all(zones.radius >= 0.97 * distance)
