"""The value and the gradient of an expression at many points: plain NumPy, the twin that judges everything else.

A point where the expression is not defined (division by 0, logarithm of 0 or less, root of a negative number,
overflow) has the value nan, as SQL's NULL; there the gradient is nan too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.functions.expressions import (
    Binary,
    ChiSquare,
    Constant,
    Expression,
    InformationGain,
    Opaque,
    Unary,
    Variable,
)

__all__ = ["gradient", "value"]

Array = NDArray[np.float64]

LN2 = math.log(2.0)


def value(expression: Expression, points: Array) -> Array:
    """The value at each row of ``points`` (k, d); nan where it is undefined.

    >>> value(Variable(0) / Variable(1), np.array([[1.0, 4.0], [1.0, 0.0]]))
    array([0.25,  nan])
    """
    points = np.atleast_2d(np.asarray(points, dtype=np.float64))
    with np.errstate(all="ignore"):
        return _value(expression, points)


def gradient(expression: Expression, points: Array) -> Array:
    """The gradient (k, d) at each row of ``points``; one subgradient where the expression has a kink.

    >>> gradient(Variable(0) * Variable(1), np.array([[2.0, 5.0]]))
    array([[5., 2.]])
    """
    points = np.atleast_2d(np.asarray(points, dtype=np.float64))
    with np.errstate(all="ignore"):
        values, slopes = _gradient(expression, points)
    slopes = np.broadcast_to(slopes, points.shape).copy()
    slopes[np.isnan(values)] = np.nan
    return slopes


def _finite(values: Array) -> Array:
    """Infinities are undefined too: a later operation could turn one back into a number."""
    return np.where(np.isfinite(values), values, np.nan)


def _value(expression: Expression, points: Array) -> Array:
    match expression:
        case Constant(value=number):
            return np.full(len(points), number if math.isfinite(number) else math.nan)
        case Variable(index=index):
            return _finite(points[:, index])
        case Unary(operator=operator, operand=operand):
            return _unary(operator, _value(operand, points))
        case Binary(operator=operator, left=left, right=right):
            return _binary(operator, _value(left, points), _value(right, points))
        case InformationGain(c11, c12, c21, c22):
            return _information_gain([_value(cell, points) for cell in (c11, c12, c21, c22)])
        case ChiSquare(c11, c12, c21, c22):
            return _chi_square([_value(cell, points) for cell in (c11, c12, c21, c22)])
        case Opaque():
            return opaque_value(expression, [_value(argument, points) for argument in expression.arguments])
    raise TypeError(f"not an expression: {expression!r}")


def opaque_value(expression: Opaque, arguments: Sequence[Array]) -> Array:
    """What the user's function says; nan where an argument has no value or the answer is not a number."""
    defined = ~np.any(np.isnan(np.asarray(arguments)), axis=0)
    result = np.full(len(defined), np.nan)
    if defined.any():
        answered = expression.function(*(argument[defined] for argument in arguments))
        result[defined] = np.broadcast_to(np.asarray(answered, dtype=np.float64), int(defined.sum()))
    return _finite(result)


def _unary(operator: str, t: Array) -> Array:
    match operator:
        case "neg":
            return -t
        case "abs":
            return np.abs(t)
        case "sqrt":
            return np.sqrt(t)
        case "exp":
            return _finite(np.exp(t))
        case "log":
            return np.where(t > 0.0, np.log(t), np.nan)
        case "sin":
            return np.sin(t)
        case "cos":
            return np.cos(t)
        case "tanh":
            return np.tanh(t)
        case "sigmoid":
            small = np.exp(-np.abs(t))  # never overflows, and keeps its digits far below 0
            return np.where(t >= 0.0, 1.0, small) / (1.0 + small)
        case "xlogx":
            return _finite(np.where(t > 0.0, t * np.log2(np.where(t > 0.0, t, 1.0)), np.where(t == 0.0, 0.0, np.nan)))
        case "nonnegative":
            return np.maximum(t, 0.0)
        case "unit":
            return np.clip(t, -1.0, 1.0)
    raise ValueError(f"unknown function {operator}")


def _binary(operator: str, a: Array, b: Array) -> Array:
    match operator:
        case "+":
            return _finite(a + b)
        case "-":
            return _finite(a - b)
        case "*":
            return _finite(a * b)
        case "/":
            return _finite(np.where(b == 0.0, np.nan, a / b))
        case "pow":
            return _finite(np.where(np.isnan(a) | np.isnan(b), np.nan, np.power(a, b)))
        case "least":
            return np.minimum(a, b)
        case "greatest":
            return np.maximum(a, b)
    raise ValueError(f"unknown operator {operator}")


def _margins(cells: Sequence[Array]) -> tuple[Array, Array, Array, Array, Array]:
    c11, c12, c21, c22 = cells
    return c11 + c12, c21 + c22, c11 + c21, c12 + c22, c11 + c12 + c21 + c22


def _information_gain(cells: Sequence[Array]) -> Array:
    row1, row2, column1, column2, total = _margins(cells)
    gain = np.zeros_like(total)
    for cell, row, column in zip(cells, (row1, row1, row2, row2), (column1, column2, column1, column2), strict=True):
        some = cell > 0.0
        ratio = np.where(some, (cell / np.where(some, row, 1.0)) * (total / np.where(some, column, 1.0)), 1.0)
        gain += np.where(some, cell * np.log2(ratio), 0.0)
    defined = (total > 0.0) & np.all(np.asarray(cells) >= 0.0, axis=0)
    return _finite(np.where(defined, np.maximum(gain / total, 0.0), np.nan))


