"""The ECM-sketch: how often each key came in a sliding window, in little space, and how similar two streams are.

Implements section 4 of the seed's ECM paper. A Count-Min array (depth rows of width cells, each row with a hash of its
own) whose counters are window counters: exponential histograms or deterministic waves, which err by at most e, relative
to what they count; e is ``shape.epsilon_window``, and after merging (1 + e)^(levels + 1) - 1. With c for
``shape.epsilon_cells``, delta for ``shape.delta_cells``, f for a key's true count and N for the count of all keys, of
the same range:

* a **point query** is the least of the key's cells. Each is at least (1 - e) f. The other keys in a cell are N / width
  on average, width >= e / c (here e is Euler's), so by Markov's inequality more than c N in one row with probability
  1 / e, in all rows with e^-depth <= delta. So the estimate is between f - e f and (1 + e)(f + c N), which is off by at
  most max(e, (1 + e) c) N (Lemma 3): with ``for_query(epsilon, delta)`` by at most epsilon N, except with probability
  delta;
* an **inner product** of two sketches is the least of the rows' sums of products, off by at most
  max(e^2 + 2 e, (1 + e)^2 c) N_1 N_2 except with probability delta (Theorem 2).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import numpy as np

from tacit.sketches._kernels_append import lookup, places
from tacit.sketches.cells import Cells
from tacit.sketches.clock import Clock, Times, plain
from tacit.sketches.hashing import Key, Keys, fingerprints, row_words
from tacit.sketches.histogram_cells import HistogramCells
from tacit.sketches.parameters import Counter, Query, Shape, check_share, split
from tacit.sketches.serial import Reader, Writer, damaged, open_sealed, seal
from tacit.sketches.wave_cells import WaveCells
from tacit.sketches.window import SlidingWindow
from tacit.sketches.window_counter import BY_ROWS, check_lineage, read_window, write_window
from tacit.vocabulary import FloatArray, IntArray, MergeError, OptionError, WordArray

__all__ = ["EcmLineage", "EcmSketch"]

_KIND = 7
_CELLS: dict[Counter, type[Cells]] = {each.counter: each for each in (HistogramCells, WaveCells)}
_COUNTERS: tuple[Counter, ...] = ("histogram", "wave", "random_wave")


@dataclass(frozen=True, slots=True)
class EcmLineage:
    """What two ECM-sketches must have in common so that their cells mean the same keys."""

    window: SlidingWindow
    shape: Shape
    seed: int
    counter: Counter


class EcmSketch:
    """Estimates how often a key came in any range that ends now.

    A point query errs by at most ``point_error`` times the number of all arrivals of the range, except with probability
    ``shape.delta_cells``. The answer never depends on how arrivals were handed over.

    >>> clicks = EcmSketch.for_query(0.01, 0.01, window=SlidingWindow(3600))
    >>> clicks.update_many(["tea"] * 500 + ["milk"] * 20, range(520))
    >>> clicks.estimate("tea"), clicks.estimate("milk"), clicks.estimate("tea", 25)
    (500.0, 20.0, 5.0)
    >>> both = clicks.merge(EcmSketch.from_bytes(clicks.to_bytes()))
    >>> both.estimate("milk"), both.levels
    (40.0, 1)
    """

    def __init__(self, *, window: SlidingWindow, shape: Shape, seed: int = 0, counter: Counter = "histogram") -> None:
        check_share("epsilon of the cells", shape.epsilon_cells)
        check_share("epsilon of the window", shape.epsilon_window)
        check_share("delta of the cells", shape.delta_cells)
        if not 0 <= shape.delta_window < 1:
            raise OptionError(f"delta of the window is between 0 and 1, and {shape.delta_window} is not")
        if counter not in _CELLS:
            raise OptionError(f"an ECM-sketch counts with one of {', '.join(_CELLS)}, and {counter!r} is none of them")
        self.lineage = EcmLineage(window, shape, seed, counter)
        self._words = row_words(seed, shape.depth)
        self._clock = Clock(window)
        self._cells = _CELLS[counter](
            depth=shape.depth, width=shape.width, length=window.length, epsilon=shape.epsilon_window,
            delta=shape.delta_window, seed=seed,
        )  # fmt: skip

    @classmethod
    def for_query(
        cls,
        epsilon: float,
        delta: float,
        *,
        window: SlidingWindow,
        query: Query = "point",
        counter: Counter = "histogram",
        levels: int = 0,
        seed: int = 0,
    ) -> Self:
        """The smallest sketch that errs by at most epsilon, except with probability delta, after so many merges."""
        shape = split(epsilon, delta, query=query, counter=counter, levels=levels)
        return cls(window=window, shape=shape, seed=seed, counter=counter)

    @property
    def shape(self) -> Shape:
        """The errors, and how many rows and cells follow from them."""
        return self.lineage.shape

    @property
    def now(self) -> int:
        """The latest time seen; before the first arrival -2^60, for a window by rows 0."""
        return self._clock.now

    @property
    def late(self) -> int:
        """How many arrivals were earlier than one before them, and are counted at the latest time."""
        return self._clock.late

    @property
    def levels(self) -> int:
        """How often sketches were merged, one above the other, to make this one."""
        return self._cells.levels

    @property
    def point_error(self) -> float:
        """What a point query may err by now, as a share of all arrivals of its range."""
        return max(self._cells.error, (1 + self._cells.error) * self.shape.epsilon_cells)

    @property
    def inner_product_error(self) -> float:
        """What an inner product of two sketches like this may err by now, as a share of the product of their totals."""
        factor = (1 + self._cells.error) ** 2
        return max(factor - 1, factor * self.shape.epsilon_cells)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._cells.nbytes

    def update(self, key: Key, time: int | None = None, count: int = 1) -> None:
        """``count`` arrivals of a key at this time; in a window by rows the next row, and no time."""
        self.update_many([key], None if time is None else [time], None if count == 1 else [count])

    def update_many(self, keys: Keys, times: Times | None = None, counts: Times | None = None) -> None:
        """Arrivals of these keys at these times, each ``counts`` times (once if left out).

        In a window by rows there are no times: each key is the next row, whatever its count.
        """
        self.update_words(fingerprints(keys, seed=self.lineage.seed), times, counts)

    def update_words(self, words: WordArray, times: Times | None = None, counts: Times | None = None) -> None:
        """As ``update_many``, of keys whose 64 bits are known (``hashing.fingerprints``)."""
        taken, often = self._clock.take(len(words), times, counts)
        self._cells.insert(self._words, plain(words, np.uint64), taken, often)

    def advance(self, now: int) -> None:
        """Time passes without arrivals (or so many rows in all have passed)."""
        self._clock.advance(now)

    def cells(self, length: int | None = None, *, now: int | None = None) -> FloatArray:
        """The Count-Min array of the range (now - length, now]: depth rows of width."""
        return self._cells.estimates(self._all(), self._clock.start_of(length, now)).reshape(self._words.shape[0], -1)

    def estimate(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """How often a key came in (now - length, now]: the whole window and the latest time if left out."""
        return float(self.estimate_many([key], length, now=now)[0])

    def estimate_many(self, keys: Keys, length: int | None = None, *, now: int | None = None) -> FloatArray:
        """The estimate of each key."""
        words = plain(fingerprints(keys, seed=self.lineage.seed), np.uint64)
        start = self._clock.start_of(length, now)
        if len(words) * self.shape.depth < self.shape.depth * self.shape.width:
            found = self._cells.estimates(self._places(words).ravel(), start).reshape(-1, len(words))
            return np.asarray(found.min(axis=0), dtype=np.float64)
        least = np.empty(len(words), dtype=np.float64)
        lookup(words, self._words, np.uint64(self.shape.width), self._cells.estimates(self._all(), start), least)
        return least

    def lower_bound(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at least so often, except with probability ``shape.delta_cells``.

        The least count of its cells that is certain, without ``epsilon_cells`` times all arrivals: what other keys add
        to the best cell, but for that probability.
        """
        lower, _ = self._bounds(key, length, now)
        return float(max(0.0, lower.min() - self.shape.epsilon_cells * self._total_bounds(length, now)[1]))

    def upper_bound(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at most so often; always holds (not with random waves, which may fail as they say)."""
        return float(self._bounds(key, length, now)[1].min())

    def total(self, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals of all keys there were in the range: the mean of the rows' sums, inside all their bounds.

        Each row counts every arrival once, so its sum errs by at most ``error`` of a cell; errors of many cells mostly
        cancel, which one counter of its own could not do.
        """
        least, most = self._total_bounds(length, now)
        return float(min(max(self.cells(length, now=now).sum(axis=1).mean(), least), most))

    def inner_product(self, other: Self, length: int | None = None, *, now: int | None = None) -> float:
        """The sum over all keys of the product of both counts; of windows by time at the later of both times.

        Errs by at most ``inner_product_error`` times both totals, except with probability ``shape.delta_cells``.
        """
        check_lineage(type(self), [self, other])
        if now is None and self.lineage.window.by == "time":
            now = max(self.now, other.now)
        return float((self.cells(length, now=now) * other.cells(length, now=now)).sum(axis=1).min())

    def self_join_size(self, length: int | None = None, *, now: int | None = None) -> float:
        """The sum over all keys of the square of their counts."""
        return float((self.cells(length, now=now) ** 2).sum(axis=1).min())

    def merge(self, other: Self) -> Self:
        """A new sketch of both streams together, one level higher than the higher of the two."""
        return self.merge_all([self, other])

    @classmethod
    def merge_all(cls, sketches: Iterable[Self]) -> Self:
        """A new sketch of all streams together: one level, however many there are."""
        parts = list(sketches)
        check_lineage(cls, parts)
        lineage = parts[0].lineage
        if lineage.window.by == "rows":
            raise MergeError(BY_ROWS)
        made = cls(window=lineage.window, shape=lineage.shape, seed=lineage.seed, counter=lineage.counter)
        made._clock = parts[0]._clock.merged(part._clock for part in parts[1:])
        made._cells = type(made._cells).merged([part._cells for part in parts], made._clock.horizon)
        return made

    def to_bytes(self) -> bytes:
        """The sketch as bytes: the same arrivals give the same bytes, however they were handed over."""
        writer = Writer()
        self.write(writer)
        return seal(_KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that ``to_bytes`` wrote: it answers the same and goes on the same. DataError if damaged."""
        reader = open_sealed(data, _KIND)
        made = cls.read(reader)
        reader.done()
        return made

    def write(self, writer: Writer) -> None:
        """What ``to_bytes`` seals."""
        lineage, shape = self.lineage, self.shape
        write_window(writer, lineage.window)
        writer.integers(lineage.seed, _COUNTERS.index(lineage.counter))
        writer.floats(shape.epsilon_cells, shape.epsilon_window, shape.delta_cells, shape.delta_window)
        self._clock.write(writer)
        self._cells.write(writer, self.now)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """What ``write`` wrote."""
        length, by, seed, counter = reader.integers(4)
        window, shape = read_window(length, by), Shape(*reader.floats(4))
        try:
            for each in (shape.epsilon_cells, shape.epsilon_window, shape.delta_cells):
                check_share("a share", each)
            if not 0 <= counter < len(_COUNTERS) or shape.depth * shape.width > reader.left:
                raise damaged("it has more cells than bytes")
            made = cls(window=window, shape=shape, seed=seed, counter=_COUNTERS[counter])
        except OptionError as error:
            raise damaged("its shape is none") from error
        made._clock.read(reader)
        made._cells.read(reader, made.now)
        return made

    def __repr__(self) -> str:
        return f"EcmSketch({self.shape.depth} x {self.shape.width}, {self.lineage}, levels={self.levels})"

    def _all(self) -> IntArray:
        return np.arange(self.shape.depth * self.shape.width, dtype=np.int64)

    def _places(self, words: WordArray) -> IntArray:
        found = np.empty((self.shape.depth, len(words)), dtype=np.int64)
        places(words, self._words, np.uint64(self.shape.width), found)
        return found

    def _bounds(self, key: Key, length: int | None, now: int | None) -> tuple[FloatArray, FloatArray]:
        words = plain(fingerprints([key], seed=self.lineage.seed), np.uint64)
        return self._cells.bounds(self._places(words).ravel(), self._clock.start_of(length, now))

    def _total_bounds(self, length: int | None, now: int | None) -> tuple[float, float]:
        lower, upper = self._cells.bounds(self._all(), self._clock.start_of(length, now))
        depth = self.shape.depth
        return float(lower.reshape(depth, -1).sum(axis=1).max()), float(upper.reshape(depth, -1).sum(axis=1).min())
