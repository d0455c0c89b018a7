"""Is a ball on one side? The walk over a goal's questions, and the safe radius.

``ball_inside`` is what other rooms call, per point, from their own kernels. The tables and the zones are described
in tables.py. The tests themselves are in the neighbours, one idea each: _kernels_forms.py (affine, quadratic),
_kernels_entropy.py, _kernels_boxes.py and _kernels_interval.py (any program). Numba's cache sees only its own file: a
change in a neighbour must renew the cache of this one.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import kernel, leaf
from tacit.functions._kernels_boxes import program_proved
from tacit.functions._kernels_convex import convex_inside
from tacit.functions._kernels_entropy import entropy_positive
from tacit.functions._kernels_forms import AT_ZERO, HEADER, form_positive
from tacit.functions._kernels_shortcut import QUICK_HEADER, quick_hopeless, quick_positive, quick_write
from tacit.functions.tables import (
    ABOVE,
    ACCEPT,
    BY_ENTROPY,
    BY_FORM,
    BY_PROGRAM,
    FACTOR_FIRST,
    FACTOR_LAST,
    FORM,
    LENIENT,
    LINEAR,
    MONOTONE,
    ON_FALSE,
    ON_TRUE,
    PART_FIRST,
    PART_LAST,
    QUESTION,
    REJECT,
    STATE_BOUND,
    STATE_CONVEX,
    STATE_FORMS,
    STATE_SHORTCUT,
    STATE_SIGN,
    STRICT,
    TRAIL,
    Tables,
    Zones,
)
from tacit.vocabulary.arrays import BoolArray, FloatArray, IntArray

BOXES_MAX = 200
NOT_MOVED, SAME, TURNED = 0, 1, 2
BOXES_RADIUS = 8  # boxes spent per step of the search for a safe radius


@leaf()
def _factors_keep(
    tables: Tables, zones: Zones, g: int, first: int, last: int, lenient: bool, q: FloatArray, radius: float
) -> float:
    """The sign of the product of a question's denominators on the ball; 0 when one of them may reach 0."""
    lists, signs = tables.lists, tables.nodes[0, STATE_SIGN]
    sign = 1.0
    for i in range(first, last):
        if lists[i, 1] == 1 and lenient:
            continue
        factor_sign = zones.state[g, signs + lists[i, 3]]
        if factor_sign == 0.0 or not form_positive(
            tables.numbers, lists[i, 0], 0, tables.space, zones.estimate, g, q, radius, factor_sign, True
        ):
            return 0.0
        if lists[i, 2] == 1:
            sign *= factor_sign
    return sign


