"""``INNER_PRODUCT(a, b)``: the sum over all keys of the count on one side times that on the other."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import InnerProduct
from tacit.language.plan import WatchPlan
from tacit.verify.counts import Counts, counts_at
from tacit.verify.truths.truth import ROUNDING, Complaint, PaneTruths, Said, Truth

__all__ = ["InnerProductTruth"]


class InnerProductTruth(Truth):
    """Off by at most ε times the rows of both sides, and the share that is promised of (the truth + that)."""

    kind = "inner product"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, InnerProduct)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        assert isinstance(self.question.plan.goal, InnerProduct)
        left, right = (
            counts_at(self.rows, self.question, key, panes, sites) for key in self.question.plan.keys
        )  # fmt: skip
        return _Products(self.question.plan.goal, left, right)


class _Products(PaneTruths):
    def __init__(self, goal: InnerProduct, left: Counts, right: Counts) -> None:
        self._goal, self._left, self._right = goal, left, right

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        left, right = self._left.get(pane, {}), self._right.get(pane, {})
        truth = float(sum(count * right.get(key, 0) for key, count in left.items()))
        slack = self._goal.accuracy.epsilon * float(sum(left.values())) * float(sum(right.values()))
        _, answer = said.sides.get((), (0, 0.0))
        allowed = slack + self._goal.within * (truth + slack)
        if answer is not None and abs(answer - truth) <= allowed + ROUNDING * (1.0 + truth):
            return []
        return [((), f"said {answer}, and it is {truth:g}, known to within {slack:g}")]
