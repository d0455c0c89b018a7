"""Ranges of whole numbers as nodes of a binary tree: at most two of each height, and a range of the tree's top.

A node of height h with the prefix p stands for the numbers from p * 2^h on, 2^h of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from tacit.sketches.hashing import Keys, check_words, fingerprints
from tacit.vocabulary import DataError, OptionError, WordArray

__all__ = [
    "check_phi",
    "check_range",
    "check_threshold",
    "nodes_of",
    "not_below",
    "share_of",
    "whole_keys",
    "whole_words",
]

_ROUNDED = 1 - 2**-50


def not_below(found: Iterable[Mapping[int, float]], threshold: float, bits: int) -> dict[tuple[int, int], float]:
    """Nodes, by prefix and length, with at least the threshold beside what such nodes below them have: what is left.

    ``found`` are the counts of the heavy nodes of each height, from the leaves up.

    >>> not_below([{5: 7}, {2: 9}, {1: 15}], 6, 3)
    {(5, 3): 7, (1, 1): 8}
    """
    below: dict[int, float] = {}
    result: dict[tuple[int, int], float] = {}
    for height, nodes in enumerate(found):
        taken: dict[int, float] = {}
        for prefix, count in nodes.items():
            covered = below.get(2 * prefix, 0) + below.get(2 * prefix + 1, 0)
            if count - covered >= threshold:
                result[prefix, bits - height] = count - covered
                covered = count
            if covered:
                taken[prefix] = covered
        below = taken
    return result


def whole_keys(keys: Keys, bits: int) -> WordArray:
    """Keys that are whole numbers of so many bits.

    >>> whole_keys([3, 16], 4)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: keys of this sketch are whole numbers of 0 to 2^4 - 1, and 16 is not
    """
    if isinstance(keys, np.ndarray):
        if keys.dtype.kind == "i" and keys.size and keys.min() < 0:
            raise _no_key(keys.min(), bits)
        if keys.dtype.kind not in "iub" and keys.size:
            raise _no_key(keys.flat[0], bits)
    elif isinstance(keys, Iterable) and not isinstance(keys, (str, bytes)):
        keys = list(keys)
        for key in keys:
            if not isinstance(key, (int, np.integer)) or not 0 <= key < 2**bits:
                raise _no_key(key, bits)
    return whole_words(fingerprints(keys, seed=0), bits)


def whole_words(words: WordArray, bits: int) -> WordArray:
    """Words that are whole numbers of so many bits."""
    words = check_words(words)
    if bits < 64 and len(words) and int(words.max()) >> bits:
        raise _no_key(words.max(), bits)
    return words


def check_range(lo: int, hi: int, bits: int) -> None:
    """DataError unless both ends are keys, and the first is not above the last."""
    whole = isinstance(lo, (int, np.integer)) and isinstance(hi, (int, np.integer))
    if not whole or not 0 <= lo <= hi < 2**bits:
        raise DataError(f"a range of this sketch is from 0 <= lo to lo <= hi < 2^{bits}, and {lo} to {hi} is none")


def check_threshold(share: float, least: float) -> None:
    """OptionError unless the share is at most 1 and above what the sketch can tell from nothing."""
    if not isinstance(share, (int, float, np.integer, np.floating)) or not 0 < share <= 1:
        raise OptionError(f"a share of the total is above 0 and at most 1, and {share} is not")
    if share <= least:
        raise OptionError(
            f"a share of {share} is not above {least:.3g}, by which this sketch over-counts a key; allow it less error"
        )


def share_of(share: float, total: float) -> float:
    """A share of the total, less what rounding may have added: 7 keys of 100 are a share of 0.07.

    >>> 0.07 * 100 <= 7, share_of(0.07, 100) <= 7
    (False, True)
    """
    return share * total * _ROUNDED


def check_phi(phi: float) -> None:
    """OptionError unless it is a share of 0 to 1."""
    if not isinstance(phi, (int, float, np.integer, np.floating)) or not 0 <= phi <= 1:
        raise OptionError(f"a quantile is asked for a share of 0 to 1, and {phi} is not")


def nodes_of(lo: int, hi: int, heights: int) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """The nodes (height, prefix) below a height that a range lo <= key <= hi takes, and the range of prefixes there.

    >>> nodes_of(3, 12, 2)
    ([(0, 3), (0, 12)], (1, 3))
    """
    nodes, lo, end = [], int(lo), int(hi) + 1
    for height in range(heights):
        if lo >= end:
            break
        if lo & 1:
            nodes.append((height, lo))
            lo += 1
        if end & 1:
            end -= 1
            nodes.append((height, end))
        lo, end = lo >> 1, end >> 1
    else:
        return nodes, (lo, max(lo, end))
    return nodes, (0, 0)


def _no_key(key: object, bits: int) -> DataError:
    return DataError(f"keys of this sketch are whole numbers of 0 to 2^{bits} - 1, and {key!s} is not")
