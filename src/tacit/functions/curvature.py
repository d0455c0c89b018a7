"""Proved bounds of an expression's value, gradient and Hessian over a box, from its tree.

The expression is a program (program.py); each instruction gets enclosures of its value, its gradient and its Hessian by
the rules of differentiation in interval arithmetic, rounded outward (_kernels_curvature.py). So what comes out at its
end encloses those of every point of the box. Where the expression may have a kink or no value somewhere in the box
there is no bound at all: None, never a wrong one. A box cut into pieces has tighter bounds, for the price of one pass
for each piece.

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

from collections import OrderedDict
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions._kernels_curvature import curvature_many, values_many
from tacit.functions.evaluate import value
from tacit.functions.expressions import Binary, ChiSquare, Expression, InformationGain, Unary
from tacit.functions.program import compile_programs
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["Curvature", "Curves", "Span", "curvature", "least_above", "positive_part"]

_REMEMBERED = 64


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """All arrays between two, component by component."""

    low: FloatArray
    high: FloatArray

    def __neg__(self) -> Span:
        return Span(-self.high, -self.low)


@dataclass(frozen=True, slots=True, eq=False)
class Curvature:
    """Enclosures of a value (), a gradient (d,) and a Hessian (d, d) over a box."""

    value: Span
    gradient: Span
    hessian: Span


class Curves:
    """An expression, ready to be bounded over many boxes."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        programs = compile_programs([_plain(expression)])
        self._code, self._constants = programs.code, programs.constants[:, None]
        self._opaque = bool(programs.opaques)
        self._recent: OrderedDict[tuple[bytes, bytes, int], Curvature | None] = OrderedDict()

    def values(self, points: FloatArray) -> FloatArray:
        """The value at each point (k, d); nan where it may be undefined."""
        found = np.empty((len(points), 2))
        boxes = np.repeat(np.asarray(points, dtype=np.float64)[:, None], 2, axis=1)
        if self._opaque:
            return value(self.expression, points)
        values_many(self._code, self._constants, boxes, found)
        with np.errstate(invalid="ignore"):
            return np.asarray(found.mean(axis=1))

    def over(self, low: FloatArray, high: FloatArray, pieces: int = 1) -> Curvature | None:
        """Enclosures over the box between two corners (d,), cut into about so many pieces; None without a bound.

        The boxes asked for last are remembered: zones are tried with many bounds over the same ones.
        """
        low, high = np.asarray(low, dtype=np.float64), np.asarray(high, dtype=np.float64)
        key = (low.tobytes(), high.tobytes(), pieces)
        if key not in self._recent:
            self._recent[key] = self._over(low, high, pieces)
            if len(self._recent) > _REMEMBERED:
                self._recent.popitem(last=False)
        return self._recent[key]

    def _over(self, low: FloatArray, high: FloatArray, pieces: int) -> Curvature | None:
        boxes = _cut(low, high, pieces)
        values, gradients, hessians, known = self.over_many(boxes)
        if not known.all():
            return None
        low_side, high_side = (
            tuple(extreme(table[:, side], axis=0) for table in (values, gradients, hessians))
            for side, extreme in ((0, np.min), (1, np.max))
        )
        return Curvature(*(Span(a, b) for a, b in zip(low_side, high_side, strict=True)))

    def over_many(self, boxes: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, BoolArray]:
        """Values (k, 2), gradients (k, 2, d), Hessians (k, 2, d, d) over boxes (k, 2, d), and where they are known."""
        k, _, d = boxes.shape
        values, gradients, hessians = np.zeros((k, 2)), np.zeros((k, 2, d)), np.zeros((k, 2, d, d))
        known = np.zeros(k, dtype=np.bool_)
        if not self._opaque:
            boxes = np.ascontiguousarray(boxes)
            curvature_many(self._code, self._constants, boxes, values, gradients, hessians, known)
        return values, gradients, hessians, known


def curvature(expression: Expression, low: FloatArray, high: FloatArray) -> Curvature | None:
    """Enclosures over the box between two corners (d,); None where there is no bound."""
    return Curves(expression).over(low, high)


def _cut(low: FloatArray, high: FloatArray, pieces: int) -> FloatArray:
    """The box in pieces, (k, 2, d): the widest sides are halved in turn."""
    boxes = np.stack([low, high])[None]
    widths = high - low
    for _ in range(int(np.log2(max(1, pieces)))):
        side = int(np.argmax(widths))
        widths = np.where(np.arange(len(widths)) == side, widths / 2, widths)
        middle = boxes.mean(axis=1)[:, side]
        left, right = boxes.copy(), boxes.copy()
        left[:, 1, side], right[:, 0, side] = middle, middle
        boxes = np.concatenate([left, right])
    return boxes


def least_above(hessian: Span, spread: FloatArray | None = None) -> FloatArray:
    """A symmetric matrix that is at least every symmetric matrix of the interval: M - H has no eigenvalue below 0.

    It is least for moves whose components are as large as ``spread``.
    """
    low, high = (hessian.low + hessian.low.T) / 2, (hessian.high + hessian.high.T) / 2
    middle = (low + high) / 2
    half = np.maximum(high - middle, middle - low)
    s = np.ones(len(half)) if spread is None else spread
    grown = (half * s).sum(axis=1) / s  # Gershgorin in units of the spread
    slack = 1e-14 * len(grown) * (np.abs(middle) * s).max(axis=1, initial=0.0) / s
    slack = (slack * s).max(initial=0.0) / s + 1e-14 * grown
    return np.asarray(middle + np.diag(grown + slack))


def positive_part(matrix: FloatArray, spread: FloatArray | None = None) -> FloatArray:
    """A matrix without negative eigenvalues that is at least the given symmetric one, and hardly more than needed.

    There are many such; this one is small for moves whose components are as large as ``spread``.
    """
    s = np.ones(len(matrix)) if spread is None else spread
    values, vectors = np.linalg.eigh(matrix * np.outer(s, s))
    slack = 1e-14 * len(values) * np.abs(values).max(initial=0.0)
    part = (vectors * np.maximum(values, 0.0)) @ vectors.T
    part = (part + part.T) / 2 + np.diag(np.full(len(values), slack))
    return np.asarray(part / np.outer(s, s))


def _plain(expression: Expression) -> Expression:
    """The tree with the measures of a 2x2 table spelt out: beside empty tables their clamps are no kinks."""
    match expression:
        case Unary(operand=operand):
            return replace(expression, operand=_plain(operand))
        case Binary(left=left, right=right):
            return replace(expression, left=_plain(left), right=_plain(right))
        case InformationGain() | ChiSquare():
            return _plain(_spelt_out(expression))
    return expression


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
