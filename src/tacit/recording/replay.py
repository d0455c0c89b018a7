"""A watch replayed over a recording: the whole of `tacit replay`, without Spark.

``replay_recording`` is what the command line, sweeps and benchmarks call once Spark has prepared the recording.
"""

from __future__ import annotations

import time as clock
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.functions.goals import Goal, Track
from tacit.functions.monitor import CENTRED, FITTED
from tacit.functions.zone_rows import ZONE_KINDS
from tacit.language.plan import WatchPlan, Window
from tacit.language.shape import can_fit, protocol_for, zone_kind
from tacit.protocols._kernels import PER_KEY, PER_MEMBER
from tacit.protocols.messages import Report as ReportMessage
from tacit.protocols.messages import Rows
from tacit.recording.engine import Engine, Outcome
from tacit.recording.fitted_engine import FittedEngine
from tacit.recording.observer import judge, rows_change_at
from tacit.recording.physical import Physical, first_measure, physical_plan
from tacit.recording.report import Report, alerts_of, error_unit, heartbeats_of, step_notes
from tacit.recording.stream import Recording
from tacit.recording.updates import Updates, pane_messages, updates_of
from tacit.vocabulary import IntArray, OptionError
from tacit.wire.sizes import size

__all__ = ["Replay", "replay_recording"]

STEPS = ("event", "pane")
_MESSAGE_BYTES = 200.0  # that cost as much as a message does by itself
_TRIAL_SHARE, _TRIAL_LEAST, _TRIAL_MOST = 10, 2_000, 40_000  # updates on which protocols are compared


@dataclass(frozen=True, slots=True)
class Replay:
    """A finished replay: the report, and what a plot needs."""

    report: Report
    outcome: Outcome
    physical: Physical
    updates: Updates
    ticks: IntArray | None = None  # the pane of each update, where panes are steps
    fitted: bool = False  # has each site a zone of its own?


def replay_recording(
    plan: WatchPlan,
    recording: Recording,
    *,
    protocol: str = "coordinator",
    step: str = "event",
    zone: str = "auto",
    policy: str = "lru",
    form: str = "auto",
    seed: int = 0,
    verify: bool = False,
    prepare_seconds: float = 0.0,
    progress: Callable[[int, int], None] | None = None,
) -> Replay:
    """Replay the watch and count every message; with ``verify`` an omniscient observer judges every step."""
    if step not in STEPS:
        raise OptionError(f"there is no step named {step!r}; choose event or pane")
    if zone not in ZONE_KINDS:
        raise OptionError(f"there is no zone named {zone!r}; choose one of {', '.join(ZONE_KINDS)}")
    begin = clock.perf_counter()
    updates = updates_of(recording, plan.window, step=step)
    measure = first_measure(plan, recording) if step == "pane" else None  # as live, which checks by panes
    ticks = _panes(updates, plan.window) if step == "pane" else None

    def engine(protocol: str, updates: Updates) -> tuple[Physical, Engine | FittedEngine]:
        kind = zone_kind(plan, protocol, zone)
        shape = "sums" if kind in (CENTRED, FITTED) else form
        physical = physical_plan(plan, recording, form=shape, zone=kind, measure=measure)
        if kind == FITTED:
            return physical, FittedEngine(physical, updates, policy=policy, seed=seed)
        return physical, Engine(physical, updates, protocol=protocol, policy=policy, seed=seed, ticks=ticks)

    if zone == FITTED and not can_fit(plan):
        zone = "auto"
    protocol = _protocol(plan, protocol, zone, updates, engine)
    physical, machine = engine(protocol, updates)
    outcome = machine.run(progress)
    seconds = clock.perf_counter() - begin
    ledger = outcome.ledger
    report = Report(
        watch=plan.name, protocol=protocol, zone=", ".join(physical.monitor.kinds), sites=len(recording.sites),
        updates=len(recording.t), panes=updates.panes,
        messages={"total": ledger.messages, "by_kind": ledger.by_kind()}, bytes=ledger.bytes,
        centralised=_centralised(physical), pane_shipping=_pane_shipping(plan.window, recording, physical),
        violations=outcome.violations, full_syncs=outcome.full_syncs,
        alerts=alerts_of(physical, updates, outcome.changes, recording.groups),
        seconds={"prepare": round(prepare_seconds, 3), "replay": round(seconds, 3)},
        step=step, policy=policy if protocol == "coordinator" else None,
        form="weighted" if physical.weighted else "sums", guarantee=_guarantee(plan.watched, physical),
        heartbeats=heartbeats_of(plan.window, len(recording.sites), updates.panes),
        notes=step_notes(plan, step), left_out=dict(recording.left_out),
        groups=None if recording.groups is None else len(recording.groups),
    )  # fmt: skip
    if verify:
        verdict = judge(physical, updates, outcome.changes)
        report.crossings, report.missed, report.spurious = verdict.crossings, verdict.missed, verdict.spurious
        report.max_error = verdict.max_error
        report.max_error_of = error_unit(
            plan.goal, [each.name for each in plan.statistics], dict(plan.outputs), verdict.farthest
        )
    return Replay(report, outcome, physical, updates, ticks, isinstance(machine, FittedEngine))


