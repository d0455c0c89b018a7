"""Where solvers start: limits that use up the budget, row by row, and hold the anchors."""

from __future__ import annotations

import numpy as np

from tacit.fitting.problem import ZoneProblem
from tacit.vocabulary import FloatArray

__all__ = ["common_limits", "filled", "starts"]

HALVINGS = 100
INSIDE = 0.02  # of the budget: how far starts stay from the floors


def common_limits(problem: ZoneProblem) -> FloatArray:
    """Zones of one shape, the seed's GM: S_i = C + u_i with sum w_i u_i = 0, u_i the offset of the site's mean."""
    means = np.array([each.mean() for each in problem.mixtures])
    return np.asarray(problem.region.limits + (means - problem.shares @ means) @ problem.region.normals.T)


def starts(problem: ZoneProblem) -> list[FloatArray]:
    """Each site as far around its mean, in its own spreads, as the budget allows; one common shape; around anchors."""
    means = np.array([each.mean() for each in problem.mixtures]) @ problem.region.normals.T
    spreads = problem.spreads()
    reach = (problem.region.limits - problem.shares @ means) / (problem.shares @ spreads)
    found = [means + reach * spreads, common_limits(problem)]
    if problem.anchors is not None:
        around = problem.anchors @ problem.region.normals.T
        reach = (problem.region.limits - problem.shares @ around) / (problem.shares @ spreads)
        found.append(around + reach * spreads)
    return [filled(problem, each) for each in found]


def filled(problem: ZoneProblem, limits: FloatArray) -> FloatArray:
    """Limits near these that use the budget exactly (to rounding) and stay above the floors.

    Each row is lowered or raised by one number in units of the sites' spreads, but never below the floors.
    """
    spreads = problem.spreads()
    floors = problem.floors()
    if floors is None:
        excess = problem.shares @ limits - problem.region.limits
        return np.asarray(limits - excess / (problem.shares @ spreads) * spreads)
    least = floors + INSIDE * problem.budget()
    target = problem.region.limits
    wide = np.abs(limits - least).max(axis=0) + np.abs(target - problem.shares @ least)
    low, high = (np.full(len(target), sign) * wide / spreads.min(axis=0) * 2 for sign in (-1.0, 1.0))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        over = problem.shares @ np.maximum(limits + middle * spreads, least) > target
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return np.asarray(np.maximum(limits + low * spreads, least))
