"""``ALERT WHEN condition``: met or not met, of every group, within the margins of its comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from tacit.functions.goals import AllOf, AnyOf, Comparison
from tacit.language.plan import WatchPlan
from tacit.verify.formulas import Formulas, Value, holds
from tacit.verify.keys import Key
from tacit.verify.question import Question
from tacit.verify.truths.truth import Complaint, PaneTruths, Said, Truth
from tacit.verify.values import Groups, groups_at

__all__ = ["ConditionTruth"]


class ConditionTruth(Truth):
    """*Met* is right while the condition holds with every threshold eased by its margin, *not met* while it fails with
    every threshold tightened by its margin."""

    kind = "condition"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Comparison | AllOf | AnyOf)

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        formulas = Formulas(self.question.items, self.question.aliases)
        assert self.question.goal is not None
        for side in _numbers(self.question.goal):
            formulas.add(side)
        return _Conditions(self.question, formulas, groups_at(self.rows, self.question, formulas, panes, sites))


class _Conditions(PaneTruths):
    def __init__(self, question: Question, formulas: Formulas, groups: Groups) -> None:
        assert question.goal is not None
        self._goal, self._formulas, self._groups = question.goal, formulas, groups
        self._known: dict[tuple[Value, ...], bool | None] = {}

    def forced(self, pane: int) -> Mapping[Key, bool | None]:
        return {key: self._forced(row) for key, row in self._groups.rows(pane).items()}

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        found: list[Complaint] = []
        for key, row in self._groups.rows(pane).items():
            met, forced = said.sides.get(key, (0, None))[0] == 1, self._forced(row)
            if forced is not None and forced != met:
                found.append((key, f"said {'met' if met else 'not met'}, and it is {self._words(row)}"))
        return found

    def _forced(self, row: Mapping[str, Value]) -> bool | None:
        values = tuple(row.values())
        if values not in self._known:
            if not holds(self._formulas, self._goal, row, 1):
                self._known[values] = False
            else:
                self._known[values] = True if holds(self._formulas, self._goal, row, -1) else None
        return self._known[values]

    def _words(self, row: Mapping[str, Value]) -> str:
        numbers = [self._formulas.value(side, row) for side in _numbers(self._goal)]
        return " and ".join("without a value" if number is None else f"{number:.9g}" for number in numbers[::2])


def _numbers(tree: exp.Expr) -> list[exp.Expr]:
    """The sides of all comparisons of a condition: left, right, left, right …"""
    if isinstance(tree, exp.Between):
        return [tree.this, tree.args["low"], tree.this, tree.args["high"]]
    if isinstance(tree, exp.And | exp.Or):
        return [*_numbers(tree.this), *_numbers(tree.expression)]
    if isinstance(tree, exp.GT | exp.GTE | exp.LT | exp.LTE):
        return [tree.this, tree.expression]
    return _numbers(tree.this)  # NOT, brackets, MARGIN
