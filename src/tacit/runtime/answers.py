"""From what a settlement publishes to what people are told: values and sides by key, spans of validity, alerts.

An alert is a change of answer: a condition that begins or ceases to hold, a tracked value that is said anew. Its id
follows from the watch, the pane and the group, so that an alert that is raised again after a crash has the same one.
"""

from __future__ import annotations

import hashlib
import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, Quantile, SketchGoal, Top, Track, comparisons
from tacit.language import sketch_guarantee
from tacit.language.plan import ByMember, WatchPlan
from tacit.language.shape import Shape
from tacit.runtime.store import Write
from tacit.vocabulary import Answer, FloatArray, IntArray
from tacit.vocabulary.answers import MET
from tacit.vocabulary.calendar import iso_time

__all__ = ["Said", "Teller", "ValueTeller", "alert_id", "guarantee_of", "label_of", "side_of"]

_UNSAID = -1
_TEMPLATE = ""  # the key of the group that stands, under GROUP BY EACH, for all without rows


@dataclass(frozen=True, slots=True)
class Said:
    """What was last said of a group: its side (NOT_MET, MET, UNKNOWN) and its value (nan: none)."""

    side: int
    value: float


class Teller:
    """Compares each published answer with what was said before."""

    def __init__(self, plan: WatchPlan, shape: Shape, lineage: int, pane_us: int, said: dict[str, Said]) -> None:
        self.plan, self.shape, self.lineage, self.pane_us = plan, shape, lineage, pane_us
        self.said = said  # by key
        self._begin()
        self._by_member = isinstance(plan.grouping, ByMember)
        self._tracks = isinstance(plan.goal, Track)
        goal = shape.form.goal
        self._expression = goal.expression if isinstance(goal, Comparison | Track) else shape.form.outputs[0][1]
        nowhere = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else 0.0)
        self._nothing = float(self.values(nowhere)[0])
        self._of_nothing = Said(int(shape.monitor.answers(nowhere)[0]), self._nothing)
        # Where a condition holds of nothing at all, a group is spoken of from the first pane on with rows of it.
        self.is_met_by_nothing = plan.grouping is not None and self._of_nothing.side == MET and not self._tracks

    def _begin(self) -> None:
        self._side = array("q")  # what was last said, by the numbers of groups
        self._value = array("d")

    def values(self, estimates: FloatArray) -> FloatArray:
        """The value that the watch is about, at each estimate."""
        return np.asarray(value(self._expression, estimates * self.shape.scale))

    def tell(
        self, answer: Answer, keys: Sequence[str], there_from: Mapping[int, int] | None = None
    ) -> tuple[dict[str, tuple[int, Said]], list[dict[str, Any]]]:
        """What changed with this answer, by key, from which pane on, and the alerts that this makes.

        ``there_from``: the pane from which each group is there; before it nothing is said of it. Under GROUP BY EACH
        that is of one of which nothing else can be said than of the first group, which stands for all without rows.
        """
        values = self.values(answer.estimates) if len(answer.sides) else np.empty(0)
        tracks = self._tracks
        changed: dict[str, tuple[int, Said]] = {}
        first = answer.pane if answer.first is None else answer.first
        alerts: list[dict[str, Any]] = []
        for number in self._news(answer.sides, values, keys):
            key, side, current = keys[number], int(answer.sides[number]), float(values[number])
            before = self.said.get(key)
            pane = first
            if self._by_member and number == 0:
                self._tell_template(first, Said(side, current), changed)
                continue
            differs = self._by_member and (side != answer.sides[0] or not _same(current, float(values[0])))
            if before is None and there_from is not None and not differs:
                pane = max(first, there_from.get(number, answer.pane + 1))
                if pane > answer.pane:
                    continue
            now = Said(side, current)
            self._side[number], self._value[number] = side, current
            changed[key] = pane, now
            met_before = before is not None and before.side == MET
            value_before = self._nothing if before is None else before.value
            if (not _same(value_before, current)) if tracks else (met_before != (side == MET)):
                alerts.append(self._alert(pane, key, now if before is not None else self._first_said(now, changed)))
        self.said.update((key, now) for key, (_, now) in changed.items())
        return changed, alerts

    def writes(self, changed: Mapping[str, tuple[int, Said]]) -> list[Write]:
        """What is to be stored of what ``tell`` has changed."""
        sql = "INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?)"
        return [
            (sql, (self.lineage, pane, key, said.side, said.value if np.isfinite(said.value) else None))
            for key, (pane, said) in changed.items()
        ]

    def _tell_template(self, pane: int, now: Said, changed: dict[str, tuple[int, Said]]) -> None:
        """Of what all groups are without rows, it is remembered where a condition came to be met or ceased to be."""
        self._side[0], self._value[0] = now.side, now.value
        if (self.said.get(_TEMPLATE, self._of_nothing).side == MET) != (now.side == MET):
            changed[_TEMPLATE] = pane, now

    def _first_said(self, now: Said, changed: Mapping[str, object]) -> Said:
        """A condition that was met before the group had rows is told with the value at which it came to be."""
        before = self.said.get(_TEMPLATE, self._of_nothing)
        same = self._by_member and not self._tracks and before.side == now.side == MET
        return before if same and _TEMPLATE not in changed else now

    def _news(self, sides: IntArray, values: FloatArray, keys: Sequence[str]) -> list[int]:
        """The groups of which something else was said last, or nothing; there may be very many, and mostly none is."""
        for number in range(len(self._side), len(sides)):
            before = self.said.get(keys[number])
            self._side.append(_UNSAID if before is None else before.side)
            self._value.append(np.nan if before is None else before.value)
        said, worth = np.frombuffer(self._side, dtype=np.int64), np.frombuffer(self._value)
        same = (said == sides) & ((worth == values) | (np.isnan(worth) & np.isnan(values)))
        return np.flatnonzero(~same).tolist()

    def _alert(self, pane: int, key: str, now: Said) -> dict[str, Any]:
        tracks = self._tracks
        return {
            "id": alert_id(self.lineage, self.plan.name, pane, key),
            "watch": self.plan.name,
            "at": iso_time((pane + 1) * self.pane_us),
            "pane": pane,
            "side": None if tracks else side_of(self.plan, now.side),
            "value": now.value if np.isfinite(now.value) else None,
            "group": None if self.plan.grouping is None else label_of(key),
        }


