"""The size of a self-join (the second frequency moment), from the cells of Count-Min arrays: two ways to gauge it.

**By norms** (``SelfJoinNorms``; the seed's Theorem 5 as ALGORITHMS.md corrects it, and its section 6.5). With v the
mean of the sites' arrays (rows by cells), f(v) = min over rows of ||v[row]||^2, and the value said is n^2 f(v0), v0 at
the last sounding. It is right while f(v0) is in (1 +- theta) f(v):

    f(v) >= f(v0) / (1 + theta):  every row's  ||v[row]||^2  is at least that,
    f(v) <= f(v0) / (1 - theta):  some row's   ||v[row]||^2  is at most that.

With D_i = v_i - v_i(t0), a site reads d_i^l[row] = ||D_i^-[row]|| for each row and d_i^u[row] = ||D_i^+[row]||. The
lower side is a box. The upper side is not convex: a half-space is put through the point p[row] = max(||v0[row]||, U),
with U = sqrt(f(v0) / (1 - theta)), perpendicular to p - ||v0||. Sites need to know no more of v0 than the norms of its
rows. What they keep is the square of what is in a cell, by chance also of different keys: about N^2 / width too much.

**By products** (``SelfJoinProducts``, ours) what is there by chance is taken off (centred.py has why that is right, and
what is promised). With ' for centred rows, e = ||v'[row]||^2, N the sum of a row, a = (width - 1) / width,
b a share of 1 / width and D the mean of the D_i, the value of a row is e / a, and

    e  =  e0 + 2 v0'[row] . D[row] + ||D'[row]||^2,        N^2  >=  N0^2 + 2 N0 sum(D[row]).

The middle term is linear, so that what goes up at one site and down at another cancels, and the last is of second order
and convex. With e0 the least of the rows', the value e0 / a is within theta (e + b N^2) of that of now while

    (1/a - theta) e - theta b N^2  <=  e0 / a    in the one row r whose e0 is least,
    (1/a + theta) e + theta b N^2  >=  e0 / a    in every row,

where the upper side reads e whole and the lower one its tangent, and both read the tangent of N^2: convex and linear.
Sites must know v0, which makes a sounding dearer, but there are far fewer of them: norms only ever grow with what sites
see by chance, products cancel it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.gauges.centred import CentredRows, centred
from tacit.protocols.gauges.gauge import CAUTION, Bearing
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["SelfJoinNorms", "SelfJoinProducts"]


@dataclass(frozen=True, slots=True)
class _SelfJoin:
    depth: int
    width: int
    within: float
    window: float = 0.0  # what a cell may be off by, as a share of what it counts

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

    def _rows(self, array: FloatArray) -> FloatArray:
        return array.reshape(self.depth, self.width)


class SelfJoinNorms(_SelfJoin):
    """Gauges by norms: the seed's Theorem 5 and section 6.5."""

    __slots__ = ()

    @property
    def numbers(self) -> int:
        """How much each row counts on the upper side."""
        return self.depth

    def value(self, arrays: FloatArray) -> float:
        """The least of the rows' sums of squares, of the sum of all arrays.

        >>> SelfJoinNorms(1, 2, 0.1).value(np.array([[1.0, 0.0], [1.0, 3.0]]))
        13.0
        """
        total = self._rows(arrays.sum(axis=0))
        return float((total * total).sum(axis=1).min())

    def tolerance(self, arrays: FloatArray) -> float:
        """A share of the value."""
        return self.within * self.value(arrays)

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the norms of the mean.

        >>> SelfJoinNorms(1, 2, 0.36).bearing(np.array([[3.0, 4.0]])).limits.round(3)
        array([1.25 , 0.713])
        """
        mean = self._rows(arrays.mean(axis=0))
        squares = (mean * mean).sum(axis=1)
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


class SelfJoinProducts(_SelfJoin, CentredRows):
    """Gauges by products with the mean of all arrays."""

    __slots__ = ()

    @property
    def numbers(self) -> int:
        """The mean of all arrays, and the row of the upper side."""
        return self.size + 1

    def value(self, arrays: FloatArray) -> float:
        """The least of the rows' squares, of the sum of all arrays, without what cells have by chance.

        >>> SelfJoinProducts(1, 2, 0.1).value(np.array([[1.0, 0.0], [1.0, 3.0]]))
        1.0
        """
        return float(self._squares(arrays.sum(axis=0)).min()) / self._share

    def tolerance(self, arrays: FloatArray) -> float:
        """A share of what the cells have, what is there by chance included."""
        total = arrays.sum(axis=0)
        return self.within * (float(self._squares(total).min()) + self._chance * self._sum(total) ** 2)

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the squares of the mean.

        >>> SelfJoinProducts(1, 2, 0.5).bearing(np.array([[3.0, 4.0]])).limits.round(3)
        array([1.016, 1.016])
        """
        mean = arrays.mean(axis=0)
        squares, chance = self._squares(mean), self._chance * self._sum(mean) ** 2
        row = int(squares.argmin())
        least = float(squares[row])
        high = self.within * (least + chance)
        low = (1.0 / self._share + self.within) * squares + self.within * chance - least / self._share
        limits = np.append(high, low) - CAUTION * float((mean * mean).sum())
        return Bearing(np.maximum(limits, 0.0), np.append(row, mean), self.value(arrays))

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """What the change adds to the row of the upper side, and what it takes, to first order, from each."""
        mean, change = bearing.numbers[1:], array - collected
        moved = centred(self._rows(change))
        along = 2.0 * (centred(self._rows(mean)) * moved).sum(axis=1)
        row = int(bearing.numbers[0])
        more = 2.0 * self.within * self._chance * self._sum(mean) * self._sum(change)
        above = (1.0 / self._share - self.within) * (along[row] + (moved[row] * moved[row]).sum())
        return np.append(above, -(1.0 / self._share + self.within) * along) - more

    def _squares(self, array: FloatArray) -> FloatArray:
        rows = centred(self._rows(array))
        return np.asarray((rows * rows).sum(axis=1))

    def _sum(self, array: FloatArray) -> float:
        return float(array[: self.width].sum())
