"""What a site keeps of a stream of keys for its watches, tick by tick: one sketch, or all values.

A tick is a pane, or a microsecond where every event is a step. All that comes in one tick is taken at once, so that
what is kept follows from the ticks' contents alone, however they were put together.
Digests of values are in ``digest_stations.py``.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque

import numpy as np

from tacit.sketches.ecm import EcmSketch
from tacit.sketches.hashing import places_of, row_words
from tacit.sketches.parameters import Shape
from tacit.sketches.watching import folded
from tacit.sketches.window import SlidingWindow
from tacit.vocabulary import BoolArray, FloatArray, IntArray, WordArray

__all__ = ["CellStation", "SortedStation"]


class CellStation:
    """Keys in a sketch; its cells are read by every watch on them, each in its own shape and window.

    Keys that only some watches count (those of rows without a value) are in a sketch *apart*, made when the first of
    them comes; who counts them reads the sum of both.
    """

    def __init__(self, window: SlidingWindow, shape: Shape, *, seed: int) -> None:
        self.window, self.shape, self.seed = window, shape, seed
        self.sketch = EcmSketch(window=window, shape=shape, seed=seed)
        self.apart: EcmSketch | None = None
        self._rows = row_words(seed, shape.depth)

    @classmethod
    def of(cls, sketch: EcmSketch, apart: EcmSketch | None = None) -> CellStation:
        """The station of sketches that were kept."""
        station = cls(sketch.lineage.window, sketch.shape, seed=sketch.lineage.seed)
        station.sketch, station.apart = sketch, apart
        return station

    def take(self, words: WordArray, tick: int, apart: BoolArray | None = None) -> None:
        """These keys (as words) came at this tick; by rows the tick does not matter, and their order does.

        ``apart`` says which of them only some watches count; by rows none is told apart, as all take up room.
        """
        if self.window.by == "rows":
            self.sketch.update_words(words)
            return
        self.take_counts(words, np.ones(len(words), dtype=np.int64), tick, apart)

    def take_counts(self, words: WordArray, counts: IntArray, tick: int, apart: BoolArray | None = None) -> None:
        """So many rows of each of these keys came at this tick, in any order; a key may come twice."""
        if apart is not None and apart.any():
            if self.apart is None:
                self.apart = EcmSketch(window=self.window, shape=self.shape, seed=self.seed)
            _add(self.apart, words[apart], counts[apart], tick)
            words, counts = words[~apart], counts[~apart]
        _add(self.sketch, words, counts, tick)

    def cells(self, depth: int, width: int, length: int | None, tick: int, *, apart: bool = False) -> FloatArray:
        """The cells (depth * width) of the last ``length`` ticks (None: of the whole window), as of this tick.

        With ``apart`` also of the keys that only some watches count.
        """
        if self.window.by == "rows":
            return folded(self.sketch.cells(length), depth, width).ravel()
        found = self.sketch.cells(length, now=max(tick, self.sketch.now))
        if apart and self.apart is not None:
            found = found + self.apart.cells(length, now=max(tick, self.apart.now))
        return folded(found, depth, width).ravel()

    def places(self, words: WordArray, depth: int, width: int) -> IntArray:
        """Where the cells of keys are in what ``cells`` gives: (keys, depth)."""
        return places_of(words, self._rows[:depth], width)


def _add(sketch: EcmSketch, words: WordArray, counts: IntArray, tick: int) -> None:
    """What comes in one tick is taken in the order of its keys, each once, whatever order it came in."""
    if len(words) > 1:
        words, where = np.unique(words, return_inverse=True)
        counts = np.bincount(where, weights=counts, minlength=len(words)).astype(np.int64)
    if len(words):
        sketch.update_words(words, np.full(len(words), tick, dtype=np.int64), counts)


class SortedStation:
    """All values of the window, in order: for steps that are single events, of which digests would keep everything."""

    def __init__(self, length: int, points: int) -> None:
        self.length, self.points = length, points
        self._came: deque[tuple[int, float]] = deque()
        self._sorted: list[float] = []

    def take(self, values: FloatArray, tick: int) -> None:
        """These values came at this tick."""
        for value in values.tolist():
            self._came.append((tick, value))
            insort(self._sorted, value)

    def array(self, length: int | None, tick: int) -> FloatArray:
        """As of a digest station; what is older than ``length`` is forgotten for good."""
        least = tick - (self.length if length is None else length)
        while self._came and self._came[0][0] <= least:
            _, value = self._came.popleft()
            del self._sorted[bisect_left(self._sorted, value)]
        rows, out = len(self._sorted), np.zeros(self.points + 1)
        out[0] = rows
        if rows:
            at = np.ceil((np.arange(self.points) + 0.5) * (rows / self.points)).astype(np.int64) - 1
            out[1:] = [self._sorted[each] for each in at.tolist()]
        return out
