"""Rings of sampled times: counters of randomized waves, many at once.

``rings[cell, level]`` holds the newest times of arrivals whose level is exactly this one, as words: time + 2^61, so
that 0 means that nothing is there and is older than every time. ``ends[cell, level]`` is the place that is written
next; from there on, around the ring, times do not decrease.
"""

from __future__ import annotations

import math

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_hash import cell_of, mix

__all__ = ["collect", "live", "merge_rings", "push_many", "restore", "wave_estimates"]

LEVELS_MOST = 63
_ALONE = 16  # a count up to this is drawn arrival by arrival
_FLIPPED = np.uint64(1 << 16)  # up to so many coins are flipped one by one
_STEP, _OTHER = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1B54A32D192ED03)
_0, _1, _2, _4, _11, _56, _63, _64 = (np.uint64(k) for k in (0, 1, 2, 4, 11, 56, 63, 64))
_M1, _M2 = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
_M4, _MH = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)


@leaf()
def _ones(word):  # type: ignore[no-untyped-def]
    """How many bits are set."""
    word -= (word >> _1) & _M1
    word = (word & _M2) + ((word >> _2) & _M2)
    return (((word + (word >> _4)) & _M4) * _MH) >> _56


@leaf()
def _level(word):  # type: ignore[no-untyped-def]
    """How many of the lowest bits are 0: at least l with probability 2^-l."""
    return min(np.int64(_ones((word & (~word + _1)) - _1)), LEVELS_MOST)


@leaf()
def _heads(coins, state):  # type: ignore[no-untyped-def]
    """How many of so many coins show heads; many are drawn from the normal distribution, which is as good from 2^16 on.

    With even chances the two distributions differ by less than 1/coins.
    """
    if coins <= _FLIPPED:
        heads = _0
        while coins >= _64:
            state += _STEP
            heads += _ones(mix(state))
            coins -= _64
        if coins > _0:
            heads += _ones(mix(state + _STEP) >> (_64 - coins))
        return heads
    one = (np.float64(mix(state + _STEP) >> _11) + 0.5) * 2.0**-53
    two = np.float64(mix(state + _STEP + _STEP) >> _11) * 2.0**-53
    normal = math.sqrt(-2.0 * math.log(one)) * math.cos(2.0 * math.pi * two)
    moved = np.int64(math.floor(0.5 * (normal * math.sqrt(np.float64(coins)) + np.float64(coins & _1)) + 0.5))
    return np.uint64(np.int64(coins >> _1) + moved)


@leaf()
def _draw(base, number, count, drawn):  # type: ignore[no-untyped-def]
    """How many of ``count`` arrivals from a number on have each level; returns the highest level."""
    top = 0
    if count <= _ALONE:
        drawn[:] = 0
        for k in range(count):
            level = _level(mix(base + (number + np.uint64(k)) * _STEP))
            drawn[level] += 1
            top = max(top, level)
        return top
    left, state = np.uint64(count), mix(base ^ _OTHER) + number * _STEP
    while top < LEVELS_MOST and left > _0:
        state = mix(state ^ _OTHER)
        heads = _heads(left, state)
        drawn[top] = np.int64(left - heads)
        left = heads
        top += 1
    if left > _0:
        drawn[top] = np.int64(left)
        return top
    return top - 1


@leaf()
def push_many(rings, ends, rows, width, keys, stamps, counts, base, number, first, drawn):  # type: ignore[no-untyped-def]
    """Add arrivals from ``first`` on, each to its cell of each row; no counts mean 1 each.

    ``number[0]`` is how many arrivals came before. Returns at the first arrival that has a higher level than there are
    rings, before it changes anything.
    """
    size, come = rings.shape[2], number[0]
    for i in range(first, len(keys)):
        count = counts[i] if len(counts) > 0 else 1
        if count == 1:
            level = _level(mix(base + come * _STEP))
            if level >= rings.shape[1]:
                number[0] = come
                return i
            for row in range(len(rows)):
                cell = cell_of(keys[i], rows[row, 0], rows[row, 1], rows[row, 2], width) + np.uint64(row) * width
                end = ends[cell, level]
                rings[cell, level, end] = stamps[i]
                end += _1
                ends[cell, level] = _0 if end == np.uint64(size) else end
        elif count > 1:
            top = _draw(base, come, count, drawn)
            if top >= rings.shape[1]:
                number[0] = come
                return i
            for row in range(len(rows)):
                cell = cell_of(keys[i], rows[row, 0], rows[row, 1], rows[row, 2], width) + np.uint64(row) * width
                for level in range(top + 1):
                    end = ends[cell, level]
                    for _ in range(min(drawn[level], size)):
                        rings[cell, level, end] = stamps[i]
                        end += _1
                        end = _0 if end == np.uint64(size) else end
                    ends[cell, level] = end
        come += np.uint64(count)
    number[0] = come
    return len(keys)


