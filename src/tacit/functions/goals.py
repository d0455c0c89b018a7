"""What a watch promises: a condition over expressions (alert when) or an expression tracked within an error.

Relaxed truth, for a margin m: an answer *met* is right while the condition holds with every comparison
``f > T`` read as ``f > T - m``; an answer *not met* is right while it fails with every comparison read as
``f > T + m``. A comparison whose expression has no value (nan) is not met, as in SQL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.expressions import Expression
from tacit.vocabulary.arrays import FloatArray

__all__ = ["AllOf", "AnyOf", "Comparison", "Condition", "Goal", "Top", "Track", "comparisons", "map_goal"]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``expression operator threshold`` with an absolute margin; the operator is one of > >= < <=."""

    expression: Expression
    operator: str
    threshold: float
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class AllOf:
    """Conditions joined by AND."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Conditions joined by OR."""

    parts: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Track:
    """The expression is always known to within ``within``.

    Absolute: abs(answer - f) <= within. ``percent``: abs(answer - f) <= within / 100 * abs(f), within < 100.
    """

    expression: Expression
    within: float
    percent: bool = False

    def right_for(self, answers: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The least and greatest values that these answers are right for.

        >>> from tacit.functions.expressions import Variable
        >>> Track(Variable(0), within=25.0, percent=True).right_for(np.array([100.0]))
        (array([80.]), array([133.33333333]))
        """
        if not self.percent:
            return answers - self.within, answers + self.within
        share = self.within / 100.0
        near, far = answers / (1.0 + share), answers / (1.0 - share)
        return np.minimum(near, far), np.maximum(near, far)


@dataclass(frozen=True, slots=True)
class Top:
    """The ``k`` groups with the largest (or smallest) score, which is a sum over rows.

    No group outside is ahead of one inside by more than ``within``. The last ``per`` keys of a group name the list that
    it is in; every list has its own k. With ``ranked`` the scores of those inside are known to within so much.
    ``using`` names the protocol, where the sentence does.
    """

    expression: Expression
    k: int
    largest: bool = True
    within: float = 0.0
    per: int = 0
    ranked: float | None = None
    using: str | None = None


Condition = Comparison | AllOf | AnyOf
Goal = Comparison | AllOf | AnyOf | Track


def comparisons(goal: Goal | Top) -> list[Comparison]:
    """The comparisons of a condition, left to right; none for a goal that tracks or ranks."""
    if isinstance(goal, AllOf | AnyOf):
        return [comparison for part in goal.parts for comparison in comparisons(part)]
    return [goal] if isinstance(goal, Comparison) else []


def map_goal(goal: Goal, change: Callable[[Expression], Expression]) -> Goal:
    """The same goal with every expression changed.

    >>> from tacit.functions.expressions import Variable
    >>> str(map_goal(Track(Variable(0), within=1.0), lambda tree: tree * 2.0).expression)
    '(x0 * 2)'
    """
    if isinstance(goal, Comparison | Track):
        return replace(goal, expression=change(goal.expression))
    return type(goal)(tuple(_map_condition(part, change) for part in goal.parts))


def _map_condition(condition: Condition, change: Callable[[Expression], Expression]) -> Condition:
    changed = map_goal(condition, change)
    assert not isinstance(changed, Track)
    return changed
