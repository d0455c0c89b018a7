"""Interval arithmetic for any expression: one interpreter, compiled once, for every program (see program.py).

A program is a list of instructions in single assignment form; instruction i writes register i. ``forward`` gives
each register an interval that contains the values at every point of the box *where the expression is defined*, and
says whether some point of the box may be undefined. Every bound is rounded outward.
"""

from __future__ import annotations

import math

from tacit._jit import leaf
from tacit.vocabulary.arrays import FloatArray, IntArray

# Rows of the registers: the interval of each value, then the interval of the slope by it
LOW, HIGH, SLOPE, REGISTER_ROWS = 0, 1, 2, 4
EPSILON = 2.3e-16  # a little above one unit in the last place
TINY = 5e-324
HUGE = 1.7976931348623157e308
TWO_PI = 2.0 * math.pi
LOG2_E = 1.0 / math.log(2.0)
XLOGX_AT = math.exp(-1.0)
XLOGX_MIN = -0.5307378454230254  # -1 / (e ln 2), rounded down

(
    CONSTANT,
    VARIABLE,
    ADD,
    SUBTRACT,
    MULTIPLY,
    DIVIDE,
    NEGATE,
    ABSOLUTE,
    ROOT,
    EXPONENTIAL,
    LOGARITHM,
    SINE,
    COSINE,
    TANH,
    SIGMOID,
    XLOGX,
    NONNEGATIVE,
    UNIT,
    POWER_INTEGER,
    POWER_REAL,
    POWER,
    LEAST,
    GREATEST,
    OPAQUE,
) = range(24)


@leaf()
def down(x: float) -> float:
    if x == math.inf:
        return HUGE
    if x == -math.inf:
        return x
    return x - (abs(x) * EPSILON + TINY)


@leaf()
def up(x: float) -> float:
    if x == -math.inf:
        return -HUGE
    if x == math.inf:
        return x
    return x + (abs(x) * EPSILON + TINY)


@leaf()
def down_far(x: float) -> float:
    """For results of the mathematical library, which may err by a few units in the last place."""
    return down(x - abs(x) * 1e-15) if math.isfinite(x) else down(x)


@leaf()
def up_far(x: float) -> float:
    return up(x + abs(x) * 1e-15) if math.isfinite(x) else up(x)


@leaf()
def product(a0: float, a1: float, b0: float, b1: float) -> tuple[float, float]:
    """[a0, a1] * [b0, b1]; an unbounded end stands for finite values without limit, so 0 * inf is 0."""
    if (a0 == 0.0 and a1 == 0.0) or (b0 == 0.0 and b1 == 0.0):
        return 0.0, 0.0
    p, q = (0.0 if a0 == 0.0 or b0 == 0.0 else a0 * b0), (0.0 if a0 == 0.0 or b1 == 0.0 else a0 * b1)
    s, t = (0.0 if a1 == 0.0 or b0 == 0.0 else a1 * b0), (0.0 if a1 == 0.0 or b1 == 0.0 else a1 * b1)
    low, high = down(min(p, q, s, t)), up(max(p, q, s, t))
    if (a0 >= 0.0 and b0 >= 0.0) or (a1 <= 0.0 and b1 <= 0.0):
        low = max(low, 0.0)
    elif (a0 >= 0.0 and b1 <= 0.0) or (a1 <= 0.0 and b0 >= 0.0):
        high = min(high, 0.0)
    return low, high


@leaf()
def reciprocal(b0: float, b1: float) -> tuple[float, float]:
    """1 / [b0, b1] over its non-zero members."""
    if b0 > 0.0 or b1 < 0.0:
        return down(1.0 / b1), up(1.0 / b0)
    if b0 == 0.0 and b1 > 0.0:
        return down(1.0 / b1), math.inf
    if b1 == 0.0 and b0 < 0.0:
        return -math.inf, up(1.0 / b0)
    return -math.inf, math.inf


@leaf()
def wave(low: float, high: float) -> tuple[float, float]:
    """cos over [low, high]."""
    if not (high - low < TWO_PI) or abs(low) > 1e6 or abs(high) > 1e6:
        return -1.0, 1.0
    a, b = low - 1e-9, high + 1e-9
    least, most = min(math.cos(low), math.cos(high)), max(math.cos(low), math.cos(high))
    if math.floor(a / TWO_PI) != math.floor(b / TWO_PI):
        most = 1.0
    if math.floor((a - math.pi) / TWO_PI) != math.floor((b - math.pi) / TWO_PI):
        least = -1.0
    return max(-1.0, least - 1e-15), min(1.0, most + 1e-15)


@leaf()
def sigmoid(t: float) -> float:
    small = math.exp(-abs(t))
    return (1.0 if t >= 0.0 else small) / (1.0 + small)


