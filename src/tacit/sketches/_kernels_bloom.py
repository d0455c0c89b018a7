"""Setting and testing the bits of a Bloom filter."""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf
from tacit.sketches._kernels_hash import hash_word, mix

__all__ = ["find_bits", "set_bits"]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_1, _6, _32, _63 = np.uint64(1), np.uint64(6), np.uint64(32), np.uint64(63)


@leaf()
def set_bits(bits, size, hashes, seed, words):  # type: ignore[no-untyped-def]
    """Set the bits of each word."""
    for i in range(len(words)):
        state = hash_word(words[i], seed)
        for _ in range(hashes):
            state += _STEP
            place = ((mix(state) >> _32) * size) >> _32
            bits[place >> _6] |= _1 << (place & _63)


@leaf()
def find_bits(bits, size, hashes, seed, words, out):  # type: ignore[no-untyped-def]
    """Whether all bits of each word are set."""
    for i in range(len(words)):
        state = hash_word(words[i], seed)
        out[i] = True
        for _ in range(hashes):
            state += _STEP
            place = ((mix(state) >> _32) * size) >> _32
            if (bits[place >> _6] >> (place & _63)) & _1 == np.uint64(0):
                out[i] = False
                break
