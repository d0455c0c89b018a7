"""A frame carries envelopes in their order and refuses what is none."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.vocabulary import ProtocolError
from tacit.wire import decode_frame, encode_frame, frames
from tacit.wire import tacit_pb2 as pb
from tacit.wire.frames import cut_frames, key_runs


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


@given(st.lists(st.binary(max_size=30), max_size=20), st.integers(1, 60))
def test_much_is_cut_into_frames_that_are_not_too_large(envelopes, volume):
    cut = [decode_frame(frame) for frame in cut_frames(envelopes, volume)]
    assert [envelope for frame in cut for envelope in frame] == envelopes
    assert all(len(frame) == 1 or sum(map(len, frame)) <= volume for frame in cut)


def test_very_many_envelopes_are_cut_too(monkeypatch):
    monkeypatch.setattr(frames, "ENVELOPES_MAX", 3)
    assert [len(decode_frame(frame)) for frame in cut_frames([b"x"] * 7)] == [3, 3, 1]


@given(st.lists(st.text(max_size=30), max_size=20))
def test_keys_go_in_runs(keys):
    assert [key for run in key_runs(keys) for key in run] == keys


def test_long_keys_go_in_shorter_runs():
    runs = list(key_runs(["x" * 100_000] * 10))
    assert [len(run) for run in runs] == [2] * 5
