"""A frame carries envelopes in their order and refuses what is none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.vocabulary import ProtocolError
from tacit.wire import decode_frame, encode_frame, frames
from tacit.wire import tacit_pb2 as pb


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_a_frame_survives_the_wire(envelopes):
    assert decode_frame(encode_frame(envelopes)) == envelopes


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_or_read_as_a_frame(data):
    with suppress(ProtocolError):
        assert all(isinstance(envelope, bytes) for envelope in decode_frame(data))


@given(st.lists(st.binary(max_size=300), min_size=1, max_size=5), st.data())
def test_a_frame_cut_short_is_refused_or_ends_between_envelopes(envelopes, data):
    frame = encode_frame(envelopes)
    cut = frame[: data.draw(st.integers(0, len(frame) - 1))]
    with suppress(ProtocolError):
        found = decode_frame(cut)
        assert found == envelopes[: len(found)]
        assert encode_frame(found) == cut


@given(st.binary(max_size=60))
def test_what_is_read_is_what_protobuf_reads(data):
    try:
        found = decode_frame(data)
    except ProtocolError:
        return
    assert list(pb.Frame.FromString(data).envelopes) == found


def test_too_many_envelopes_are_refused_at_both_ends(monkeypatch):
    data = encode_frame([b""] * 5)
    monkeypatch.setattr(frames, "ENVELOPES_MAX", 4)
    with pytest.raises(ProtocolError, match="more than 4 messages"):
        decode_frame(data)
    with pytest.raises(ProtocolError, match="at most 4"):
        encode_frame([b""] * 5)
