"""Sizes of many messages at once, for replays that log resolutions and count them later.

The same rules as ``sizes.size``; a test holds them equal. The groups of all messages stand one after another in one
array; ``Lists`` says where each message's begin.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.vocabulary import IntArray
from tacit.wire.sizes import VERSION_BYTES

__all__ = [
    "Lists",
    "adjust_sizes",
    "broadcast_sizes",
    "estimate_sizes",
    "reply_sizes",
    "report_sizes",
    "request_sizes",
    "rows_size",
    "vector_size",
]


@dataclass(frozen=True, slots=True)
class Lists:
    """The group numbers of m messages, each list increasing: message i has ``groups[starts[i]:starts[i + 1]]``."""

    groups: IntArray
    starts: IntArray  # (m,), the end of the last list left out

    @property
    def lengths(self) -> IntArray:
        """How many groups each message has."""
        return np.diff(self.starts, append=len(self.groups))


def report_sizes(
    site: IntArray, number: IntArray, pane: IntArray, version: IntArray, lists: Lists, dimension: int, weighted: bool
) -> IntArray:
    """Bytes of reports."""
    head = _unsigned(site) + _unsigned(number) + _signed(pane) + _unsigned(version)
    return _message(head + _rows(lists, dimension, weighted))


def reply_sizes(
    site: IntArray, number: IntArray, pane: IntArray, lists: Lists, dimension: int, weighted: bool
) -> IntArray:
    """Bytes of replies."""
    return _message(_unsigned(site) + _unsigned(number) + _signed(pane) + _rows(lists, dimension, weighted))


def request_sizes(site: IntArray, number: IntArray, pane: IntArray, lists: Lists) -> IntArray:
    """Bytes of requests."""
    return _message(_unsigned(site) + _unsigned(number) + _signed(pane) + _groups(lists))


def adjust_sizes(site: IntArray, version: IntArray, pane: IntArray, lists: Lists, dimension: int) -> IntArray:
    """Bytes of slack adjustments."""
    head = _unsigned(site) + _unsigned(version) + _signed(pane)
    return _message(head + _groups(lists) + _doubles(lists.lengths * dimension))


def estimate_sizes(
    site: IntArray, version: IntArray, pane: IntArray, sites: int, lists: Lists, dimension: int
) -> IntArray:
    """Bytes of new estimates."""
    head = _unsigned(site) + _unsigned(version) + _signed(pane) + _unsigned(np.full(len(site), sites))
    return _message(head + _groups(lists) + _doubles(lists.lengths * dimension))


def broadcast_sizes(
    site: IntArray,
    origin: IntArray,
    version: IntArray,
    pane: IntArray,
    lists: Lists,
    dimension: int,
    weighted: bool,
) -> IntArray:
    """Bytes of broadcasts."""
    head = _unsigned(site) + _unsigned(origin) + _unsigned(version) + _signed(pane)
    return _message(head + _rows(lists, dimension, weighted))


def rows_size(group: Lists, dimension: int, weighted: bool) -> int:
    """Bytes of the rows that a message with these groups holds."""
    return int(_rows(group, dimension, weighted)[0])


def vector_size(dimension: int) -> int:
    """Bytes of one vector."""
    return int(_doubles(np.array([dimension]))[0])


def _varint(numbers: IntArray) -> IntArray:
    length = np.ones(len(numbers), dtype=np.int64)
    for bits in range(7, 63, 7):
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


def _doubles(count: IntArray) -> IntArray:
    return np.where(count == 0, 0, _nested(8 * count))


def _groups(lists: Lists) -> IntArray:
    """One group: its number (0 is left out). A range: its first and its length. Otherwise the gaps between them."""
    first = lists.groups[lists.starts]
    lengths = lists.lengths
    last = lists.groups[lists.starts + lengths - 1]
    previous = np.concatenate([[-1], lists.groups[:-1]])
    previous[lists.starts] = -1
    gaps = np.add.reduceat(_varint(lists.groups - previous - 1), lists.starts)
    one = np.where(first == 0, 0, _nested(_nested(_varint(first))))
    several = np.where(
        last - first == lengths - 1, _nested(_unsigned(first) + _unsigned(lengths)), _nested(_nested(gaps))
    )
    return np.where(lengths == 1, one, several)


def _rows(lists: Lists, dimension: int, weighted: bool) -> IntArray:
    weights = _doubles(lists.lengths) if weighted else 0
    return _nested(_groups(lists) + _doubles(lists.lengths * dimension) + weights)
