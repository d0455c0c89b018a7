"""Replays of rankings: from a watch and a recording to a report."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.protocols._kernels_topk import refreshes
from tacit.protocols.topk.leeway import Policy
from tacit.protocols.topk.messages import Challenge, Entries, Shown
from tacit.recording.observer import rows_change_at
from tacit.recording.report import Report, error_unit, heartbeats_of, step_notes
from tacit.recording.stream import Recording
from tacit.recording.topk_arrays import TopkRows, arenas_of, topk_rows
from tacit.recording.topk_engine import SetChange, TopkEngine, TopkOutcome, first_windows
from tacit.recording.topk_observer import judge_topk
from tacit.recording.updates import Updates, updates_of
from tacit.vocabulary import IntArray
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import key_label
from tacit.wire.topk_codec import topk_size

__all__ = [
    "RankAlert",
    "TopkReplay",
    "alerts_of_sets",
    "caching_cost",
    "centralised",
    "pane_shipping",
    "replay_topk",
]


@dataclass(frozen=True, slots=True)
class RankAlert:
    """Who entered a list and who left it. ``members`` is the list afterwards."""

    at: str
    entered: tuple[str, ...]
    left: tuple[str, ...]
    list: str | None
    members: tuple[str, ...]
    update: int = -1

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        out: dict[str, Any] = {"at": self.at, "entered": [*self.entered], "left": [*self.left]}
        if self.list is not None:
            out["list"] = self.list
        return out


@dataclass(frozen=True, slots=True)
class TopkReplay:
    """A finished replay of a ranking."""

    report: Report
    outcome: TopkOutcome
    rows: TopkRows
    updates: Updates

    @property
    def final(self) -> dict[str, dict[str, float]]:
        """The lists at the end, each with its members and their scores as far as the coordinator knows them."""
        found: dict[str, dict[str, float]] = {}
        for change in self.outcome.changes:
            members = (key_label(self.rows.keys[each]) for each in change.members)
            scores = (self.rows.sign * score for score in change.scores)
            found[_label(self.rows, change.list) or ""] = dict(zip(members, scores, strict=True))
        return found


def replay_topk(
    plan: WatchPlan,
    recording: Recording,
    *,
    step: str = "event",
    policy: Policy | None = None,
    verify: bool = False,
    prepare_seconds: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> TopkReplay:
    """Replay a ranking and count every message; with ``verify`` an omniscient observer judges every step."""
    goal = plan.goal
    assert isinstance(goal, Top)
    begin = clock.perf_counter()
    updates = updates_of(recording, plan.window, step=step)
    rows = topk_rows(plan, recording)
    outcome = TopkEngine(rows, updates, policy=policy).run(progress)
    seconds = clock.perf_counter() - begin
    ledger = outcome.ledger
    report = Report(
        watch=plan.name, protocol="coordinator", zone="", sites=len(recording.sites), updates=len(recording.t),
        panes=updates.panes, messages={"total": ledger.messages, "by_kind": ledger.by_kind()}, bytes=ledger.bytes,
        centralised=centralised(rows), pane_shipping=pane_shipping(plan, recording, rows),
        violations=outcome.violations, full_syncs=outcome.full_syncs,
        alerts=alerts_of_sets(rows, updates.time, outcome.changes),
        seconds={"prepare": round(prepare_seconds, 3), "replay": round(seconds, 3)}, step=step, policy=None,
        form="sums", guarantee=_guarantee(goal),
        heartbeats=heartbeats_of(plan.window, len(recording.sites), updates.panes),
        notes=step_notes(plan, step), left_out=dict(recording.left_out), groups=len(rows.keys),
        entries={
            "mean": round(float(np.mean(outcome.entries)), 2) if outcome.entries else 0.0,
            "max": max(outcome.entries, default=0),
        },
        caching=caching_cost(rows, updates, goal.within),
    )  # fmt: skip
    if verify:
        verdict = judge_topk(rows, updates, outcome.changes)
        report.crossings, report.missed, report.spurious = verdict.crossings, verdict.missed, verdict.spurious
        report.max_error = verdict.max_error
        report.max_error_of = error_unit(plan.goal, [each.name for each in plan.statistics], dict(plan.outputs))
    return TopkReplay(report, outcome, rows, updates)


def caching_cost(rows: TopkRows, updates: Updates, within: float) -> dict[str, int]:
    """The seed's baseline: a site sends a score anew when it has moved by more than within / (2 sites)."""
    arenas = arenas_of(rows)
    at_lo, at_hi = first_windows(updates, rows.sites)
    values, cached = np.zeros((2, len(arenas.object)))
    touched, marked = np.zeros(len(arenas.object), dtype=np.int64), np.zeros(len(arenas.object), dtype=np.bool_)
    messages = refreshes(
        updates.site, updates.lo, updates.hi, updates.last, at_lo, at_hi, arenas.arena, arenas.local, rows.score,
        arenas.start, values, cached, within / (2.0 * rows.sites), touched, marked,
    )  # fmt: skip
    return {"messages": int(messages), "bytes": round(messages * _entry_bytes(rows)[0])}


def _label(rows: TopkRows, number: int) -> str | None:
    return key_label(rows.lists[number]) if rows.lists[number] else None


def alerts_of_sets(rows: TopkRows, times: IntArray, changes: list[SetChange]) -> list[RankAlert]:
    """Every change of a list; ``times`` are those of the updates that changes name."""
    before: dict[int, tuple[int, ...]] = {}
    alerts = []
    for change in changes:
        known = before.get(change.list, ())
        entered = [each for each in change.members if each not in known]
        left = [each for each in known if each not in change.members]
        before[change.list] = change.members
        if entered or left:
            at = iso_time(int(times[change.update]))
            names = [tuple(key_label(rows.keys[each]) for each in which) for which in (entered, left, change.members)]
            alerts.append(RankAlert(at, names[0], names[1], _label(rows, change.list), names[2], change.update))
    return alerts


def _guarantee(goal: Top) -> str:
    ahead = "no group outside is ahead of one inside"
    ahead += f" by more than {goal.within:g}" if goal.within else ""
    return ahead + (f", scores within {goal.ranked:g}" if goal.ranked is not None else "") + " at every step"


def _entry_bytes(rows: TopkRows) -> tuple[float, float]:
    """The size of a message with one object, and what another object adds, with keys of the mean length."""
    step = max(1, len(rows.keys) // 1_000)
    sample = rows.keys[::step] or ("",)
    sizes = []
    for many in (1, 2):
        parts = [
            Shown("", Entries(tuple(f"{key}{k}" for k in range(many)), np.ones(many), np.ones(many, np.bool_)), 0.0)
            for key in sample
        ]
        sizes.append(float(np.mean([topk_size(Challenge(0, 1, 1, 1, 1, (part,))) for part in parts])))
    return sizes[0], sizes[1] - sizes[0]


def centralised(rows: TopkRows) -> dict[str, int]:
    """One message per event."""
    return {"messages": len(rows.score), "bytes": round(len(rows.score) * _entry_bytes(rows)[0])}


def pane_shipping(plan: WatchPlan, recording: Recording, rows: TopkRows) -> dict[str, int]:
    """One message per site and pane whose rows changed, with the objects that changed."""
    panes = updates_of(recording, plan.window, step="pane")
    one, more = _entry_bytes(rows)
    messages, pairs = len(panes.site), rows_change_at(rows, panes)
    return {"messages": messages, "bytes": round(messages * one + max(0, pairs - messages) * more)}
