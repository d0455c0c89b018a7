"""A site numbers its groups as it meets them, the coordinator as it hears of them; messages are told in its numbers.

``Numbering`` translates whole messages both ways. What names a group that has no number yet cannot be said before the
coordinator has given one (``Name``, ``Numbers``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
    Message,
    NewEstimate,
    Reply,
    Report,
    Request,
    Rows,
    Snapshot,
)  # fmt: skip
from tacit.vocabulary import FloatArray, IntArray, ProtocolError
from tacit.wire.control import Numbers

__all__ = ["Numbering"]

_UNKNOWN = -1


class Numbering:
    """``local`` numbers of this site, ``shared`` ones of everybody."""

    def __init__(self, number_of: Callable[[str], int], *, template: bool = False) -> None:
        self._number_of = number_of  # the local number of a key, given one if it has none
        self._template = template
        self._shared: IntArray = np.empty(0, dtype=np.int64)  # by local number
        self._local: IntArray = np.empty(0, dtype=np.int64)  # by shared number

    def learn(self, numbers: Numbers) -> IntArray:
        """The coordinator says which keys have which numbers; their local numbers."""
        if numbers.first > len(self._local):
            raise ProtocolError("the coordinator left out the numbers of some groups")
        new = np.array([self._number_of(key) for key in numbers.keys], dtype=np.int64)
        known = self._local[numbers.first :]
        if (known[: len(new)] != new[: len(known)]).any():
            raise ProtocolError("the coordinator gave the numbers of some groups twice, and not alike")
        self._local = np.concatenate([self._local[: numbers.first], new, known[len(new) :]])
        size = max(len(self._shared), int(new.max(initial=-1)) + 1)
        shared = np.full(size, _UNKNOWN, dtype=np.int64)
        shared[: len(self._shared)] = self._shared
        shared[new] = np.arange(numbers.first, numbers.first + len(new))
        self._shared = shared
        return new

    @property
    def told(self) -> IntArray:
        """The local numbers of the groups whose numbers are known, in the order of those."""
        return self._local

    def forget(self) -> None:
        """The link is new: the coordinator will say all numbers again."""
        self._shared = np.empty(0, dtype=np.int64)
        self._local = np.empty(0, dtype=np.int64)

    def missing(self, message: Message) -> IntArray:
        """The local numbers of groups that the message names and that have no shared number."""
        if not isinstance(message, Report | Reply):
            return np.empty(0, dtype=np.int64)
        return self.without(message.rows.groups)

    def without(self, groups: IntArray) -> IntArray:
        """Those of these local numbers that have no shared one."""
        known = groups < len(self._shared)
        known[known] = self._shared[groups[known]] != _UNKNOWN
        return groups[~known]

    def outward(self, message: Message) -> Message:
        """The message in shared numbers."""
        if isinstance(message, Report | Reply):
            message = replace(message, rows=_moved(message.rows, self._shared))
        if isinstance(message, Report) and self._template:
            message = replace(message, known=len(self._local))
        return message

    def inward(self, message: Message) -> Message:
        """The message in local numbers."""
        match message:
            case Request():
                return replace(message, groups=np.sort(self._here(message.groups)))
            case AdjustSlack():
                groups, order = _sorted(self._here(message.groups))
                return replace(message, groups=groups, slacks=message.slacks[order])
            case NewEstimate():
                groups, order = _sorted(self._here(message.groups))
                return replace(
                    message, groups=groups, estimates=message.estimates[order], zones=_in_order(message.zones, order)
                )
            case Broadcast():
                self._here(message.rows.groups)
                return replace(message, rows=_moved(message.rows, self._local))
            case Snapshot():
                groups, order = _sorted(self._here(message.collected.groups))
                everyone = message.everyone
                if everyone is not None:
                    everyone = tuple((site, _moved(rows, self._local)) for site, rows in everyone)
                return replace(
                    message, estimates=message.estimates[order], slacks=message.slacks[order],
                    collected=_moved(message.collected, self._local), everyone=everyone,
                    zones=_in_order(message.zones, order),
                )  # fmt: skip
        return message

    def _here(self, groups: IntArray) -> IntArray:
        if len(groups) and int(groups.max()) >= len(self._local):
            raise ProtocolError("the coordinator names a group that it has not introduced")
        return self._local[groups]


def _sorted(groups: IntArray) -> tuple[IntArray, IntArray]:
    order = np.argsort(groups)
    return groups[order], order


def _in_order(zones: FloatArray, order: IntArray) -> FloatArray:
    return zones[order] if len(zones) else zones


def _moved(rows: Rows, numbers: Sequence[int] | IntArray) -> Rows:
    if not len(rows.groups):
        return rows
    groups, order = _sorted(np.asarray(numbers)[rows.groups])
    return Rows(groups, rows.sums[order], rows.weights[order] if len(rows.weights) else rows.weights)
