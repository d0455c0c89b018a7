"""``QUANTILE(x, φ)``: a value that a share φ of the rows does not exceed."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence

from tacit.functions.goals import Quantile
from tacit.language.plan import WatchPlan
from tacit.verify.counts import values_at
from tacit.verify.truths.truth import ROUNDING, Complaint, PaneTruths, Said, Truth

__all__ = ["QuantileTruth"]


class QuantileTruth(Truth):
    """At most a share φ + w + ε of the rows is below the answer, and at least φ - w - ε does not exceed it."""

    kind = "quantile"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Quantile)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        assert isinstance(self.question.plan.goal, Quantile)
        (key,) = self.question.plan.keys
        return _Ranks(self.question.plan.goal, values_at(self.rows, self.question, key, panes, sites))


class _Ranks(PaneTruths):
    def __init__(self, goal: Quantile, values: Mapping[int, Sequence[float]]) -> None:
        self._goal, self._values = goal, values

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        values, goal = self._values.get(pane, []), self._goal
        _, answer = said.sides.get((), (0, None))
        if answer is None or not values:
            right = answer is None and not values
            return [] if right else [((), f"said {answer}, and there are {len(values)} rows with a value")]
        slack = goal.within + goal.accuracy.epsilon + ROUNDING
        below, upto = bisect_left(values, answer) / len(values), bisect_right(values, answer) / len(values)
        if below <= goal.phi + slack and upto >= goal.phi - slack:
            return []
        return [((), f"said {answer:g}, which {upto:.4f} of {len(values)} rows do not exceed ({below:.4f} are below)")]
