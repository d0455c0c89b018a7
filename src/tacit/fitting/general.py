"""A general constrained solver over all limits of all sites at once, as in the seed (SLSQP).

Its work grows with the cube of sites x rows. It is the measure for what is faster.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import LEAST, ZoneFit, ZoneProblem, log_chance
from tacit.fitting.repair import finished
from tacit.fitting.starting import starts
from tacit.vocabulary import FloatArray

__all__ = ["fit_general"]


def fit_general(
    problem: ZoneProblem, *, likelihood: Likelihood | None = None, steps_max: int = 300, tolerance: float = 1e-7
) -> ZoneFit:
    """The best zones a general solver finds from the best start.

    >>> from tacit.fitting.mixtures import Mixture
    >>> from tacit.geometry import interval
    >>> sites = [Mixture.normal(np.zeros(1), np.eye(1)), Mixture.normal(np.zeros(1), 9 * np.eye(1))]
    >>> fitted = fit_general(ZoneProblem(interval(-4.0, 4.0).half_spaces(), sites))
    >>> fitted.limits.round(1).tolist()  # the wide one gets most of the room
    [[2.4, 2.4], [5.6, 5.6]]
    """
    shared = likelihood or Likelihood.of(problem.mixtures, problem.region.normals)
    counts, shares = problem.counts, problem.shares
    assert counts is not None
    first = max(starts(problem), key=lambda each: log_chance(shared(each)[0], counts))
    unit = shares @ problem.spreads()  # each row is measured in the sites' mean spread
    sites, rows = first.shape

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        chances, slopes = shared(flat.reshape(sites, rows) * unit)
        floor = np.maximum(chances, LEAST)
        return -float(counts @ np.log(floor)), -(counts[:, None] * slopes / floor[:, None] * unit).ravel()

    coupling = np.kron(shares, np.eye(rows))
    budget = {
        "type": "ineq",
        "fun": lambda flat: problem.region.limits / unit - coupling @ flat,
        "jac": lambda _: -coupling,
    }

    def solve(bounds: list[tuple[float, None]] | None) -> tuple[FloatArray, int]:
        start = (first / unit).ravel()
        before, slopes = loss(start)
        steps = 0
        # A first step as long as the slopes can jump to where nothing is probable and all is flat. Then once more, with
        # slopes made short.
        for scale in (1.0, float(np.abs(slopes).max())):
            found = minimize(
                lambda flat, scale=scale: tuple(each / scale for each in loss(flat)), start, jac=True, method="SLSQP",
                bounds=bounds, constraints=budget, options={"maxiter": steps_max, "ftol": tolerance / scale},
            )  # fmt: skip
            steps += int(found.nit)
            if found.fun * scale <= before:
                break
        return found.x.reshape(sites, rows) * unit, steps

    floors = problem.floors()
    limits, steps = solve(None)
    if floors is not None and not (limits >= floors).all():
        # Anchors are mostly well inside, and bounds cost much more than they are worth then.
        limits, more = solve([(each, None) for each in (floors / unit).ravel()])
        steps += more
    better = finished(problem, limits, shared, steps=steps)
    if better.objective >= log_chance(shared(first)[0], counts):
        return better
    return max(better, finished(problem, first, shared, steps=0), key=lambda each: each.objective)
