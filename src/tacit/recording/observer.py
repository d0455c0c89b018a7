"""The omniscient observer: it sees all rows of all sites and judges every answer at every step.

It shares nothing with the engine but the recording: totals are prefix sums over all sites at once (of whole numbers,
hence exact, except under GROUP BY EACH), expressions are evaluated by plain NumPy. A (group, step) pair is judged when
the step touched the group; between such steps neither the truth nor the answer can change.

Tolerance: a sum of doubles is known to a few units in the last place of the sum of their sizes. An answer counts as
wrong only if it is also wrong after every component is moved by 2^-44 of that, to first order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from tacit.functions.evaluate import gradient, value
from tacit.functions.expressions import Expression
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, Goal, Track
from tacit.protocols._kernels import PER_MEMBER
from tacit.recording.distance import distance
from tacit.recording.engine import Change
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import BoolArray, FloatArray, IntArray
from tacit.vocabulary.answers import MET

__all__ = ["Verdict", "judge", "rows_change_at", "rows_come_and_go", "truth_along"]

_TOLERANCE = 2.0**-44
_POINTS = 1 << 19
_LAYERS = 6


@dataclass(slots=True)
class Verdict:
    """What the observer saw, over all groups and steps."""

    crossings: int = 0
    missed: int = 0
    spurious: int = 0
    max_error: float = 0.0
    farthest: int = 0  # the comparison that max_error is of, from left to right
    judged: int = 0


def judge(physical: Physical, updates: Updates, changes: list[Change]) -> Verdict:
    """Compare every answer of a replay with the truth; where one looks wrong, again with the tolerance for sums."""
    verdict = _walk_along(physical, updates, changes, tolerant=False)
    if verdict.missed or verdict.spurious:
        verdict = _walk_along(physical, updates, changes, tolerant=True)
    return verdict


def _walk_along(physical: Physical, updates: Updates, changes: list[Change], *, tolerant: bool) -> Verdict:
    verdict = Verdict()
    answers = _Timeline(physical, changes, updates)
    met_before = np.zeros(physical.groups, dtype=np.bool_)
    dense = physical.mode == PER_MEMBER
    count_crossings = _count_crossings_by_step if dense else _count_crossings_by_group
    truth = truth_along(physical, updates)
    sizes = truth_along(_sizes_of(physical), updates) if tolerant else None
    for groups, steps, points in truth:
        sides, said = answers.along(groups, steps) if dense else answers.at(groups, steps)
        values = _Values(points, None if sizes is None else next(sizes)[2])
        _judge_points(physical.goal, values, sides, said, verdict)
        if not isinstance(physical.goal, Track):
            verdict.crossings += count_crossings(groups, steps, _holds(physical.goal, values, 0.0), met_before)
        verdict.judged += len(groups)
    return verdict


def _sizes_of(physical: Physical) -> Physical:
    """The same rows without their signs: their totals say how exactly the sums can be known."""
    present = physical.rows + physical.shared if physical.mode == PER_MEMBER else physical.rows
    shared = np.abs(physical.shared)
    rows = np.abs(present) + shared if physical.mode == PER_MEMBER else np.abs(present)
    return replace(physical, rows=rows, shared=shared)


class _Timeline:
    """Which answer a group had at a step: the last change not after it."""

    def __init__(self, physical: Physical, changes: list[Change], updates: Updates) -> None:
        step_of: IntArray = np.cumsum(updates.last) - updates.last
        sizes = [len(change.groups) for change in changes]
        step = np.repeat([step_of[c.update] if c.update >= 0 else -1 for c in changes], sizes)
        group = np.concatenate([change.groups for change in changes])
        order = np.lexsort((np.arange(len(step)), step, group))
        self._width = int(step_of[-1]) + 2 if len(step_of) else 2
        self._group, self._step = group[order], step[order]
        self._key = self._group * self._width + self._step + 1
        self._by_step = np.argsort(self._step, kind="stable")
        self._step_in_order = self._step[self._by_step]
        self._now = np.zeros(physical.groups, dtype=np.int64)  # the entry each group is at, for ``along``
        self._next = 0
        self._sides = np.concatenate([change.sides for change in changes])[order]
        self._said: FloatArray | None = None
        if isinstance(physical.goal, Track):
            estimates = np.concatenate([change.estimates for change in changes])[order]
            self._said = value(physical.goal.expression, estimates * physical.scale)

    def at(self, groups: IntArray, steps: IntArray) -> tuple[IntArray, FloatArray | None]:
        where = np.searchsorted(self._key, groups * self._width + steps + 1, side="right") - 1
        return self._sides[where], None if self._said is None else self._said[where]

    def along(self, groups: IntArray, steps: IntArray) -> tuple[IntArray, FloatArray | None]:
        """The same for blocks of steps that follow each other, every group in each: the answers are carried along."""
        if len(steps) == 0:
            return self.at(groups, steps)
        first, last = int(steps.min()), int(steps.max())
        table = np.empty((last - first + 1, len(self._now)), dtype=np.int64)
        row = 0
        while self._next < len(self._by_step) and self._step[self._by_step[self._next]] <= last:
            step = int(self._step[self._by_step[self._next]])
            end = int(np.searchsorted(self._step_in_order, step, side="right"))
            upto = max(row, step - first)
            table[row:upto] = self._now
            row = upto
            entries = self._by_step[self._next : end]
            self._now[self._group[entries]] = entries
            self._next = end
        table[row:] = self._now
        where = table[steps - first, groups]
        return self._sides[where], None if self._said is None else self._said[where]


def truth_along(physical: Physical, updates: Updates) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Blocks of (group, step, true vector), for every step at which a group's rows changed."""
    row_added, row_removed = rows_come_and_go(physical, updates)
    blocks = _member_blocks if physical.mode == PER_MEMBER else _key_blocks
    for groups, steps, totals in blocks(physical, updates, row_added, row_removed):
        d = physical.dimension
        points = totals[:, :d]
        if physical.weighted:
            with np.errstate(invalid="ignore", divide="ignore"):
                points = points / totals[:, d:]
        yield groups, steps, np.asarray(points, dtype=np.float64) * physical.scale


