"""Every control message survives the wire; everything else is refused with one sentence."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.vocabulary import ProtocolError
from tacit.wire import HEARTBEATS, decode, encode, kind_of
from tacit.wire import tacit_pb2 as pb
from tacit.wire.codec import watch_of
from tacit.wire.control import Clock, Control, Counts, Install, Measure, Name, Numbers, Offer, Opening, Sample, Welcome
from tests.wire.controls import any_control
from tests.wire.messages import same

MEASURE = Measure(np.array([0.5]), np.array([2.0, 4.0]))
SAMPLE = Sample(np.array([-3, 8]), np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.5]), np.array([[0.1], [np.nan]]))


def complaint(data: bytes) -> str:
    """What decode says against these bytes; nothing when they happen to be a message."""
    try:
        decode(data)
    except ProtocolError as error:
        return str(error)
    return ""


@given(any_control(), st.integers(0, 2**40))
def test_a_control_message_survives_the_wire(message, watch):
    data = encode(message, watch)
    assert same(decode(data), message)
    assert watch_of(data) == watch


@given(any_control(), st.data())
def test_a_garbled_control_message_is_refused_or_read_as_another_one(message, data):
    good = bytearray(encode(message))
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(good) - 1))
        good[at] ^= data.draw(st.integers(1, 255))
    assert "\n" not in complaint(bytes(good))


@given(any_control(), st.data())
def test_a_control_message_cut_short_is_refused(message, data):
    good = encode(message)
    with pytest.raises(ProtocolError):
        decode(good[: data.draw(st.integers(0, len(good) - 1))])


@given(any_control())
def test_a_control_message_is_told_from_a_protocols(message):
    assert isinstance(decode(encode(message)), Control)


def spoiled(message: Control, spoil) -> bytes:
    envelope = pb.Envelope.FromString(encode(message))
    spoil(getattr(envelope, kind_of(message)))
    return envelope.SerializeToString()


@pytest.mark.parametrize(
    ("message", "spoil", "reason"),
    [
        (Welcome(1, 10.0, 1.0), lambda m: setattr(m, "lease_s", float("nan")), "lease"),
        (Welcome(1, 10.0, 1.0), lambda m: setattr(m, "heartbeat_s", float("inf")), "heartbeat"),
        (Welcome(1, 10.0, 1.0), lambda m: setattr(m, "lease_s", 0.0), "lease"),
        (Opening(2, "1", "a", "x", ()), lambda m: setattr(m, "site", ""), "its site is empty"),
        (Opening(2, "1", "a", "x", ()), lambda m: setattr(m, "site", "a" * 2000), "more than 1024 letters"),
        (Opening(2, "1", "a", "x", ()), lambda m: [m.tables.add(name="t") for _ in "12"], "a table twice"),
        (Install("w", "t", "p", False, 0, MEASURE), lambda m: m.measure.units.append(0.0), "units are not all above 0"),
        (Install("w", "t", "p", False, 0, MEASURE), lambda m: m.measure.units.append(float("inf")), "not all finite"),
        (Install("w", "t", "p", False, 0, MEASURE), lambda m: m.measure.centres.append(float("nan")), "not all finite"),
        (Install("w", "t", "p", False, 0, None), lambda m: m.ClearField("name"), "its name is empty"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: m.sample.keys.append(9), "4 values where 6 belong"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: m.sample.keys.__setitem__(1, -4), "do not rise"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: setattr(m.sample, "columns", 2**31), "too many columns"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: m.sample.at.append(1.0), "2 centres where 4 belong"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: m.sample.values.__setitem__(0, float("nan")), "not all finite"),
        (Offer(0, 1, 2, "", SAMPLE), lambda m: m.sample.centres.__setitem__(0, float("inf")), "not all finite"),
        (Name(("a",)), lambda m: m.keys.append("a"), "a group twice"),
        (Name(("a",)), lambda m: m.ClearField("keys"), "no group"),
        (Numbers(0, ("a",)), lambda m: setattr(m, "first", 1 << 60), "too large"),
    ],
)
def test_what_does_not_fit_together_is_refused(message, spoil, reason):
    with pytest.raises(ProtocolError, match=reason) as caught:
        decode(spoiled(message, spoil))
    assert "\n" not in str(caught.value)


def test_what_cannot_be_written_is_refused_in_words():
    with pytest.raises(ProtocolError, match="outside of its range"):
        encode(Counts(-1, 0, 0, None))
    with pytest.raises(ProtocolError, match="outside of its range"):
        encode(Name(("\ud800",)))


def test_what_travels_with_heartbeats_counts_as_one_and_is_small():
    assert {kind_of(Counts(1, 1, 0, None)), kind_of(Clock(3))} < HEARTBEATS
    assert len(encode(Counts(100, 20, 0, None), 3)) <= 10
    assert len(encode(Clock(1000), 3)) <= 10
