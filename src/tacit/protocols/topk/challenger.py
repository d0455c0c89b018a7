"""A site's half of a ranking, on the clock of panes (claims.py has what it shares with sites of vectors).

A pane is checked by what it changed, as long as the adjustments of a list stay and its scores only move on; after
anything else the whole list is looked at. The coordinator's questions are answered as of the pane that they name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.protocols.claims import Claimant
from tacit.protocols.messages import HeartbeatAnswer, Leave, Message
from tacit.protocols.topk.contest import Contest, Table
from tacit.protocols.topk.messages import Challenge, Inquiry, Ranking, Showing
from tacit.protocols.topk.score_tables import Scores, ScoreTables

__all__ = ["Challenger"]


class Challenger(Claimant[Challenge]):
    """Pure machine: panes and messages in, messages out. Scores are durable, what the coordinator told is not."""

    def __init__(
        self,
        site: int,
        table: Callable[[str], Table],
        *,
        begin: int = 0,
        session: int = 0,
        relief: int = 20,
    ) -> None:
        super().__init__(site, begin=begin, session=session)
        self._relief = relief
        self.lists: dict[str, Contest] = {}
        self._tables = ScoreTables(table, begin)
        self._dirty = self._tables.touched  # lists of which all is to be looked at
        self._plain: dict[str, int] = {}  # lists whose violations are told plainly, at this pane

    def forget_zone(self) -> None:
        """A start: what a crash loses is what the coordinator told, and any report under way."""
        self._start_anew()
        self._forget_told()

    def contest(self, name: str) -> Contest:
        """The list of this name; one that nobody has spoken of is closed and empty."""
        if name not in self.lists:
            self.lists[name] = Contest(name, self._tables.table(name), relief=self._relief)
            self._dirty.add(name)
        return self.lists[name]

    def close_pane(
        self, pane: int, changed: Sequence[Scores], updates: int = 0, last: int | None = None
    ) -> tuple[Message, ...]:
        """The pane is complete and these scores are others now; so many rows came or went.

        The panes after it, up to ``last``, change nothing. Panes are closed in order. After a gap (the site was away)
        older panes cannot be asked for any more.
        """
        self._next_closed(pane)
        self._tables.close(pane, changed, updates, last)
        for each in changed:
            self.contest(each.list)
        self.closed = self._tables.closed
        return self._go_on()

    def receive(self, message: Message) -> tuple[Message, ...]:
        """One transition. What is not of the very next version changes nothing: a snapshot will come."""
        match message:
            case Inquiry():
                return self._show(message)
            case Ranking() if message.whole and message.version >= self.version:
                return self._restore(message)
            case Ranking() if message.version == self.version + 1 and self._holds(message.pane):
                return self._told(message)
            case HeartbeatAnswer():
                self.final = max(self.final, message.final)
                self._tables.settle(min(self.final, self.closed))
            case Leave():
                return self._dismissed(message)
        return ()

    def _show(self, inquiry: Inquiry) -> tuple[Message, ...]:
        if not self._holds(inquiry.pane):
            return (self.hello(),)
        if inquiry.version not in (0, self.version):
            return ()  # our heartbeats say what we hold, and a snapshot comes
        self._tables.move(inquiry.pane)
        shown = tuple(self.contest(sought.list).show(sought) for sought in inquiry.lists)
        return (Showing(self.site, inquiry.number, inquiry.pane, self._tables.updates(inquiry.pane), shown),)

    def _told(self, ranking: Ranking) -> tuple[Message, ...]:
        for ranked in ranking.lists:
            self.contest(ranked.list).install(ranked)
            self._dirty.add(ranked.list)
            if ranked.plain:
                self._plain[ranked.list] = ranking.pane
        return self._zone_changed(ranking.version, ranking.pane - 1 if ranking.again else ranking.pane)

    def _restore(self, ranking: Ranking) -> tuple[Message, ...]:
        """All that the coordinator has to say, unless that is known."""
        granted = ranking.pane - 1 if ranking.again else ranking.pane
        if ranking.version == self.version and self.silent >= granted and self._blocked is None:
            return ()
        self._forget_told()
        return self._told(ranking)

    def _forget_told(self) -> None:
        for contest in self.lists.values():
            contest.forget()
        self._dirty.update(self.lists)

    # Panes

    def _oldest(self) -> int:
        return self._tables.oldest

    def _holds(self, pane: int) -> bool:
        return self._tables.holds(pane)

    def _run(self, pane: int) -> int:
        return self._tables.run(pane)

    def _forget(self, pane: int) -> None:
        self._tables.settle(min(pane, self.closed))

    def _violation(self, pane: int) -> Challenge | None:
        """Look at what the pane changed, and at all of the lists that must be looked at as a whole."""
        for name in [name for name, at in self._plain.items() if at < pane]:
            del self._plain[name]
            self.lists[name].plain = False
        self._tables.step_to(pane)
        violated = {name for name in self._dirty if self.contest(name).look()}
        for scores in self._tables.changed(pane):
            if scores.list not in self._dirty and self.lists[scores.list].look_at(scores.places):
                violated.add(scores.list)
        self._dirty.intersection_update(violated)
        self._dirty.update(violated)  # they are looked at again, whatever is told of them
        if not violated:
            return None
        shown = tuple(self.lists[name].challenge() for name in sorted(violated))
        return Challenge(self.site, self._reports + 1, pane, self.version, self._tables.updates(pane), shown)
