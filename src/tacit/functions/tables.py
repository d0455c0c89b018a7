"""The arrays that a watch's kernels read: one compiled signature serves every watch.

A goal becomes *questions* ("is f > T on the ball?") wired by jumps: each question names the next one for yes and for
no, and -1 accepts, -2 rejects, so AND and OR need no stack and stop early.

There are few arrays on purpose: Numba counts references to every array of a tuple whenever the tuple is handed on, and
twenty arrays cost more than most tests.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.vocabulary.arrays import FloatArray, IntArray

__all__ = ["NORMED", "NOTHING", "Tables", "Zones", "convex_size"]

# Columns of a question (a row of Tables.nodes)
(QUESTION, ON_TRUE, ON_FALSE, STRICT, LENIENT, FORM, FACTOR_FIRST, FACTOR_LAST, ABOVE, PART_FIRST, PART_LAST, LINEAR,
 COLUMNS) = range(13)  # fmt: skip
BY_FORM, BY_ENTROPY, BY_PROGRAM = 0, 1, 2
ACCEPT, REJECT = -1, -2

# The first row of Tables.nodes is no question: the first question of the answers not met, met and unknown (0, 1, 2), 1
# when there are only AND and OR, and where each part begins in a row of Zones.state and in Tables.lists.
(MONOTONE, STATE_BOUND, STATE_SIGN, STATE_FORMS, STATE_ANCHORS, STATE_SHORTCUT, STATE_CONVEX, MOMENT_FIRST,
 MOMENT_LAST) = range(3, 12)  # fmt: skip


class Tables(NamedTuple):
    """Constants of a watch. Points are in scaled coordinates z; the statistics are x = z * scale."""

    nodes: IntArray  # (1 + questions, COLUMNS): see above
    lists: IntArray  # (n, 4): factors (form, known >= 0, counts for the sign, slot), programs, operands, moments
    numbers: FloatArray  # (n, size of a form): forms, terms of entropies and their affine parts, constants of programs
    space: (
        FloatArray  # the plane's unit normal (d), its level, 1 if there is one; 1 where z >= 0 (d); scale (d); moments
    )


NOTHING, NORMED = 64, 128  # zones in which only the estimate is, and those with a norm beside their parts


def convex_size(code: int, dimension: int) -> int:
    """How many numbers a convex zone takes whose first number is this (_kernels_convex.py)."""
    d, parts = dimension, code % NORMED
    if parts in (0, NOTHING):
        return 1
    return 1 + 2 * d + parts * (1 + 2 * d + d * d) + (d * d if code >= NORMED else 0)


TRAIL = 9  # questions whose proof may become a shortcut, and their number


class Zones(NamedTuple):
    """What each group knows since its last refresh; the leading dimension is the group."""

    estimate: FloatArray  # (G, d)
    answer: NDArray[np.int8]  # (G,): 0 not met, 1 met (or tracked), 2 unknown
    radius: FloatArray  # (G,): certified: |u - e| <= radius implies inside
    state: FloatArray  # (G, n): bounds, signs of denominators, forms, user functions, shortcut, convex zone
    trail: IntArray  # (TRAIL,): room for the kernels' own notes, without a meaning between calls
    work: FloatArray  # (d,): more of it
