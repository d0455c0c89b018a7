"""The statistics vector: which sums a site keeps, and what is known of where such a vector can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.vocabulary.arrays import FloatArray

__all__ = ["Moment", "Shift", "Statistic", "shifted"]


@dataclass(frozen=True, slots=True)
class Statistic:
    """One component of the vector: a sum over the rows of the window of a per-row contribution.

    ``present`` and ``absent`` are Spark SQL texts of a row's contribution (a number, never NULL) to a group
    that has the row's member, and to one that has not; ``absent`` is "0" except under GROUP BY EACH. In a
    watch without GROUP BY EACH only ``present`` is used. ``{0}``, ``{1}`` … stand for the centres of the plan.
    """

    name: str
    present: str
    absent: str = "0"
    nonnegative: bool = False  # every contribution is >= 0, so the sum is (counts, squares)
    count: bool = False  # every contribution is 0 or 1


@dataclass(frozen=True, slots=True)
class Moment:
    """Known of the vector: x[count] * x[square] >= x[first]^2, by Cauchy and Schwarz (indices into the vector).

    In the means form the count is 1 and no component: its index is then -1.
    """

    count: int
    first: int
    square: int


@dataclass(frozen=True, slots=True)
class Shift:
    """A statistic that is summed around one centre or two, and what it takes to move it to others.

    It is the sum of (x - c), or of (x - c)(y - e); ``count`` is the number of its rows, ``firsts`` are the sums of
    (x - c) and (y - e) over the same rows (indices into the vector; none for a sum of (x - c) itself).
    """

    statistic: int
    centres: tuple[int, ...]
    count: int
    firsts: tuple[int, ...] = ()


def shifted(values: FloatArray, shifts: tuple[Shift, ...], before: FloatArray, after: FloatArray) -> FloatArray:
    """Vectors (…, d) summed around some centres, as they are around others. Exact for whole numbers.

    >>> around_3 = np.array([2.0, 1.0, 5.0])  # count, sum and sum of squares of 2 and 5, each less 3
    >>> shifts = (Shift(1, (0,), 0), Shift(2, (0, 0), 0, (1, 1)))
    >>> shifted(around_3, shifts, np.array([3.0]), np.array([0.0]))
    array([ 2.,  7., 29.])
    """
    result = np.array(values, dtype=np.float64)
    for shift in shifts:
        moves = [float(before[k] - after[k]) for k in shift.centres]
        if not any(moves):
            continue
        count = values[..., shift.count]
        if len(moves) == 1:
            result[..., shift.statistic] += count * moves[0]
        else:
            left, right = (values[..., k] for k in shift.firsts)
            result[..., shift.statistic] += moves[1] * left + moves[0] * right + count * (moves[0] * moves[1])
    return result
