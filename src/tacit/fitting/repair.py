"""From limits that are nearly right to zones that are exactly safe.

Solvers work in floating point; what they give may pass the budget by a hair. Here each row is pulled back towards the
anchors until sum w_i c_i <= (sum w_i) c holds in exact fractions. That is checked, not argued, for every fit.
"""

from __future__ import annotations

import numpy as np

from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import ZoneFit, ZoneProblem, log_chance
from tacit.geometry import HalfSpaces, rows_fit
from tacit.vocabulary import FloatArray, ZoneError

__all__ = ["finished", "row_floors"]

TRIES = 40


def row_floors(problem: ZoneProblem, limits: FloatArray) -> FloatArray:
    """The anchors' floors; without anchors, far below what the rows are."""
    floors = problem.floors()
    if floors is not None:
        return floors
    room = np.abs(limits - problem.shares @ limits).max(axis=0) + np.abs(problem.region.limits)
    room = room + problem.spreads().max(axis=0)
    return np.asarray(limits - 10 * room - np.maximum(problem.shares @ limits - problem.region.limits, 0.0))


def finished(
    problem: ZoneProblem,
    limits: FloatArray,
    likelihood: Likelihood,
    *,
    steps: int,
    prices: FloatArray | None = None,
) -> ZoneFit:
    """The fit with these limits, made exactly safe; ZoneError when that cannot be."""
    floors = row_floors(problem, limits)
    limits = np.maximum(limits, floors)
    used, budget = problem.shares @ (limits - floors), problem.region.limits - problem.shares @ floors
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(used > budget, budget / used, 1.0)
    for attempt in range(TRIES):
        # Less each time: a few units in the last place at first, all of it long before the last try.
        pulled = floors + (limits - floors) * np.maximum(scale - (2.0**attempt - 1) * 2.0**-50, 0.0)
        zones = tuple(HalfSpaces(problem.region.normals, each) for each in pulled)
        assert problem.weights is not None
        if rows_fit(zones, problem.weights, problem.region):
            return _judged(problem, zones, likelihood, steps, prices)
    raise ZoneError("no room is left for zones between the anchors and the admissible region; use the ball")


def _judged(
    problem: ZoneProblem,
    zones: tuple[HalfSpaces, ...],
    likelihood: Likelihood,
    steps: int,
    prices: FloatArray | None,
) -> ZoneFit:
    if problem.anchors is not None:
        held = [zone.contains(anchor[None])[0] for zone, anchor in zip(zones, problem.anchors, strict=True)]
        if not all(held):
            raise ZoneError(
                f"the zone of site {held.index(False)} cannot hold its anchor beyond rounding; use the ball"
            )
    chances, _ = likelihood(np.array([each.limits for each in zones]))
    assert problem.counts is not None
    return ZoneFit(zones, chances, log_chance(chances, problem.counts), steps, prices)
