"""``USING topico``: an estimate that is right once counts have stood still for a few panes."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.verify.formulas import Formulas
from tacit.verify.keys import Key
from tacit.verify.question import Question
from tacit.verify.truths.ranking import true_lists
from tacit.verify.truths.truth import Complaint, PaneTruths, Said, Truth
from tacit.verify.values import Groups

__all__ = ["STILL_PANES", "TopicoTruth"]

STILL_PANES = 6
"""For so many panes no count at any site may have changed before a pane is judged."""


class TopicoTruth(Truth):
    """At panes at which nothing has moved for a while the list is the true one; at others nothing is promised."""

    kind = "ranking by topico"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Top) and plan.goal.using == "topico"

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        before = sorted({pane - back for pane in panes for back in range(STILL_PANES)})
        alone = [true_lists(self, before, [site]) for site in sites]
        return _Estimates(self.question, *true_lists(self, panes, sites), [groups for _, groups in alone])


class _Estimates(PaneTruths):
    def __init__(self, question: Question, formulas: Formulas, groups: Groups, alone: list[Groups]) -> None:
        assert isinstance(question.plan.goal, Top)
        assert question.goal is not None
        self._goal, self._tree, self._formulas, self._groups = question.plan.goal, question.goal, formulas, groups
        self._alone = alone

    def can_be_judged(self, pane: int) -> bool:
        return all(
            groups.at.get(pane, {}) == groups.at.get(pane - back, {})
            for groups in self._alone
            for back in range(1, STILL_PANES)
        )

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        sign = 1.0 if self._goal.largest else -1.0
        truth: dict[Key, dict[Key, float]] = {}
        for key, row in self._groups.at.get(pane, {}).items():
            cut = len(key) - self._goal.per
            truth.setdefault(key[cut:], {})[key[:cut]] = sign * (self._formulas.value(self._tree, row) or 0.0)
        found: list[Complaint] = []
        for name in sorted({*said.lists, *truth}, key=str):
            members, there = set(said.lists.get(name, {})), truth.get(name, {})
            # Sites nominate what they have counted: of objects without a count, none need be listed.
            least = min((there[key] for key in members if key in there), default=0.0)
            if len(members) < self._goal.k:
                least = min(least, 0.0)
            most = max((score for key, score in there.items() if key not in members), default=least)
            if not members <= set(there) or len(members) > self._goal.k or least < most:
                found.append((name, f"counts stand still, and the list is {sorted(members, key=str)} of {there}"))
        return found
