"""The coordinator of top-k watches: resolves the violations of a pane, list by list, side by side.

Resolutions are serialised by panes: all that sites report at a pane is resolved before the next pane is looked at (the
seed's appendix A, with the pane in place of the epoch). What goes to one site in one round is one message.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tacit.protocols.topk.bout import Bout, Phase, Rules
from tacit.protocols.topk.messages import Inquiry, Ranking, Showing, Shown
from tacit.protocols.topk.standings import Standings
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError
from tacit.vocabulary.keys import key_order

__all__ = ["Ranker"]


class Ranker:
    """Messages in, messages out; knows nothing of clocks, leases or loss."""

    def __init__(self, rules: Rules, sites: int) -> None:
        self.rules = rules
        self.lists: dict[str, Standings] = {}
        self.roster: BoolArray = np.ones(sites, dtype=np.bool_)
        self.available: BoolArray = np.ones(sites, dtype=np.bool_)
        self.versions: IntArray = np.zeros(sites, dtype=np.int64)
        self.rates: FloatArray = np.zeros(sites)
        self.requests = 0
        self.full_syncs = 0
        self._pane = 0
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

    def abandon(self) -> None:
        """Forget the resolution under way."""
        self._bouts, self._awaited, self._shown = [], {}, {}

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
        bouts = {name: self._bout(name, reports) for name in sorted(by_list)}
        for name, bout in bouts.items():
            bout.check(by_list[name])  # all, before anything changes
        for name, bout in bouts.items():
            bout.challenged(by_list[name])
            self._bouts.append(bout)
        return self._go_on()

    def collect_all(self, pane: int, lists: Sequence[str] = ()) -> tuple[Inquiry | Ranking, ...]:
        """Begin anew with every list: ask all who are there."""
        self._idle()
        self._pane = pane
        for name in sorted({*self.lists, *lists}):
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
        return Ranking(site, int(self.versions[site]), pane, lists)

    def _bout(self, name: str, speaking: Iterable[int] = ()) -> Bout:
        """A resolution of a list; who speaks is there."""
        roster = np.flatnonzero(self.roster)
        available = sorted({*np.flatnonzero(self.available & self.roster).tolist(), *speaking})
        return Bout(self.rules, self.list_named(name), roster, available, self.rates)

    def _idle(self) -> None:
        if self._bouts:
            raise ProtocolError("a resolution is under way; the next one waits for its end")

    def _note_rates(self, updates: Mapping[int, int]) -> None:
        for site, count in updates.items():
            self.rates[site] = max(self.rates[site], float(count))

    def _go_on(self) -> tuple[Inquiry | Ranking, ...]:
        """Ask what must be asked; when nothing is left, tell what has changed."""
        self._shown = {}
        asked: dict[int, list[object]] = {}
        for bout in self._bouts:
            for site, sought in bout.needs().items():
                asked.setdefault(site, []).append(sought)
        if asked:
            for site in sorted(asked):
                self.requests += 1
                self._awaited[site] = Inquiry(site, self.requests, self._pane, tuple(asked[site]))  # type: ignore[arg-type]
            return tuple(self._awaited.values())
        told: dict[int, list[object]] = {}
        for bout in self._bouts:
            self.full_syncs += bout.asked_all
            for site, ranked in bout.told.items():
                told.setdefault(site, []).append(ranked)
        again = any(bout.again for bout in self._bouts)
        self._bouts = []
        messages = []
        for site in sorted(told):
            self.versions[site] += 1
            messages.append(Ranking(site, int(self.versions[site]), self._pane, tuple(told[site]), again))  # type: ignore[arg-type]
        return tuple(messages)