class GroupedRows(Protocol):
    """Rows, site by site, and the group of each."""

    @property
    def rows(self) -> FloatArray: ...
    @property
    def sites(self) -> int: ...
    @property
    def mode(self) -> int: ...
    @property
    def groups(self) -> int: ...
    @property
    def group(self) -> IntArray: ...


def rows_come_and_go(physical: Physical | GroupedRows, updates: Updates) -> tuple[IntArray, IntArray]:
    """The step that adds each row and the step that removes it (the number of steps: never)."""
    rows = len(physical.rows)
    step_of: IntArray = np.cumsum(updates.last) - updates.last
    never = updates.steps
    added = np.full(rows, never, dtype=np.int64)
    removed = np.full(rows, never, dtype=np.int64)
    order = np.argsort(updates.site, kind="stable")
    bounds = np.searchsorted(updates.site[order], np.arange(physical.sites + 1))
    for site in range(physical.sites):
        mine = order[bounds[site] : bounds[site + 1]]
        if len(mine) == 0:
            continue
        steps = np.append(step_of[mine], never)
        first, end = int(updates.lo[mine[0]]), int(updates.hi[mine[-1]])
        positions = np.arange(first, end)
        added[first:end] = steps[np.searchsorted(updates.hi[mine], positions, side="right")]
        removed[first:end] = steps[np.searchsorted(updates.lo[mine], positions, side="right")]
    passing = added == removed  # came and went within one step
    added[passing] = removed[passing] = never
    return added, removed


