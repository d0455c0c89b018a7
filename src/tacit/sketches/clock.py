"""The time of a sketch over a window: it never goes back, and what comes late is counted at the latest time seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import DataError, IntArray, OptionError
from tacit.vocabulary.arrays import AnyArray

__all__ = ["Clock", "Times"]

Times = Sequence[int] | AnyArray


class Clock:
    """``now`` is the latest time seen, or how many rows came; ``late`` is how many arrivals came late."""

    def __init__(self, window: SlidingWindow) -> None:
        self.window = window
        self.now = 0 if window.by == "rows" else -LONGEST
        self.late = 0

    def stamp(self, times: Times | None, size: int | None) -> tuple[IntArray, int]:
        """The time of each arrival and how many of them are late; the clock does not move yet."""
        if self.window.by == "rows":
            if times is not None:
                raise OptionError("a window by rows counts rows; leave the times out")
            return np.arange(self.now + 1, self.now + 1 + (size or 0)), 0
        if times is None:
            raise OptionError("a window by time needs the time of each arrival; give the times")
        given = np.asarray(times)
        if given.ndim != 1 or (given.dtype.kind not in "iu" and given.size):
            raise DataError(f"times are whole numbers, and {given.dtype} of shape {given.shape} is given")
        if given.size and (int(given.min()) < -LONGEST or int(given.max()) > LONGEST):
            raise DataError("times are whole numbers of -2^60 to 2^60, and one of these is not; use a later origin")
        if size is not None and len(given) != size:
            raise DataError(f"there is one time for each of {size} arrivals, and {len(given)} are given")
        stamped = np.maximum.accumulate(np.maximum(given.astype(np.int64), self.now))
        return stamped, int((stamped != given).sum())

    def start_of(self, length: int | None, now: int | None) -> int:
        """The time after which arrivals count for a query."""
        asked = self.now if now is None else now
        if not self.now <= asked <= LONGEST:
            raise OptionError(
                f"this sketch has seen the time {self.now}, and {asked} is before it; ask for it or later"
            )
        if length is not None and not 1 <= length <= self.window.length:
            raise OptionError(f"a query is for 1 to {self.window.length} of the window, and {length} is not")
        return asked - (self.window.length if length is None else length)
