"""Intersections of half-spaces, {x : A x <= c}: the form in which zones are handed to sites.

A site's test of a block of points is one matrix product (``kernel_rows``).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.geometry import conversions
from tacit.geometry.rounding import EPSILON, downward, products_slack
from tacit.geometry.shapes import as_matrix, as_points, as_vector
from tacit.vocabulary import BoolArray, FloatArray, OptionError

if TYPE_CHECKING:
    from tacit.geometry.polytopes import Polytope

__all__ = ["HalfSpaces"]


@dataclass(frozen=True, eq=False)
class HalfSpaces:
    """{x : normals x <= limits}. May be unbounded, may be empty; one row is one half-space.

    >>> square = HalfSpaces(np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1]]), np.ones(4))
    >>> square.contains(np.array([[0.5, 0.5], [1.5, 0.0], [1.0, 0.0]])).tolist()  # the edge is too near to tell
    [True, False, False]
    >>> square.margins(np.array([[0.5, 0.0]])).round(6).tolist()
    [0.5]
    >>> square.support(np.array([[1.0, 1.0]])).round(6).tolist()
    [2.0]
    """

    normals: FloatArray  # (m, d)
    limits: FloatArray  # (m,)

    def __post_init__(self) -> None:
        normals = as_matrix(self.normals, "the normals")
        if not np.linalg.norm(normals, axis=1).all():
            raise OptionError("a half-space needs a direction: one of the normals is 0")
        object.__setattr__(self, "normals", normals)
        object.__setattr__(self, "limits", as_vector(self.limits, len(normals), "the limits"))

    @property
    def dimension(self) -> int:
        return int(self.normals.shape[1])

    def _room(self, points: FloatArray) -> FloatArray:
        """c - A x, less what rounding may have added: (k, m)."""
        x = as_points(points, self.dimension)
        with np.errstate(over="ignore", invalid="ignore"):
            magnitudes = np.abs(x) @ np.abs(self.normals).T + np.abs(self.limits)
            return (self.limits - x @ self.normals.T) - products_slack(magnitudes, self.dimension)

    def contains(self, points: FloatArray) -> BoolArray:
        """Yes only where A x <= c in exact arithmetic; NaN is nowhere.

        Points within 2 (d + 8) 2^-52 (|A| |x| + |c|) of a limit may be called outside.
        """
        return np.asarray((self._room(points) >= 0.0).all(axis=1))

    def margins(self, points: FloatArray) -> FloatArray:
        """The least (c - a·x) / |a|: inside, the distance to the boundary; outside, minus a lower bound of it."""
        room = (self._room(points) / np.linalg.norm(self.normals, axis=1)).min(axis=1)
        less = downward(room, self.dimension + 4)
        return np.where(room >= 0.0, np.maximum(less, 0.0), less)

    def support(self, directions: FloatArray) -> FloatArray:
        """By linear programming; inf where there is no end, -inf of an empty set."""
        found = as_points(directions, self.dimension)
        return np.array([conversions.largest(self.normals, self.limits, each) for each in found])

    def to_arrays(self) -> dict[str, FloatArray]:
        return {"normals": self.normals, "limits": self.limits}

    def moved(self, by: FloatArray) -> HalfSpaces:
        """The same set elsewhere: limits c + A by, to rounding."""
        return HalfSpaces(self.normals, self.limits + self.normals @ as_vector(by, self.dimension, "the move"))

    def without_twins(self) -> HalfSpaces:
        """The same set with each direction once: of rows that look the same way the tightest."""
        lengths = np.linalg.norm(self.normals, axis=1)
        unit, reach = self.normals / lengths[:, None], self.limits / lengths
        alike = unit @ unit.T > 1.0 - 1e-12
        order = np.argsort(reach, kind="stable")
        kept: list[int] = []
        for row in order:
            if not alike[row, kept].any():
                kept.append(int(row))
        kept.sort()
        return self if len(kept) == len(reach) else HalfSpaces(self.normals[kept], self.limits[kept])

    def centre(self) -> tuple[FloatArray, float]:
        """The centre and radius of the largest ball inside; the radius is below 0 when the set is empty."""
        return conversions.largest_ball(self.normals, self.limits)

    def is_bounded(self) -> bool:
        """Whether no direction is free."""
        return conversions.is_bounded(self.normals)

    def polytope(self) -> Polytope:
        """The same set by its vertices (to rounding); ZoneError when it is empty, flat or unbounded."""
        from tacit.geometry.polytopes import Polytope

        return Polytope(conversions.vertices_of(self.normals, self.limits))

    def kernel_rows(self, reach: float) -> tuple[FloatArray, FloatArray]:
        """(A, c) such that `A @ x <= c` in plain floating point proves that x is inside, for any x at all.

        ``reach`` bounds the components that a point may have: 2 d rows say so, and what rounding can do within it is
        taken off the limits.

        >>> A, c = HalfSpaces(np.array([[1.0, 1.0]]), np.array([1.0])).kernel_rows(100.0)
        >>> bool(((A @ np.array([0.3, 0.3])) <= c).all()), A.shape
        (True, (5, 2))
        """
        if not (np.isfinite(reach) and reach > 0.0):
            raise OptionError(f"the reach of a zone must be above 0 and finite, not {reach}")
        magnitudes = np.abs(self.normals).sum(axis=1) * reach * (1 + 4 * self.dimension * EPSILON) + np.abs(self.limits)
        limits = self.limits - products_slack(magnitudes, self.dimension)
        bounds = np.vstack([np.eye(self.dimension), -np.eye(self.dimension)])
        return np.vstack([self.normals, bounds]), np.concatenate([limits, np.full(2 * self.dimension, reach)])
