"""Arrivals to the buffers of their cells: the one loop that every arrival goes through.

Each cell has a buffer of the times of its newest arrivals, all of one length, a power of two. ``tails[cell]`` is where
in the flat array of all buffers the next time goes. Rows of the sketch are taken one after the other for each block of
arrivals, so that a row's words stay in registers; no cell belongs to two rows, so each still sees its arrivals in
order.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_hash import cell_of

__all__ = ["BLOCK", "LONG_AGO", "append", "cell_in", "held_by", "lookup", "places", "resume", "start_of"]

BLOCK = 1024
"""Arrivals of a block: their keys and times stay in the nearest cache until the last row has had them."""
LONG_AGO = -(1 << 62)
"""A time before all others."""

_ONE, _ZERO = np.uint64(1), np.uint64(0)


@leaf()
def append(keys, times, a, b, c, base, width, flat, tails, mask):  # type: ignore[no-untyped-def]
    """One row, until a buffer is full; returns the arrival that filled it, or how many there are."""
    count = np.uint64(len(keys))
    for i in range(count):
        cell = base + cell_of(keys[i], a, b, c, width)
        tail = tails[cell]
        flat[tail] = times[i]
        tail += _ONE
        tails[cell] = tail
        if tail & mask == _ZERO:
            return np.int64(i)
    return np.int64(count)


@leaf()
def resume(at, count, depth):  # type: ignore[no-untyped-def]
    """Where step ``at`` is: its block's first arrival, its row, and the arrival.

    A step is one arrival in one row of the sketch; there are ``count * depth`` of them, block after block.
    """
    lo = at // (depth * BLOCK) * BLOCK
    size = max(min(BLOCK, count - lo), 1)
    row = (at - lo * depth) // size
    return lo, row, at - lo * (depth - 1) - row * size


@leaf()
def held_by(cell, singles, tails):  # type: ignore[no-untyped-def]
    """How many times the buffer of a cell holds."""
    return np.int64(tails[cell]) - cell * singles.shape[1]


@leaf()
def cell_in(row, key, words, width):  # type: ignore[no-untyped-def]
    """The number of a key's cell in this row of the sketch."""
    found = cell_of(key, words[row, 0], words[row, 1], words[row, 2], width)
    return np.int64(np.uint64(row) * width + found)


@leaf()
def start_of(cell, singles, tails, gone, first):  # type: ignore[no-untyped-def]
    """The time of the first arrival of all in a cell; long ago when there was none."""
    if gone[cell] > 0:
        return first[cell]
    return singles[cell, 0] if held_by(cell, singles, tails) > 0 else np.int64(LONG_AGO)


@leaf()
def lookup(keys, words, width, cells, out):  # type: ignore[no-untyped-def]
    """The smallest of each key's cells; ``cells`` has a number for every cell."""
    out[:] = np.inf
    for lo in range(0, len(keys), BLOCK):
        hi = min(lo + BLOCK, len(keys))
        for row in range(len(words)):
            a, b, c, base = words[row, 0], words[row, 1], words[row, 2], np.uint64(row) * width
            for i in range(np.uint64(lo), np.uint64(hi)):
                out[i] = min(out[i], cells[base + cell_of(keys[i], a, b, c, width)])


@leaf()
def places(keys, words, width, out):  # type: ignore[no-untyped-def]
    """The number of each key's cell in each row: out (rows, keys)."""
    for row in range(len(words)):
        for i in range(len(keys)):
            out[row, i] = cell_in(row, keys[i], words, width)
