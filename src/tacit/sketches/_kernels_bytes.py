"""Whole numbers as bytes: seven bits each, lowest first, the eighth says that more follow (LEB128)."""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf

__all__ = ["pack_words", "unpack_words"]

_LOW, _MORE, _SEVEN = np.uint64(0x7F), np.uint64(0x80), np.uint64(7)


@leaf()
def pack_words(words, out):  # type: ignore[no-untyped-def]
    """Write each word; ``out`` has room for 10 bytes per word. Returns how many bytes were written."""
    at = 0
    for k in range(len(words)):
        word = np.uint64(words[k])
        while word > _LOW:
            out[at] = np.uint8((word & _LOW) | _MORE)
            word >>= _SEVEN
            at += 1
        out[at] = np.uint8(word)
        at += 1
    return at


@leaf()
def unpack_words(data, words):  # type: ignore[no-untyped-def]
    """Read as many words as there is room for; returns the bytes read, or -1 when the data is no such list."""
    at = 0
    for k in range(len(words)):
        word, shift = np.uint64(0), np.uint64(0)
        while True:
            if at >= len(data) or shift > np.uint64(63):
                return -1
            byte = np.uint64(data[at])
            at += 1
            if shift == np.uint64(63) and byte > np.uint64(1):
                return -1
            word |= (byte & _LOW) << shift
            shift += _SEVEN
            if byte <= _LOW:
                break
        words[k] = word
    return at