def _protocol(
    plan: WatchPlan,
    asked: str,
    zone: str,
    updates: Updates,
    engine: Callable[[str, Updates], tuple[Physical, Engine | FittedEngine]],
) -> str:
    """The protocol of the replay: ``auto`` is what a live coordinator takes, ``cheaper`` is tried on the first part.

    Cheaper is what costs less in messages, of so many bytes each. Zones that were asked for are those of balancing.
    """
    if asked not in ("auto", "cheaper"):
        return protocol_for(plan, asked)
    if zone != "auto":
        return "coordinator"
    if asked == "auto" or protocol_for(plan, "recentre") != "recentre":
        return protocol_for(plan, "auto")
    part = updates.first(max(_TRIAL_LEAST, len(updates.site) // _TRIAL_SHARE), _TRIAL_MOST)
    ledgers = {name: engine(name, part)[1].run().ledger for name in ("coordinator", "recentre")}
    return min(ledgers, key=lambda name: ledgers[name].messages + ledgers[name].bytes / _MESSAGE_BYTES)


def _panes(updates: Updates, window: Window) -> IntArray:
    """The pane of each update, as live sites number them."""
    every = window.every.duration_us
    if every is not None:
        return np.asarray(updates.time // every - 1)
    return np.asarray(np.cumsum(updates.last) - updates.last)


def _guarantee(goal: Goal, physical: Physical) -> str:
    if not physical.monitor.sound:
        return "none: a function was declared unsound"
    if isinstance(goal, Track):
        return f"within {goal.within:g}{' percent' if goal.percent else ''} at every step"
    return "right at every step, within the margin"


def _message_bytes(physical: Physical, groups: int) -> int:
    """The size of a message that carries this many groups' vectors."""
    which = np.arange(groups)
    weights = np.ones(groups) if physical.weighted else np.empty(0)
    return size(ReportMessage(0, 1, 1, 1, Rows(which, np.ones((groups, physical.dimension)), weights)))


def _centralised(physical: Physical) -> dict[str, int]:
    """One message per event: its contribution, and the members it has."""
    events = len(physical.rows)
    per_event = _message_bytes(physical, 1)
    return {"messages": events, "bytes": events * per_event + 2 * len(physical.member)}


def _pane_shipping(window: Window, recording: Recording, physical: Physical) -> dict[str, int]:
    """One message per site and pane whose rows changed, with the vectors of the groups that changed."""
    one = _message_bytes(physical, 1)
    if physical.mode not in (PER_KEY, PER_MEMBER):
        messages = pane_messages(recording, window)
        return {"messages": messages, "bytes": messages * one}
    panes = updates_of(recording, window, step="pane")
    messages = len(panes.site)
    extra = _message_bytes(physical, 2) - one
    pairs = rows_change_at(physical, panes)
    return {"messages": messages, "bytes": messages * one + max(0, pairs - messages) * extra}
