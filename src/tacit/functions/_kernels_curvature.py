"""Second derivatives in interval arithmetic: one pass over a program whose values ``forward`` has enclosed.

Every register gets enclosures of its gradient and its Hessian by the rules of differentiation, rounded outward. Where
a register may have a kink in the box, there is no bound. Of a Hessian the upper triangle is kept, and only among the
variables from ``first`` to ``last`` of a register: sums of products of few variables stay cheap in many dimensions.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import kernel, leaf
from tacit.functions._kernels_interval import (
    ABSOLUTE,
    ADD,
    CONSTANT,
    COSINE,
    DIVIDE,
    EXPONENTIAL,
    GREATEST,
    HIGH,
    LEAST,
    LOG2_E,
    LOGARITHM,
    LOW,
    MULTIPLY,
    NEGATE,
    NONNEGATIVE,
    OPAQUE,
    POWER,
    POWER_INTEGER,
    POWER_REAL,
    REGISTER_ROWS,
    ROOT,
    SIGMOID,
    SINE,
    SUBTRACT,
    TANH,
    UNIT,
    VARIABLE,
    XLOGX,
    down,
    down_far,
    forward,
    power_range,
    product,
    reciprocal,
    unary_range,
    up,
    up_far,
    wave,
)
from tacit.functions._kernels_slopes import unary_slope
from tacit.vocabulary.arrays import BoolArray, FloatArray, IntArray

TURN = 1.0 / math.sqrt(3.0)


@leaf()
def _cubic(y0: float, y1: float) -> tuple[float, float]:
    """The range of y (1 - y^2) for y in [-1, 1]: it falls, rises between its two turns, and falls."""
    y0, y1 = min(1.0, max(-1.0, y0)), min(1.0, max(-1.0, y1))
    at0, at1 = y0 * (1.0 - y0) * (1.0 + y0), y1 * (1.0 - y1) * (1.0 + y1)
    low, high = min(at0, at1), max(at0, at1)
    if y0 <= TURN <= y1:
        high = TURN * (1.0 - TURN) * (1.0 + TURN)
    if y0 <= -TURN <= y1:
        low = -TURN * (1.0 - TURN) * (1.0 + TURN)
    return low - 1e-15, high + 1e-15  # the turns are rounded, and flat there


@leaf()
def _unary_bend(operation: int, a0: float, a1: float, f0: float, f1: float) -> tuple[float, float]:
    """An enclosure of the second derivative over [a0, a1]; [f0, f1] is the function's range there."""
    if operation == ROOT:
        return -up_far(0.25 / (a0 * math.sqrt(a0))), -max(0.0, down_far(0.25 / (a1 * math.sqrt(a1))))
    if operation == EXPONENTIAL:
        return f0, f1
    if operation == LOGARITHM:
        return -up(up(1.0 / a0) / a0), -max(0.0, down(down(1.0 / a1) / a1))
    if operation == SINE:
        low, high, _ = unary_range(SINE, a0, a1)
        return -high, -low
    if operation == COSINE:
        low, high = wave(a0, a1)
        return -high, -low
    if operation == TANH:
        low, high = _cubic(f0, f1)
        return -2.0 * high, -2.0 * low
    if operation == SIGMOID:
        low, high = _cubic(down(2.0 * f0 - 1.0), up(2.0 * f1 - 1.0))
        return -0.25 * high, -0.25 * low
    if operation == XLOGX:
        return max(0.0, down_far(LOG2_E / a1)), up_far(LOG2_E / a0)
    return 0.0, 0.0


@leaf()
def _smooth(operation: int, a0: float, a1: float) -> bool:
    """Has the function two derivatives all over [a0, a1]?"""
    if operation in (ABSOLUTE, NONNEGATIVE):
        return a0 > 0.0 or a1 < 0.0
    if operation == UNIT:
        return (a0 > -1.0 and a1 < 1.0) or a0 > 1.0 or a1 < -1.0
    if operation in (ROOT, LOGARITHM, XLOGX):
        return a0 > 0.0
    return True


@leaf()
def _plus(to: FloatArray, i: int, k: int, p0: float, p1: float) -> None:
    """Add [p0, p1] to the interval in entry k of register i."""
    if p0 == 0.0 and p1 == 0.0:
        return
    to[0, i, k] = down(to[0, i, k] + p0)
    to[1, i, k] = up(to[1, i, k] + p1)


