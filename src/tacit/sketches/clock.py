"""The time of a sketch: what arrives late is counted at the latest time, and what is asked starts inside the window.

A window by time is told the time of each arrival. One that is earlier than the latest time seen is counted at the
latest time: it is never lost, and ``late`` says how many there were. A window by rows counts its rows itself: each
arrival is the next row, whatever its count.

>>> clock = Clock(SlidingWindow(60))
>>> clock.take(3, [5, 9, 7])[0], clock.now, clock.late
(array([5, 9, 9]), 9, 1)
>>> clock.start_of(10, None), clock.start_of(10, 20)
(-1, 10)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tacit.sketches._kernels_clock import survey
from tacit.sketches.serial import Reader, Writer, damaged
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import DataError, IntArray, OptionError
from tacit.vocabulary.arrays import AnyArray

__all__ = ["Clock", "Times", "plain", "whole_numbers"]

Times = Sequence[int] | AnyArray
"""Many times or counts: whole numbers (an array of int64 is fastest)."""


class Clock:
    """The latest time seen, how many arrivals were late, and how many there were in all."""

    __slots__ = ("late", "now", "seen", "window")

    def __init__(self, window: SlidingWindow) -> None:
        if not isinstance(window, SlidingWindow):
            raise OptionError(f"the window of a sketch is a SlidingWindow, and {window!r} is none")
        self.window = window
        self.now = 0 if window.by == "rows" else -LONGEST
        self.late = 0
        self.seen = 0

    @property
    def horizon(self) -> int:
        """What came at this time or before has left the window."""
        return self.now - self.window.length

    def take(self, rows: int, times: Times | None, counts: Times | None = None) -> tuple[IntArray, IntArray | None]:
        """When and how often each of these rows is counted (None: once each); times never go back.

        An error changes nothing.
        """
        often = None if counts is None else whole_numbers("counts", counts, rows)
        added = rows if often is None else _sum(often)
        if self.seen + added > LONGEST:
            raise DataError("a sketch counts up to 2^60 arrivals, and these would be more")
        taken = self._number(rows, times) if self.window.by == "rows" else self._settle(rows, times)
        self.seen += added
        return taken, often

    def _number(self, rows: int, times: Times | None) -> IntArray:
        if times is not None:
            raise OptionError("a sliding window by rows counts its rows itself; leave the times out")
        self._check(self.now + rows)
        self.now += rows
        return np.arange(self.now - rows + 1, self.now + 1, dtype=np.int64)

    def _settle(self, rows: int, times: Times | None) -> IntArray:
        if times is None:
            raise OptionError("a sliding window by time needs the time of each arrival")
        given = whole_numbers("times", times, rows)
        if not rows:
            return given
        steps, magnitudes = survey(given)
        if magnitudes >= LONGEST:
            self._check(int(given.min()))
            self._check(int(given.max()))
        if steps < 0 or given[0] < self.now:
            settled = np.maximum.accumulate(np.maximum(given, self.now))
            self.late += int(np.count_nonzero(given < settled))
            given = settled
        self.now = int(given[-1])
        return given

    def advance(self, now: int) -> None:
        """Time passes; it never goes back."""
        self._check(now)
        self.now = max(self.now, int(now))

    def start_of(self, length: int | None, now: int | None) -> int:
        """Where a range begins: it holds what came after that. None is the whole window, and the latest time."""
        end = self.now if now is None else now
        self._check(end)
        if end < self.now:
            raise OptionError(f"a sketch answers for its latest time {self.now} or later, not for {end}")
        size = self.window.length if length is None else length
        if not isinstance(size, (int, np.integer)) or not 1 <= size <= self.window.length:
            raise OptionError(f"a range of this window has a length of 1 to {self.window.length}, and {size} is none")
        return int(end) - int(size)

    def merged(self, others: Iterable[Clock]) -> Clock:
        """The clock of all streams together."""
        together = Clock(self.window)
        for each in (self, *others):
            together.now = max(together.now, each.now)
            together.late += each.late
            together.seen += each.seen
        if together.seen > LONGEST:
            raise DataError("a sketch counts up to 2^60 arrivals, and these sketches have seen more")
        return together

    def write(self, writer: Writer) -> None:
        """The clock as whole numbers."""
        writer.integers(self.now, self.late, self.seen)

    def read(self, reader: Reader) -> None:
        """What ``write`` wrote."""
        self.now, self.late, self.seen = reader.integers(3)
        least = 0 if self.window.by == "rows" else -LONGEST
        if not (least <= self.now <= LONGEST and 0 <= self.late <= LONGEST and 0 <= self.seen <= LONGEST):
            raise damaged("its clock is none")

    @staticmethod
    def _check(time: int) -> None:
        if not isinstance(time, (int, np.integer)) or abs(int(time)) > LONGEST:
            raise DataError(f"a time of a sketch is a whole number between -2^60 and 2^60, and {time} is not")


def whole_numbers(what: str, values: Times, rows: int) -> IntArray:
    """The values as int64, one for each row.

    >>> whole_numbers("times", [1.5], 1)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: the times of a sketch are whole numbers, and float64 are given
    """
    if not hasattr(values, "__len__") or (isinstance(values, np.ndarray) and not values.ndim):
        raise DataError(f"the {what} of a sketch are a list or an array, and {values!r} is neither")
    try:
        given = np.asarray(values) if len(values) else np.zeros(0, dtype=np.int64)
    except ValueError:  # lists of several lengths
        raise DataError(f"the {what} of a sketch are whole numbers, and lists are given") from None
    if given.dtype.kind not in "iub":
        raise DataError(f"the {what} of a sketch are whole numbers, and {given.dtype} are given")
    if given.shape != (rows,):
        raise DataError(f"a sketch has {rows} rows and {what} of shape {given.shape} for them; give one for each row")
    if given.dtype.kind == "u" and rows and int(given.max()) > LONGEST:
        raise DataError(f"the {what} of a sketch are at most 2^60, and {given.max()} is more")
    return plain(given, np.int64)


def plain(values: AnyArray, kind: type[np.int64] | type[np.uint64]) -> AnyArray:
    """The values in one piece and changeable, as kernels are compiled for; a copy only where they are not."""
    made = np.ascontiguousarray(values, dtype=kind)
    return made if made.flags.writeable else made.copy()


def _sum(counts: IntArray) -> int:
    if not len(counts):
        return 0
    least, most = int(counts.min()), int(counts.max())
    if least < 0:
        raise DataError(f"a count of a sketch is 0 or more, and {least} is not")
    return int(counts.sum()) if most <= LONGEST // len(counts) else sum(map(int, counts))