@leaf()
def xlogx(t: float) -> float:
    return t * math.log2(t) if t > 0.0 else 0.0


@leaf()
def power_range(a0: float, a1: float, n: float, whole: bool) -> tuple[float, float, bool]:
    """[a0, a1] ** n for a constant n, and whether it may be undefined somewhere."""
    undefined = False
    if not whole:
        if a0 < 0.0:
            undefined, a0 = True, 0.0
        if a1 < 0.0:
            return 0.0, 0.0, True
    if n == 0.0:
        return 1.0, 1.0, undefined
    if n < 0.0:
        if a0 <= 0.0 <= a1:
            if not whole or int(n) % 2 == 0:
                far = max(-a0, a1)
                return (max(0.0, down_far(far**n)) if far > 0.0 else 0.0), math.inf, True
            return -math.inf, math.inf, True
        p, q = a0**n, a1**n
        return down_far(min(p, q)), up_far(max(p, q)), undefined
    if whole and int(n) % 2 == 0:
        far = max(abs(a0), abs(a1))
        near = 0.0 if a0 <= 0.0 <= a1 else min(abs(a0), abs(a1))
        return max(0.0, down_far(near**n)), up_far(far**n), undefined
    low = 0.0 if a0 == 0.0 else down_far(a0**n)
    high = 0.0 if a1 == 0.0 else up_far(a1**n)
    return low, high, undefined


@leaf()
def unary_range(operation: int, a0: float, a1: float) -> tuple[float, float, bool]:
    """The range of a function of one argument, and whether it may be undefined somewhere."""
    if operation == NEGATE:
        return -a1, -a0, False
    if operation == ABSOLUTE:
        if a0 >= 0.0:
            return a0, a1, False
        if a1 <= 0.0:
            return -a1, -a0, False
        return 0.0, max(-a0, a1), False
    if operation == ROOT:
        if a1 < 0.0:
            return 0.0, 0.0, True
        return max(0.0, down(math.sqrt(max(a0, 0.0)))), up(math.sqrt(a1)), a0 < 0.0
    if operation == EXPONENTIAL:
        high = math.inf if a1 > 709.0 else up_far(math.exp(a1))
        low = 0.0 if a0 < -740.0 else max(0.0, down_far(math.exp(min(a0, 709.0))))
        return low, high, a1 > 709.0
    if operation == LOGARITHM:
        if a1 <= 0.0:
            return 0.0, 0.0, True
        high = math.inf if a1 == math.inf else up_far(math.log(a1))
        return (-math.inf if a0 <= 0.0 else down_far(math.log(a0))), high, a0 <= 0.0
    if operation == SINE:
        low, high = wave(a0 - 0.5 * math.pi - 1e-15, a1 - 0.5 * math.pi + 1e-15)
        slip = 1e-15 + 4e-16 * (abs(a0) + abs(a1)) if low > -1.0 or high < 1.0 else 0.0
        return max(-1.0, low - slip), min(1.0, high + slip), False
    if operation == COSINE:
        low, high = wave(a0, a1)
        return low, high, False
    if operation == TANH:
        return max(-1.0, down_far(math.tanh(a0))), min(1.0, up_far(math.tanh(a1))), False
    if operation == SIGMOID:
        return max(0.0, down_far(down_far(sigmoid(a0)))), min(1.0, up_far(up_far(sigmoid(a1)))), False
    if operation == XLOGX:
        if a1 < 0.0:
            return 0.0, 0.0, True
        t0 = max(a0, 0.0)
        at0, at1 = xlogx(t0), xlogx(a1)
        low = XLOGX_MIN if t0 <= XLOGX_AT <= a1 else (0.0 if at0 == 0.0 and at1 >= 0.0 else down_far(min(at0, at1)))
        high = 0.0 if max(at0, at1) == 0.0 else up_far(max(at0, at1))
        return low, high, a0 < 0.0
    if operation == NONNEGATIVE:
        return max(a0, 0.0), max(a1, 0.0), False
    if operation == UNIT:
        return min(1.0, max(-1.0, a0)), min(1.0, max(-1.0, a1)), False
    return -math.inf, math.inf, True


