"""How many bytes a protocol's message takes on the wire, without making them.

A replay counts up to a million messages, and building each only to measure it would cost more than the protocol. The
rules are those of protobuf's encoding: a varint takes a byte per 7 bits, a field a tag of one byte (all our field
numbers are below 16), a nested message or packed array its length in front, and a scalar 0 nothing at all. A test holds
``size(m) == len(encode(m))``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
    Fit,
    Heartbeat,
    HeartbeatAnswer,
    Hello,
    Init,
    Leave,
    Message,
    NewEstimate,
    Reply,
    Report,
    Request,
    Rows,
    Snapshot,
)
from tacit.vocabulary import FloatArray, IntArray
from tacit.wire.zone_codec import packed_zone

__all__ = ["VERSION_BYTES", "groups_size", "is_range", "nested", "rows_size", "signed", "size", "unsigned"]

VERSION_BYTES = 2


def size(message: Message) -> int:
    """The length of ``encode(message)`` for watch 0.

    >>> size(Leave(site=3, session=0))
    6
    """
    late = isinstance(message, Fit)  # its number in the envelope takes two bytes
    return VERSION_BYTES + late + nested(_BODY[type(message)](message))


def is_range(groups: IntArray) -> bool:
    """Do at least two increasing group numbers follow each other without a gap?"""
    return len(groups) > 1 and int(groups[-1]) - int(groups[0]) == len(groups) - 1


def _varint(number: int) -> int:
    return (number.bit_length() + 6) // 7 or 1


def unsigned(number: int) -> int:
    """A number without sign, with its tag."""
    return 1 + (number.bit_length() + 6) // 7 if number else 0


def signed(number: int) -> int:
    """A number with a sign, with its tag."""
    return unsigned(number << 1 if number >= 0 else (-number << 1) - 1)


def nested(length: int) -> int:
    """Something of this length in another message: with its tag, and its length in front."""
    return 1 + _varint(length) + length


def _doubles(array: FloatArray) -> int:
    length = 8 * array.size
    return 1 + _varint(length) + length if length else 0


def _zones(zones: FloatArray, dimension: int) -> int:
    if not zones.size:
        return 0
    parts = zones[:, 0].astype(np.int64).tolist()
    numbers = 8 * sum(len(packed_zone(row, dimension)) for row in zones)
    return nested(sum(map(_varint, parts))) + (nested(numbers) if numbers else 0)


def groups_size(groups: IntArray) -> int:
    """The bytes of a list of groups."""
    if len(groups) == 0:
        return nested(0)
    first = int(groups[0])
    if len(groups) == 1:
        return 0 if first == 0 else nested(nested(_varint(first)))
    if is_range(groups):
        return nested(unsigned(first) + unsigned(len(groups)))
    gaps = np.diff(groups, prepend=-1) - 1
    length, limit = len(gaps), 128
    largest = int(gaps.max())
    while largest >= limit:
        length += int(np.count_nonzero(gaps >= limit))
        limit <<= 7
    return nested(nested(length))


def rows_size(rows: Rows) -> int:
    """The bytes of rows, tag and length included."""
    return nested(groups_size(rows.groups) + _doubles(rows.sums) + _doubles(rows.weights))


def _init(m: Init) -> int:
    return unsigned(m.site) + signed(m.pane) + rows_size(m.rows)


def _report(m: Report) -> int:
    head = unsigned(m.site) + unsigned(m.number) + signed(m.pane) + unsigned(m.version)
    return head + rows_size(m.rows) + unsigned(m.known)


def _request(m: Request) -> int:
    return unsigned(m.site) + unsigned(m.number) + signed(m.pane) + groups_size(m.groups)


def _reply(m: Reply) -> int:
    return unsigned(m.site) + unsigned(m.number) + signed(m.pane) + rows_size(m.rows)


def _adjust_slack(m: AdjustSlack) -> int:
    head = unsigned(m.site) + unsigned(m.version) + signed(m.pane)
    return head + groups_size(m.groups) + _doubles(m.slacks)


def _new_estimate(m: NewEstimate) -> int:
    head = unsigned(m.site) + unsigned(m.version) + signed(m.pane) + unsigned(m.sites)
    zones = _zones(m.zones, m.estimates.shape[1]) + unsigned(m.centres)
    return head + groups_size(m.groups) + _doubles(m.estimates) + zones


def _broadcast(m: Broadcast) -> int:
    head = unsigned(m.site) + unsigned(m.origin) + unsigned(m.version) + signed(m.pane)
    return head + rows_size(m.rows)


def _snapshot(m: Snapshot) -> int:
    head = unsigned(m.site) + unsigned(m.version) + signed(m.pane) + unsigned(m.sites)
    slacks = _doubles(m.slacks) if m.slacks.any() else 0
    everyone = sum(nested(unsigned(site) + rows_size(rows)) for site, rows in m.everyone or ())
    zones = _zones(m.zones, m.estimates.shape[1])
    return head + _doubles(m.estimates) + rows_size(m.collected) + slacks + everyone + zones


def _heartbeat(m: Heartbeat) -> int:
    claims = signed(m.closed) + signed(m.silent) + unsigned(m.version)
    return unsigned(m.site) + unsigned(m.number) + claims + unsigned(m.idle_panes)


def _heartbeat_answer(m: HeartbeatAnswer) -> int:
    return unsigned(m.site) + signed(m.settled) + unsigned(m.provisional)


def _hello(m: Hello) -> int:
    return unsigned(m.site) + unsigned(m.session) + signed(m.oldest) + signed(m.closed)


def _fit(m: Fit) -> int:
    parts, d = m.means.shape
    head = unsigned(m.site) + unsigned(m.number) + signed(m.pane) + unsigned(d)
    numbers = 8 * parts * (1 + d + d * (d + 1) // 2)
    return head + nested(numbers)


def _leave(m: Leave) -> int:
    return unsigned(m.site) + unsigned(m.session)


_BODY: dict[type[Message], Callable[[Any], int]] = {
    Init: _init,
    Report: _report,
    Request: _request,
    Reply: _reply,
    AdjustSlack: _adjust_slack,
    NewEstimate: _new_estimate,
    Broadcast: _broadcast,
    Snapshot: _snapshot,
    Heartbeat: _heartbeat,
    HeartbeatAnswer: _heartbeat_answer,
    Hello: _hello,
    Leave: _leave,
    Fit: _fit,
}
