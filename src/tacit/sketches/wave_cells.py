"""Cells that are deterministic waves: arrays for all of them, and the kernels that work on these."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np

from tacit.sketches._kernels_wave import (
    bounds_wave,
    build_wave,
    count_wave,
    grow_wave,
    insert_wave,
    log_wave,
    sizes_wave,
)
from tacit.sketches.cells import BucketCells, Logs
from tacit.sketches.parameters import Counter
from tacit.vocabulary import IntArray, WordArray

__all__ = ["WaveCells"]

_SMALLEST_BUFFER = 128
_MANY_CELLS = 2048  # more do not stay in a cache near enough for large buffers to pay


class WaveCells(BucketCells):
    """The counters of ``deterministic_wave``, one in each cell."""

    counter: ClassVar[Counter] = "wave"

    def __init__(
        self, *, depth: int, width: int, length: int, epsilon: float, delta: float = 0.0, seed: int = 0
    ) -> None:
        super().__init__(depth=depth, width=width, length=length, epsilon=epsilon, delta=delta, seed=seed)
        levels = self._singles.shape[1].bit_length()
        self._slots = np.zeros((levels, depth * width, self._keep), dtype=np.int64)

    @property
    def _keep(self) -> int:
        """How many each level keeps: a power of two."""
        return max(4, 1 << math.ceil(1 / (2 * self.epsilon)).bit_length())

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return sum(each.nbytes for each in (self._singles, self._tails, self._slots, self._gone, self._first))

    def insert(self, words: WordArray, keys: WordArray, times: IntArray, counts: IntArray | None) -> None:
        """One store for each row; see ``_kernels_wave``."""
        at, width = 0, np.uint64(self.width)
        while counts is None and at < len(keys) * self.depth:
            at, tight = insert_wave(
                keys, times, at, words, width, self.length,
                self._singles, self._tails, self._slots, self._gone, self._first,
            )  # fmt: skip
            if tight:
                self._grow()
        while counts is not None and at < len(keys):
            spare = np.empty((2, 1 + self._keep * (len(self._slots) + 3)), dtype=np.int64)
            at, tight = count_wave(
                keys, times, counts, at, words, width, self.length,
                self._singles, self._tails, self._slots, self._gone, self._first, spare[0], spare[1],
            )  # fmt: skip
            if tight:
                self._grow()

    def _grow(self) -> None:
        old = self._slots
        self._slots = np.zeros((len(old) + 1, *old.shape[1:]), dtype=np.int64)
        grow_wave(self._gone, old, self._slots)

    def _room(self) -> int:
        if self.depth * self.width > _MANY_CELLS:
            return 2 * self._keep
        return max(_SMALLEST_BUFFER, 8 * self._keep)

    def _bounds(self, which: IntArray, start: int) -> tuple[IntArray, IntArray]:
        lower, upper = np.empty(len(which), dtype=np.int64), np.empty(len(which), dtype=np.int64)
        bounds_wave(which, start, self._singles, self._tails, self._slots, self._gone, self._first, lower, upper)
        return lower, upper

    def buckets(self, horizon: int) -> tuple[Logs, IntArray]:
        """The buckets that have not expired, and when the first arrival of each cell came."""
        cells = len(self._gone)
        logs, starts = Logs.empty(cells, cells * self._keep * (len(self._slots) + 3)), np.empty(cells, dtype=np.int64)
        log_wave(
            horizon, self._singles, self._tails, self._slots, self._gone, self._first,
            logs.offsets, logs.times, logs.sizes, starts,
        )  # fmt: skip
        return logs.cut(), starts

    def _sizes(self, totals: IntArray, logs: Logs) -> bool:
        return bool(sizes_wave(totals, logs.offsets, self._keep, logs.sizes) == 0)

    def _raise_to(self, live: int) -> None:
        levels = len(self._slots)
        while live > (self._keep - 2) << (levels - 1):
            levels += 1
        self._slots = np.zeros((levels, *self._slots.shape[1:]), dtype=np.int64)

    def _build(self, totals: IntArray, starts: IntArray, logs: Logs, *, between: bool) -> None:
        build_wave(
            totals, starts, logs.offsets, logs.times, logs.sizes, between,
            self._singles, self._tails, self._slots, self._gone, self._first,
        )  # fmt: skip