@leaf()
def live(ring, end, start):  # type: ignore[no-untyped-def]
    """How many times of a ring are after the start."""
    low, high = 0, len(ring)  # of the places in order of age: those before low are not after it, those from high on are
    while low < high:
        middle = (low + high) >> 1
        at = end + middle
        if ring[at - len(ring) if at >= len(ring) else at] > start:
            high = middle
        else:
            low = middle + 1
    return len(ring) - low


@leaf()
def wave_estimates(rings, ends, which, start, estimates, exact):  # type: ignore[no-untyped-def]
    """What each cell counts after the start, and how much of that is certain; -1 when all of it is."""
    size = rings.shape[2]
    for i in range(len(which)):
        cell, kept, seen, scale = which[i], 0, 0, 1.0
        whole = True
        for level in range(rings.shape[1] - 1, -1, -1):
            count = live(rings[cell, level], np.int64(ends[cell, level]), start)
            seen += count
            if whole and (count < size or level == rings.shape[1] - 1):
                kept, scale = kept + count, 2.0**level
            whole = whole and count < size
        estimates[i] = kept * scale
        exact[i] = -1 if whole else seen


@leaf()
def collect(rings, ends, start, sizes, gaps):  # type: ignore[no-untyped-def]
    """Write the times after the start as gaps: to the start, then to the time before. Returns how many there are.

    ``sizes`` gets how many each ring has. With no room for gaps they are only counted.
    """
    at, size = 0, rings.shape[2]
    for cell in range(sizes.shape[0]):
        for level in range(sizes.shape[1]):
            ring, end = rings[cell, level], np.int64(ends[cell, level])
            count, before = live(ring, end, start), start
            sizes[cell, level] = count
            if len(gaps) > 0:
                for k in range(size - count, size):
                    time = ring[end + k - size if end + k >= size else end + k]
                    gaps[at] = time - before
                    before = time
                    at += 1
            else:
                at += count
    return at


@leaf()
def restore(rings, ends, start, longest, sizes, gaps):  # type: ignore[no-untyped-def]
    """Read back what ``collect`` wrote; False when a time would be outside of the window."""
    at, size = 0, rings.shape[2]
    for cell in range(sizes.shape[0]):
        for level in range(sizes.shape[1]):
            time = _0
            for k in range(sizes[cell, level]):
                if gaps[at] > longest - time or time + gaps[at] == _0:
                    return False
                time += gaps[at]
                rings[cell, level, k] = start + time
                at += 1
            ends[cell, level] = np.uint64(0 if sizes[cell, level] == size else sizes[cell, level])
    return True


@leaf()
def merge_rings(left, left_ends, right, right_ends, start, rings, ends):  # type: ignore[no-untyped-def]
    """The newest times of both after the start, as many as a ring holds."""
    size = rings.shape[2]
    for cell in range(rings.shape[0]):
        for level in range(rings.shape[1]):
            here, there, i, j = 0, 0, np.int64(0), np.int64(0)
            if level < left.shape[1]:
                i = np.int64(left_ends[cell, level])
                here = live(left[cell, level], i, start)
            if level < right.shape[1]:
                j = np.int64(right_ends[cell, level])
                there = live(right[cell, level], j, start)
            count = min(size, here + there)
            for k in range(count - 1, -1, -1):
                mine = left[cell, level, i - 1 if i > 0 else size - 1] if here > 0 else _0
                other = right[cell, level, j - 1 if j > 0 else size - 1] if there > 0 else _0
                if mine >= other:
                    rings[cell, level, k] = mine
                    here, i = here - 1, (i - 1 if i > 0 else size - 1)
                else:
                    rings[cell, level, k] = other
                    there, j = there - 1, (j - 1 if j > 0 else size - 1)
            ends[cell, level] = np.uint64(0 if count == size else count)