@leaf()
def _add_scaled(
    i: int, a: int, s0: float, s1: float, spans: IntArray, slopes: FloatArray, bends: FloatArray, d: int
) -> None:
    """Add [s0, s1] times the derivatives of register a to those of register i."""
    for j in range(spans[a, 0], spans[a, 1] + 1):
        p0, p1 = product(slopes[0, a, j], slopes[1, a, j], s0, s1)
        _plus(slopes, i, j, p0, p1)
        for k in range(j, spans[a, 1] + 1):
            at = j * d + k
            if bends[0, a, at] != 0.0 or bends[1, a, at] != 0.0:
                q0, q1 = product(bends[0, a, at], bends[1, a, at], s0, s1)
                _plus(bends, i, at, q0, q1)


@leaf()
def _add_square(
    i: int, a: int, b0: float, b1: float, spans: IntArray, slopes: FloatArray, bends: FloatArray, d: int
) -> None:
    """Add [b0, b1] times the square of register a's gradient to the Hessian of register i."""
    for j in range(spans[a, 0], spans[a, 1] + 1):
        g0, g1 = slopes[0, a, j], slopes[1, a, j]
        if g0 == 0.0 and g1 == 0.0:
            continue
        near = 0.0 if g0 <= 0.0 <= g1 else min(abs(g0), abs(g1))
        far = max(abs(g0), abs(g1))
        p0, p1 = product(max(0.0, down(near * near)), up(far * far), b0, b1)
        _plus(bends, i, j * d + j, p0, p1)
        for k in range(j + 1, spans[a, 1] + 1):
            if slopes[0, a, k] != 0.0 or slopes[1, a, k] != 0.0:
                p0, p1 = product(g0, g1, slopes[0, a, k], slopes[1, a, k])
                p0, p1 = product(p0, p1, b0, b1)
                _plus(bends, i, j * d + k, p0, p1)


@leaf()
def _add_cross(
    i: int, a: int, b: int, s0: float, s1: float, spans: IntArray, slopes: FloatArray, bends: FloatArray, d: int
) -> None:
    """Add [s0, s1] (g_a g_b' + g_b g_a') to the Hessian of register i."""
    for j in range(spans[i, 0], spans[i, 1] + 1):
        for k in range(j, spans[i, 1] + 1):
            p0, p1 = product(slopes[0, a, j], slopes[1, a, j], slopes[0, b, k], slopes[1, b, k])
            q0, q1 = product(slopes[0, b, j], slopes[1, b, j], slopes[0, a, k], slopes[1, a, k])
            if p0 == 0.0 and p1 == 0.0 and q0 == 0.0 and q1 == 0.0:
                continue
            p0, p1 = product(down(p0 + q0), up(p1 + q1), s0, s1)
            _plus(bends, i, j * d + k, p0, p1)


