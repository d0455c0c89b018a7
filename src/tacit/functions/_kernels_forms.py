"""Exact tests on a ball: affine and quadratic forms.

The ball is given by two points and a radius: its centre is the middle of row g of ``p`` (the estimate) and ``q`` (a
drift, or the estimate again). A *form* is a run of numbers from ``forms[row, at]``, laid out as the names below say;
``b``, ``A``, the eigenvalues and the eigenvectors follow the header. Matrices and places are passed, not views:
making a view costs as much as the test. Every test returns True only when the inequality is proved.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import kernel, leaf
from tacit.vocabulary.arrays import FloatArray

# The header of a form: c0 + b.x + x'Ax
AT_ZERO, SIZE_QUADRATIC, SIZE_LINEAR, SIZE_CONSTANT, EIGEN_LEAST, EIGEN_MOST, KIND, GRID, NORM, HEADER = range(10)
CONSTANT_FORM, AFFINE_FORM, QUADRATIC_FORM = 0.0, 1.0, 2.0
# Rows of the work space of affine_floor
CENTRE, SLOPES, SHRUNK, HELD, WORK_ROWS = range(5)
EXACT_MAX = 9.0e15  # 2**53: integers up to here are exact


@leaf()
def middle(p: FloatArray, g: int, q: FloatArray, space: FloatArray, shift: float, j: int) -> float:
    return float(0.5 * (p[g, j] + q[j]) + shift * space[j])


@leaf()
def plane_shift(p: FloatArray, g: int, q: FloatArray, space: FloatArray) -> float:
    """How far the centre is from the plane that holds every feasible point (plane: unit normal, level, 1 if any)."""
    d = q.shape[0]
    if space[d + 1] == 0.0:
        return 0.0
    level = 0.0
    for j in range(d):
        level += space[j] * (0.5 * (p[g, j] + q[j]))
    return float(space[d] - level)


@leaf()
def affine_floor(work: FloatArray, d: int, radius: float, space: FloatArray) -> float:
    """A lower bound of a.x over ball, non-negative orthant and plane; exact but for rounding.

    ``work`` holds the centre c and the slopes a in its first rows. By duality: for x_j >= 0 and nu_j >= 0,
    a.x >= (a - nu).x, whose least value on the ball is known. Row SHRUNK receives a - nu (without its part along the
    plane's normal): the least point is c - radius * shrunk / |shrunk|. Row HELD marks components that end at 0.
    """
    has_plane = space[d + 1] != 0.0
    for j in range(d):
        work[HELD, j] = 0.0
    best = -math.inf
    for _ in range(d + 1):
        along, free, kept, kept_level, size = 0.0, 0.0, 0.0, 0.0, 0.0
        for j in range(d):
            if work[HELD, j] == 0.0:
                size += work[SLOPES, j] * work[SLOPES, j]
            else:
                kept += work[CENTRE, j] * work[CENTRE, j]
        tilt = 0.0
        if has_plane:
            size = 0.0
            for j in range(d):
                if work[HELD, j] == 0.0:
                    along += space[j] * work[SLOPES, j]
                    free += space[j] * space[j]
                else:
                    kept_level += space[j] * work[CENTRE, j]
            tilt = along / free if free > 0.0 else 0.0
            for j in range(d):
                if work[HELD, j] == 0.0:
                    size += (work[SLOPES, j] - tilt * space[j]) ** 2
        room = radius * radius - kept - (kept_level * kept_level / free if free > 0.0 else 0.0)
        if not (size > 0.0 and room > 0.0):
            break
        step = math.sqrt(room / size)
        if free > 0.0:
            tilt += kept_level / (step * free)
        norm, value, more = 0.0, 0.0, False
        for j in range(d):
            slope = work[SLOPES, j] - tilt * space[j]
            if work[HELD, j] != 0.0:
                slope = min(slope, work[CENTRE, j] / step)
            elif space[d + 2 + j] != 0.0 and work[CENTRE, j] - step * slope < 0.0:
                more = True
                work[HELD, j] = 2.0  # from the next round on
            work[SHRUNK, j] = slope
            norm += slope * slope
            value += slope * work[CENTRE, j]
        best = max(best, value + tilt * space[d] - radius * math.sqrt(norm))
        if not more:
            break
    if best == -math.inf:
        along, norm, value = 0.0, 0.0, 0.0
        for j in range(d):
            along += space[j] * work[SLOPES, j]
        for j in range(d):
            work[SHRUNK, j] = work[SLOPES, j] - along * space[j]
            norm += work[SHRUNK, j] ** 2
            value += work[SHRUNK, j] * work[CENTRE, j]
        best = value + along * space[d] - radius * math.sqrt(norm)
    return best


@leaf()
def _affine_exactly(
    forms: FloatArray, row: int, at: int, p: FloatArray, g: int, q: FloatArray, sign: float, strict: bool
) -> bool:
    """The same question in integers: S + sqrt(R) <= 0 as S <= 0 and S^2 >= R. False when they do not fit."""
    d = q.shape[0]
    grid = forms[row, at + GRID]
    if grid == 0.0:
        return False
    total, norm, move = -2.0 * sign * forms[row, at + AT_ZERO] * grid, 0.0, 0.0
    size = abs(total)
    for j in range(d):
        b, twice, step = -sign * forms[row, at + HEADER + j] * grid, p[g, j] + q[j], q[j] - p[g, j]
        if (b != 0.0 or step != 0.0) and (p[g, j] != math.floor(p[g, j]) or q[j] != math.floor(q[j])):
            return False
        total += b * twice
        size += abs(b * twice)
        norm += b * b
        move += step * step
    if size > EXACT_MAX or norm * move > EXACT_MAX or total * total > EXACT_MAX or total > 0.0:
        return False
    return bool(total * total > norm * move if strict else total * total >= norm * move)


@leaf()
def _is_between(p: FloatArray, g: int, q: FloatArray, radius: float) -> bool:
    """Is it the ball over p and q (and not a wider one around p)?"""
    span = 0.0
    for j in range(q.shape[0]):
        span += (q[j] - p[g, j]) ** 2
    return radius * radius * 4.0 <= span * (1.0 + 1e-12)


@leaf()
def _moves_away(
    forms: FloatArray, row: int, at: int, p: FloatArray, g: int, q: FloatArray, sign: float, strict: bool
) -> bool:
    """One component alone counts and alone moved, away from the threshold: the answer at p holds up to q."""
    place, moved = -1, 0
    value = sign * forms[row, at + AT_ZERO]
    for j in range(q.shape[0]):
        b = sign * forms[row, at + HEADER + j]
        value += b * p[g, j]
        if q[j] != p[g, j]:
            moved += 1
            place = j
            if b * (q[j] - p[g, j]) < 0.0:
                return False
        if b != 0.0 and q[j] == p[g, j]:
            return False
    return bool(
        moved == 1 and forms[row, at + HEADER + place] != 0.0 and (value > 0.0 or (value == 0.0 and not strict))
    )


@leaf()
def form_positive(
    forms: FloatArray,
    row: int,
    at: int,
    space: FloatArray,
    p: FloatArray,
    g: int,
    q: FloatArray,
    radius: float,
    sign: float,
    strict: bool,
) -> bool:
    """Is sign * form > 0 (or >= 0) on the whole ball (where it meets the plane)?"""
    d = q.shape[0]
    kind = forms[row, at + KIND]
    value = -sign * forms[row, at + AT_ZERO]  # the mirrored form must stay below 0
    if kind == CONSTANT_FORM:
        return value < 0.0 or (not strict and value == 0.0)
    shift = plane_shift(p, g, q, space)
    square = 0.0
    for j in range(d):
        x = middle(p, g, q, space, shift, j)
        value -= sign * forms[row, at + HEADER + j] * x
        square += x * x
    reach = math.sqrt(square) + radius
    slip = (32.0 + 8.0 * d) * 1.2e-16
    if kind == AFFINE_FORM:
        error = slip * (forms[row, at + SIZE_CONSTANT] + forms[row, at + SIZE_LINEAR] * reach)
        if value + radius * forms[row, at + NORM] + error < 0.0:
            return True
        return _affine_otherwise(forms, row, at, space, p, g, q, shift, radius, sign, strict, error)
    start = HEADER + d
    along = 0.0
    steep = 0.0
    for i in range(d):
        inner = 0.0
        for j in range(d):
            inner += forms[row, at + start + i * d + j] * middle(p, g, q, space, shift, j)
        value -= sign * inner * middle(p, g, q, space, shift, i)
        slope = forms[row, at + HEADER + i] + 2.0 * inner
        along += slope * space[i]
        steep += slope * slope
    if along != 0.0:
        steep = 0.0
        for i in range(d):
            inner = 0.0
            for j in range(d):
                inner += forms[row, at + start + i * d + j] * middle(p, g, q, space, shift, j)
            slope = forms[row, at + HEADER + i] + 2.0 * inner - along * space[i]
            steep += slope * slope
    error = slip * (
        forms[row, at + SIZE_CONSTANT]
        + forms[row, at + SIZE_LINEAR] * reach
        + forms[row, at + SIZE_QUADRATIC] * reach * reach
    )
    most = max(0.0, -sign * (forms[row, at + EIGEN_LEAST] if sign > 0.0 else forms[row, at + EIGEN_MOST]))
    if value + radius * math.sqrt(steep) + radius * radius * most + error < 0.0:
        return True
    if value > error:
        return False
    climb = _climb(forms, row, at, space, p, g, q, shift, radius, sign, value + error, most, True)
    return bool(value + error + climb < 0.0)


@kernel()
def _affine_otherwise(
    forms: FloatArray,
    row: int,
    at: int,
    space: FloatArray,
    p: FloatArray,
    g: int,
    q: FloatArray,
    shift: float,
    radius: float,
    sign: float,
    strict: bool,
    error: float,
) -> bool:
    """The plain bound failed: try exact integers, then the part of the ball in the non-negative orthant."""
    d = q.shape[0]
    plain = space[d + 1] == 0.0
    if (
        plain
        and _is_between(p, g, q, radius)
        and (
            _affine_exactly(forms, row, at, p, g, q, sign, strict) or _moves_away(forms, row, at, p, g, q, sign, strict)
        )
    ):
        return True
    crosses = False
    for j in range(d):
        if (
            space[d + 2 + j] != 0.0
            and middle(p, g, q, space, shift, j) < radius
            and sign * forms[row, at + HEADER + j] > 0.0
        ):
            crosses = True
    if not crosses and plain:
        return False
    work = np.empty((WORK_ROWS, d))
    for j in range(d):
        work[SLOPES, j] = sign * forms[row, at + HEADER + j]
        work[CENTRE, j] = middle(p, g, q, space, shift, j)
    floor = affine_floor(work, d, radius, space)
    return bool(sign * forms[row, at + AT_ZERO] + floor - error > 0.0)


@kernel()
def _climb(
    forms: FloatArray,
    row: int,
    at: int,
    space: FloatArray,
    p: FloatArray,
    g: int,
    q: FloatArray,
    shift: float,
    radius: float,
    sign: float,
    value: float,
    most: float,
    decide: bool,
) -> float:
    """How far the mirrored form can climb from the centre to the edge of the ball: the trust-region equation.

    For every mu >= max(eigenvalues, 0), mu r^2 + sum g_i^2 / (4 (mu - l_i)) is above the greatest increase g.s + s'Ls
    over |s| <= r (weak duality), and the best mu meets it. ``decide``: stop when value + the climb is sure to be below
    0, or sure not to be (then the answer is infinite).
    """
    d = q.shape[0]
    start, eigen = at + HEADER + d, at + HEADER + d + d * d
    vectors = eigen + d
    work = np.empty((2, d))  # the gradient, and along the eigenvectors
    along = 0.0
    for i in range(d):
        inner = 0.0
        for j in range(d):
            inner += forms[row, start + i * d + j] * middle(p, g, q, space, shift, j)
        work[0, i] = -sign * (forms[row, at + HEADER + i] + 2.0 * inner)
        along += work[0, i] * space[i]
    least_mu = most
    for i in range(d):
        work[1, i] = 0.0
        for j in range(d):
            work[1, i] += forms[row, vectors + i * d + j] * (work[0, j] - along * space[j])
        least_mu = max(least_mu, -sign * forms[row, eigen + i] + abs(work[1, i]) / (2.0 * radius))
    # least_mu is below the best mu; Newton's steps on 1/|s| climb to it from there. The nudge keeps gaps above 0.
    mu = least_mu + 1e-15 * max(abs(forms[row, at + EIGEN_LEAST]), abs(forms[row, at + EIGEN_MOST]))
    best = math.inf
    for _ in range(30):
        norm, bend, gain, curve = 0.0, 0.0, 0.0, 0.0
        for i in range(d):
            if work[1, i] != 0.0:
                gap = mu + sign * forms[row, eigen + i]
                if not gap > 0.0:
                    return float(best)
                s = work[1, i] / (2.0 * gap)
                norm += s * s
                bend += s * s / gap
                gain += work[1, i] * s
                curve -= sign * forms[row, eigen + i] * s * s
        best = min(best, (mu * radius * radius + 0.5 * gain) * (1.0 + 1e-14))
        if decide and value + best < 0.0:
            return float(best)
        norm = math.sqrt(norm)
        if norm <= radius * (1.0 + 1e-13):
            return float(best)  # this was the best mu
        shrink = radius / norm
        if decide and value + shrink * gain + shrink * shrink * curve > 0.0:
            return math.inf  # a point of the ball is on the wrong side (or too near to tell)
        mu += (norm - radius) / radius * norm * norm / bend
    return float(best)


@leaf()
def form_floor(
    forms: FloatArray,
    row: int,
    at: int,
    space: FloatArray,
    p: FloatArray,
    g: int,
    q: FloatArray,
    radius: float,
    sign: float,
) -> float:
    """A lower bound of sign * form on the ball, exact but for rounding."""
    d = q.shape[0]
    shift = plane_shift(p, g, q, space)
    value, square, steep = -sign * forms[row, at + AT_ZERO], 0.0, 0.0
    for j in range(d):
        x = middle(p, g, q, space, shift, j)
        value -= sign * forms[row, at + HEADER + j] * x
        square += x * x
    reach = math.sqrt(square) + radius
    error = forms[row, at + SIZE_CONSTANT] + forms[row, at + SIZE_LINEAR] * reach
    climb = radius * forms[row, at + NORM]
    if forms[row, at + KIND] == QUADRATIC_FORM:
        for i in range(d):
            inner = 0.0
            for j in range(d):
                inner += forms[row, at + HEADER + d + i * d + j] * middle(p, g, q, space, shift, j)
            value -= sign * inner * middle(p, g, q, space, shift, i)
            steep += (forms[row, at + HEADER + i] + 2.0 * inner) ** 2
        error += forms[row, at + SIZE_QUADRATIC] * reach * reach
        most = max(0.0, -forms[row, at + EIGEN_LEAST] if sign > 0.0 else forms[row, at + EIGEN_MOST])
        climb = 0.0
        if radius > 0.0:
            climb = _climb(forms, row, at, space, p, g, q, shift, radius, sign, value, most, False)
            climb = min(climb, radius * (math.sqrt(steep) + radius * most))
    return float(-(value + climb + (32.0 + 8.0 * d) * 1.2e-16 * error))


@leaf()
def form_bounds_many(
    forms: FloatArray, row: int, space: FloatArray, centres: FloatArray, radii: FloatArray, result: FloatArray
) -> None:
    """The exact range of a form over each ball, rounded outward."""
    for k in range(centres.shape[0]):
        result[k, 0] = form_floor(forms, row, 0, space, centres, k, centres[k], radii[k], 1.0)
        result[k, 1] = -form_floor(forms, row, 0, space, centres, k, centres[k], radii[k], -1.0)
