"""What a replay says: the numbers of DESIGN.md's `tacit replay --json`, and the alerts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.functions.deciding import deciding
from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression
from tacit.functions.goals import (
    AllOf,
    AnyOf,
    Comparison,
    Frequent,
    Goal,
    Quantile,
    SketchGoal,
    Top,
    Track,
    comparisons,
)
from tacit.functions.no_rows import NOTHING, shown_points
from tacit.language.explain import readable
from tacit.language.plan import WatchPlan, Window
from tacit.protocols._kernels import PER_KEY, PER_MEMBER
from tacit.protocols.messages import Heartbeat, HeartbeatAnswer
from tacit.recording.engine import Change
from tacit.recording.observer import rows_come_and_go
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import IntArray
from tacit.vocabulary.answers import MET, NOT_MET
from tacit.vocabulary.calendar import iso_time
from tacit.wire.sizes import size

__all__ = ["Alert", "Report", "alerts_of", "error_unit", "heartbeats_of", "iso_time", "step_notes"]


_EVERY = re.compile(r"\bEVERY\s+[\d.]+\s+\w+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Alert:
    """A change of answer. ``side``: above or below for one comparison, met or not met for several, None to track.

    ``comparison`` is the one that made it, and ``value`` that of the comparison.
    """

    at: str
    side: str | None
    value: float | None
    group: str | None = None
    update: int = -1
    comparison: str | None = None
    threshold: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        out: dict[str, Any] = {"at": self.at}
        if self.side is not None:
            out["side"] = self.side
        out["value"] = self.value
        if self.comparison is not None:
            out |= {"comparison": self.comparison, "threshold": self.threshold}
        if self.group is not None:
            out["group"] = self.group
        return out


@dataclass(slots=True)
class Report:
    """The outcome of one replay; ``as_dict`` has the documented keys."""

    watch: str
    protocol: str
    zone: str
    sites: int
    updates: int
    panes: int
    messages: dict[str, Any]
    bytes: int
    centralised: dict[str, int]
    pane_shipping: dict[str, int]
    violations: int
    full_syncs: int
    alerts: list[Any]  # Alert, or RankAlert (topk_replay.py)
    seconds: dict[str, float]
    step: str
    policy: str | None
    form: str
    guarantee: str
    heartbeats: dict[str, int] = field(default_factory=lambda: {"messages": 0, "bytes": 0})
    left_out: dict[str, int] = field(default_factory=dict)
    groups: int | None = None
    crossings: int | None = None
    missed: int | None = None
    spurious: int | None = None
    max_error: float | None = None
    max_error_of: str | None = None  # what max_error is measured in: the value's name, or a share of something
    notes: tuple[str, ...] = ()  # what of the sentence plays no part in this replay
    entries: dict[str, float] | None = None  # of a ranking: objects in a message
    quality: dict[str, float] | None = None  # of a ranking among peers: how far from the truth, and what was sent
    caching: dict[str, int] | None = None  # of a ranking: every site sends a score anew when it has moved too far

    def as_dict(self) -> dict[str, Any]:
        """Every key of the documentation; the observer's only when it walked along."""
        seen_only = ("crossings", "missed", "spurious", "max_error", "max_error_of")
        out = {name: getattr(self, name) for name in self.__slots__ if name not in seen_only}
        out["alerts"] = [alert.as_dict() for alert in self.alerts]
        if self.entries is None:
            del out["entries"]
        for name in ("caching", "quality"):
            if out[name] is None:
                del out[name]
        if self.missed is not None:
            out |= {name: getattr(self, name) for name in seen_only}
        return out


def heartbeats_of(window: Window, sites: int, panes: int) -> dict[str, int]:
    """The heartbeats that settle these panes: of every site and pane one, with its answer. A replay sends none.

    Live, one a second speaks for all watches of a site, so short panes and several watches need fewer.
    """
    pairs = panes if window.every.rows is not None else sites * panes  # panes of rows are each site's own
    each = size(Heartbeat(0, 1, panes, panes, 1)) + size(HeartbeatAnswer(0, panes))
    return {"messages": 2 * pairs, "bytes": pairs * each}


