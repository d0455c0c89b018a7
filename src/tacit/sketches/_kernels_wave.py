"""Deterministic waves: many cells at once; the arrival of rank p has one place, found from p alone.

The rank of an arrival is its number in the cell, from 1. Rank p lives at level ctz(p) (how often 2 divides it), at slot
(p >> (level + 1)) mod M: a level keeps the last M odd multiples of 2^level. The top level holds all multiples of 2^top,
at slot (p >> top) mod M. The newest ranks wait in a buffer, ``append`` puts them there; when it is full, those that
will be kept go to their places at once.

A multiple of 2^level is *known* while it is among the last M 2^(level + 1) ranks: answers follow from that set. It does
not depend on what still waits, nor on where the top is, as long as what the top forgets has expired. ``_share_out``
sees to that: it asks for another level before the top would forget something that has not. A slot holds how long
after ``LONG_AGO`` its arrival came: 0, as it is when new, when that expired before it could be put there.

Arrays: ``singles`` (cells, room) and ``tails`` (cells): the buffers, see ``_kernels_append``. ``slots`` (levels, cells,
M). ``gone``: arrivals that left the buffer, a multiple of its room, which divides 2^top. ``first``: the time of rank 1,
valid when something is gone.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import intrinsic

from tacit._jit import leaf
from tacit.sketches._kernels_append import BLOCK, LONG_AGO, append, cell_in, held_by, resume, start_of
from tacit.sketches._kernels_hash import cell_of
from tacit.sketches._kernels_logs import between_ends

__all__ = ["bounds_wave", "build_wave", "count_wave", "grow_wave", "insert_wave", "log_wave", "sizes_wave"]

_ONE = np.uint64(1)


def _count_zeros(typing_context: Any, value: Any) -> Any:
    """How often 2 divides a number that is not 0 (one instruction)."""

    def emit(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), emit


_ctz: Any = intrinsic(_count_zeros)


@leaf()
def insert_wave(keys, times, at, words, width, length, singles, tails, slots, gone, first):  # type: ignore[no-untyped-def]
    """Steps from ``at`` on (see ``resume``); returns the steps done, and whether another level is needed now."""
    count, depth = len(keys), len(words)
    flat, mask = singles.reshape(singles.size), np.uint64(singles.shape[1] - 1)
    lo, row, i = resume(at, count, depth)
    while lo < count:
        hi = min(lo + BLOCK, count)
        while row < depth:
            a, b, c, base = words[row, 0], words[row, 1], words[row, 2], np.uint64(row) * width
            while True:
                i += append(keys[i:hi], times[i:hi], a, b, c, base, width, flat, tails, mask)
                if i >= hi:
                    break
                cell = np.int64(base + cell_of(keys[i], a, b, c, width))
                i += 1
                if _share_out(cell, length, singles, tails, slots, gone, first):
                    return lo * (depth - 1) + row * (hi - lo) + i, True
            row, i = row + 1, lo
        lo, row, i = hi, 0, hi
    return count * depth, False


@leaf()
def _share_out(cell, length, singles, tails, slots, gone, first):  # type: ignore[no-untyped-def]
    """A full buffer to the levels. True when the top must be raised before it gets another one."""
    levels, _, keep = slots.shape
    top, room = np.uint64(levels - 1), np.uint64(singles.shape[1])
    waiting = singles[cell]
    if gone[cell] == 0:
        first[cell] = waiting[0]
    before = np.uint64(gone[cell])
    mask = np.uint64(keep - 1)
    level, count = np.uint64(0), room >> _ONE
    while count > np.uint64(0):  # so many odd multiples of 2^level wait: the last M go to slots that follow each other
        target = slots[level, cell]
        taken = min(count, np.uint64(keep))
        slot = ((before >> (level + _ONE)) + count - taken) & mask
        step = np.uint64(2) << level
        source = room - (taken - _ONE) * step - (step >> _ONE) - _ONE
        for j in range(taken):
            target[slot + j] = waiting[source + j * step] - LONG_AGO
        level += _ONE
        count >>= _ONE
    newest = before + room
    level = min(_ctz(newest), top)
    slots[level, cell, (newest >> min(level + _ONE, top)) & mask] = waiting[room - _ONE] - LONG_AGO
    gone[cell] += np.int64(room)
    tails[cell] -= room
    # The next at the top will overwrite one, and the oldest that is left must have expired.
    following = slots[top, cell, ((newest >> top) + np.uint64(2)) & mask]
    return level == top and following + LONG_AGO > waiting[room - _ONE] - length


@leaf()
def grow_wave(gone, old, slots):  # type: ignore[no-untyped-def]
    """Into new slots with one level more go the old ones; the top is shared out."""
    top, mask = len(old) - 1, old.shape[2] - 1
    for cell in range(len(gone)):
        for level in range(top):
            for slot in range(old.shape[2] if gone[cell] >> level else 0):
                slots[level, cell, slot] = old[level, cell, slot]
        newest = gone[cell] >> top
        for number in range(max(newest - mask, 1), newest + 1):
            slots[top + 1 - (number & 1), cell, (number >> 1) & mask] = old[top, cell, number & mask]


@leaf()
def _place_of(rank, top):  # type: ignore[no-untyped-def]
    """The level of a rank, and by how many bits it is shifted to give its slot."""
    zeros = np.int64(_ctz(np.uint64(rank)))
    return (zeros, zeros + 1) if zeros < top else (top, top)


@leaf()
def _time_of(rank, cell, singles, slots, gone):  # type: ignore[no-untyped-def]
    """The time of a known rank; rank 0 came before all."""
    if rank <= 0:
        return np.int64(LONG_AGO)
    if rank > gone[cell]:
        return singles[cell, rank - gone[cell] - 1]
    top, mask = len(slots) - 1, slots.shape[2] - 1
    level, shift = _place_of(rank, top)
    return slots[level, cell, (rank >> shift) & mask] + LONG_AGO


@leaf()
def _around(cell, start, singles, tails, slots, gone, first):  # type: ignore[no-untyped-def]
    """At least and at most how many arrivals of a cell came after ``start``."""
    total = gone[cell] + held_by(cell, singles, tails)
    if total == 0 or start < start_of(cell, singles, tails, gone, first):
        return total, total
    top, keep = len(slots) - 1, slots.shape[2]
    above = total + 1  # the lowest rank that is known to be after start
    level = 0
    while True:
        # Multiples of 2^level above total - M 2^(level + 1) are known. If the lowest of them is not after start, the
        # boundary is among them.
        reach = keep << (level + 1) if level < top else keep << top
        low = max(((total - reach) >> level) + 1, 0)
        if low == 0 or level == top or _time_of(low << level, cell, singles, slots, gone) <= start:
            break
        above = min(above, low << level)
        level += 1
    high = (total >> level) + 1
    while high - low > 1:  # low is not after start, high is (or there is no such rank)
        middle = (low + high) >> 1
        if _time_of(middle << level, cell, singles, slots, gone) <= start:
            low = middle
        else:
            high = middle
    return total - min(above, high << level) + 1, total - (low << level)


@leaf()
def bounds_wave(which, start, singles, tails, slots, gone, first, lower, upper):  # type: ignore[no-untyped-def]
    """At least and at most how many arrivals of these cells came after ``start``."""
    for i in range(len(which)):
        lower[i], upper[i] = _around(which[i], start, singles, tails, slots, gone, first)


@leaf()
def _next_known(rank, level, total, keep):  # type: ignore[no-untyped-def]
    """The next older known rank (0 when there is none), and the level of which all known ranks below are multiples."""
    rank -= np.int64(1) << level
    while rank > 0 and rank <= total - (keep << (level + 1)):
        rank -= rank & (np.int64(1) << level)
        level += 1
    return max(rank, 0), level


@leaf()
def _list(cell, horizon, singles, tails, slots, gone, times, sizes):  # type: ignore[no-untyped-def]
    """What lies between known ranks as buckets, newest first, until something expired; returns how many."""
    found = 0
    total = gone[cell] + held_by(cell, singles, tails)
    rank, level = total, np.int64(0)
    while rank > 0:
        time = _time_of(rank, cell, singles, slots, gone)
        if time <= horizon:
            break
        following, level = _next_known(rank, level, total, slots.shape[2])
        times[found], sizes[found] = time, rank - following
        found += 1
        rank = following
    return found


@leaf()
def log_wave(horizon, singles, tails, slots, gone, first, offsets, times, sizes, starts):  # type: ignore[no-untyped-def]
    """The buckets of each cell that are not expired, newest first, and the time of its first arrival."""
    found = 0
    for cell in range(len(gone)):
        offsets[cell] = found
        starts[cell] = start_of(cell, singles, tails, gone, first)
        found += _list(cell, horizon, singles, tails, slots, gone, times[found:], sizes[found:])
    offsets[len(gone)] = found


@leaf()
def sizes_wave(totals, offsets, keep, sizes):  # type: ignore[no-untyped-def]
    """The sizes of the newest buckets of each cell; -1 when a cell has fewer than the offsets say, else 0."""
    for cell in range(len(totals)):
        rank, level = totals[cell], np.int64(0)
        for at in range(offsets[cell], offsets[cell + 1]):
            if rank == 0:
                return -1
            following, level = _next_known(rank, level, totals[cell], keep)
            sizes[at] = rank - following
            rank = following
    return 0


@leaf()
def _build(cell, total, start, times, sizes, found, between, singles, tails, slots, gone, first):  # type: ignore[no-untyped-def]
    """The known ranks of ``total`` arrivals; the newest of them came at these times, so many each.

    With ``between`` a bucket of two or more ends somewhere between its newest arrival and the next (``between_ends``).
    """
    levels, _, keep = slots.shape
    top, room = levels - 1, singles.shape[1]
    gone[cell], first[cell] = total // room * room, start
    tails[cell] = np.uint64(cell * room + total % room)
    for place in range(levels):
        for slot in range(keep):
            if slots[place, cell, slot]:  # what is 0 is not written to: it takes no memory yet
                slots[place, cell, slot] = 0
    rank, level, at, newer = total, np.int64(0), 0, np.int64(1)
    oldest = total - sizes[0] if found else total  # the arrivals of this time are the ranks above it
    while rank > 0:
        while at < found and rank <= oldest:
            at += 1
            oldest -= sizes[at] if at < found else 0
        time = times[at] if at < found else np.int64(LONG_AGO)
        following, level = _next_known(rank, level, total, keep)
        if between and 0 < at < found and rank - following > 1 and rank == oldest + sizes[at]:
            time = between_ends(time, times[at - 1], rank - following, newer)
        if rank > gone[cell]:
            singles[cell, rank - gone[cell] - 1] = time
        elif at >= found or rank <= total - (keep << top):
            break
        else:
            place, shift = _place_of(rank, top)
            slots[place, cell, (rank >> shift) & (keep - 1)] = time - LONG_AGO
        newer, rank = rank - following, following
    if 0 < total < room:
        singles[cell, 0] = start


@leaf()
def build_wave(totals, starts, offsets, times, sizes, between, singles, tails, slots, gone, first):  # type: ignore[no-untyped-def]
    """Each cell from its arrivals, newest first: those of a cell are at ``offsets[cell]:offsets[cell + 1]``."""
    for cell in range(len(totals)):
        lo, hi = offsets[cell], offsets[cell + 1]
        _build(
            cell, totals[cell], starts[cell], times[lo:hi], sizes[lo:hi], hi - lo, between,
            singles, tails, slots, gone, first,
        )  # fmt: skip


@leaf()
def count_wave(keys, times, counts, at, words, width, length, singles, tails, slots, gone, first, spare, sizes):  # type: ignore[no-untyped-def]
    """Arrivals from ``at`` on, each so often; returns the first not taken, and whether a level is needed.

    ``spare`` and ``sizes`` have room for all buckets of a cell and one more.
    """
    levels, _, keep = slots.shape
    flat, room = singles.reshape(singles.size), singles.shape[1]
    for i in range(at, len(keys)):
        count, time = counts[i], times[i]
        if count == 0:
            continue
        few = count < room  # then a buffer is full at most once
        for row in range(len(words)):
            cell = cell_in(row, keys[i], words, width)
            if not few:
                _, live = _around(cell, time - length, singles, tails, slots, gone, first)
                if live + count > (keep - 2) << (levels - 1):
                    return i, True
        tight = False
        for row in range(len(words)):
            cell = cell_in(row, keys[i], words, width)
            if few:
                for _ in range(count):
                    flat[tails[cell]] = time
                    tails[cell] += _ONE
                    if held_by(cell, singles, tails) == room:
                        tight |= _share_out(cell, length, singles, tails, slots, gone, first)
            else:
                total = gone[cell] + held_by(cell, singles, tails)
                start = start_of(cell, singles, tails, gone, first) if total else time
                spare[0], sizes[0] = time, count
                found = 1 + _list(cell, time - length, singles, tails, slots, gone, spare[1:], sizes[1:])
                _build(cell, total + count, start, spare, sizes, found, False, singles, tails, slots, gone, first)
        if tight:
            return i + 1, True
    return len(keys), False
