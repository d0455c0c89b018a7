"""What is true at a point, said as plainly as possible: the judge of every answer (docs: goals.py's relaxed truth).

Nothing here is clever and nothing here is shared with the code it judges, except ``value``.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tacit.functions.evaluate import value
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, Track

__all__ = ["TOLERANCE", "may_say_met", "may_say_not_met", "met", "tracking_error", "widened"]

TOLERANCE = 1e-9
"""Relative: sums of numbers that are not whole are rounded, and may be added up in another order by whoever judges."""

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]


def met(goal: Condition, points: Array) -> Booleans:
    """Does the condition hold at each row? A comparison without a value does not hold.

    >>> from tacit.functions.expressions import Variable
    >>> met(Comparison(Variable(0) / Variable(1), ">", 2.0), np.array([[5.0, 2.0], [4.0, 2.0], [4.0, 0.0]]))
    array([ True, False, False])
    """
    return _holds(goal, np.atleast_2d(points), 0.0)


def may_say_met(goal: Condition, points: Array) -> Booleans:
    """Is the answer *met* right within the margins: every ``f > T`` read as ``f > T - margin``."""
    return _holds(goal, np.atleast_2d(points), 1.0)


def may_say_not_met(goal: Condition, points: Array) -> Booleans:
    """Is the answer *not met* right within the margins: it fails with every ``f > T`` read as ``f > T + margin``."""
    return ~_holds(goal, np.atleast_2d(points), -1.0)


def tracking_error(goal: Track, points: Array, answers: Array) -> Array:
    """How far each answer is from the truth, in units of the promise: above 1 the promise is broken.

    Both undefined is no error; only one of them undefined is an infinite one.

    >>> from tacit.functions.expressions import Variable
    >>> tracking_error(Track(Variable(0), within=2.0), np.array([[5.0]]), np.array([6.0]))
    array([0.5])
    """
    truth = value(goal.expression, points)
    allowed = goal.within / 100.0 * np.abs(truth) if goal.percent else np.full_like(truth, goal.within)
    with np.errstate(all="ignore"):
        error = np.abs(answers - truth) / allowed
    error = np.where(answers == truth, 0.0, error)
    both = np.isnan(answers) & np.isnan(truth)
    return np.where(both, 0.0, np.where(np.isnan(answers) | np.isnan(truth), np.inf, error))


def widened(goal: Condition, points: Array) -> Condition:
    """The same condition with margins wider by a rounding error of its values at these points.

    >>> from tacit.functions.expressions import Variable
    >>> widened(Comparison(Variable(0), ">", 2.0), np.array([[3.0]])).margin == 4.0 * TOLERANCE
    True
    """
    match goal:
        case Comparison(expression, _, threshold, margin):
            sizes = np.abs(value(expression, np.atleast_2d(points)))
            size = float(np.nanmax(sizes, initial=abs(threshold)))
            return replace(goal, margin=margin + TOLERANCE * (1.0 + size))
        case AllOf(parts) | AnyOf(parts):
            return type(goal)(tuple(widened(part, points) for part in parts))
    raise TypeError(f"not a condition: {goal!r}")


def _holds(goal: Condition, points: Array, leniency: float) -> Booleans:
    match goal:
        case Comparison(expression, operator, threshold, margin):
            f = value(expression, points)
            give = leniency * margin
            match operator:
                case ">":
                    return f > threshold - give
                case ">=":
                    return f >= threshold - give
                case "<":
                    return f < threshold + give
                case "<=":
                    return f <= threshold + give
            raise ValueError(f"unknown comparison {operator}")
        case AllOf(parts):
            return np.asarray(np.all([_holds(part, points, leniency) for part in parts], axis=0))
        case AnyOf(parts):
            return np.asarray(np.any([_holds(part, points, leniency) for part in parts], axis=0))
    raise TypeError(f"not a condition: {goal!r}")
