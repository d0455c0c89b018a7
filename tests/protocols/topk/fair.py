"""Sites and a coordinator joined by lists, all answered at once: the twin that judges the top-k protocol."""

from __future__ import annotations

from collections import Counter, defaultdict

import numpy as np

from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.contest import Contest
from tacit.protocols.topk.messages import Challenge, Inquiry, Ranking, Showing
from tacit.protocols.topk.objects import Objects
from tacit.protocols.topk.ranker import Ranker

__all__ = ["Fair"]

ROUNDS_MOST = 100


class Fair:
    """``update`` changes scores; after ``settle`` the set must be valid, and both invariants hold."""

    def __init__(self, rules: Rules, sites: int, *, relief: int = 20) -> None:
        self.rules, self.ranker, self._relief = rules, Ranker(rules, sites), relief
        self.sites: list[dict[str, Contest]] = [{} for _ in range(sites)]
        self.truth: dict[str, Counter[str]] = defaultdict(Counter)
        self.rows: dict[str, Counter[str]] = defaultdict(Counter)
        self.sent: Counter[str] = Counter()
        self.entries: list[int] = []
        self.updates = [0] * sites
        self.pane = 0

    def contest(self, site: int, name: str) -> Contest:
        if name not in self.sites[site]:
            self.sites[site][name] = Contest(name, Objects(), relief=self._relief)
        return self.sites[site][name]

    def update(self, site: int, key: str, score: float, rows: int = 1, name: str = "") -> None:
        table = self.contest(site, name).table
        assert isinstance(table, Objects)
        table.change(key, score, rows)
        self.truth[name][key] += score  # type: ignore[assignment]
        self.rows[name][key] += rows
        self.updates[site] += 1

    def settle(self) -> None:
        """Resolve until everyone is silent; then judge."""
        self.pane += 1
        for _ in range(ROUNDS_MOST):
            said = {
                site: tuple(contest.challenge() for _, contest in sorted(lists.items()) if contest.violated())
                for site, lists in enumerate(self.sites)
                if self.ranker.available[site]
            }
            said = {site: lists for site, lists in said.items() if lists}
            if not said:
                break
            for site, lists in said.items():
                self._count(Challenge(site, 1, self.pane, 0, self.updates[site], lists))
            messages = self.ranker.start(self.pane, said, {site: self.updates[site] for site in said})
            while messages and isinstance(messages[0], Inquiry):
                messages = self._ask(messages)  # type: ignore[arg-type]
            assert not self.ranker.awaited
            for message in messages:
                assert isinstance(message, Ranking)
                self._count(message)
                for ranked in message.lists:
                    if self.ranker.available[message.site]:
                        self.contest(message.site, ranked.list).install(ranked)
        else:
            raise AssertionError("the resolution does not end")
        for lists in self.sites:
            for contest in lists.values():
                contest.plain = False
        if self.ranker.available.all():
            self.judge()

    def away(self, site: int) -> None:
        """Nobody can reach the site."""
        self.ranker.available[site] = False

    def back(self, site: int) -> None:
        """It is there again, and is told all that it needs."""
        self.ranker.available[site] = True
        for ranked in self.ranker.snapshot(site, self.pane).lists:
            self.contest(site, ranked.list).install(ranked)

    def search(self) -> None:
        """Begin anew, as when the roster changes."""
        messages = self.ranker.collect_all(self.pane)
        while messages and isinstance(messages[0], Inquiry):
            messages = self._ask(messages)  # type: ignore[arg-type]
        for message in messages:
            for ranked in message.lists:  # type: ignore[union-attr]
                if self.ranker.available[message.site]:
                    self.contest(message.site, ranked.list).install(ranked)  # type: ignore[arg-type]
        if not self.ranker.available.all():
            return
        self.judge()
        assert not any(contest.violated() for lists in self.sites for contest in lists.values())

    def judge(self) -> None:
        for name, truth in self.truth.items():
            there = {key for key, count in self.rows[name].items() if count > 0}
            members = set(self.ranker.members(name))
            assert members <= there, f"{members - there} are not there"
            assert len(members) == min(self.rules.k, len(there))
            least = min((truth[key] for key in members), default=0.0)
            most = max((truth[key] for key in there - members), default=-np.inf)
            slop = 1e-9 * sum(map(abs, truth.values())) if not self.rules.quantum else 0.0
            assert least + self.rules.epsilon >= most - slop, (members, dict(truth))
            if self.rules.ranked < np.inf:
                for key, score in self.ranker.scores(name).items():
                    assert abs(score - truth[key]) <= self.rules.ranked + slop
            self._judge_invariants(name)

    def _judge_invariants(self, name: str) -> None:
        standings = self.ranker.list_named(name)
        deltas = standings.deltas[: len(standings)]
        size = 1e-9 * (1.0 + np.abs(deltas).max(initial=0.0))
        assert (np.abs(deltas.sum(axis=1)) <= size).all()
        member = standings.member[: len(standings)]
        outside = ~member if standings.open else ~member & standings.known[: len(standings)]
        least = deltas[member, 0].min(initial=np.inf) + self.rules.epsilon
        assert least >= deltas[outside, 0].max(initial=0.0 if standings.open else -np.inf) - size
        for site, lists in enumerate(self.sites):
            if name in lists:
                contest = lists[name]
                assert contest.open == standings.open or not len(standings)
                for row, key in enumerate(standings.keys):
                    at = contest.table.find(key)
                    told = 0.0 if at < 0 else contest.table.deltas[at]
                    assert told == standings.deltas[row, site + 1]

    def _ask(self, inquiries: tuple[Inquiry, ...]) -> tuple[Inquiry | Ranking, ...]:
        answers: tuple[Inquiry | Ranking, ...] = ()
        for inquiry in inquiries:
            self._count(inquiry)
            lists = tuple(self.contest(inquiry.site, sought.list).show(sought) for sought in inquiry.lists)
            showing = Showing(inquiry.site, inquiry.number, self.pane, self.updates[inquiry.site], lists)
            self._count(showing)
            answers = self.ranker.receive(showing)
        return answers

    def _count(self, message: Challenge | Inquiry | Showing | Ranking) -> None:
        self.sent[type(message).__name__] += 1
        if not isinstance(message, Inquiry):
            self.entries += [len(each.keys if hasattr(each, "keys") else each.entries) for each in message.lists]
