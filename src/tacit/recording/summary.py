"""What a watch said in the end, and a replay's figures in plain words."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, Track
from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.recording.replay import Replay
from tacit.recording.report import Report
from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.answers import MET, UNKNOWN

__all__ = ["Final", "baseline_words", "final_answers", "group_label", "observer_words", "times"]


@dataclass(frozen=True, slots=True, eq=False)
class Final:
    """The last answer of every group: its side, and its value at the estimate it was given at."""

    sides: IntArray
    values: FloatArray

    @property
    def met(self) -> IntArray:
        """The groups whose condition is met, those with the largest values first."""
        found = np.flatnonzero(self.sides == MET)
        return found[np.argsort(-np.nan_to_num(np.abs(self.values[found])), kind="stable")]


def final_answers(replay: Replay) -> Final:
    """The answers that stand after the last step."""
    physical = replay.physical
    sides = np.full(physical.groups, UNKNOWN, dtype=np.int64)
    estimates = np.full((physical.groups, physical.dimension), np.nan)
    for change in replay.outcome.changes:
        sides[change.groups] = change.sides
        estimates[change.groups] = change.estimates
    goal = physical.goal
    expression = goal.expression if isinstance(goal, Comparison | Track) else physical.outputs[0][1]
    return Final(sides, value(expression, estimates * physical.scale))


def group_label(plan: WatchPlan, name: str) -> str:
    """A group with what it is a group of, where that is one thing: ``term 17``."""
    if isinstance(plan.grouping, ByMember):
        return f"{plan.grouping.name} {name}"
    if isinstance(plan.grouping, ByKey) and len(plan.grouping.names) == 1:
        return f"{plan.grouping.names[0]} {name}"
    return name


def observer_words(report: Report) -> str | None:
    """The observer's verdict, or None when it did not walk along."""
    if report.missed is None or report.spurious is None:
        return None
    wrong = report.missed + report.spurious
    error = "" if not report.max_error else f"; farthest from the truth by {report.max_error:.4g} {report.max_error_of}"
    if wrong == 0:
        crossed = "" if not report.crossings else f"; the truth changed sides {times(report.crossings)}"
        return f"every answer was right at every step (0 missed, 0 spurious{crossed}{error})"
    promise = "" if report.guarantee.startswith("none") else " THE PROMISE IS BROKEN: please report this."
    return f"{wrong:,} answers were wrong ({report.missed:,} missed, {report.spurious:,} spurious{error}).{promise}"


def baseline_words(report: Report) -> str | None:
    """Said plainly when a simpler way would have been cheaper."""
    total = report.messages["total"]
    if report.pane_shipping["messages"] < total:
        return "shipping every pane would have been cheaper"
    if report.centralised["messages"] < total:
        return "sending every event would have been cheaper"
    return None


def times(count: int) -> str:
    """How often, in words.

    >>> times(1), times(1200)
    ('once', '1,200 times')
    """
    return "once" if count == 1 else f"{count:,} times"
