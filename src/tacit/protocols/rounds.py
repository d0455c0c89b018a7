"""TOPiCo on the clock of panes: a period is a pane, and the coordinator carries what peers tell each other.

Peers have no streams to each other, so the coordinator is the wire between them: every site nominates its candidates at
the end of every pane, and is sent those of all others (a *circular*) before it goes on to the next. Rounds are aligned
so, as the protocol wants them, whoever is how late; a site that is away does not hold them up for longer than its
lease. The coordinator has an answer, too: it is one more peer, with nothing of its own.

``Exchange`` is the coordinator's half (a ``Resolver``), ``Nominator`` a site's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from tacit.protocols.claims import Claimant
from tacit.protocols.messages import HeartbeatAnswer, Leave, Message
from tacit.protocols.resolver import ListResolver
from tacit.protocols.topico import Candidates, Circular, Nomination, Peer
from tacit.protocols.topk.contest import Table
from tacit.protocols.topk.score_tables import Scores, ScoreTables
from tacit.vocabulary import Answer, ProtocolError, State
from tacit.vocabulary.batches import LARGEST

__all__ = ["Exchange", "Nominator"]

_NOBODY = -1


class Nominator(Claimant[Nomination]):
    """A site's half: every pane is reported with its candidates of every list, as long as there are any."""

    def __init__(
        self,
        site: int,
        table: Callable[[str], Table],
        k: int,
        *,
        expiry: int,
        begin: int = 0,
        session: int = 0,
    ) -> None:
        super().__init__(site, begin=begin, session=session)
        self._k, self._expiry = k, expiry
        self._tables = ScoreTables(table, begin)
        self._peers: dict[str, Peer] = {}
        self._spoken: set[str] = set()  # the lists of which it last nominated somebody

    def forget_zone(self) -> None:
        """A start: what others have nominated is lost; they do so again."""
        self._start_anew()
        self._peers, self._spoken = {}, set()

    def close_pane(
        self, pane: int, changed: Sequence[Scores], updates: int = 0, last: int | None = None
    ) -> tuple[Message, ...]:
        """The pane is complete and these scores are others now; the panes after it, up to ``last``, change nothing."""
        self._next_closed(pane)
        self._tables.close(pane, changed, updates, last)
        self.closed = self._tables.closed
        return self._go_on()

    def receive(self, message: Message) -> tuple[Message, ...]:
        """One transition."""
        match message:
            case Circular() if message.version > self.version or (
                message.version == self.version and self._blocked is not None and message.pane >= self._blocked.pane
            ):
                for each in message.candidates:
                    self._peer(each.list).receive(each)
                return self._zone_changed(message.version, message.pane - 1 if message.again else message.pane)
            case HeartbeatAnswer():
                self.final = max(self.final, message.final)
                self._tables.settle(min(self.final, self.closed))
            case Leave():
                return self._dismissed(message)
        return ()

    def answer(self, name: str = "") -> tuple[tuple[str, float], ...]:
        """The ranking as this peer knows it."""
        return self._peer(name).answer

    def _peer(self, name: str) -> Peer:
        if name not in self._peers:
            self._peers[name] = Peer(self.site, self._k, expiry=self._expiry)
        return self._peers[name]

    def _oldest(self) -> int:
        return self._tables.oldest

    def _holds(self, pane: int) -> bool:
        return self._tables.holds(pane)

    def _forget(self, pane: int) -> None:
        self._tables.settle(min(pane, self.closed))

    def _run(self, pane: int) -> int:
        return self._tables.run(pane)

    def _violation(self, pane: int) -> Nomination | None:
        self._tables.move(pane)
        made = []
        for name in sorted({*self._tables.lists, *self._peers}):
            candidates = self._peer(name).disseminate(pane, self._counts(name, pane), name=name)
            if candidates.keys or name in self._spoken:
                made.append(candidates)
        if not made:  # it holds nothing, and nobody believes that it does
            return None
        self._spoken = {each.list for each in made if each.keys}
        return Nomination(self.site, self._reports + 1, pane, self.version, tuple(made))

    def _counts(self, name: str, pane: int) -> dict[str, float]:
        """The counts of a list that may matter: there may be millions of objects with small ones."""
        table = self._tables.table(name)
        scores = table.values[: table.size]
        there = np.flatnonzero((scores > 0.0) & (table.counts[: table.size] > 0))
        threshold, peers, echoed = self._peer(name).wanted(pane)
        if len(there) > self._k and threshold > 0.0:
            counts = scores[there]
            last = -np.partition(-counts, self._k - 1)[self._k - 1]
            there = there[(counts >= last) | (counts * peers >= threshold)]
        found = {table.key(at): float(scores[at]) for at in there.tolist()}
        places = [(key, table.find(key)) for key in echoed if key not in found]
        return found | {key: float(scores[at]) for key, at in places if at >= 0 and table.counts[at] > 0}


