"""Convex zones on the wire: the numbers of a row (functions/_kernels_convex.py) without those that say nothing.

Corners are left out where there are none, and half of them where they mirror each other; a part's doubt where it is no
more than rounding, its bend where it is straight, and of a bend what stands below the diagonal, for it is symmetric.
"""

from __future__ import annotations

import numpy as np

from tacit.functions.tables import NORMED, convex_size
from tacit.functions.zone_rows import DOUBT, ENDLESS
from tacit.vocabulary import FloatArray
from tacit.wire.unfit import UnfitError

__all__ = ["packed_zone", "unpacked_zone"]

_NONE, _MIRRORED, _BOTH = 0.0, 1.0, 2.0  # corners
_DOUBT, _BEND = 1, 2  # what a part has besides its level and slope


def packed_zone(row: FloatArray, dimension: int) -> list[float]:
    """The numbers of a zone's row, from its second on, as they travel."""
    d, code = dimension, int(row[0])
    if convex_size(code, d) == 1:
        return []
    low, high = row[1 : 1 + d], row[1 + d : 1 + 2 * d]
    if (high == ENDLESS).all() and (low == -ENDLESS).all():
        numbers = [_NONE]
    elif (low == -high).all():
        numbers = [_MIRRORED, *high.tolist()]
    else:
        numbers = [_BOTH, *low.tolist(), *high.tolist()]
    triangle, size = np.tril_indices(d), 1 + 2 * d + d * d
    for first in range(1 + 2 * d, 1 + 2 * d + code % NORMED * size, size):
        slope, doubt = row[first + 1 : first + 1 + d], row[first + 1 + d : first + 1 + 2 * d]
        bend = row[first + 1 + 2 * d : first + size].reshape(d, d)
        doubtful, bent = bool((doubt != DOUBT * np.abs(slope)).any()), bool(bend.any())
        numbers += [float(_DOUBT * doubtful + _BEND * bent), float(row[first]), *slope.tolist()]
        numbers += doubt.tolist() if doubtful else []
        numbers += bend[triangle].tolist() if bent else []
    if code >= NORMED:
        numbers += row[convex_size(code, d) - d * d : convex_size(code, d)].tolist()
    return numbers


def unpacked_zone(code: int, numbers: FloatArray, dimension: int) -> tuple[FloatArray, FloatArray]:
    """The row of a zone that begins here, and the numbers after it."""
    d = dimension
    row = np.zeros(convex_size(code, d))
    row[0] = code
    if len(row) == 1:
        return row, numbers
    mark, numbers = _take(numbers, 1)
    if mark[0] == _BOTH:
        row[1 : 1 + 2 * d], numbers = _take(numbers, 2 * d)
    elif mark[0] == _MIRRORED:
        high, numbers = _take(numbers, d)
        row[1 : 1 + d], row[1 + d : 1 + 2 * d] = -high, high
    elif mark[0] == _NONE:
        row[1 : 1 + d], row[1 + d : 1 + 2 * d] = -ENDLESS, ENDLESS
    else:
        raise UnfitError(f"corners of kind {mark[0]:g} are none")
    triangle, size = np.tril_indices(d), 1 + 2 * d + d * d
    for first in range(1 + 2 * d, 1 + 2 * d + code % NORMED * size, size):
        head, numbers = _take(numbers, 2 + d)
        if head[0] not in (0.0, 1.0, 2.0, 3.0):
            raise UnfitError(f"a part of kind {head[0]:g} is none")
        marks, row[first], slope = int(head[0]), head[1], head[2:]
        row[first + 1 : first + 1 + d] = slope
        row[first + 1 + d : first + 1 + 2 * d] = DOUBT * np.abs(slope)
        if marks & _DOUBT:
            row[first + 1 + d : first + 1 + 2 * d], numbers = _take(numbers, d)
            if (row[first + 1 + d : first + 1 + 2 * d] < 0.0).any():
                raise UnfitError("a doubt is below 0")
        if marks & _BEND:
            lower, numbers = _take(numbers, d * (d + 1) // 2)
            bend = np.zeros((d, d))
            bend[triangle] = lower
            row[first + 1 + 2 * d : first + size] = (bend + np.tril(bend, -1).T).ravel()
    if code >= NORMED:
        row[len(row) - d * d :], numbers = _take(numbers, d * d)
    return row, numbers


def _take(numbers: FloatArray, count: int) -> tuple[FloatArray, FloatArray]:
    if len(numbers) < count:
        raise UnfitError("its zones have too few numbers")
    return numbers[:count], numbers[count:]
