"""The scores of a site at one pane, which can be moved to every other pane that is not settled for good.

There may be millions of objects, so their scores are not kept per pane: of every pane it is known which scores it
changed, from what to what. Scores are put where they were, never added or subtracted, so that every pane looks the same
whenever it is looked at. Of panes that change nothing nothing is kept.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tacit.protocols.topk.contest import Table
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["ScoreTables", "Scores"]


@dataclass(frozen=True, slots=True, eq=False)
class Scores:
    """The scores of some objects of a list, by their places in its table, and how many rows there are of each."""

    list: str
    places: IntArray
    values: FloatArray
    counts: IntArray


@dataclass(slots=True, eq=False)
class _Step:
    """What a pane changed, and what was there before."""

    after: tuple[Scores, ...]
    before: tuple[Scores, ...]
    updates: int  # rows that came or went until its end


class ScoreTables:
    """One table for each list. ``touched`` gathers the lists whose tables were moved, until somebody takes them."""

    def __init__(self, make: Callable[[str], Table], begin: int) -> None:
        self._make = make
        self.lists: dict[str, Table] = {}
        self.touched: set[str] = set()
        self.closed = begin - 1
        self.oldest = begin  # the oldest pane that can be moved to; none can as long as none is closed
        self._steps: dict[int, _Step] = {}
        self._order: list[int] = []  # the panes that have steps, rising
        self._at = begin - 1
        self._updates = self._updates_at_oldest = 0

    def table(self, name: str) -> Table:
        """The table of a list."""
        if name not in self.lists:
            self.lists[name] = self._make(name)
        return self.lists[name]

    def holds(self, pane: int) -> bool:
        """Can the tables be moved to this pane?"""
        return self.oldest <= pane <= self.closed

    def close(self, pane: int, changed: Sequence[Scores], updates: int, last: int | None = None) -> None:
        """A pane is closed, and all up to ``last``, which change nothing more.

        After a gap the panes before cannot be moved to any more.
        """
        self.move(self.closed)
        if pane > self.closed + 1:
            self._steps.clear()
            self._order.clear()
            self.oldest = pane
        self._updates += updates
        step = _Step(tuple(changed), tuple(map(self._present, changed)), self._updates)
        self._put(step.after)
        self.closed = self._at = pane if last is None else last
        if pane == self.oldest:
            self._updates_at_oldest = self._updates
            self.touched.update(each.list for each in changed)
        elif changed or updates:
            self._steps[pane] = step
            self._order.append(pane)

    def changed(self, pane: int) -> tuple[Scores, ...]:
        """What this pane changed; nothing where that is not known any more."""
        return self._steps[pane].after if pane in self._steps else ()

    def run(self, pane: int) -> int:
        """The last of the panes after this one that change nothing; itself, if there is none."""
        at = bisect_right(self._order, pane)
        return self._order[at] - 1 if at < len(self._order) else self.closed

    def updates(self, pane: int) -> int:
        """Rows that came or went until the end of a pane."""
        at = bisect_right(self._order, pane)
        return self._steps[self._order[at - 1]].updates if at else self._updates_at_oldest

    def step_to(self, pane: int) -> None:
        """Move on to the next pane, or to any other; one step forward does not touch its lists."""
        if self._at < pane and bisect_right(self._order, self._at) == bisect_left(self._order, pane):
            self._put(self.changed(pane))
            self._at = pane
        self.move(pane)

    def move(self, pane: int) -> None:
        """Move the tables to a pane that is held."""
        at, wanted = bisect_right(self._order, self._at), bisect_right(self._order, pane)
        for each in reversed(self._order[wanted:at]):
            step = self._steps[each]
            self._put(step.before)
            self.touched.update(scores.list for scores in step.before)
        for each in self._order[at:wanted]:
            step = self._steps[each]
            self._put(step.after)
            self.touched.update(scores.list for scores in step.after)
        self._at = pane

    def settle(self, pane: int) -> None:
        """No pane before this one will be asked for."""
        if pane > self._at:
            self.move(pane)
        self._forget_before(pane)

    def _forget_before(self, pane: int) -> None:
        if pane <= self.oldest:
            return
        self._updates_at_oldest = self.updates(pane)
        self.oldest = pane
        gone = bisect_right(self._order, pane)
        for each in self._order[:gone]:
            del self._steps[each]
        del self._order[:gone]

    def _put(self, scores: Sequence[Scores]) -> None:
        for each in scores:
            table = self.table(each.list)
            table.values[each.places] = each.values
            table.counts[each.places] = each.counts

    def _present(self, scores: Scores) -> Scores:
        table = self.table(scores.list)
        return Scores(scores.list, scores.places, table.values[scores.places], table.counts[scores.places])
