"""``TRACK value WITHIN e [PERCENT]``: never further than so much from the value, of every group."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import Track
from tacit.language.plan import WatchPlan
from tacit.verify.formulas import Formulas
from tacit.verify.question import Question
from tacit.verify.truths.truth import ROUNDING, Complaint, PaneTruths, Said, Truth
from tacit.verify.values import Groups, groups_at

__all__ = ["TrackedTruth"]


class TrackedTruth(Truth):
    """abs(answer - value) <= e, or <= e percent of abs(value); without a value the answer has none either."""

    kind = "tracked value"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Track)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        formulas = Formulas(self.question.items, self.question.aliases)
        assert self.question.goal is not None
        formulas.add(self.question.goal)
        return _Values(self.question, formulas, groups_at(self.rows, self.question, formulas, panes, sites))


class _Values(PaneTruths):
    def __init__(self, question: Question, formulas: Formulas, groups: Groups) -> None:
        assert question.goal is not None
        assert isinstance(question.plan.goal, Track)
        self._tree, self._goal, self._formulas, self._groups = question.goal, question.plan.goal, formulas, groups

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        found: list[Complaint] = []
        nothing = self._formulas.value(self._tree, self._groups.empty)
        for key, row in self._groups.rows(pane).items():
            truth = self._formulas.value(self._tree, row)
            _, answer = said.sides.get(key, (0, nothing))
            if truth is None or answer is None:
                right = truth is None and answer is None
            else:
                allowed = self._goal.within / 100.0 * abs(truth) if self._goal.percent else self._goal.within
                right = abs(answer - truth) <= allowed + ROUNDING * (1.0 + abs(truth) + allowed)
            if not right:
                found.append((key, f"said {answer}, and it is {truth}"))
        return found
