"""How far a condition was on the other side while its answer stood: what a report calls ``max_error``.

One comparison is off by the distance of its value from the threshold. Of comparisons that must all be right for the
answer (AND that is met, OR that is not) the farthest counts; where one suffices (OR that is met, AND that is not) the
nearest of those that are within their margin, because the answer rests on it. Each distance is in its comparison's own
unit, so while no answer is wrong none is larger than the largest margin.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.functions.expressions import Expression
from tacit.functions.goals import AllOf, Comparison, Condition, comparisons
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["distance"]

Pointwise = Callable[[Expression], FloatArray | float]


def distance(goal: Condition, met: bool, value_of: Pointwise, doubt_of: Pointwise) -> tuple[FloatArray, IntArray]:
    """At every point, how far the answer ``met`` would be off: 0 where it is right, inf where no number says.

    And which comparison, from left to right, says so.

    >>> from tacit.functions.expressions import Variable
    >>> from tacit.functions.goals import AnyOf
    >>> either = AnyOf((Comparison(Variable(0), ">", 5.0, 1.0), Comparison(Variable(1), ">", 0.5, 0.2)))
    >>> values = {Variable(0): np.array([1.0, 4.5, 6.0]), Variable(1): np.array([0.4, 0.0, 0.0])}
    >>> off, which = distance(either, True, values.__getitem__, lambda tree: 0.0)
    >>> off.round(6).tolist(), which.tolist()
    ([0.1, 0.5, 0.0], [1, 0, 0])
    """
    off, _, which = _off(goal, met, value_of, doubt_of, 0)
    return off, which


def _off(
    goal: Condition, met: bool, value_of: Pointwise, doubt_of: Pointwise, first: int
) -> tuple[FloatArray, BoolArray, IntArray]:
    """The distance, whether it is within the margin, and which comparison it is of; the first one has this number."""
    if isinstance(goal, Comparison):
        value = value_of(goal.expression)
        above = np.asarray(value - goal.threshold if goal.operator in (">", ">=") else goal.threshold - value)
        off = np.maximum(0.0, -above if met else above)
        off = np.where(np.isnan(above), np.inf if met else 0.0, off)  # without a value a comparison is not met
        fine = np.asarray(off <= goal.margin + doubt_of(goal.expression))
        return off, fine, np.full(off.shape, first, dtype=np.int64)
    parts: list[tuple[Any, ...]] = []
    for part in goal.parts:
        parts.append(_off(part, met, value_of, doubt_of, first))
        first += len(comparisons(part))
    offs, fines, numbers = (np.stack([part[k] for part in parts]) for k in range(3))
    if isinstance(goal, AllOf) == met:
        chosen = offs.argmax(axis=0)[None]
        return _taken(offs, chosen), np.asarray(fines.all(axis=0)), _taken(numbers, chosen)
    fine = np.asarray(fines.any(axis=0))
    usable = np.where(~fine | fines, offs, np.inf)
    chosen = usable.argmin(axis=0)[None]
    return _taken(usable, chosen), fine, _taken(numbers, chosen)


def _taken(table: Any, chosen: IntArray) -> Any:
    return np.take_along_axis(table, chosen, axis=0)[0]
