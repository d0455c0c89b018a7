"""Proved bounds of an expression's value, gradient and Hessian over a box, from its tree.

Each node carries enclosures of its value, its gradient and its Hessian: the rules of differentiation in interval
arithmetic, rounded outward. So what comes out at the root encloses those of every point of the box. Where the
expression may have a kink or no value somewhere in the box there is no bound at all: None, never a wrong one.

From an interval Hessian come matrices that are proved: ``least_above`` is at least every Hessian, in the order of
symmetric matrices (Gershgorin: an interval of half-widths R is within the diagonal of R's row sums of its middle).

>>> from tacit.functions.expressions import Variable
>>> found = curvature(Variable(0) * Variable(1), np.array([0.0, 0.0]), np.array([1.0, 2.0]))
>>> np.round(found.hessian.high, 9) + 0.0
array([[0., 1.],
       [1., 0.]])
>>> curvature(Variable(0) / Variable(1), np.array([0.0, -1.0]), np.array([1.0, 2.0])) is None
True
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.expressions import (
    Binary,
    ChiSquare,
    Constant,
    Expression,
    InformationGain,
    Unary,
    Variable,
)
from tacit.functions.spans import Span, exactly, monotone, waves, widened
from tacit.vocabulary.arrays import FloatArray

__all__ = ["Curvature", "curvature", "least_above", "positive_part"]

_LN2 = widened(np.log(np.float64(2.0)), np.log(np.float64(2.0)))
_QUARTER = np.pi / 2.0


class _NoBoundError(Exception):
    """Somewhere in the box the expression may have a kink or no value."""


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """Enclosures of a value (), a gradient (d,) and a Hessian (d, d) over a box."""

    value: Span
    gradient: Span
    hessian: Span

    def _times(self, other: Curvature) -> Curvature:
        cross = self.gradient.outer(other.gradient)
        return Curvature(
            self.value * other.value,
            self.gradient * other.value + other.gradient * self.value,
            self.hessian * other.value + other.hessian * self.value + cross + Span(cross.low.T, cross.high.T),
        )

    def _through(self, value: Span, slope: Span, bend: Span) -> Curvature:
        """A function of this, given its range and the ranges of its first two derivatives."""
        outer, squares = self.gradient.outer(self.gradient), self.gradient.square()
        low, high = outer.low.copy(), outer.high.copy()
        np.fill_diagonal(low, squares.low)
        np.fill_diagonal(high, squares.high)
        return Curvature(value, self.gradient * slope, Span(low, high) * bend + self.hessian * slope)


def curvature(expression: Expression, low: FloatArray, high: FloatArray) -> Curvature | None:
    """Enclosures over the box between two corners (d,); None where there is no bound."""
    box = Span(np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64))
    with np.errstate(all="ignore"):
        try:
            found = _Walk(box).of(expression)
        except _NoBoundError:
            return None
    return found if found.value.finite and found.gradient.finite and found.hessian.finite else None


def least_above(hessian: Span) -> FloatArray:
    """A symmetric matrix that is at least every symmetric matrix of the interval: M - H has no eigenvalue below 0."""
    low, high = (hessian.low + hessian.low.T) / 2, (hessian.high + hessian.high.T) / 2
    middle = (low + high) / 2
    half = np.maximum(high - middle, middle - low)
    grown = half.sum(axis=1)
    slack = 1e-14 * len(grown) * (np.abs(middle).max(initial=0.0) + grown.max(initial=0.0))
    return np.asarray(middle + np.diag(grown + slack))


def positive_part(matrix: FloatArray) -> FloatArray:
    """A matrix without negative eigenvalues that is at least the given symmetric one, and hardly more than needed."""
    values, vectors = np.linalg.eigh(matrix)
    slack = 1e-14 * len(values) * np.abs(values).max(initial=0.0)
    part = (vectors * np.maximum(values, 0.0)) @ vectors.T
    return np.asarray((part + part.T) / 2 + np.diag(np.full(len(values), slack)))


class _Walk:
    """One walk over a tree; subtrees that are shared are looked at once."""

    def __init__(self, box: Span) -> None:
        self.box, self.dimension = box, len(box.low)
        self._flat, self._straight = exactly(np.zeros(self.dimension)), exactly(np.zeros((self.dimension,) * 2))
        self._seen: dict[int, tuple[Expression, Curvature]] = {}

    def of(self, tree: Expression) -> Curvature:
        """The enclosures of a tree."""
        known = self._seen.get(id(tree))
        if known is None:
            known = self._seen[id(tree)] = (tree, self._look(tree))  # the tree is kept, for its id must stay its own
        return known[1]

    def _look(self, tree: Expression) -> Curvature:
        match tree:
            case Constant(value=number) if np.isfinite(number):
                return Curvature(exactly(number), self._flat, self._straight)
            case Variable(index=index):
                slope = np.zeros(self.dimension)
                slope[index] = 1.0
                value = Span(self.box.low[index], self.box.high[index])
                return Curvature(value, exactly(slope), self._straight)
            case Unary(operator=operator, operand=operand):
                return _unary(operator, self.of(operand))
            case Binary(operator=operator, left=left, right=right):
                return self._binary(operator, left, right)
            case InformationGain() | ChiSquare():
                return self.of(_spelt_out(tree))
        raise _NoBoundError

    def _binary(self, operator: str, left: Expression, right: Expression) -> Curvature:
        a = self.of(left)
        if operator == "pow":
            return _power(a, right)
        if operator == "*" and left == right:
            return a._through(a.value.square(), a.value * 2.0, exactly(2.0))
        b = self.of(right)
        match operator:
            case "+":
                return Curvature(a.value + b.value, a.gradient + b.gradient, a.hessian + b.hessian)
            case "-":
                return Curvature(a.value - b.value, a.gradient - b.gradient, a.hessian - b.hessian)
            case "*":
                return a._times(b)
            case "/" if b.value.positive or b.value.negative:
                inverse = b.value.inverse()
                square = inverse.square()
                return a._times(b._through(inverse, -square, square * inverse * 2.0))
            case "least" if a.value.high <= b.value.low or b.value.high <= a.value.low:
                return a if a.value.high <= b.value.low else b
            case "greatest" if a.value.high <= b.value.low or b.value.high <= a.value.low:
                return b if a.value.high <= b.value.low else a
        raise _NoBoundError


def _unary(operator: str, t: Curvature) -> Curvature:
    x = t.value
    match operator:
        case "neg":
            return Curvature(-x, -t.gradient, -t.hessian)
        case "abs" | "nonnegative" if x.positive:
            return t
        case "abs" if x.negative:
            return _unary("neg", t)
        case "unit" if x.low > -1.0 and x.high < 1.0:
            return t
        case "sqrt" if x.positive:
            root = monotone(np.sqrt, x)
            slope = root.inverse() * 0.5
            return t._through(root, slope, -(slope * x.inverse() * 0.5))
        case "exp":
            grown = monotone(np.exp, x)
            return t._through(grown, grown, grown)
        case "log" if x.positive:
            return t._through(monotone(np.log, x), x.inverse(), -x.inverse().square())
        case "xlogx" if x.positive:
            logs = monotone(np.log2, x)
            return t._through(x * logs, logs + _LN2.inverse(), (x * _LN2).inverse())
        case "sin":
            return t._through(waves(x, 0.0), waves(x, _QUARTER), -waves(x, 0.0))
        case "cos":
            return t._through(waves(x, _QUARTER), -waves(x, 0.0), -waves(x, _QUARTER))
        case "tanh":
            y = monotone(np.tanh, x)
            return t._through(y, _clipped(1.0 - y.square(), 0.0, 1.0), _bend(y) * -2.0)
        case "sigmoid":  # (1 + tanh(x / 2)) / 2
            y = monotone(np.tanh, x * 0.5)
            return t._through((y + 1.0) * 0.5, _clipped(1.0 - y.square(), 0.0, 1.0) * 0.25, _bend(y) * -0.25)
    raise _NoBoundError


def _bend(y: Span) -> Span:
    """The range of y (1 - y^2) for y in [-1, 1]: it falls, rises between the two turns, and falls."""
    turn = 1.0 / np.sqrt(3.0)
    low, high = np.clip(float(y.low), -1.0, 1.0), np.clip(float(y.high), -1.0, 1.0)
    points = [low, high, *(at for at in (-turn, turn) if low <= at <= high)]
    values = np.array([at * (1.0 - at) * (1.0 + at) for at in points])
    slack = 1e-15  # the turns are rounded, and flat there
    return widened(values.min() - slack, values.max() + slack)


def _clipped(span: Span, low: float, high: float) -> Span:
    return Span(np.clip(span.low, low, high), np.clip(span.high, low, high))


def _power(t: Curvature, exponent: Expression) -> Curvature:
    if not isinstance(exponent, Constant):
        raise _NoBoundError
    p, x = exponent.value, t.value
    if p == 1.0:
        return t
    if p == 2.0:
        return t._through(x.square(), x * 2.0, exactly(2.0))
    if p == 3.0:
        return t._through(x.square() * x, x.square() * 3.0, x * 6.0)
    if p == 4.0:
        return t._through(x.square().square(), x.square() * x * 4.0, x.square() * 12.0)
    if not (x.positive and np.isfinite(p)):
        raise _NoBoundError

    def power(q: float) -> Span:
        return monotone(lambda at: np.power(at, q), x, falls=q < 0.0)

    return t._through(power(p), power(p - 1.0) * p, power(p - 2.0) * (exactly(p) * (exactly(p) - 1.0)))


def _spelt_out(tree: InformationGain | ChiSquare) -> Expression:
    """The measures of a 2x2 table by their definitions."""
    a, b, c, d = tree.c11, tree.c12, tree.c21, tree.c22
    rows, columns = (a + b, c + d), (a + c, b + d)
    total = rows[0] + rows[1]
    if isinstance(tree, ChiSquare):
        off = a * d - b * c
        return total * (off * off) / ((rows[0] * rows[1]) * (columns[0] * columns[1]))

    def weigh(*parts: Expression) -> Expression:
        first, *rest = (Unary("xlogx", part) for part in parts)
        result: Expression = first
        for each in rest:
            result = result + each
        return result

    return (weigh(a, b, c, d, total) - weigh(*rows, *columns)) / total
