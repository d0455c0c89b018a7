"""Replays of watches on sketches: from a watch and a recording to a report."""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SelfJoin, SketchGoal
from tacit.language import sketch_guarantee
from tacit.language.plan import WatchPlan
from tacit.protocols.messages import Report as ReportMessage
from tacit.protocols.messages import Rows
from tacit.protocols.topk.messages import Challenge, Entries, Shown
from tacit.recording.report import Report, error_unit, heartbeats_of, step_notes
from tacit.recording.sketch_engine import Said, SketchEngine, SketchOutcome
from tacit.recording.sketch_observer import Verdict, judge_sketch
from tacit.recording.stream import Recording
from tacit.recording.topk_replay import RankAlert
from tacit.recording.updates import Updates, pane_messages, updates_of
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import key_label
from tacit.wire.sizes import size
from tacit.wire.topk_codec import topk_size

__all__ = ["SketchReplay", "ValueAlert", "replay_sketch"]

_KINDS = {Frequent: "frequent", SelfJoin: "self_join", InnerProduct: "inner_product", Quantile: "quantile"}


@dataclass(frozen=True, slots=True)
class ValueAlert:
    """A value that is told anew; None: there is none."""

    at: str
    value: float | None
    update: int = -1

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {"at": self.at, "value": self.value}


@dataclass(frozen=True, slots=True)
class SketchReplay:
    """A finished replay of a watch on sketches."""

    report: Report
    outcome: SketchOutcome
    updates: Updates
    verdict: Verdict | None = None


def replay_sketch(
    plan: WatchPlan,
    recording: Recording,
    *,
    step: str = "event",
    zone: str = "auto",
    verify: bool = False,
    prepare_seconds: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> SketchReplay:
    """Replay a watch on sketches and count every message; with ``verify`` an omniscient observer judges every step."""
    goal = plan.goal
    assert isinstance(goal, SketchGoal)
    begin = clock.perf_counter()
    updates = updates_of(recording, plan.window, step=step)
    outcome = SketchEngine(plan, recording, updates, step=step, zone=zone).run(progress)
    seconds = clock.perf_counter() - begin
    ledger = outcome.ledger
    per_event, more = _entry_bytes(goal, recording)
    panes = pane_messages(recording, plan.window)
    verdict = judge_sketch(plan, recording, updates, outcome.said) if verify else None
    report = Report(
        watch=plan.name, protocol=_KINDS[type(goal)], zone=_zone(goal, zone), sites=len(recording.sites),
        updates=len(recording.t), panes=updates.panes,
        messages={"total": ledger.messages, "by_kind": ledger.by_kind()}, bytes=ledger.bytes,
        centralised={"messages": len(recording.t), "bytes": round(len(recording.t) * per_event)},
        pane_shipping={"messages": panes, "bytes": round(panes * per_event + max(0, len(recording.t) - panes) * more)},
        violations=outcome.violations, full_syncs=outcome.full_syncs,
        alerts=_alerts(goal, updates, outcome.said),
        seconds={"prepare": round(prepare_seconds, 3), "replay": round(seconds, 3)}, step=step, policy=None,
        form="sketch", guarantee=sketch_guarantee(goal),
        heartbeats=heartbeats_of(plan.window, len(recording.sites), updates.panes),
        notes=step_notes(plan, step), left_out=dict(recording.left_out),
        groups=None if recording.groups is None else len(recording.groups),
    )  # fmt: skip
    if verdict is not None:
        report.crossings, report.missed, report.spurious = verdict.crossings, verdict.missed, verdict.spurious
        report.max_error = verdict.max_error
        report.max_error_of = error_unit(plan.goal, [each.name for each in plan.statistics], dict(plan.outputs))
    return SketchReplay(report, outcome, updates, verdict)


def _zone(goal: SketchGoal, zone: str) -> str:
    if isinstance(goal, SelfJoin):
        return "norms" if zone == "norms" else "products"
    return "allowances" if isinstance(goal, Frequent) else "gauges"


def _entry_bytes(goal: SketchGoal, recording: Recording) -> tuple[float, float]:
    """The size of a message that forwards one row, and what another row would add to it."""
    if isinstance(goal, Quantile):
        sizes = [size(ReportMessage(0, 1, 1, 1, Rows(np.arange(k), np.ones((k, 1)), np.empty(0)))) for k in (1, 2)]
        return float(sizes[0]), float(sizes[1] - sizes[0])
    keys = recording.keys or ("",)
    sample, found = keys[:: max(1, len(keys) // 1_000)], []
    for many in (1, 2):
        parts = [
            Shown("", Entries(tuple(f"{key}{k}" for k in range(many)), np.ones(many), np.ones(many, np.bool_)), 0.0)
            for key in sample
        ]
        found.append(float(np.mean([topk_size(Challenge(0, 1, 1, 1, 1, (part,))) for part in parts])))
    return found[0], found[1] - found[0]


def _alerts(goal: SketchGoal, updates: Updates, said: list[Said]) -> list[Any]:
    if not isinstance(goal, Frequent):
        # Before the first row the value is 0, or there is none, which is no news.
        return [
            ValueAlert(
                iso_time(int(updates.time[each.update])), None if np.isnan(each.value) else each.value, each.update
            )
            for each in said[1:]
        ]
    alerts: list[Any] = []
    before: tuple[str, ...] = ()
    for each in said:
        now = tuple(key for key, _ in each.keys)
        entered = tuple(key_label(key) for key in now if key not in set(before))
        left = tuple(key_label(key) for key in before if key not in set(now))
        if entered or left:
            members = tuple(key_label(key) for key in now)
            at = iso_time(int(updates.time[max(0, each.update)]))
            alerts.append(RankAlert(at, entered, left, None, members, each.update))
        before = now
    return alerts
