"""What every shape can do. A shape is a closed convex set in R^d.

    contains(points)   yes only for points that are inside in exact arithmetic; points nearer to the boundary than
                       rounding can tell are called outside. That costs a message, never a wrong answer.
    margins(points)    the distance to the boundary, never more than it is; below 0 outside
    support(directions)  the largest a·x over the shape, to rounding

Shapes travel as a kind and a few arrays: ``to_arrays`` and ``shape_of``.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from tacit.vocabulary import BoolArray, FloatArray, OptionError

__all__ = ["Shape", "as_matrix", "as_points", "as_vector"]


@runtime_checkable
class Shape(Protocol):
    """A closed convex set."""

    @property
    def dimension(self) -> int:
        """The d of R^d."""

    def contains(self, points: FloatArray) -> BoolArray:
        """Which of the points (k, d) are certainly inside."""

    def margins(self, points: FloatArray) -> FloatArray:
        """Distance to the boundary, a lower bound of it: at least 0 where ``contains`` says yes."""

    def support(self, directions: FloatArray) -> FloatArray:
        """The largest a·x over the shape for each direction (k, d)."""

    def to_arrays(self) -> dict[str, FloatArray]:
        """The shape as arrays; their names tell which kind it is."""


def as_points(points: FloatArray, dimension: int) -> FloatArray:
    """The points as a float matrix (k, d); one with another number of columns is refused."""
    found = np.asarray(points, dtype=np.float64)
    if found.ndim != 2 or found.shape[1] != dimension:
        raise OptionError(f"points must be a matrix with {dimension} columns, not of shape {found.shape}")
    return found


def as_matrix(values: FloatArray, what: str) -> FloatArray:
    """A finite float matrix with at least one row and one column."""
    found = np.array(values, dtype=np.float64)
    if found.ndim != 2 or 0 in found.shape:
        raise OptionError(f"{what} must be a matrix with rows and columns, not of shape {found.shape}")
    if not np.isfinite(found).all():
        raise OptionError(f"{what} must be finite numbers")
    return found


def as_vector(values: FloatArray, length: int, what: str) -> FloatArray:
    """A finite float vector of the given length."""
    found = np.array(values, dtype=np.float64)
    if found.shape != (length,):
        raise OptionError(f"{what} must be {length} numbers, not of shape {found.shape}")
    if not np.isfinite(found).all():
        raise OptionError(f"{what} must be finite numbers")
    return found
