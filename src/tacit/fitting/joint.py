"""Sites that move together: the probability that all are in their zones at once, in place of the product.

Where sites are correlated the product of their probabilities is not the probability of silence. Given simultaneous
samples, the share of instants at which every site is in its zone is what counts; it is made smooth, climbed from the
independent zones, and kept only where the plain share of instants grew.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from tacit.fitting.dual import fit_dual
from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import ZoneFit, ZoneProblem
from tacit.fitting.repair import finished
from tacit.vocabulary import DataError, FloatArray, OptionError

__all__ = ["fit_joint", "joint_chance"]

SOFT = (0.5, 0.2, 0.05)  # of a spread: how sharp the edge of a zone is, step by step


def joint_chance(fit: ZoneFit, samples: FloatArray) -> float:
    """The share of instants at which every site's point is in its zone; samples (instants, sites, d)."""
    held = [zone.contains(samples[:, i]) for i, zone in enumerate(fit.zones)]
    return float(np.logical_and.reduce(held).mean())


def fit_joint(problem: ZoneProblem, samples: FloatArray, *, steps_max: int = 100) -> ZoneFit:
    """Zones for the largest share of silent instants; never a smaller one, on these samples, than independent zones."""
    points = np.asarray(samples, dtype=np.float64)
    sites, dimension = len(problem.mixtures), problem.region.dimension
    if points.ndim != 3 or points.shape[1:] != (sites, dimension) or not len(points):
        raise OptionError(f"simultaneous samples have the shape (instants, {sites}, {dimension}), not {points.shape}")
    if not np.isfinite(points).all():
        raise DataError("simultaneous samples have missing or infinite values; leave those instants out")
    shared = Likelihood.of(problem.mixtures, problem.region.normals)
    best = fit_dual(problem, likelihood=shared)
    share = joint_chance(best, points)
    rows = points @ problem.region.normals.T  # (t, n, m)
    spreads, floors = problem.spreads(), problem.floors()
    unit = problem.shares @ spreads
    coupling = np.kron(problem.shares, np.eye(len(unit)))
    shape = best.limits.shape
    flat = (best.limits / unit).ravel()
    for soft in SOFT:

        def loss(flat: FloatArray, soft: float = soft) -> tuple[float, FloatArray]:
            over = ((rows - flat.reshape(shape) * unit) / spreads).reshape(len(rows), -1)
            worst = over.argmax(axis=1)
            silent = expit(-over[np.arange(len(over)), worst] / soft)
            slope = np.bincount(worst, silent * (1 - silent) / soft, minlength=flat.size)
            return -float(silent.mean()), -slope * (unit / spreads).ravel() / len(rows)

        found = minimize(
            loss, flat, jac=True, method="SLSQP",
            bounds=None if floors is None else [(each, None) for each in (floors / unit).ravel()],
            constraints={
                "type": "ineq",
                "fun": lambda flat: problem.region.limits / unit - coupling @ flat,
                "jac": lambda _: -coupling,
            },
            options={"maxiter": steps_max, "ftol": 1e-7},
        )  # fmt: skip
        flat = found.x
        made = finished(problem, flat.reshape(shape) * unit, shared, steps=int(found.nit))
        reached = joint_chance(made, points)
        if reached > share:
            best, share = made, reached
    return best
