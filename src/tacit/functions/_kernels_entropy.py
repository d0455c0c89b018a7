"""Entropies on a ball, by linear bounds that meet them.

With h(t) = t log2 t, the pair S(u, v) = h(u + v) - h(u) - h(v) = (u + v) H(u / (u + v)) is the entropy of two masses
times their sum: concave, homogeneous, finite at 0. Information gain times its total is
S(columns) - S(first row) - S(second row), an entropy of m masses is a chain of m - 1 pairs.

- From above, for every q in (0, 1): S <= -u log2 q - v log2(1 - q) (Gibbs), equal where u / (u + v) = q.
- From below, where u / (u + v) is in [low, high]: S >= the chord of H over [low, high], times u + v.

Both are linear in (u, v): the sum is a linear bound whose extreme on the ball, non-negative orthant and plane is exact.
The q's then move to the extreme point, and again; if that does not decide, the ranges of shares are cut (branch and
bound). Empty cells need no care: nothing here is infinite at 0.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import kernel, leaf
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
# Rows of the work space, after those of affine_floor; a column per term: the slopes of its line by u and v, where it
# touches (below 0: it is a chord), the range of its share, which sides of that are cuts, the cut's multiplier, and the
# share and the gap to its chord at the least point.
BY_U, BY_V, TOUCH, LOW, HIGH, CUT_LOW, CUT_HIGH, CUT, SHARE, GAP, ROWS = range(WORK_ROWS, WORK_ROWS + 11)
PROVED, UNDECIDED, DISPROVED = 1, 0, -1
LOG2_E = 1.0 / math.log(2.0)


@leaf()
def xlog2(t: float) -> float:
    return t * math.log2(t) if t > 0.0 else 0.0


@leaf()
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
    # half^2 - lead (u^2 - r^2 |a|^2), written so that nothing cancels in small balls.
    across = uu * v * v + vv * u * u
    inner = across - 2.0 * uv * u * v - square * (uu * vv - uv * uv)
    root = radius * math.sqrt(max(0.0, inner) + 1e-14 * (across + 2.0 * abs(uv * u * v)))
    slack = 1e-14 * (abs(half) + root)
    return max(0.0, (half - root - slack) / lead), min(1.0, (half + root + slack) / lead)


@leaf()
def _chord(low: float, high: float) -> tuple[float, float]:
    """Slope and intercept of a line below the binary entropy on [low, high]."""
    at_low = -xlog2(low) - xlog2(1.0 - low)
    at_high = -xlog2(high) - xlog2(1.0 - high)
    if high - low < 1e-13:
        return 0.0, min(at_low, at_high)
    slope = (at_high - at_low) / (high - low)
    return slope, at_low - slope * low


@kernel()
def entropy_positive(
    numbers: FloatArray, first: int, last: int, at: int, threshold: float, sign: float, strict: bool,
    space: FloatArray, p: FloatArray, g: int, q: FloatArray, radius: float, rounds: int, pieces_max: int,
) -> bool:  # fmt: skip
    """Is sign * (E(x) - threshold * N(x)) > 0 (or >= 0) on ball and feasible set?

    E is the sum of the terms (rows ``first:last``) and of a.x + a0, N(x) = n.x + n0; row ``at`` holds a0, n0, a, n.
    """
    d = q.shape[0]
    work = np.empty((ROWS, max(d, last - first)))
    shift = plane_shift(p, g, q, space)
    size = abs(numbers[at, 0]) + abs(threshold * numbers[at, 1])
    for j in range(d):
        work[CENTRE, j] = middle(p, g, q, space, shift, j)
        size += (abs(numbers[at, 2 + j]) + abs(threshold * numbers[at, 2 + d + j])) * (abs(work[CENTRE, j]) + radius)
    for k in range(last - first):
        size += _prepare_term(numbers, first + k, sign, radius, work, d, k)
    found = _piece(numbers, first, last, at, threshold, sign, strict, space, d, radius, rounds, size, work)
    if found != UNDECIDED or pieces_max <= 1:
        return found == PROVED
    # Branch and bound: cut the range of the share with the widest gap to its chord, where the bound was least.
    count = last - first
    pieces = np.empty((pieces_max + 1, 4, count))
    left, used = 1, 0
    for k in range(count):
        pieces[0, 0, k], pieces[0, 1, k], pieces[0, 2, k], pieces[0, 3, k] = work[LOW, k], work[HIGH, k], 0.0, 0.0
    while left > 0:
        left -= 1
        used += 1
        for k in range(count):
            work[LOW, k], work[HIGH, k] = pieces[left, 0, k], pieces[left, 1, k]
            work[CUT_LOW, k], work[CUT_HIGH, k], work[CUT, k] = pieces[left, 2, k], pieces[left, 3, k], 0.0
        found = _piece(numbers, first, last, at, threshold, sign, strict, space, d, radius, 2 * rounds, size, work)
        if found == PROVED:
            continue
        widest, gap = -1, 0.0
        for k in range(count):
            low, high = pieces[left, 0, k], pieces[left, 1, k]
            if work[GAP, k] > gap and high - low > 1e-9:
                widest, gap = k, work[GAP, k]
        if found == DISPROVED or widest < 0 or used >= pieces_max:
            return False
        low, high = pieces[left, 0, widest], pieces[left, 1, widest]
        cut = min(max(work[SHARE, widest], 0.8 * low + 0.2 * high), 0.2 * low + 0.8 * high)
        for k in range(count):
            for i in range(4):
                pieces[left + 1, i, k] = pieces[left, i, k]
        pieces[left, 1, widest], pieces[left, 3, widest] = cut, 1.0
        pieces[left + 1, 0, widest], pieces[left + 1, 2, widest] = cut, 1.0
        left += 2
    return True


@leaf()
def _prepare_term(numbers: FloatArray, row: int, sign: float, radius: float, work: FloatArray, d: int, k: int) -> float:
    """The range of a term's share (or argument) over the ball, and where it touches first; returns its size."""
    u, v = numbers[row, OFFSET_U], numbers[row, OFFSET_V]
    for j in range(d):
        u += numbers[row, VECTORS + j] * work[CENTRE, j]
        v += numbers[row, VECTORS + d + j] * work[CENTRE, j]
    weight, uu, vv = sign * numbers[row, WEIGHT], numbers[row, NORM_UU], numbers[row, NORM_VV]
    work[CUT_LOW, k] = work[CUT_HIGH, k] = work[CUT, k] = 0.0
    if numbers[row, PAIR] == 1.0:
        low, high = share_range(u, v, uu, vv, numbers[row, NORM_UV], radius)
        work[LOW, k], work[HIGH, k] = low, high
        share = u / (u + v) if u > 0.0 and v > 0.0 else (0.0 if v > 0.0 else 1.0)
        work[TOUCH, k] = min(max(share, 0.9 * low + 0.1 * high), 0.1 * low + 0.9 * high) if weight < 0.0 else -1.0
        return float(4.0 * abs(weight) * (abs(u) + abs(v) + radius * math.sqrt(uu + vv)))
    spread = radius * math.sqrt(uu) * (1.0 + 1e-14) + 1e-15 * abs(u)
    low, high = max(0.0, u - spread), max(u + spread, 0.0)
    work[LOW, k], work[HIGH, k] = low, high
    work[TOUCH, k] = max(u, 0.125 * high) if weight > 0.0 else -1.0
    return float(4.0 * abs(weight) * (abs(xlog2(high)) + abs(xlog2(low)) + high))


