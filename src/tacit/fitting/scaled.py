"""Zones of the region's own shape in different sizes: S_i = centre + u_i + t_i (C - centre).

For a curved region, where a polytope inside it would give room away. Sizes average: with sum share_i t_i = 1 and
sum share_i u_i = 0 the Minkowski average is C itself. All sizes 1 is the common shape, so these zones are never worse.
A site's test is a matrix product and a length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.optimize import minimize

from tacit.fitting.mixtures import Mixture
from tacit.fitting.problem import LEAST
from tacit.fitting.spreading import FAR, chi_density, chi_within, rays
from tacit.geometry import Ellipsoid
from tacit.geometry.minkowski import check_weights
from tacit.vocabulary import FloatArray, OptionError, ZoneError

__all__ = ["ScaledFit", "ball_chance", "fit_scaled", "scaled_fit_is_safe"]

TRIES = 40


@dataclass(frozen=True, eq=False)
class ScaledFit:
    """Ellipsoids of one shape, proved to be safe together."""

    zones: tuple[Ellipsoid, ...]
    chances: FloatArray  # (n,)
    objective: float


def ball_chance(mixture: Mixture, middle: FloatArray, size: float, directions: FloatArray) -> tuple[float, FloatArray]:
    """The mixture's mass in the ball, by rays, and its derivatives by the d coordinates of its middle and by its size.

    Along x = mean + r L w the ball is where |x - middle| <= size: between the roots of a quadratic of r.
    """
    chance, slopes = 0.0, np.zeros(len(middle) + 1)
    for weight, mean, factor in zip(mixture.weights, mixture.means, mixture.factors(), strict=True):
        step, start = directions @ factor.T, mean - middle
        a, b, c = (step**2).sum(axis=1), step @ start, float(start @ start) - size**2
        inside = b**2 - a * c
        hit = inside > 0.0
        root = np.sqrt(np.where(hit, inside, 1.0))
        for sign in (1.0, -1.0):
            radius = np.where(hit, (sign * root - b) / a, 0.0)
            seen = hit & (radius > 0.0) & (radius < FAR)
            chance += sign * weight * float(chi_within(np.clip(radius, 0.0, FAR), len(middle)).mean())
            push = np.where(seen, chi_density(np.where(seen, radius, 1.0), len(middle)), 0.0) * weight / len(directions)
            # (x - middle)·(dx - dmiddle) = size dsize, and dx = step dr; the root is what (x - middle)·step is.
            offset = start + radius[:, None] * step
            slopes[:-1] += (push / root) @ offset
            slopes[-1] += float((push / root).sum()) * size
    return float(np.clip(chance, 0.0, 1.0)), slopes


def fit_scaled(
    region: Ellipsoid, mixtures: Sequence[Mixture], weights: FloatArray | None = None, *,
    anchors: FloatArray | None = None, seed: int = 0, directions: int = 1024, steps_max: int = 200,
) -> ScaledFit:  # fmt: skip
    """The sizes and places with the largest probability of silence; ZoneError where anchors leave no room."""
    sites, dimension = len(mixtures), region.dimension
    if not sites or any(each.dimension != dimension for each in mixtures):
        raise OptionError(f"zones are fitted to at least one site, and all mixtures must have {dimension} dimensions")
    mass = check_weights(np.ones(sites) if weights is None else weights, sites)
    shares = mass / mass.sum()
    # In these coordinates the region is the unit ball.
    white = [
        Mixture(m.weights, (m.means - region.centre) @ region.factor.T, region.factor @ m.covariances @ region.factor.T)
        for m in mixtures
    ]
    pins = None if anchors is None else _pins(region, anchors, sites)
    fan = rays(dimension, directions, seed)
    means = np.array([each.mean() for each in white]) if pins is None else pins
    first = np.hstack([means - shares @ means, np.ones((sites, 1))])
    if pins is not None:
        first[:, :-1] = pins - shares @ pins
        if np.linalg.norm(shares @ pins) >= 1.0 - 1e-9:
            raise ZoneError("the estimate is not inside the admissible region, so no zones can hold it; use the ball")

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        total, slopes = 0.0, np.zeros(first.shape)
        for i, (each, row) in enumerate(zip(white, flat.reshape(first.shape), strict=True)):
            chance, slope = ball_chance(each, row[:-1], row[-1], fan)
            total -= np.log(max(chance, LEAST))
            slopes[i] = -slope / max(chance, LEAST)
        return total, slopes.ravel()

    coupling = np.kron(shares, np.eye(dimension + 1))
    whole = np.append(np.zeros(dimension), 1.0)
    constraints: list[dict[str, object]] = [
        {"type": "eq", "fun": lambda flat: coupling @ flat - whole, "jac": lambda _: coupling}
    ]
    if pins is not None:
        constraints.append({"type": "ineq", "fun": lambda flat: _held(flat.reshape(first.shape), pins)})
    found = minimize(
        loss, first.ravel(), jac=True, method="SLSQP", constraints=constraints,
        bounds=([(None, None)] * dimension + [(1e-3, None)]) * sites, options={"maxiter": steps_max, "ftol": 1e-7},
    )  # fmt: skip
    made = [_proved(region, each.reshape(first.shape), mass, white, fan, anchors) for each in (found.x, first.ravel())]
    best = max((each for each in made if each is not None), key=lambda each: each.objective, default=None)
    if best is None:
        raise ZoneError("no ellipsoids of the region's shape could be proved safe and hold the anchors; use the ball")
    return best


def scaled_fit_is_safe(zones: Sequence[Ellipsoid], weights: FloatArray, region: Ellipsoid) -> bool:
    """In exact fractions: zones with F_i = F / t_i, and |F (mean of centres - centre)| + mean of sizes <= 1.

    A size is read from a zone's own factor, as the largest F / F_i over its entries. These are rounded one by one, so
    the shape is the region's only nearly; what that can add to the size is bounded by Skeel's condition number of F.
    """
    inverse = np.abs(np.linalg.inv(region.factor))
    if float((np.abs(region.factor) @ inverse).sum(axis=1).max()) * region.dimension > 2.0**6:
        return False
    exact = [Fraction(each) for each in weights.tolist()]
    total = sum(exact)
    size = Fraction(0)
    for share, zone in zip(exact, zones, strict=True):
        pairs = zip(region.factor.ravel().tolist(), zone.factor.ravel().tolist(), strict=True)
        ratios = []
        for whole, part in pairs:
            if (whole == 0.0) != (part == 0.0) or whole * part < 0.0:
                return False
            if whole != 0.0:
                ratios.append(Fraction(whole) / Fraction(part))
        if max(ratios) - min(ratios) > max(ratios) * Fraction(1, 2**48):
            return False
        size += share * max(ratios) * (1 + Fraction(1, 2**40))
    shift = [
        sum(share * Fraction(zone.centre[j]) for share, zone in zip(exact, zones, strict=True)) / total
        - Fraction(region.centre[j])
        for j in range(region.dimension)
    ]
    image = [sum(Fraction(a) * b for a, b in zip(row, shift, strict=True)) for row in region.factor.tolist()]
    room = 1 - size / total
    return room >= 0 and sum(each * each for each in image) <= room * room


def _pins(region: Ellipsoid, anchors: FloatArray, sites: int) -> FloatArray:
    found = np.asarray(anchors, dtype=np.float64)
    if found.shape != (sites, region.dimension) or not np.isfinite(found).all():
        raise OptionError(f"anchors must be {sites} points of {region.dimension} finite numbers, one for each site")
    return np.asarray((found - region.centre) @ region.factor.T)


def _held(rows: FloatArray, pins: FloatArray) -> FloatArray:
    return np.asarray(rows[:, -1] * (1 - 1e-6) - np.linalg.norm(rows[:, :-1] - pins, axis=1))


def _proved(
    region: Ellipsoid, rows: FloatArray, weights: FloatArray, white: Sequence[Mixture], fan: FloatArray,
    anchors: FloatArray | None,
) -> ScaledFit | None:  # fmt: skip
    if not np.isfinite(rows).all() or (rows[:, -1] <= 0.0).any():
        return None
    shares = weights / weights.sum()
    middles = rows[:, :-1] - shares @ rows[:, :-1]
    sizes = rows[:, -1] / max(1.0, float(shares @ rows[:, -1]))
    for attempt in range(TRIES):
        less = sizes * (1.0 - 2.0 ** (attempt - 38))
        zones = tuple(
            Ellipsoid(region.centre + np.linalg.solve(region.factor, middle), region.factor / size)
            for middle, size in zip(middles, less, strict=True)
        )
        if scaled_fit_is_safe(zones, weights, region):
            break
    else:
        return None
    if anchors is not None and not all(z.contains(a[None])[0] for z, a in zip(zones, anchors, strict=True)):
        return None
    pairs = zip(white, middles, less, strict=True)
    chances = np.array([ball_chance(each, middle, size, fan)[0] for each, middle, size in pairs])
    return ScaledFit(zones, chances, float(np.log(np.maximum(chances, LEAST)).sum()))