@leaf()
def forward(
    lists: IntArray,
    numbers: FloatArray,
    space: FloatArray,
    start: int,
    stop: int,
    boxes: FloatArray,
    box: int,
    state: FloatArray,
    g: int,
    anchors: int,
    registers: FloatArray,
) -> bool:
    """Fill the registers' intervals (rows LOW and HIGH) over a box, ``boxes[box]``: its low and its high corner.

    True when the expression may be undefined somewhere in it.
    """
    undefined = False
    scale = 2 * boxes.shape[2] + 2
    for row in range(start, stop):
        i = row - start
        operation, a, b = lists[row, 0], lists[row, 1], lists[row, 2]
        if operation == CONSTANT:
            registers[LOW, i] = registers[HIGH, i] = numbers[a, 0]
        elif operation == VARIABLE:
            registers[LOW, i], registers[HIGH, i] = (
                boxes[box, 0, a] * space[scale + a],
                boxes[box, 1, a] * space[scale + a],
            )
        elif operation == ADD:
            x, y = registers[LOW, a] + registers[LOW, b], registers[HIGH, a] + registers[HIGH, b]
            registers[LOW, i] = x if x == 0.0 else down(x)
            registers[HIGH, i] = y if y == 0.0 else up(y)
            if registers[LOW, a] >= 0.0 and registers[LOW, b] >= 0.0:
                registers[LOW, i] = max(registers[LOW, i], registers[LOW, a], registers[LOW, b])
        elif operation == SUBTRACT:
            if a == b:
                registers[LOW, i] = registers[HIGH, i] = 0.0
            else:
                x, y = registers[LOW, a] - registers[HIGH, b], registers[HIGH, a] - registers[LOW, b]
                registers[LOW, i] = x if x == 0.0 else down(x)
                registers[HIGH, i] = y if y == 0.0 else up(y)
        elif operation == MULTIPLY:
            registers[LOW, i], registers[HIGH, i] = product(
                registers[LOW, a], registers[HIGH, a], registers[LOW, b], registers[HIGH, b]
            )
            if a == b:
                registers[LOW, i] = max(registers[LOW, i], 0.0)
        elif operation == DIVIDE:
            undefined = undefined or (registers[LOW, b] <= 0.0 <= registers[HIGH, b])
            r0, r1 = reciprocal(registers[LOW, b], registers[HIGH, b])
            registers[LOW, i], registers[HIGH, i] = product(registers[LOW, a], registers[HIGH, a], r0, r1)
        elif operation in (POWER_INTEGER, POWER_REAL):
            registers[LOW, i], registers[HIGH, i], hole = power_range(
                registers[LOW, a], registers[HIGH, a], numbers[b, 0], operation == POWER_INTEGER
            )
            undefined = undefined or hole
        elif operation == POWER:
            if registers[LOW, a] > 0.0:
                l0, l1, _ = unary_range(LOGARITHM, registers[LOW, a], registers[HIGH, a])
                e0, e1 = product(l0, l1, registers[LOW, b], registers[HIGH, b])
                registers[LOW, i], registers[HIGH, i], hole = unary_range(EXPONENTIAL, e0, e1)
                undefined = undefined or hole
            else:
                registers[LOW, i], registers[HIGH, i], undefined = -math.inf, math.inf, True
        elif operation == LEAST:
            registers[LOW, i], registers[HIGH, i] = (
                min(registers[LOW, a], registers[LOW, b]),
                min(registers[HIGH, a], registers[HIGH, b]),
            )
        elif operation == GREATEST:
            registers[LOW, i], registers[HIGH, i] = (
                max(registers[LOW, a], registers[LOW, b]),
                max(registers[HIGH, a], registers[HIGH, b]),
            )
        elif operation == OPAQUE:
            # |f(y) - f(y_e)| <= L |y - y_e|; the anchor holds f(y_e), L, y_e.
            first, count = lists[row, 2], lists[row, 3]
            most, square = 0.0, 0.0
            for k in range(count):
                register, at = lists[first + k, 0], state[g, anchors + a + 2 + k]
                most = max(most, abs(registers[HIGH, register] - at), abs(registers[LOW, register] - at))
            for k in range(count):  # in units of the largest: squares of tiny numbers vanish
                register, at = lists[first + k, 0], state[g, anchors + a + 2 + k]
                far = max(abs(registers[HIGH, register] - at), abs(registers[LOW, register] - at))
                square += (far / most) ** 2 if most > 0.0 else 0.0
            reach = up_far(state[g, anchors + a + 1] * most * math.sqrt(square)) if most > 0.0 else 0.0
            registers[LOW, i], registers[HIGH, i] = (
                down(state[g, anchors + a] - reach),
                up(state[g, anchors + a] + reach),
            )
        else:
            registers[LOW, i], registers[HIGH, i], hole = unary_range(operation, registers[LOW, a], registers[HIGH, a])
            undefined = undefined or hole
        if not (-math.inf < registers[LOW, i] and registers[HIGH, i] < math.inf):
            undefined = True  # it may overflow, which has no value
        if not (registers[LOW, i] <= registers[HIGH, i]):
            registers[LOW, i], registers[HIGH, i], undefined = -math.inf, math.inf, True
    return undefined
