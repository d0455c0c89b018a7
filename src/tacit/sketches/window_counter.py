"""What exponential histograms and deterministic waves have in common: a count over a sliding window, and its verbs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from tacit.sketches.cells import Cells
from tacit.sketches.clock import Clock, Times
from tacit.sketches.hashing import row_words
from tacit.sketches.parameters import check_share
from tacit.sketches.serial import Writer, damaged, open_sealed, seal
from tacit.sketches.window import SlidingWindow
from tacit.sketches.windowed import WindowedSketch
from tacit.vocabulary import OptionError

__all__ = ["CounterLineage", "WindowCounter", "read_window", "write_window"]

_ONLY = np.zeros(1, dtype=np.int64)
_WORDS = row_words(0, 1)


@dataclass(frozen=True, slots=True)
class CounterLineage:
    """What two counters must have in common to be merged."""

    window: SlidingWindow
    epsilon: float


class WindowCounter(WindowedSketch):
    """One counter over a sliding window; which kind is said by the class that inherits."""

    KIND: ClassVar[int]
    CELLS: ClassVar[type[Cells]]
    _cells: Cells

    def __init__(self, *, window: SlidingWindow, epsilon: float) -> None:
        check_share("epsilon", epsilon)
        self._clock = Clock(window)
        self._cells = self.CELLS(depth=1, width=1, length=window.length, epsilon=float(epsilon), delta=0.0, seed=0)

    @property
    def lineage(self) -> CounterLineage:
        """What another counter must have in common with this one to be merged with it."""
        return CounterLineage(self._clock.window, self.epsilon)

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
        """How often counters were merged, one above the other, to make this one."""
        return self._cells.levels

    @property
    def epsilon(self) -> float:
        """The relative error of a counter that was not merged."""
        return self._cells.epsilon

    @property
    def error(self) -> float:
        """The relative error that is guaranteed now: (1 + epsilon)^(levels + 1) - 1."""
        return self._cells.error

    @property
    def nbytes(self) -> int:
        """Bytes in memory."""
        return self._cells.nbytes

    def update(self, time: int | None = None, count: int = 1) -> None:
        """``count`` arrivals at this time; in a window by rows the next row, which counts so often, and no time."""
        self.update_many(None if time is None else [time], [count])

    def update_many(self, times: Times | None = None, counts: Times | None = None) -> None:
        """Arrivals at these times, each ``counts`` times (once if left out).

        In a window by rows there are no times: each of the counts is a row, and 0 or False one that does not count.
        """
        given = counts if times is None else times
        if given is None:
            raise OptionError("update_many needs the times of arrivals, or in a window by rows their counts")
        rows = len(given) if hasattr(given, "__len__") else 0
        taken, often = self._clock.take(rows, times, counts)
        # In a sketch of one cell each key has that cell, so any words will do as keys.
        self._cells.insert(_WORDS, taken.view(np.uint64), taken, often)

    def advance(self, now: int) -> None:
        """Time passes without arrivals (or so many rows in all have passed)."""
        self._clock.advance(now)

    def estimate(self, length: int | None = None, *, now: int | None = None) -> float:
        """How many arrivals there were in (now - length, now]: the whole window and the latest time if left out."""
        return float(self._cells.estimates(_ONLY, self._clock.start_of(length, now))[0])

    def lower_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """There were at least so many arrivals; always holds."""
        return float(self._cells.bounds(_ONLY, self._clock.start_of(length, now))[0][0])

    def upper_bound(self, length: int | None = None, *, now: int | None = None) -> float:
        """There were at most so many arrivals; always holds."""
        return float(self._cells.bounds(_ONLY, self._clock.start_of(length, now))[1][0])

    def to_bytes(self) -> bytes:
        """The counter as bytes: the same arrivals give the same bytes, however they were handed over."""
        writer = Writer()
        write_window(writer, self._clock.window)
        writer.floats(self.epsilon)
        self._clock.write(writer)
        self._cells.write(writer, self.now)
        return seal(self.KIND, writer)

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """The counter that ``to_bytes`` wrote: it answers the same and goes on the same. DataError if damaged."""
        reader = open_sealed(data, cls.KIND)
        window = read_window(*reader.integers(2))
        (epsilon,) = reader.floats(1)
        try:
            made = cls(window=window, epsilon=epsilon)
        except OptionError as error:
            raise damaged("it has an error that no counter has") from error
        made._clock.read(reader)
        made._cells.read(reader, made.now)
        reader.done()
        return made

    @property
    def _counters(self) -> list[Cells]:
        return [self._cells]

    @classmethod
    def _assembled(cls, lineage: CounterLineage, clock: Clock, counters: list[Cells]) -> Self:
        made = cls(window=lineage.window, epsilon=lineage.epsilon)
        made._clock, made._cells = clock, counters[0]
        return made

    def __repr__(self) -> str:
        return f"{type(self).__name__}(window={self._clock.window}, epsilon={self.epsilon}, levels={self.levels})"


def write_window(writer: Writer, window: SlidingWindow) -> None:
    """A window as two whole numbers."""
    writer.integers(window.length, int(window.by == "rows"))


def read_window(length: int, by: int) -> SlidingWindow:
    """What ``write_window`` wrote."""
    if by not in (0, 1):
        raise damaged("its window is none")
    try:
        return SlidingWindow(length, by="rows" if by else "time")
    except OptionError as error:
        raise damaged("its window is none") from error
