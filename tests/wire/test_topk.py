"""The messages of the top-k protocol survive the wire, and their sizes are exact."""

from __future__ import annotations

import contextlib
import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.protocols.topico import Candidates, Circular, Nomination
from tacit.protocols.topk.messages import (
    ALL,
    Challenge,
    Entries,
    Inquiry,
    Ranked,
    Ranking,
    Showing,
    Shown,
    Sought,
)
from tacit.vocabulary import ProtocolError
from tacit.wire import tacit_pb2 as pb
from tacit.wire.codec import VERSION, decode, encode
from tacit.wire.topk_codec import topk_size

numbers = st.integers(0, 2**40)
sites = st.integers(0, 2**16)
panes = st.integers(-(2**40), 2**40)
doubles = st.floats(allow_nan=False, allow_infinity=False)
keys = st.lists(st.text(max_size=8), unique=True, max_size=6).map(tuple)
texts = st.sampled_from(["", '["north"]', "é"])


@st.composite
def entries(draw: st.DrawFn) -> Entries:
    named = draw(keys)
    exactly = {"min_size": len(named), "max_size": len(named)}
    values = np.array(draw(st.lists(doubles, **exactly)), dtype=np.float64)
    return Entries(named, values, np.array(draw(st.lists(st.booleans(), **exactly)), dtype=np.bool_))


shown = st.builds(Shown, texts, entries(), doubles | st.just(-np.inf), st.just(0.0), st.integers(0, 2**20))
sought = st.builds(Sought, texts, keys, st.integers(ALL, 2**20))


@st.composite
def ranked(draw: st.DrawFn) -> Ranked:
    named = draw(keys)
    deltas = np.array(draw(st.lists(doubles, min_size=len(named), max_size=len(named))), dtype=np.float64)
    flags = tuple(draw(st.lists(st.integers(0, 7), min_size=len(named), max_size=len(named))))
    width = draw(st.floats(0, 1e9) | st.just(np.inf))
    scores = -deltas if width < np.inf else np.empty(0)
    return Ranked(draw(texts), named, deltas, flags, *draw(st.tuples(*[st.booleans()] * 3)), width, scores)


def several(part, least=0):
    return st.lists(part, min_size=least, max_size=3, unique_by=lambda each: each.list).map(tuple)


@st.composite
def candidates(draw: st.DrawFn) -> Candidates:
    named = draw(keys)
    values = np.array(draw(st.lists(doubles, min_size=len(named), max_size=len(named))), dtype=np.float64)
    return Candidates(draw(sites), draw(panes), named, values, draw(st.integers(0, len(named))), draw(texts))


messages = st.one_of(
    candidates(),
    st.builds(Challenge, sites, numbers, panes, numbers, numbers, several(shown, 1)),
    st.builds(Inquiry, sites, numbers, panes, several(sought), numbers),
    st.builds(Nomination, sites, numbers, panes, numbers, st.lists(candidates(), max_size=3).map(tuple)),
    st.builds(Circular, sites, numbers, panes, st.lists(candidates(), max_size=3).map(tuple), st.booleans()),
    st.builds(Showing, sites, numbers, panes, numbers, several(shown)),
    st.builds(Ranking, sites, numbers, panes, several(ranked()), st.booleans(), st.booleans()),
)


def plain(value):
    """The same with arrays as lists, to be compared."""
    if dataclasses.is_dataclass(value):
        return [type(value).__name__, *(plain(getattr(value, each.name)) for each in dataclasses.fields(value))]
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(each) for each in value] if isinstance(value, tuple) else value


@given(messages)
def test_a_message_survives_the_wire(message):
    assert plain(decode(encode(message))) == plain(message)


@given(messages)
def test_size_is_the_length_to_the_byte(message):
    assert topk_size(message) == len(encode(message))


@given(messages, st.data())
def test_a_garbled_message_is_refused_or_read_as_another_one(message, data):
    garbled = bytearray(encode(message))
    garbled[data.draw(st.integers(0, len(garbled) - 1))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(ProtocolError):
        decode(bytes(garbled))


def _spoiled(kind, spoil):
    envelope = pb.Envelope(version=VERSION)
    body = getattr(envelope, kind)
    body.site = 1
    spoil(body)
    return envelope.SerializeToString()


@pytest.mark.parametrize(
    ("kind", "spoil", "reason"),
    [
        ("challenge", lambda body: None, "challenges nothing"),
        ("challenge", lambda body: body.lists.add(border=np.nan), "border"),
        ("challenge", lambda body: body.lists.add(relief=-1.0), "relief"),
        ("challenge", lambda body: [body.lists.add(list="a"), body.lists.add(list="a")], "a list twice"),
        ("challenge", lambda body: body.lists.add().entries.keys.append("a"), "0 scores do not fit 1 objects"),
        ("showing", lambda body: body.lists.add().entries.keys.extend(["a", "a"]), "an object twice"),
        ("inquiry", lambda body: body.lists.add(depth=-2), "cannot be shown"),
        ("inquiry", lambda body: body.lists.add(relief=1.0), "cannot be shown"),
        ("candidates", lambda body: setattr(body, "own", 1), "1 of its 0 candidates"),
        ("ranking", lambda body: body.lists.add(keys=["a"], deltas=[np.inf], flags=b"\0"), "not all finite"),
        ("ranking", lambda body: body.lists.add(keys=["a"], deltas=[0.0], flags=b"\x09"), "flags"),
        ("ranking", lambda body: body.lists.add(keys=["a" * 70_000], deltas=[0.0], flags=b"\1"), "too long"),
    ],
)
def test_what_does_not_fit_together_is_refused(kind, spoil, reason):
    with pytest.raises(ProtocolError, match=reason):
        decode(_spoiled(kind, spoil))