@leaf()
def _differentiate(
    code: IntArray, constants: FloatArray, registers: FloatArray,
    spans: IntArray, slopes: FloatArray, bends: FloatArray, d: int,
) -> bool:  # fmt: skip
    """Fill the derivatives of all registers; False where there is no bound."""
    for i in range(code.shape[0]):
        operation, a, b = code[i, 0], code[i, 1], code[i, 2]
        spans[i, 0], spans[i, 1] = d, -1
        if operation == CONSTANT:
            continue
        if operation == VARIABLE:
            spans[i, 0] = spans[i, 1] = a
            slopes[0, i, a] = slopes[1, i, a] = 1.0
            bends[0, i, a * d + a] = bends[1, i, a * d + a] = 0.0
            continue
        if operation in (POWER, OPAQUE):
            return False
        double = operation in (ADD, SUBTRACT, MULTIPLY, DIVIDE, LEAST, GREATEST)
        spans[i, 0], spans[i, 1] = spans[a, 0], spans[a, 1]
        if double:
            spans[i, 0], spans[i, 1] = min(spans[a, 0], spans[b, 0]), max(spans[a, 1], spans[b, 1])
        for j in range(spans[i, 0], spans[i, 1] + 1):
            slopes[0, i, j] = slopes[1, i, j] = 0.0
            for k in range(j, spans[i, 1] + 1):
                bends[0, i, j * d + k] = bends[1, i, j * d + k] = 0.0
        a0, a1 = registers[LOW, a], registers[HIGH, a]
        if operation in (ADD, SUBTRACT):
            sign = 1.0 if operation == ADD else -1.0
            _add_scaled(i, a, 1.0, 1.0, spans, slopes, bends, d)
            _add_scaled(i, b, sign, sign, spans, slopes, bends, d)
        elif operation == MULTIPLY and a == b:
            _add_scaled(i, a, 2.0 * a0, 2.0 * a1, spans, slopes, bends, d)
            _add_square(i, a, 2.0, 2.0, spans, slopes, bends, d)
        elif operation == MULTIPLY:
            _add_scaled(i, a, registers[LOW, b], registers[HIGH, b], spans, slopes, bends, d)
            _add_scaled(i, b, a0, a1, spans, slopes, bends, d)
            _add_cross(i, a, b, 1.0, 1.0, spans, slopes, bends, d)
        elif operation == DIVIDE:
            # q = a / b: q' = (a' - q b') / b, and q'' = (a'' - q b'' - q' b'^T - b' q'^T) / b
            b0, b1 = registers[LOW, b], registers[HIGH, b]
            if b0 <= 0.0 <= b1:
                return False
            r0, r1 = reciprocal(b0, b1)
            q0, q1 = product(registers[LOW, i], registers[HIGH, i], r0, r1)
            _add_scaled(i, a, r0, r1, spans, slopes, bends, d)
            _add_scaled(i, b, -q1, -q0, spans, slopes, bends, d)
            _add_cross(i, i, b, -r1, -r0, spans, slopes, bends, d)
        elif operation in (LEAST, GREATEST):
            less, more = a1 < registers[LOW, b], a0 > registers[HIGH, b]
            if not (less or more):
                return False
            chosen = a if less == (operation == LEAST) else b
            _add_scaled(i, chosen, 1.0, 1.0, spans, slopes, bends, d)
        elif operation in (POWER_INTEGER, POWER_REAL):
            n, whole = constants[b, 0], operation == POWER_INTEGER
            if (not whole and a0 <= 0.0) or (n < 0.0 and a0 <= 0.0 <= a1):
                return False
            if n != 0.0:
                p0, p1, _ = power_range(a0, a1, n - 1.0, whole)
                s0, s1 = product(p0, p1, n, n)
                _add_scaled(i, a, s0, s1, spans, slopes, bends, d)
            if n not in (0.0, 1.0):
                p0, p1, _ = power_range(a0, a1, n - 2.0, whole)
                twice = n * (n - 1.0)
                p0, p1 = product(p0, p1, down(twice), up(twice))
                _add_square(i, a, p0, p1, spans, slopes, bends, d)
        else:
            f0, f1 = registers[LOW, i], registers[HIGH, i]
            if not _smooth(operation, a0, a1):
                return False
            s0, s1 = unary_slope(operation, a0, a1, f0, f1)
            _add_scaled(i, a, s0, s1, spans, slopes, bends, d)
            if operation not in (NEGATE, ABSOLUTE, NONNEGATIVE, UNIT):
                b0, b1 = _unary_bend(operation, a0, a1, f0, f1)
                _add_square(i, a, b0, b1, spans, slopes, bends, d)
    return True


@kernel()
def curvature_many(
    code: IntArray, constants: FloatArray, boxes: FloatArray,
    values: FloatArray, gradients: FloatArray, hessians: FloatArray, known: BoolArray,
) -> None:  # fmt: skip
    """Enclosures over boxes (k, 2, d): values (k, 2), gradients (k, 2, d), Hessians (k, 2, d, d)."""
    count, d = code.shape[0], boxes.shape[2]
    registers = np.zeros((REGISTER_ROWS, count))
    spans = np.zeros((count, 2), dtype=np.int64)
    slopes, bends = np.zeros((2, count, d)), np.zeros((2, count, d * d))
    space, state = np.ones(3 * d + 2), np.zeros((1, 1))
    last = count - 1
    for box in range(boxes.shape[0]):
        known[box] = False
        if forward(code, constants, space, 0, count, boxes, box, state, 0, 0, registers):
            continue
        if not _differentiate(code, constants, registers, spans, slopes, bends, d):
            continue
        fine = True
        values[box, 0], values[box, 1] = registers[LOW, last], registers[HIGH, last]
        gradients[box] = 0.0
        hessians[box] = 0.0
        for side in range(2):
            for j in range(spans[last, 0], spans[last, 1] + 1):
                gradients[box, side, j] = slopes[side, last, j]
                fine = fine and math.isfinite(slopes[side, last, j])
                for k in range(j, spans[last, 1] + 1):
                    value = bends[side, last, j * d + k]
                    hessians[box, side, j, k] = hessians[box, side, k, j] = value
                    fine = fine and math.isfinite(value)
        known[box] = fine


@kernel()
def values_many(code: IntArray, constants: FloatArray, boxes: FloatArray, values: FloatArray) -> None:
    """Enclosures of the values over boxes (k, 2, d); infinite where it may be undefined."""
    count, d = code.shape[0], boxes.shape[2]
    registers = np.zeros((REGISTER_ROWS, count))
    space, state = np.ones(3 * d + 2), np.zeros((1, 1))
    for box in range(boxes.shape[0]):
        if forward(code, constants, space, 0, count, boxes, box, state, 0, 0, registers):
            values[box, 0], values[box, 1] = -math.inf, math.inf
        else:
            values[box, 0], values[box, 1] = registers[LOW, count - 1], registers[HIGH, count - 1]
