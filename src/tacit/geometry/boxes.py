"""Boxes with sides along the axes; in one dimension, intervals. Their test needs no arithmetic at all."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from tacit.geometry.half_spaces import HalfSpaces
from tacit.geometry.polytopes import Polytope
from tacit.geometry.rounding import downward
from tacit.geometry.shapes import as_points, as_vector
from tacit.vocabulary import BoolArray, FloatArray, OptionError, ZoneError

__all__ = ["Box", "interval"]


@dataclass(frozen=True, eq=False)
class Box:
    """{x : low <= x <= high}.

    >>> Box(np.array([0.0, 0.0]), np.array([1.0, 2.0])).contains(np.array([[1.0, 2.0], [1.1, 0.0]])).tolist()
    [True, False]
    """

    low: FloatArray  # (d,)
    high: FloatArray  # (d,)

    def __post_init__(self) -> None:
        low = as_vector(self.low, np.size(self.low), "the lower ends")
        high = as_vector(self.high, len(low), "the upper ends")
        if not len(low):
            raise OptionError("a box needs at least one side")
        if (low > high).any():
            raise ZoneError("the box is empty: a lower end is above its upper end")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)

    @property
    def dimension(self) -> int:
        return len(self.low)

    def contains(self, points: FloatArray) -> BoolArray:
        """Exact, the boundary included."""
        x = as_points(points, self.dimension)
        return np.asarray(((x >= self.low) & (x <= self.high)).all(axis=1))

    def margins(self, points: FloatArray) -> FloatArray:
        """The distance to the nearest side; outside, minus how far the worst side is passed."""
        x = as_points(points, self.dimension)
        sides = np.minimum(x - self.low, self.high - x).min(axis=1)
        return np.where(sides == 0.0, 0.0, downward(sides, 2))

    def support(self, directions: FloatArray) -> FloatArray:
        found = as_points(directions, self.dimension)
        return np.asarray(np.maximum(found * self.low, found * self.high).sum(axis=1))

    def to_arrays(self) -> dict[str, FloatArray]:
        return {"low": self.low, "high": self.high}

    def half_spaces(self) -> HalfSpaces:
        """The same box as 2 d half-spaces."""
        sides = np.eye(self.dimension)
        return HalfSpaces(np.vstack([sides, -sides]), np.concatenate([self.high, -self.low]))

    def polytope(self) -> Polytope:
        """The same box by its 2^d corners."""
        return Polytope(np.array(list(product(*zip(self.low, self.high, strict=True)))))


def interval(low: float, high: float) -> Box:
    """The numbers from low to high.

    >>> interval(-1.0, 1.0).margins(np.array([[0.25]])).round(6).tolist()
    [0.75]
    """
    return Box(np.array([low]), np.array([high]))
