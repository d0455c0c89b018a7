"""What a replay says: the numbers of DESIGN.md's `tacit replay --json`, and the alerts."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, Track
from tacit.recording.engine import Change
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary.answers import MET

__all__ = ["Alert", "Report", "alerts_of", "iso_time"]


@dataclass(frozen=True, slots=True)
class Alert:
    """A change of answer. ``side``: above or below for one comparison, met or not met for several, None to track."""

    at: str
    side: str | None
    value: float | None
    group: str | None = None
    update: int = -1

    def as_dict(self) -> dict[str, Any]:
        """As JSON shows it."""
        out: dict[str, Any] = {"at": self.at}
        if self.side is not None:
            out["side"] = self.side
        out["value"] = self.value
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
    alerts: list[Alert]
    seconds: dict[str, float]
    step: str
    policy: str | None
    form: str
    guarantee: str
    left_out: dict[str, int] = field(default_factory=dict)
    groups: int | None = None
    crossings: int | None = None
    missed: int | None = None
    spurious: int | None = None
    max_error: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Every key of the documentation; the observer's only when it walked along."""
        seen_only = ("crossings", "missed", "spurious", "max_error")
        out = {name: getattr(self, name) for name in self.__slots__ if name not in seen_only}
        out["alerts"] = [alert.as_dict() for alert in self.alerts]
        if self.missed is not None:
            out |= {name: getattr(self, name) for name in seen_only}
        return out


def iso_time(time_us: int) -> str:
    """An instant as text.

    >>> iso_time(1_000_000)
    '1970-01-01T00:00:01Z'
    """
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(time_us))
    return moment.isoformat().replace("+00:00", "Z")


def alerts_of(
    physical: Physical, updates: Updates, changes: list[Change], groups: tuple[str, ...] | None
) -> list[Alert]:
    """Every change of answer, in order. Before the first rows a condition counts as not met."""
    goal = physical.goal
    expression = goal.expression if isinstance(goal, Comparison | Track) else physical.outputs[0][1]
    met = np.zeros(physical.groups, dtype=np.bool_)
    said = np.full(physical.groups, np.nan)
    alerts: list[Alert] = []
    everything = value(expression, np.concatenate([change.estimates for change in changes]) * physical.scale)
    begin = 0
    for change in changes:
        now = change.sides == MET
        values = everything[begin : begin + len(change.groups)]
        begin += len(change.groups)
        if isinstance(goal, Track):
            old = said[change.groups]
            changed = (values != old) & ~(np.isnan(values) & np.isnan(old))
            said[change.groups] = values
        else:
            changed = now != met[change.groups]
            met[change.groups] = now
        if change.update < 0:
            continue
        at = iso_time(int(updates.time[change.update]))
        for k in np.flatnonzero(changed).tolist():
            side = None if isinstance(goal, Track) else _side(goal, bool(now[k]))
            number = float(values[k]) if np.isfinite(values[k]) else None
            name = None if groups is None else groups[int(change.groups[k])]
            alerts.append(Alert(at, side, number, name, change.update))
    return alerts


def _side(goal: object, met: bool) -> str:
    if isinstance(goal, Comparison):
        return "above" if met == (goal.operator in (">", ">=")) else "below"
    return "met" if met else "not met"
