"""Sizes of many messages at once: those of resolutions that concern one group, as replays log them.

The same rules as ``sizes.size``; a test holds them equal.
"""

from __future__ import annotations

import numpy as np

from tacit.protocols.messages import Rows
from tacit.vocabulary import IntArray
from tacit.wire.sizes import VERSION_BYTES, groups_size, rows_size

__all__ = ["adjust_sizes", "estimate_sizes", "reply_sizes", "report_sizes", "request_sizes"]


def report_sizes(
    site: IntArray, number: IntArray, pane: IntArray, version: IntArray, group: IntArray, dimension: int, weighted: bool
) -> IntArray:
    """Bytes of reports of one group each."""
    head = _unsigned(site) + _unsigned(number) + _signed(pane) + _unsigned(version)
    return _message(head + _rows(group, dimension, weighted))


def reply_sizes(
    site: IntArray, number: IntArray, pane: IntArray, group: IntArray, dimension: int, weighted: bool
) -> IntArray:
    """Bytes of replies of one group each."""
    return _message(_unsigned(site) + _unsigned(number) + _signed(pane) + _rows(group, dimension, weighted))


def request_sizes(site: IntArray, number: IntArray, pane: IntArray, group: IntArray) -> IntArray:
    """Bytes of requests for one group each."""
    return _message(_unsigned(site) + _unsigned(number) + _signed(pane) + _groups(group))


def adjust_sizes(site: IntArray, version: IntArray, pane: IntArray, group: IntArray, dimension: int) -> IntArray:
    """Bytes of slack adjustments of one group each."""
    return _message(_unsigned(site) + _unsigned(version) + _signed(pane) + _groups(group) + _doubles(dimension))


def estimate_sizes(
    site: IntArray, version: IntArray, pane: IntArray, sites: int, group: IntArray, dimension: int
) -> IntArray:
    """Bytes of new estimates of one group each."""
    head = _unsigned(site) + _unsigned(version) + _signed(pane) + _unsigned(np.full(len(site), sites))
    return _message(head + _groups(group) + _doubles(dimension))


def _varint(numbers: IntArray) -> IntArray:
    length = np.ones(len(numbers), dtype=np.int64)
    for bits in range(7, 64, 7):
        length += numbers >= (1 << bits)
    return length


def _unsigned(numbers: IntArray) -> IntArray:
    return np.where(numbers == 0, 0, 1 + _varint(numbers))


def _signed(numbers: IntArray) -> IntArray:
    return _unsigned(np.where(numbers >= 0, numbers << 1, (-numbers << 1) - 1))


def _nested(length: IntArray) -> IntArray:
    return np.asarray(1 + _varint(length) + length)


def _message(body: IntArray) -> IntArray:
    return VERSION_BYTES + _nested(body)


def _doubles(dimension: int) -> int:
    return 1 + (1 if 8 * dimension < 128 else 2) + 8 * dimension


def _groups(group: IntArray) -> IntArray:
    different, where = np.unique(group, return_inverse=True)
    sizes = [groups_size(np.array([g])) for g in different.tolist()]
    return np.array(sizes, dtype=np.int64)[where]


def _rows(group: IntArray, dimension: int, weighted: bool) -> IntArray:
    different, where = np.unique(group, return_inverse=True)
    weights = np.ones(1 if weighted else 0)
    sizes = [rows_size(Rows(np.array([g]), np.ones((1, dimension)), weights)) for g in different.tolist()]
    return np.array(sizes, dtype=np.int64)[where]