def step_notes(plan: WatchPlan, step: str) -> tuple[str, ...]:
    """What of the sentence plays no part with this step: a step of its own that was written."""
    found = _EVERY.search(plan.text) if step == "event" else None
    if found is None:
        return ()
    every = " ".join(found.group().split())
    return (f"{every} plays no part: answers are checked after every event; --step pane keeps it, as a live site does",)


def error_unit(goal: Goal | Top | SketchGoal, names: list[str], outputs: Mapping[str, Expression], at: int = 0) -> str:
    """What ``max_error`` is measured in; of several comparisons that of number ``at``.

    >>> from tacit.functions.expressions import Variable
    >>> mean = Variable(0)
    >>> error_unit(Track(mean, 5.0, percent=True), ["x"], {"mean": mean})
    'percent of mean'
    """
    if isinstance(goal, Quantile | Frequent):
        return "as a share of the rows"
    if isinstance(goal, SketchGoal):
        return "as a share of all pairs of rows"
    parts = comparisons(goal) if isinstance(goal, AllOf | AnyOf) else (goal,)
    expression = parts[at].expression
    named = [name for name, tree in outputs.items() if tree is expression]
    text = named[0] if named else readable(expression, names).removeprefix("(").removesuffix(")")
    return f"percent of {text}" if isinstance(goal, Track) and goal.percent else f"in {text}"


def alerts_of(
    physical: Physical, updates: Updates, changes: list[Change], groups: tuple[str, ...] | None
) -> list[Alert]:
    """Every change of answer, in order. Before its first rows a condition counts as not met."""
    goal = physical.goal
    tells_no_rows = not isinstance(goal, Track) and physical.monitor.is_collected
    if tells_no_rows and not physical.weighted:
        changes = _with_nothing(physical, updates, changes)
    if physical.mode == PER_MEMBER:
        changes = _from_the_first_row(physical, updates, changes)
    elif not isinstance(goal, Track):
        changes = _met_from_the_start(physical, updates, changes)
    compared = comparisons(goal)
    expressions = [goal.expression] if isinstance(goal, Track) else [each.expression for each in compared]
    met = np.zeros(physical.groups, dtype=np.bool_)
    said = np.full((physical.groups, len(expressions)), np.nan)
    alerts: list[Alert] = []
    points = np.concatenate([change.estimates for change in changes]) * physical.scale
    everything = np.stack([value(expression, points) for expression in expressions], axis=1)
    shown = everything
    if tells_no_rows:  # a condition of no rows has no value, as in SQL
        seen = shown_points(points, np.array(physical.counts, dtype=np.bool_))
        shown = np.stack([value(expression, seen) for expression in expressions], axis=1)
    begin = 0
    for change in changes:
        now = change.sides == MET
        values = everything[begin : begin + len(change.groups)]
        begin += len(change.groups)
        told = shown[begin - len(change.groups) : begin]
        old = said[change.groups]
        said[change.groups] = values
        if isinstance(goal, Track):
            changed = ((values != old) & ~(np.isnan(values) & np.isnan(old)))[:, 0]
        else:
            changed = now != met[change.groups]
            met[change.groups] = now
        if change.update < 0:
            continue
        at = iso_time(int(updates.time[change.update]))
        for k in np.flatnonzero(changed).tolist():
            name = None if groups is None else groups[int(change.groups[k])]
            if isinstance(goal, Track):
                alerts.append(Alert(at, None, _number(values[k, 0]), name, change.update))
                continue
            which = deciding(goal, old[k].tolist(), values[k].tolist())
            text, threshold = compared[which].text, compared[which].threshold
            side, number = _side(goal, bool(now[k])), _number(told[k, which])
            alerts.append(Alert(at, side, number, name, change.update, text, threshold))
    return alerts


def _with_nothing(physical: Physical, updates: Updates, changes: list[Change]) -> list[Change]:
    """The estimates of groups that have no rows anywhere are those of no rows."""
    step_of: IntArray = np.cumsum(updates.last) - updates.last
    added, removed = rows_come_and_go(physical, updates)
    group = physical.group if physical.mode == PER_KEY else np.zeros(len(added), dtype=np.int64)
    width = updates.steps + 1
    came, gone = (np.sort(group * width + step) for step in (added, removed))
    found = []
    for change in changes:
        step = int(step_of[change.update]) if change.update >= 0 else -1
        asked = change.groups if physical.mode == PER_KEY else np.zeros(len(change.groups), dtype=np.int64)
        low, high = asked * width, asked * width + step
        rows = np.searchsorted(came, high, side="right") - np.searchsorted(came, low)
        rows -= np.searchsorted(gone, high, side="right") - np.searchsorted(gone, low)
        estimates = np.where((rows == 0)[:, None], NOTHING, change.estimates)
        found.append(Change(change.update, change.groups, change.sides, estimates))
    return found


