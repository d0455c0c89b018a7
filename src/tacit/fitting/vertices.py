"""Zones as hulls of a given number of vertices, each free to move: the seed's polytopes with 12 vertices.

Normals are not shared here, so the budget is counted by vertices (Lemma 1): in the direction of each of the region's
rows the sites' farthest vertices must keep it on average. One general problem over all vertices of all sites; for few
sites.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from tacit.fitting.mixtures import Mixture
from tacit.fitting.problem import LEAST, ZoneFit, ZoneProblem, log_chance
from tacit.fitting.spreading import FAR, chi_density, chi_within, directions_of, rays
from tacit.geometry import Polytope, vertices_fit
from tacit.vocabulary import FloatArray, IntArray, OptionError, ZoneError

__all__ = ["VertexFit", "fit_vertices", "hull_chance"]

RAYS = 512
TRIES = 40


@dataclass(frozen=True, eq=False)
class VertexFit(ZoneFit):
    """A fit whose zones are known by their vertices, too. The zones of sites lie within these hulls."""

    polytopes: tuple[Polytope, ...] = ()


def hull_chance(mixture: Mixture, shape: Polytope, directions: FloatArray) -> tuple[float, FloatArray]:
    """The hull's probability by rays (see likelihood), and its derivative by each coordinate of each vertex.

    A ray leaves through a facet; moving the facet's corner k by a step moves the way out by the barycentric weight of
    that corner times the step along the normal.
    """
    normals, facets, corners = shape.facet_normals, shape.facets, shape.vertices
    limits = (corners[facets] * normals[:, None, :]).sum(axis=2).max(axis=1)
    middle = corners.mean(axis=0)
    bary = np.linalg.inv((corners[facets] - middle).transpose(0, 2, 1))  # (f, d, d): point - middle to weights
    chance, slopes = 0.0, np.zeros(corners.shape)
    for weight, mean, factor in zip(mixture.weights, mixture.means, mixture.factors(), strict=True):
        ways = directions @ factor.T
        speeds = ways @ normals.T  # (r, f)
        with np.errstate(divide="ignore", invalid="ignore"):
            ends = (limits - normals @ mean) / speeds
        far, near = np.where(speeds > 0.0, ends, np.inf), np.where(speeds < 0.0, ends, -np.inf)
        last, first = far.argmin(axis=1), near.argmax(axis=1)
        line = np.arange(len(ways))
        outer, inner = np.clip(far[line, last], 0.0, FAR), np.clip(near[line, first], 0.0, FAR)
        hit = outer > inner
        mass = np.where(hit, chi_within(outer, shape.dimension) - chi_within(inner, shape.dimension), 0.0)
        chance += weight * float(mass.mean())
        for rows_hit, radius, real in ((last, outer, outer < FAR), (first, inner, inner > 0.0)):
            used = np.flatnonzero(hit & real)
            row = rows_hit[used]
            push = weight * chi_density(radius[used], shape.dimension) / np.abs(speeds[used, row]) / len(ways)
            point = mean + radius[used, None] * ways[used] - middle
            part = np.einsum("rab,rb->ra", bary[row], point)  # (used, d)
            moves = (push[:, None] * part)[..., None] * normals[row][:, None, :]
            np.add.at(slopes, facets[row], moves)
    return min(chance, 1.0), slopes


def fit_vertices(
    problem: ZoneProblem, corners: int, *, seed: int = 0, directions: int = RAYS, steps_max: int = 100,
    tolerance: float = 1e-5,
) -> VertexFit:  # fmt: skip
    """The best hulls of ``corners`` vertices that a general solver finds, proved safe in exact fractions."""
    sites, dimension = len(problem.mixtures), problem.region.dimension
    if corners <= dimension:
        raise OptionError(f"{corners} vertices have no inside in {dimension} dimensions; use at least {dimension + 1}")
    fan = rays(dimension, directions, seed)
    pins = _pins(problem)
    first = _start(problem, corners, pins)
    unit = np.sqrt(np.einsum("n,nii->i", problem.shares, [each.covariance() for each in problem.mixtures]))
    counts = problem.counts
    assert counts is not None
    shape = (sites, corners, dimension)

    def loss(flat: FloatArray) -> tuple[float, FloatArray]:
        points, total, slopes = flat.reshape(shape) * unit, 0.0, np.zeros(shape)
        for i, mixture in enumerate(problem.mixtures):
            found = _hull(points[i])
            if found is None:
                return 1e3 * sites, np.zeros(flat.size)
            polytope, index = found
            chance, slope = hull_chance(mixture, polytope, fan)
            total += counts[i] * np.log(max(chance, LEAST))
            slopes[i, index] = counts[i] * slope / max(chance, LEAST)
        return -total, -(slopes * unit).ravel()

    constraints = [_budget(problem, shape, unit), _held(problem, shape, unit, pins)]
    found = minimize(
        loss, (first / unit).ravel(), jac=True, method="SLSQP", constraints=constraints,
        options={"maxiter": steps_max, "ftol": tolerance},
    )  # fmt: skip
    fits = [_safe(problem, each, pins, fan, int(found.nit)) for each in (found.x.reshape(shape) * unit, first)]
    best = max((each for each in fits if each is not None), key=lambda each: each.objective, default=None)
    if best is None:
        raise ZoneError("no hulls of so few vertices hold the anchors within the region; use more, or the ball")
    return best


def _pins(problem: ZoneProblem) -> FloatArray:
    """Points that zones shrink to: the anchors, or the means moved so that their mean is the region's centre."""
    if problem.anchors is not None:
        return problem.anchors
    means = np.array([each.mean() for each in problem.mixtures])
    return np.asarray(means + problem.region.centre()[0] - problem.shares @ means)


