"""Branch and bound with intervals: is f above its bound on ball and feasible set, for any program?"""

from __future__ import annotations

import math

import numpy as np

from tacit.functions._jit import kernel
from tacit.functions._kernels_forms import plane_shift
from tacit.functions._kernels_interval import backward, down, forward, up
from tacit.functions.tables import MOMENT_FIRST, MOMENT_LAST, STATE_ANCHORS, Tables, Zones
from tacit.vocabulary.arrays import FloatArray, IntArray


@kernel()
def _point_feasible(lists: IntArray, space: FloatArray, first: int, last: int, x: FloatArray) -> bool:
    """Is the point surely feasible? Rows ``first:last`` of ``lists`` are the moments."""
    d = x.shape[0]
    for j in range(d):
        if space[d + 2 + j] != 0.0 and x[j] < 0.0:
            return False
    for m in range(first, last):
        count = x[lists[m, 0]] if lists[m, 0] >= 0 else 1.0
        if count * x[lists[m, 2]] < space[3 * d + 2 + m - first] * x[lists[m, 1]] ** 2:
            return False
    return space[d + 1] == 0.0


@kernel()
def _box_possible(
    lists: IntArray, space: FloatArray, first: int, last: int, low: FloatArray, high: FloatArray, c: FloatArray,
    radius: float,
) -> bool:
    """Can the box hold a feasible point of the ball? Shrinks the box along the plane first."""
    d = c.shape[0]
    if space[d + 1] != 0.0:
        least, most = 0.0, 0.0
        for j in range(d):
            least += space[j] * low[j]
            most += space[j] * high[j]
        slack = 1e-12 * (1.0 + abs(space[d]) + abs(least) + abs(most))
        if least > space[d] + slack or most < space[d] - slack:
            return False
        for j in range(d):
            if space[j] > 0.0:
                top = low[j] + (space[d] - least + slack) / space[j]
                low[j] = max(low[j], high[j] - (most - space[d] + slack) / space[j])
                high[j] = min(high[j], top)
    far = 0.0
    for j in range(d):
        away = max(low[j] - c[j], c[j] - high[j], 0.0)
        far += away * away
    if far > radius * radius * (1.0 + 1e-12):
        return False
    for m in range(first, last):
        near = max(low[lists[m, 1]], -high[lists[m, 1]], 0.0)
        count = high[lists[m, 0]] if lists[m, 0] >= 0 else 1.0
        if min(count, high[lists[m, 2]]) < 0.0:
            return False
        if count * high[lists[m, 2]] * (1.0 + 1e-14) < space[3 * d + 2 + m - first] * near * near:
            return False
    return True


