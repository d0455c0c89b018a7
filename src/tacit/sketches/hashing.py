"""Keys as 64 bits, and the words that choose a key's cell in each row of a sketch.

Whole numbers are their own 64 bits (in two's complement); text (UTF-8) and bytes are hashed by XXH64. Spark gives the
same with ``xxhash64(seed, column)``, the seed a BIGINT. What a key's bits are depends on the seed alone: not on the
process, the machine or Python's own hash.

>>> fingerprint("a", seed=7), fingerprint(-1, seed=7) == 2**64 - 1
(2701516948731497016, True)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from tacit.sketches._kernels_hash import hash_many, hash_word
from tacit.vocabulary import DataError, OptionError, WordArray
from tacit.vocabulary.arrays import AnyArray

__all__ = ["Key", "Keys", "check_seed", "check_words", "fingerprint", "fingerprints", "hash_ranges", "row_words"]

Key = int | str | bytes
Keys = Sequence[Key] | AnyArray
"""Many keys: whole numbers (an array of them is fastest), or texts, or bytes."""

_SPARKS_SEED = 42
_GOLDEN = 0x9E3779B97F4A7C15


def check_seed(seed: int) -> int:
    """A seed that is a BIGINT, as Spark must be able to write it.

    >>> check_seed(2**63)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: a seed is a whole number of 64 bits, and 9223372036854775808 is not
    """
    if not isinstance(seed, (int, np.integer)) or not -(2**63) <= seed < 2**63:
        raise OptionError(f"a seed is a whole number of 64 bits, and {seed} is not")
    return int(seed)


def check_words(words: AnyArray) -> WordArray:
    """Keys that are 64 bits already, with a sign (as Spark's BIGINT has one) or without.

    >>> check_words(np.array([3, -1]))
    array([                   3, 18446744073709551615], dtype=uint64)
    >>> check_words(np.array([0.5]))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: words are one array of 64-bit whole numbers, and float64 of shape (1,) is given
    """
    if not isinstance(words, np.ndarray) or words.dtype not in (np.uint64, np.int64) or words.ndim != 1:
        what = f"{words.dtype} of shape {words.shape}" if isinstance(words, np.ndarray) else f"a {type(words).__name__}"
        raise DataError(f"words are one array of 64-bit whole numbers, and {what} is given")
    return np.ascontiguousarray(words).view(np.uint64)


def fingerprint(key: Key, *, seed: int) -> int:
    """The 64 bits of one key.

    >>> fingerprint(3.5, seed=7)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: a key of a sketch is a whole number, a text or bytes, and 3.5 is a float
    """
    return int(fingerprints([key], seed=seed)[0])


def fingerprints(keys: Keys, *, seed: int) -> WordArray:
    """The 64 bits of each key.

    >>> fingerprints(["a", "b"], seed=7)
    array([2701516948731497016, 7700626501697944092], dtype=uint64)
    >>> fingerprints(np.array([3, -1]), seed=7)
    array([                   3, 18446744073709551615], dtype=uint64)
    """
    if isinstance(keys, (str, bytes)):
        raise DataError(f"several keys are a list or an array, and {keys!r} is one; put it into a list")
    if isinstance(keys, np.ndarray) and keys.ndim != 1:
        raise DataError(f"keys come one after the other, and an array of shape {keys.shape} is given")
    if isinstance(keys, np.ndarray) and keys.dtype.kind in "iub":
        kind = np.uint64 if keys.dtype.kind == "u" else np.int64
        return keys.astype(kind, copy=False).view(np.uint64)
    if not isinstance(keys, Iterable):
        raise DataError(f"several keys are a list or an array, and {keys!r} is neither")
    listed = list(keys)
    if all(isinstance(key, (int, np.integer)) for key in listed):
        return np.array([_word(int(key)) for key in listed], dtype=np.uint64)
    parts = [_bytes(key) for key in listed]
    starts = np.zeros(len(parts) + 1, dtype=np.int64)
    np.cumsum([len(part) for part in parts], out=starts[1:])
    return hash_ranges(np.frombuffer(b"".join(parts), dtype=np.uint8), starts, seed=seed)


def hash_ranges(data: AnyArray, starts: AnyArray, *, seed: int) -> WordArray:
    """The 64 bits of each range of bytes ``data[starts[i]:starts[i + 1]]``, as Arrow lays out texts.

    >>> hash_ranges(np.frombuffer(b"ab", dtype=np.uint8), np.array([0, 1, 2]), seed=7)
    array([2701516948731497016, 7700626501697944092], dtype=uint64)
    """
    hashed = np.empty(len(starts) - 1, dtype=np.uint64)
    chained = hash_word(np.uint64(check_seed(seed) % 2**64), np.uint64(_SPARKS_SEED))
    hash_many(data, starts, np.uint64(chained), hashed)
    return hashed


def row_words(seed: int, rows: int) -> WordArray:
    """Three random words for each row (splitmix64 from the seed on); see ``_kernels_hash.cell_of``.

    >>> row_words(7, 2).shape, bool((row_words(7, 2) == row_words(7, 3)[:2]).all())
    ((2, 3), True)
    """
    words, state = [], check_seed(seed) % 2**64
    for _ in range(3 * rows):
        state = (state + _GOLDEN) % 2**64
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) % 2**64
        words.append(mixed ^ (mixed >> 31))
    return np.array(words, dtype=np.uint64).reshape(rows, 3)


def _word(key: int) -> int:
    if not -(2**63) <= key < 2**64:
        raise DataError(f"a whole number as a key of a sketch has at most 64 bits, and {key} has more")
    return key % 2**64


def _bytes(key: object) -> bytes:
    if isinstance(key, str):
        try:
            return key.encode()
        except UnicodeEncodeError:
            raise DataError(f"a text as a key of a sketch must be valid UTF-8, and {key!r} is not") from None
    if isinstance(key, bytes):
        return key
    what = (
        "keys of several kinds are given"
        if isinstance(key, (int, np.integer))
        else f"{key!r} is a {type(key).__name__}"
    )
    raise DataError(f"a key of a sketch is a whole number, a text or bytes, and {what}")
