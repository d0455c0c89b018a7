"""From half-spaces to vertices and back (qhull), and the linear programs of both (HiGHS)."""

from __future__ import annotations

from typing import Literal

import numpy as np
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection, QhullError

from tacit.geometry.rounding import products_slack
from tacit.vocabulary import FloatArray, IntArray, ZoneError

__all__ = ["facet_rows", "hull", "is_bounded", "largest", "largest_ball", "vertices_of"]

Side = Literal["inner", "outer"]
PASSES = 4


def largest_ball(normals: FloatArray, limits: FloatArray) -> tuple[FloatArray, float]:
    """Centre and radius of the largest ball in {A x <= c}; a radius below 0 means that the set is empty.

    >>> centre, radius = largest_ball(np.array([[1.0], [-1.0]]), np.array([3.0, -1.0]))
    >>> centre.round(6).tolist(), round(radius, 6)
    ([2.0], 1.0)
    """
    lengths = np.linalg.norm(normals, axis=1)
    rows = np.hstack([normals / lengths[:, None], np.ones((len(normals), 1))])
    aim = np.zeros(rows.shape[1])
    aim[-1] = -1.0
    bounds = [(None, None)] * normals.shape[1] + [(None, 1e3)]
    centre, radius = np.zeros(normals.shape[1]), 0.0
    for _ in range(PASSES):
        # HiGHS has absolute tolerances, so each pass looks from the last one's centre, in units of what is seen there.
        room = (limits - normals @ centre) / lengths
        unit = float(np.abs(room).max()) or 1.0
        found = linprog(aim, A_ub=rows, b_ub=room / unit, bounds=bounds, method="highs")
        if found.x is None:
            raise ZoneError(f"the half-spaces are too ill-conditioned for a largest ball: {found.message}")
        centre, radius = centre + found.x[:-1] * unit, float(found.x[-1]) * unit
        if abs(radius) > 1e-3 * unit:
            break
    return centre, radius


def largest(normals: FloatArray, limits: FloatArray, direction: FloatArray) -> float:
    """The largest direction·x over {A x <= c}."""
    lengths = np.linalg.norm(normals, axis=1)
    centre, radius = largest_ball(normals, limits)
    if radius < 0.0:
        return -np.inf
    room = (limits - normals @ centre) / lengths
    unit = float(np.abs(room).max()) or 1.0
    found = linprog(-direction, A_ub=normals / lengths[:, None], b_ub=room / unit, bounds=(None, None), method="highs")
    return float(-found.fun) * unit + float(direction @ centre) if found.status == 0 else np.inf


def is_bounded(normals: FloatArray) -> bool:
    """No direction is free: the normals span the space, and a positive mix of them is 0.

    >>> is_bounded(np.array([[1.0, 0], [0, 1], [-1, -1]])), is_bounded(np.array([[1.0, 0], [0, 1]]))
    (True, False)
    """
    unit = normals / np.linalg.norm(normals, axis=1)[:, None]
    if np.linalg.matrix_rank(unit) < normals.shape[1]:
        return False
    found = linprog(np.ones(len(unit)), A_eq=unit.T, b_eq=np.zeros(unit.shape[1]), bounds=(1.0, None), method="highs")
    return bool(found.status == 0)


def vertices_of(normals: FloatArray, limits: FloatArray) -> FloatArray:
    """The corners of {A x <= c}, to rounding."""
    if not is_bounded(normals):
        raise ZoneError("an unbounded set is not the hull of its vertices; bound it by more half-spaces")
    centre, radius = largest_ball(normals, limits)
    if not radius > 0.0:
        raise ZoneError("the half-spaces have no inner point in common, so there is no zone between them")
    if normals.shape[1] == 1:
        ends = limits / normals[:, 0]
        return np.array([[ends[normals[:, 0] < 0].max()], [ends[normals[:, 0] > 0].min()]])
    lengths = np.linalg.norm(normals, axis=1)
    rows = np.hstack([normals, (normals @ centre - limits)[:, None] / radius]) / lengths[:, None]
    try:
        with np.errstate(divide="ignore", invalid="ignore"):  # of sets that are hardly more than a point
            found = HalfspaceIntersection(rows, np.zeros(len(centre))).intersections
    except QhullError as error:
        raise ZoneError(f"the corners of the half-spaces cannot be computed: {_first_line(error)}") from error
    found = found[np.isfinite(found).all(axis=1)] * radius + centre
    return np.asarray(found[np.unique(np.round(found / radius, 12), axis=0, return_index=True)[1]])


def hull(points: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """The extreme points (in the plane counter-clockwise), outward unit normals of facets, and each facet's corners."""
    if points.shape[1] == 1:
        ends = np.array([[points.min()], [points.max()]])
        if ends[0, 0] == ends[1, 0]:
            raise ZoneError("the vertices are one point; a zone needs an inside")
        return ends, np.array([[-1.0], [1.0]]), np.array([[0], [1]])
    if len(points) <= points.shape[1]:
        raise ZoneError(f"{len(points)} vertices have no inside in {points.shape[1]} dimensions")
    try:
        # From their middle: qhull's normals are as good as the points' differences, not as the points.
        found = ConvexHull(points - points.mean(axis=0))
    except QhullError as error:
        raise ZoneError(f"the vertices have no inside: {_first_line(error)}") from error
    # In the plane the vertices go around; above it, a facet may have a corner that is no extreme point.
    used = found.vertices if points.shape[1] == 2 else np.union1d(found.vertices, found.simplices)
    number = np.full(len(points), -1)
    number[used] = np.arange(len(used))
    return points[used], found.equations[:, :-1], number[found.simplices]


def facet_rows(
    vertices: FloatArray, normals: FloatArray, facets: IntArray, side: Side
) -> tuple[FloatArray, FloatArray]:
    """Half-spaces of a hull whose intersection lies inside it, or holds it, rounding of the normals included.

    Outer: each row's limit is the largest of the normal over *all* vertices, rounded up. Inner: the least over the
    facet's own corners, rounded down. Why that is inside: let z be strictly within all rows and x outside the hull.
    The way from z to x crosses some facet, at a point where that facet's row is at its limit or past it; so it is past
    it at x. The facets need only close around z, wherever rounding put their corners.
    """
    values = vertices @ normals.T  # (v, f)
    slack = products_slack(np.abs(vertices) @ np.abs(normals).T, vertices.shape[1])
    if side == "outer":
        return _merge(normals, (values + slack).max(axis=0), np.max)
    columns = np.arange(len(normals))[:, None]
    limits = (values - slack).T[columns, facets].min(axis=1)
    if not (normals @ vertices.mean(axis=0) < limits).all():
        raise ZoneError("the polytope is too thin: rounding leaves nothing of its inside")
    return _merge(normals, limits, np.min)


def _merge(normals: FloatArray, limits: FloatArray, choose: np.ufunc | object) -> tuple[FloatArray, FloatArray]:
    """One row for the triangles of one plane."""
    rows, number = np.unique(normals, axis=0, return_inverse=True)
    joined = [choose(limits[number.ravel() == k]) for k in range(len(rows))]  # type: ignore[operator]
    return rows, np.array(joined)


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0]
