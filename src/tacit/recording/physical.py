"""From a watch plan and a recording to arrays: the vector's form (language/shape.py), its units, its rows by site.

Statistics that are equal on every row of the recording (counts of columns without NULLs) become one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.expressions import Expression
from tacit.functions.goals import Goal
from tacit.functions.monitor import Monitor
from tacit.functions.statistics import shifted
from tacit.language.plan import SECOND_US, WatchPlan
from tacit.language.shape import SAMPLE, measure_of, units_of, vector_form
from tacit.protocols._kernels import ONE_GROUP, PER_KEY, PER_MEMBER
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray, IntArray
from tacit.wire.control import Measure, Sample

__all__ = ["Physical", "first_measure", "physical_plan"]

_HEAD = 1_000  # rows looked at before all are
_FAR = 1_000.0


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
    counts: tuple[bool, ...] = ()  # which components are counts

    @property
    def dimension(self) -> int:
        """Components of the vector, the weight left out."""
        return int(self.rows.shape[1]) - int(self.weighted)


def physical_plan(
    plan: WatchPlan,
    recording: Recording,
    *,
    form: str = "auto",
    zone: str = "ball",
    units: bool = True,
    measure: Measure | None = None,
) -> Physical:
    """Choose form and units for this watch over this recording. ``form`` is auto, sums or weighted.

    With a ``measure`` everything is as live: its centres and units, and no column is taken for another.
    """
    order, _ = recording.by_site
    present, absent = recording.present, recording.absent
    if measure is not None:
        present = shifted(present, plan.shifts, np.array(recording.centres), measure.centres)
        if absent is not None:
            absent = shifted(absent, plan.shifts, np.array(recording.centres), measure.centres)
    merged = _equal_columns(present, absent) if measure is None else None
    shape = vector_form(plan, merged=merged, form=form)
    kept, weights = list(shape.kept), None if shape.weights is None else list(shape.weights)
    columns = _columns(present, kept, weights, order)
    others = np.zeros((len(columns), 0)) if absent is None else _columns(absent, kept, weights, order)
    scale = units_of(columns[: len(kept)]) if units else np.ones(len(kept))
    scale = scale if measure is None else measure.units[kept]
    exact = _whole(columns) and _whole(others)
    rows, shared = (_in_units(each, scale) for each in (columns, others))
    if absent is not None:
        rows -= shared
    mode, group, pointer, member = _grouping(recording, order)
    groups = 1 if recording.groups is None else len(recording.groups)
    return Physical(
        shape.goal, shape.outputs, shape.monitor(scale, zone), shape.weighted, mode, rows, shared, group, pointer,
        member, len(recording.sites), groups, scale, exact, shape.counts,
    )  # fmt: skip


def first_measure(plan: WatchPlan, recording: Recording) -> Measure | None:
    """The measure that a live watch takes from its first pane, over these rows; None where there is none to take.

    A live watch whose first pane tells nothing of its later ones has poor centres. Whoever has all rows need not:
    centres that are far out are replaced, so that no digits are lost.
    """
    if recording.key is None or recording.centred is None or not len(recording.t):
        return None
    pane_us = int(plan.window.every.duration_us or SECOND_US)
    rows = slice(0, int(np.searchsorted(recording.t, (recording.t[0] // pane_us + 1) * pane_us)))
    keys = recording.key[rows]
    least = np.argsort(keys, kind="stable")[:SAMPLE]
    at = np.array(recording.centres)
    measure = measure_of(plan, [Sample(keys[least], recording.present[least], at, recording.centred[least])])
    spread = np.array([_usual_spread(column) for column in recording.centred.T])
    far = np.abs(measure.centres - at) > _FAR * spread
    return Measure(np.where(far, at, measure.centres), measure.units)


def _usual_spread(values: FloatArray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.subtract(*np.quantile(finite, [0.75, 0.25]))) if len(finite) else 0.0


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


def _whole(columns: FloatArray) -> bool:
    """Are all sums exact in double precision: whole numbers whose total stays below 2^53?"""
    if columns.size == 0:
        return True
    head = columns[:, :_HEAD]
    whole = (head == np.rint(head)).all() and (columns == np.rint(columns)).all()
    return bool(whole and np.abs(columns).sum(axis=1).max() < 2.0**53)


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
