"""What the panes of a site changed in the scores of a ranking, and how a watch's machine comes to hear of it.

``RankSteps`` belongs to the windows, which several rankings may share: of every closed pane that is not settled it
keeps the groups that changed, with their sums. ``RankFeed`` belongs to one watch: it turns sums into
scores, and groups into objects of lists (PER), from the pane on at which the machine begins.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.functions.additive import row_weights
from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.protocols.topk.objects import Objects
from tacit.protocols.topk.score_tables import Scores
from tacit.runtime.window_keeper import WindowKeeper
from tacit.vocabulary import DataError, FloatArray, IntArray
from tacit.vocabulary.batches import LARGEST
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import split_key

__all__ = ["RankFeed", "RankSteps"]


_NOTHING = np.zeros(0, dtype=np.int64)


class _Step(NamedTuple):
    """The groups that a pane changed, their sums afterwards, and how many rows came or went with it."""

    groups: IntArray
    sums: FloatArray
    moved: int


class RankSteps:
    """The steps of the panes that windows hold, made as they are wanted; the keeper's sums are at the last of them."""

    def __init__(self, keeper: WindowKeeper) -> None:
        self._keeper = keeper
        self._steps: dict[int, _Step] = {}
        self._at: int | None = None  # the pane that the sums are at

    def step(self, pane: int) -> _Step:
        """What a closed pane changed. Of the first that is asked for it is everything that is there."""
        oldest = self._keeper.oldest
        assert oldest is not None
        each = oldest if self._at is None else max(oldest, self._at + 1)
        while each <= pane:
            groups, moved = self._keeper.step(each)
            if len(groups) or moved or self._at is None:
                self._steps[each] = _Step(groups, self._keeper.sums.take(groups), moved)
            self._at = min(pane, self._keeper.same_until(each))
            each = self._at + 1
        found = self._steps.get(pane)
        return _Step(_NOTHING, np.zeros((0, self._keeper.dimension)), 0) if found is None else found

    def everything(self, pane: int) -> _Step:
        """All that is there at the end of a pane, as if it had changed it all."""
        totals = self._keeper.totals_at(pane)
        groups = np.flatnonzero(totals.any(axis=1))
        return _Step(groups, totals[groups], self._keeper.rows_in(pane))

    def settle(self) -> None:
        """Forget the steps of panes that cannot be asked for any more."""
        oldest = self._keeper.oldest
        for pane in [pane for pane in self._steps if oldest is not None and pane < oldest]:
            del self._steps[pane]


class RankFeed:
    """One watch's view of the steps; ``table`` makes the tables of its machine."""

    def __init__(self, plan: WatchPlan, keeper: WindowKeeper, steps: RankSteps) -> None:
        goal = plan.goal
        assert isinstance(goal, Top)
        weights = row_weights(goal.expression, len(plan.statistics))
        assert weights is not None  # the language has seen to it
        self._plan, self._per, self._keeper, self._steps = plan, goal.per, keeper, steps
        self._weights = weights if goal.largest else -weights
        self._begun = False
        self._tables: dict[str, Objects] = {}
        self._names: list[str] = []  # of the lists, by number
        self._numbers: dict[str, int] = {}
        self._list: IntArray = np.zeros(0, dtype=np.int64)  # by group, as is its place
        self._place: IntArray = np.zeros(0, dtype=np.int64)

    def table(self, name: str) -> Objects:
        """The objects of a list. Without PER they are the groups themselves."""
        if name not in self._tables:
            self._tables[name] = Objects(None if self._per else self._keeper.keys)
        return self._tables[name]

    def close(self, pane: int) -> tuple[list[Scores], int]:
        """The scores that a pane changed; of the first pane all that are there."""
        step = self._steps.step(pane) if self._begun else self._steps.everything(pane)
        self._begun = True
        used = np.flatnonzero(self._weights)
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            values = step.sums[:, used[0]] * self._weights[used[0]]
            for at in used[1:].tolist():
                values = values + step.sums[:, at] * self._weights[at]
        self._check(pane, values)
        return self._scores(step.groups, values, np.rint(step.sums[:, -1]).astype(np.int64)), step.moved

    def held(self, pane: int) -> tuple[FloatArray, FloatArray, tuple[str, ...]]:
        """The score and the rows of every group at the end of a pane, for a witness."""
        totals = self._keeper.totals_at(pane)
        return totals[:, :-1] @ self._weights[:, None], totals[:, -1], tuple(self._keeper.keys)

    def _scores(self, groups: IntArray, values: FloatArray, counts: IntArray) -> list[Scores]:
        if not len(groups):
            return []
        if not self._per:
            return [Scores("", groups, values, counts)]
        self._place_groups()
        lists, places = self._list[groups], self._place[groups]
        order = np.argsort(lists, kind="stable")
        cuts = np.flatnonzero(np.append(True, np.diff(lists[order]) != 0))
        parts = np.split(order, cuts[1:])
        return [Scores(self._names[int(lists[at[0]])], places[at], values[at], counts[at]) for at in parts]

    def _place_groups(self) -> None:
        """Groups that came since have their lists and places."""
        known = len(self._list)
        fresh = self._keeper.keys[known:]
        if not fresh:
            return
        lists, places = np.zeros((2, len(fresh)), dtype=np.int64)
        for at, key in enumerate(fresh):
            own, name = split_key(key, self._per)
            number = self._numbers.setdefault(name, len(self._names))
            if number == len(self._names):
                self._names.append(name)
            lists[at], places[at] = number, self.table(name).add(own)
        self._list, self._place = np.append(self._list, lists), np.append(self._place, places)

    def _check(self, pane: int, values: FloatArray) -> None:
        if (np.abs(values) <= LARGEST).all():
            return
        at = iso_time((pane + 1) * self._keeper.pane_us)
        raise DataError(
            f"watch {self._plan.name}, table {self._plan.table}, the pane that ends at {at}: a score is beyond"
            f" {LARGEST:g}, too large to be computed with; divide it by a power of ten, or leave such rows out with"
            " WHERE"
        )
