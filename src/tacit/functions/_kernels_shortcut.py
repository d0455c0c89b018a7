"""A group's shortcut: the few forms that carry its answer, copied side by side and tried before anything else."""

from __future__ import annotations

import math

from tacit._jit import leaf
from tacit.functions._kernels_forms import (
    AT_ZERO,
    EIGEN_LEAST,
    EIGEN_MOST,
    HEADER,
    KIND,
    NORM,
    QUADRATIC_FORM,
    SIZE_CONSTANT,
    SIZE_LINEAR,
    SIZE_QUADRATIC,
)
from tacit.vocabulary.arrays import FloatArray

# A shortcut: how many forms, then for each of them these numbers, its b and its A, signed so that it must be above 0.
QUICK_KIND, QUICK_AT_ZERO, QUICK_NORM, QUICK_BEND, QUICK_CONSTANT, QUICK_LINEAR, QUICK_QUADRATIC, QUICK_HEADER = range(
    8
)


@leaf()
def quick_positive(state: FloatArray, start: int, p: FloatArray, g: int, q: FloatArray, radius: float) -> bool:
    """Are all forms of the group's shortcut above 0 on the ball, by the eigenvalue bound alone?"""
    d = q.shape[0]
    count = int(state[g, start])
    if count <= 0:
        return False
    reach = radius
    for j in range(d):
        reach += 0.5 * abs(p[g, j] + q[j])
    slip = (32.0 + 8.0 * d) * 1.2e-16
    for k in range(count - 1, -1, -1):  # denominators come before what they divide, and seldom decide
        at = start + 1 + k * (QUICK_HEADER + d + d * d)
        b = at + QUICK_HEADER
        value = state[g, at + QUICK_AT_ZERO]
        for j in range(d):
            value += state[g, b + j] * (0.5 * (p[g, j] + q[j]))
        error = state[g, at + QUICK_CONSTANT] + state[g, at + QUICK_LINEAR] * reach
        if state[g, at + QUICK_KIND] == QUADRATIC_FORM:
            steep = 0.0
            for i in range(d):
                inner = 0.0
                for j in range(d):
                    inner += state[g, b + d + i * d + j] * (p[g, j] + q[j])
                value += inner * (0.25 * (p[g, i] + q[i]))
                steep += (state[g, b + i] + inner) ** 2
            value -= radius * (math.sqrt(steep) + radius * state[g, at + QUICK_BEND])
            error += state[g, at + QUICK_QUADRATIC] * reach * reach
        else:
            value -= radius * state[g, at + QUICK_NORM]
        if not value - 2.0 * slip * error > 0.0:
            return False
    return True


@leaf()
def quick_hopeless(
    state: FloatArray, start: int, p: FloatArray, g: int, q: FloatArray, radius: float, work: FloatArray
) -> bool:
    """Is the shortcut's last form, a quadratic one, surely below 0 where it falls fastest from the ball's centre?"""
    d = q.shape[0]
    count = int(state[g, start])
    at = start + 1 + (count - 1) * (QUICK_HEADER + d + d * d)
    if count <= 0 or state[g, at + QUICK_KIND] != QUADRATIC_FORM:
        return False
    b = at + QUICK_HEADER
    value, steep, reach = state[g, at + QUICK_AT_ZERO], 0.0, radius
    for i in range(d):
        inner = 0.0
        for j in range(d):
            inner += state[g, b + d + i * d + j] * (p[g, j] + q[j])
        value += (state[g, b + i] + 0.5 * inner) * (0.5 * (p[g, i] + q[i]))
        work[i] = state[g, b + i] + inner
        steep += work[i] * work[i]
        reach += 0.5 * abs(p[g, i] + q[i])
    if not steep > 0.0:
        return False
    bend = 0.0
    for i in range(d):
        inner = 0.0
        for j in range(d):
            inner += state[g, b + d + i * d + j] * work[j]
        bend += work[i] * inner
    value += radius * (radius * bend / steep - math.sqrt(steep))
    error = (
        state[g, at + QUICK_CONSTANT] + (state[g, at + QUICK_LINEAR] + state[g, at + QUICK_QUADRATIC] * reach) * reach
    )
    return bool(value + (64.0 + 16.0 * d) * 1.2e-16 * error < 0.0)


@leaf()
def quick_write(
    state: FloatArray, start: int, g: int, k: int, forms: FloatArray, row: int, at: int, sign: float, d: int
) -> None:
    """Put a form as number k into the group's shortcut."""
    to = start + 1 + k * (QUICK_HEADER + d + d * d)
    state[g, to + QUICK_KIND] = forms[row, at + KIND]
    state[g, to + QUICK_AT_ZERO] = sign * forms[row, at + AT_ZERO]
    state[g, to + QUICK_NORM] = forms[row, at + NORM]
    state[g, to + QUICK_BEND] = max(0.0, -forms[row, at + EIGEN_LEAST] if sign > 0.0 else forms[row, at + EIGEN_MOST])
    state[g, to + QUICK_CONSTANT] = forms[row, at + SIZE_CONSTANT]
    state[g, to + QUICK_LINEAR] = forms[row, at + SIZE_LINEAR]
    state[g, to + QUICK_QUADRATIC] = forms[row, at + SIZE_QUADRATIC]
    for j in range(d + d * d):
        state[g, to + QUICK_HEADER + j] = sign * forms[row, at + HEADER + j]
