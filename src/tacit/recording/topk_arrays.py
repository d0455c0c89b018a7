"""A top-k watch over a recording as arrays: each row's list, object and score, and the objects of every site.

An *arena* is one list at one site. Its objects are numbered from 0 in the order of their keys' numbers, with room
behind them for objects that the coordinator speaks of and the site has no rows of, ever.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.additive import row_weights
from tacit.functions.goals import Top
from tacit.language.plan import WatchPlan
from tacit.protocols._kernels import PER_KEY
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.keys import split_key

__all__ = ["Arenas", "TopkRows", "arenas_of", "topk_rows"]

_ROOM = 64
_DENSE_MOST = 1 << 28


@dataclass(frozen=True, slots=True, eq=False)
class TopkRows:
    """Rows are site-major. ``objects`` and ``lists`` are keys; an object number is one of (list, key)."""

    goal: Top
    score: FloatArray  # (N,) larger is better: the smallest are looked for with the sign changed
    object: IntArray  # (N,)
    list_of: IntArray  # (objects,)
    keys: tuple[str, ...]  # (objects,)
    lists: tuple[str, ...]
    sites: int
    start: IntArray  # (sites + 1,) where each site's rows begin
    exact: bool

    @property
    def rows(self) -> FloatArray:
        """The scores of the rows, as the observer's helpers call them."""
        return self.score

    @property
    def mode(self) -> int:
        """Every row has one group."""
        return PER_KEY

    @property
    def group(self) -> IntArray:
        """The object of each row."""
        return self.object

    @property
    def groups(self) -> int:
        """How many objects there are."""
        return len(self.keys)

    @property
    def sign(self) -> float:
        """What scores are multiplied by before they are shown."""
        return 1.0 if self.goal.largest else -1.0


@dataclass(slots=True, eq=False)
class Arenas:
    """Where the objects of each arena are. ``local`` numbers a row's object within its arena."""

    arena: IntArray  # (N,)
    local: IntArray  # (N,)
    start: IntArray  # (arenas,)
    used: IntArray  # (arenas,)
    room: IntArray  # (arenas,)
    object: IntArray  # (places,) -1 where nothing is


def topk_rows(plan: WatchPlan, recording: Recording) -> TopkRows:
    """The rows of a top-k watch, in the order of ``updates_of``."""
    goal = plan.goal
    assert isinstance(goal, Top)
    assert recording.group is not None
    assert recording.keys is not None
    weights = row_weights(goal.expression, recording.dimension)
    assert weights is not None  # the language has seen to it
    order, start = recording.by_site
    used = np.flatnonzero(weights)
    score = recording.present[:, used[0]] * weights[used[0]]
    for j in used[1:].tolist():
        score = score + recording.present[:, j] * weights[j]
    score = score[order] if goal.largest else -score[order]
    names: dict[str, int] = {}
    keys, lists = [], np.empty(len(recording.keys), dtype=np.int64)
    for number, text in enumerate(recording.keys):
        key, name = split_key(text, goal.per)
        keys.append(key)
        lists[number] = names.setdefault(name, len(names))
    whole = bool((score == np.rint(score)).all()) and float(np.abs(score).sum()) < 2.0**53
    return TopkRows(
        goal, score, recording.group[order].astype(np.int64), lists, tuple(keys), tuple(names), len(recording.sites),
        start, whole,
    )  # fmt: skip


def arenas_of(rows: TopkRows) -> Arenas:
    """Number the objects of each arena."""
    count = len(rows.keys)
    site = np.repeat(np.arange(rows.sites), np.diff(rows.start))
    pair = site * count + rows.object  # an object is in one list
    if rows.sites * count <= _DENSE_MOST:
        seen = np.zeros(rows.sites * count, dtype=np.bool_)
        seen[pair] = True
        pairs = np.flatnonzero(seen)
    else:
        pairs = np.unique(pair)
    pair_arena = rows.list_of[pairs % count] * rows.sites + pairs // count
    by_arena = np.argsort(pair_arena, kind="stable")
    arenas = len(rows.lists) * rows.sites
    used = np.bincount(pair_arena, minlength=arenas)
    room = used + _ROOM
    start = np.cumsum(room) - room
    rank = np.empty(len(pairs), dtype=np.int64)
    rank[by_arena] = np.arange(len(pairs)) - np.repeat(np.cumsum(used) - used, used)
    place = np.searchsorted(pairs, pair)
    arena, local = pair_arena[place], rank[place]
    objects = np.full(int(room.sum()), -1, dtype=np.int64)
    objects[start[pair_arena] + rank] = pairs % count
    return Arenas(arena.astype(np.int32), local.astype(np.int32), start, used.astype(np.int64), room, objects)
