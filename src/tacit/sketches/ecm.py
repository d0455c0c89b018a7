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

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches.cells import Cells
from tacit.sketches.clock import Clock, Times, plain
from tacit.sketches.hashing import Key, Keys, check_seed, check_words, fingerprints
from tacit.sketches.histogram_cells import HistogramCells
from tacit.sketches.parameters import Counter, Query, Shape, split
from tacit.sketches.random_wave_cells import RandomWaveCells
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.sketch import check_lineage
from tacit.sketches.table import Table, check_shape, hashed, read_shape, write_shape
from tacit.sketches.wave_cells import WaveCells
from tacit.sketches.window import SlidingWindow
from tacit.sketches.window_counter import read_window, write_window
from tacit.sketches.windowed import WindowedSketch
from tacit.vocabulary import FloatArray, OptionError, WordArray

__all__ = ["EcmLineage", "EcmSketch"]

_CELLS: dict[Counter, type[Cells]] = {each.counter: each for each in (HistogramCells, RandomWaveCells, WaveCells)}
_COUNTERS: tuple[Counter, ...] = ("histogram", "wave", "random_wave")


@dataclass(frozen=True, slots=True)
class EcmLineage:
    """What two ECM-sketches must have in common so that their cells mean the same keys."""

    window: SlidingWindow
    shape: Shape
    seed: int
    counter: Counter


