"""The omniscient observer of rankings: the truth over all sites at every step, and whether the answer was valid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols._kernels_topk import judge
from tacit.recording.topk_arrays import TopkRows
from tacit.recording.topk_engine import SetChange, first_windows
from tacit.recording.updates import Updates

__all__ = ["TopkVerdict", "judge_topk"]


@dataclass(frozen=True, slots=True)
class TopkVerdict:
    """``missed``: steps at which a group outside was ahead by more than promised, or the list was too short;
    ``spurious``: steps at which it named a group without rows; ``max_error``: by how much one outside was ever ahead.
    ``crossings``: how often the exact list changed (who is in it stays, while it is not overtaken). Where scores are
    promised, a step at which one was further off is missed, too; ``score_error`` is the largest.
    """

    crossings: int
    missed: int
    spurious: int
    max_error: float
    score_error: float


def judge_topk(rows: TopkRows, updates: Updates, changes: list[SetChange]) -> TopkVerdict:
    """Walk along the steps of a replay."""
    lists, objects = len(rows.lists), len(rows.keys)
    by_list = np.argsort(rows.list_of, kind="stable")
    place = np.empty(objects, dtype=np.int64)
    place[by_list] = np.arange(objects)
    start = np.searchsorted(rows.list_of[by_list], np.arange(lists + 1))
    row_list, row_object = rows.list_of[rows.object], place[rows.object]
    values, counts = np.zeros(objects), np.zeros(objects, dtype=np.int64)
    whole, lost = (np.zeros(0 if rows.exact else objects) for _ in range(2))
    inside, star = np.zeros(objects, dtype=np.bool_), np.zeros(objects, dtype=np.bool_)
    members, gone, alive, stars, dirty = np.zeros((5, lists), dtype=np.int64)
    floor, ceiling = np.full(lists, np.inf), np.full(lists, -np.inf)
    star_floor, star_ceiling = np.full(lists, -np.inf), np.full(lists, -np.inf)
    marked, dirt, verdict = np.zeros(lists, dtype=np.bool_), np.zeros(1, dtype=np.int64), np.zeros(5)
    said, ranked = np.zeros(objects), np.inf if rows.goal.ranked is None else rows.goal.ranked
    room = 0 if rows.goal.ranked is None else len(rows.score) + sum(len(change.members) for change in changes)
    moved = np.zeros(room + 1, dtype=np.int64)
    at_lo, at_hi = first_windows(updates, rows.sites)

    def walk(at: int, end: int, *, hold: bool) -> None:
        judge(
            at, end, hold, updates.site, updates.lo, updates.hi, updates.last, at_lo, at_hi, row_list, row_object,
            rows.score, rows.exact, start, rows.goal.k, rows.goal.within, values, whole, lost, counts, inside, members,
            gone, alive, floor, ceiling, star, stars, star_floor, star_ceiling, dirty, marked, dirt, verdict,
            ranked, said, moved,
        )  # fmt: skip

    at = 0
    for change in changes:
        walk(at, change.update + 1, hold=True)
        at = change.update + 1
        own = slice(int(start[change.list]), int(start[change.list + 1]))
        inside[own] = False
        inside[place[list(change.members)]] = True
        said[place[list(change.members)]] = change.scores
        if room:  # scores are judged when they are said, too
            moved[moved[0] + 1 : moved[0] + 1 + len(change.members)] = place[list(change.members)]
            moved[0] += len(change.members)
        members[change.list] = len(change.members)
        gone[change.list] = int(np.count_nonzero(inside[own] & (counts[own] == 0)))
        floor[change.list], ceiling[change.list] = -np.inf, np.inf  # looked through at the next step
    walk(at, len(updates.site), hold=False)
    return TopkVerdict(int(verdict[3]), int(verdict[0]), int(verdict[1]), float(verdict[2]), float(verdict[4]))
