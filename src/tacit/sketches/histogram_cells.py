"""Cells that are exponential histograms: arrays for all of them, and the kernels that work on these."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit.sketches._kernels_histogram import (
    bounds_histogram,
    build_histogram,
    count_histogram,
    fits,
    grow_histogram,
    insert_histogram,
    log_histogram,
    sizes_histogram,
)
from tacit.sketches.cells import BucketCells, Logs
from tacit.sketches.parameters import Counter
from tacit.vocabulary import IntArray, WordArray

__all__ = ["HistogramCells"]

_SMALLEST_BUFFER = 128
_MANY_CELLS = 2048  # more do not stay in a cache near enough for large buffers to pay


class HistogramCells(BucketCells):
    """The counters of ``exponential_histogram``, one in each cell."""

    counter: ClassVar[Counter] = "histogram"

    def __init__(
        self, *, depth: int, width: int, length: int, epsilon: float, delta: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__(depth=depth, width=width, length=length, epsilon=epsilon, delta=delta, seed=seed)
        self._narrow = False
        self._ends = np.zeros((1, depth * width, self._ends_room()), dtype=np.int64)
        self._fill = np.zeros((1, depth * width), dtype=np.int64)

    @property
    def _keep(self) -> int:
        return math.ceil(1 / self.epsilon)

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        arrays = (self._singles, self._tails, self._ends, self._fill, self._gone, self._first)
        return sum(each.nbytes for each in arrays)

    def insert(self, words: WordArray, keys: WordArray, times: IntArray, counts: IntArray | None) -> None:
        """One store for each row; see ``_kernels_histogram``."""
        if self._narrow:
            self._widen()
        at, width = 0, np.uint64(self.width)
        while counts is None and at < len(keys) * self.depth:
            at, full = insert_histogram(
                keys, times, at, words, width, self.length, self._keep,
                self._singles, self._tails, self._ends, self._fill, self._gone, self._first,
            )  # fmt: skip
            if full:
                self._grow()
        while counts is not None and at < len(keys):
            spare = np.empty((2, 1 + self._singles.shape[1] + self._ends[:, 0].size), dtype=np.int64)
            at, full = count_histogram(
                keys, times, counts, at, words, width, self.length, self._keep,
                self._singles, self._tails, self._ends, self._fill, self._gone, self._first, spare[0], spare[1],
            )  # fmt: skip
            if full:
                self._grow()

    def _widen(self) -> None:
        """Cells that were read or merged have room for their buckets alone, as most are only asked: make more."""
        singles, ends = self._singles, self._ends
        cells, narrow = singles.shape
        self._singles = np.zeros((cells, self._room()), dtype=np.int64)
        self._singles[:, :narrow] = singles
        self._tails += (np.arange(cells) * (self._room() - narrow)).astype(np.uint64)
        self._ends = np.zeros((*ends.shape[:2], self._ends_room()), dtype=np.int64)
        self._ends[:, :, : ends.shape[2]] = ends
        self._narrow = False

    def _grow(self) -> None:
        old = self._ends
        self._ends = np.zeros((len(old) + 1, *old.shape[1:]), dtype=np.int64)
        self._fill = np.concatenate([self._fill, np.zeros((1, self._fill.shape[1]), dtype=np.int64)])
        grow_histogram(old, self._ends, self._fill, self._gone)

    def _room(self) -> int:
        if self.depth * self.width > _MANY_CELLS:
            return 1 << (self._keep + 7).bit_length()
        return max(_SMALLEST_BUFFER, 1 << (4 * self._keep + 7).bit_length())

    def _ends_room(self) -> int:
        """How many ends a level above the lowest has room for: what the one below may hand it, and what it keeps."""
        return (self._room() - self._keep) // 2 + (self._keep + 1) // 2 + 4

    def _bounds(self, which: IntArray, start: int) -> tuple[IntArray, IntArray]:
        lower, upper = np.empty(len(which), dtype=np.int64), np.empty(len(which), dtype=np.int64)
        bounds_histogram(
            which, start, self._keep, self._singles, self._tails, self._ends, self._fill, self._gone, self._first,
            lower, upper,
        )  # fmt: skip
        return lower, upper

    def buckets(self, horizon: int) -> tuple[Logs, IntArray]:
        """The buckets that have not expired, and when the first arrival of each cell came."""
        held = int((self.totals - self._gone).sum() + self._fill.sum())
        logs, starts = Logs.empty(len(self._gone), held), np.empty(len(self._gone), dtype=np.int64)
        log_histogram(
            horizon, self._keep, self._singles, self._tails, self._ends, self._fill, self._gone, self._first,
            logs.offsets, logs.times, logs.sizes, starts,
        )  # fmt: skip
        return logs.cut(), starts

    def _sizes(self, totals: IntArray, logs: Logs) -> bool:
        return bool(sizes_histogram(totals, logs.offsets, self._keep, logs.sizes) == 0)

    def _raise_to(self, live: int) -> None:
        levels = len(self._fill)
        while not fits(live, levels, self._keep):
            levels += 1
        cells, self._narrow = len(self._gone), True
        self._singles = np.zeros((cells, 1 << self._keep.bit_length()), dtype=np.int64)
        self._ends = np.zeros((levels, cells, (self._keep + 1) // 2 + 1), dtype=np.int64)
        self._fill = np.zeros((levels, cells), dtype=np.int64)

    def _build(self, totals: IntArray, starts: IntArray, logs: Logs, *, between: bool) -> None:
        build_histogram(
            totals, starts, logs.offsets, logs.times, logs.sizes, between, self._keep,
            self._singles, self._tails, self._ends, self._fill, self._gone, self._first,
        )  # fmt: skip
