"""Dual decomposition: prices on the shared budget, and each site minds its own limits.

The only thing that sites share is the budget of each row, sum of share_i c_i <= c. Give it a price: then every site
alone maximises its log-probability less what it pays, and the prices are right when what the sites buy is the budget.
Where densities are log-concave so are the probabilities in c (Prekopa), and this finds the best zones.

A step here solves every site's problem in its quadratic model at once, with the prices that keep the budget:

    d_i = M_i^-1 (g_i - share_i p),   p such that sum share_i d_i = 0,

g_i the slopes, M_i the curvature that the site has learned from its own slopes (BFGS). So each iterate keeps the
budget, and the work is a few m x m systems for each site: linear in sites. A site whose model was wrong is damped,
alone. Anchors are kept by a barrier. With mixtures, sites then look at other choices of parts to cover at the prices
found (``_better_parts``), and what they choose is balanced and polished again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.fitting.likelihood import Likelihood
from tacit.fitting.problem import LEAST, ZoneFit, ZoneProblem, log_chance
from tacit.fitting.repair import finished
from tacit.fitting.starting import filled, starts
from tacit.vocabulary import BoolArray, FloatArray

__all__ = ["fit_dual"]

BARRIERS = (1e-2, 1e-4, 1e-6)
STARTS_TRIED = 2
ROUNDS = 2
COVERS = (1.0, 2.0, 3.0)
STRIDE = 4.0  # spreads that a site may move in one step


@dataclass(eq=False)
class _Run:
    """One ascent: the problem in units of the rows' spreads, and what sites have learned."""

    problem: ZoneProblem
    likelihood: Likelihood
    steps: int = 0
    prices: FloatArray | None = None

    def __post_init__(self) -> None:
        self.shares, self.counts = self.problem.shares, self.problem.counts
        self.spreads = self.problem.spreads()
        self.floors = self.problem.floors()

    def values(self, limits: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Each site's counted log-probability, and its slopes."""
        chances, slopes = self.likelihood(limits)
        floor = np.maximum(chances, LEAST)
        assert self.counts is not None
        return self.counts * np.log(floor), self.counts[:, None] * slopes / floor[:, None]

    def barrier(self, limits: FloatArray, weight: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Value, slopes and curvature of what keeps limits above their floors."""
        if self.floors is None or weight == 0.0:
            return np.zeros(len(limits)), np.zeros(limits.shape), np.zeros(limits.shape)
        room = limits - self.floors
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(
                (room > 0.0).all(axis=1), np.log(np.maximum(room / self.spreads, 1e-300)).sum(axis=1), -np.inf
            )
        return weight * value, weight / room, weight / room**2

    def curvature(self, limits: FloatArray, slopes: FloatArray) -> FloatArray:
        """A first guess, as if rows were independent normals: g^2 + g kappa / spread, (n, m, m)."""
        means = np.array([each.mean() for each in self.problem.mixtures]) @ self.problem.region.normals.T
        kappa = np.clip((limits - means) / self.spreads, 0.1, 6.0)
        assert self.counts is not None
        diagonal = slopes**2 / self.counts[:, None] + slopes * kappa / self.spreads
        diagonal += 1e-3 * self.counts[:, None] / self.spreads**2
        return diagonal[..., None] * np.eye(limits.shape[1])

    def direction(self, slopes: FloatArray, model: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The step of every site at the prices that keep the budget, and the prices."""
        inverse = np.linalg.inv(model)
        wanted = np.einsum("nab,nb->na", inverse, slopes)
        demand = np.einsum("n,nab->ab", self.shares**2, inverse)
        prices = np.linalg.solve(demand, self.shares @ wanted)
        paid = slopes - self.shares[:, None] * prices
        return np.einsum("nab,nb->na", inverse, paid), prices

    def least_curvature(self, slopes: FloatArray) -> FloatArray:
        """A row that is worth nothing to its site must not run off: at its price it moves some spreads, no more."""
        prices = np.median(slopes / self.shares[:, None], axis=0) if self.prices is None else np.abs(self.prices)
        return np.asarray(self.shares[:, None] * prices / (6.0 * self.spreads) + 1e-9 / self.spreads**2)

    def too_far(self, limits: FloatArray, step: FloatArray) -> BoolArray:
        """Sites that their model sends too near to a floor, or farther than it can be right about."""
        wild = (np.abs(step) > STRIDE * self.spreads).any(axis=1)
        if self.floors is None:
            return np.asarray(wild)
        return np.asarray(wild | (limits + step < self.floors + 0.05 * (limits - self.floors)).any(axis=1))

    def within_budget(self, limits: FloatArray) -> FloatArray:
        """The budget again, where rounding has moved it."""
        excess = self.shares @ limits - self.problem.region.limits
        return np.asarray(limits - excess / (self.shares @ self.spreads) * self.spreads)

    def ascend(self, limits: FloatArray, steps_max: int, tolerance: float) -> FloatArray:
        """Climb from limits that keep the budget to better ones that do."""
        values, slopes = self.values(limits)
        learned = self.curvature(limits, slopes)
        for weight in BARRIERS if self.floors is not None else (0.0,):
            limits, values, slopes, learned = self._climb(limits, values, slopes, learned, weight, steps_max, tolerance)
        return limits

    def _climb(
        self, limits: FloatArray, values: FloatArray, slopes: FloatArray, learned: FloatArray, weight: float,
        steps_max: int, tolerance: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:  # fmt: skip
        damping = np.ones(len(limits))
        quiet = 0
        for _ in range(steps_max):
            guard, push, bend = self.barrier(limits, weight)
            bend = bend + self.least_curvature(slopes)
            size = np.einsum("naa->na", learned) + bend
            model = learned + (bend + 1e-3 * damping[:, None] * size)[..., None] * np.eye(limits.shape[1])
            step, self.prices = self.direction(slopes + push, model)
            wild = self.too_far(limits, step)
            if wild.any() and damping.max() < 1e12:
                damping = np.where(wild, damping * 8.0, damping)
                continue
            trial = self.within_budget(limits + step)
            self.steps += 1
            new_values, new_slopes = self.values(trial)
            gain = new_values + self.barrier(trial, weight)[0] - values - guard
            own = gain - self.shares * (step @ self.prices)
            hoped = np.einsum("na,nab,nb->n", step, model, step) / 2
            good = own > 0.1 * hoped
            damping = np.clip(np.where(good, damping / 4.0, damping * 6.0), 1e-6, 1e13)
            moved, change = step, -(new_slopes - slopes)
            learned = _bfgs(learned, moved, change)
            if gain.sum() > 0.0:
                limits, values, slopes = trial, new_values, new_slopes
            small = abs(gain.sum()) <= tolerance * (1.0 + abs(values.sum()))
            quiet = quiet + 1 if small else 0
            if quiet >= 3 or damping.min() > 1e12:
                break
        return limits, values, slopes, learned


def fit_dual(
    problem: ZoneProblem, *, likelihood: Likelihood | None = None, steps_max: int = 150, tolerance: float = 1e-6
) -> ZoneFit:
    """The best zones by prices. Linear in sites; the zones given are always proved safe.

    >>> from tacit.fitting.mixtures import Mixture
    >>> from tacit.geometry import interval
    >>> sites = [Mixture.normal(np.zeros(1), np.eye(1)), Mixture.normal(np.zeros(1), 9 * np.eye(1))]
    >>> fitted = fit_dual(ZoneProblem(interval(-4.0, 4.0).half_spaces(), sites))
    >>> fitted.limits.round(1).tolist()
    [[2.4, 2.4], [5.6, 5.6]]
    """
    shared = likelihood or Likelihood.of(problem.mixtures, problem.region.normals)
    run = _Run(problem, shared)
    counts = problem.counts
    assert counts is not None

    def worth(limits: FloatArray) -> float:
        return log_chance(shared(limits)[0], counts)

    tried = sorted(starts(problem), key=worth, reverse=True)[:STARTS_TRIED]
    found = [(run.ascend(each, steps_max, tolerance), run.prices) for each in tried]
    limits, prices = max(found, key=lambda each: worth(each[0]))
    for _ in range(ROUNDS):
        other = _better_parts(run, limits, prices)
        if other is None:
            break
        other = run.ascend(filled(problem, other), steps_max, tolerance)
        if worth(other) <= worth(limits) + tolerance:
            break
        limits, prices = other, run.prices
    best = max([limits, *tried], key=worth)
    return finished(problem, best, shared, steps=run.steps, prices=prices)


def _better_parts(run: _Run, limits: FloatArray, prices: FloatArray | None) -> FloatArray | None:
    """Where covering other parts of its mixture is worth its price to a site; None when nobody wants to change."""
    if prices is None or max(each.parts for each in run.problem.mixtures) == 1:
        return None
    pay = run.shares[:, None] * np.maximum(prices, 0.0)
    best = run.values(limits)[0] - (pay * limits).sum(axis=1)
    before, chosen = best + 1e-2, limits.copy()
    offsets, sizes, present = run.likelihood.offsets, run.likelihood.sizes, run.likelihood.weights > 0.0
    order = np.argsort(-run.likelihood.weights, axis=1)
    for cover in COVERS:
        reach = np.where(present[..., None], offsets + cover * sizes, -np.inf)
        ranked = np.take_along_axis(reach, order[..., None], axis=1)
        choices = [*np.moveaxis(reach, 1, 0), *np.moveaxis(np.maximum.accumulate(ranked, axis=1), 1, 0)]
        for each in choices:
            offer = np.where(np.isfinite(each), each, limits)
            if run.floors is not None:
                offer = np.maximum(offer, run.floors)
            worth = run.values(offer)[0] - (pay * offer).sum(axis=1)
            better = worth > np.maximum(best, before)
            chosen[better], best = offer[better], np.where(better, worth, best)
    return chosen if (chosen != limits).any() else None


def _bfgs(learned: FloatArray, moved: FloatArray, change: FloatArray) -> FloatArray:
    """Powell's damped update of every site's curvature; it stays positive definite."""
    image = np.einsum("nab,nb->na", learned, moved)
    bent = np.einsum("na,na->n", moved, image)
    seen = np.einsum("na,na->n", moved, change)
    with np.errstate(divide="ignore", invalid="ignore"):
        part = np.where(seen >= 0.2 * bent, 1.0, 0.8 * bent / (bent - seen))
        mixed = part[:, None] * change + (1 - part)[:, None] * image
        bottom = np.einsum("na,na->n", moved, mixed)
        update = learned - image[:, :, None] * image[:, None, :] / bent[:, None, None]
        update += mixed[:, :, None] * mixed[:, None, :] / bottom[:, None, None]
    usable = (bent > 1e-300) & (bottom > 1e-300) & np.isfinite(update).all(axis=(1, 2))
    return np.where(usable[:, None, None], update, learned)
