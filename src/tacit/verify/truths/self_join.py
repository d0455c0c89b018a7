"""``SELF_JOIN_SIZE(key)``: the sum of the squared counts of all keys."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import SelfJoin
from tacit.language.plan import WatchPlan
from tacit.verify.counts import Counts, counts_at
from tacit.verify.truths.truth import ROUNDING, Complaint, PaneTruths, Said, Truth

__all__ = ["SelfJoinTruth"]


class SelfJoinTruth(Truth):
    """Off by at most ε rows² and the share that is promised of (the truth + ε rows²)."""

    kind = "self-join size"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, SelfJoin)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        assert isinstance(self.question.plan.goal, SelfJoin)
        (key,) = self.question.plan.keys
        return _Sizes(self.question.plan.goal, counts_at(self.rows, self.question, key, panes, sites))


class _Sizes(PaneTruths):
    def __init__(self, goal: SelfJoin, counts: Counts) -> None:
        self._goal, self._counts = goal, counts

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        counts = self._counts.get(pane, {})
        truth = float(sum(count**2 for count in counts.values()))
        slack = self._goal.accuracy.epsilon * float(sum(counts.values())) ** 2
        _, answer = said.sides.get((), (0, 0.0))
        allowed = slack + self._goal.within * (truth + slack)
        if answer is not None and abs(answer - truth) <= allowed + ROUNDING * (1.0 + truth):
            return []
        return [((), f"said {answer}, and it is {truth:g}, known to within {slack:g}")]
