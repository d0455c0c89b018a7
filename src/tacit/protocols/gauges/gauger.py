"""A site's half of a value kept by gauges, on the clock of panes (claims.py has what sites of all kinds share).

The site keeps its arrays of the panes that are not settled yet. It reports its gauges of the first pane at which they
and its slack are beyond the limits, answers what it is asked as of a pane (its gauges in the first phase, its whole
array in the second), and takes what it is told. The messages are those of vectors: of the one group 0, the sums of a
report are gauges, those of a reply gauges or, if everything was asked for, the array.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.protocols.claims import Claimant
from tacit.protocols.gauges.gauge import Bearing, Gauge, told
from tacit.protocols.held import Held
from tacit.protocols.messages import (
    AdjustSlack,
    HeartbeatAnswer,
    Leave,
    Message,
    NewEstimate,
    Reply,
    Report,
    Request,
    Rows,
    Snapshot,
)
from tacit.vocabulary import FloatArray, ProtocolError

__all__ = ["ONLY", "Gauger", "padded", "row_of"]

ONLY = np.zeros(1, dtype=np.int64)
"""There is one group."""
_NO_WEIGHTS = np.empty(0)


def row_of(values: FloatArray) -> Rows:
    """These numbers as the row of the only group."""
    return Rows(ONLY, values.reshape(1, -1), _NO_WEIGHTS)


def padded(values: FloatArray, width: int) -> FloatArray:
    """These numbers, and zeros after them.

    >>> padded(np.array([1.0]), 3)
    array([1., 0., 0.])
    """
    return np.append(values, np.zeros(width - len(values)))


class Gauger(Claimant[Report]):
    """Pure machine: panes and messages in, messages out. Arrays are durable, what the coordinator told is not."""

    def __init__(
        self,
        site: int,
        gauge: Gauge,
        *,
        make: Callable[[int], FloatArray] | None = None,
        begin: int = 0,
        session: int = 0,
    ) -> None:
        """``make`` gives the array of a held pane again, to the bit: then memory need not hold them all."""
        self.gauge = gauge
        self._arrays: Held[FloatArray] = Held(lambda array: array.nbytes, make)
        super().__init__(site, begin=begin, session=session)
        self._forget_told()

    def _forget_told(self) -> None:
        self._bearing: Bearing | None = None
        self._collected: FloatArray = np.zeros(self.gauge.size)
        self.slack: FloatArray = np.zeros(self.gauge.gauges)

    def forget_zone(self) -> None:
        """A start: what a crash loses is what the coordinator told, and any report under way."""
        self._start_anew()
        self._forget_told()

    def close_pane(self, pane: int, array: FloatArray, last: int | None = None) -> tuple[Message, ...]:
        """The pane is complete and this is the array at its end; copied. Panes are closed in order.

        All panes up to ``last`` have the same array. After a gap (the site was away) the older panes are forgotten:
        what is held has no holes.
        """
        self._next_closed(pane)
        self._arrays.put(pane, np.array(array, dtype=np.float64).reshape(self.gauge.size), last)
        self.closed = pane if last is None else last
        return self._go_on()

    def jump(self, pane: int) -> None:
        """Nothing changed before this pane; older ones are not asked for any more."""
        super().jump(pane)
        self._arrays.clear()

    def receive(self, message: Message) -> tuple[Message, ...]:
        """One transition. What is not of the very next version changes nothing: a snapshot will come."""
        match message:
            case Request():
                return self._answer(message)
            case AdjustSlack() if message.version == self.version + 1 and self._bearing is not None:
                self.slack = self._one(message.slacks, self.gauge.gauges)
                return self._zone_changed(message.version, message.pane)
            case NewEstimate() if message.version == self.version + 1 and message.pane in self._arrays:
                self._take(message.estimates, self._arrays[message.pane], np.zeros(self.gauge.gauges))
                return self._zone_changed(message.version, message.pane)
            case Snapshot() if message.version >= self.version:
                return self._restore(message)
            case HeartbeatAnswer():
                self.final = max(self.final, message.final)
                self._arrays.forget(self.final)
            case Leave():
                return self._dismissed(message)
        return ()

    def gauges_at(self, pane: int) -> FloatArray:
        """The gauges of a pane, without slack."""
        assert self._bearing is not None
        return self.gauge.read(self._bearing, self._arrays[pane], self._collected)

    def _answer(self, request: Request) -> tuple[Message, ...]:
        if request.pane not in self._arrays:
            return (self.hello(),)
        if not len(request.groups):
            return (Reply(self.site, request.number, request.pane, row_of(self._arrays[request.pane])),)
        if self._bearing is None:
            return ()  # our hello says so, and a snapshot comes
        return (Reply(self.site, request.number, request.pane, row_of(self.gauges_at(request.pane))),)

    def _take(self, rows: FloatArray, collected: FloatArray, slack: FloatArray) -> None:
        self._bearing = told(self.gauge, self._one(rows, 1 + self.gauge.gauges + self.gauge.numbers))
        self._collected, self.slack = collected.copy(), slack

    def _restore(self, snapshot: Snapshot) -> tuple[Message, ...]:
        if snapshot.version == self.version and self.silent >= snapshot.pane and self._blocked is None:
            return ()
        gauge, told_of = self.gauge, 1 + self.gauge.gauges + self.gauge.numbers
        wide = max(told_of, gauge.size)
        collected = self._one(snapshot.collected.sums, wide)[: gauge.size]
        slack = self._one(snapshot.slacks, wide)[: gauge.gauges]
        self._take(self._one(snapshot.estimates, wide)[None, :told_of], collected, slack)
        return self._zone_changed(snapshot.version, snapshot.pane)

    def _one(self, table: FloatArray, numbers: int) -> FloatArray:
        if table.shape != (1, numbers) or not np.isfinite(table).all():
            raise ProtocolError(f"the coordinator told site {self.site} numbers that do not fit its watch")
        return np.asarray(table[0])

    def _oldest(self) -> int:
        oldest = self._arrays.oldest
        return self.closed + 1 if oldest is None else oldest

    def _holds(self, pane: int) -> bool:
        return pane in self._arrays

    def _run(self, pane: int) -> int:
        return self._arrays.run(pane)

    def _forget(self, pane: int) -> None:
        self._arrays.forget(pane)

    def _violation(self, pane: int) -> Report | None:
        assert self._bearing is not None  # else it would have no version
        gauges = self.gauges_at(pane)
        if (gauges + self.slack <= self._bearing.limits).all():
            return None
        return Report(self.site, self._reports + 1, pane, self.version, row_of(gauges))
