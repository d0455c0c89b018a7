"""The messages of the top-k protocol to protobuf and back, and their exact sizes; ``codec.py`` has the envelope.

Reading trusts nothing, as there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from tacit.protocols.topico import Candidates, Circular, Nomination
from tacit.protocols.topk.messages import (
    ALL,
    Challenge,
    Entries,
    Flag,
    Inquiry,
    Ranked,
    Ranking,
    Showing,
    Shown,
    Sought,
)
from tacit.vocabulary import BoolArray, FloatArray
from tacit.wire.sizes import VERSION_BYTES, nested, signed, unsigned
from tacit.wire.unfit import UnfitError
from tacit.wire.unfit import pane_in_range as _pane

__all__ = ["KEY_MAX", "READ", "WRITE", "TopkMessage", "topk_size"]

TopkMessage = Challenge | Inquiry | Showing | Ranking | Candidates | Nomination | Circular

KEY_MAX = 1 << 16
FLAGS = int(Flag.MEMBER | Flag.GUARD | Flag.KNOWN)


# Writing.


def _missing(held: BoolArray) -> bytes:
    return b"" if held.all() else np.packbits(~held, bitorder="little").tobytes()


def _write_shown(body: Any, shown: Shown) -> None:
    body.list, body.border, body.relief, body.broken = shown.list, shown.border, shown.relief, shown.broken
    if len(shown.entries):
        body.entries.keys.extend(shown.entries.keys)
        body.entries.values.extend(shown.entries.values.tolist())
        body.entries.missing = _missing(shown.entries.held)


def _write_challenge(body: Any, m: Challenge) -> None:
    body.site, body.number, body.pane, body.version, body.updates = m.site, m.number, m.pane, m.version, m.updates
    for shown in m.lists:
        _write_shown(body.lists.add(), shown)


def _write_inquiry(body: Any, m: Inquiry) -> None:
    body.version = m.version
    body.site, body.number, body.pane = m.site, m.number, m.pane
    for sought in m.lists:
        body.lists.add(list=sought.list, keys=sought.keys, depth=sought.depth, relief=sought.relief)


def _write_showing(body: Any, m: Showing) -> None:
    body.site, body.number, body.pane, body.updates = m.site, m.number, m.pane, m.updates
    for shown in m.lists:
        _write_shown(body.lists.add(), shown)


def _write_ranking(body: Any, m: Ranking) -> None:
    body.site, body.version, body.pane, body.again, body.whole = m.site, m.version, m.pane, m.again, m.whole
    for ranked in m.lists:
        body.lists.add(
            list=ranked.list, keys=ranked.keys, deltas=ranked.deltas.tolist(), flags=bytes(ranked.flags),
            open=ranked.open, full=ranked.full, plain=ranked.plain, ranked=ranked.width < math.inf,
            width=ranked.width if ranked.width < math.inf else 0.0, scores=ranked.scores.tolist(),
        )  # fmt: skip


def _write_candidates(body: Any, m: Candidates) -> None:
    body.site, body.pane, body.own = m.site, m.pane, m.own
    body.keys.extend(m.keys)
    body.values.extend(m.values.tolist())
    body.list = m.list


def _write_nomination(body: Any, m: Nomination) -> None:
    body.site, body.number, body.pane, body.version = m.site, m.number, m.pane, m.version
    for each in m.candidates:
        _write_candidates(body.candidates.add(), each)


def _write_circular(body: Any, m: Circular) -> None:
    body.site, body.version, body.pane, body.again = m.site, m.version, m.pane, m.again
    for each in m.candidates:
        _write_candidates(body.candidates.add(), each)


WRITE: dict[type, Callable[[Any, Any], None]] = {
    Candidates: _write_candidates,
    Nomination: _write_nomination,
    Circular: _write_circular,
    Challenge: _write_challenge,
    Inquiry: _write_inquiry,
    Showing: _write_showing,
    Ranking: _write_ranking,
}


# Reading.


def _keys(keys: Iterable[str]) -> tuple[str, ...]:
    found = tuple(keys)
    if any(len(key) > KEY_MAX for key in found):
        raise UnfitError("it has a key that is too long")
    if len(set(found)) != len(found):
        raise UnfitError("it names an object twice")
    return found


def _numbers(values: Iterable[float], keys: tuple[str, ...], what: str) -> FloatArray:
    array = np.array(values, dtype=np.float64)
    if len(array) != len(keys):
        raise UnfitError(f"{len(array)} {what} do not fit {len(keys)} objects")
    if not np.isfinite(array).all():
        raise UnfitError(f"its {what} are not all finite")
    return array


def _shown(body: Any) -> Shown:
    keys = _keys(body.entries.keys)
    values = _numbers(body.entries.values, keys, "scores")
    missing = np.zeros(len(keys), dtype=np.bool_)
    if body.entries.missing:
        bits = np.unpackbits(np.frombuffer(body.entries.missing, dtype=np.uint8), bitorder="little")
        if len(body.entries.missing) != (len(keys) + 7) // 8 or bits[len(keys) :].any():
            raise UnfitError("what it says to have rows of does not fit its objects")
        missing = bits[: len(keys)] > 0
    if np.isnan(body.border) or body.border == np.inf:
        raise UnfitError("its border is no number")
    if not (0.0 <= body.relief < np.inf):
        raise UnfitError("its relief is no amount")
    if body.relief and len(keys) > 1:
        raise UnfitError("its relief is for more than one object")
    return Shown(body.list, Entries(keys, values, ~missing), body.border, body.relief, body.broken)


def _once(parts: list[Any]) -> tuple[Any, ...]:
    if len({part.list for part in parts}) != len(parts):
        raise UnfitError("it speaks of a list twice")
    if any(len(part.list) > KEY_MAX for part in parts):
        raise UnfitError("it names a list by too long a text")
    return tuple(parts)


def _sought(body: Any) -> Sought:
    alone = len(body.keys) == 1 or body.depth == ALL  # what a relief is about
    if body.depth < ALL or not 0.0 <= body.relief < np.inf or (body.relief and not alone):
        raise UnfitError("it asks for what cannot be shown")
    return Sought(body.list, _keys(body.keys), body.depth, body.relief)


def _ranked(body: Any) -> Ranked:
    keys = _keys(body.keys)
    if len(body.flags) != len(keys) or any(flag > FLAGS for flag in body.flags):
        raise UnfitError("its flags do not fit its objects")
    deltas = _numbers(body.deltas, keys, "adjustments")
    if not 0.0 <= body.width < math.inf:
        raise UnfitError("its width is none")
    width = body.width if body.ranked else math.inf
    scores = _numbers(body.scores, keys, "scores") if body.scores or body.ranked else np.empty(0)
    return Ranked(body.list, keys, deltas, tuple(body.flags), body.open, body.full, body.plain, width, scores)


def _challenge(body: Any) -> Challenge:
    lists = _once([_shown(each) for each in body.lists])
    if not lists:
        raise UnfitError("it challenges nothing")
    return Challenge(body.site, body.number, _pane(body.pane), body.version, body.updates, lists)


def _candidates(body: Any) -> Candidates:
    keys = _keys(body.keys)
    if body.own > len(keys):
        raise UnfitError(f"{body.own} of its {len(keys)} candidates are its own")
    return Candidates(body.site, _pane(body.pane), keys, _numbers(body.values, keys, "counts"), body.own, body.list)


READ: dict[str, Callable[[Any], TopkMessage]] = {
    "candidates": _candidates,
    "nomination": lambda body: Nomination(
        body.site, body.number, _pane(body.pane), body.version, tuple(map(_candidates, body.candidates))
    ),
    "circular": lambda body: Circular(
        body.site, body.version, _pane(body.pane), tuple(map(_candidates, body.candidates)), body.again
    ),
    "challenge": _challenge,
    "inquiry": lambda body: Inquiry(
        body.site, body.number, _pane(body.pane), _once([_sought(each) for each in body.lists]), body.version
    ),
    "showing": lambda body: Showing(
        body.site, body.number, _pane(body.pane), body.updates, _once([_shown(each) for each in body.lists])
    ),
    "ranking": lambda body: Ranking(
        body.site,
        body.version,
        _pane(body.pane),
        _once([_ranked(each) for each in body.lists]),
        body.again,
        body.whole,
    ),
}


# Sizes.


def topk_size(message: TopkMessage) -> int:
    """The length of ``encode(message)`` for watch 0."""
    return VERSION_BYTES + 1 + nested(_BODY[type(message)](message))  # its number in the envelope takes two bytes


@lru_cache(maxsize=1 << 16)
def _one(text: str) -> int:
    return nested(len(text.encode()))


def _texts(keys: tuple[str, ...]) -> int:
    return sum(map(_one, keys))


def _text(text: str) -> int:
    return _one(text) if text else 0


def _double(number: float) -> int:
    return 9 if number or math.copysign(1.0, number) < 0 else 0


def _shown_size(shown: Shown) -> int:
    size = _text(shown.list) + _double(shown.border) + _double(shown.relief) + unsigned(shown.broken)
    if len(shown.entries):
        missing = 0 if shown.entries.held.all() else nested((len(shown.entries) + 7) // 8)
        size += nested(_texts(shown.entries.keys) + nested(8 * len(shown.entries)) + missing)
    return nested(size)


def _sought_size(sought: Sought) -> int:
    return nested(_text(sought.list) + _texts(sought.keys) + signed(sought.depth) + _double(sought.relief))


def _ranked_size(ranked: Ranked) -> int:
    many = len(ranked.keys)
    numbers = nested(8 * many) + nested(many) if many else 0
    flags = 2 * (ranked.open + ranked.full + ranked.plain)
    if ranked.width < math.inf:
        flags += 2 + _double(ranked.width) + (nested(8 * many) if many else 0)
    return nested(_text(ranked.list) + _texts(ranked.keys) + numbers + flags)


def _head(m: Challenge | Inquiry | Showing) -> int:
    return unsigned(m.site) + unsigned(m.number) + signed(m.pane)


def _candidates_size(m: Candidates) -> int:
    numbers = nested(8 * len(m.keys)) if m.keys else 0
    return unsigned(m.site) + signed(m.pane) + _texts(m.keys) + numbers + unsigned(m.own) + _text(m.list)


def _all_candidates_size(m: Nomination | Circular) -> int:
    parts = sum(nested(_candidates_size(each)) for each in m.candidates)
    return unsigned(m.site) + unsigned(m.version) + signed(m.pane) + parts


_BODY: dict[type, Callable[[Any], int]] = {
    Candidates: _candidates_size,
    Nomination: lambda m: _all_candidates_size(m) + unsigned(m.number),
    Circular: lambda m: _all_candidates_size(m) + 2 * m.again,
    Challenge: lambda m: _head(m) + unsigned(m.version) + unsigned(m.updates) + sum(map(_shown_size, m.lists)),
    Inquiry: lambda m: _head(m) + unsigned(m.version) + sum(map(_sought_size, m.lists)),
    Showing: lambda m: _head(m) + unsigned(m.updates) + sum(map(_shown_size, m.lists)),
    Ranking: lambda m: (
        unsigned(m.site)
        + unsigned(m.version)
        + signed(m.pane)
        + sum(map(_ranked_size, m.lists))
        + 2 * m.again
        + 2 * m.whole
    ),
}
