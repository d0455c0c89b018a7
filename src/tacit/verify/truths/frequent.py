"""``GROUP BY key HAVING COUNT(*) > n``: the keys that more than n rows have."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import Frequent
from tacit.language.plan import WatchPlan
from tacit.verify.counts import Counts, counts_at
from tacit.verify.keys import shown
from tacit.verify.truths.truth import Complaint, PaneTruths, Said, Truth

__all__ = ["FrequentTruth"]


class FrequentTruth(Truth):
    """A key inside has more than n - m - ε rows of all, a key outside fewer than n + m + ε of all.

    The language promises that with probability 1 - δ for each key; the judge counts every exception.
    """

    kind = "frequent keys"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Frequent)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        assert isinstance(self.question.plan.goal, Frequent)
        (key,) = self.question.plan.keys
        return _Keys(self.question.plan.goal, counts_at(self.rows, self.question, key, panes, sites))


class _Keys(PaneTruths):
    def __init__(self, goal: Frequent, counts: Counts) -> None:
        self._goal, self._counts = goal, counts

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        counts, goal = self._counts.get(pane, {}), self._goal
        slack = goal.margin + goal.accuracy.epsilon * sum(counts.values())
        inside = {key for members in said.lists.values() for key in members}
        found: list[Complaint] = [
            (key, f"{shown(key)} is inside with {counts.get(key, 0)} rows")
            for key in sorted(inside, key=str)
            if not counts.get(key, 0) > goal.threshold - slack
        ]
        found += [
            (key, f"{shown(key)} is outside with {count} rows")
            for key, count in sorted(counts.items(), key=str)
            if key not in inside and count > goal.threshold + slack
        ]
        return found
