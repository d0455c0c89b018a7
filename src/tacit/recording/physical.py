"""From a watch plan and a recording to arrays: which form of the vector, in which units, monitored how.

Choices, each sound by itself; what is chosen only changes how many messages are needed.

- Only statistics that the goal needs are kept; those that are equal on every row (counts of columns without NULLs)
  become one.
- *weighted* form (means, the seed's): when every expression is homogeneous of degree 0 in the statistics, they may all
  be divided by a shared count, which becomes the weight. *sums* otherwise.
- Units: each component is divided by a power of two near its spread, so that balls are round where the data is; powers
  of two lose nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.expressions import Constant, Expression, Variable
from tacit.functions.forms import degree, substitute, variables
from tacit.functions.goals import Goal, map_goal
from tacit.functions.monitor import Monitor
from tacit.functions.statistics import Moment
from tacit.language.plan import WatchPlan
from tacit.protocols._kernels import ONE_GROUP, PER_KEY, PER_MEMBER
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["Physical", "physical_plan"]

_HEAD = 1_000  # rows looked at before all are
_SAMPLE, _SPREADS = 4_096, 1_024.0


@dataclass(frozen=True, slots=True)
class Physical:
    """A watch over a recording, ready to be replayed. Arrays are site-major; the last column is the weight, if any."""

    goal: Goal
    outputs: tuple[tuple[str, Expression], ...]
    monitor: Monitor
    weighted: bool
    mode: int
    rows: FloatArray
    shared: FloatArray
    group: IntArray
    pointer: IntArray
    member: IntArray
    sites: int
    groups: int
    scale: FloatArray
    exact: bool

    @property
    def dimension(self) -> int:
        """Components of the vector, the weight left out."""
        return int(self.rows.shape[1]) - int(self.weighted)


def physical_plan(plan: WatchPlan, recording: Recording, *, form: str = "auto", units: bool = True) -> Physical:
    """Choose form and units for this watch over this recording. ``form`` is auto, sums or weighted."""
    order, _ = recording.by_site
    present, absent = recording.present, recording.absent
    goal, outputs = plan.goal, plan.outputs
    merged = _equal_columns(present, absent)
    swap = {j: Variable(k) for j, k in merged.items() if j != k}
    goal = map_goal(goal, lambda tree: substitute(tree, swap))
    outputs = tuple((name, substitute(tree, swap)) for name, tree in outputs)
    trees = _trees(goal)
    used = sorted({v for tree in trees for v in variables(tree)})
    outputs = tuple((name, tree) for name, tree in outputs if set(variables(tree)) <= set(used))
    outputs = outputs or (("value", trees[0]),)
    weights = _weights(plan, [*trees, *(tree for _, tree in outputs)], used) if form != "sums" else None
    simplex: tuple[int, ...] | None = None
    kept = used
    if weights is not None:
        if len(weights) == 1:
            kept = [j for j in used if j != weights[0]]
            one: dict[int, Expression] = {weights[0]: Constant(1.0)}
            goal = map_goal(goal, lambda tree: substitute(tree, one))
            outputs = tuple((name, substitute(tree, one)) for name, tree in outputs)
        elif weights:
            simplex = tuple(kept.index(j) for j in weights)
    renumber: dict[int, Expression] = {j: Variable(k) for k, j in enumerate(kept)}
    goal = map_goal(goal, lambda tree: substitute(tree, renumber))
    outputs = tuple((name, substitute(tree, renumber)) for name, tree in outputs)
    columns = _columns(present, kept, weights, order)
    others = np.zeros((len(columns), 0)) if absent is None else _columns(absent, kept, weights, order)
    scale = _units(columns[: len(kept)]) if units else np.ones(len(kept))
    exact = _whole(columns) and _whole(others)
    rows, shared = (_in_units(each, scale) for each in (columns, others))
    if absent is not None:
        rows -= shared
    where = {j: k for k, j in enumerate(kept)}
    if weights is not None and len(weights) == 1:
        where[weights[0]] = -1  # the count of a mean is 1
    monitor = Monitor(
        goal, outputs, len(kept), nonnegative=np.array([plan.statistics[j].nonnegative for j in kept], dtype=np.bool_),
        moments=_moments(plan, merged, where), simplex=simplex, scale=scale,
    )  # fmt: skip
    mode, group, pointer, member = _grouping(recording, order)
    groups = 1 if recording.groups is None else len(recording.groups)
    return Physical(
        goal, outputs, monitor, weights is not None, mode, rows, shared, group, pointer, member,
        len(recording.sites), groups, scale, exact,
    )  # fmt: skip


def _trees(goal: Goal) -> list[Expression]:
    """The expressions of a goal; only what they need is kept in the vector."""
    trees: list[Expression] = []

    def note(tree: Expression) -> Expression:
        trees.append(tree)
        return tree

    map_goal(goal, note)
    return trees


def _equal_columns(present: FloatArray, absent: FloatArray | None) -> dict[int, int]:
    """For each column the first column equal to it on every row."""
    first: dict[int, int] = {}
    for j in range(present.shape[1]):
        for k in sorted(set(first.values())):
            if _same(present[:, j], present[:, k]) and (absent is None or _same(absent[:, j], absent[:, k])):
                first[j] = k
                break
        else:
            first[j] = j
    return first


def _same(a: FloatArray, b: FloatArray) -> bool:
    """Are all values equal? Most columns differ early."""
    return np.array_equal(a[:_HEAD], b[:_HEAD]) and np.array_equal(a, b)


def _weights(plan: WatchPlan, trees: list[Expression], used: list[int]) -> list[int] | None:
    """The columns whose sum is the weight of the weighted form, [] for the number of rows, None for the sums form."""
    if not used or any(degree(tree) != 0 for tree in trees):
        return None
    counts = [j for j in used if plan.statistics[j].count]
    if len(counts) == len(used):
        return counts  # a contingency table: the cells themselves sum to the number of rows
    return counts if len(counts) == 1 else []


def _columns(values: FloatArray, kept: list[int], weights: list[int] | None, order: IntArray) -> FloatArray:
    """The kept columns and, in the weighted form, the weight as the last one, each in this order of rows."""
    chosen = [values[:, j] for j in kept]
    if weights is not None:
        chosen.append(values[:, weights].sum(axis=1) if weights else np.ones(len(values)))
    return np.stack([column[order] for column in chosen]) if chosen else np.zeros((0, len(order)))


def _in_units(columns: FloatArray, scale: FloatArray) -> FloatArray:
    """Rows, as kernels read them, with components in their units."""
    rows = np.empty(columns.shape[::-1])
    for j, column in enumerate(columns):
        rows[:, j] = column / scale[j] if j < len(scale) else column
    return rows


def _units(columns: FloatArray) -> FloatArray:
    """A power of two near the spread of each column (near its size, where it does not vary)."""
    if columns.size == 0:
        return np.ones(len(columns))
    some = columns[:, :: max(1, columns.shape[1] // _SAMPLE)]
    (low, high), usual = np.quantile(some, [0.25, 0.75], axis=1), np.quantile(np.abs(some), 0.75, axis=1)
    spread, size = columns.std(axis=1), np.abs(columns).mean(axis=1)
    # Some rows may be far out: they must not set the unit of all.
    spread = np.where(high > low, np.minimum(spread, _SPREADS * (high - low)), spread)
    size = np.where(usual > 0, np.minimum(size, _SPREADS * usual), size)
    unit = np.where(spread > 1e-9 * np.maximum(size, 1e-300), spread, size)
    unit = np.where(unit > 0, unit, 1.0)
    return np.asarray(2.0 ** np.round(np.log2(unit)))


def _whole(columns: FloatArray) -> bool:
    """Are all sums exact in double precision: whole numbers whose total stays below 2^53?"""
    if columns.size == 0:
        return True
    head = columns[:, :_HEAD]
    whole = (head == np.rint(head)).all() and (columns == np.rint(columns)).all()
    return bool(whole and np.abs(columns).sum(axis=1).max() < 2.0**53)


def _moments(plan: WatchPlan, merged: dict[int, int], where: dict[int, int]) -> tuple[Moment, ...]:
    """The moments whose three parts are in the vector (``where`` of a statistic, -1 for the count of a mean)."""
    found = []
    for moment in plan.moments:
        indices = [merged[k] for k in (moment.count, moment.first, moment.square)]
        if all(k in where for k in indices):
            found.append(Moment(*(where[k] for k in indices)))
    return tuple(found)


def _grouping(recording: Recording, order: IntArray) -> tuple[int, IntArray, IntArray, IntArray]:
    none = np.zeros(0, dtype=np.int64)
    if recording.group is not None:
        return PER_KEY, recording.group[order].astype(np.int64), none, none
    if recording.member is None or recording.member_ptr is None:
        return ONE_GROUP, none, none, none
    sizes = np.diff(recording.member_ptr)[order]
    pointer = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    starts = recording.member_ptr[:-1][order]
    within = np.arange(pointer[-1]) - np.repeat(pointer[:-1], sizes)
    return PER_MEMBER, none, pointer, recording.member[np.repeat(starts, sizes) + within].astype(np.int64)
