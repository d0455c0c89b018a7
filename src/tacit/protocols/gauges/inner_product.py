"""The inner product of two streams (the size of their join), from the cells of two Count-Min arrays per site.

With x and y the means of the sites' arrays, f = min over rows of x[row] . y[row]; the value said is n^2 f at the last
sounding. With D_i and G_i what has changed of x_i and y_i since, and D and G their means,

    x . y  =  x0 . y0 + x0 . G + y0 . D + D . G,        |D . G|  <=  (c ||D||^2 + ||G||^2 / c) / 2

for any c > 0. The first-order terms are linear, the bound of the last is convex, so a site reads for each row

    q_i - (x0 . G_i + y0 . D_i)     for the lower side,
    q_i + (x0 . G_i + y0 . D_i)     for the upper side, of the one row whose product is smallest,

with q_i = (c ||D_i||^2 + ||G_i||^2 / c) / 2. c = ||y0|| / ||x0|| makes both parts of q_i alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.gauges.gauge import CAUTION, Bearing
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["InnerProductGauge"]


@dataclass(frozen=True, slots=True)
class InnerProductGauge:
    """Gauges of an inner product; an array holds the cells of the first stream, then those of the second."""

    depth: int
    width: int
    within: float

    def __post_init__(self) -> None:
        if not 0 < self.within < 1:
            raise OptionError(f"an inner product is tracked within a share between 0 and 1, not within {self.within}")

    @property
    def size(self) -> int:
        """The cells of both."""
        return 2 * self.depth * self.width

    @property
    def gauges(self) -> int:
        """One for the upper side, and one for the lower side of each row."""
        return 1 + self.depth

    @property
    def numbers(self) -> int:
        """The mean of all arrays, the row of the upper side, and c."""
        return self.size + 2

    def value(self, arrays: FloatArray) -> float:
        """The least of the rows' products, of the sums of all arrays.

        >>> InnerProductGauge(1, 2, 0.1).value(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 3.0, 0.0]]))
        5.0
        """
        one, two = self._both(arrays.sum(axis=0))
        return float((one * two).sum(axis=1).min())

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the products of the means."""
        mean = arrays.mean(axis=0)
        one, two = self._both(mean)
        products = (one * two).sum(axis=1)
        row = int(products.argmin())
        least = float(products[row])
        lengths = float(np.linalg.norm(one)), float(np.linalg.norm(two))
        scale = lengths[1] / lengths[0] if min(lengths) > 0.0 else 1.0
        limits = np.append(least / (1.0 - self.within) - least, products - least / (1.0 + self.within))
        limits -= CAUTION * lengths[0] * lengths[1]
        return Bearing(np.maximum(limits, 0.0), np.concatenate([[row, scale], mean]), self.value(arrays))

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """What the change may add to the row of the upper side, and may take from each."""
        (one, two), (first, second) = self._both(bearing.numbers[2:]), self._both(array - collected)
        row, scale = int(bearing.numbers[0]), float(bearing.numbers[1]) or 1.0
        along = (one * second + two * first).sum(axis=1)
        across = 0.5 * (scale * first * first + second * second / scale).sum(axis=1)
        return np.append(along[row] + across[row], across - along)

    def _both(self, array: FloatArray) -> FloatArray:
        return array.reshape(2, self.depth, self.width)