@kernel()
def program_proved(
    tables: Tables, zones: Zones, start: int, stop: int, bound: float, above: bool, strict: bool,
    lenient: bool, g: int, q: FloatArray, radius: float, boxes_max: int,
) -> bool:
    """Is f > bound (>=, <, <=) on ball and feasible set? Lenient: points where f is undefined are welcome.

    Natural interval, then the mean-value form with the gradient's norm on the ball, then branch and bound.
    """
    d = q.shape[0]
    count = stop - start
    p, state, nodes, lists, numbers, space = (
        zones.estimate, zones.state, tables.nodes, tables.lists, tables.numbers, tables.space
    )
    anchors, moment_first, moment_last = nodes[0, STATE_ANCHORS], nodes[0, MOMENT_FIRST], nodes[0, MOMENT_LAST]
    registers = np.empty((4, count))
    low, high, slopes_low, slopes_high = registers[0], registers[1], registers[2], registers[3]
    rows = np.empty((5, d))
    c, point, slope_low, slope_high = rows[0], rows[1], rows[2], rows[3]
    boxes = np.empty((boxes_max + 2, 2, d))
    shift = plane_shift(p, g, q, space)
    wide = radius * (1.0 + 1e-14)
    for j in range(d):
        c[j] = 0.5 * (p[g, j] + q[j]) + shift * space[j]
        slack = 4e-16 * abs(c[j])
        boxes[0, 0, j], boxes[0, 1, j] = c[j] - wide - slack, c[j] + wide + slack
        if space[d + 2 + j] != 0.0:
            boxes[0, 0, j] = max(0.0, boxes[0, 0, j])
            if boxes[0, 1, j] < 0.0:
                return True  # no feasible point at all
    left, used = 1, 0
    while left > 0:
        left -= 1
        used += 1
        box_low, box_high = boxes[left, 0], boxes[left, 1]
        if not _box_possible(lists, space, moment_first, moment_last, box_low, box_high, c, wide):
            continue
        undefined = forward(lists, numbers, space, start, stop, box_low, box_high, state, g, anchors, low, high)
        least, most = low[count - 1], high[count - 1]
        if (lenient or not undefined) and _beyond(least, most, bound, above, strict):
            continue
        widest = -1.0
        split = 0
        if not undefined:
            backward(lists, numbers, space, start, stop, state, g, anchors, low, high, slopes_low, slopes_high,
                     slope_low, slope_high)
            reach, norm = 0.0, 0.0
            for j in range(d):
                point[j] = 0.5 * (box_low[j] + box_high[j])
                half = 0.5 * (box_high[j] - box_low[j])
                steep = max(abs(slope_low[j]), abs(slope_high[j]))
                share = 0.0 if half == 0.0 else steep * half
                reach += share
                norm += steep * steep
                if share > widest:
                    widest, split = share, j
            if used == 1 and _contains(box_low, box_high, c):  # the whole ball: its own centre and norm are sharper
                reach = wide * math.sqrt(norm)
                point[:] = c
            hole = forward(lists, numbers, space, start, stop, point, point, state, g, anchors, low, high)
            at_low, at_high = low[count - 1], high[count - 1]
            if not hole and math.isfinite(reach):
                reach *= 1.0 + 1e-14
                if _beyond(max(least, at_low - reach), min(most, at_high + reach), bound, above, strict):
                    continue
            if not hole and _point_feasible(lists, space, moment_first, moment_last, point):
                away = 0.0
                for j in range(d):
                    away += (point[j] - c[j]) ** 2
                wrong = not (at_high > bound) if above else not (at_low < bound)
                if away <= radius * radius and wrong and (strict or (at_high < bound if above else at_low > bound)):
                    return False
        if used >= boxes_max:
            return False
        if not math.isfinite(widest) or widest <= 0.0:
            for j in range(d):
                if box_high[j] - box_low[j] > (box_high[split] - box_low[split]):
                    split = j
        cut = 0.5 * (box_low[split] + box_high[split])
        if not (box_low[split] < cut < box_high[split]):
            return False
        for j in range(d):
            boxes[left + 1, 0, j], boxes[left + 1, 1, j] = box_low[j], box_high[j]
        boxes[left, 1, split] = cut
        boxes[left + 1, 0, split] = cut
        left += 2
    return True


@kernel()
def _contains(low: FloatArray, high: FloatArray, c: FloatArray) -> bool:
    for j in range(c.shape[0]):
        if not low[j] <= c[j] <= high[j]:
            return False
    return True


@kernel()
def _beyond(least: float, most: float, bound: float, above: bool, strict: bool) -> bool:
    if above:
        return least > bound or (not strict and least >= bound)
    return most < bound or (not strict and most <= bound)


@kernel()
def bounds_many(
    tables: Tables, state: FloatArray, start: int, stop: int, lows: FloatArray, highs: FloatArray, centres: FloatArray,
    radii: FloatArray, result: FloatArray,
) -> None:
    """An outer bound of a program's values over each box (and over the ball in it, when its radius is not negative)."""
    lists, numbers, space = tables.lists, tables.numbers, tables.space
    d, count = lows.shape[1], stop - start
    anchors = tables.nodes[0, STATE_ANCHORS]
    low, high, slopes_low, slopes_high = np.empty(count), np.empty(count), np.empty(count), np.empty(count)
    slope_low, slope_high, point = np.empty(d), np.empty(d), np.empty(d)
    for k in range(lows.shape[0]):
        result[k, 0], result[k, 1] = -math.inf, math.inf
        if forward(lists, numbers, space, start, stop, lows[k], highs[k], state, k, anchors, low, high):
            continue
        least, most = low[count - 1], high[count - 1]
        backward(lists, numbers, space, start, stop, state, k, anchors, low, high, slopes_low, slopes_high,
                 slope_low, slope_high)
        reach, norm = 0.0, 0.0
        for j in range(d):
            point[j] = 0.5 * (lows[k, j] + highs[k, j])
            steep = max(abs(slope_low[j]), abs(slope_high[j]))
            half = max(highs[k, j] - point[j], point[j] - lows[k, j])
            reach += 0.0 if half == 0.0 else steep * half
            norm += steep * steep
        if radii[k] >= 0.0 and _contains(lows[k], highs[k], centres[k]):
            reach = radii[k] * math.sqrt(norm)
            point[:] = centres[k]
        if not forward(lists, numbers, space, start, stop, point, point, state, k, anchors, low, high):
            if math.isfinite(reach):
                reach *= 1.0 + 1e-14
                least, most = max(least, down(low[count - 1] - reach)), min(most, up(high[count - 1] + reach))
            result[k, 0], result[k, 1] = least, most