class ValueTeller(Teller):
    """Of a value that is read off sketches: there is one, and every new one is told."""

    def __init__(self, plan: WatchPlan, lineage: int, pane_us: int, said: dict[str, Said]) -> None:
        self.plan, self.lineage, self.pane_us, self.said = plan, lineage, pane_us, said
        self._begin()
        self._by_member, self._tracks, self.is_met_by_nothing = False, True, False
        self._nothing = np.nan if isinstance(plan.goal, Quantile) else 0.0
        self._of_nothing = Said(MET, self._nothing)

    def values(self, estimates: FloatArray) -> FloatArray:
        """The value itself."""
        return np.asarray(estimates[:, 0])


def alert_id(lineage: int, watch: str, pane: int, key: str) -> str:
    """The same for the same alert, however often it is raised."""
    return hashlib.sha256(json.dumps([lineage, watch, pane, key]).encode()).hexdigest()[:24]


def _same(a: float, b: float) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))


def label_of(key: str) -> str:
    """A group's key as people read it.

    >>> label_of('["north","4"]'), label_of('[null]'), label_of('plain')
    ('north, 4', 'NULL', 'plain')
    """
    if not key.startswith("["):
        return key
    return ", ".join("NULL" if part is None else str(part) for part in json.loads(key))


def side_of(plan: WatchPlan, side: int) -> str:
    """A side in the words of reports: above or below a threshold, met or not met."""
    goal = plan.goal
    met = side == MET
    if isinstance(goal, Comparison):
        return "above" if met == (goal.operator in (">", ">=")) else "below"
    return "met" if met else "not met"


def guarantee_of(plan: WatchPlan, shape: Shape | None) -> str:
    """What is promised of a valid answer."""
    if shape is not None and not shape.monitor.sound:
        return "none: a function was declared unsound"
    goal = plan.goal
    if isinstance(goal, SketchGoal):
        return sketch_guarantee(goal)
    if isinstance(goal, Top):
        return _guarantee_of_ranking(goal)
    if isinstance(goal, Track):
        return f"within {goal.within:g}{' percent' if goal.percent else ''} at every pane"
    margin = max(each.margin for each in comparisons(goal))
    return "right at every pane" if not margin else f"right at every pane, within the margin of {margin:g}"


def _guarantee_of_ranking(goal: Top) -> str:
    if goal.using == "topico":
        return "an estimate, right once counts stand still for a few panes"
    which = "largest" if goal.largest else "smallest"
    within = f", within {goal.within:g}" if goal.within else ""
    scores = "as last counted" if goal.ranked is None else f"within {goal.ranked:g}"
    return f"the {goal.k} {which} at every pane{within}; their scores are {scores}"
