"""Random shapes, and exact twins in fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

from tacit.geometry import HalfSpaces

SCALES = (1e-6, 1.0, 1e6)


def bounded_rows(
    rng: np.random.Generator, dimension: int, rows: int, *, at: float = 0.0, size: float = 1.0
) -> HalfSpaces:
    """A bounded polytope around a point: random directions and a box."""
    directions = rng.normal(size=(rows, dimension))
    sides = np.vstack([np.eye(dimension), -np.eye(dimension)])
    normals = np.vstack([directions, sides])
    centre = rng.normal(size=dimension) * at
    return HalfSpaces(normals, normals @ centre + size * rng.uniform(0.3, 2.0, len(normals)))


def exact_room(shape: HalfSpaces, point: np.ndarray) -> Fraction:
    """The least c - a·x, exactly."""
    x = [Fraction(each) for each in point.tolist()]
    return min(
        Fraction(limit) - sum(Fraction(a) * b for a, b in zip(row, x, strict=True))
        for row, limit in zip(shape.normals.tolist(), shape.limits.tolist(), strict=True)
    )


def in_polygon(vertices: np.ndarray, point: np.ndarray) -> bool:
    """Exactly: left of every edge, or on it."""
    corners = [[Fraction(each) for each in corner] for corner in vertices.tolist()]
    x, y = (Fraction(each) for each in point.tolist())
    for (px, py), (qx, qy) in zip(corners, corners[1:] + corners[:1], strict=True):
        if (qx - px) * (y - py) - (qy - py) * (x - px) < 0:
            return False
    return True


def slow_vertices(shape: HalfSpaces) -> np.ndarray:
    """Every meeting point of d rows that keeps all rows."""
    found = []
    for rows in combinations(range(len(shape.limits)), shape.dimension):
        chosen = shape.normals[list(rows)]
        if abs(np.linalg.det(chosen)) > 1e-9:
            x = np.linalg.solve(chosen, shape.limits[list(rows)])
            if (shape.normals @ x <= shape.limits + 1e-9).all():
                found.append(x)
    return np.array(found)


def points_near(rng: np.random.Generator, shape: HalfSpaces, count: int) -> np.ndarray:
    """Points on the boundary to rounding, and a few units in the last place beside it."""
    corners = shape.polytope().vertices
    middle = corners.mean(axis=0)
    inside = rng.dirichlet(np.ones(len(corners)), count) @ corners
    ways = inside - middle + 1e-3 * rng.normal(size=inside.shape) * np.abs(corners - middle).max()
    with np.errstate(divide="ignore"):
        speeds = ways @ shape.normals.T
        reach = np.where(speeds > 0, (shape.limits - shape.normals @ middle) / speeds, np.inf).min(axis=1)
    edge = middle + ways * reach[:, None]
    return np.asarray(edge + rng.integers(-4, 5, edge.shape) * np.spacing(edge))
