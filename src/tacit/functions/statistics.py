"""The statistics vector: which sums a site keeps, and what is known of where such a vector can be."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Moment", "Statistic"]


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
