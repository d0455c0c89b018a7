"""How far a condition was on the other side while its answer stood: what a report calls ``max_error``.

One comparison is off by the distance of its value from the threshold. Of comparisons that must all be right for the
answer (AND that is met, OR that is not) the farthest counts; where one suffices (OR that is met, AND that is not) the
nearest of those that are within their margin, because the answer rests on it. Each distance is in its comparison's own
unit, so while no answer is wrong none is larger than the largest margin.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

import numpy as np

from tacit.functions.expressions import Expression
from tacit.functions.goals import AllOf, Comparison, Condition
from tacit.vocabulary import BoolArray, FloatArray

__all__ = ["distance"]

Pointwise = Callable[[Expression], FloatArray | float]


def distance(goal: Condition, met: bool, value_of: Pointwise, doubt_of: Pointwise) -> FloatArray:
    """At every point, how far the answer ``met`` would be off: 0 where it is right, inf where no number says.

    >>> from tacit.functions.expressions import Variable
    >>> from tacit.functions.goals import AnyOf
    >>> either = AnyOf((Comparison(Variable(0), ">", 5.0, 1.0), Comparison(Variable(1), ">", 0.5, 0.2)))
    >>> values = {Variable(0): np.array([1.0, 4.5, 6.0]), Variable(1): np.array([0.4, 0.0, 0.0])}
    >>> distance(either, True, values.__getitem__, lambda tree: 0.0).round(6).tolist()
    [0.1, 0.5, 0.0]
    """
    return _off(goal, met, value_of, doubt_of)[0]


def _off(goal: Condition, met: bool, value_of: Pointwise, doubt_of: Pointwise) -> tuple[FloatArray, BoolArray]:
    """The distance, and whether it is within the margin."""
    if isinstance(goal, Comparison):
        value = value_of(goal.expression)
        above = np.asarray(value - goal.threshold if goal.operator in (">", ">=") else goal.threshold - value)
        off = np.maximum(0.0, -above if met else above)
        off = np.where(np.isnan(above), np.inf if met else 0.0, off)  # without a value a comparison is not met
        return off, np.asarray(off <= goal.margin + doubt_of(goal.expression))
    parts = [_off(part, met, value_of, doubt_of) for part in goal.parts]
    if isinstance(goal, AllOf) == met:
        return reduce(np.maximum, [off for off, _ in parts]), reduce(np.logical_and, [fine for _, fine in parts])
    fine = reduce(np.logical_or, [fine for _, fine in parts])
    usable = [np.where(~fine | within, off, np.inf) for off, within in parts]
    return reduce(np.minimum, usable), fine
