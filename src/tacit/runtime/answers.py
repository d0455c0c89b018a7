"""From what a settlement publishes to what people are told: values and sides by key, spans of validity, alerts.

An alert is a condition that begins or ceases to hold; a tracked value that is said anew is a change. The id of both
follows from the watch, the pane and the group, so that one that is raised again after a crash has the same.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.functions.deciding import deciding
from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, Quantile, SketchGoal, Top, Track, comparisons
from tacit.functions.no_rows import NOTHING, has_no_rows, shown_points
from tacit.language import sketch_guarantee
from tacit.language.plan import ByMember, WatchPlan
from tacit.language.shape import Shape
from tacit.runtime.alert_documents import ALERT, CHANGE, Document, alert_id, document_of
from tacit.runtime.provisional import Replaced
from tacit.runtime.store import Write
from tacit.vocabulary import Answer, FloatArray, IntArray
from tacit.vocabulary.answers import MET

__all__ = ["Said", "Teller", "ValueTeller", "guarantee_of", "said_of", "side_of"]

_UNSAID = -1
_TEMPLATE = ""  # the key of the group that stands, under GROUP BY EACH, for all without rows


@dataclass(frozen=True, slots=True)
class Said:
    """What was last said of a group: its side (NOT_MET, MET, UNKNOWN) and its value (nan: none).

    Of a condition with several comparisons also the values of all of them, from which follows which one has changed.
    """

    side: int
    value: float
    compared: tuple[float, ...] = ()


class Teller:
    """Compares each published answer with what was said before."""

    def __init__(self, plan: WatchPlan, shape: Shape, lineage: int, pane_us: int, said: dict[str, Said]) -> None:
        self.plan, self.shape, self.lineage, self.pane_us = plan, shape, lineage, pane_us
        self.said = said  # by key
        self._by_member = isinstance(plan.grouping, ByMember)
        self._tracks = isinstance(plan.goal, Track)
        goal = shape.form.goal
        self._expression = goal.expression if isinstance(goal, Comparison | Track) else shape.form.outputs[0][1]
        self._comparisons = comparisons(goal)
        self._condition = None if isinstance(goal, Track) else goal
        self._counts = np.array(shape.form.counts, dtype=np.bool_)
        self._tells_no_rows = not self._tracks and shape.monitor.is_collected
        nowhere = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else NOTHING)
        self._nothing = float(self.values(nowhere)[0])
        side, compared = int(shape.monitor.answers(nowhere)[0]), self._compare(nowhere)
        self._of_nothing = Said(side, self._nothing, tuple(compared[0].tolist()))
        self._begin(compared.shape[1])
        self.replaced: list[Replaced] = []  # what was said before, of all that was said anew; whoever notes it takes it
        # Where a condition holds of nothing at all, a group is spoken of from the first pane on with rows of it.
        self.is_met_by_nothing = plan.grouping is not None and self._of_nothing.side == MET and not self._tracks

    def _begin(self, compared: int) -> None:
        self._side = array("q")  # what was last said, by the numbers of groups
        self._value = array("d")
        self._compared = np.empty((0, compared))  # the values of all comparisons, where there are several

    def values(self, estimates: FloatArray) -> FloatArray:
        """The value that the watch is about, at each estimate. A condition of no rows has none, as in SQL."""
        points = estimates * self.shape.scale
        seen = shown_points(points, self._counts) if self._tells_no_rows else points
        return np.asarray(value(self._expression, seen) + 0.0)  # a count of no rows is 0.0, not -0.0

    def _compare(self, estimates: FloatArray) -> FloatArray:
        """What decides all comparisons at each estimate, where there are several: a sum of no rows is 0 there."""
        if len(self._comparisons) < 2:
            return np.empty((len(estimates), 0))
        points = estimates * self.shape.scale
        return np.stack([value(each.expression, points) for each in self._comparisons], axis=1)

    def _shown(self, at: int, estimate: FloatArray | None, decided: float) -> float:
        """The value of a comparison as it is shown: none of no rows, as in SQL."""
        if estimate is None or not self._tells_no_rows or not has_no_rows(estimate[None, :])[0]:
            return decided
        point = (estimate * self.shape.scale)[None, :]
        return float(value(self._comparisons[at].expression, shown_points(point, self._counts))[0])

    def tell(
        self, answer: Answer, keys: Sequence[str], there_from: Mapping[int, int] | None = None
    ) -> tuple[dict[str, tuple[int, Said]], list[Document]]:
        """What changed with this answer, by key, from which pane on, and the alerts and changes that this makes.

        ``there_from``: the pane from which each group is there; before it nothing is said of it. Under GROUP BY EACH
        that is of one of which nothing else can be said than of the first group, which stands for all without rows.
        """
        some = len(answer.sides) > 0
        values = self.values(answer.estimates) if some else np.empty(0)
        compared = self._compare(answer.estimates) if some else np.empty((0, len(self._of_nothing.compared)))
        tracks = self._tracks
        changed: dict[str, tuple[int, Said]] = {}
        first = answer.pane if answer.first is None else answer.first
        alerts: list[Document] = []
        for number in self._news(answer.sides, values, compared, keys):
            key, side, current = keys[number], int(answer.sides[number]), float(values[number])
            before = self.said.get(key)
            pane = first
            if self._by_member and number == 0:
                self._tell_template(first, Said(side, current, tuple(compared[0].tolist())), changed)
                continue
            differs = self._by_member and (side != answer.sides[0] or not _same(current, float(values[0])))
            if before is None and there_from is not None and not differs:
                pane = max(first, there_from.get(number, answer.pane + 1))
                if pane > answer.pane:
                    continue
            now = Said(side, current, tuple(compared[number].tolist()))
            self._side[number], self._value[number], self._compared[number] = side, current, compared[number]
            changed[key] = pane, now
            met_before = before is not None and before.side == MET
            value_before = self._nothing if before is None else before.value
            if (not _same(value_before, current)) if tracks else (met_before != (side == MET)):
                told = now if before is not None else self._first_said(now, changed)
                last = self._of_nothing if before is None else before
                alerts.append(self._alert(answer, pane, key, told, last, answer.estimates[number]))
        self.replaced += [(pane, key, self.said.get(key)) for key, (pane, _) in changed.items()]
        self.said.update((key, now) for key, (_, now) in changed.items())
        return changed, alerts

    def begin_anew(self) -> None:
        """What was last said was taken back: compare with what was said before it."""
        self._begin(self._compared.shape[1])

    def correct(self, answer: Answer, told: Mapping[str, str]) -> list[Document]:
        """Alerts of groups of which people were last told another side, as of panes that were not final."""
        if self._tracks or not told:
            return []
        found = []
        for key, side in told.items():
            now = self.said.get(key, self._of_nothing)
            if side_of(self.plan, now.side) != side:
                document = self._alert(answer, answer.pane, key, now, self._of_nothing)
                found.append({**document, "id": f"{document['id']}-c", "correction": True})
        return found

    def writes(self, changed: Mapping[str, tuple[int, Said]]) -> list[Write]:
        """What is to be stored of what ``tell`` has changed."""
        sql = "INSERT OR REPLACE INTO changes VALUES (?, ?, ?, ?, ?, ?)"
        return [
            (sql, (self.lineage, pane, key, said.side, _number(said.value), _stored(said.compared)))
            for key, (pane, said) in changed.items()
        ]

    def _tell_template(self, pane: int, now: Said, changed: dict[str, tuple[int, Said]]) -> None:
        """Of what all groups are without rows, it is remembered where a condition came to be met or ceased to be."""
        self._side[0], self._value[0], self._compared[0] = now.side, now.value, now.compared
        if (self.said.get(_TEMPLATE, self._of_nothing).side == MET) != (now.side == MET):
            changed[_TEMPLATE] = pane, now

    def _first_said(self, now: Said, changed: Mapping[str, object]) -> Said:
        """A condition that was met before the group had rows is told with the value at which it came to be."""
        before = self.said.get(_TEMPLATE, self._of_nothing)
        same = self._by_member and not self._tracks and before.side == now.side == MET
        return before if same and _TEMPLATE not in changed else now

    def _news(self, sides: IntArray, values: FloatArray, compared: FloatArray, keys: Sequence[str]) -> list[int]:
        """The groups of which something else was said last, or nothing; there may be very many, and mostly none is."""
        known = len(self._side)
        if len(sides) > known:
            more = np.full((len(sides) - known, compared.shape[1]), np.nan)
            self._compared = np.concatenate([self._compared, more])
        for number in range(known, len(sides)):
            before = self.said.get(keys[number])
            self._side.append(_UNSAID if before is None else before.side)
            self._value.append(np.nan if before is None else before.value)
            if before is not None and before.compared:
                self._compared[number] = before.compared
        said, worth = np.frombuffer(self._side, dtype=np.int64), np.frombuffer(self._value)
        same = (said == sides) & ((worth == values) | (np.isnan(worth) & np.isnan(values)))
        if compared.shape[1]:
            alike = (self._compared == compared) | (np.isnan(self._compared) & np.isnan(compared))
            same &= alike.all(axis=1)
        return np.flatnonzero(~same).tolist()

    def _alert(
        self, answer: Answer, pane: int, key: str, now: Said, before: Said, estimate: FloatArray | None = None
    ) -> Document:
        """The document of what is said now; ``before`` is what was said when the condition was last looked at.

        Of a condition with several comparisons the ``estimate`` tells whether there are any rows.
        """
        number, comparison, threshold = now.value, None, None
        if self._condition is not None:
            at = deciding(self._condition, before.compared, now.compared) if now.compared else 0
            number = self._shown(at, estimate, now.compared[at]) if now.compared else now.value
            comparison, threshold = self._comparisons[at].text, self._comparisons[at].threshold
        return document_of(
            answer,
            kind=CHANGE if self._tracks else ALERT,
            id=alert_id(self.lineage, self.plan.name, pane, key, *((now.value,) if self._tracks else (now.side,))),
            watch=self.plan.name,
            pane=pane,
            pane_us=self.pane_us,
            group=None if self.plan.grouping is None else key,
            side=None if self._tracks else side_of(self.plan, now.side),
            value=_number(number),
            threshold=threshold,
            comparison=comparison,
        )


class ValueTeller(Teller):
    """Of a value that is read off sketches: there is one, and every new one is told."""

    def __init__(self, plan: WatchPlan, lineage: int, pane_us: int, said: dict[str, Said]) -> None:
        self.plan, self.lineage, self.pane_us, self.said = plan, lineage, pane_us, said
        self._begin(0)
        self.replaced = []
        self._by_member, self._tracks, self.is_met_by_nothing = False, True, False
        self._nothing = np.nan if isinstance(plan.goal, Quantile) else 0.0
        self._of_nothing = Said(MET, self._nothing)
        self._comparisons, self._condition = [], None

    def values(self, estimates: FloatArray) -> FloatArray:
        """The value itself."""
        return np.asarray(estimates[:, 0])


def said_of(side: int, value: float | None, compared: str | None) -> Said:
    """What was said, as it is stored (``Teller.writes``)."""
    values = () if compared is None else tuple(np.nan if each is None else each for each in json.loads(compared))
    return Said(side, np.nan if value is None else value, values)


def _stored(compared: Sequence[float]) -> str | None:
    return json.dumps([_number(each) for each in compared]) if compared else None


def _number(number: float) -> float | None:
    """A value as JSON has it: one that is none is null."""
    return float(number) + 0.0 if np.isfinite(number) else None


def _same(a: float, b: float) -> bool:
    return a == b or (np.isnan(a) and np.isnan(b))


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
