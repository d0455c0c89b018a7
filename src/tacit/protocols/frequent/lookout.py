"""A site's half of frequent keys, on the clock of panes (claims.py has what sites of all kinds share).

The site keeps the cells of its sketch of the panes that are not settled yet, and the names of its candidates. A pane is
silent while every candidate's count is what its allowance says: at most that for a key outside, at least that for one
inside. All candidates are compared at once, so that what expires costs no search.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tacit.protocols.claims import Claimant
from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.shares import OTHERS
from tacit.protocols.held import Held
from tacit.protocols.messages import HeartbeatAnswer, Leave, Message
from tacit.protocols.topk.messages import ALL, Challenge, Entries, Flag, Inquiry, Ranking, Showing, Shown, Sought
from tacit.vocabulary import FloatArray, ProtocolError

__all__ = ["Lookout"]


class Lookout(Claimant[Challenge]):
    """Pure machine: panes and messages in, messages out. Cells and names are durable, what was told is not."""

    def __init__(
        self,
        site: int,
        candidates: Candidates,
        *,
        make: Callable[[int], FloatArray] | None = None,
        begin: int = 0,
        session: int = 0,
    ) -> None:
        """``make`` gives the cells of a held pane again, to the bit: then memory need not hold them all."""
        self.candidates = candidates
        self._cells: Held[FloatArray] = Held(lambda cells: cells.nbytes, make)
        super().__init__(site, begin=begin, session=session)

    def forget_zone(self) -> None:
        """A start: what a crash loses is what the coordinator told, and any report under way."""
        self._start_anew()
        self.candidates.forget_told()

    def close_pane(
        self, pane: int, cells: FloatArray, seen: Sequence[str] = (), last: int | None = None
    ) -> tuple[Message, ...]:
        """The pane is complete with these cells; of the keys that came in it these have counts of at least the floor.

        All panes up to ``last`` have the same cells, and no key came in the others. Panes are closed in order. After a
        gap (the site was away) older panes cannot be asked for any more.
        """
        self._next_closed(pane)
        self._cells.put(pane, np.array(cells, dtype=np.float64).ravel(), last)
        self.candidates.note(seen)
        self.closed = pane if last is None else last
        if self._cells.whole:  # else names may be needed for panes that are not in memory
            self.candidates.tidy(self._cells)
        return self._go_on()

    def jump(self, pane: int) -> None:
        """Nothing changed before this pane; older ones are not asked for any more."""
        super().jump(pane)
        self._cells.clear()

    def receive(self, message: Message) -> tuple[Message, ...]:
        """One transition. What is not of the very next version changes nothing: a snapshot will come."""
        match message:
            case Inquiry():
                return self._show(message)
            case Ranking() if message.whole and message.version >= self.version:
                granted = message.pane - 1 if message.again else message.pane
                if message.version == self.version and self.silent >= granted and self._blocked is None:
                    return ()
                self.candidates.forget_told()
                return self._told(message)
            case Ranking() if message.version == self.version + 1 and self._holds(message.pane):
                return self._told(message)
            case HeartbeatAnswer():
                self.final = max(self.final, message.final)
                self._cells.forget(self.final)
            case Leave():
                return self._dismissed(message)
        return ()

    def _told(self, ranking: Ranking) -> tuple[Message, ...]:
        if len(ranking.lists) != 1:
            raise ProtocolError(f"the coordinator told site {self.site} of lists that its watch does not have")
        told = ranking.lists[0]
        flags = np.array(told.flags, dtype=np.int64)
        if not told.keys or told.keys[0] != OTHERS:
            raise ProtocolError(f"the coordinator told site {self.site} no allowance of keys that it does not name")
        self.candidates.tell_default(float(told.deltas[0]))
        inside, known = (flags & Flag.MEMBER) != 0, (flags & Flag.KNOWN) != 0
        self.candidates.tell(told.keys[1:], told.deltas[1:], inside[1:], known[1:])
        return self._zone_changed(ranking.version, ranking.pane - 1 if ranking.again else ranking.pane)

    def _show(self, inquiry: Inquiry) -> tuple[Message, ...]:
        if not self._holds(inquiry.pane):
            return (self.hello(),)
        cells = self._cells[inquiry.pane]
        shown = tuple(self._shown(sought, cells) for sought in inquiry.lists)
        return (Showing(self.site, inquiry.number, inquiry.pane, 0, shown),)

    def _shown(self, sought: Sought, cells: FloatArray) -> Shown:
        """The counts of these keys, with a depth of all that have more than ``relief``. The border is the floor."""
        keys = list(sought.keys)
        if sought.depth == ALL:
            there = np.flatnonzero(self.candidates.counts(cells) > sought.relief)
            asked = set(keys)
            keys += [key for at in there.tolist() if (key := self.candidates.keys[at]) not in asked]
        counts = self.candidates.counts_of(keys, cells)
        return Shown(sought.list, _entries(keys, counts), self.candidates.floor)

    def _oldest(self) -> int:
        oldest = self._cells.oldest
        return self.closed + 1 if oldest is None else oldest

    def _holds(self, pane: int) -> bool:
        return pane in self._cells

    def _run(self, pane: int) -> int:
        return self._cells.run(pane)

    def _forget(self, pane: int) -> None:
        self._cells.forget(pane)

    def _violation(self, pane: int) -> Challenge | None:
        cells = self._cells[pane]
        beyond = self.candidates.beyond(cells)
        if not len(beyond) and not self.candidates.short:
            return None
        keys = [self.candidates.keys[at] for at in beyond.tolist()]
        shown = Shown("", _entries(keys, self.candidates.counts_of(keys, cells)), self.candidates.floor)
        return Challenge(self.site, self._reports + 1, pane, self.version, 0, (shown,))


def _entries(keys: Sequence[str], counts: FloatArray) -> Entries:
    return Entries(tuple(keys), counts, np.ones(len(keys), dtype=np.bool_))
