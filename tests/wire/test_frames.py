"""A frame carries envelopes in their order and refuses what is none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.vocabulary import ProtocolError
from tacit.wire import decode_frame, encode_frame, frames


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_a_frame_survives_the_wire(envelopes):
    assert decode_frame(encode_frame(envelopes)) == envelopes


@given(st.binary(max_size=60))
def test_other_bytes_are_refused_or_read_as_a_frame(data):
    with suppress(ProtocolError):
        assert all(isinstance(envelope, bytes) for envelope in decode_frame(data))


def test_too_many_envelopes_are_refused_at_both_ends(monkeypatch):
    data = encode_frame([b""] * 5)
    monkeypatch.setattr(frames, "ENVELOPES_MAX", 4)
    with pytest.raises(ProtocolError, match="with 5 messages; at most 4"):
        decode_frame(data)
    with pytest.raises(ProtocolError, match="at most 4"):
        encode_frame([b""] * 5)