def _met_from_the_start(physical: Physical, updates: Updates, changes: list[Change]) -> list[Change]:
    """What holds of no rows at all (a sum below 5) is said with a group's first row, not before the first step."""
    initial = changes[0]
    early = initial.sides == MET
    if initial.update >= 0 or not early.any() or not len(updates.site):
        return changes
    ends = np.flatnonzero(updates.last)
    first = np.zeros(physical.groups, dtype=np.int64)
    if physical.mode == PER_KEY:
        added, _ = rows_come_and_go(physical, updates)
        first = np.full(physical.groups, updates.steps, dtype=np.int64)
        np.minimum.at(first, physical.group, added)
    early &= first[initial.groups] < updates.steps
    found = [Change(-1, initial.groups, np.where(initial.sides == MET, NOT_MET, initial.sides), initial.estimates)]
    for step in np.unique(first[initial.groups[early]]).tolist():
        here = early & (first[initial.groups] == step)
        found.append(
            Change(int(ends[step]), initial.groups[here], initial.sides[here], initial.estimates[here])
        )  # fmt: skip
    found += changes[1:]
    found.sort(key=lambda change: change.update)  # stable
    return _last_of_each_update(found)


def _from_the_first_row(physical: Physical, updates: Updates, changes: list[Change]) -> list[Change]:
    """Under GROUP BY EACH a group has a value before its first row; it is spoken of from that row on.

    What was said before is said with the first row, or if there is none, never: live nobody would know of the group.
    Of a condition that is the estimate at which it came to be met.
    """
    if not len(updates.site):
        return changes[:1]
    ends = np.flatnonzero(updates.last)
    added, _ = rows_come_and_go(physical, updates)
    first = np.full(physical.groups, updates.steps, dtype=np.int64)
    np.minimum.at(first, physical.member, np.repeat(added, np.diff(physical.pointer)))
    initial = changes[0]
    nothing = initial.sides if isinstance(physical.goal, Track) else np.full_like(initial.sides, NOT_MET)
    found = [Change(-1, initial.groups, nothing, initial.estimates)]
    at = np.append(ends, np.iinfo(np.int64).max)[first]  # the update at which each group is there
    sides, estimates = initial.sides.copy(), initial.estimates.copy()
    order = np.argsort(at, kind="stable")
    done = 0
    for change in [*changes[1:], None]:
        until = np.iinfo(np.int64).max if change is None else change.update
        while done < len(order) and at[order[done]] < until:
            end = int(np.searchsorted(at[order], at[order[done]], side="right"))
            come = np.sort(order[done:end])
            found.append(Change(int(at[come[0]]), come, sides[come], estimates[come]))
            done = end
        if change is not None:
            turned = (sides[change.groups] == MET) != (change.sides == MET)
            which = slice(None) if isinstance(physical.goal, Track) else turned
            sides[change.groups[which]], estimates[change.groups[which]] = change.sides[which], change.estimates[which]
            here = at[change.groups] < change.update
            found.append(Change(change.update, change.groups[here], change.sides[here], change.estimates[here]))
    return found


def _last_of_each_update(changes: list[Change]) -> list[Change]:
    """Of several changes of one group at one update only the last was an answer."""
    kept: list[Change] = []
    for change, after in zip(changes, [*changes[1:], None], strict=True):
        keep = np.ones(len(change.groups), dtype=np.bool_)
        if after is not None and after.update == change.update:
            keep = ~np.isin(change.groups, after.groups)
        kept.append(Change(change.update, change.groups[keep], change.sides[keep], change.estimates[keep]))
    return kept


def _number(number: float) -> float | None:
    return float(number) + 0.0 if np.isfinite(number) else None


def _side(goal: object, met: bool) -> str:
    if isinstance(goal, Comparison):
        return "above" if met == (goal.operator in (">", ">=")) else "below"
    return "met" if met else "not met"
