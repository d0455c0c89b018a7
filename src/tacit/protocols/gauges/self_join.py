"""The size of a self-join (the second frequency moment), from the cells of Count-Min arrays: two ways to gauge it.

With v the mean of the sites' arrays (rows by cells), f(v) = min over rows of ||v[row]||^2, and the value said is
n^2 f(v0), v0 at the last sounding. It is right while f(v0) is in (1 +- theta) f(v):

    f(v) >= f(v0) / (1 + theta):  every row's  ||v[row]||^2  is at least that,
    f(v) <= f(v0) / (1 - theta):  some row's   ||v[row]||^2  is at most that.

**By norms** (``SelfJoinNorms``; the seed's Theorem 5 as ALGORITHMS.md corrects it, and its section 6.5). With
D_i = v_i - v_i(t0), a site reads d_i^l[row] = ||D_i^-[row]|| for each row and d_i^u[row] = ||D_i^+[row]||. The lower
side is a box. The upper side is not convex: a half-space is put through the point p[row] = max(||v0[row]||, U), with
U = sqrt(f(v0) / (1 - theta)), perpendicular to p - ||v0||. Sites need to know no more of v0 than the norms of its rows.

**By products** (``SelfJoinProducts``, ours). With D the mean of the D_i,

    ||v[row]||^2  =  ||v0[row]||^2 + 2 v0[row] . D[row] + ||D[row]||^2.

The middle term is linear, so that what goes up at one site and down at another cancels, and the last is of second
order and convex. The lower side reads -2 v0[row] . D_i[row] for each row; the upper side reads
2 v0[r] . D_i[r] + ||D_i[r]||^2 for the one row r whose norm is smallest. Sites must know v0, which makes a sounding
dearer, but there are far fewer of them: norms only ever grow with what sites see by chance, products cancel it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.gauges.gauge import CAUTION, Bearing
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["SelfJoinNorms", "SelfJoinProducts"]


@dataclass(frozen=True, slots=True)
class _SelfJoin:
    depth: int
    width: int
    within: float

    def __post_init__(self) -> None:
        if not 0 < self.within < 1:
            raise OptionError(f"a self-join size is tracked within a share between 0 and 1, not within {self.within}")

    @property
    def size(self) -> int:
        """All cells."""
        return self.depth * self.width

    @property
    def gauges(self) -> int:
        """One for the upper side, and one for the lower side of each row."""
        return 1 + self.depth

    def value(self, arrays: FloatArray) -> float:
        """The least of the rows' sums of squares, of the sum of all arrays.

        >>> SelfJoinNorms(1, 2, 0.1).value(np.array([[1.0, 0.0], [1.0, 3.0]]))
        13.0
        """
        total = arrays.sum(axis=0).reshape(self.depth, self.width)
        return float((total * total).sum(axis=1).min())

    def _mean(self, arrays: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The mean of the arrays, and the squared norms of its rows."""
        mean = arrays.mean(axis=0).reshape(self.depth, self.width)
        return mean, (mean * mean).sum(axis=1)

    def _rows(self, array: FloatArray) -> FloatArray:
        return array.reshape(self.depth, self.width)


class SelfJoinNorms(_SelfJoin):
    """Gauges by norms: the seed's Theorem 5 and section 6.5."""

    __slots__ = ()

    @property
    def numbers(self) -> int:
        """How much each row counts on the upper side."""
        return self.depth

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the norms of the mean.

        >>> SelfJoinNorms(1, 2, 0.36).bearing(np.array([[3.0, 4.0]])).limits.round(3)
        array([1.25 , 0.713])
        """
        _, squares = self._mean(arrays)
        norms, least = np.sqrt(squares), float(squares.min())
        slope = np.maximum(0.0, np.sqrt(least / (1.0 - self.within)) - norms)
        length = float(np.linalg.norm(slope))
        slope = slope / length if length > 0.0 else np.ones(self.depth)
        low = norms - np.sqrt(least / (1.0 + self.within))
        limits = np.append(length, low) - CAUTION * norms.max()
        return Bearing(np.maximum(limits, 0.0), slope, self.value(arrays))

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """The norms of what was added in the direction of the upper side, and of what was taken from each row."""
        change = self._rows(array - collected)
        above = np.linalg.norm(np.maximum(change, 0.0), axis=1)
        below = np.linalg.norm(np.minimum(change, 0.0), axis=1)
        return np.append(bearing.numbers @ above, below)


class SelfJoinProducts(_SelfJoin):
    """Gauges by products with the mean of all arrays."""

    __slots__ = ()

    @property
    def numbers(self) -> int:
        """The mean of all arrays, and the row of the upper side."""
        return self.size + 1

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the squares of the mean.

        >>> SelfJoinProducts(1, 2, 0.5).bearing(np.array([[3.0, 4.0]])).limits.round(3)
        array([25.   ,  8.333])
        """
        mean, squares = self._mean(arrays)
        row = int(squares.argmin())
        least = float(squares[row])
        high = least / (1.0 - self.within) - least
        limits = np.append(high, squares - least / (1.0 + self.within)) - CAUTION * squares.max()
        return Bearing(np.maximum(limits, 0.0), np.append(row, mean.ravel()), self.value(arrays))

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """What the change adds to the row of the upper side, and what it takes, to first order, from each."""
        change, mean = self._rows(array - collected), self._rows(bearing.numbers[1:])
        along = 2.0 * (mean * change).sum(axis=1)
        row = int(bearing.numbers[0])
        return np.append(along[row] + (change[row] * change[row]).sum(), -along)
