"""Ranges, ranks, quantiles and heavy prefixes over a sliding window: window counters for each height of a binary tree.

Keys are whole numbers 0 <= key < 2^bits. A node of height h stands for all keys with the same upper bits - h bits. The
nodes of each of the H lowest heights are counted by a Count-Min array of window counters of its own (see ``ecm``),
those of height H by one counter each: from there on up there are no more prefixes than an array has cells. With e for
the error of a window counter, c for ``shape.epsilon_cells``, N for all arrivals of the time asked for:

**Ranges.** A range of keys takes at most two nodes of each height below H, at most 2 H, and some of height H. Let R be
its true count, and X what other keys add to the cells of its nodes in one row. The estimate, a sum of least cells, is
at least (1 - e) R, and at most (1 + e)(R + X) for the row with the least X. On average X is at most 2 H N / width, and
2 H c N is at least e (Euler's) times that: by Markov's inequality the least X of depth independent rows is above 2 H c
N with probability at most e^-depth <= delta. So the estimate errs by at most e R + (1 + e) 2 H c N: with e = sqrt(1 +
epsilon) - 1 and c = e / (2 H) by at most (2 e + e^2) N = epsilon N, except with probability delta. The number of nodes
costs nothing in depth: their sum has to be small in some row, not each of them.

**Quantiles.** The path to a key takes one node of each height, and what lies left of it is a range. But answers choose
the path: there each height may fail by itself, so that the probability is H delta.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches.cells import BucketCells, Cells
from tacit.sketches.clock import Clock, Times, plain
from tacit.sketches.counts import whole
from tacit.sketches.hashing import Keys, check_seed
from tacit.sketches.histogram_cells import HistogramCells
from tacit.sketches.parameters import Counter, Shape, check_share, unmerged_error
from tacit.sketches.ranges import (
    check_phi,
    check_range,
    check_threshold,
    nodes_of,
    not_below,
    share_of,
    whole_keys,
    whole_words,
)
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.table import Table, check_shape, hashed, identity, read_shape, write_shape
from tacit.sketches.wave_cells import WaveCells
from tacit.sketches.window import SlidingWindow
from tacit.sketches.window_counter import read_window, write_window
from tacit.sketches.windowed import WindowedSketch
from tacit.vocabulary import DataError, FloatArray, OptionError, WordArray

__all__ = ["DyadicEcm", "DyadicEcmLineage"]

_CELLS: dict[Counter, type[BucketCells]] = {"histogram": HistogramCells, "wave": WaveCells}
_BITS_MOST = 32


@dataclass(frozen=True, slots=True)
class DyadicEcmLineage:
    """What two of these must have in common so that their cells mean the same nodes."""

    window: SlidingWindow
    shape: Shape
    bits: int
    seed: int
    counter: Counter


class DyadicEcm(WindowedSketch):
    """How many keys of a range came in a sliding window, which key is in the middle, and which prefixes are heavy.

    Made with ``for_query``, a range errs by at most epsilon times all arrivals, except with probability delta.

    >>> sketch = DyadicEcm.for_query(0.1, 0.01, bits=16, window=SlidingWindow(3600))
    >>> sketch.update_many([3, 500, 500, 500, 40_000], [1, 2, 3, 4, 5])
    >>> sketch.range_count(0, 999), sketch.rank(499), sketch.quantile(0.5), sketch.range_count(0, 999, 2)
    (4.0, 1.0, 500, 1.0)
    >>> sketch.heavy_hitters(0.5)
    {500: 3.0}
    """

    KIND: ClassVar[int] = 8

    def __init__(
        self, *, window: SlidingWindow, shape: Shape, bits: int = 32, seed: int = 0, counter: Counter = "histogram"
    ) -> None:
        check_shape(shape)
        bits = whole("bits", bits, 1, _BITS_MOST)
        if counter not in _CELLS:
            raise OptionError(f"this sketch counts with a histogram or a wave, and {counter!r} is neither")
        self._lineage = DyadicEcmLineage(window, shape, bits, check_seed(seed), counter)
        self._clock = Clock(window)
        self.heights = _heights(shape, bits)
        top = bits - self.heights
        self._tables = [
            Table(self._cells(shape.depth, shape.width), hashed(seed, shape.depth, height))
            for height in range(self.heights)
        ]
        self._tables.append(Table(self._cells(1, 2**top), identity(top)))

    @classmethod
    def for_query(
        cls,
        epsilon: float,
        delta: float,
        *,
        bits: int = 32,
        window: SlidingWindow,
        counter: Counter = "histogram",
        levels: int = 0,
        seed: int = 0,
    ) -> Self:
        """One whose ranges err by at most epsilon times all arrivals, except with probability delta.

        ``levels`` is how many times one above the other sketches will be merged.
        """
        check_share("epsilon", epsilon)
        check_share("delta", delta)
        bits = whole("bits", bits, 1, _BITS_MOST)
        error = math.sqrt(1 + epsilon) - 1
        check_shape(Shape(error, error, delta, 0.0))
        for heights in range(1, _BITS_MOST + 1):
            shape = Shape(error / (2 * heights), unmerged_error(error, levels), delta, 0.0)
            if _heights(shape, bits) <= heights:
                break
        return cls(window=window, shape=shape, bits=bits, seed=seed, counter=counter)

    @property
    def lineage(self) -> DyadicEcmLineage:
        """What another one must have in common with this one to be merged with it."""
        return self._lineage

    @property
    def bits(self) -> int:
        """How many bits keys have."""
        return self._lineage.bits

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
        return self._tables[0].cells.levels

    @property
    def error(self) -> float:
        """What a range may err by now, as a share of all arrivals."""
        return self._window_error + (1 + self._window_error) * 2 * self.heights * self._lineage.shape.epsilon_cells

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(table.cells.nbytes for table in self._tables)

    def update(self, key: int, time: int | None = None, count: int = 1) -> None:
        """``count`` arrivals of a key at this time; in a window by rows the next row, and no time."""
        self.update_many([key], None if time is None else [time], None if count == 1 else [count])

    def update_many(self, keys: Keys, times: Times | None = None, counts: Times | None = None) -> None:
        """Arrivals of these keys at these times, each ``counts`` times (once if left out)."""
        self.update_words(whole_keys(keys, self.bits), times, counts)

    def update_words(self, words: WordArray, times: Times | None = None, counts: Times | None = None) -> None:
        """As ``update_many``, of keys that are an array of words already."""
        prefixes = plain(whole_words(words, self.bits), np.uint64)
        taken, often = self._clock.take(len(prefixes), times, counts)
        for table in self._tables:
            table.insert(prefixes, taken, often)
            prefixes = prefixes >> np.uint64(1)

    def advance(self, now: int) -> None:
        """Time passes without arrivals (or so many rows in all have passed)."""
        self._clock.advance(now)

    def total(self, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals there were in the range of time, up to the error of a window counter."""
        return self._tables[-1].total(self._clock.start_of(length, now))

    def estimate(self, key: int, length: int | None = None, *, now: int | None = None) -> float:
        """How often a key came in (now - length, now]."""
        return float(self.estimate_many([key], length, now=now)[0])

    def estimate_many(self, keys: Keys, length: int | None = None, *, now: int | None = None) -> FloatArray:
        """The estimate of each key."""
        words = plain(whole_keys(keys, self.bits), np.uint64)
        return self._tables[0].estimates(words, self._clock.start_of(length, now))

    def lower_bound(self, key: int, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at least so often, except with probability ``shape.delta_cells``; always where it is exact."""
        start = self._clock.start_of(length, now)
        others = self._lineage.shape.epsilon_cells * self._tables[-1].total_bounds(start)[1] if self.heights else 0.0
        lower, _ = self._tables[0].bounds(whole_keys([key], self.bits), start)
        return float(max(0.0, lower[0] - others))

    def upper_bound(self, key: int, length: int | None = None, *, now: int | None = None) -> float:
        """The key came at most so often; always holds."""
        start = self._clock.start_of(length, now)
        return float(self._tables[0].bounds(whole_keys([key], self.bits), start)[1][0])

    def range_count(self, lo: int, hi: int, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals had a key lo <= key <= hi in (now - length, now].

        Errs by at most ``error`` times all arrivals, except with probability ``shape.delta_cells``.
        """
        check_range(lo, hi, self.bits)
        start = self._clock.start_of(length, now)
        nodes, (first, end) = nodes_of(lo, hi, self.heights)
        parts = [self._nodes(height, [prefix], start)[0] for height, prefix in nodes]
        inside = self._nodes(self.heights, range(first, end), start).sum() if end > first else 0.0
        around = np.arange(lo >> self.heights, (hi >> self.heights) + 1, dtype=np.uint64)
        most = self._tables[-1].bounds(around, start)[1].sum()
        return float(min(sum(parts) + inside, most))

    def rank(self, value: int, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals had a key of at most this value: ``range_count(0, value)``."""
        return self.range_count(0, value, length, now=now)

    def quantile(self, phi: float, length: int | None = None, *, now: int | None = None) -> int:
        """A key at this share of the order of all arrivals in (now - length, now].

        Fewer than (phi + x) N arrivals are below it and at least (phi - x) N are at most it, where x is ``error`` and
        that of a window counter (for N itself), except with probability ``heights`` times ``shape.delta_cells``.
        """
        check_phi(phi)
        start = self._clock.start_of(length, now)
        sums = np.cumsum(self._tables[-1].whole(start)[0])
        if not sums[-1]:
            raise DataError("a window in which nothing came has no quantiles; ask for a longer one")
        wanted = share_of(phi, sums[-1])
        prefix = min(int(np.searchsorted(sums, wanted)), len(sums) - 1)
        if phi == 0:
            prefix = int(np.argmax(sums > 0))
        wanted -= sums[prefix - 1] if prefix else 0.0
        for height in reversed(range(self.heights)):
            prefix *= 2
            left = self._nodes(height, [prefix], start)[0]
            if left < wanted or not left:
                wanted, prefix = wanted - left, prefix + 1
        return prefix

    def heavy_hitters(self, share: float, length: int | None = None, *, now: int | None = None) -> dict[int, float]:
        """The keys with at least this share of all arrivals in (now - length, now], and how often, heaviest first.

        None is missing. Others are among them only when what the sketch knows does not rule them out.
        """
        found = self._heavy(share, self._clock.start_of(length, now))[0]
        return dict(sorted(found.items(), key=lambda pair: (-pair[1], pair[0])))

    def hierarchical_heavy_hitters(
        self, share: float, length: int | None = None, *, now: int | None = None
    ) -> dict[tuple[int, int], float]:
        """The prefixes with at least this share of all arrivals after what their heavy parts have is taken off.

        A prefix is named (prefix, bits), as 10.0.0.0/8 is (10, 8) of addresses of 32 bits; (0, 0) stands for all keys.
        The value is what is left of it, off by what each of the counts it is made of is off.

        >>> sketch = DyadicEcm.for_query(0.1, 0.01, bits=8, window=SlidingWindow(3600))
        >>> sketch.update_many([7] * 40 + list(range(16, 32)) * 2 + list(range(100, 128)), range(100))
        >>> sketch.hierarchical_heavy_hitters(0.25)
        {(7, 8): 40.0, (1, 4): 32.0, (3, 3): 28.0}
        """
        start = self._clock.start_of(length, now)
        return not_below(self._heavy(share, start), share_of(share, self._tables[-1].total(start)), self.bits)

    def to_bytes(self) -> bytes:
        """The sketch as bytes: the same arrivals give the same bytes, however they were handed over."""
        writer, lineage = Writer(), self._lineage
        write_window(writer, lineage.window)
        writer.integers(lineage.bits, lineage.seed, list(_CELLS).index(lineage.counter))
        write_shape(writer, lineage.shape)
        self._clock.write(writer)
        for table in self._tables:
            table.cells.write(writer, self.now)
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The sketch that ``to_bytes`` wrote: it answers the same and goes on the same. DataError if damaged."""
        reader = open_sealed(data, cls.KIND)
        length, by, bits, seed, counter = reader.integers(5)
        window, shape = read_window(length, by), read_shape(reader)
        if not 1 <= bits <= _BITS_MOST or not 0 <= counter < len(_CELLS):
            raise damaged("its shape is none")
        heights = _heights(shape, bits)
        if heights * shape.depth * shape.width + 2 ** (bits - heights) > reader.left:
            raise damaged("it has more cells than bytes")
        try:
            made = cls(window=window, shape=shape, bits=bits, seed=seed, counter=list(_CELLS)[counter])
        except OptionError as error:
            raise damaged("its shape is none") from error
        made._clock.read(reader)
        for table in made._tables:
            table.cells.read(reader, made.now)
        reader.done()
        if len({table.cells.levels for table in made._tables}) > 1:
            raise damaged("its heights were not merged alike")
        return made

    def __repr__(self) -> str:
        return f"DyadicEcm({self._lineage}, levels={self.levels})"

    @property
    def _counters(self) -> list[Cells]:
        return [table.cells for table in self._tables]

    @classmethod
    def _assembled(cls, lineage: DyadicEcmLineage, clock: Clock, counters: list[Cells]) -> Self:
        made = cls(
            window=lineage.window, shape=lineage.shape, bits=lineage.bits, seed=lineage.seed, counter=lineage.counter
        )
        made._clock = clock
        made._tables = [Table(cells, table.words) for cells, table in zip(counters, made._tables, strict=True)]
        return made

    def _cells(self, depth: int, width: int) -> BucketCells:
        lineage, shape = self._lineage, self._lineage.shape
        return _CELLS[lineage.counter](
            depth=depth, width=width, length=lineage.window.length, epsilon=shape.epsilon_window, delta=0.0, seed=0
        )

    @property
    def _window_error(self) -> float:
        return self._tables[0].cells.error

    def _nodes(self, height: int, prefixes: Iterable[int], start: int) -> FloatArray:
        return self._tables[height].estimates(np.array(list(prefixes), dtype=np.uint64), start)

    def _heavy(self, share: float, start: int) -> list[dict[int, float]]:
        """Of each height the nodes that may have this share of all, with their estimates."""
        doubt = min(2 * self._window_error, 0.9)
        check_threshold(share, self._lineage.shape.epsilon_cells * (1 + doubt) / (1 - doubt) if self.heights else 0.0)
        threshold = max(share_of(share, self._tables[-1].total_bounds(start)[0]), 0.5)
        found: list[dict[int, float]] = []
        level = self._tables[-1].whole(start)[0]
        most = self._tables[-1].bounds(np.arange(len(level), dtype=np.uint64), start)[1]
        while True:
            (kept,) = np.nonzero(most >= threshold)
            found.append(dict(zip(kept.tolist(), level[kept].tolist(), strict=True)))
            if len(level) == 1:
                break
            level, most = level.reshape(-1, 2).sum(axis=1), most.reshape(-1, 2).sum(axis=1)
        for height in reversed(range(self.heights)):
            parents = np.array(sorted(found[0]), dtype=np.uint64)
            children = np.repeat(parents * np.uint64(2), 2)
            children[1::2] += np.uint64(1)
            children = children[self._tables[height].bounds(children, start)[1] >= threshold]
            counts = self._tables[height].estimates(children, start)
            found.insert(0, dict(zip(children.tolist(), counts.tolist(), strict=True)))
        return found


def _heights(shape: Shape, bits: int) -> int:
    """How many heights, from the keys on, have more prefixes than an array has cells."""
    return max(0, bits - ((shape.depth * shape.width).bit_length() - 1))