@leaf()
def _line_of_term(numbers: FloatArray, row: int, sign: float, work: FloatArray, k: int) -> None:
    """A line below the term: its tangent where it is convex, its chord over the range where it is concave."""
    weight, touch, low, high = sign * numbers[row, WEIGHT], work[TOUCH, k], work[LOW, k], work[HIGH, k]
    if numbers[row, PAIR] == 1.0:
        if touch >= 0.0:
            share = min(max(touch, 1e-12), 1.0 - 1e-12)
            work[BY_U, k], work[BY_V, k] = -weight * math.log2(share), -weight * math.log2(1.0 - share)
        else:
            slope, at_zero = _chord(low, high)
            work[BY_U, k], work[BY_V, k] = weight * (slope + at_zero), weight * at_zero
    elif touch > 0.0:
        work[BY_U, k], work[BY_V, k] = weight * (math.log2(touch) + LOG2_E), -weight * touch * LOG2_E
    elif touch < 0.0 and high > low:
        slope = (xlog2(high) - xlog2(low)) / (high - low)
        work[BY_U, k], work[BY_V, k] = weight * slope, weight * (xlog2(low) - slope * low)
    else:  # the argument does not move on the ball
        work[BY_U, k], work[BY_V, k] = 0.0, weight * xlog2(low)


