"""How far a table's time has come at a site: its watermark.

It follows the newest row by a fixed delay. A table without new rows would hold up every watch on it, so one that is
idle goes by the wall clock, or, for data whose times are not now (recordings played again), by how far other sites are.
No clock is read here: now is an argument.

A wrong time must not run away with the clock, for time that has passed does not come back. Where time is now ("wall"),
rows ahead of now do not move it beyond now; they wait in their panes. Where it is not ("event"), rows are all there is
to go by; what an idle table borrows of the time of other sites is given back when rows come (site_agent.py).
"""

from __future__ import annotations

from collections.abc import Mapping

from tacit.runtime.blobs import Change, pack_record, unpack_record
from tacit.vocabulary import OptionError, ProtocolError
from tacit.vocabulary.calendar import DAY_US

__all__ = ["AHEAD_US", "TableClock"]

_KEY = "clock"
OLD_US = DAY_US
"""Rows that are older when a table is read for the first time were recorded; ``tacit init`` draws the same line."""

AHEAD_US = 60_000_000
"""Clocks differ; a row that is further ahead of now than this has a wrong time."""


class TableClock:
    """The watermark of one table; it never goes back. Times are microseconds since 1970, UTC.

    >>> clock = TableClock(delay_us=2, mode="wall", idle_us=10)
    >>> clock.saw(100)
    >>> clock.watermark(now_us=150), clock.watermark(now_us=150, idle_since_us=140)
    (98, 148)
    """

    def __init__(self, delay_us: int, mode: str = "wall", idle_us: int = 0) -> None:
        if delay_us < 0 or idle_us < 0:
            raise OptionError("a table's delay and the time after which it is idle are not below 0")
        if mode not in ("wall", "event"):
            raise OptionError(f"an idle table goes by 'wall' or 'event' time, not by {mode!r}")
        self.delay_us, self.mode, self.idle_us = delay_us, mode, idle_us
        self.max_time: int | None = None
        self._reached: int | None = None
        self._blob = b""
        self._saved = b""

    def saw(self, max_time: int | None) -> None:
        """The newest event time of a batch; None: it had none."""
        if max_time is not None:
            self.max_time = max_time if self.max_time is None else max(self.max_time, max_time)

    def watermark(self, now_us: int, idle_since_us: int | None = None) -> int | None:
        """Rows before this are not waited for; None: nothing is known yet."""
        candidates = [self._reached]
        if self.max_time is not None:
            newest = min(self.max_time, now_us) if self.mode == "wall" else self.max_time
            candidates.append(newest - self.delay_us)
        if self.mode == "wall" and self.is_idle(now_us, idle_since_us):
            candidates.append(now_us - self.delay_us)
        self._reached = max((each for each in candidates if each is not None), default=None)
        return self._reached

    @property
    def reached(self) -> int | None:
        """The last watermark."""
        return self._reached

    def is_idle(self, now_us: int, idle_since_us: int | None) -> bool:
        """Has there been no row for so long that time passes without rows?"""
        return idle_since_us is not None and now_us - idle_since_us >= self.idle_us

    def borrowed(self, now_us: int, idle_since_us: int | None, elsewhere_us: int | None) -> int | None:
        """How far the time of other sites leads an idle table with an event clock; None: not beyond its own.

        What is closed by it is provisional: rows that come later are not late for it.
        """
        if self.mode == "wall" or elsewhere_us is None or not self.is_idle(now_us, idle_since_us):
            return None
        led = min(elsewhere_us, now_us)
        return led if self._reached is None or led > self._reached else None

    def is_ahead(self, time_us: int, now_us: int) -> bool:
        """Has a row a time that is not to be believed? Only where time is now."""
        return self.mode == "wall" and time_us > now_us + AHEAD_US

    def is_old(self, newest_us: int, now_us: int) -> bool:
        """Are the first rows of the table, the newest of this time, a recording, though its time is to be now?"""
        return self.mode == "wall" and self.max_time is None and newest_us < now_us - OLD_US

    def seen(self, now_us: int) -> int | None:
        """The newest time of rows that were read, as far as it is to be believed: a new watch begins after it."""
        if self.max_time is None or not self.is_ahead(self.max_time, now_us):
            return self.max_time
        return now_us + AHEAD_US

    def changes(self) -> list[Change]:
        """What is to be written since the last ``saved``."""
        self._blob = pack_record({"max_time": self.max_time, "reached": self._reached})
        return [] if self._blob == self._saved else [Change(_KEY, self._blob)]

    def saved(self) -> None:
        """What ``changes`` gave last is on disk."""
        self._saved = self._blob

    def restore(self, saved: Mapping[str, bytes]) -> None:
        """Go on from what was saved; of nothing, begin."""
        if _KEY not in saved:
            return
        record = unpack_record(_KEY, saved[_KEY])
        if not isinstance(record, dict) or record.keys() != {"max_time", "reached"}:
            raise ProtocolError("the saved clock of a table is not one; delete this site's state and start again")
        self.max_time, self._reached = record["max_time"], record["reached"]
        self._saved = self._blob = saved[_KEY]