def _chi_square(cells: Sequence[Array]) -> Array:
    c11, c12, c21, c22 = cells
    row1, row2, column1, column2, total = _margins(cells)
    off = c11 * c22 - c12 * c21
    defined = (row1 > 0.0) & (row2 > 0.0) & (column1 > 0.0) & (column2 > 0.0) & np.all(np.asarray(cells) >= 0.0, axis=0)
    return _finite(np.where(defined, total * (off / (row1 * row2)) * (off / (column1 * column2)), np.nan))


def _gradient(expression: Expression, points: Array) -> tuple[Array, Array]:
    """Values (k,) and slopes (k, d) or something that broadcasts to it."""
    match expression:
        case Constant():
            return _value(expression, points), np.zeros((1, points.shape[1]))
        case Variable(index=index):
            slopes = np.zeros((1, points.shape[1]))
            slopes[0, index] = 1.0
            return _value(expression, points), slopes
        case Unary(operator=operator, operand=operand):
            t, slopes = _gradient(operand, points)
            return _unary(operator, t), _unary_slope(operator, t)[:, None] * slopes
        case Binary(operator=operator, left=left, right=right):
            a, slopes_a = _gradient(left, points)
            b, slopes_b = _gradient(right, points)
            by_a, by_b = _binary_slopes(operator, a, b)
            return _binary(operator, a, b), by_a[:, None] * slopes_a + by_b[:, None] * slopes_b
        case InformationGain(c11, c12, c21, c22) | ChiSquare(c11, c12, c21, c22):
            parts = [_gradient(cell, points) for cell in (c11, c12, c21, c22)]
            cells = [part[0] for part in parts]
            gain = isinstance(expression, InformationGain)
            by_cell = _gain_slopes(cells) if gain else _chi_slopes(cells)
            total = sum(by[:, None] * part[1] for by, part in zip(by_cell, parts, strict=True))
            return (_information_gain(cells) if gain else _chi_square(cells)), np.asarray(total)
        case Opaque():
            return _opaque_gradient(expression, points)
    raise TypeError(f"not an expression: {expression!r}")


def _opaque_gradient(expression: Opaque, points: Array) -> tuple[Array, Array]:
    """By central differences: nothing is known of the function but its values."""
    parts = [_gradient(argument, points) for argument in expression.arguments]
    arguments = [part[0] for part in parts]
    slopes = np.zeros((len(points), points.shape[1]))
    for i, (t, inner) in enumerate(parts):
        step = 1e-6 * np.maximum(1.0, np.abs(t))
        ahead, behind = list(arguments), list(arguments)
        ahead[i], behind[i] = t + step, t - step
        rise = opaque_value(expression, ahead) - opaque_value(expression, behind)
        slopes += (rise / (2.0 * step))[:, None] * inner
    return opaque_value(expression, arguments), slopes


def _unary_slope(operator: str, t: Array) -> Array:
    match operator:
        case "neg":
            return np.full_like(t, -1.0)
        case "abs":
            return np.sign(t)
        case "sqrt":
            return 0.5 / np.sqrt(t)
        case "exp":
            return np.exp(t)
        case "log":
            return 1.0 / t
        case "sin":
            return np.cos(t)
        case "cos":
            return -np.sin(t)
        case "tanh":
            return 1.0 - np.tanh(t) ** 2
        case "sigmoid":
            small = np.exp(-np.abs(t))
            return small / (1.0 + small) ** 2
        case "xlogx":
            return np.asarray(np.log2(t) + 1.0 / LN2)
        case "nonnegative":
            return (t > 0.0).astype(np.float64)
        case "unit":
            return (np.abs(t) < 1.0).astype(np.float64)
    raise ValueError(f"unknown function {operator}")


def _binary_slopes(operator: str, a: Array, b: Array) -> tuple[Array, Array]:
    one, zero = np.ones_like(a), np.zeros_like(a)
    match operator:
        case "+":
            return one, one
        case "-":
            return one, -one
        case "*":
            return b, a
        case "/":
            return 1.0 / b, -a / (b * b)
        case "pow":
            by_b = np.where(a > 0.0, np.power(a, b) * np.log(np.where(a > 0.0, a, 1.0)), 0.0)
            return np.where(b == 0.0, 0.0, b * np.power(a, b - 1.0)), by_b
        case "least":
            return np.where(a <= b, one, zero), np.where(a <= b, zero, one)
        case "greatest":
            return np.where(a >= b, one, zero), np.where(a >= b, zero, one)
    raise ValueError(f"unknown operator {operator}")


def _gain_slopes(cells: Sequence[Array]) -> list[Array]:
    """d IG / d c_ij = (log2(c_ij N / (row column)) - IG) / N: the pointwise mutual information less the gain."""
    row1, row2, column1, column2, total = _margins(cells)
    gain = _information_gain(cells)
    pairs = ((row1, column1), (row1, column2), (row2, column1), (row2, column2))
    return [
        (np.log2((cell / row) * (total / column)) - gain) / total
        for cell, (row, column) in zip(cells, pairs, strict=True)
    ]


def _chi_slopes(cells: Sequence[Array]) -> list[Array]:
    c11, c12, c21, c22 = cells
    row1, row2, column1, column2, total = _margins(cells)
    off, chi = c11 * c22 - c12 * c21, _chi_square(cells)
    lead = 2.0 * total * off / (row1 * row2 * column1 * column2)
    return [
        chi / total + lead * by_off - chi * (1.0 / row + 1.0 / column)
        for by_off, row, column in (
            (c22, row1, column1),
            (-c21, row1, column2),
            (-c12, row2, column1),
            (c11, row2, column2),
        )
    ]
