"""Exponential histograms: many cells at once, each a stack of levels, all of a level in one array.

Level 0 holds the times of single arrivals, level m the ends of buckets of 2^m arrivals, each in a linear buffer, oldest
first. An arrival is one store at level 0. When that buffer is full, its oldest pairs become buckets of level 1, those
of a full level 1 buckets of level 2, and so on: how many are kept is in ``exponential_histogram``. A pair is always an
odd one and the next even one, counted from the first arrival of the cell: so a bucket of 2^m ends at an arrival whose
number is a multiple of 2^m, whenever the work is done. All answers are about the *canonical* buckets, which follow from
the number of arrivals alone (``kept_of``); what a cell really holds is finer, never coarser, where it is not expired.
Answers therefore do not depend on when buffers were compacted.

What expired is dropped at the top level only, in pairs. Where an expired bucket is needed to keep the count of pairs,
one that ended ``LONG_AGO`` stands for it.

Arrays: ``singles`` (cells, room) and ``tails`` (cells): level 0, see ``_kernels_append``. ``ends`` (levels, cells,
room) and ``fill`` (levels, cells): levels 1 and up. ``gone``: arrivals that left level 0. ``first``: the time of the
first arrival of all, valid when something is gone.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_append import BLOCK, LONG_AGO, append, cell_in, held_by, resume, start_of
from tacit.sketches._kernels_hash import cell_of
from tacit.sketches._kernels_logs import between_ends

__all__ = [
    "bounds_histogram",
    "build_histogram",
    "count_histogram",
    "grow_histogram",
    "insert_histogram",
    "log_histogram",
    "sizes_histogram",
]

_ONE = np.uint64(1)


@leaf()
def kept_of(left, keep):  # type: ignore[no-untyped-def]
    """How many buckets of a level are kept when so many came in all: keep or keep + 1, as an even number goes up."""
    return left if left <= keep else keep + ((left - keep) & 1)


@leaf()
def insert_histogram(keys, times, at, words, width, length, keep, singles, tails, ends, fill, gone, first):  # type: ignore[no-untyped-def]
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
                if _compact(cell, times[i - 1] - length, keep, singles, tails, ends, fill, gone, first):
                    return lo * (depth - 1) + row * (hi - lo) + i, True
            row, i = row + 1, lo
        lo, row, i = hi, 0, hi
    return count * depth, False


@leaf()
def _carry(source, taken, count, target, start):  # type: ignore[no-untyped-def]
    """The later ones of so many pairs go to the target, from ``start`` on; what is left moves to the front."""
    for j in range(np.uint64(taken)):
        target[np.uint64(start) + j] = source[j + j + _ONE]
    for j in range(np.uint64(2 * taken), np.uint64(count)):
        source[j - np.uint64(2 * taken)] = source[j]


@leaf()
def _compact(cell, horizon, keep, singles, tails, ends, fill, gone, first):  # type: ignore[no-untyped-def]
    """The oldest pairs of level 0 go up, and further up where there is no room. True when the top must be raised.

    The top always has room for all that the level below can hand it: ``_crowded`` is asked after each hand-over.
    """
    levels, _, room = ends.shape
    half = (keep + 1) // 2
    held = held_by(cell, singles, tails)
    level, incoming = 0, (held - keep) // 2
    while fill[level, cell] + incoming > room:
        incoming = (fill[level, cell] - half) // 2
        level += 1
    reached = level
    while level > 0:
        level -= 1
        count, start = fill[level, cell], fill[level + 1, cell]
        pairs = (count - half) // 2
        _carry(ends[level, cell], pairs, count, ends[level + 1, cell], start)
        fill[level + 1, cell] = start + pairs
        fill[level, cell] = count - 2 * pairs
    if gone[cell] == 0:
        first[cell] = singles[cell, 0]
    pairs, start = (held - keep) // 2, fill[0, cell]
    _carry(singles[cell], pairs, held, ends[0, cell], start)
    fill[0, cell] = start + pairs
    tails[cell] -= np.uint64(2 * pairs)
    gone[cell] += 2 * pairs
    return reached == levels - 1 and _crowded(cell, horizon, keep, singles, ends, fill)


@leaf()
def _crowded(cell, horizon, keep, singles, ends, fill):  # type: ignore[no-untyped-def]
    """Drop what expired at the top, in pairs; True when it still has too little room for what may come from below."""
    levels, _, room = ends.shape
    top = levels - 1
    incoming = (singles.shape[1] - keep) // 2 if top == 0 else (room - (keep + 1) // 2) // 2
    if fill[top, cell] + incoming <= room:
        return False
    expired = 0
    while expired < fill[top, cell] and ends[top, cell, expired] <= horizon:
        expired += 1
    expired -= expired & 1
    for j in range(expired, fill[top, cell]):
        ends[top, cell, j - expired] = ends[top, cell, j]
    fill[top, cell] -= expired
    return fill[top, cell] + incoming > room


@leaf()
def grow_histogram(old, ends, fill, gone):  # type: ignore[no-untyped-def]
    """Into new ends with one level more go the old ones, and where the first to come would be the second of a pair.

    Only what is filled is written: what stays 0 takes no memory before it is first written to.
    """
    top = len(fill) - 1
    for cell in range(len(gone)):
        for level in range(top):
            for j in range(fill[level, cell]):
                ends[level, cell, j] = old[level, cell, j]
        left = gone[cell]
        for level in range(top):
            left = left // 2 - fill[level, cell]
        if (left // 2) & 1:
            ends[top, cell, 0] = LONG_AGO
            fill[top, cell] = 1


@leaf()
def count_histogram(  # type: ignore[no-untyped-def]
    keys, times, counts, at, words, width, length, keep, singles, tails, ends, fill, gone, first, spare, sizes
):
    """Arrivals from ``at`` on, each so often; returns the first not taken, and whether a level is needed.

    ``spare`` and ``sizes`` have room for all buckets of a cell and one more.
    """
    flat, room = singles.reshape(singles.size), singles.shape[1]
    for i in range(at, len(keys)):
        count, time = counts[i], times[i]
        if count == 0:
            continue
        few = count < room - keep  # then a cell is compacted at most once
        for row in range(len(words)):
            cell = cell_in(row, keys[i], words, width)
            if not few and not fits(count + _reach(cell, time - length, singles, tails, ends, fill), len(fill), keep):
                return i, True
        full = False
        for row in range(len(words)):
            cell = cell_in(row, keys[i], words, width)
            held = held_by(cell, singles, tails)
            if few:
                for _ in range(count):
                    flat[tails[cell]] = time
                    tails[cell] += _ONE
                    if held_by(cell, singles, tails) == room:
                        full |= _compact(cell, time - length, keep, singles, tails, ends, fill, gone, first)
            else:
                total = gone[cell] + held
                start = start_of(cell, singles, tails, gone, first) if total else time
                spare[0], sizes[0] = time, count
                found = 1 + _list(cell, time - length, singles, tails, ends, fill, spare[1:], sizes[1:])
                _build(
                    cell, total + count, start, spare, sizes, found, False, keep,
                    singles, tails, ends, fill, gone, first,
                )  # fmt: skip
        if full:
            return i + 1, True
    return len(keys), False


@leaf()
def fits(live, levels, keep):  # type: ignore[no-untyped-def]
    """Whether so many arrivals surely have their canonical buckets in level 0 and so many levels above it."""
    half = (keep + 1) // 2
    reach = keep
    size = 2
    for _ in range(levels):
        reach += half * size
        size *= 2
        if reach >= live:
            return True
    return reach >= live


@leaf()
def _list(cell, horizon, singles, tails, ends, fill, times, sizes):  # type: ignore[no-untyped-def]
    """What the cell holds, newest first, until something expired; returns how many."""
    found = 0
    for j in range(held_by(cell, singles, tails) - 1, -1, -1):
        if singles[cell, j] <= horizon:
            return found
        times[found], sizes[found] = singles[cell, j], 1
        found += 1
    for level in range(len(fill)):
        for j in range(fill[level, cell] - 1, -1, -1):
            if ends[level, cell, j] <= horizon:
                return found
            times[found], sizes[found] = ends[level, cell, j], 2 << level
            found += 1
    return found


@leaf()
def _build(  # type: ignore[no-untyped-def]
    cell, total, start, times, sizes, found, between, keep, singles, tails, ends, fill, gone, first
):
    """The canonical buckets of ``total`` arrivals; the newest of them came at these times, so many each.

    With ``between`` a bucket of two or more ends somewhere between its newest arrival and the next (``between_ends``).
    """
    first[cell] = start
    kept = kept_of(total, keep)
    tails[cell] = np.uint64(cell * singles.shape[1] + kept)
    gone[cell] = total - kept
    at, here = 0, sizes[0] if found else 0
    for j in range(kept - 1, -1, -1):
        singles[cell, j] = times[at] if at < found else LONG_AGO
        here -= 1
        if here == 0:
            at += 1
            here = sizes[at] if at < found else 0
    left, size = gone[cell] // 2, np.int64(2)
    for level in range(len(fill)):
        kept = kept_of(left, (keep + 1) // 2)
        fill[level, cell] = kept
        for j in range(kept - 1, -1, -1):
            end = times[at] if at < found else np.int64(LONG_AGO)
            if between and 0 < at < found and here == sizes[at]:
                end = between_ends(end, times[at - 1], size, size if j < kept - 1 else size // 2)
            ends[level, cell, j] = end
            rest = size
            while at < found and here <= rest:
                rest -= here
                at += 1
                here = sizes[at] if at < found else 0
            here -= rest
        left, size = (left - kept) // 2, size * 2


@leaf()
def build_histogram(  # type: ignore[no-untyped-def]
    totals, starts, offsets, times, sizes, between, keep, singles, tails, ends, fill, gone, first
):
    """Each cell from its arrivals, newest first: those of a cell are at ``offsets[cell]:offsets[cell + 1]``."""
    for cell in range(len(totals)):
        lo, hi = offsets[cell], offsets[cell + 1]
        _build(
            cell, totals[cell], starts[cell], times[lo:hi], sizes[lo:hi], hi - lo, between, keep,
            singles, tails, ends, fill, gone, first,
        )  # fmt: skip


@leaf()
def _reach(cell, start, singles, tails, ends, fill):  # type: ignore[no-untyped-def]
    """How many arrivals lie in the buckets that end after ``start``."""
    count = held_by(cell, singles, tails)
    if count == 0:
        return count
    if singles[cell, 0] <= start:
        lo, hi = 0, count  # the first lo are not after start, those from hi on are
        while lo < hi:
            middle = (lo + hi) // 2
            if singles[cell, middle] <= start:
                lo = middle + 1
            else:
                hi = middle
        return count - lo
    reach, size = count, np.int64(2)
    for level in range(len(fill)):
        count = fill[level, cell]
        if count > 0 and ends[level, cell, 0] <= start:
            lo, hi = 0, count
            while lo < hi:
                middle = (lo + hi) // 2
                if ends[level, cell, middle] <= start:
                    lo = middle + 1
                else:
                    hi = middle
            return reach + (count - lo) * size
        reach += count * size
        size *= 2
    return reach


@leaf()
def bounds_histogram(which, start, keep, singles, tails, ends, fill, gone, first, lower, upper):  # type: ignore[no-untyped-def]
    """At least and at most how many arrivals of these cells came after ``start``, by the canonical buckets."""
    for i in range(len(which)):
        cell = which[i]
        left = gone[cell] + held_by(cell, singles, tails)
        if left == 0 or start < start_of(cell, singles, tails, gone, first):
            lower[i] = upper[i] = left
            continue
        reach = _reach(cell, start, singles, tails, ends, fill)
        if reach == 0:
            lower[i] = upper[i] = 0
            continue
        before, size, wanted = np.int64(0), np.int64(1), keep
        while True:
            kept = kept_of(left, wanted)
            if before + kept * size >= reach:
                break
            before += kept * size
            left, size, wanted = (left - kept) // 2, size * 2, (keep + 1) // 2
        most = before + (reach - before + size - 1) // size * size
        upper[i], lower[i] = most, most - size + 1


@leaf()
def log_histogram(horizon, keep, singles, tails, ends, fill, gone, first, offsets, times, sizes, starts):  # type: ignore[no-untyped-def]
    """The canonical buckets of each cell that are not expired, newest first, and the time of its first arrival."""
    found = 0
    for cell in range(len(gone)):
        offsets[cell] = found
        starts[cell] = start_of(cell, singles, tails, gone, first)
        left, size, wanted = gone[cell] + held_by(cell, singles, tails), np.int64(1), keep
        kept = kept_of(left, wanted)
        position, following = np.int64(0), np.int64(0)  # arrivals before this bucket, and before the next canonical one
        expired = False
        for level in range(-1, len(fill)):
            count = held_by(cell, singles, tails) if level < 0 else fill[level, cell]
            for j in range(count - 1, -1, -1):
                end = singles[cell, j] if level < 0 else ends[level, cell, j]
                if end <= horizon:
                    expired = True
                    break
                if position == following:
                    while kept == 0:
                        left, size, wanted = left // 2, size * 2, (keep + 1) // 2
                        kept = kept_of(left, wanted)
                    times[found], sizes[found] = end, size
                    found += 1
                    kept -= 1
                    left -= 1
                    following += size
                position += np.int64(1) << (level + 1)
            if expired:
                break
    offsets[len(gone)] = found


@leaf()
def sizes_histogram(totals, offsets, keep, sizes):  # type: ignore[no-untyped-def]
    """The sizes of the newest canonical buckets of each cell; -1 when a cell has fewer than the offsets say, else 0."""
    for cell in range(len(totals)):
        left, size, wanted = totals[cell], np.int64(1), keep
        kept = kept_of(left, wanted)
        for at in range(offsets[cell], offsets[cell + 1]):
            while kept == 0:
                if left == 0:
                    return -1
                left, size, wanted = left // 2, size * 2, (keep + 1) // 2
                kept = kept_of(left, wanted)
            sizes[at] = size
            kept -= 1
            left -= 1
    return 0
