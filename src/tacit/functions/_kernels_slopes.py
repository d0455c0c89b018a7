"""Enclosures of gradients: the backward sweep over a program whose intervals ``forward`` has found.

Generalised gradients at kinks, so that the mean-value form holds across them; valid where nothing may be undefined.
"""

from __future__ import annotations

import math

from tacit._jit import leaf
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
    ROOT,
    SIGMOID,
    SINE,
    SLOPE,
    SUBTRACT,
    TANH,
    UNIT,
    VARIABLE,
    XLOGX,
    down,
    power_range,
    product,
    reciprocal,
    unary_range,
    up,
    wave,
)
from tacit.vocabulary.arrays import FloatArray, IntArray


@leaf()
def unary_slope(operation: int, a0: float, a1: float, f0: float, f1: float) -> tuple[float, float]:
    """An enclosure of the derivative over [a0, a1]; [f0, f1] is the function's range there."""
    if operation == NEGATE:
        return -1.0, -1.0
    if operation == ABSOLUTE:
        return (1.0 if a0 >= 0.0 else -1.0), (-1.0 if a1 <= 0.0 else 1.0)
    if operation == ROOT:
        r0, r1 = reciprocal(f0, f1)
        return max(0.0, 0.5 * r0), 0.5 * r1
    if operation == EXPONENTIAL:
        return f0, f1
    if operation == LOGARITHM:
        return reciprocal(a0, a1)
    if operation == SINE:
        low, high = wave(a0, a1)
        return low, high
    if operation == COSINE:
        low, high, _ = unary_range(SINE, a0, a1)
        return -high, -low
    if operation in (TANH, SIGMOID):
        x0, x1 = (f0, f1) if operation == TANH else (2.0 * f0 - 1.0, 2.0 * f1 - 1.0)
        near = 0.0 if x0 <= 0.0 <= x1 else min(abs(x0), abs(x1))
        far = max(abs(x0), abs(x1))
        top = 1.0 if operation == TANH else 0.25
        return top * max(0.0, 1.0 - far * far - 1e-14), top * (1.0 - near * near + 1e-14)
    if operation == XLOGX:
        high = (
            math.inf
            if a1 == math.inf
            else (math.log2(a1) + LOG2_E + 1e-15 * (2.0 + abs(math.log2(a1))) if a1 > 0.0 else 0.0)
        )
        low = math.log2(a0) + LOG2_E - 1e-15 * (2.0 + abs(math.log2(a0))) if a0 > 0.0 else -math.inf
        return low, high
    if operation == NONNEGATIVE:
        return (1.0 if a0 > 0.0 else 0.0), (0.0 if a1 < 0.0 else 1.0)
    if operation == UNIT:
        return (1.0 if a0 > -1.0 and a1 < 1.0 else 0.0), (0.0 if a1 < -1.0 or a0 > 1.0 else 1.0)
    return -math.inf, math.inf


@leaf()
def _add_to(to: FloatArray, first: int, i: int, s0: float, s1: float, d0: float, d1: float) -> None:
    """Add [s0, s1] * [d0, d1] to the interval in column i of the rows ``first`` and ``first + 1``."""
    p, q = product(s0, s1, d0, d1)
    low, high = to[first, i] + p, to[first + 1, i] + q
    to[first, i] = low if p == 0.0 else down(low)
    to[first + 1, i] = high if q == 0.0 else up(high)


@leaf()
def backward(
    lists: IntArray,
    numbers: FloatArray,
    space: FloatArray,
    start: int,
    stop: int,
    state: FloatArray,
    g: int,
    anchors: int,
    registers: FloatArray,
    gradient: FloatArray,
) -> None:
    """Fill an enclosure of the gradient (2, d) by the box's coordinates, from the registers that ``forward`` filled."""
    scale = 2 * gradient.shape[1] + 2
    count = stop - start
    for i in range(count):
        registers[SLOPE, i] = registers[SLOPE + 1, i] = 1.0 if i == count - 1 else 0.0
    for j in range(gradient.shape[1]):
        gradient[0, j] = gradient[1, j] = 0.0
    for row in range(stop - 1, start - 1, -1):
        i = row - start
        s0, s1 = registers[SLOPE, i], registers[SLOPE + 1, i]
        if s0 == 0.0 and s1 == 0.0:
            continue
        operation, a, b = lists[row, 0], lists[row, 1], lists[row, 2]
        if operation == CONSTANT:
            continue
        if operation == VARIABLE:
            _add_to(gradient, 0, a, s0, s1, space[scale + a], space[scale + a])
        elif operation in (ADD, SUBTRACT):
            sign = 1.0 if operation == ADD else -1.0
            _add_to(registers, SLOPE, a, s0, s1, 1.0, 1.0)
            _add_to(registers, SLOPE, b, s0, s1, sign, sign)
        elif operation == MULTIPLY:
            _add_to(registers, SLOPE, a, s0, s1, registers[LOW, b], registers[HIGH, b])
            _add_to(registers, SLOPE, b, s0, s1, registers[LOW, a], registers[HIGH, a])
        elif operation == DIVIDE:
            r0, r1 = reciprocal(registers[LOW, b], registers[HIGH, b])
            q0, q1 = product(registers[LOW, i], registers[HIGH, i], r0, r1)
            _add_to(registers, SLOPE, a, s0, s1, r0, r1)
            _add_to(registers, SLOPE, b, s0, s1, -q1, -q0)
        elif operation in (POWER_INTEGER, POWER_REAL):
            n = numbers[b, 0]
            if n != 0.0:
                p0, p1, _ = power_range(registers[LOW, a], registers[HIGH, a], n - 1.0, operation == POWER_INTEGER)
                d0, d1 = product(p0, p1, n, n)
                _add_to(registers, SLOPE, a, s0, s1, d0, d1)
        elif operation == POWER:
            l0, l1, _ = unary_range(LOGARITHM, registers[LOW, a], registers[HIGH, a])
            r0, r1 = reciprocal(registers[LOW, a], registers[HIGH, a])
            d0, d1 = product(registers[LOW, i], registers[HIGH, i], r0, r1)
            d0, d1 = product(d0, d1, registers[LOW, b], registers[HIGH, b])
            _add_to(registers, SLOPE, a, s0, s1, d0, d1)
            d0, d1 = product(registers[LOW, i], registers[HIGH, i], l0, l1)
            _add_to(registers, SLOPE, b, s0, s1, d0, d1)
        elif operation in (LEAST, GREATEST):
            first_less, second_less = registers[HIGH, a] < registers[LOW, b], registers[HIGH, b] < registers[LOW, a]
            if operation == GREATEST:
                first_less, second_less = second_less, first_less
            _add_to(registers, SLOPE, a, s0, s1, 1.0 if first_less else 0.0, 0.0 if second_less else 1.0)
            _add_to(registers, SLOPE, b, s0, s1, 1.0 if second_less else 0.0, 0.0 if first_less else 1.0)
        elif operation == OPAQUE:
            steep = state[g, anchors + a + 1]
            for k in range(lists[row, 3]):
                _add_to(registers, SLOPE, lists[lists[row, 2] + k, 0], s0, s1, -steep, steep)
        else:
            d0, d1 = unary_slope(
                operation, registers[LOW, a], registers[HIGH, a], registers[LOW, i], registers[HIGH, i]
            )
            _add_to(registers, SLOPE, a, s0, s1, d0, d1)
