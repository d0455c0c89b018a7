"""Weighted Minkowski averages: where the weighted mean can be when each site's point is in its own zone.

    average = { sum w_i x_i / sum w_i : x_i in S_i }

Two ways to know it. *Half-planes*: zones with the same normals A and limits c_i have an average within
{A x <= mean of c_i}; it is that set when every row is tight. *Vertices* (the seed's Lemma 1): the average is the hull
of all means of vertices, one of each zone.

What proves that zones are safe (``rows_fit``, ``vertices_fit``) is computed in exact fractions.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.polytopes import Polytope
from tacit.geometry.rounding import upward
from tacit.geometry.shapes import Shape
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["average_of_rows", "average_of_vertices", "check_weights", "fits", "rows_fit", "vertices_fit"]


def check_weights(weights: FloatArray, count: int) -> FloatArray:
    """Weights as an array: one for each zone, finite and above 0."""
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (count,) or not (np.isfinite(found) & (found > 0.0)).all():
        raise OptionError(f"weights must be {count} finite numbers above 0, one for each zone")
    return found


def average_of_rows(zones: Sequence[HalfSpaces], weights: FloatArray) -> HalfSpaces:
    """By half-planes: a set that holds the average (limits rounded up).

    >>> one = HalfSpaces(np.array([[1.0], [-1.0]]), np.array([1.0, 1.0]))
    >>> average_of_rows([one, one.moved(np.array([2.0]))], np.array([1.0, 1.0])).limits.round(6).tolist()
    [2.0, 0.0]
    """
    normals, limits = _shared(zones)
    shares = check_weights(weights, len(zones))
    return HalfSpaces(normals, upward(shares @ limits / shares.sum(), 2 * len(zones) + 8))


def average_of_vertices(zones: Sequence[Polytope], weights: FloatArray) -> Polytope:
    """By vertices: the average itself, to rounding. Corners that cannot matter are dropped after each zone."""
    shares = check_weights(weights, len(zones))
    if not zones:
        raise OptionError("an average needs at least one zone")
    found = zones[0].vertices * (shares[0] / shares.sum())
    for zone, share in zip(zones[1:], shares[1:], strict=True):
        added = zone.vertices * (share / shares.sum())
        found = Polytope((found[:, None, :] + added[None, :, :]).reshape(-1, zone.dimension)).vertices
    return Polytope(found)


def rows_fit(zones: Sequence[HalfSpaces], weights: FloatArray, region: HalfSpaces) -> bool:
    """Half-planes, exactly: do zones with the region's normals have sum w_i c_i <= (sum w_i) c, row by row?"""
    normals, limits = _shared(zones)
    shares = check_weights(weights, len(zones))
    if not np.array_equal(normals, region.normals):
        return False
    exact = [Fraction(each) for each in shares.tolist()]
    total = sum(exact)
    return all(
        sum(share * Fraction(each) for share, each in zip(exact, column, strict=True)) <= total * Fraction(limit)
        for column, limit in zip(limits.T.tolist(), region.limits.tolist(), strict=True)
    )


def vertices_fit(zones: Sequence[Polytope], weights: FloatArray, region: HalfSpaces) -> bool:
    """Vertices, exactly: is every mean of vertices, one of each zone, in the region?

    A row of the region is largest over all those means where it is largest over each zone's vertices, so their number
    need not be multiplied out.
    """
    shares = check_weights(weights, len(zones))
    exact = [Fraction(each) for each in shares.tolist()]
    for normal, limit in zip(region.normals.tolist(), region.limits.tolist(), strict=True):
        row = [Fraction(each) for each in normal]
        found = sum(
            share * max(_dot(row, vertex) for vertex in zone.vertices.tolist())
            for share, zone in zip(exact, zones, strict=True)
        )
        if found > sum(exact) * Fraction(limit):
            return False
    return True


def fits(zones: Sequence[Shape], weights: FloatArray, region: Shape) -> bool:
    """Is the average inside the region? Any kinds of shapes.

    Exact where ``rows_fit`` or, for zones that are hulls, ``vertices_fit`` answers. Else the average's vertices are
    computed, and must be inside by 1e-13 of the zones' size for each zone (curved regions), those of zones given by
    half-spaces widened by 1e-11 of their size: more than rounding does, unless corners are sharp as needles.
    """
    if isinstance(region, HalfSpaces):
        rows = [each for each in zones if isinstance(each, HalfSpaces)]
        if len(rows) == len(zones) and all(np.array_equal(each.normals, region.normals) for each in rows):
            return rows_fit(rows, weights, region)
    polytopes = [_as_polytope(each) for each in zones]
    if isinstance(region, HalfSpaces):
        return vertices_fit(polytopes, weights, region)
    corners = average_of_vertices(polytopes, weights).vertices
    spread = 1e-13 * len(zones) * max(float(np.abs(each.vertices).max()) for each in polytopes)
    return bool((region.contains(corners) & (region.margins(corners) >= spread)).all())


def _as_polytope(shape: Shape) -> Polytope:
    if isinstance(shape, Polytope):
        return shape
    made = getattr(shape, "polytope", None)
    if made is None:
        raise OptionError(f"a {type(shape).__name__} has no vertices; its average is not computed")
    return made() if not isinstance(shape, HalfSpaces) else _outer(shape)


def _outer(shape: HalfSpaces) -> Polytope:
    """Vertices are rounded: let the hull hold the shape rather than be held by it."""
    corners = shape.polytope().vertices
    centre = corners.mean(axis=0)
    scale = 1.0 + 1e-11 * (1.0 + float(np.abs(centre).max()) / float(np.abs(corners - centre).max()))
    return Polytope(centre + (corners - centre) * scale)


def _dot(row: Sequence[Fraction], vertex: Sequence[float]) -> Fraction:
    return sum((a * Fraction(b) for a, b in zip(row, vertex, strict=True)), Fraction(0))


def _shared(zones: Sequence[HalfSpaces]) -> tuple[FloatArray, FloatArray]:
    if not zones:
        raise OptionError("an average needs at least one zone")
    if not all(np.array_equal(each.normals, zones[0].normals) for each in zones):
        raise OptionError("the half-plane method needs zones with the same normals")
    return zones[0].normals, np.array([each.limits for each in zones])