def _start(problem: ZoneProblem, corners: int, pins: FloatArray) -> FloatArray:
    ways = directions_of(problem.region.dimension, corners)
    shapes = np.array([ways @ np.linalg.cholesky(each.covariance()).T for each in problem.mixtures])
    return _pulled(problem, pins[:, None, :] + 10 * shapes, pins, 1 - 1e-9)


def _pulled(problem: ZoneProblem, points: FloatArray, pins: FloatArray, most: float) -> FloatArray:
    """All hulls shrunk towards their pins by one factor, the largest that keeps every row's budget."""
    normals = problem.region.normals
    used = problem.shares @ ((points - pins[:, None, :]) @ normals.T).max(axis=1)
    free = problem.region.limits - normals @ (problem.shares @ pins)
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = min(1.0, float(np.where(used > 0.0, free / used, np.inf).min()))
    return np.asarray(pins[:, None, :] + (points - pins[:, None, :]) * scale * most)


def _budget(problem: ZoneProblem, shape: tuple[int, ...], unit: FloatArray) -> dict[str, object]:
    normals = problem.region.normals * unit
    size = np.linalg.norm(normals, axis=1)

    def room(flat: FloatArray) -> FloatArray:
        reach = (flat.reshape(shape) @ normals.T).max(axis=1)
        return np.asarray((problem.region.limits - problem.shares @ reach) / size)

    def slopes(flat: FloatArray) -> FloatArray:
        tip = (flat.reshape(shape) @ normals.T).argmax(axis=1)  # (n, m)
        found = np.zeros((len(normals), *shape))
        for j in range(len(normals)):
            found[j, np.arange(shape[0]), tip[:, j]] = -problem.shares[:, None] * normals[j] / size[j]
        return found.reshape(len(normals), -1)

    return {"type": "ineq", "fun": room, "jac": slopes}


def _held(problem: ZoneProblem, shape: tuple[int, ...], unit: FloatArray, pins: FloatArray) -> dict[str, object]:
    """Each pin stays inside its hull: the least room to a facet, and the facet's share of the corners in it."""

    def both(flat: FloatArray) -> tuple[FloatArray, FloatArray]:
        rooms, slopes = np.full(shape[0], -1.0), np.zeros((shape[0], *shape))
        for i, points in enumerate(flat.reshape(shape)):
            found = _hull(points)
            if found is None:
                continue
            polytope, index = found
            rows, pin = polytope.vertices[polytope.facets], pins[i] / unit
            gaps = (rows[:, 0] * polytope.facet_normals).sum(axis=1) - polytope.facet_normals @ pin
            f = int(gaps.argmin())
            foot = np.vstack([rows[f].T, np.ones(shape[2])])
            target = np.append(pin + gaps[f] * polytope.facet_normals[f], 1.0)
            part = np.linalg.lstsq(foot, target, rcond=None)[0]
            rooms[i] = gaps[f] - 1e-4
            slopes[i, i, index[polytope.facets[f]]] = part[:, None] * polytope.facet_normals[f]
        return rooms, slopes.reshape(shape[0], -1)

    return {"type": "ineq", "fun": lambda flat: both(flat)[0], "jac": lambda flat: both(flat)[1]}


def _safe(problem: ZoneProblem, points: FloatArray, pins: FloatArray, fan: FloatArray, steps: int) -> VertexFit | None:
    """The hulls, pulled until they are safe in exact fractions; None when they cannot be, or lose an anchor."""
    assert problem.weights is not None
    assert problem.counts is not None
    for attempt in range(TRIES):
        try:
            hulls = tuple(Polytope(each) for each in _pulled(problem, points, pins, 1.0 - 2.0 ** (attempt - 44)))
        except ZoneError:
            return None
        if vertices_fit(hulls, problem.weights, problem.region):
            break
    else:
        return None
    try:
        zones = tuple(each.half_spaces() for each in hulls)
    except ZoneError:
        return None
    anchors = problem.anchors
    if anchors is not None and not all(z.contains(a[None])[0] for z, a in zip(zones, anchors, strict=True)):
        return None
    chances = np.array([hull_chance(m, h, fan)[0] for m, h in zip(problem.mixtures, hulls, strict=True)])
    return VertexFit(zones, chances, log_chance(chances, problem.counts), steps, polytopes=hulls)


def _hull(points: FloatArray) -> tuple[Polytope, IntArray] | None:
    """The hull, and which of the points its vertices are."""
    if not np.isfinite(points).all():
        return None
    try:
        found = Polytope(points)
    except ZoneError:
        return None
    return found, np.array([int(np.flatnonzero((points == each).all(axis=1))[0]) for each in found.vertices])
