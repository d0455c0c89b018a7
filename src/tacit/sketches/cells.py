"""What a sketch over a sliding window has in each of its cells: one protocol, whatever counts there.

A ``Cells`` holds the counters of all cells at once, so that one kernel serves them all; cell number = row * width +
column. Counters that keep buckets in order (``BucketCells``: exponential histograms and deterministic waves) are merged
and written alike, through their *logs*: for each cell the ends and sizes of its buckets, newest first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches._kernels_append import LONG_AGO
from tacit.sketches._kernels_logs import halve, live_most, merge_lists, oldest_of, times_from_gaps, times_to_gaps
from tacit.sketches.parameters import Counter, merged_error
from tacit.sketches.serial import Reader, Writer, damaged
from tacit.sketches.window import LONGEST
from tacit.vocabulary import FloatArray, IntArray, OptionError, WordArray

__all__ = ["BucketCells", "Cells", "Logs", "merge_logs"]

_LARGEST = 1 << 27


class Cells(ABC):
    """The window counters of a sketch, ``depth`` rows of ``width``; what each verb must do is said with it."""

    counter: ClassVar[Counter]

    def __init__(self, *, depth: int, width: int, length: int, epsilon: float, delta: float, seed: int) -> None:
        self.depth, self.width, self.length = depth, width, length
        self.epsilon, self.delta, self.seed = epsilon, delta, seed
        self.levels = 0

    @abstractmethod
    def insert(self, words: WordArray, keys: WordArray, times: IntArray, counts: IntArray | None) -> None:
        """Arrivals of these keys. Times never go back, not behind what was inserted before either; it never fails."""

    @abstractmethod
    def estimates(self, which: IntArray, start: int) -> FloatArray:
        """How many arrivals these cells had after ``start``, which is not before the window."""

    @abstractmethod
    def bounds(self, which: IntArray, start: int) -> tuple[FloatArray, FloatArray]:
        """At least and at most how many."""

    @classmethod
    @abstractmethod
    def merged(cls, parts: Sequence[Self], horizon: int) -> Self:
        """The cells of all streams together, one level above the parts; what came by the horizon is gone."""

    @abstractmethod
    def write(self, writer: Writer, now: int) -> None:
        """The counters as they are at this time: the same arrivals give the same bytes."""

    @abstractmethod
    def read(self, reader: Reader, now: int) -> None:
        """What ``write`` wrote, into cells that are new. DataError when it cannot have been written."""

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes in memory."""

    @property
    def error(self) -> float:
        """The relative error of a cell now."""
        return merged_error(self.epsilon, self.levels)

    def empty(self, *, cells: int | None = None) -> Self:
        """New cells of the same kind: as many, or one row of so many."""
        depth, width = (self.depth, self.width) if cells is None else (1, cells)
        return type(self)(
            depth=depth, width=width, length=self.length, epsilon=self.epsilon, delta=self.delta, seed=self.seed
        )


@dataclass(slots=True)
class Logs:
    """The buckets of each cell that have not expired, newest first: offsets[cell]:offsets[cell + 1] are of one cell."""

    offsets: IntArray
    times: IntArray
    sizes: IntArray

    @classmethod
    def empty(cls, cells: int, room: int) -> Logs:
        """Room for so many buckets."""
        return cls(np.zeros(cells + 1, np.int64), np.empty(room, np.int64), np.empty(room, np.int64))

    def cut(self) -> Logs:
        """Only what is filled."""
        return Logs(self.offsets, self.times[: self.offsets[-1]], self.sizes[: self.offsets[-1]])


