"""How many arrivals are in a sliding window, by a sample of them: the randomized wave (seed, sections 4.2 and 5.2).

``random_wave_cells`` says how it works and why it is right.

Gibbons and Tirthapura, Distributed streams algorithms for sliding windows, 2002.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from tacit.sketches.clock import Clock, Times
from tacit.sketches.counts import Counts, check_counts, exact_sum
from tacit.sketches.hashing import check_seed, row_words
from tacit.sketches.parameters import check_share
from tacit.sketches.random_wave_cells import RandomWaveCells
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.sketch import Sketch, check_lineage
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import DataError, IntArray, MergeError, OptionError, WordArray

__all__ = ["RandomizedWave"]

KIND = 6
_ONLY = np.zeros(1, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class RandomizedWaveLineage:
    """What two randomized waves must have in common to be merged; their sources must differ."""

    window: SlidingWindow
    epsilon: float
    delta: float
    seed: int


class RandomizedWave(Sketch):
    """Arrivals in any last part of a window, right up to epsilon times their number, except with probability delta.

    While few enough came, the count is exact. ``source`` names the stream: waves of different streams must have
    different ones, so that their samples are independent. Then they merge without loss: the merged wave answers
    exactly as if it had seen all streams. A window by rows counts the rows whose bit is 1; such waves do not merge.

    An arrival that comes late is counted at the latest time seen, and ``late`` says how many did. A large count at one
    time is drawn at once: how many of its arrivals have which level has the same distribution, but is not what one by
    one would have drawn.

    >>> wave = RandomizedWave(window=SlidingWindow(60), epsilon=0.1, delta=0.05)
    >>> wave.update_many([1, 2, 30, 70])
    >>> wave.estimate(), wave.estimate(10), wave.lower_bound(), wave.upper_bound(), wave.estimate(now=100)
    (2.0, 1.0, 2.0, 2.0, 1.0)
    >>> wave.update(71, 10**9)
    >>> 0.9e9 <= wave.estimate(5) <= 1.1e9
    True
    """

    def __init__(self, *, window: SlidingWindow, epsilon: float, delta: float, seed: int = 0, source: int = 0) -> None:
        check_share("epsilon", epsilon)
        check_share("delta", delta)
        self.window, self.epsilon, self.delta, self.seed = window, float(epsilon), float(delta), check_seed(seed)
        self._clock = Clock(window)
        self._cells = RandomWaveCells(
            depth=1,
            width=1,
            length=window.length,
            epsilon=self.epsilon,
            delta=self.delta,
            seed=self.seed,
            source=source,
        )

    def __repr__(self) -> str:
        shape = f"window={self.window}, epsilon={self.epsilon}, delta={self.delta}, seed={self.seed}"
        return f"RandomizedWave({shape}, source={self.source})"

    @property
    def lineage(self) -> RandomizedWaveLineage:
        """What another one must have in common with this one to be merged with it."""
        return RandomizedWaveLineage(self.window, self.epsilon, self.delta, self.seed)

    @property
    def source(self) -> int:
        """Which stream this is; a merged wave has a new one, so that it can go on."""
        return self._cells.source

    @property
    def capacity(self) -> int:
        """How many arrivals of each level a range may have to be counted from that level on."""
        return self._cells.capacity

    @property
    def now(self) -> int:
        """The latest time seen, or how many rows came."""
        return self._clock.now

    @property
    def late(self) -> int:
        """How many updates came with a time before the latest one seen."""
        return self._clock.late

    def update(self, time: int | None = None, count: int = 1) -> None:
        """Count one arrival, or several at one time; by rows, one row whose bit is ``count``."""
        self.update_many(None if time is None else [time], [count])

    def update_many(self, times: Times | None = None, counts: Counts | None = None) -> None:
        """Count arrivals at these times, each once or as often as its count says; by rows, the bits of rows.

        >>> rows = RandomizedWave(window=SlidingWindow(3, by="rows"), epsilon=0.1, delta=0.05)
        >>> rows.update_many(counts=[1, 1, 0, 1])
        >>> rows.estimate(), rows.estimate(1)
        (2.0, 1.0)
        """
        stamps, late = self._clock.stamp(times, None if counts is None else len(counts))
        weights = check_counts(counts, len(stamps))
        if self.window.by == "rows" and weights is not None and len(weights) and int(weights.max()) > 1:
            raise DataError(f"a row of a window by rows counts 0 or 1, and {weights.max()} is given")
        if self._cells.arrivals + (len(stamps) if weights is None else exact_sum(weights)) > LONGEST:
            raise DataError("a randomized wave counts up to 2^60 arrivals, and these would be more")
        if not len(stamps):
            return
        self._cells.insert(_row(), np.zeros(len(stamps), dtype=np.uint64), stamps, _signed(weights))
        self._clock.now, self._clock.late = int(stamps[-1]), self._clock.late + late

    def advance(self, now: int) -> None:
        """Let time pass without an arrival (by rows: rows whose bit is 0)."""
        self._clock.now = self._clock.start_of(1, now) + 1

    def estimate(self, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals are in the last ``length`` of the window (all of it unless told) that ends now."""
        return float(self._cells.estimates(_ONLY, self._clock.start_of(length, now))[0])

    def lower_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """What the truth is at least: always when all are kept, else except with probability delta."""
        return float(self._cells.bounds(_ONLY, self._clock.start_of(length, now))[0][0])

    def upper_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """What the truth is at most: always when all are kept, else except with probability delta."""
        return float(self._cells.bounds(_ONLY, self._clock.start_of(length, now))[1][0])

    @classmethod
    def merge_all(cls, sketches: Sequence[Self]) -> Self:
        """A new wave of all streams, exactly as if it had seen them; each must have a source of its own.

        >>> left, right = (RandomizedWave(window=SlidingWindow(60), epsilon=0.1, delta=0.05) for _ in range(2))
        >>> left.update(5), right.update(6)
        (None, None)
        >>> left.merge(right)
        Traceback (most recent call last):
            ...
        tacit.vocabulary.errors.MergeError: two randomized waves with the source 0 drew the same levels, so their
        errors add up; make the wave of each stream with a source of its own
        """
        check_lineage(sketches)
        first = sketches[0]
        if first.window.by == "rows" and len(sketches) > 1:
            raise MergeError(
                "windows by rows cannot be merged: the order in which the rows of one stream came between those of "
                "the others is not kept; use a window by time"
            )
        now = max(sketch.now for sketch in sketches)
        merged = first._empty()
        merged._cells = RandomWaveCells.merged([sketch._cells for sketch in sketches], now - first.window.length)
        merged._clock.now, merged._clock.late = now, sum(sketch.late for sketch in sketches)
        return merged

    def to_bytes(self) -> bytes:
        """Its parameters and the times that are in the window."""
        writer = Writer()
        writer.integers(self.window.length, int(self.window.by == "rows"), self.seed, self.now, self.late)
        writer.floats(self.epsilon, self.delta)
        self._cells.write(writer, self.now)
        return seal(KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The wave that wrote these bytes; DataError when they were cut or changed."""
        reader = open_sealed(data, KIND)
        length, by_rows, seed, now, late = reader.integers(5)
        epsilon, delta = reader.floats(2)
        rows = by_rows == 1
        if not (1 <= length <= LONGEST and by_rows in (0, 1) and 0 < epsilon < 1 and 0 < delta < 1):
            raise damaged("its parameters are none")
        if not ((0 if rows else -LONGEST) <= now <= LONGEST and 0 <= late <= LONGEST):
            raise damaged("its time is none")
        window = SlidingWindow(length, by="rows" if rows else "time")
        try:
            wave = cls(window=window, epsilon=epsilon, delta=delta, seed=seed)
        except OptionError:
            raise damaged("its parameters are none") from None
        wave._cells.read(reader, now)
        reader.done()
        wave._clock.now, wave._clock.late = now, late
        return wave

    def _empty(self) -> Self:
        return type(self)(window=self.window, epsilon=self.epsilon, delta=self.delta, seed=self.seed)


def _row() -> WordArray:
    return row_words(0, 1)


def _signed(weights: WordArray | None) -> IntArray | None:
    return None if weights is None else weights.view(np.int64)
