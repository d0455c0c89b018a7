"""Control messages to protobuf and back; ``codec.py`` holds the envelope and the protocols' messages.

Reading trusts nothing, as there: lengths must fit together, numbers be finite and in range, texts short enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from tacit.vocabulary import FloatArray
from tacit.wire import tacit_pb2 as pb
from tacit.wire.control import (
    Beats,
    BeatsAnswer,
    Clock,
    Control,
    Counts,
    Install,
    Measure,
    Name,
    Numbers,
    Offer,
    Opening,
    Sample,
    TableOffer,
    Tallies,
    There,
    WatchSet,
    Welcome,
)
from tacit.wire.unfit import UnfitError
from tacit.wire.unfit import pane_in_range as _pane

__all__ = ["GROUPS_MAX", "READ", "WRITE"]

GROUPS_MAX = 1 << 24
"""The largest number that a group may have."""

NAME_MAX = 1 << 10
TEXT_MAX = 1 << 20
WATCHES_MAX = 1 << 20
COLUMNS_MAX = 1 << 16
SECONDS_MAX = 1e9
COUNT_MAX = 1 << 63  # totals are kept in 64 bits with a sign


# Writing: one function per message.


def _write_opening(body: Any, m: Opening) -> None:
    body.version, body.release, body.site, body.instance = m.version, m.release, m.site, m.instance
    for table in m.tables:
        offered = body.tables.add(name=table.name, event_clock=table.event_clock)
        for name, type_ in table.columns:
            offered.columns.add(name=name, type=type_)


def _write_welcome(body: Any, m: Welcome) -> None:
    body.site, body.lease_s, body.heartbeat_s, body.life = m.site, m.lease_s, m.heartbeat_s, m.life


def _write_watch_set(body: Any, m: WatchSet) -> None:
    body.version = m.version
    body.watches.extend(m.watches)


def _write_install(body: Any, m: Install) -> None:
    body.name, body.text, body.protocol, body.paused = m.name, m.text, m.protocol, m.paused
    if m.begin is not None:
        body.begin = m.begin
    if m.measure is not None:
        body.measure.SetInParent()
        body.measure.centres.extend(m.measure.centres.tolist())
        body.measure.units.extend(m.measure.units.tolist())


def _write_offer(body: Any, m: Offer) -> None:
    body.site, body.closed, body.problem = m.site, m.closed, m.problem
    if m.first is not None:
        body.first = m.first
    if m.sample is not None:
        inner = body.sample
        inner.SetInParent()
        inner.columns = m.sample.values.shape[1]
        inner.keys.extend(m.sample.keys.tolist())
        inner.values.extend(m.sample.values.ravel().tolist())
        inner.at.extend(m.sample.at.tolist())
        inner.centres.extend(m.sample.centres.ravel().tolist())


def _write_there(body: Any, m: There) -> None:
    body.pane = m.pane
    body.keys.extend(m.keys)


def _write_names(body: Any, m: Name) -> None:
    body.keys.extend(m.keys)


def _write_numbers(body: Any, m: Numbers) -> None:
    body.first = m.first
    body.keys.extend(m.keys)


def _write_counts(body: Any, m: Counts) -> None:
    body.events, body.panes, body.late, body.no_time = m.events, m.panes, m.late, m.no_time
    if m.full_from is not None:
        body.full_from = m.full_from


def _write_clock(body: Any, m: Clock) -> None:
    body.closed = m.closed


def _write_beats(body: Any, m: Beats) -> None:
    body.site = m.site
    for name in ("watches", "numbers", "closed", "silent", "versions"):
        getattr(body, name).extend(getattr(m, name))
    if any(m.idle_panes):
        body.idle_panes.extend(m.idle_panes)


def _write_beats_answer(body: Any, m: BeatsAnswer) -> None:
    body.site = m.site
    for name in ("watches", "settled", "newest"):
        getattr(body, name).extend(getattr(m, name))
    if any(m.provisional):
        body.provisional.extend(m.provisional)


def _write_tallies(body: Any, m: Tallies) -> None:
    body.watches.extend(m.watches)
    for each in m.counts:
        _write_counts(body.counts.add(), each)


WRITE: dict[type[Any], Callable[[Any, Any], None]] = {
    Opening: _write_opening,
    Welcome: _write_welcome,
    WatchSet: _write_watch_set,
    Install: _write_install,
    Offer: _write_offer,
    Name: _write_names,
    There: _write_there,
    Numbers: _write_numbers,
    Counts: _write_counts,
    Clock: _write_clock,
    Beats: _write_beats,
    BeatsAnswer: _write_beats_answer,
    Tallies: _write_tallies,
}
"""Fill the part of an envelope that belongs to a message."""


# Reading: one function per message.


def _text(value: str, what: str, longest: int = NAME_MAX) -> str:
    if len(value) > longest:
        raise UnfitError(f"its {what} has more than {longest} letters")
    return value


def _named(value: str, what: str) -> str:
    if not value:
        raise UnfitError(f"its {what} is empty")
    return _text(value, what)


def _doubles(values: Iterable[float], count: int | None, what: str, *, nan: bool = False) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if count is not None and len(array) != count:
        raise UnfitError(f"it has {len(array)} {what} where {count} belong")
    if not (np.isfinite(array) | (nan & np.isnan(array))).all():
        raise UnfitError(f"its {what} are not all finite")
    return array


def _keys(keys: Sequence[str]) -> tuple[str, ...]:
    if not keys:
        raise UnfitError("it names no group")
    if len(keys) > GROUPS_MAX:
        raise UnfitError("it names too many groups")
    if len(set(keys)) != len(keys):
        raise UnfitError("it names a group twice")
    return tuple(_text(key, "key", TEXT_MAX) for key in keys)


def _opening(body: pb.Opening) -> Opening:
    tables = tuple(
        TableOffer(
            _named(table.name, "table"),
            tuple((_named(column.name, "column"), _text(column.type, "type", TEXT_MAX)) for column in table.columns),
            table.event_clock,
        )
        for table in body.tables
    )
    if len({table.name for table in tables}) != len(tables):
        raise UnfitError("it offers a table twice")
    return Opening(
        body.version,
        _text(body.release, "release"),
        _named(body.site, "site"),
        _text(body.instance, "instance"),
        tables,
    )


def _welcome(body: pb.Welcome) -> Welcome:
    if not (0 < body.lease_s <= SECONDS_MAX and 0 < body.heartbeat_s <= SECONDS_MAX):
        raise UnfitError("its lease and its heartbeat are not both some seconds")
    return Welcome(body.site, body.lease_s, body.heartbeat_s, _text(body.life, "life"))


def _watch_set(body: pb.WatchSet) -> WatchSet:
    if len(body.watches) > WATCHES_MAX:
        raise UnfitError("it counts too many watches")
    return WatchSet(body.version, tuple(body.watches))


def _install(body: pb.Install) -> Install:
    measure = None
    if body.HasField("measure"):
        measure = Measure(
            _doubles(body.measure.centres, None, "centres"), _doubles(body.measure.units, None, "units")
        )  # fmt: skip
        if not (measure.units > 0).all():
            raise UnfitError("its units are not all above 0")
    return Install(
        _named(body.name, "name"),
        _text(body.text, "text", TEXT_MAX),
        _text(body.protocol, "protocol"),
        body.paused,
        _pane(body.begin) if body.HasField("begin") else None,
        measure,
    )


def _sample(body: pb.Sample) -> Sample:
    keys = np.array(body.keys, dtype=np.int64)
    if (keys[1:] < keys[:-1]).any():
        raise UnfitError("its keys do not rise")
    rows, columns = len(keys), body.columns
    at = _doubles(body.at, None, "centres of its own")
    if columns > COLUMNS_MAX:
        raise UnfitError("it has too many columns")
    # The counts are compared before anything takes their shape, so that no number on the wire asks for memory.
    values = _doubles(body.values, rows * columns, "values").reshape(rows, columns)
    centres = _doubles(body.centres, rows * len(at), "centres", nan=True).reshape(rows, len(at))
    return Sample(keys, values, at, centres)


def _offer(body: pb.Offer) -> Offer:
    return Offer(
        body.site,
        _pane(body.first) if body.HasField("first") else None,
        _pane(body.closed),
        _text(body.problem, "problem", TEXT_MAX),
        _sample(body.sample) if body.HasField("sample") else None,
    )


def _numbers(body: pb.Numbers) -> Numbers:
    keys = _keys(body.keys)
    if body.first + len(keys) - 1 > GROUPS_MAX:
        raise UnfitError("it has a group number that is too large")
    return Numbers(body.first, keys)


def _counts(body: pb.Counts) -> Counts:
    full_from = _pane(body.full_from) if body.HasField("full_from") else None
    if max(body.events, body.panes, body.late, body.no_time) >= COUNT_MAX:
        raise UnfitError("it counts more than there can be")
    return Counts(body.events, body.panes, body.late, full_from, body.no_time)


def _columns(body: Any, *names: str) -> list[tuple[int, ...]]:
    """Columns of numbers, one per watch."""
    columns = [tuple(getattr(body, name)) for name in names]
    if len({len(column) for column in columns}) != 1:
        raise UnfitError("its columns are not equally long")
    if len(columns[0]) > WATCHES_MAX:
        raise UnfitError("it is about too many watches")
    return columns


def _check_panes(*columns: Sequence[int]) -> None:
    for column in columns:
        if column:
            _pane(min(column))
            _pane(max(column))


def _fewer(counts: Sequence[int], panes: Sequence[int], what: str) -> tuple[int, ...]:
    """How many of the panes up to each of these something is said of: none of any, where nothing is said at all."""
    if not counts:
        return (0,) * len(panes)
    if len(counts) != len(panes):
        raise UnfitError(f"its {what} are not as many as its watches")
    _check_panes([pane - count for pane, count in zip(panes, counts, strict=True)])
    return tuple(counts)


def _beats(body: pb.Beats) -> Beats:
    watches, numbers, closed, silent, versions = _columns(body, "watches", "numbers", "closed", "silent", "versions")
    idle = _fewer(body.idle_panes, closed, "idle panes")
    _check_panes(closed, silent)
    return Beats(body.site, watches, numbers, closed, silent, versions, idle)


def _beats_answer(body: pb.BeatsAnswer) -> BeatsAnswer:
    watches, settled, newest = _columns(body, "watches", "settled", "newest")
    provisional = _fewer(body.provisional, settled, "provisional panes")
    _check_panes(settled, newest)
    return BeatsAnswer(body.site, watches, settled, newest, provisional)


def _tallies(body: pb.Tallies) -> Tallies:
    if len(body.watches) != len(body.counts) or len(body.watches) > WATCHES_MAX:
        raise UnfitError(f"{len(body.counts)} counts do not fit {len(body.watches)} watches")
    return Tallies(tuple(body.watches), tuple(map(_counts, body.counts)))


READ: dict[str, Callable[[Any], Control]] = {
    "opening": _opening,
    "welcome": _welcome,
    "watch_set": _watch_set,
    "install": _install,
    "offer": _offer,
    "names": lambda body: Name(_keys(body.keys)),
    "there": lambda body: There(_pane(body.pane), _keys(body.keys)),
    "numbers": _numbers,
    "counts": _counts,
    "clock": lambda body: Clock(_pane(body.closed)),
    "beats": _beats,
    "beats_answer": _beats_answer,
    "tallies": _tallies,
}
"""The message in a part of an envelope, by the name of its kind; an UnfitError when it holds none."""
