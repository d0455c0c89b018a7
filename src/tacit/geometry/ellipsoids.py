"""Ellipsoids: the admissible regions of quadratic questions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.geometry.polytopes import Polytope
from tacit.geometry.rounding import products_slack, upward
from tacit.geometry.shapes import as_matrix, as_points, as_vector
from tacit.vocabulary import BoolArray, FloatArray, OptionError, ZoneError

__all__ = ["Ellipsoid"]

HALVINGS = 80


@dataclass(frozen=True, eq=False)
class Ellipsoid:
    """{x : |F (x - centre)| <= 1} with a square matrix F that can be inverted.

    >>> disk = Ellipsoid(np.zeros(2), np.eye(2) / 2)
    >>> disk.contains(np.array([[1.9, 0.0], [1.9, 1.0]])).tolist()
    [True, False]
    >>> disk.margins(np.array([[0.5, 0.0], [3.0, 0.0]])).round(6).tolist()
    [1.5, -1.0]
    """

    centre: FloatArray  # (d,)
    factor: FloatArray  # (d, d)

    def __post_init__(self) -> None:
        centre = as_vector(self.centre, np.size(self.centre), "the centre")
        factor = as_matrix(self.factor, "the factor")
        if factor.shape != (len(centre), len(centre)):
            raise OptionError(f"the factor of an ellipsoid in {len(centre)} dimensions is square, not {factor.shape}")
        if np.linalg.cond(factor) > 1e12:
            raise ZoneError("the ellipsoid has an axis without end, or none at all")
        object.__setattr__(self, "centre", centre)
        object.__setattr__(self, "factor", factor)

    @classmethod
    def of_quadratic(cls, matrix: FloatArray, linear: FloatArray, limit: float) -> Ellipsoid:
        """{x : x'Mx + b·x <= limit}; ZoneError unless M is positive definite and the set has an inside.

        >>> Ellipsoid.of_quadratic(np.eye(2), np.array([-2.0, -4.0]), 3.0).centre.tolist()
        [1.0, 2.0]
        """
        found = as_matrix(matrix, "the matrix of the quadratic")
        slope = as_vector(linear, len(found), "the linear part")
        symmetric = (found + found.T) / 2
        values, axes = np.linalg.eigh(symmetric)
        if values[0] <= 1e-12 * values[-1]:
            raise ZoneError("the region of a quadratic is an ellipsoid only if its matrix is positive definite")
        centre: FloatArray = np.asarray(np.linalg.solve(symmetric, -slope / 2), dtype=np.float64)
        level = limit + float(centre @ symmetric @ centre)
        if level <= 0.0:
            raise ZoneError("the admissible region is empty: the quadratic is above its limit everywhere")
        return cls(centre, np.sqrt(values / level)[:, None] * axes.T)

    @property
    def dimension(self) -> int:
        return len(self.centre)

    def contains(self, points: FloatArray) -> BoolArray:
        """Yes only where |F (x - centre)| <= 1 in exact arithmetic."""
        offset = as_points(points, self.dimension) - self.centre
        with np.errstate(over="ignore", invalid="ignore"):
            image = np.abs(offset @ self.factor.T)
            image += products_slack(np.abs(offset) @ np.abs(self.factor).T, self.dimension)
            return np.asarray(upward((image**2).sum(axis=1), self.dimension + 4) <= 1.0)

    def margins(self, points: FloatArray) -> FloatArray:
        """The distance to the boundary, from below; below 0 outside.

        In the coordinates of the axes (half-lengths s), for every t > -min s^2 the number
        L(t) = sum t y^2 / (s^2 + t) - t is at most the squared distance (weak duality), and its maximum is it. So the
        halving below may stop anywhere: what it gives is a lower bound.
        """
        x = as_points(points, self.dimension)
        _, sizes, axes = np.linalg.svd(self.factor)
        half = 1.0 / sizes
        y = (x - self.centre) @ axes.T
        inside = self.contains(x)
        low = np.where(inside, -(half.min() ** 2) * (1 - 1e-13), 0.0)  # at the end itself 0/0 may stand
        high = np.where(inside, 0.0, np.linalg.norm(y, axis=1) * half.max())
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            rising = ((half * y / (half**2 + middle[:, None])) ** 2).sum(axis=1) > 1.0
            low, high = np.where(rising, middle, low), np.where(rising, high, middle)
        squares = (high[:, None] * y**2 / (half**2 + high[:, None])).sum(axis=1) - high
        scale = half.max() ** 2 + (y**2).sum(axis=1)
        distance = np.sqrt(np.maximum(squares, 0.0))
        # The coordinates of the axes are rounded; what that can add to a distance is far below this.
        distance = distance - 1e-13 * np.sqrt(scale)
        return np.asarray(np.where(inside, np.maximum(distance, 0.0), np.minimum(-distance, 0.0)))

    def support(self, directions: FloatArray) -> FloatArray:
        found = as_points(directions, self.dimension)
        image = np.linalg.solve(self.factor.T, found.T)
        return np.asarray(found @ self.centre + np.linalg.norm(image, axis=0))

    def to_arrays(self) -> dict[str, FloatArray]:
        return {"centre": self.centre, "factor": self.factor}

    def inscribed(self, directions: FloatArray) -> Polytope:
        """The hull of the boundary's points in the given directions (k, d), a hair within the ellipsoid."""
        found = as_points(directions, self.dimension)
        unit = found / np.linalg.norm(found, axis=1)[:, None]
        corners = self.centre + np.linalg.solve(self.factor, unit.T).T * (1.0 - 1e-9)
        if not self.contains(corners).all():
            raise ZoneError("the ellipsoid is too far from the origin for its size: rounding hides its boundary")
        return Polytope(corners)