@leaf()
def _piece(
    numbers: FloatArray, first: int, last: int, at: int, threshold: float, sign: float, strict: bool,
    space: FloatArray, d: int, radius: float, rounds: int, size: float, work: FloatArray,
) -> int:  # fmt: skip
    """The question on the part of the ball where every share is within its range (LOW to HIGH).

    A side of a range that is a cut, not implied by the ball, takes part with a multiplier: where c.x >= 0 is known,
    w.x >= (w - m c).x for every m >= 0. CUT holds m, and -m for the upper side; it follows the least point.
    """
    fixed = sign * (numbers[at, 0] - threshold * numbers[at, 1])
    before = -math.inf
    for turn in range(rounds):
        base, error = fixed, 4e-15 * size
        for j in range(d):
            work[SLOPES, j] = sign * (numbers[at, 2 + j] - threshold * numbers[at, 2 + d + j])
        for k in range(last - first):
            row = first + k
            if turn == 0 or work[TOUCH, k] >= 0.0:
                _line_of_term(numbers, row, sign, work, k)
            by_u, by_v = work[BY_U, k], work[BY_V, k]
            if numbers[row, PAIR] == 0.0:
                base += by_v
                by_v = 0.0
            elif work[CUT, k] > 0.0:
                by_u -= work[CUT, k] * (1.0 - work[LOW, k])
                by_v += work[CUT, k] * work[LOW, k]
            elif work[CUT, k] < 0.0:
                by_u -= work[CUT, k] * (1.0 - work[HIGH, k])
                by_v += work[CUT, k] * work[HIGH, k]
            base += by_u * numbers[row, OFFSET_U] + by_v * numbers[row, OFFSET_V]
            for j in range(d):
                part = by_u * numbers[row, VECTORS + j] + by_v * numbers[row, VECTORS + d + j]
                work[SLOPES, j] += part
                error += 1e-15 * abs(part) * (abs(work[CENTRE, j]) + radius)
        bound = base + affine_floor(work, d, radius, space) - error
        if bound > 0.0 or (not strict and bound >= 0.0):
            return PROVED
        if turn > 2 and bound + 8.0 * (bound - before) < 0.0:
            return UNDECIDED
        before = max(before, bound)
        if _visit_least_point(numbers, first, last, at, threshold, sign, space, d, radius, work) < -error:
            return DISPROVED
    return UNDECIDED


@leaf()
def _visit_least_point(
    numbers: FloatArray, first: int, last: int, at: int, threshold: float, sign: float, space: FloatArray, d: int,
    radius: float, work: FloatArray,
) -> float:  # fmt: skip
    """The true value at the point where the bound is least; touches and cuts move there, SHARE and GAP are noted."""
    norm = 0.0
    for j in range(d):
        norm += work[SHRUNK, j] * work[SHRUNK, j]
    norm = math.sqrt(norm)
    step = radius / norm if norm > 0.0 else 0.0
    value = sign * (numbers[at, 0] - threshold * numbers[at, 1])
    for j in range(d):
        work[HELD, j] = work[CENTRE, j] - step * work[SHRUNK, j]
        if space[d + 2 + j] != 0.0:
            work[HELD, j] = max(0.0, work[HELD, j])
        value += sign * (numbers[at, 2 + j] - threshold * numbers[at, 2 + d + j]) * work[HELD, j]
    for k in range(last - first):
        row = first + k
        u, v = numbers[row, OFFSET_U], numbers[row, OFFSET_V]
        for j in range(d):
            u += numbers[row, VECTORS + j] * work[HELD, j]
            v += numbers[row, VECTORS + d + j] * work[HELD, j]
        u, v = max(u, 0.0), max(v, 0.0)
        weight, touch = sign * numbers[row, WEIGHT], work[TOUCH, k]
        work[GAP, k] = 0.0
        if numbers[row, PAIR] == 0.0:
            value += weight * xlog2(u)
            if touch >= 0.0:
                work[TOUCH, k] = max(u, 1e-3 * touch)
            continue
        total = u + v
        term = weight * (xlog2(total) - xlog2(u) - xlog2(v))
        value += term
        share = u / total if total > 0.0 else 0.5
        work[SHARE, k] = share
        if touch >= 0.0:
            work[TOUCH, k] = min(max(share, 1e-3 * touch), 1.0 - 1e-3 * (1.0 - touch))
            continue
        low, high, cut = work[LOW, k], work[HIGH, k], work[CUT, k]
        work[GAP, k] = term - work[BY_U, k] * u - work[BY_V, k] * v
        edge = 0.0
        if work[CUT_LOW, k] == 1.0 and (cut > 0.0 or share < low):
            edge = low
        elif work[CUT_HIGH, k] == 1.0 and (cut < 0.0 or share > high):
            edge = high
        if edge > 0.0:
            # Newton's step for the multiplier: the least point moves across by radius * |c|^2 / norm per unit of it.
            across = (1.0 - edge) ** 2 * numbers[row, NORM_UU] + edge * edge * numbers[row, NORM_VV]
            across -= 2.0 * edge * (1.0 - edge) * numbers[row, NORM_UV]
            if across > 0.0:
                moved = cut - (u - edge * total) * norm / (radius * across)
                work[CUT, k] = max(0.0, moved) if edge == low else min(0.0, moved)
    return float(value)