def _key_blocks(
    physical: Physical, updates: Updates, added: IntArray, removed: IntArray
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Whole groups at a time: sort the changes by (group, step) and add them up."""
    group_of_row = physical.group if len(physical.group) else np.zeros(len(physical.rows), dtype=np.int64)
    row = np.tile(np.arange(len(physical.rows)), 2)
    step = np.concatenate([added, removed])
    sign = np.repeat([1, -1], len(physical.rows))
    used = step < updates.steps
    row, step, sign = row[used], step[used], sign[used]
    group = group_of_row[row]
    order = np.lexsort((step, group))
    row, step, sign, group = row[order], step[order], sign[order], group[order]
    if len(row) == 0:
        return
    layers, units, column = _whole_layers(physical.rows, len(row))
    ends = np.flatnonzero(np.append((group[1:] != group[:-1]) | (step[1:] != step[:-1]), True))
    carried = np.zeros(len(units), dtype=np.int64)
    current = -1
    begin = 0
    for stop in range(0, len(ends), _POINTS):
        part = ends[stop : stop + _POINTS]
        span = slice(begin, int(part[-1]) + 1)
        running = np.cumsum(layers[row[span]] * sign[span, None], axis=0)
        starts = np.flatnonzero(np.append(True, group[span][1:] != group[span][:-1]))
        base = np.zeros((len(starts), running.shape[1]), dtype=np.int64)
        base[1:] = running[starts[1:] - 1]
        if group[begin] == current:
            base[0] = -carried
        which = np.searchsorted(starts, part - begin, side="right") - 1
        totals = running[part - begin] - base[which]
        carried, current, begin = totals[-1], int(group[part[-1]]), int(part[-1]) + 1
        sums: Any = np.zeros((len(part), physical.rows.shape[1]), dtype=np.longdouble)
        for k in reversed(range(len(units))):  # from the small to the large: only this rounds
            sums[:, column[k]] += totals[:, k].astype(np.longdouble) * units[k]
        yield group[part], step[part], sums


def _whole_layers(rows: FloatArray, count: int) -> tuple[IntArray, list[float], list[int]]:
    """The columns as layers of whole numbers, so small that ``count`` of them add up in 64 bits; units and columns.

    A running sum that rounds remembers a large value after it has left the window; these forget it.
    """
    bits = 62 - int(np.ceil(np.log2(count + 1)))
    layers: list[IntArray] = []
    units: list[float] = []
    column: list[int] = []
    for j in range(rows.shape[1]):
        rest = rows[:, j].copy()
        unit = max(5e-324, 2.0 ** float(np.frexp(np.abs(rest).max(initial=0.0))[1] - bits))
        for _ in range(_LAYERS):
            whole = np.rint(rest / unit)
            layers.append(whole.astype(np.int64))
            units.append(unit)
            column.append(j)
            rest -= whole * unit
            unit *= 2.0**-bits
            if unit < 1e-300 or not rest.any():
                break
    none = np.empty((len(rows), 0), dtype=np.int64)
    return np.concatenate([none, *(layer[:, None] for layer in layers)], axis=1), units, column


def _member_blocks(
    physical: Physical, updates: Updates, added: IntArray, removed: IntArray
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Some steps at a time, all groups: a row changes every group, so the block is dense."""
    width, groups, steps = physical.rows.shape[1], physical.groups, updates.steps
    rows = np.concatenate([np.arange(len(added)), np.arange(len(removed))])
    when = np.concatenate([added, removed])
    sign = np.repeat([1.0, -1.0], len(added))
    order = np.argsort(when, kind="stable")
    rows, when, sign = rows[order], when[order], sign[order]
    per_block = max(1, _POINTS // max(1, groups))
    common = np.zeros(width)
    local = np.zeros((groups, width))
    for first in range(0, steps, per_block):
        size = min(per_block, steps - first)
        span = slice(*np.searchsorted(when, [first, first + size]))
        at, who, s = when[span] - first, rows[span], sign[span]
        common_delta = np.zeros((size, width))
        np.add.at(common_delta, at, physical.shared[who] * s[:, None])
        lengths = physical.pointer[who + 1] - physical.pointer[who]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        member = physical.member[np.repeat(physical.pointer[who], lengths) + within]
        dense = np.zeros((size, groups, width))
        np.add.at(dense, (np.repeat(at, lengths), member), np.repeat(physical.rows[who] * s[:, None], lengths, axis=0))
        touched = np.zeros((size, groups), dtype=np.bool_)
        touched[np.repeat(at, lengths), member] = True
        touched[(common_delta != 0).any(axis=1)] = True
        locals_ = np.cumsum(dense, axis=0, out=dense)
        locals_ += local
        commons = common + np.cumsum(common_delta, axis=0)
        step, group = np.nonzero(touched)
        local, common = locals_[-1].copy(), commons[-1]
        yield group, step + first, locals_[step, group] + commons[step]


def _judge_points(goal: Goal, values: _Values, sides: IntArray, said: FloatArray | None, verdict: Verdict) -> None:
    if isinstance(goal, Track):
        assert said is not None
        _judge_tracking(goal, values, said, verdict)
        return
    met = sides == MET
    wrong_met = met & ~_holds(goal, values, 1.0)
    wrong_not = ~met & _holds(goal, values, -1.0)
    verdict.spurious += int(np.count_nonzero(wrong_met))
    verdict.missed += int(np.count_nonzero(wrong_not))
    (off_met, of_met), (off_not, of_not) = (distance(goal, side, values.of, values.doubt) for side in (True, False))
    error, which = np.where(met, off_met, off_not), np.where(met, of_met, of_not)
    error = np.where(np.isfinite(error), error, 0.0)
    if len(error) and float(error.max()) > verdict.max_error:
        verdict.max_error, verdict.farthest = float(error.max()), int(which[error.argmax()])


def _judge_tracking(goal: Track, values: _Values, said: FloatArray, verdict: Verdict) -> None:
    truth = values.of(goal.expression)
    allowed = goal.within / 100.0 * np.abs(truth) if goal.percent else np.full(len(truth), goal.within)
    both = np.isnan(truth) & np.isnan(said)
    with np.errstate(invalid="ignore"):
        error = np.where(both, 0.0, np.abs(said - truth))
        wrong = ~(error <= allowed + values.doubt(goal.expression)) & ~both
    verdict.missed += int(np.count_nonzero(wrong))
    finite = error[np.isfinite(error)]
    if goal.percent:
        with np.errstate(invalid="ignore", divide="ignore"):
            finite = (100.0 * error / np.abs(truth))[np.isfinite(error) & (truth != 0)]
    verdict.max_error = max(verdict.max_error, float(finite.max(initial=0.0)))


class _Values:
    """The value of each expression at the points, computed once; its doubt, where the sizes of the sums are given."""

    def __init__(self, points: FloatArray, sizes: FloatArray | None = None) -> None:
        self.points, self._sizes = points, sizes
        self._known: dict[int, FloatArray] = {}

    def of(self, expression: Expression) -> FloatArray:
        if id(expression) not in self._known:
            self._known[id(expression)] = value(expression, self.points)
        return self._known[id(expression)]

    def doubt(self, expression: Expression) -> FloatArray | float:
        """How far the value may be off because the sums are: to first order, 2^-44 of each sum's size and the value."""
        if self._sizes is None:
            return 0.0
        slope = np.nan_to_num(np.abs(gradient(expression, self.points)), nan=0.0, posinf=1e300)
        return np.asarray(_TOLERANCE * ((slope * self._sizes).sum(axis=1) + np.abs(np.nan_to_num(self.of(expression)))))


def _holds(goal: Condition, values: _Values, leniency: float) -> BoolArray:
    """Does the condition hold, every margin given (leniency 1) or demanded (-1)? The doubt always helps the answer."""
    match goal:
        case Comparison(expression, operator, threshold, margin):
            above = values.of(expression) - threshold
            if operator in ("<", "<="):
                above = -above
            give = leniency * (margin + values.doubt(expression))
            return np.asarray(above > -give if operator in (">", "<") else above >= -give)
        case AllOf(parts):
            return np.asarray(np.logical_and.reduce([_holds(part, values, leniency) for part in parts]))
        case AnyOf(parts):
            return np.asarray(np.logical_or.reduce([_holds(part, values, leniency) for part in parts]))


def _count_crossings_by_group(groups: IntArray, steps: IntArray, met: BoolArray, before: BoolArray) -> int:
    """How often the truth changed sides; before its first row a group is not met. The block is ordered by group."""
    starts = np.append(True, groups[1:] != groups[:-1])
    previous = np.append(False, met[:-1])
    previous[starts] = before[groups[starts]]
    ends = np.append(starts[1:], True)
    before[groups[ends]] = met[ends]
    return int(np.count_nonzero(met != previous))


def _count_crossings_by_step(groups: IntArray, steps: IntArray, met: BoolArray, before: BoolArray) -> int:
    """The same for a block ordered by step: what a group was last is carried down the rows of a table."""
    if len(steps) == 0:
        return 0
    at = steps - int(steps.min()) + 1
    table = np.full((int(at.max()) + 1, len(before)), -1, dtype=np.int8)
    table[0] = before
    table[at, groups] = met
    row = np.where(table >= 0, np.arange(len(table))[:, None], 0)
    np.maximum.accumulate(row, axis=0, out=row)
    filled = np.take_along_axis(table, row, axis=0)
    before[:] = filled[-1] == 1
    return int(np.count_nonzero(filled[1:] != filled[:-1]))


def rows_change_at(physical: Physical | GroupedRows, updates: Updates) -> int:
    """How many (update, group) pairs have rows that came or went: what shipping every pane would carry."""
    update_of = np.arange(len(updates.site))
    each = Updates(updates.site, updates.lo, updates.hi, updates.time, np.ones_like(updates.last), updates.panes)
    added, removed = rows_come_and_go(physical, each)
    when = np.concatenate([added, removed])
    row = np.tile(np.arange(len(physical.rows)), 2)
    used = when < len(update_of)
    when, row = when[used], row[used]
    if physical.mode == PER_MEMBER and isinstance(physical, Physical):
        lengths = physical.pointer[row + 1] - physical.pointer[row]
        within = np.arange(int(lengths.sum())) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        group = physical.member[np.repeat(physical.pointer[row], lengths) + within]
        when = np.repeat(when, lengths)
    else:
        group = physical.group[row]
    return len(np.unique(when * physical.groups + group))