class EcmSketch(WindowedSketch):
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

    KIND: ClassVar[int] = 7

    def __init__(
        self,
        *,
        window: SlidingWindow,
        shape: Shape,
        seed: int = 0,
        counter: Counter = "histogram",
        source: int = 0,
    ) -> None:
        check_shape(shape, counter)
        if counter not in _CELLS:
            raise OptionError(f"an ECM-sketch counts with one of {', '.join(_CELLS)}, and {counter!r} is none of them")
        self._lineage = EcmLineage(window, shape, check_seed(seed), counter)
        self._clock = Clock(window)
        drawn = {"source": source} if counter == "random_wave" else {}
        cells = _CELLS[counter](
            depth=shape.depth, width=shape.width, length=window.length, epsilon=shape.epsilon_window,
            delta=shape.delta_window, seed=seed, **drawn,
        )  # fmt: skip
        self._table = Table(cells, hashed(seed, shape.depth))

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
        source: int = 0,
    ) -> Self:
        """The smallest sketch that errs by at most epsilon, except with probability delta, after so many merges.

        ``source`` names the stream. Only random waves need it: they draw, and those of several streams must draw
        independently, so that each stream has a source of its own.

        >>> window = SlidingWindow(3600)
        >>> one, two = (
        ...     EcmSketch.for_query(0.1, 0.1, window=window, counter="random_wave", source=site) for site in (1, 2)
        ... )
        >>> one.update_many(["tea"] * 300, range(300)), two.update_many(["tea", "milk"], [5, 7])
        (None, None)
        >>> one.merge(two).estimate("tea")
        301.0
        """
        shape = split(epsilon, delta, query=query, counter=counter, levels=levels)
        return cls(window=window, shape=shape, seed=seed, counter=counter, source=source)

    @property
    def lineage(self) -> EcmLineage:
        """What another sketch must have in common with this one to be merged with it."""
        return self._lineage

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
        return self._table.cells.levels

    @property
    def point_error(self) -> float:
        """What a point query may err by now, as a share of all arrivals of its range."""
        return max(self._table.cells.error, (1 + self._table.cells.error) * self.shape.epsilon_cells)

    @property
    def inner_product_error(self) -> float:
        """What an inner product of two sketches like this may err by now, as a share of the product of their totals."""
        factor = (1 + self._table.cells.error) ** 2
        return max(factor - 1, factor * self.shape.epsilon_cells)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._table.cells.nbytes

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
        keys = plain(check_words(words), np.uint64)
        taken, often = self._clock.take(len(keys), times, counts)
        self._table.insert(keys, taken, often)

    def advance(self, now: int) -> None:
        """Time passes without arrivals (or so many rows in all have passed)."""
        self._clock.advance(now)

    def cells(self, length: int | None = None, *, now: int | None = None) -> FloatArray:
        """The Count-Min array of the range (now - length, now]: depth rows of width."""
        return self._table.whole(self._clock.start_of(length, now))

    def estimate(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """How often a key came in (now - length, now]: the whole window and the latest time if left out."""
        return float(self.estimate_many([key], length, now=now)[0])

    def estimate_many(self, keys: Keys, length: int | None = None, *, now: int | None = None) -> FloatArray:
        """The estimate of each key."""
        return self._table.estimates(self._bits(keys), self._clock.start_of(length, now))

    def lower_bound(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at least so often, except with probability ``shape.delta_cells``.

        The least count of its cells that is certain, without ``epsilon_cells`` times all arrivals: what other keys add
        to the best cell, but for that probability.
        """
        start = self._clock.start_of(length, now)
        lower, _ = self._table.bounds(self._bits([key]), start)
        return float(max(0.0, lower[0] - self.shape.epsilon_cells * self._table.total_bounds(start)[1]))

    def upper_bound(self, key: Key, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at most so often; always holds (not with random waves, which may fail as they say)."""
        return float(self._table.bounds(self._bits([key]), self._clock.start_of(length, now))[1][0])

    def total(self, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals of all keys there were in the range, up to the error of a window counter.

        The mean of the rows' sums: errors of many cells mostly cancel, which those of one counter could not do.
        """
        return self._table.total(self._clock.start_of(length, now))

    def inner_product(self, other: Self, length: int | None = None, *, now: int | None = None) -> float:
        """The sum over all keys of the product of both counts; of windows by time at the later of both times.

        Errs by at most ``inner_product_error`` times both totals, except with probability ``shape.delta_cells``.
        """
        check_lineage(type(self), [self, other])
        self._check_products()
        if now is None and self.lineage.window.by == "time":
            now = max(self.now, other.now)
        return float((self.cells(length, now=now) * other.cells(length, now=now)).sum(axis=1).min())

    def self_join_size(self, length: int | None = None, *, now: int | None = None) -> float:
        """The sum over all keys of the square of their counts."""
        self._check_products()
        return float((self.cells(length, now=now) ** 2).sum(axis=1).min())

    def to_bytes(self) -> bytes:
        """The sketch as bytes: the same arrivals give the same bytes, however they were handed over."""
        writer, lineage = Writer(), self.lineage
        write_window(writer, lineage.window)
        writer.integers(lineage.seed, _COUNTERS.index(lineage.counter))
        write_shape(writer, lineage.shape)
        self._clock.write(writer)
        self._table.cells.write(writer, self.now)
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that ``to_bytes`` wrote: it answers the same and goes on the same. DataError if damaged."""
        reader = open_sealed(data, cls.KIND)
        length, by, seed, counter = reader.integers(4)
        window, shape = read_window(length, by), read_shape(reader)
        if not 0 <= counter < len(_COUNTERS) or shape.depth * shape.width > reader.left:
            raise damaged("it has more cells than bytes")
        try:
            made = cls(window=window, shape=shape, seed=seed, counter=_COUNTERS[counter])
        except OptionError as error:
            raise damaged("its shape is none") from error
        made._clock.read(reader)
        made._table.cells.read(reader, made.now)
        reader.done()
        return made

    def __repr__(self) -> str:
        return f"EcmSketch({self.shape.depth} x {self.shape.width}, {self.lineage}, levels={self.levels})"

    @property
    def _counters(self) -> list[Cells]:
        return [self._table.cells]

    @classmethod
    def _assembled(cls, lineage: EcmLineage, clock: Clock, counters: list[Cells]) -> Self:
        made = cls(window=lineage.window, shape=lineage.shape, seed=lineage.seed, counter=lineage.counter)
        made._clock, made._table = clock, Table(counters[0], made._table.words)
        return made

    def _check_products(self) -> None:
        if self.lineage.counter == "random_wave":
            raise OptionError("randomized waves give no guarantee for inner products; use a histogram or a wave")

    def _bits(self, keys: Keys) -> WordArray:
        return plain(fingerprints(keys, seed=self.lineage.seed), np.uint64)
