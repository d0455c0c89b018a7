"""Sums of no rows: 0 where a condition is decided, and no value where one is shown, as in SQL.

IEEE's neutral element of addition is -0.0: x + -0.0 is x for every x, 0.0 and -0.0 included. So a vector of a window
without rows is written as -0.0 in every component, and the total of all sites is -0.0 if and only if no site has rows.
Everywhere else -0.0 equals 0.0, so nothing that is decided depends on it.
"""

from __future__ import annotations

import numpy as np

from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["NOTHING", "has_no_rows", "shown_points"]

NOTHING = -0.0
"""The sum of no numbers."""


def has_no_rows(vectors: FloatArray) -> BoolArray:
    """Which vectors (k, d) are those of windows without rows?

    >>> has_no_rows(np.array([[-0.0, -0.0], [0.0, -0.0], [1.0, -0.0]]))
    array([ True, False, False])
    """
    return np.asarray(((vectors == 0.0) & np.signbit(vectors)).all(axis=1))


def shown_points(points: FloatArray, counts: BoolArray) -> FloatArray:
    """The vectors that values are shown of: without rows a sum has no value, and a count is 0.

    >>> shown_points(np.array([[-0.0, -0.0], [0.0, 2.0]]), np.array([False, True]))
    array([[nan, -0.],
           [ 0.,  2.]])
    """
    empty = has_no_rows(points)
    return np.where(empty[:, None] & ~counts, np.nan, points) if empty.any() else points
