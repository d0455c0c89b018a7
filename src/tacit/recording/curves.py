"""What a plot draws, as arrays: the true values over time, and the answers.

The truth comes from the observer's own sums. Long curves are thinned so that a picture of them is the same: of every
stretch of time the first, last, lowest and highest points stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression
from tacit.protocols._kernels import PER_KEY, PER_MEMBER
from tacit.recording.engine import Change
from tacit.recording.observer import truth_along
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["Curve", "answer_curve", "thinned", "true_curves"]

STRETCHES = 1_200


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """A value that holds from each time (microseconds) to the next."""

    time: IntArray
    value: FloatArray


def true_curves(
    physical: Physical, updates: Updates, expressions: Sequence[Expression], groups: IntArray
) -> list[list[Curve]]:
    """For each of these groups, the true value of each expression over time."""
    found: list[list[tuple[IntArray, FloatArray]]] = [[] for _ in groups]
    for group, step, points in truth_along(_only(physical, groups), updates):
        for k in range(len(groups)):
            mine = group == k
            found[k].append((step[mine], points[mine]))
    at = updates.time[updates.last]
    curves = []
    for blocks in found:
        steps = np.concatenate([step for step, _ in blocks]) if blocks else np.empty(0, dtype=np.int64)
        points = np.concatenate([point for _, point in blocks]) if blocks else np.empty((0, physical.dimension))
        curves.append([thinned(Curve(at[steps], value(expression, points))) for expression in expressions])
    return curves


def answer_curve(
    physical: Physical, updates: Updates, changes: Sequence[Change], expression: Expression, group: int
) -> Curve:
    """The value of the expression at the estimate that a group's answer rests on, over time."""
    updates_at, estimates = [], []
    for change in changes:
        where = np.flatnonzero(change.groups == group)
        if len(where):
            updates_at.append(max(change.update, 0))
            estimates.append(change.estimates[where[0]])
    at = updates.time[np.array(updates_at, dtype=np.int64)]
    return Curve(at, value(expression, np.array(estimates) * physical.scale))


def thinned(curve: Curve, stretches: int = STRETCHES) -> Curve:
    """The curve with few points that looks the same.

    >>> long = Curve(np.arange(100_000), np.sin(np.arange(100_000.0)))
    >>> len(thinned(long, 100).time) <= 400
    True
    """
    if len(curve.time) <= 4 * stretches:
        return curve
    begin, end = int(curve.time[0]), int(curve.time[-1])
    stretch = np.minimum((curve.time - begin) * stretches // max(end - begin, 1), stretches - 1)
    first = np.flatnonzero(np.append(True, stretch[1:] != stretch[:-1]))
    last = np.append(first[1:], len(stretch)) - 1
    kept = [first, last]
    order = np.lexsort((np.nan_to_num(curve.value, nan=0.0), stretch))
    kept += [order[first], order[last]]
    chosen = np.unique(np.concatenate(kept))
    return Curve(curve.time[chosen], curve.value[chosen])


def _only(physical: Physical, groups: IntArray) -> Physical:
    """The same rows seen by these groups alone; rows of other groups go to one that nobody looks at."""
    number = np.full(physical.groups, len(groups), dtype=np.int64)
    number[groups] = np.arange(len(groups))
    if physical.mode == PER_KEY:
        return replace(physical, group=number[physical.group], groups=len(groups) + 1)
    if physical.mode == PER_MEMBER:
        kept = number[physical.member] < len(groups)
        before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
        return replace(
            physical, member=number[physical.member[kept]], pointer=before[physical.pointer], groups=len(groups)
        )
    return physical
