"""Which arrivals count: the last so many ticks of time, or the last so many rows."""

from __future__ import annotations

from dataclasses import dataclass
from operator import index
from typing import Literal, SupportsIndex

from tacit.vocabulary import OptionError

__all__ = ["LONGEST", "SlidingWindow"]

LONGEST = 1 << 60
"""Times and lengths are whole numbers of at most this many ticks, so that their sums and differences fit 64 bits."""


@dataclass(frozen=True, slots=True)
class SlidingWindow:
    """The last ``length`` ticks (of whatever unit times are in), or the last ``length`` rows.

    At the time ``now`` a window of time holds the arrivals with now - length < time <= now.

    >>> SlidingWindow(3600), SlidingWindow(1000, by="rows")
    (SlidingWindow(length=3600, by='time'), SlidingWindow(length=1000, by='rows'))
    >>> SlidingWindow(0)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: a sliding window has a length of 1 to 2^60, and 0 is none
    """

    length: int
    by: Literal["time", "rows"] = "time"

    def __post_init__(self) -> None:
        if not isinstance(self.length, SupportsIndex) or not 1 <= index(self.length) <= LONGEST:
            raise OptionError(f"a sliding window has a length of 1 to 2^60, and {self.length} is none")
        object.__setattr__(self, "length", index(self.length))
        if self.by not in ("time", "rows"):
            raise OptionError(f"a sliding window is by time or by rows, and {self.by!r} is neither")
