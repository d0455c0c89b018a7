"""Branch and bound with intervals: is f above its bound on ball and feasible set, for any program?"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import kernel, leaf
from tacit.functions._kernels_forms import plane_shift
from tacit.functions._kernels_interval import HIGH, LOW, REGISTER_ROWS, down, forward, up
from tacit.functions._kernels_slopes import backward
from tacit.functions.tables import MOMENT_FIRST, MOMENT_LAST, STATE_ANCHORS, Tables, Zones
from tacit.vocabulary.arrays import FloatArray, IntArray


@leaf()
def _point_feasible(lists: IntArray, space: FloatArray, first: int, last: int, boxes: FloatArray, box: int) -> bool:
    """Is the point (the low corner of a box) surely feasible? Rows ``first:last`` of ``lists`` are the moments."""
    d = boxes.shape[2]
    for j in range(d):
        if space[d + 2 + j] != 0.0 and boxes[box, 0, j] < 0.0:
            return False
    for m in range(first, last):
        count = boxes[box, 0, lists[m, 0]] if lists[m, 0] >= 0 else 1.0
        product = space[3 * d + 2 + m - first] * boxes[box, 0, lists[m, 1]] ** 2
        if count * boxes[box, 0, lists[m, 2]] < product:
            return False
    return bool(space[d + 1] == 0.0)


@leaf()
def _box_possible(
    lists: IntArray, space: FloatArray, first: int, last: int, boxes: FloatArray, box: int, c: FloatArray, radius: float
) -> bool:
    """Can the box hold a feasible point of the ball? Shrinks the box along the plane first."""
    d = c.shape[0]
    if space[d + 1] != 0.0:
        least, most = 0.0, 0.0
        for j in range(d):
            least += space[j] * boxes[box, 0, j]
            most += space[j] * boxes[box, 1, j]
        slack = 1e-12 * (1.0 + abs(space[d]) + abs(least) + abs(most))
        if least > space[d] + slack or most < space[d] - slack:
            return False
        for j in range(d):
            if space[j] > 0.0:
                top = boxes[box, 0, j] + (space[d] - least + slack) / space[j]
                boxes[box, 0, j] = max(boxes[box, 0, j], boxes[box, 1, j] - (most - space[d] + slack) / space[j])
                boxes[box, 1, j] = min(boxes[box, 1, j], top)
    far = 0.0
    for j in range(d):
        away = max(boxes[box, 0, j] - c[j], c[j] - boxes[box, 1, j], 0.0)
        far += away * away
    if far > radius * radius * (1.0 + 1e-12):
        return False
    for m in range(first, last):
        near = max(boxes[box, 0, lists[m, 1]], -boxes[box, 1, lists[m, 1]], 0.0)
        count = boxes[box, 1, lists[m, 0]] if lists[m, 0] >= 0 else 1.0
        square = boxes[box, 1, lists[m, 2]]
        if min(count, square) < 0.0:
            return False
        if count * square * (1.0 + 1e-14) < space[3 * d + 2 + m - first] * near * near:
            return False
    return True


@leaf()
def _beyond(least: float, most: float, bound: float, above: bool, strict: bool) -> bool:
    if above:
        return least > bound or (not strict and least >= bound)
    return most < bound or (not strict and most <= bound)


@leaf()
def mean_value_reach(
    gradient: FloatArray, boxes: FloatArray, box: int, c: FloatArray, radius: float
) -> tuple[float, int]:
    """How far a value may be from the one at a point of the box, and the widest side by its share in that.

    The point goes to both corners of the box's neighbour in ``boxes``. It is the ball's centre with the gradient's norm
    where the box holds the ball (radius >= 0) and its centre, and the middle of the box otherwise.
    """
    d = c.shape[0]
    reach, norm, widest, split, whole = 0.0, 0.0, -1.0, 0, radius >= 0.0
    for j in range(d):
        low, high = boxes[box, 0, j], boxes[box, 1, j]
        middle = 0.5 * (low + high)
        boxes[box + 1, 0, j] = boxes[box + 1, 1, j] = middle
        steep = max(abs(gradient[0, j]), abs(gradient[1, j]))
        half = max(high - middle, middle - low)
        share = 0.0 if half == 0.0 else steep * half
        reach += share
        norm += steep * steep
        if share > widest:
            widest, split = share, j
        whole = whole and low <= c[j] <= high
    if whole:
        reach = radius * max(math.sqrt(norm), 1e-150)  # below it squares vanish
        for j in range(d):
            boxes[box + 1, 0, j] = boxes[box + 1, 1, j] = c[j]
    if not widest > 0.0 or not widest < math.inf:
        for j in range(d):
            if boxes[box, 1, j] - boxes[box, 0, j] > boxes[box, 1, split] - boxes[box, 0, split]:
                split = j
    return reach * (1.0 + 1e-14), split


@kernel()
def program_proved(
    tables: Tables,
    zones: Zones,
    start: int,
    stop: int,
    bound: float,
    above: bool,
    strict: bool,
    lenient: bool,
    g: int,
    q: FloatArray,
    radius: float,
    boxes_max: int,
) -> bool:
    """Is f > bound (>=, <, <=) on ball and feasible set? Lenient: points where f is undefined are welcome.

    Natural interval, then the mean-value form with the gradient's norm on the ball, then branch and bound.
    """
    d, last = q.shape[0], stop - start - 1
    estimate, state, nodes, lists, numbers, space = (
        zones.estimate,
        zones.state,
        tables.nodes,
        tables.lists,
        tables.numbers,
        tables.space,
    )
    anchors, moment_first, moment_last = nodes[0, STATE_ANCHORS], nodes[0, MOMENT_FIRST], nodes[0, MOMENT_LAST]
    registers, gradient, c = np.empty((REGISTER_ROWS, last + 1)), np.empty((2, d)), np.empty(d)
    boxes = np.empty((boxes_max + 3, 2, d))
    shift = plane_shift(estimate, g, q, space)
    wide = radius * (1.0 + 1e-14)
    for j in range(d):
        c[j] = 0.5 * (estimate[g, j] + q[j]) + shift * space[j]
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
        if not _box_possible(lists, space, moment_first, moment_last, boxes, left, c, wide):
            continue
        undefined = forward(lists, numbers, space, start, stop, boxes, left, state, g, anchors, registers)
        least, most = registers[LOW, last], registers[HIGH, last]
        if (lenient or not undefined) and _beyond(least, most, bound, above, strict):
            continue
        for j in range(d):
            gradient[0, j], gradient[1, j] = -math.inf, math.inf
        if not undefined:
            backward(lists, numbers, space, start, stop, state, g, anchors, registers, gradient)
        reach, split = mean_value_reach(gradient, boxes, left, c, wide if used == 1 else -1.0)
        if not undefined and not forward(
            lists, numbers, space, start, stop, boxes, left + 1, state, g, anchors, registers
        ):
            at_low, at_high = registers[LOW, last], registers[HIGH, last]
            if reach < math.inf and _beyond(
                max(least, at_low - reach), min(most, at_high + reach), bound, above, strict
            ):
                continue
            wrong = at_high < bound if above else at_low > bound
            if wrong and _point_feasible(lists, space, moment_first, moment_last, boxes, left + 1):
                away = 0.0
                for j in range(d):
                    away += (boxes[left + 1, 0, j] - c[j]) ** 2
                if away <= radius * radius:
                    return False
        cut = 0.5 * (boxes[left, 0, split] + boxes[left, 1, split])
        if used >= boxes_max or not boxes[left, 0, split] < cut < boxes[left, 1, split]:
            return False
        for j in range(d):
            boxes[left + 1, 0, j], boxes[left + 1, 1, j] = boxes[left, 0, j], boxes[left, 1, j]
        boxes[left, 1, split] = cut
        boxes[left + 1, 0, split] = cut
        left += 2
    return True


@kernel()
def bounds_many(
    tables: Tables,
    state: FloatArray,
    start: int,
    stop: int,
    boxes: FloatArray,
    centres: FloatArray,
    radii: FloatArray,
    result: FloatArray,
) -> None:
    """An outer bound of a program's values over each box (and over the ball in it, when its radius is not negative).

    Every second box is room for a point.
    """
    lists, numbers, space = tables.lists, tables.numbers, tables.space
    last, anchors = stop - start - 1, tables.nodes[0, STATE_ANCHORS]
    registers, gradient = np.empty((REGISTER_ROWS, last + 1)), np.empty((2, boxes.shape[2]))
    for k in range(centres.shape[0]):
        result[k, 0], result[k, 1] = -math.inf, math.inf
        if forward(lists, numbers, space, start, stop, boxes, 2 * k, state, k, anchors, registers):
            continue
        least, most = registers[LOW, last], registers[HIGH, last]
        backward(lists, numbers, space, start, stop, state, k, anchors, registers, gradient)
        reach, _ = mean_value_reach(gradient, boxes, 2 * k, centres[k], radii[k])
        if not forward(lists, numbers, space, start, stop, boxes, 2 * k + 1, state, k, anchors, registers):
            if reach < math.inf:
                least = max(least, down(registers[LOW, last] - reach))
                most = min(most, up(registers[HIGH, last] + reach))
            result[k, 0], result[k, 1] = least, most
