"""A quantile: a value whose rank among the rows of all sites is within theta of the one that is asked for.

A site's array is how many rows it has, and then values that stand for them evenly (``sketches/quantiles.py``), so the
number c_i of its rows that are at most q follows from it for every q. The value said is a q, and right while

    b(q)  <=  (phi + theta) n    and    (phi - theta) n  <=  c(q),        b, c and n the sums over all sites,

with b_i the number of rows below q. Of rows that are alike b and c count none and all, so that there always is such a
q, however many rows share it. Both sides are linear in b_i, c_i and n_i: a site reads by how much each has changed
since the last sounding.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.gauges.gauge import CAUTION, Bearing
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["QuantileGauge"]

_NOWHERE = -float(np.finfo(np.float64).max)  # what sites are told to compare with while there are no rows


@dataclass(frozen=True, slots=True)
class QuantileGauge:
    """Gauges of a quantile; an array has the number of rows first, then ``points`` values."""

    phi: float
    within: float
    points: int

    def __post_init__(self) -> None:
        for name, share in (("phi", self.phi), ("within", self.within)):
            if not 0 < share < 1:
                raise OptionError(f"{name} of a quantile is between 0 and 1, and {share} is not")

    @property
    def size(self) -> int:
        """The number of rows, and the values."""
        return 1 + self.points

    @property
    def gauges(self) -> int:
        """One for each side."""
        return 2

    @property
    def numbers(self) -> int:
        """The value itself."""
        return 1

    def value(self, arrays: FloatArray) -> float:
        """The value of the rank that is asked for; nan while there are no rows.

        >>> QuantileGauge(0.5, 0.1, 2).value(np.array([[2.0, 1.0, 5.0], [4.0, 3.0, 9.0]]))
        3.0
        """
        rows = arrays[:, 0]
        values = arrays[:, 1:].ravel()
        weights = np.repeat(rows / self.points, self.points)
        values, weights = values[weights > 0.0], weights[weights > 0.0]
        if not len(values):
            return np.nan
        order = np.argsort(values, kind="stable")
        sums = np.cumsum(weights[order])
        return float(values[order][np.searchsorted(sums, self.phi * sums[-1] * (1.0 - CAUTION), side="left")])

    def tolerance(self, arrays: FloatArray) -> float:
        """Of the rank of what is said."""
        return self.within

    def rank(self, arrays: FloatArray, value: float) -> float:
        """The share of all rows that are at most this value; nan without rows."""
        rows = float(arrays[:, 0].sum())
        return float(self._below(arrays, value).sum()) / rows if rows > 0.0 else np.nan

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits: how far the ranks of the value are from either side.

        What is said without rows has no rank: the first row that comes is beyond the limits, even where theta is so
        large that any value would do.
        """
        value = self.value(arrays)
        if not (arrays[:, 0] > 0.0).any():
            return Bearing(np.zeros(2), np.array([_NOWHERE]), value)
        sides = np.stack([self._sides(array, value) for array in arrays]).mean(axis=0)
        return Bearing(np.maximum(-sides - CAUTION * arrays[:, 0].mean(), 0.0), np.array([value]), value)

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """By how much the site has moved towards either side."""
        value = float(bearing.numbers[0])
        return self._sides(array, value) - self._sides(collected, value)

    def _below(self, arrays: FloatArray, value: float) -> FloatArray:
        with np.errstate(invalid="ignore"):
            share = (arrays[..., 1:] <= value).mean(axis=-1)
        return np.asarray(arrays[..., 0] * share)

    def _sides(self, array: FloatArray, value: float) -> FloatArray:
        rows = float(array[0])
        if value == _NOWHERE:
            return np.array([rows, rows])
        fewer, most = float(self._below(array, np.nextafter(value, -np.inf))), float(self._below(array, value))
        return np.array([fewer - (self.phi + self.within) * rows, (self.phi - self.within) * rows - most])
