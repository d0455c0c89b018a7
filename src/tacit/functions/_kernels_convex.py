"""Is a point in a convex zone (convex.py)? The zones of all groups are rows of numbers in ``Zones.state``.

From where they begin: how many parts there are (0: the group has no such zone, and balls are asked; NOTHING: only the
estimate itself is inside; NORMED more: with a norm), the low and high corner relative to the estimate, then for each
part its level, slope, the doubt about the slope, and its bend. A norm is a matrix N: every part is less by the length
of N times the move.
"""

from __future__ import annotations

import math

from tacit._jit import leaf
from tacit.functions.tables import NORMED, NOTHING
from tacit.vocabulary.arrays import FloatArray

ROUNDING = 1e-13  # of the sum of the sizes of all terms, as in minorants.py


@leaf()
def convex_inside(state: FloatArray, start: int, estimate: FloatArray, g: int, u: FloatArray) -> bool:
    """Is every part above 0 at u, and u between the corners?"""
    d = u.shape[0]
    code = int(state[g, start])
    parts = code % NORMED
    if parts == NOTHING:
        return False
    for j in range(d):
        move = u[j] - estimate[g, j]
        if not state[g, start + 1 + j] <= move <= state[g, start + 1 + d + j]:
            return False
    size = 1 + 2 * d + d * d
    norm = 0.0
    if code >= NORMED:
        at = start + 1 + 2 * d + parts * size
        for i in range(d):
            row = 0.0
            for j in range(d):
                row += state[g, at + i * d + j] * (u[j] - estimate[g, j])
            norm += row * row
        norm = math.sqrt(norm)
    for part in range(parts):
        at = start + 1 + 2 * d + part * size
        linear, bent, room = 0.0, 0.0, abs(state[g, at])
        doubt = 0.0
        for i in range(d):
            move = u[i] - estimate[g, i]
            along = state[g, at + 1 + i] * move
            linear += along
            room += abs(along)
            doubt += state[g, at + 1 + d + i] * abs(move)
            row = 0.0
            for j in range(d):
                row += state[g, at + 1 + 2 * d + i * d + j] * (u[j] - estimate[g, j])
            bent += row * move
        bent *= 0.5
        if not state[g, at] + linear - bent - doubt - norm - ROUNDING * (room + bent + norm) > 0.0:
            return False
    return True