@leaf()
def _walk(
    tables: Tables, zones: Zones, g: int, q: FloatArray, radius: float, boxes_max: int, rounds: int, trail: IntArray
) -> bool:
    """Does the answer of group g hold on the ball with the middle of the estimate and q as centre?

    ``trail`` receives the number of questions that were proved on the way, and those that it has room for.
    """
    nodes, numbers, space, estimate, state = tables.nodes, tables.numbers, tables.space, zones.estimate, zones.state
    trail[0] = 0
    k = nodes[0, zones.answer[g]]
    while k >= 0:
        bound = state[g, nodes[0, STATE_BOUND] + k]
        above, strict, lenient = nodes[k, ABOVE] == 1, nodes[k, STRICT] == 1, nodes[k, LENIENT] == 1
        kind, form = nodes[k, QUESTION], nodes[k, FORM]
        proved, sign = False, 1.0
        if kind == BY_PROGRAM:
            proved = program_proved(
                tables,
                zones,
                nodes[k, PART_FIRST],
                nodes[k, PART_LAST],
                bound,
                above,
                strict,
                lenient,
                g,
                q,
                radius,
                boxes_max,
            )
            sign = 0.0
        elif bound == (math.inf if above else -math.inf):
            sign = 0.0
        elif nodes[k, FACTOR_LAST] > nodes[k, FACTOR_FIRST]:
            sign = _factors_keep(tables, zones, g, nodes[k, FACTOR_FIRST], nodes[k, FACTOR_LAST], lenient, q, radius)
        if sign != 0.0:
            if bound == (-math.inf if above else math.inf):
                proved = True
            elif kind == BY_ENTROPY:
                proved = entropy_positive(
                    numbers,
                    nodes[k, PART_FIRST],
                    nodes[k, PART_LAST],
                    nodes[k, LINEAR],
                    bound,
                    sign if above else -sign,
                    strict,
                    space,
                    estimate,
                    g,
                    q,
                    radius,
                    rounds,
                    max(4, boxes_max // 8),
                )
            else:
                source, row, at = (
                    (numbers, form, 0)
                    if form >= 0
                    else (state, g, nodes[0, STATE_FORMS] + (-1 - form) * numbers.shape[1])
                )
                proved = form_positive(source, row, at, space, estimate, g, q, radius, sign, strict)
        if proved:
            trail[0] += 1
            if trail[0] < trail.shape[0]:
                trail[trail[0]] = k
        k = nodes[k, ON_TRUE] if proved else nodes[k, ON_FALSE]
    return bool(k == ACCEPT)


@leaf()
def _radius(estimate: FloatArray, g: int, u: FloatArray) -> float:
    square = 0.0
    for j in range(u.shape[0]):
        square += (u[j] - estimate[g, j]) ** 2
    return float(0.5 * math.sqrt(square) * (1.0 + 2e-15))


@leaf()
def shortcut_inside(
    nodes: IntArray,
    numbers: FloatArray,
    space: FloatArray,
    estimate: FloatArray,
    state: FloatArray,
    g: int,
    u: FloatArray,
) -> bool:
    """``ball_inside`` by the group's shortcut alone; False when that does not decide.

    For a caller's inner loop, which reads the arrays out of the tables and zones once, before it: handing on a tuple of
    arrays costs more than this test.
    """
    at = nodes[0, STATE_SHORTCUT]
    way = state[g, at]
    if way == 0.0:
        return False
    radius = _radius(estimate, g, u)
    if not 0.0 < radius < math.inf:
        return False
    if way > 0.0:
        return quick_positive(state, at, estimate, g, u, radius)
    k = int(-way)
    return entropy_positive(
        numbers,
        nodes[k, PART_FIRST],
        nodes[k, PART_LAST],
        nodes[k, LINEAR],
        state[g, nodes[0, STATE_BOUND] + k],
        1.0 if nodes[k, ABOVE] == 1 else -1.0,
        nodes[k, STRICT] == 1,
        space,
        estimate,
        g,
        u,
        radius,
        3,
        1,
    )


@kernel(inline="always")
def ball_inside(tables: Tables, zones: Zones, g: int, u: FloatArray) -> bool:
    """Is the drift u in the convex zone of group g, or else the ball over its estimate and u proved to be right?"""
    estimate = zones.estimate
    if zones.state[g, tables.nodes[0, STATE_CONVEX]] > 0.0:
        return convex_inside(zones.state, tables.nodes[0, STATE_CONVEX], estimate, g, u)
    if shortcut_inside(tables.nodes, tables.numbers, tables.space, estimate, zones.state, g, u):
        return True
    radius = _radius(estimate, g, u)
    k = tables.nodes[0, zones.answer[g]]
    if (
        k >= 0
        and tables.nodes[k, ON_TRUE] == ACCEPT
        and tables.nodes[k, ON_FALSE] == REJECT
        and quick_hopeless(zones.state, tables.nodes[0, STATE_SHORTCUT], estimate, g, u, radius, zones.work)
    ):
        return False  # the only question there is has a point of the ball against it
    if radius == 0.0:
        moved = False
        for j in range(u.shape[0]):
            moved = moved or u[j] != estimate[g, j]
        return not moved  # or by too little to be measured
    if not radius < math.inf:
        return False
    return _walk(tables, zones, g, u, radius, BOXES_MAX, 6, zones.trail)


@leaf()
def inside_many(tables: Tables, zones: Zones, groups: IntArray, drifts: FloatArray, result: BoolArray) -> None:
    """``ball_inside`` for many points, each after the test of the safe radius."""
    estimate, safe, state = zones.estimate, zones.radius, zones.state
    nodes, numbers, space = tables.nodes, tables.numbers, tables.space
    for i in range(groups.shape[0]):
        g = groups[i]
        square = 0.0
        for j in range(drifts.shape[1]):
            square += (drifts[i, j] - estimate[g, j]) ** 2
        result[i] = math.sqrt(square) <= safe[g] * (1.0 - 1e-15)
        if not result[i]:
            u = drifts[i]
            result[i] = shortcut_inside(nodes, numbers, space, estimate, state, g, u) or ball_inside(
                tables, zones, g, u
            )


@kernel(inline="always")
def _safe_radius(tables: Tables, zones: Zones, g: int, trail: IntArray) -> float:
    """A radius within which every ball around the estimate is proved: found by doubling and bisection.

    ``trail`` keeps the questions that proved it.
    """
    e = zones.estimate[g]
    k = tables.nodes[0, zones.answer[g]]
    if k < 0:
        return math.inf if k == ACCEPT else 0.0
    size = 0.0
    for j in range(e.shape[0]):
        size = max(size, abs(e[j]))
    guess = max(zones.radius[g], 1e-3 * size, 1e-9)
    if not guess < math.inf:
        guess = max(1e-3 * size, 1e-9)
    low, high = 0.0, math.inf
    now = np.empty_like(trail)
    for _ in range(70):
        if _walk(tables, zones, g, e, guess, BOXES_RADIUS, 3, now):
            low = guess
            trail[:] = now
        else:
            high = guess
        if high == math.inf:
            if guess > 1e6 * (size + 1.0):
                break
            guess *= 4.0
        elif low == 0.0:
            if guess < 1e-13 * (size + 1e-300):
                break
            guess *= 0.25
        else:
            if high - low < 0.01 * low:
                break
            guess = 0.5 * (low + high) if high < 2.5 * low else math.sqrt(low * high)
    return low * (1.0 - 1e-12)


@kernel(inline="always")
def _find_shortcut(tables: Tables, zones: Zones, g: int, trail: IntArray) -> None:
    """The questions that carried the answer: all of them proved is enough (where there are only AND and OR).

    Their forms, with their denominators, go into the group's shortcut; a lone entropy is named as minus its question.
    """
    nodes, lists, numbers, state = tables.nodes, tables.lists, tables.numbers, zones.state
    d = zones.estimate.shape[1]
    to, size = nodes[0, STATE_SHORTCUT], numbers.shape[1]
    room = (nodes[0, STATE_CONVEX] - to - 1) // (QUICK_HEADER + d + d * d)
    state[g, to] = 0.0
    if not 0.0 < zones.radius[g] < math.inf or nodes[0, MONOTONE] == 0 or trail[0] >= trail.shape[0]:
        return
    count, entropies = 0, 0
    for i in range(1, 1 + trail[0]):
        k = trail[i]
        kind, lenient = nodes[k, QUESTION], nodes[k, LENIENT] == 1
        if kind == BY_PROGRAM or (kind == BY_FORM and tables.space[d + 1] != 0.0):
            return
        sign = 1.0
        for f in range(nodes[k, FACTOR_FIRST], nodes[k, FACTOR_LAST]):
            if lists[f, 1] == 1 and lenient:
                continue
            if count >= room:
                return
            factor_sign = state[g, nodes[0, STATE_SIGN] + lists[f, 3]]
            quick_write(state, to, g, count, numbers, lists[f, 0], 0, factor_sign, d)
            count += 1
            if lists[f, 2] == 1:
                sign *= factor_sign
        if math.isinf(state[g, nodes[0, STATE_BOUND] + k]):
            continue
        if kind == BY_ENTROPY:
            entropies += 1
            continue
        if count >= room:
            return
        form = nodes[k, FORM]
        if form >= 0:
            quick_write(state, to, g, count, numbers, form, 0, sign, d)
        else:
            quick_write(state, to, g, count, state, g, nodes[0, STATE_FORMS] + (-1 - form) * size, sign, d)
        count += 1
    if entropies == 0:
        state[g, to] = count
    elif entropies == 1 and count == 0 and trail[0] == 1:
        state[g, to] = -trail[1]


@kernel()
def radius_many(tables: Tables, zones: Zones, groups: IntArray) -> None:
    """Set the safe radius and the shortcut of each group."""
    trail = np.empty(TRAIL, dtype=np.int64)
    for i in range(groups.shape[0]):
        zones.radius[groups[i]] = _safe_radius(tables, zones, groups[i], trail)
        _find_shortcut(tables, zones, groups[i], trail)


@leaf()
def _sign_at(numbers: FloatArray, row: int, e: FloatArray) -> float:
    """The sign of a form at a point."""
    d = e.shape[0]
    value = numbers[row, AT_ZERO]
    for i in range(d):
        inner = numbers[row, HEADER + i]
        for j in range(d):
            inner += numbers[row, HEADER + d + i * d + j] * e[j]
        value += inner * e[i]
    return 0.0 if value == 0.0 else math.copysign(1.0, value)


@kernel()
def move(tables: Tables, zones: Zones, g: int, e: FloatArray) -> int:
    """Move group g to a new estimate if its answer is proved there (SAME) or the other one is (TURNED); else nothing.

    What ``Monitor.refresh`` does, for goals of which only the answer, the signs of denominators and the safe radius
    depend on the estimate (``Monitor.plain``); without margins, so that the proved answer is the true one. The group's
    answer must be known.
    """
    nodes, lists, d = tables.nodes, tables.lists, e.shape[0]
    before = zones.estimate[g].copy()
    signs = zones.state[g, nodes[0, STATE_SIGN] : nodes[0, STATE_FORMS]].copy()
    for j in range(d):
        zones.estimate[g, j] = e[j]
    defined = np.isfinite(e).all() and (e != 0.0).any()
    for k in range(1, nodes.shape[0]):
        for i in range(nodes[k, FACTOR_FIRST], nodes[k, FACTOR_LAST]):
            sign = _sign_at(tables.numbers, lists[i, 0], e)
            zones.state[g, nodes[0, STATE_SIGN] + lists[i, 3]] = sign
            defined = defined and sign != 0.0  # a value that is missing is Python's to judge
    trail = np.empty(TRAIL, dtype=np.int64)
    answer = zones.answer[g]
    how = NOT_MOVED
    if defined and _walk(tables, zones, g, e, 0.0, BOXES_RADIUS, 3, trail):
        how = SAME
    elif defined:
        zones.answer[g] = 1 - answer
        if _walk(tables, zones, g, e, 0.0, BOXES_RADIUS, 3, trail):
            how = TURNED
    if how != NOT_MOVED:
        zones.radius[g] = _safe_radius(tables, zones, g, trail)
        _find_shortcut(tables, zones, g, trail)
        return how
    zones.answer[g] = answer
    for j in range(d):
        zones.estimate[g, j] = before[j]
    zones.state[g, nodes[0, STATE_SIGN] : nodes[0, STATE_FORMS]] = signs
    return how