class BucketCells(Cells):
    """Cells whose counters keep buckets in order. Their answers depend on the arrivals alone, not on how they came."""

    def __init__(self, *, depth: int, width: int, length: int, epsilon: float, delta: float, seed: int) -> None:
        super().__init__(depth=depth, width=width, length=length, epsilon=epsilon, delta=delta, seed=seed)
        cells, room = depth * width, self._room()
        if cells * room > _LARGEST:
            raise OptionError(
                f"a sketch of {depth} rows of {width} cells with a window error of {epsilon} needs more than a gigabyte"
                "; allow a larger error"
            )
        self._singles = np.zeros((cells, room), dtype=np.int64)
        self._tails = np.arange(0, cells * room, room, dtype=np.uint64)
        self._gone = np.zeros(cells, dtype=np.int64)
        self._first = np.full(cells, LONG_AGO, dtype=np.int64)

    @property
    def totals(self) -> IntArray:
        """All arrivals of each cell, ever."""
        starts = np.arange(0, self._singles.size, self._singles.shape[1], dtype=np.int64)
        return self._gone + self._tails.astype(np.int64) - starts

    def estimates(self, which: IntArray, start: int) -> FloatArray:
        """The middle of the bounds that the buckets give: half of a bucket that is partly in the range."""
        lower, upper = self._around(which, start)
        return np.asarray((lower + upper) * 0.5, dtype=np.float64)

    def bounds(self, which: IntArray, start: int) -> tuple[FloatArray, FloatArray]:
        """What the buckets say, widened by what merging may have moved: a factor of 1 + or - epsilon for each level."""
        lower, upper = self._around(which, start)
        if self.levels == 0:
            return lower.astype(np.float64), upper.astype(np.float64)
        least = np.ceil(lower * ((1 + self.epsilon) ** -self.levels * (1 - 1e-12)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            most = np.floor(upper / ((1 - self.epsilon) ** self.levels * (1 - 1e-12)))
        return least, np.where(upper > 0, most, 0.0)

    @classmethod
    def merged(cls, parts: Sequence[Self], horizon: int) -> Self:
        """Half of each bucket at its end, half at its start (Theorem 4 of the seed), then counted again at once."""
        made = parts[0].empty()
        made.levels = 1 + max(part.levels for part in parts)
        made.count(merge_logs([part.events(horizon) for part in parts]))
        return made

    def events(self, horizon: int) -> Logs:
        """What is counted of these cells when they are merged: half of each bucket at its end, half at its start."""
        logs, starts = self.buckets(horizon)
        events = Logs.empty(len(starts), len(logs.times) + len(starts))
        halve(logs.offsets, logs.times, logs.sizes, starts, horizon, events.offsets, events.times, events.sizes)
        return events.cut()

    def count(self, events: Logs) -> None:
        """Into cells that are new: the events of all that they are merged from."""
        totals, starts = np.empty(len(self._gone), np.int64), np.empty(len(self._gone), np.int64)
        live = live_most(events.offsets, events.sizes, totals)
        oldest_of(events.offsets, events.times, starts)
        self._raise_to(int(live))
        self._build(totals, starts, events, between=True)

    def restore(self, totals: IntArray, starts: IntArray, logs: Logs) -> None:
        """Into cells that are new: the buckets of others that had so many arrivals, the first at starts."""
        live = np.empty(len(totals), dtype=np.int64)
        self._raise_to(int(live_most(logs.offsets, logs.sizes, live)))
        self._build(totals, starts, logs, between=False)

    def write(self, writer: Writer, now: int) -> None:
        """Of each cell: all arrivals, when the first came if that has not expired, how many buckets, their ends."""
        logs, starts = self.buckets(now - self.length)
        totals, counts = self.totals, np.diff(logs.offsets)
        known = (totals > 0) & (starts > now - self.length)
        gaps = np.empty(len(logs.times), dtype=np.uint64)
        times_to_gaps(logs.offsets, logs.times, now, gaps)
        writer.integers(self.levels)
        for values in (totals, np.where(known, now + 1 - starts, 0), counts):
            writer.words(values.astype(np.uint64))
        writer.words(gaps)

    def read(self, reader: Reader, now: int) -> None:
        """The sizes of buckets follow from the number of arrivals; all else is checked."""
        cells = len(self._gone)
        (self.levels,) = reader.integers(1)
        totals, codes, counts, gaps = (reader.words() for _ in range(4))
        if not 0 <= self.levels <= LONGEST or any(len(each) != cells for each in (totals, codes, counts)):
            raise damaged("it has too few cells or too many")
        if max(int(totals.max()), int(codes.max()), int(counts.max())) > LONGEST or int(counts.sum()) != len(gaps):
            raise damaged("its cells hold more than they can")
        logs = Logs.empty(cells, len(gaps))
        np.cumsum(counts.astype(np.int64), out=logs.offsets[1:])
        whole = totals.astype(np.int64)
        fits = times_from_gaps(logs.offsets, gaps, now, now - self.length, logs.times) == 0
        if not fits or not self._sizes(whole, logs):
            raise damaged("its buckets do not fit its window")
        live = np.empty(cells, dtype=np.int64)
        live_most(logs.offsets, logs.sizes, live)
        starts = np.where(codes > 0, now + 1 - codes.astype(np.int64), LONG_AGO)
        oldest = np.empty(cells, dtype=np.int64)
        oldest_of(logs.offsets, logs.times, oldest)
        filled = np.diff(logs.offsets) > 0
        single = np.zeros(cells, dtype=np.bool_)
        single[filled] = logs.sizes[logs.offsets[1:][filled] - 1] == 1
        complete = filled & (live == whole)
        wrong = (codes > 0) & (~complete | (starts <= now - self.length) | (starts > oldest))
        if wrong.any() or (complete & single & (starts != oldest)).any():
            raise damaged("its first arrivals do not fit its buckets")
        self.restore(whole, starts, logs)

    def _around(self, which: IntArray, start: int) -> tuple[IntArray, IntArray]:
        """What the buckets say. A merged one of two or more may end after the start and have nothing there."""
        lower, upper = self._bounds(which, start)
        return (lower - (upper > lower) if self.levels else lower), upper

    @abstractmethod
    def _room(self) -> int:
        """How many single arrivals the buffer of a cell holds: a power of two."""

    @abstractmethod
    def _bounds(self, which: IntArray, start: int) -> tuple[IntArray, IntArray]:
        """What the buckets say of these cells."""

    @abstractmethod
    def buckets(self, horizon: int) -> tuple[Logs, IntArray]:
        """The buckets that have not expired, and when the first arrival of each cell came."""

    @abstractmethod
    def _sizes(self, totals: IntArray, logs: Logs) -> bool:
        """Fill in the sizes; False when some cell cannot have so many buckets."""

    @abstractmethod
    def _raise_to(self, live: int) -> None:
        """Enough levels for so many arrivals in one cell; only while it is empty."""

    @abstractmethod
    def _build(self, totals: IntArray, starts: IntArray, logs: Logs, *, between: bool) -> None:
        """Fill the cells: they had so many arrivals in all, the first at starts, the newest as the logs say.

        With ``between`` buckets of two or more end between their newest arrival and the next, else at their newest.
        """


def merge_logs(lists: list[Logs]) -> Logs:
    """The lists of all as one; the list of them is empty afterwards, and what is merged is not kept meanwhile."""
    while len(lists) > 1:
        pairs = [_merge(lists.pop(), lists.pop()) for _ in range(len(lists) // 2)]
        lists += pairs
    return lists.pop()


def _merge(one: Logs, two: Logs) -> Logs:
    made = Logs.empty(len(one.offsets) - 1, len(one.times) + len(two.times))
    merge_lists(
        one.offsets, one.times, one.sizes, two.offsets, two.times, two.sizes, made.offsets, made.times, made.sizes
    )
    return made.cut()
