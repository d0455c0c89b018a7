"""Outer bounds of an expression's values over boxes and balls, for many of them at once.

Guarantee: every value at a point of the box (or of ball and feasible set) lies in [low, high]; where the expression
may be undefined somewhere in it, the bounds are (-inf, inf): undecided, never wrong. A polynomial of degree at most 2
gets its exact range over a ball; everything else the natural interval, tightened by the mean-value form.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.functions._kernels_boxes import bounds_many
from tacit.functions._kernels_forms import form_bounds_many
from tacit.functions.evaluate import gradient, opaque_value, value
from tacit.functions.expressions import Expression, Unary
from tacit.functions.form_arrays import Coefficients, Space
from tacit.functions.forms import children
from tacit.functions.polynomials import as_fraction, degree_of
from tacit.functions.program import Programs
from tacit.functions.shapes import Question
from tacit.functions.tables import PART_FIRST, PART_LAST, REJECT, STATE_ANCHORS, Tables
from tacit.functions.watch_tables import TableBuilder
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["bounds_over_ball", "bounds_over_box", "gradient", "value"]


def bounds_over_box(expression: Expression, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Bounds over each box, given by its corners (k, d).

    >>> from tacit.functions.expressions import Variable
    >>> low, high = bounds_over_box(Variable(0) * Variable(1), np.array([[1.0, 2.0]]), np.array([[2.0, 3.0]]))
    >>> bool(1.999 < low[0] <= 2.0), bool(6.0 <= high[0] < 6.001)
    (True, True)
    """
    low, high = np.atleast_2d(np.asarray(low, float)), np.atleast_2d(np.asarray(high, float))
    none = np.full(len(low), -1.0)
    return _by_program(expression, low, high, 0.5 * (low + high), none)


def bounds_over_ball(
    expression: Expression, centre: FloatArray, radius: FloatArray, feasible: Sequence[bool] | BoolArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Bounds over each ball, centres (k, d) and radii (k,); ``feasible`` tells which components are known to be >= 0.

    >>> from tacit.functions.expressions import Variable
    >>> low, high = bounds_over_ball(Variable(0) + Variable(1), np.zeros((1, 2)), np.array([1.0]))
    >>> float(np.round(high[0], 9))
    1.414213562
    """
    centre = np.atleast_2d(np.asarray(centre, float))
    radius = np.broadcast_to(np.asarray(radius, float), len(centre)).copy()
    wide = (radius * (1.0 + 1e-14))[:, None] + 4e-16 * np.abs(centre)
    low, high = centre - wide, centre + wide
    if feasible is not None:
        known = np.asarray(feasible, dtype=np.bool_)
        low, high = np.where(known, np.maximum(low, 0.0), low), np.where(known, np.maximum(high, 0.0), high)
    bounds = _by_program(expression, low, high, centre, radius)
    # A fraction takes clamps for granted, which holds on the feasible set only; here nothing is known of it.
    polynomial = None if _clamped(expression) else as_fraction(expression)
    if polynomial is None or polynomial.below or polynomial.needs or degree_of(polynomial.numerator()) > 2:
        return bounds
    builder = _builder(centre.shape[1])
    row = builder.form(Coefficients.of(polynomial.numerator(), builder.space.scale), sign_only=False)
    result = np.empty((len(centre), 2))
    tables = builder.tables((REJECT, REJECT, REJECT))
    form_bounds_many(tables.numbers, row, tables.space, centre, radius, result)
    return np.maximum(bounds[0], result[:, 0]), np.minimum(bounds[1], result[:, 1])


def _clamped(expression: Expression) -> bool:
    if isinstance(expression, Unary) and expression.operator in ("nonnegative", "unit"):
        return True
    return any(_clamped(part) for part in children(expression))


def _builder(dimension: int) -> TableBuilder:
    return TableBuilder(Space.of(dimension, np.ones(dimension), np.zeros(dimension), None, ()))


def _by_program(
    expression: Expression, low: FloatArray, high: FloatArray, centre: FloatArray, radius: FloatArray
) -> tuple[FloatArray, FloatArray]:
    builder = _builder(low.shape[1])
    builder.add(Question(True, True, False, 0, 0.0, expression=expression))
    tables: Tables = builder.tables((REJECT, REJECT, REJECT))
    result = np.empty((len(low), 2))
    state = np.zeros((len(low), builder.state_size))
    _anchor(builder.compiled, 0.5 * (low + high), state[:, tables.nodes[0, STATE_ANCHORS] :])
    start, stop = tables.nodes[1, PART_FIRST], tables.nodes[1, PART_LAST]
    boxes = np.repeat(np.stack([low, high], axis=1), 2, axis=0)
    bounds_many(tables, state, start, stop, boxes, np.ascontiguousarray(centre), radius, result)
    undefined = np.isnan(result).any(axis=1)
    result[undefined] = (-np.inf, np.inf)
    return result[:, 0], result[:, 1]


def _anchor(programs: Programs, points: FloatArray, state: FloatArray) -> None:
    """The user functions at the middle of each box; without a Lipschitz constant nothing is known of them."""
    for opaque, slot in programs.opaques:
        arguments = [value(argument, points) for argument in opaque.arguments]
        state[:, slot] = opaque_value(opaque, arguments)
        state[:, slot + 1] = np.inf if opaque.lipschitz is None else opaque.lipschitz
        state[:, slot + 2 : slot + 2 + len(arguments)] = np.stack(arguments, axis=1)
