"""The coordinator of top-k watches: resolves the violations of a pane, list by list, side by side.

Resolutions are serialised by panes: all that sites report at a pane is resolved before the next pane is looked at (the
seed's appendix A, with the pane in place of the epoch). What goes to one site in one round is one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tacit.protocols.messages import Message
from tacit.protocols.resolver import ListResolver
from tacit.protocols.topk.bout import OBJECTS_MOST, Bout, Phase, Rules
from tacit.protocols.topk.messages import Challenge, Inquiry, Ranked, Ranking, Showing, Shown, Sought
from tacit.protocols.topk.rules import check_numbers
from tacit.protocols.topk.standings import Standings
from tacit.vocabulary import Answer, FloatArray, ProtocolError, State
from tacit.vocabulary.keys import key_order

__all__ = ["Ranker"]

_BUSY = 8  # lists that may each know as many objects as one alone


class Ranker(ListResolver):
    """Messages in, messages out; knows nothing of clocks, leases or loss (a ``Resolver``).

    With ``per`` there are as many lists as sites have rows of; else there is one, without a name. What sites were told
    is not kept beyond a crash: all are asked anew then.
    """

    def __init__(self, rules: Rules, sites: int, *, per: bool = False) -> None:
        super().__init__(sites)
        self.rules, self.per = rules, per
        self.lists: dict[str, Standings] = {}
        self.rates: FloatArray = np.zeros(sites)
        self.objects = 0  # that are known of all lists
        self._pane = 0
        self._whole = False  # the resolution under way is a collection
        self._torn = False  # one was abandoned, and sites may not have been told what is known
        self._lists: dict[str, dict[str, float]] | None = None  # what is said, until a resolution changes it
        self._bouts: list[Bout] = []
        self._awaited: dict[int, Inquiry] = {}
        self._shown: dict[int, dict[str, Shown]] = {}

    @property
    def awaited(self) -> tuple[Inquiry, ...]:
        """The inquiries whose answers are missing."""
        return tuple(self._awaited.values())

    def list_named(self, name: str) -> Standings:
        """The standings of a list; one that nobody has spoken of is closed and empty."""
        if name not in self.lists:
            self.lists[name] = Standings(name, len(self.roster))
        return self.lists[name]

    def members(self, name: str = "") -> tuple[str, ...]:
        """The set, in the order of keys."""
        standings = self.list_named(name)
        return tuple(sorted(standings.keys[row] for row in standings.members.tolist()))

    def scores(self, name: str = "") -> dict[str, float]:
        """The members with their scores as far as they are known: exactly when last counted, or as closely as promised.

        The largest come first.
        """
        standings, sites = self.list_named(name), np.flatnonzero(self.roster)
        rows = standings.members
        found = zip(
            (standings.keys[row] for row in rows.tolist()),
            standings.shown[np.ix_(rows, sites)].sum(axis=1),
            strict=True,
        )
        return dict(
            sorted(((key, float(score)) for key, score in found), key=lambda pair: (-pair[1], key_order(pair[0])))
        )

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; not while a resolution is under way."""
        self._idle()
        more = sites - len(self.roster)
        super().grow(sites)
        if more > 0:
            self.rates = np.concatenate([self.rates, np.zeros(more)])
            for standings in self.lists.values():
                standings.grow_sites(sites)

    def abandon(self) -> bool:
        """Forget the resolution under way; some lists may have been settled that nobody was told of."""
        self._bouts, self._awaited, self._shown = [], {}, {}
        self._whole, self._torn = False, True
        return True

    def check(self, message: Message) -> None:
        """ProtocolError for what is no part of a ranking, or of a list that this one does not have."""
        if not isinstance(message, Challenge | Showing):
            raise ProtocolError(f"site {getattr(message, 'site', '?')} reports vectors, and the watch is a ranking")
        names = [shown.list for shown in message.lists]
        if len(set(names)) != len(names) or (not self.per and any(names)):
            raise ProtocolError(f"site {message.site} speaks of lists that the watch does not have")
        for shown in message.lists:
            check_numbers(message.site, shown)
            if self.rules.quantum and (shown.entries.values != np.rint(shown.entries.values)).any():
                self.rules = replace(self.rules, quantum=0.0)
        counts = message.site < len(self.versions)  # else it waits to be let in, and nothing was told to it
        if isinstance(message, Showing) or not counts or message.version != self.versions[message.site]:
            return  # it is held against the question, or overtaken
        if self._bouts or self._torn:
            return  # what it was told may not be what is known by now
        for shown in message.lists:
            known = self.lists.get(shown.list) or Standings(shown.list, len(self.roster))
            self._bout_of(known).check({message.site: shown})

    def resolve(self, pane: int, reports: Sequence[tuple[int, Challenge]]) -> tuple[Inquiry | Ranking, ...]:
        """Resolve what sites report at a pane."""
        return self.start(
            pane,
            {site: challenge.lists for site, challenge in reports},
            {site: challenge.updates for site, challenge in reports},
        )

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``: every list that has members."""
        if self._lists is None:
            self._lists = {name: scores for name in sorted(self.lists) if (scores := self.scores(name))}
        return self.said(self._lists, pane, state, roster, stale, first)

    def words(self) -> str:
        """The lists in words, for people."""
        open_ones = sum(standings.open for standings in self.lists.values())
        many = "none yet" if not self.lists else f"{len(self.lists)}, of which {open_ones} open"
        return f"{many}; objects that were in question: {self.objects}; everyone was asked {self.full_syncs} times"

    def recompute(self) -> None:
        """Nothing is kept of what sites were told: all are asked anew."""
        self._torn = True

    def start(
        self, pane: int, reports: Mapping[int, Sequence[Shown]], updates: Mapping[int, int]
    ) -> tuple[Inquiry | Ranking, ...]:
        """Resolve what sites report at a pane."""
        self._idle()
        for site in reports:
            if not 0 <= site < len(self.roster):
                raise ProtocolError(f"site {site} challenges, and there is no such site")
        self._pane = pane
        self._note_rates(updates)
        by_list: dict[str, dict[int, Shown]] = {}
        for site in sorted(reports):
            for shown in reports[site]:
                by_list.setdefault(shown.list, {})[site] = shown
        for name in sorted(by_list):
            bout = self._bout(name, reports)
            bout.challenged(by_list[name])
            self._bouts.append(bout)
        return self._go_on()

    def collect_all(self, pane: int) -> tuple[Inquiry | Ranking, ...]:
        """Begin anew with every list: ask all who are there.

        With ``per`` sites may have lists that nobody has spoken of; they check the pane again, and say so.
        """
        self._idle()
        self._pane, self._whole = pane, True
        for name in sorted(self.lists) if self.per else [""]:
            bout = self._bout(name)
            bout.search()
            self._bouts.append(bout)
        return self._go_on()

    def receive(self, showing: Showing) -> tuple[Inquiry | Ranking, ...]:
        """An answer to one of our inquiries; others (late, doubled) change nothing."""
        inquiry = self._awaited.get(showing.site)
        if inquiry is None or inquiry.number != showing.number:
            return ()
        wanted = {sought.list for sought in inquiry.lists}
        shown = {each.list: each for each in showing.lists}
        if set(shown) != wanted:
            raise ProtocolError(f"site {showing.site} showed other lists than it was asked for")
        for bout in self._bouts:
            if bout.phase is not Phase.DONE and bout.standings.name in shown:
                bout.check_answer(showing.site, shown[bout.standings.name])
        self._note_rates({showing.site: showing.updates})
        del self._awaited[showing.site]
        self._shown[showing.site] = shown
        if self._awaited:
            return ()
        for bout in self._bouts:
            if bout.phase is not Phase.DONE:
                name = bout.standings.name
                bout.take({site: each[name] for site, each in sorted(self._shown.items()) if name in each})
        return self._go_on()

    def snapshot(self, site: int, pane: int) -> Ranking:
        """All that a site needs to go on from this pane."""
        lists = tuple(standings.everything(site) for _, standings in sorted(self.lists.items()))
        return Ranking(site, int(self.versions[site]), pane, lists, whole=True)

    def _bout(self, name: str, speaking: Iterable[int] = ()) -> Bout:
        return self._bout_of(self.list_named(name), speaking)

    def _bout_of(self, standings: Standings, speaking: Iterable[int] = ()) -> Bout:
        """A resolution of a list; who speaks is there."""
        roster = np.flatnonzero(self.roster)
        available = sorted({*np.flatnonzero(self.available & self.roster).tolist(), *speaking})
        most = max(4 * self.rules.k, OBJECTS_MOST // max(1, len(self.lists) // _BUSY))
        return Bout(self.rules, standings, roster, available, self.rates, most)

    def _forget_if_empty(self, standings: Standings) -> None:
        """Of a list without objects sites know nothing that they would not think anyhow: it is closed and empty."""
        if self.per and standings.is_empty and standings.name in self.lists:
            self.objects -= len(standings)
            del self.lists[standings.name]

    def _idle(self) -> None:
        if self._bouts:
            raise ProtocolError("a resolution is under way; the next one waits for its end")

    def _note_rates(self, updates: Mapping[int, int]) -> None:
        for site, count in updates.items():
            self.rates[site] = max(self.rates[site], float(count))

    def _go_on(self) -> tuple[Inquiry | Ranking, ...]:
        """Ask what must be asked; when nothing is left, tell what has changed."""
        self._shown = {}
        asked: dict[int, list[Sought]] = {}
        for bout in self._bouts:
            for site, sought in bout.needs().items():
                asked.setdefault(site, []).append(sought)
        if asked:
            for site in sorted(asked):
                self.requests += 1
                version = 0 if self._whole else int(self.versions[site])
                self._awaited[site] = Inquiry(site, self.requests, self._pane, tuple(asked[site]), version)
            return tuple(self._awaited.values())
        told: dict[int, list[Ranked]] = {}
        for bout in self._bouts:
            self.objects += len(bout.standings) - bout.known
            self.full_syncs += bout.asked_all
            for site, ranked in bout.told.items():
                told.setdefault(site, []).append(ranked)
        again = any(bout.again for bout in self._bouts) or (self._whole and self.per)
        if self._whole:
            told = {site: told.get(site, []) for site in np.flatnonzero(self.roster).tolist()}
        messages = []
        for site in sorted(told):
            self.versions[site] += 1
            self.touched.add(site)
            version, named = int(self.versions[site]), tuple(told[site])
            messages.append(Ranking(site, version, self._pane, named, again, self._whole))
        for bout in self._bouts:
            self._forget_if_empty(bout.standings)
        self._torn = self._torn and not self._whole
        self._bouts, self._whole, self._lists = [], False, None
        return tuple(messages)
