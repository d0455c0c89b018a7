"""Kernels of rankings with very many keys: a table of keys (``topk/key_table.py``), sums that tell what changed.

Keys are ranges of bytes: key i of a table is ``data[starts[i]:starts[i + 1]]``. A slot of the table is 0 when it is
free and otherwise 1 more than the number of a key; a key is in the first slot from that of its hash on that was free
when it came. Starts may be of either width, so that they are made int64 before anything is computed with them.

The sums (``runtime/sparse_sums.py``) are here and not in their room because compiled code is cached by the sources of
this one (``_kernel_cache.py``).
"""

from __future__ import annotations

import numpy as np

from tacit._jit import leaf

__all__ = ["add_backwards", "add_forwards", "fill_slots", "find_key", "keep_keys", "number_keys", "take_back"]

_SEED = np.uint64(0x9E3779B97F4A7C15)
_STIR = np.uint64(0xFF51AFD7ED558CCD)  # the constants of MurmurHash3
_STIR_AGAIN = np.uint64(0xC4CEB9FE1A85EC53)
_HALF, _BYTE = np.uint64(33), np.uint64(8)


@leaf()
def _hash(text, lo, hi):  # type: ignore[no-untyped-def]
    """64 bits of the bytes lo:hi and of their number: eight at a time, and all bits stirred at the end."""
    mixed = (np.uint64(hi - lo) + _SEED) * _STIR
    at = lo
    while at < hi:
        word, shift = np.uint64(0), np.uint64(0)
        for k in range(at, min(at + 8, hi)):
            word |= np.uint64(text[k]) << shift
            shift += _BYTE
        mixed = (mixed ^ word) * _STIR_AGAIN
        mixed ^= mixed >> _HALF
        at += 8
    mixed *= _STIR
    mixed ^= mixed >> _HALF
    mixed *= _STIR_AGAIN
    return mixed ^ (mixed >> _HALF)


@leaf()
def _same(text, lo, hi, data, begin, end):  # type: ignore[no-untyped-def]
    """Are these the same bytes?"""
    if hi - lo != end - begin:
        return False
    for k in range(hi - lo):  # noqa: SIM110
        if text[lo + k] != data[begin + k]:
            return False
    return True


@leaf()
def _seek(text, lo, hi, hashed, data, starts, hashes, slots):  # type: ignore[no-untyped-def]
    """The slot of a key, or the free one that it would get."""
    last = np.uint64(len(slots) - 1)
    at = np.int64(hashed & last)
    while slots[at]:
        number = np.int64(slots[at]) - 1
        if hashes[number] == hashed and _same(
            text, lo, hi, data, np.int64(starts[number]), np.int64(starts[number + 1])
        ):
            break
        at = (at + 1) & np.int64(last)
    return at


@leaf()
def find_key(text, mask, data, starts, hashes, slots):  # type: ignore[no-untyped-def]
    """The number of a key, or -1."""
    hashed = _hash(text, 0, len(text)) & mask
    return np.int64(slots[_seek(text, 0, len(text), hashed, data, starts, hashes, slots)]) - 1


@leaf()
def number_keys(text, cuts, first, mask, data, starts, hashes, slots, most, count, numbers):  # type: ignore[no-untyped-def]
    """Number the keys of a block from ``first`` on, until one is new and there is no room for it.

    Returns where it stopped, and how many keys there are now, of which there may be ``most``.
    """
    for i in range(first, len(numbers)):
        lo, hi = cuts[i], cuts[i + 1]
        hashed = _hash(text, lo, hi) & mask
        at = _seek(text, lo, hi, hashed, data, starts, hashes, slots)
        if not slots[at]:
            begin = np.int64(starts[count])
            if count == most or begin + hi - lo > len(data):
                return i, count
            for k in range(hi - lo):
                data[begin + k] = text[lo + k]
            starts[count + 1] = begin + hi - lo
            hashes[count] = hashed
            count += 1
            slots[at] = count
        numbers[i] = np.int64(slots[at]) - 1
    return len(numbers), count


@leaf()
def fill_slots(hashes, count, slots):  # type: ignore[no-untyped-def]
    """Give every key a slot; all are free."""
    last = len(slots) - 1
    for number in range(count):
        at = np.int64(hashes[number] & np.uint64(last))
        while slots[at]:
            at = (at + 1) & last
        slots[at] = number + 1


@leaf()
def keep_keys(which, data, starts, hashes, new_data, new_starts, new_hashes):  # type: ignore[no-untyped-def]
    """Copy these keys, in their order."""
    count, end = 0, 0
    for number in range(len(which)):
        if which[number]:
            for k in range(np.int64(starts[number]), np.int64(starts[number + 1])):
                new_data[end] = data[k]
                end += 1
            new_hashes[count] = hashes[number]
            count += 1
            new_starts[count] = end


@leaf()
def add_forwards(group, values, sums):  # type: ignore[no-untyped-def]
    """Add entries to the sums of their groups, one after the other."""
    for i in range(len(group)):
        for j in range(values.shape[1]):
            sums[group[i], j] += values[i, j]


@leaf()
def add_backwards(group, values, sums, before):  # type: ignore[no-untyped-def]
    """Add entries from the last to the first; ``before`` becomes what the sum was before each of them."""
    for i in range(len(group) - 1, -1, -1):
        for j in range(values.shape[1]):
            before[i, j] = sums[group[i], j]
            sums[group[i], j] += values[i, j]


@leaf()
def take_back(group, before, first, sums):  # type: ignore[no-untyped-def]
    """Make the sums of these groups what they were before the entries ``first``, first + 1, … were added."""
    for i in range(len(group)):
        for j in range(before.shape[1]):
            sums[group[i], j] = before[first + i, j]
