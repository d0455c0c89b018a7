"""Zones of one shape for all sites, the baseline: S_i = C + u_i with sum w_i u_i = 0 (the seed's GM)."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import LEAST, ZoneFit, ZoneProblem
from tacit.fitting.repair import finished
from tacit.fitting.starting import common_limits
from tacit.vocabulary import FloatArray

__all__ = ["common_moves", "fit_common"]


def common_moves(problem: ZoneProblem, *, likelihood: Likelihood | None = None, steps_max: int = 200) -> FloatArray:
    """The moves u_i (n, d) with the largest probability of silence; from the offsets of the sites' means."""
    shared = likelihood or Likelihood.of(problem.mixtures, problem.region.normals)
    normals, shares, counts = problem.region.normals, problem.shares, problem.counts
    assert counts is not None
    means = np.array([each.mean() for each in problem.mixtures])
    first = means - shares @ means
    unit = np.sqrt(np.einsum("n,nii->i", shares, [each.covariance() for each in problem.mixtures]))

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        moves = flat.reshape(first.shape) * unit
        chances, slopes = shared(problem.region.limits + moves @ normals.T)
        floor = np.maximum(chances, LEAST)
        return -float(counts @ np.log(floor)), -((counts / floor)[:, None] * slopes @ normals * unit).ravel()

    coupling = np.kron(shares, np.eye(first.shape[1]))
    start = (first / unit).ravel()
    found = minimize(
        loss, start, jac=True, method="SLSQP",
        constraints={"type": "eq", "fun": lambda flat: coupling @ flat, "jac": lambda _: coupling},
        options={"maxiter": steps_max, "ftol": 1e-8},
    )  # fmt: skip
    best = found.x if found.fun < loss(start)[0] else start
    moves = best.reshape(first.shape) * unit
    return np.asarray(moves - shares @ moves)


def fit_common(problem: ZoneProblem, *, best_moves: bool = True) -> ZoneFit:
    """The best zones of one shape, or, with ``best_moves=False``, those moved by the offsets of the sites' means.

    >>> from tacit.fitting.mixtures import Mixture
    >>> from tacit.geometry import interval
    >>> sites = [Mixture.normal(np.zeros(1), np.eye(1)), Mixture.normal(np.zeros(1), 9 * np.eye(1))]
    >>> fit_common(ZoneProblem(interval(-4.0, 4.0).half_spaces(), sites)).limits.round(1).tolist()
    [[4.0, 4.0], [4.0, 4.0]]
    """
    shared = Likelihood.of(problem.mixtures, problem.region.normals)
    if not best_moves:
        return finished(problem, common_limits(problem), shared, steps=0)
    moves = common_moves(problem, likelihood=shared)
    return finished(problem, problem.region.limits + moves @ problem.region.normals.T, shared, steps=0)
