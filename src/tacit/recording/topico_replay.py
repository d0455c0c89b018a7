"""Replays of rankings that peers keep among themselves (protocols/topico.py): what was sent, and how right it was.

A period is a pane. The observer looks several times a period, so that the age of what is known counts.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.protocols.topico import Candidates, Peer, kendall_distance, ranked
from tacit.recording.report import Report, heartbeats_of, step_notes
from tacit.recording.stream import Recording
from tacit.recording.topk_arrays import TopkRows, topk_rows
from tacit.recording.topk_engine import SetChange, TopkOutcome
from tacit.recording.topk_replay import TopkReplay, alerts_of_sets, centralised, pane_shipping
from tacit.recording.updates import updates_of
from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.errors import OptionError
from tacit.wire.topk_codec import topk_size

__all__ = ["Quality", "replay_topico"]

LOOKS = 5  # of the observer, in each period


@dataclass(slots=True)
class Quality:
    """Kendall distances to the truth, one for each look; entries sent, and entries of all that peers had."""

    distances: list[float]
    sent: int = 0
    everything: int = 0

    def as_dict(self) -> dict[str, float]:
        """As reports show it."""
        found = np.array(self.distances) if self.distances else np.zeros(1)
        return {
            "kendall_mean": round(float(found.mean()), 4),
            "kendall_max": round(float(found.max()), 4),
            "entries_sent": self.sent,
            "entries_of_everything": self.everything,
        }


def replay_topico(
    plan: WatchPlan,
    recording: Recording,
    *,
    gossip: int = 0,
    seed: int = 0,
    verify: bool = False,
    prepare_seconds: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> TopkReplay:
    """Replay a ranking among peers; with ``gossip`` each tells so many others, drawn anew each period, not all."""
    goal, window = plan.goal, plan.window
    assert isinstance(goal, Top)
    if window.kind != "time" or window.every.duration_us is None or window.duration_us is None:
        raise OptionError("topico counts the events of some time; write WINDOW LAST 15 SECONDS EVERY 5 SECONDS")
    if goal.ranked is not None or goal.within:
        raise OptionError("topico promises no error; leave WITHIN out")
    begin = clock.perf_counter()
    rows = topk_rows(plan, recording)
    expiry = max(1, -(-window.duration_us // window.every.duration_us))
    run = _Run(rows, recording, plan, expiry=expiry, gossip=gossip, dice=np.random.default_rng(seed), verify=verify)
    for pane, last in run.panes():
        run.step(pane)
        if progress is not None:
            progress(pane - run.first + 1, last - run.first + 1)
    seconds = clock.perf_counter() - begin
    updates = updates_of(recording, window, step="pane")
    ledger = run.outcome.ledger
    report = Report(
        watch=plan.name, protocol="gossip" if gossip else "topico", zone="", sites=rows.sites, updates=len(recording.t),
        panes=updates.panes, messages={"total": ledger.messages, "by_kind": ledger.by_kind()}, bytes=ledger.bytes,
        centralised=centralised(rows), pane_shipping=pane_shipping(plan, recording, rows), violations=0, full_syncs=0,
        alerts=alerts_of_sets(rows, run.times, run.outcome.changes),
        seconds={"prepare": round(prepare_seconds, 3), "replay": round(seconds, 3)}, step="pane", policy=None,
        form="sums", guarantee="the truth once counts stand still; an estimate while they move",
        heartbeats=heartbeats_of(plan.window, len(recording.sites), updates.panes),
        notes=step_notes(plan, "pane"), left_out=dict(recording.left_out), groups=len(rows.keys),
        entries={"mean": round(float(np.mean(run.outcome.entries)), 2), "max": max(run.outcome.entries)},
        quality=run.quality.as_dict() if verify else None,
    )  # fmt: skip
    return TopkReplay(report, run.outcome, rows, updates)


class _Run:
    """All peers of all lists, pane by pane."""

    def __init__(
        self, rows: TopkRows, recording: Recording, plan: WatchPlan, *, expiry: int, gossip: int,
        dice: np.random.Generator, verify: bool,
    ) -> None:  # fmt: skip
        self.rows, self.outcome, self.quality = rows, TopkOutcome(), Quality([])
        self._gossip, self._dice, self._verify = gossip, dice, verify
        self._pane_us, self._window_us = int(plan.window.every.duration_us or 1), int(plan.window.duration_us or 1)
        order, self._start = recording.by_site
        self._times = recording.t[order]  # site by site, as rows are
        self._by_time = np.argsort(self._times, kind="stable")
        self._k = rows.goal.k
        lists = len(rows.lists)
        self._peers = [[Peer(site, self._k, expiry=expiry) for site in range(rows.sites)] for _ in range(lists)]
        self._heard: list[list[dict[int, int]]] = [[{} for _ in range(rows.sites)] for _ in range(lists)]
        self.first = int(recording.t[0]) // self._pane_us
        self._last = int(recording.t[-1]) // self._pane_us
        self.times = (np.arange(self._last - self.first + 1) + self.first + 1) * self._pane_us
        self._said: dict[int, tuple[str, ...]] = {}
        self._number = {(int(name), key): k for k, (key, name) in enumerate(zip(rows.keys, rows.list_of, strict=True))}

    def panes(self) -> Iterator[tuple[int, int]]:
        """Every pane, and the last."""
        for pane in range(self.first, self._last + 1):
            yield pane, self._last

    def step(self, pane: int) -> None:
        """The end of a pane: everyone disseminates, and is judged until the next."""
        end = (pane + 1) * self._pane_us
        tables = [self._counts(site, end) for site in range(self.rows.sites)]
        for name, peers in enumerate(self._peers):
            said = [peer.disseminate(pane, tables[site].get(name, {})) for site, peer in enumerate(peers)]
            self.quality.sent += sum(len(each.keys) for each in said)
            self.quality.everything += sum(len(table.get(name, {})) for table in tables)
            if self._gossip:
                self._spread(name, peers)
            else:
                self._broadcast(peers, said)
            self._note(pane, name, peers)
        if self._verify:
            for look in range(LOOKS):
                self._look(end + look * self._pane_us // LOOKS)

    def _counts(self, site: int, end: int) -> dict[int, dict[str, float]]:
        """A site's counts in [end - window, end), by list."""
        rows = self.rows
        own = self._times[self._start[site] : self._start[site + 1]]
        lo, hi = self._start[site] + np.searchsorted(own, [end - self._window_us, end], side="left")
        return self._tables(rows.object[lo:hi], rows.score[lo:hi])

    def _tables(self, objects: IntArray, scores: FloatArray) -> dict[int, dict[str, float]]:
        found, place = np.unique(objects, return_inverse=True)
        sums = np.bincount(place, scores, len(found))
        tables: dict[int, dict[str, float]] = {}
        for number, total in zip(found.tolist(), sums.tolist(), strict=True):
            tables.setdefault(int(self.rows.list_of[number]), {})[self.rows.keys[number]] = total
        return tables

    def _broadcast(self, peers: list[Peer], said: list[Candidates]) -> None:
        for each in said:
            others = [peer for peer in peers if peer.site != each.site]
            for peer in others:
                peer.receive(each)
            targets, size = [peer.site for peer in others], topk_size(each)
            self.outcome.ledger.add_many("candidates", each.site, targets, 1, size)
            self.outcome.entries += [len(each.keys)] * len(others)

    def _spread(self, name: int, peers: list[Peer]) -> None:
        """Each tells some others all that is new to it since it last spoke; the news of a period goes one step."""
        bundles = []
        for peer in peers:
            heard = self._heard[name][peer.site]
            news = [each for each in peer.known if heard.get(each.site, -1) < each.pane]
            heard.update({each.site: each.pane for each in news})
            others = [site for site in range(len(peers)) if site != peer.site]
            size = min(self._gossip, len(others))
            chosen = self._dice.choice(np.array(others, dtype=np.int64), size=size, replace=False).tolist()
            bundles.append((peer.site, chosen, news))
        for source, targets, news in bundles:
            for target in targets:
                for each in news:
                    peers[target].receive(each)
                volume = sum(map(topk_size, news))
                self.outcome.ledger.add_many("candidates", source, (target,), 1, volume)
                self.outcome.entries.append(sum(len(each.keys) for each in news))

    def _note(self, pane: int, name: int, peers: list[Peer]) -> None:
        """The list as the first peer has it."""
        answer = peers[0].answer
        keys = tuple(key for key, _ in answer)
        if set(keys) != set(self._said.get(name, ())):
            numbers = tuple(self._number[name, key] for key in keys)
            self.outcome.changes.append(SetChange(pane - self.first, name, numbers, tuple(each for _, each in answer)))
        self._said[name] = keys

    def _look(self, now: int) -> None:
        """The truth over the last window, and every peer's distance to it."""
        in_time = self._times[self._by_time]
        lo, hi = np.searchsorted(in_time, [now - self._window_us, now], side="left")
        own = self._by_time[lo:hi]
        truths = self._tables(self.rows.object[own], self.rows.score[own])
        for name, peers in enumerate(self._peers):
            truth = tuple(key for key, _ in ranked(truths.get(name, {}), self._k))
            known: dict[tuple[str, ...], float] = {}
            for peer in peers:
                said = tuple(key for key, _ in peer.answer)
                if said not in known:
                    known[said] = kendall_distance(truth, said)
                self.quality.distances.append(known[said])
