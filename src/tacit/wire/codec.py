"""Messages to bytes and back: protobuf, one envelope per message.

``decode`` trusts nothing: bytes that are not ours, another version, arrays whose lengths do not fit together, and
numbers that are not finite give a ProtocolError of one sentence. Estimates alone may be nan: a mean over no weight.
Here are the envelope and the messages of the protocols; ``control_codec.py`` has the control messages.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from tacit.functions.tables import NORMED, NOTHING, convex_size
from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
    Centres,
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
from tacit.vocabulary import FloatArray, IntArray, ProtocolError
from tacit.wire import control_codec, topk_codec
from tacit.wire import tacit_pb2 as pb
from tacit.wire.control import Control
from tacit.wire.control_codec import GROUPS_MAX
from tacit.wire.kinds import KINDS
from tacit.wire.sizes import is_range
from tacit.wire.unfit import UnfitError
from tacit.wire.unfit import pane_in_range as _pane
from tacit.wire.zone_codec import packed_zone, unpacked_zone

__all__ = ["VERSION", "UnreadableError", "decode", "encode", "open_envelope", "watch_of"]

VERSION = 4
"""The version of the wire format: 1 had no control messages, 2 no zones."""

_GROUP_ZERO = np.zeros(1, dtype=np.int64)
_NO_GROUP = np.empty(0, dtype=np.int64)
_FEW = 8
_DIMENSION_MOST = 1_000
_ZONE_DIMENSION_MOST = 64


class UnreadableError(ProtocolError):
    """A message whose envelope can be read and whose contents cannot: ``watch`` is the one it is about, 0 for none."""

    def __init__(self, message: str, *, watch: int, kind: str) -> None:
        self.watch, self.kind = watch, kind
        super().__init__(message)


def encode(message: Message | Control, watch: int = 0) -> bytes:
    """The message as bytes, addressed to a watch.

    >>> decode(encode(Leave(site=3, session=1)))
    Leave(site=3, session=1)
    """
    kind = KINDS[type(message)]
    envelope = pb.Envelope(version=VERSION, watch=watch)
    body = getattr(envelope, kind)
    body.SetInParent()
    write_control = control_codec.WRITE.get(type(message)) or topk_codec.WRITE.get(type(message))
    try:
        if write_control is not None:
            write_control(body, message)
        else:
            for name in type(message).__dataclass_fields__:
                write: Callable[[Any, str, Any], None] = _WRITE.get(name, _write_number)
                write(body, name, getattr(message, name))
    except ValueError as error:
        raise ProtocolError(f"a {kind} message holds a number outside of its range: {error}") from error
    data: bytes = envelope.SerializeToString()
    return data


def decode(data: bytes) -> Message | Control:
    """The message that these bytes say; a ProtocolError when they say none."""
    return _message(_envelope(data))


def _message(envelope: pb.Envelope) -> Message | Control:
    kind = envelope.WhichOneof("message")
    if kind is None:
        raise ProtocolError("an envelope came without a message in it")
    body = getattr(envelope, kind)
    try:
        return _READ[kind](body)
    except UnfitError as error:
        raise UnreadableError(
            f"a {kind} message was garbled on its way: {error}", watch=int(envelope.watch), kind=kind
        ) from error


def open_envelope(data: bytes) -> tuple[int, str, Message | Control]:
    """The watch that a message is about, its kind and itself, in one look.

    >>> open_envelope(encode(Leave(site=3, session=1), watch=7))
    (7, 'leave', Leave(site=3, session=1))
    """
    envelope = _envelope(data)
    message = _message(envelope)
    return int(envelope.watch), KINDS[type(message)], message


def watch_of(data: bytes) -> int:
    """The watch that a message is about, for whoever hands it on.

    >>> watch_of(encode(Leave(site=3, session=1), watch=7))
    7
    """
    return int(_envelope(data).watch)


def _envelope(data: bytes) -> pb.Envelope:
    try:
        envelope: pb.Envelope = pb.Envelope.FromString(data)
    except DecodeError as error:
        raise ProtocolError(f"{len(data)} bytes came that are no message of tacit") from error
    if envelope.version != VERSION:
        raise ProtocolError(
            f"a message came in version {envelope.version} of the wire format and this process speaks version"
            f" {VERSION}; run the same release of tacit everywhere"
        )
    return envelope


# Writing: one function per kind of field; every other field is a plain number.


def _write_number(body: Any, name: str, value: int) -> None:
    setattr(body, name, value)


def _write_groups(body: Any, name: str, groups: IntArray) -> None:
    if len(groups) == 1 and groups[0] == 0:
        return
    body.groups.SetInParent()  # present and empty: no group at all
    if len(groups) < 2:
        body.groups.gaps.extend(groups.tolist())
    elif is_range(groups):
        body.groups.first, body.groups.count = int(groups[0]), len(groups)
    else:
        body.groups.gaps.extend((np.diff(groups, prepend=-1) - 1).tolist())


def _write_doubles(body: Any, name: str, array: FloatArray) -> None:
    getattr(body, name).extend(array.ravel().tolist())


def _write_slacks(body: Any, name: str, array: FloatArray) -> None:
    if isinstance(body, pb.AdjustSlack) or array.any():
        body.slacks.extend(array.ravel().tolist())


def _write_rows(body: Any, name: str, rows: Rows) -> None:
    inner = getattr(body, name)
    inner.SetInParent()
    _write_groups(inner, "groups", rows.groups)
    inner.sums.extend(rows.sums.ravel().tolist())
    inner.weights.extend(rows.weights.tolist())


def _write_everyone(body: Any, name: str, everyone: Iterable[tuple[int, Rows]] | None) -> None:
    for site, rows in everyone or ():
        _write_rows(body.everyone.add(site=site), "rows", rows)


def _write_zones(body: Any, name: str, zones: FloatArray) -> None:
    """Only the numbers that are in use; the dimension is that of the estimates."""
    if not zones.size:
        return
    parts, dimension = zones[:, 0].astype(np.int64), len(body.estimates) // len(zones)
    body.zone_parts.extend(parts.tolist())
    for row in zones:
        body.zone_numbers.extend(packed_zone(row, dimension))


def _write_means(body: Any, name: str, means: FloatArray) -> None:
    body.dimension = means.shape[1]
    _write_parts(body, name, means)


def _write_parts(body: Any, name: str, numbers: FloatArray) -> None:
    body.numbers.extend(numbers.ravel().tolist())


def _write_triangles(body: Any, name: str, matrices: FloatArray) -> None:
    below = np.tril_indices(matrices.shape[1])
    body.numbers.extend(matrices[:, below[0], below[1]].ravel().tolist())


_WRITE: dict[str, Callable[[Any, str, Any], None]] = {
    "weights": _write_parts,
    "means": _write_means,
    "covariances": _write_triangles,
    "groups": _write_groups,
    "estimates": _write_doubles,
    "slacks": _write_slacks,
    "rows": _write_rows,
    "collected": _write_rows,
    "everyone": _write_everyone,
    "zones": _write_zones,
}


# Reading: one function per message, because lengths must fit together.


def _groups(body: Any) -> IntArray:
    """The group numbers of a message; the single group 0 where none are said."""
    if not body.HasField("groups"):
        return _GROUP_ZERO
    coded = body.groups
    if coded.gaps:
        if coded.first or coded.count:
            raise UnfitError("it lists its groups twice")
        gaps = np.array(coded.gaps, dtype=np.uint64)
        if len(gaps) > GROUPS_MAX or gaps.max() > GROUPS_MAX:
            raise UnfitError("it has a group number that is too large")
        groups = np.cumsum(gaps.astype(np.int64) + 1) - 1
    elif not (coded.first or coded.count):
        return _NO_GROUP
    else:
        if not 2 <= coded.count <= GROUPS_MAX or coded.first > GROUPS_MAX:
            raise UnfitError("it has a range of groups that cannot be")
        groups = np.arange(coded.first, coded.first + coded.count, dtype=np.int64)
    if groups[-1] > GROUPS_MAX:
        raise UnfitError("it has a group number that is too large")
    return groups


def _table(values: Iterable[float], rows: int, what: str, *, nan: bool = False) -> FloatArray:
    """Doubles as a table of this many rows."""
    array = np.array(values, dtype=np.float64)
    if len(array) == rows == 0:
        return np.empty((0, 0))
    if len(array) == 0 or rows == 0 or len(array) % rows:
        raise UnfitError(f"{len(array)} {what} do not fit {rows} groups")
    if not _all_finite(array) and not (nan and (np.isfinite(array) | np.isnan(array)).all()):
        raise UnfitError(f"its {what} are not all finite")
    return array.reshape(rows, -1)


def _all_finite(array: FloatArray) -> bool:
    """Are all of them finite? Most messages are about one group, and NumPy is slow on a few numbers."""
    if len(array) <= _FEW:
        return all(map(math.isfinite, array.tolist()))
    return bool(np.isfinite(array).all())


def _rows(body: Any) -> Rows:
    groups = _groups(body)
    sums = _table(body.sums, len(groups), "sums")
    weights = np.array(body.weights, dtype=np.float64)
    if len(weights) not in (0, len(groups)):
        raise UnfitError(f"{len(weights)} weights do not fit {len(groups)} groups")
    if len(weights) and not (np.isfinite(weights) & (weights >= 0)).all():
        raise UnfitError("its weights are not all finite and at least 0")
    return Rows(groups, sums, weights)


def _adjust_slack(body: pb.AdjustSlack) -> AdjustSlack:
    groups = _groups(body)
    return AdjustSlack(body.site, body.version, _pane(body.pane), groups, _table(body.slacks, len(groups), "slacks"))


def _is_zone(code: int) -> bool:
    return code <= NOTHING or NORMED < code < NORMED + NOTHING


def _zones(body: Any, groups: int, dimension: int) -> FloatArray:
    if not body.zone_parts:
        if body.zone_numbers:
            raise UnfitError("its zones have no parts")
        return np.empty((0, 0))
    parts = list(body.zone_parts)
    if len(parts) != groups or not all(map(_is_zone, parts)):
        raise UnfitError(f"{len(parts)} zones, the greatest of kind {max(parts)}, do not fit {groups} groups")
    least = sum(1 + code % NORMED * (2 + dimension) for code in parts if convex_size(code, 1) > 1)
    if dimension > _ZONE_DIMENSION_MOST or len(body.zone_numbers) < least:
        raise UnfitError(f"{len(body.zone_numbers)} numbers make no zones in {dimension} dimensions")
    numbers = np.array(body.zone_numbers, dtype=np.float64)
    if not _all_finite(numbers):
        raise UnfitError("its zones hold numbers that are not finite")
    zones = np.zeros((groups, max(convex_size(code, dimension) for code in parts)))
    for row, code in zip(zones, parts, strict=True):
        own, numbers = unpacked_zone(code, numbers, dimension)
        row[: len(own)] = own
    if len(numbers):
        raise UnfitError(f"{len(numbers)} numbers are left of its zones")
    return zones


def _new_estimate(body: pb.NewEstimate) -> NewEstimate:
    groups = _groups(body)
    estimates = _table(body.estimates, len(groups), "estimates", nan=True)
    if body.sites == 0:
        raise UnfitError("it counts no site")
    zones = _zones(body, len(groups), estimates.shape[1])
    if body.centres not in list(Centres):
        raise UnfitError(f"{body.centres} says nothing of what is collected")
    centres = Centres(body.centres)
    return NewEstimate(body.site, body.version, _pane(body.pane), body.sites, groups, estimates, zones, centres)


def _snapshot(body: pb.Snapshot) -> Snapshot:
    collected = _rows(body.collected)
    everyone = tuple((holding.site, _rows(holding.rows)) for holding in body.everyone)
    estimates = _table(body.estimates, len(collected.groups), "estimates", nan=True)
    shape = collected.sums.shape
    slacks = _table(body.slacks, shape[0], "slacks") if body.slacks else np.zeros(shape)
    if any(rows.sums.shape != shape for _, rows in everyone) or estimates.shape != shape or slacks.shape != shape:
        raise UnfitError("its tables differ in shape")
    if body.sites == 0:
        raise UnfitError("it counts no site")
    return Snapshot(
        body.site, body.version, _pane(body.pane), body.sites, estimates, collected, slacks, everyone or None,
        _zones(body, len(collected.groups), estimates.shape[1]),
    )  # fmt: skip


def _fit(body: pb.Fit) -> Fit:
    d, numbers = body.dimension, np.array(body.numbers, dtype=np.float64)
    each = 1 + d + d * (d + 1) // 2
    parts = len(numbers) // each
    if not 0 < d <= _DIMENSION_MOST or not parts or len(numbers) != parts * each or not _all_finite(numbers):
        raise UnfitError(f"{len(numbers)} numbers make no mixture in {d} dimensions")
    weights, means, lower = np.split(numbers, [parts, parts * (1 + d)])
    below = np.tril_indices(d)
    covariances = np.zeros((parts, d, d))
    covariances[:, below[0], below[1]] = lower.reshape(parts, -1)
    covariances[:, below[1], below[0]] = lower.reshape(parts, -1)
    return Fit(body.site, body.number, _pane(body.pane), weights, means.reshape(parts, d), covariances)


def _heartbeat(body: pb.Heartbeat) -> Heartbeat:
    closed = _pane(body.closed)
    _pane(closed - body.idle_panes)
    return Heartbeat(body.site, body.number, closed, _pane(body.silent), body.version, body.idle_panes)


def _heartbeat_answer(body: pb.HeartbeatAnswer) -> HeartbeatAnswer:
    settled = _pane(body.settled)
    _pane(settled - body.provisional)
    return HeartbeatAnswer(body.site, settled, body.provisional)


_READ: dict[str, Callable[[Any], Message | Control]] = {
    "init": lambda body: Init(body.site, _pane(body.pane), _rows(body.rows)),
    "report": lambda body: Report(body.site, body.number, _pane(body.pane), body.version, _rows(body.rows), body.known),
    "request": lambda body: Request(body.site, body.number, _pane(body.pane), _groups(body)),
    "reply": lambda body: Reply(body.site, body.number, _pane(body.pane), _rows(body.rows)),
    "adjust_slack": _adjust_slack,
    "new_estimate": _new_estimate,
    "broadcast": lambda body: Broadcast(body.site, body.origin, body.version, _pane(body.pane), _rows(body.rows)),
    "snapshot": _snapshot,
    "heartbeat": _heartbeat,
    "heartbeat_answer": _heartbeat_answer,
    "hello": lambda body: Hello(body.site, body.session, _pane(body.oldest), _pane(body.closed)),
    "leave": lambda body: Leave(body.site, body.session),
    "fit": _fit,
    **control_codec.READ,
    **topk_codec.READ,
}