class Exchange(ListResolver):
    """The coordinator's half: takes the nominations of a pane, and sends each site those of the others."""

    def __init__(self, k: int, sites: int, *, expiry: int, per: bool = False) -> None:
        super().__init__(sites)
        self._k, self._expiry, self.per = k, expiry, per
        self._known: dict[tuple[int, str], Candidates] = {}
        self._pane = 0
        self._lists: dict[str, dict[str, float]] | None = None

    @property
    def awaited(self) -> tuple[()]:
        """Nobody is asked: every site says every pane by itself."""
        return ()

    def check(self, message: Message) -> None:
        """ProtocolError for what is no nomination of this site at this pane."""
        if not isinstance(message, Nomination):
            raise ProtocolError(f"site {getattr(message, 'site', '?')} reports, and the watch is kept by topico")
        for each in message.candidates:
            if (each.site, each.pane) != (message.site, message.pane):
                raise ProtocolError(f"site {message.site} nominates in the name of site {each.site}")
            if not ((each.values >= 0.0) & (each.values <= LARGEST)).all():
                raise ProtocolError(f"site {message.site} nominates with counts that are none")
        names = [each.list for each in message.candidates]
        if len(set(names)) != len(names) or (not self.per and any(names)):
            raise ProtocolError(f"site {message.site} speaks of lists that the watch does not have")

    def resolve(self, pane: int, reports: Sequence[tuple[int, Nomination]]) -> tuple[Message, ...]:
        """All have nominated: everyone is sent what the others have."""
        self._pane, self._lists = pane, None
        for _, nomination in sorted(reports, key=lambda report: report[0]):
            self._known.update(((each.site, each.list), each) for each in nomination.candidates)
        self._expire()
        return tuple(
            self._circular(site, pane, [each for each in self._known.values() if each.pane == pane])
            for site, _ in sorted(reports, key=lambda report: report[0])
        )

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Who counts is another now: all go on from this pane, with what is known of the others."""
        self._pane, self._lists = pane, None
        self.full_syncs += 1
        counting = set(np.flatnonzero(self.roster).tolist())
        self._known = {place: each for place, each in self._known.items() if place[0] in counting}
        self._expire()
        return tuple(self._circular(site, pane, self._known.values(), again=True) for site in sorted(counting))

    def receive(self, message: object) -> tuple[()]:
        """Nobody is asked, so nothing is answered."""
        return ()

    def abandon(self) -> bool:
        """Nothing is ever under way."""
        return False

    def snapshot(self, site: int, pane: int) -> Circular:
        """What the others last nominated."""
        return Circular(site, int(self.versions[site]), pane, self._of_others(site, self._known.values()))

    def recompute(self) -> None:
        """What was nominated is not kept beyond a crash: sites nominate anew."""

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``."""
        if self._lists is None:
            peers: dict[str, Peer] = {}
            for (_, name), each in sorted(self._known.items()):
                peers.setdefault(name, Peer(_NOBODY, self._k, expiry=self._expiry)).receive(each)
            self._lists = {name: dict(peer.answer) for name, peer in peers.items() if peer.answer}
        return self.said(self._lists, pane, state, roster, stale, first)

    def words(self) -> str:
        """What is known, in words."""
        sites = {site for site, _ in self._known}
        entries = sum(len(each.keys) for each in self._known.values())
        return f"{len(sites)} sites have nominated {entries} candidates"

    def _circular(self, site: int, pane: int, known: Iterable[Candidates], *, again: bool = False) -> Circular:
        self.versions[site] += 1
        self.touched.add(site)
        return Circular(site, int(self.versions[site]), pane, self._of_others(site, known), again)

    def _of_others(self, site: int, known: Iterable[Candidates]) -> tuple[Candidates, ...]:
        return tuple(each for each in known if each.site != site)

    def _expire(self) -> None:
        """What a site nominated a window ago counts no more: it is silent."""
        self._known = {p: each for p, each in self._known.items() if each.pane > self._pane - self._expiry}
