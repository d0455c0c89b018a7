"""``ORDER BY score DESC LIMIT k``: no group outside is ahead of one inside by more than ``WITHIN``."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.verify.formulas import Formulas
from tacit.verify.keys import Key, shown
from tacit.verify.question import Question
from tacit.verify.truths.truth import ROUNDING, Complaint, PaneTruths, Said, Truth
from tacit.verify.values import Groups, groups_at

__all__ = ["RankingTruth", "true_lists"]

Lists = dict[Key, dict[Key, float]]


class RankingTruth(Truth):
    """Every list has k groups, or all where there are fewer; with RANKED WITHIN the scores are known, and in order."""

    kind = "ranking"

    @staticmethod
    def fits(plan: WatchPlan) -> bool:
        return isinstance(plan.goal, Top) and plan.goal.using != "topico"

    def at(self, panes: Sequence[int], sites: Sequence[str]) -> PaneTruths:
        return _Rankings(self.question, *true_lists(self, panes, sites))


class _Rankings(PaneTruths):
    def __init__(self, question: Question, formulas: Formulas, groups: Groups) -> None:
        assert isinstance(question.plan.goal, Top)
        assert question.goal is not None
        self._goal, self._tree, self._formulas, self._groups = question.plan.goal, question.goal, formulas, groups

    def complaints(self, pane: int, said: Said) -> list[Complaint]:
        found: list[Complaint] = []
        truth = self.lists(pane)
        for name in sorted({*said.lists, *truth}, key=str):
            complaint = self._wrong(said.lists.get(name, {}), truth.get(name, {}))
            if complaint:
                found.append((name, complaint))
        return found

    def lists(self, pane: int) -> Lists:
        """The scores of all groups that have rows in the window, by list."""
        found: Lists = {}
        for key, row in self._groups.at.get(pane, {}).items():
            cut = len(key) - self._goal.per
            score = self._formulas.value(self._tree, row)
            found.setdefault(key[cut:], {})[key[:cut]] = 0.0 if score is None else score
        return found

    def _wrong(self, said: dict[Key, float], truth: dict[Key, float]) -> str:
        goal, sign = self._goal, 1.0 if self._goal.largest else -1.0
        rounding = ROUNDING * (1.0 + max((abs(score) for score in truth.values()), default=0.0))
        strangers = sorted(shown(key) for key in said if key not in truth)
        if strangers:
            return f"listed {', '.join(strangers[:3])}, which has no rows"
        if len(said) != min(goal.k, len(truth)):
            return f"listed {len(said)} groups, and there are {len(truth)}"
        least = min((sign * truth[key] for key in said), default=0.0)
        outside = {key: sign * score for key, score in truth.items() if key not in said}
        first = max(outside, key=lambda key: outside[key], default=None)
        if first is not None and least + goal.within < outside[first] - rounding:
            return f"{shown(first)} is outside with {sign * outside[first]:g}, and one inside has {sign * least:g}"
        if goal.ranked is None:
            return ""
        scores = list(said.values())
        if scores != sorted(scores, reverse=goal.largest):
            return f"not in the order of its scores: {scores[:5]}"
        off = max((abs(score - truth[key]) for key, score in said.items()), default=0.0)
        return f"a score is off by {off:g}" if off > goal.ranked + rounding else ""


def true_lists(truth: Truth, panes: Sequence[int], sites: Sequence[str]) -> tuple[Formulas, Groups]:
    """The scores of all groups at these panes."""
    formulas = Formulas(truth.question.items, truth.question.aliases)
    assert truth.question.goal is not None
    formulas.add(truth.question.goal)
    return formulas, groups_at(truth.rows, truth.question, formulas, panes, sites)
