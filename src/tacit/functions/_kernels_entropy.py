"""Entropies on a ball, by linear bounds that meet them.

With h(t) = t log2 t, the pair S(u, v) = h(u + v) - h(u) - h(v) = (u + v) H(u / (u + v)) is the entropy of two masses
times their sum: concave, homogeneous, finite at 0. Information gain times its total is
S(columns) - S(first row) - S(second row), an entropy of m masses is a chain of m - 1 pairs.

- From above, for every q in (0, 1): S <= -u log2 q - v log2(1 - q) (Gibbs), equal where u / (u + v) = q.
- From below, where u / (u + v) is in [low, high]: S >= the chord of H over [low, high], times u + v.

Both are linear in (u, v): the sum is a linear bound whose extreme on the ball, non-negative orthant and plane is exact.
The q's then move to the extreme point, and again. Empty cells need no care: nothing here is infinite at 0.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.functions._jit import kernel
from tacit.functions._kernels_forms import (
    CENTRE,
    HELD,
    SHRUNK,
    SLOPES,
    WORK_ROWS,
    affine_floor,
    middle,
    plane_shift,
)
from tacit.vocabulary.arrays import FloatArray

# Columns of a term: coefficient, 1 for a pair, offsets and inner products (along the space) of u and v, then u, v.
WEIGHT, PAIR, OFFSET_U, OFFSET_V, NORM_UU, NORM_VV, NORM_UV, VECTORS = range(8)
BY_U, BY_V, TOUCH = WORK_ROWS, WORK_ROWS + 1, WORK_ROWS + 2
LOG2_E = 1.0 / math.log(2.0)


@kernel()
def xlog2(t: float) -> float:
    return t * math.log2(t) if t > 0.0 else 0.0


@kernel()
def share_range(u: float, v: float, uu: float, vv: float, uv: float, radius: float) -> tuple[float, float]:
    """The range of u / (u + v) over a ball around a point with these u and v, both >= 0.

    A share t is reached where (1 - t) u - t v = 0, that is where ((1 - t) u - t v)^2 <= r^2 |(1 - t) a - t b|^2.
    """
    square = radius * radius
    total = u + v
    lead = total * total - square * (uu + 2.0 * uv + vv)
    if not (total > 0.0 and lead > 1e-12 * total * total):
        return 0.0, 1.0
    half = u * total - square * (uu + uv)
    rest = u * u - square * uu
    root = math.sqrt(max(0.0, half * half - lead * rest))
    slack = 1e-12 * (abs(half) + root + 1e-4 * total * total)
    return max(0.0, (half - root - slack) / lead), min(1.0, (half + root + slack) / lead)


@kernel()
def _chord(low: float, high: float) -> tuple[float, float]:
    """Slope and intercept of a line below the binary entropy on [low, high]."""
    at_low = -xlog2(low) - xlog2(1.0 - low)
    at_high = -xlog2(high) - xlog2(1.0 - high)
    if high - low < 1e-9:
        return 0.0, min(at_low, at_high)
    slope = (at_high - at_low) / (high - low)
    return slope, at_low - slope * low


@kernel()
def entropy_positive(
    numbers: FloatArray,
    first: int,
    last: int,
    at: int,
    threshold: float,
    sign: float,
    strict: bool,
    space: FloatArray,
    p: FloatArray,
    g: int,
    q: FloatArray,
    radius: float,
    rounds: int,
) -> bool:
    """Is sign * (E(x) - threshold * N(x)) > 0 (or >= 0) on ball and feasible set?

    E is the sum of the terms and of a.x + a0, N(x) = n.x + n0; ``linear`` is a0, n0, a, n.
    """
    d = q.shape[0]
    count = last - first
    # Rows of affine_floor, then per term: the slopes by u and v, and where its bound touches.
    work = np.empty((WORK_ROWS + 3, max(d, count)))
    shift = plane_shift(p, g, q, space)
    fixed = sign * (numbers[at, 0] - threshold * numbers[at, 1])
    size = abs(numbers[at, 0]) + abs(threshold * numbers[at, 1])
    for j in range(d):
        work[CENTRE, j] = middle(p, g, q, space, shift, j)
        size += (abs(numbers[at, 2 + j]) + abs(threshold * numbers[at, 2 + d + j])) * (abs(work[CENTRE, j]) + radius)
    for k in range(count):
        row = first + k
        u, v = numbers[row, OFFSET_U], numbers[row, OFFSET_V]
        for j in range(d):
            u += numbers[row, VECTORS + j] * work[CENTRE, j]
            v += numbers[row, VECTORS + d + j] * work[CENTRE, j]
        weight = sign * numbers[row, WEIGHT]
        if numbers[row, PAIR] == 1.0:
            low, high = share_range(u, v, numbers[row, NORM_UU], numbers[row, NORM_VV], numbers[row, NORM_UV], radius)
            if weight > 0.0:
                slope, at_zero = _chord(low, high)
                work[BY_U, k], work[BY_V, k] = weight * (slope + at_zero), weight * at_zero
                work[TOUCH, k] = -1.0
            else:
                share = u / (u + v) if u > 0.0 and v > 0.0 else (0.0 if v > 0.0 else 1.0)
                work[TOUCH, k] = min(max(share, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high)
            size += (
                4.0
                * abs(weight)
                * (abs(u) + abs(v) + radius * math.sqrt(numbers[row, NORM_UU] + numbers[row, NORM_VV]))
            )
        else:
            spread = radius * math.sqrt(numbers[row, NORM_UU]) * (1.0 + 1e-14) + 1e-15 * abs(u)
            low, high = max(0.0, u - spread), max(u + spread, 0.0)
            if weight > 0.0:
                work[TOUCH, k] = max(u, 0.125 * high)
            else:
                work[TOUCH, k] = -1.0
                if high > low:
                    work[BY_U, k] = (xlog2(high) - xlog2(low)) / (high - low)
                    work[BY_V, k] = weight * (xlog2(low) - work[BY_U, k] * low)
                    work[BY_U, k] *= weight
                else:
                    work[BY_U, k], work[BY_V, k] = 0.0, weight * xlog2(low)
            size += 4.0 * abs(weight) * (abs(xlog2(high)) + abs(xlog2(low)) + high)
    before = -math.inf
    for turn in range(rounds):
        base, error = fixed, 4e-15 * size
        for j in range(d):
            work[SLOPES, j] = sign * (numbers[at, 2 + j] - threshold * numbers[at, 2 + d + j])
        for k in range(count):
            row = first + k
            pair = numbers[row, PAIR] == 1.0
            if work[TOUCH, k] >= 0.0:
                weight = sign * numbers[row, WEIGHT]
                if pair:
                    share = min(max(work[TOUCH, k], 1e-12), 1.0 - 1e-12)
                    work[BY_U, k], work[BY_V, k] = -weight * math.log2(share), -weight * math.log2(1.0 - share)
                elif work[TOUCH, k] > 0.0:
                    work[BY_U, k] = weight * (math.log2(work[TOUCH, k]) + LOG2_E)
                    work[BY_V, k] = -weight * work[TOUCH, k] * LOG2_E
                else:  # the argument is 0 on the whole ball
                    work[BY_U, k] = work[BY_V, k] = 0.0
            if pair:
                base += work[BY_U, k] * numbers[row, OFFSET_U] + work[BY_V, k] * numbers[row, OFFSET_V]
                for j in range(d):
                    part = work[BY_U, k] * numbers[row, VECTORS + j] + work[BY_V, k] * numbers[row, VECTORS + d + j]
                    work[SLOPES, j] += part
                    error += 1e-15 * abs(part) * (abs(work[CENTRE, j]) + radius)
            else:
                base += work[BY_U, k] * numbers[row, OFFSET_U] + work[BY_V, k]
                for j in range(d):
                    work[SLOPES, j] += work[BY_U, k] * numbers[row, VECTORS + j]
                    error += 1e-15 * abs(work[BY_U, k] * numbers[row, VECTORS + j]) * (abs(work[CENTRE, j]) + radius)
        bound = base + affine_floor(work, d, radius, space) - error
        if bound > 0.0 or (not strict and bound >= 0.0):
            return True
        if turn + 1 == rounds or (turn > 0 and bound + 8.0 * (bound - before) < 0.0):
            return False
        before = bound
        norm = 0.0
        for j in range(d):
            norm += work[SHRUNK, j] * work[SHRUNK, j]
        step = radius / math.sqrt(norm) if norm > 0.0 else 0.0
        actual = fixed
        for j in range(d):
            work[HELD, j] = work[CENTRE, j] - step * work[SHRUNK, j]
            if space[d + 2 + j] != 0.0:
                work[HELD, j] = max(0.0, work[HELD, j])
            actual += sign * (numbers[at, 2 + j] - threshold * numbers[at, 2 + d + j]) * work[HELD, j]
        for k in range(count):
            row = first + k
            u, v = numbers[row, OFFSET_U], numbers[row, OFFSET_V]
            for j in range(d):
                u += numbers[row, VECTORS + j] * work[HELD, j]
                v += numbers[row, VECTORS + d + j] * work[HELD, j]
            if numbers[row, PAIR] == 1.0:
                actual += sign * numbers[row, WEIGHT] * (xlog2(u + v) - xlog2(u) - xlog2(v))
                if work[TOUCH, k] >= 0.0 and u + v > 0.0:
                    share = u / (u + v)
                    work[TOUCH, k] = min(max(share, 1e-3 * work[TOUCH, k]), 1.0 - 1e-3 * (1.0 - work[TOUCH, k]))
            else:
                actual += sign * numbers[row, WEIGHT] * xlog2(u)
                if work[TOUCH, k] >= 0.0:
                    work[TOUCH, k] = max(u, 1e-3 * work[TOUCH, k])
        if actual < -error:
            return False  # a feasible point of the ball is on the wrong side
    return False
