"""What a site keeps of a stream of values for quantiles: digests of spans of ticks, made of those of shorter spans.

A digest of level 0 is of one tick, and one of level l of 16 digests of level l - 1. What is kept follows from what came
in which tick, and from nothing else. A digest of p points adds n / (2 p) to the error of the ranks of its n rows
(``quantiles.py``), so with p_l points at level l a digest of level L knows ranks to within a share

    sum over l <= L of  1 / (2 p_l)

of its rows, and so does a union of disjoint digests up to that level. Levels are given so many points that this is at
most 1 / (2 points) for all of them together; the array that is read, of ``points`` values, adds as much again. So its
ranks are right to within 1 / points of the rows: epsilon (``protocols/gauges/making.py``).

- **The last n ticks** (``SlidingDigests``). Digests are of spans that begin at multiples of their length, and a window
  is a union of at most 15 of them on either side of each level: what is sorted grows with n^(1/4), not with n. Most
  digests are of level 0, which gets half of the error: p_l = 2^(l + 1) points, so that all levels together have
  at most 2.3 times the points of n digests of ``points`` values, each of which holds less if its ticks do.
- **All ticks, or those since a start** (``GrowingDigests``). Sixteen digests become one of the next level and go, as
  the digits of a number that counts ticks. The levels are 8, and have p_l = 8 points each: at most 8 * 15 digests, 960
  times ``points`` values, after four billion ticks with rows; from then on one digest more with every 268 million.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Mapping

import numpy as np

from tacit.sketches.quantiles import Digest, digest, ranked, united
from tacit.vocabulary import FloatArray

__all__ = ["FAN", "LEVELS", "DigestStation", "GrowingDigests", "Place", "SlidingDigests"]

FAN = 16
"""So many digests of a level make one of the next."""
LEVELS = 8
"""Of digests that grow."""

Place = tuple[int, int]
"""The level of a digest, and which of that level it is."""


class DigestStation(ABC):
    """Values in digests; ticks must rise, and all values of a tick are taken at once."""

    def __init__(self, points: int) -> None:
        self.points = points
        self._levels: list[OrderedDict[int, Digest]] = []

    def take(self, values: FloatArray, tick: int) -> None:
        """These values came at this tick."""
        self.take_counts(values, np.ones(len(values)), tick)

    def take_counts(self, values: FloatArray, counts: FloatArray, tick: int) -> None:
        """So many rows of each of these values came at this tick."""
        if len(values):
            self._put(values, counts, tick)

    def array(self, length: int | None, tick: int) -> FloatArray:
        """The number of rows of the window, and then values that stand for them evenly.

        The window is of the last ``length`` ticks (None: of as many as are kept) where they slide; of others it is all
        that is kept as of this tick. Without rows the values are 0: nothing is said of them.
        """
        return np.nan_to_num(ranked(self._window(length, tick), self.points))

    @property
    def kept(self) -> dict[Place, Digest]:
        """All digests, for ``restore``."""
        return {(level, number): made for level, kept in enumerate(self._levels) for number, made in kept.items()}

    @abstractmethod
    def restore(self, kept: Mapping[Place, Digest]) -> None:
        """Hold what was kept of another station of this kind."""

    @property
    @abstractmethod
    def size(self) -> int:
        """How many values it holds."""

    @abstractmethod
    def _put(self, values: FloatArray, counts: FloatArray, tick: int) -> None: ...

    @abstractmethod
    def _window(self, length: int | None, tick: int) -> list[Digest]: ...


class SlidingDigests(DigestStation):
    """Digests of the last ``length`` ticks, for windows of so many or fewer.

    What is read of a window does not depend on how many more ticks are kept.

    >>> station = SlidingDigests(100, 2)
    >>> for tick in range(40):
    ...     station.take(np.array([float(tick)]), tick)
    >>> station.array(20, 39), station.array(40, 39)
    (array([20., 24., 34.]), array([40.,  8., 28.]))
    """

    def __init__(self, length: int, points: int) -> None:
        super().__init__(points)
        self.length = length
        self._sizes = [1]
        while self._sizes[-1] * FAN <= length:
            self._sizes.append(self._sizes[-1] * FAN)
        self._levels = [OrderedDict() for _ in self._sizes]
        self._made: list[int | None] = [None] * len(self._sizes)  # by level: up to which number all are made

    @property
    def size(self) -> int:
        """How many values it holds."""
        return sum(len(values) for level in self._levels for values, _ in level.values())

    def _put(self, values: FloatArray, counts: FloatArray, tick: int) -> None:
        self._pass(tick - 1)
        self._keep(0, tick, digest(values, counts, self._points(0)))

    def _points(self, level: int) -> int:
        return self.points << (level + 1)

    def _keep(self, level: int, number: int, made: Digest) -> None:
        newest = next(reversed(self._levels[level]), None)
        assert newest is None or number > newest, "ticks rise"
        self._levels[level][number] = made

    def _pass(self, tick: int) -> None:
        """All values up to this tick are here: make the digests of spans that are over, and drop what has left."""
        for level in range(1, len(self._sizes)):
            last, made = (tick + 1) // self._sizes[level] - 1, self._made[level]
            if made is None or last > made:
                self._make(level, last, tick - self.length)
                self._made[level] = last
        for size, kept in zip(self._sizes, self._levels, strict=True):
            while kept and (oldest := next(iter(kept))) * size <= tick - self.length:
                del kept[oldest]

    def _make(self, level: int, last: int, left: int) -> None:
        """Digests of a level up to number ``last``; not of spans that begin at or before tick ``left``."""
        waiting: dict[int, list[Digest]] = {}
        newest = next(reversed(self._levels[level]), None)
        for number in reversed(self._levels[level - 1]):
            parent = number // FAN
            if (newest is not None and parent <= newest) or parent * self._sizes[level] <= left:
                break
            if parent <= last:
                waiting.setdefault(parent, []).append(self._levels[level - 1][number])
        for parent in sorted(waiting):
            self._keep(level, parent, united(waiting[parent][::-1], self._points(level)))

    def _window(self, length: int | None, tick: int) -> list[Digest]:
        self._pass(tick)
        spans = [(tick + 1 - (self.length if length is None else length), tick + 1)]
        found: list[Digest] = []
        for size, kept in zip(self._sizes[::-1], self._levels[::-1], strict=True):
            left: list[tuple[int, int]] = []
            for begin, end in spans:
                first, last = -(-begin // size), end // size
                if first >= last:
                    left.append((begin, end))
                    continue
                found += [kept[number] for number in range(first, last) if number in kept]
                left += [(begin, first * size), (last * size, end)]
            spans = left
        return found

    def restore(self, kept: Mapping[Place, Digest]) -> None:
        """Hold what was kept; digests that were not made yet are made when the next tick passes."""
        for (level, number), made in sorted(kept.items(), key=lambda each: each[0]):
            self._levels[level][number] = made


class GrowingDigests(DigestStation):
    """Digests of all ticks, or of those since a start: ``begins`` says which tick the period of a tick begins with.

    >>> station = GrowingDigests(2)
    >>> for tick in range(1000):
    ...     station.take(np.array([float(tick)]), tick)
    >>> station.array(None, 999), station.size
    (array([1000.,  247.,  743.]), 280)
    """

    def __init__(self, points: int, begins: Callable[[int], int] | None = None) -> None:
        super().__init__(points)
        self._begins = begins
        self._levels = [OrderedDict() for _ in range(LEVELS)]  # by their last ticks

    @property
    def size(self) -> int:
        """How many values it holds."""
        return sum(len(values) for level in self._levels for values, _ in level.values())

    @property
    def _newest(self) -> int | None:
        return next((next(reversed(level)) for level in self._levels if level), None)

    def _is_over(self, tick: int) -> bool:
        """Is what is here of an earlier period than this tick?"""
        newest = self._newest
        return self._begins is not None and newest is not None and self._begins(newest) != self._begins(tick)

    def _put(self, values: FloatArray, counts: FloatArray, tick: int) -> None:
        if self._is_over(tick):
            for level in range(LEVELS):
                self._drop(level)
        newest = self._newest
        assert newest is None or tick > newest, "ticks rise"
        made = digest(values, counts, LEVELS * self.points)
        for level, kept in enumerate(self._levels):
            kept[tick] = made
            if len(kept) < FAN or level == LEVELS - 1:
                break
            made = united(list(kept.values()), LEVELS * self.points)
            self._drop(level)

    def _drop(self, level: int) -> None:
        self._levels[level].clear()

    def _window(self, length: int | None, tick: int) -> list[Digest]:
        if self._is_over(tick):
            return []
        return [made for level in reversed(self._levels) for made in level.values()]

    def restore(self, kept: Mapping[Place, Digest]) -> None:
        """Hold what was kept."""
        for (level, tick), made in sorted(kept.items(), key=lambda each: each[0]):
            self._levels[level][tick] = made
