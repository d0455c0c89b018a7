"""The inner product of two streams (the size of their join), from the cells of two Count-Min arrays per site.

With x and y the means of the sites' arrays and ' for centred rows (centred.py), e = x'[row] . y'[row] and the value of
a row is e / a, a = (width - 1) / width; what is said is the least of the rows', or 0 if that is below 0. With D_i and
G_i what has changed of x_i and y_i since the last sounding, and D and G their means,

    e  =  e0 + x0' . G + y0' . D + D' . G',        |D' . G'|  <=  (c ||D'||^2 + ||G'||^2 / c) / 2

for any c > 0, and likewise for the product of the rows' sums, N M. The first-order terms are linear, the bound of the
last is convex. With b a share of 1 / width, what was said, s, is within theta (e + b N M) of the value of now while

    (1/a - theta) e - theta b N M  <=  s    in the one row whose e0 is least,
    (1/a + theta) e + theta b N M  >=  s    in every row, unless s = 0.

c = ||y0'|| / ||x0'|| makes both parts of the bound alike.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.gauges.centred import CentredRows, centred
from tacit.protocols.gauges.gauge import CAUTION, Bearing
from tacit.vocabulary import FloatArray, OptionError

__all__ = ["InnerProductGauge"]


@dataclass(frozen=True, slots=True)
class InnerProductGauge(CentredRows):
    """Gauges of an inner product; an array holds the cells of the first stream, then those of the second."""

    depth: int
    width: int
    within: float
    window: float = 0.0  # what a cell may be off by, as a share of what it counts

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
        """The least of the rows' products, of the sums of all arrays, without what cells have by chance; at least 0.

        >>> InnerProductGauge(1, 2, 0.1).value(np.array([[1.0, 2.0, 0.0, 1.0], [0.0, 0.0, 0.0, 3.0]]))
        4.0
        """
        return max(0.0, float(self._products(arrays.sum(axis=0)).min()) / self._share)

    def tolerance(self, arrays: FloatArray) -> float:
        """A share of what the cells have, what is there by chance included."""
        total = arrays.sum(axis=0)
        least, (one, two) = max(0.0, float(self._products(total).min())), self._sums(total)
        return self.within * (least + self._chance * one * two)

    def bearing(self, arrays: FloatArray) -> Bearing:
        """Limits from the products of the means."""
        mean = arrays.mean(axis=0)
        (one, two), (first, second) = centred(self._both(mean)), self._sums(mean)
        products, both = (one * two).sum(axis=1), first * second
        row = int(products.argmin())
        least = float(products[row])
        said = max(0.0, least / self._share)
        chance = self.within * self._chance * both
        low = (1.0 / self._share + self.within) * products + chance - said
        if said == 0.0:
            low = np.maximum(low, both)  # nothing is below that
        limits = np.append(said - (1.0 / self._share - self.within) * least + chance, low)
        limits -= CAUTION * float(np.linalg.norm(self._both(mean)[0]) * np.linalg.norm(self._both(mean)[1]))
        told = [row, _scale(float(np.linalg.norm(one)), float(np.linalg.norm(two)))]
        return Bearing(np.maximum(limits, 0.0), np.concatenate([told, mean]), self.value(arrays))

    def read(self, bearing: Bearing, array: FloatArray, collected: FloatArray) -> FloatArray:
        """What the change may add to the row of the upper side, and may take from each."""
        mean, change = bearing.numbers[2:], array - collected
        (one, two), (first, second) = centred(self._both(mean)), centred(self._both(change))
        row, scale = int(bearing.numbers[0]), float(bearing.numbers[1]) or 1.0
        along = (one * second + two * first).sum(axis=1)
        across = 0.5 * (scale * first * first + second * second / scale).sum(axis=1)
        (n, m), (more_n, more_m) = self._sums(mean), self._sums(change)
        ratio = _scale(n, m)
        sums = n * more_m + m * more_n - 0.5 * (ratio * more_n**2 + more_m**2 / ratio)
        above = (1.0 / self._share - self.within) * (along[row] + across[row])
        below = (1.0 / self._share + self.within) * (across - along)
        return np.append(above, below) - self.within * self._chance * sums

    def _products(self, array: FloatArray) -> FloatArray:
        one, two = centred(self._both(array))
        return np.asarray((one * two).sum(axis=1))

    def _sums(self, array: FloatArray) -> tuple[float, float]:
        one, two = self._both(array)[:, 0].sum(axis=1).tolist()
        return one, two

    def _both(self, array: FloatArray) -> FloatArray:
        return array.reshape(2, self.depth, self.width)


def _scale(one: float, two: float) -> float:
    return two / one if min(one, two) > 0.0 else 1.0
