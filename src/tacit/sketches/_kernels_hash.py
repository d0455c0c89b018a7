"""The one hash of this room: keys become 64 bits (XXH64, as Spark computes it), 64 bits become a cell of each row.

Bytes are hashed with XXH64 as Spark's ``xxhash64`` does, so that executors compute the same 64 bits natively. Which
cell of a row a key has is Thorup's pair-multiply-shift: with three random words a, b, c the upper 32 bits of
(a + x)(b + (x >> 32)) + c are strongly universal over 64-bit keys x, and a multiplication brings them into the range of
cells. Two keys then share a cell of a row of w with probability at most 1/w + 2^-32, whatever the keys are: that is
all that the guarantee of Count-Min needs.
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf

__all__ = ["cell_of", "hash_bytes", "hash_many", "hash_word", "mix"]

_P1, _P2, _P3 = np.uint64(0x9E3779B185EBCA87), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_P4, _P5 = np.uint64(0x85EBCA77C2B2AE63), np.uint64(0x27D4EB2F165667C5)
_32, _64 = np.uint64(32), np.uint64(64)


@leaf()
def cell_of(key, a, b, c, width):  # type: ignore[no-untyped-def]
    """The cell (0 <= cell < width) of a 64-bit key in the row with these words; all arguments and the cell uint64."""
    return ((((a + key) * (b + (key >> _32)) + c) >> _32) * width) >> _32


@leaf()
def mix(state):  # type: ignore[no-untyped-def]
    """The word that splitmix64 gives at a state; states that are far apart in any way give words that look random."""
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return state ^ (state >> np.uint64(31))


@leaf()
def _turn(x, bits):  # type: ignore[no-untyped-def]
    return (x << np.uint64(bits)) | (x >> (_64 - np.uint64(bits)))


@leaf()
def _finish(mixed):  # type: ignore[no-untyped-def]
    mixed ^= mixed >> np.uint64(33)
    mixed *= _P2
    mixed ^= mixed >> np.uint64(29)
    mixed *= _P3
    return mixed ^ (mixed >> _32)


@leaf()
def hash_word(word, seed):  # type: ignore[no-untyped-def]
    """XXH64 of eight bytes."""
    mixed = (seed + _P5 + np.uint64(8)) ^ (_turn(word * _P2, 31) * _P1)
    return _finish(_turn(mixed, 27) * _P1 + _P4)


@leaf()
def _word(data, at, size):  # type: ignore[no-untyped-def]
    word = np.uint64(0)
    for k in range(size):
        word |= np.uint64(data[at + k]) << np.uint64(8 * k)
    return word


@leaf()
def _round(lane, word):  # type: ignore[no-untyped-def]
    return _turn(lane + word * _P2, 31) * _P1


@leaf()
def hash_bytes(data, lo, hi, seed):  # type: ignore[no-untyped-def]
    """XXH64 of the bytes lo:hi."""
    at = lo
    if hi - lo >= 32:
        one, two, three, four = seed + _P1 + _P2, seed + _P2, seed, seed - _P1
        while at + 32 <= hi:
            one, two = _round(one, _word(data, at, 8)), _round(two, _word(data, at + 8, 8))
            three, four = _round(three, _word(data, at + 16, 8)), _round(four, _word(data, at + 24, 8))
            at += 32
        mixed = _turn(one, 1) + _turn(two, 7) + _turn(three, 12) + _turn(four, 18)
        for lane in (one, two, three, four):
            mixed = (mixed ^ (_turn(lane * _P2, 31) * _P1)) * _P1 + _P4
    else:
        mixed = seed + _P5
    mixed += np.uint64(hi - lo)
    while at + 8 <= hi:
        mixed = _turn(mixed ^ (_turn(_word(data, at, 8) * _P2, 31) * _P1), 27) * _P1 + _P4
        at += 8
    if at + 4 <= hi:
        mixed = _turn(mixed ^ (_word(data, at, 4) * _P1), 23) * _P2 + _P3
        at += 4
    while at < hi:
        mixed = _turn(mixed ^ (np.uint64(data[at]) * _P5), 11) * _P1
        at += 1
    return _finish(mixed)


@leaf()
def hash_many(data, starts, seed, out):  # type: ignore[no-untyped-def]
    """XXH64 of each range of bytes starts[i]:starts[i + 1]."""
    for i in range(len(starts) - 1):
        out[i] = hash_bytes(data, np.int64(starts[i]), np.int64(starts[i + 1]), seed)
