"""What a watch promises: a condition over expressions (alert when), an expression tracked within an error, the groups
that are ahead, or something that is read off sketches.

Relaxed truth, for a margin m: an answer *met* is right while the condition holds with every comparison
``f > T`` read as ``f > T - m``; an answer *not met* is right while it fails with every comparison read as
``f > T + m``. A comparison whose expression has no value (nan) is not met, as in SQL.

A goal on sketches has no expression: what it is about is what its sketches count. Its promise has two parts, how far
the answer may be from what the sketches say, and how far what they say may be from the truth (:class:`Accuracy`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.functions.expressions import Expression
from tacit.vocabulary.arrays import FloatArray
from tacit.vocabulary.errors import OptionError

__all__ = [
    "Accuracy",
    "AllOf",
    "AnyOf",
    "Comparison",
    "Condition",
    "Frequent",
    "Goal",
    "InnerProduct",
    "Quantile",
    "SelfJoin",
    "SketchGoal",
    "Top",
    "Track",
    "comparisons",
    "map_goal",
]


@dataclass(frozen=True, slots=True)
class Comparison:
    """``expression operator threshold`` with an absolute margin; the operator is one of > >= < <=.

    ``text`` is what the user wrote, for alerts. It says nothing about what the comparison means.
    """

    expression: Expression
    operator: str
    threshold: float
    margin: float = 0.0
    text: str = field(default="", compare=False, repr=False)


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


@dataclass(frozen=True, slots=True)
class Accuracy:
    """What sketches say errs by at most a share ``epsilon``, except with probability ``delta``.

    Of what it is a share depends on what is asked of them: of the rows for a count and for a rank, of the product of
    the rows of both sides for an inner product. The rows are those of all sites in the window.

    >>> Accuracy(epsilon=0.01, delta=1.0)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: delta is between 0 and 1, and 1 is not
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_share("epsilon", self.epsilon)
        _check_share("delta", self.delta)


@dataclass(frozen=True, slots=True)
class Frequent:
    """The keys that more than ``threshold`` rows have, over all sites.

    A key inside has more than ``threshold - margin``, a key outside at most ``threshold + margin``, both by the count
    that the sketches estimate. The margin is a number of rows.

    >>> Frequent(10_000.0, 500.0, Accuracy(0.01, 0.01)).margin
    500.0
    >>> Frequent(10.0, 10.0, Accuracy(0.01, 0.01))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: the margin of frequent keys is at least 0 and below the threshold, not 10
    """

    threshold: float
    margin: float
    accuracy: Accuracy

    def __post_init__(self) -> None:
        if not 0 < self.threshold < math.inf:
            raise OptionError(f"the threshold of frequent keys is above 0, not {self.threshold:g}")
        if not 0 <= self.margin < self.threshold:
            raise OptionError(f"the margin of frequent keys is at least 0 and below the threshold, not {self.margin:g}")


@dataclass(frozen=True, slots=True)
class SelfJoin:
    """The sum of the squared counts of all keys, known to within a share of what the sketches estimate it to be.

    abs(answer - estimate) <= within * estimate.

    >>> SelfJoin(0.15, Accuracy(0.05, 0.05)).within
    0.15
    >>> SelfJoin(15.0, Accuracy(0.05, 0.05))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: within is between 0 and 1, and 15 is not
    """

    within: float
    accuracy: Accuracy

    def __post_init__(self) -> None:
        _check_share("within", self.within)


@dataclass(frozen=True, slots=True)
class InnerProduct:
    """The sum over all keys of the count on one side times that on the other: the size of their join.

    abs(answer - estimate) <= within * estimate, where the estimate is what the sketches of both sides say.

    >>> InnerProduct(0.15, Accuracy(0.05, 0.05)).accuracy.epsilon
    0.05
    """

    within: float
    accuracy: Accuracy

    def __post_init__(self) -> None:
        _check_share("within", self.within)


@dataclass(frozen=True, slots=True)
class Quantile:
    """A value that a share ``phi`` of the rows does not exceed, of which the rank is off by a share of the rows.

    abs(rank(answer) - phi * rows) <= within * rows, where ranks are what the sketches estimate.

    >>> Quantile(0.99, 0.01, Accuracy(0.01, 0.01)).phi
    0.99
    >>> Quantile(99.0, 0.01, Accuracy(0.01, 0.01))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: phi is between 0 and 1, and 99 is not
    """

    phi: float
    within: float
    accuracy: Accuracy

    def __post_init__(self) -> None:
        _check_share("phi", self.phi)
        _check_share("within", self.within)


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise OptionError(f"{name} is between 0 and 1, and {value:g} is not")


Condition = Comparison | AllOf | AnyOf
Goal = Comparison | AllOf | AnyOf | Track
SketchGoal = Frequent | SelfJoin | InnerProduct | Quantile


def comparisons(goal: Goal | Top | SketchGoal) -> list[Comparison]:
    """The comparisons of a condition, left to right; none for a goal that tracks, ranks or is kept on sketches."""
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
