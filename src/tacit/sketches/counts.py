"""How many times a key or a time counts: whole numbers, none below 0, all together below 2^63."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index

import numpy as np

from tacit.vocabulary import DataError, OptionError, WordArray
from tacit.vocabulary.arrays import AnyArray

__all__ = ["MOST", "Counts", "check_counts", "check_total", "exact_sum", "whole"]

MOST = 2**63 - 1
"""The most that one sketch counts in all."""

Counts = Sequence[int] | AnyArray
"""How many times each key counts."""


def check_counts(counts: Counts | None, size: int) -> WordArray | None:
    """Counts as words, one for each of ``size`` keys; None stays None: every key counts once.

    >>> check_counts([1, 2], 2)
    array([1, 2], dtype=uint64)
    >>> check_counts([1.5], 1)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: counts are whole numbers, and these are of type float64
    """
    if counts is None:
        return None
    try:
        given = np.asarray(counts)
    except ValueError:  # lists of several lengths
        raise DataError("counts are whole numbers, and lists are given") from None
    if given.dtype.kind not in "iub" and given.size:
        raise DataError(f"counts are whole numbers, and these are of type {given.dtype}")
    if given.shape != (size,):
        raise DataError(f"there is one count for each of {size} keys, and counts of shape {given.shape} are given")
    if given.dtype.kind == "i" and size and given.min() < 0:
        raise DataError(f"counts are 0 or more, and {given.min()} is given; a sketch does not forget")
    return given.view(np.uint64) if given.dtype == np.int64 else given.astype(np.uint64)


def exact_sum(words: WordArray) -> int:
    """The sum, however large.

    >>> exact_sum(np.array([2**64 - 1, 2**64 - 1], dtype=np.uint64)) == 2**65 - 2
    True
    """
    if not len(words) or int(words.max()) <= MOST // len(words):
        return int(words.sum())
    low, half = np.uint64(2**32 - 1), np.uint64(32)
    return (int((words >> half).sum()) << 32) + int((words & low).sum())


def check_total(total: int) -> int:
    """DataError when a sketch would count more than 64 bits hold.

    >>> check_total(2**63)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.DataError: a sketch counts up to 2^63 - 1, and it would be 9223372036854775808
    """
    if total > MOST:
        raise DataError(f"a sketch counts up to 2^63 - 1, and it would be {total}")
    return total


def whole(name: str, value: int, least: int, most: int) -> int:
    """OptionError unless the value is a whole number between two.

    >>> whole("width", 2.5, 1, 10)
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: width of a sketch is a whole number of 1 to 10, and 2.5 is not
    """
    try:
        number = index(value)
    except TypeError:
        number = least - 1
    if not least <= number <= most:
        raise OptionError(f"{name} of a sketch is a whole number of {least} to {most}, and {value} is not")
    return number
