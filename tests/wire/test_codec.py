"""Every message survives the wire; everything else is refused with one sentence."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.protocols.messages import Heartbeat, Init, Reply, Report, Request, Rows
from tacit.vocabulary import ProtocolError
from tacit.wire import decode, encode, size
from tacit.wire import tacit_pb2 as pb
from tacit.wire.codec import VERSION, watch_of
from tests.wire.messages import any_message, same

ROOT = Path(__file__).resolve().parents[2]
ONE = Rows(np.zeros(1, dtype=np.int64), np.array([[1.0, 2.0]]), np.empty(0))


def complaint(data: bytes) -> str:
    """What decode says against these bytes; nothing when they happen to be a message."""
    try:
        decode(data)
    except ProtocolError as error:
        return str(error)
    return ""


@given(any_message(), st.integers(0, 2**40))
def test_a_message_survives_the_wire(message, watch):
    data = encode(message, watch)
    assert same(decode(data), message)
    assert watch_of(data) == watch


@given(any_message())
def test_size_is_the_length_to_the_byte(message):
    assert size(message) == len(encode(message))


@given(st.integers(0, 3), st.lists(st.integers(1, 2**21), min_size=1, max_size=8))
def test_size_counts_every_length_of_a_group_number(first, gaps):
    groups = np.cumsum([first, *gaps])
    request = Request(0, 0, 0, groups[groups <= 1 << 24])
    assert size(request) == len(encode(request))


def test_a_report_of_two_sums_takes_few_bytes():
    assert size(Report(site=3, number=1, pane=20, version=2, rows=ONE)) == 32


def test_the_single_group_0_and_fixed_weights_cost_nothing():
    grouped = Rows(np.array([5]), ONE.sums, np.empty(0))
    weighted = Rows(ONE.groups, ONE.sums, np.array([3.0]))
    plain = size(Reply(0, 1, 1, ONE))
    assert size(Reply(0, 1, 1, grouped)) == plain + 5
    assert size(Reply(0, 1, 1, weighted)) == plain + 10


def test_all_groups_of_a_large_watch_are_named_in_a_few_bytes():
    assert size(Request(1, 1, 1, np.arange(8848))) < 20


@given(st.binary(max_size=80))
def test_bytes_that_are_no_message_are_refused(data):
    assert "\n" not in complaint(data)


@given(any_message(), st.data())
def test_a_garbled_message_is_refused_or_read_as_another_one(message, data):
    good = bytearray(encode(message))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    assert "\n" not in complaint(bytes(good))


@given(any_message(), st.data())
def test_a_message_cut_short_is_refused(message, data):
    good = encode(message)
    at = data.draw(st.integers(0, len(good) - 1))
    with pytest.raises(ProtocolError):
        decode(good[:at])


def test_another_version_is_refused():
    envelope = pb.Envelope.FromString(encode(Heartbeat(0, 1, 2, 2, 1)))
    envelope.version = VERSION + 1
    with pytest.raises(ProtocolError, match=rf"version {VERSION + 1} .* speaks version {VERSION}"):
        decode(envelope.SerializeToString())


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda rows: rows.sums.append(1.0), "3 sums do not fit 2 groups"),
        (lambda rows: rows.ClearField("sums"), "0 sums do not fit 2 groups"),
        (lambda rows: rows.weights.extend([1.0]), "1 weights do not fit 2 groups"),
        (lambda rows: rows.weights.extend([1.0, -1.0]), "at least 0"),
        (lambda rows: rows.weights.extend([1.0, float("nan")]), "at least 0"),
        (lambda rows: rows.sums.__setitem__(0, float("nan")), "not all finite"),
        (lambda rows: rows.sums.__setitem__(0, float("inf")), "not all finite"),
        (lambda rows: rows.groups.gaps.append(3), "twice"),
        (lambda rows: setattr(rows.groups, "count", 1 << 60), "cannot be"),
        (lambda rows: setattr(rows.groups, "count", 1), "cannot be"),
        (lambda rows: setattr(rows.groups, "first", 1 << 50), "cannot be"),
    ],
)
def test_numbers_that_do_not_fit_together_are_refused(spoil, reason):
    rows = Rows(np.arange(2), np.array([[1.0], [2.0]]), np.empty(0))
    envelope = pb.Envelope.FromString(encode(Reply(0, 1, 1, rows)))
    spoil(envelope.reply.rows)
    with pytest.raises(ProtocolError, match=reason):
        decode(envelope.SerializeToString())


def test_gaps_that_add_up_to_an_absurd_group_are_refused():
    envelope = pb.Envelope(version=VERSION)
    envelope.request.groups.gaps.extend([1 << 23] * 4)
    with pytest.raises(ProtocolError, match="too large"):
        decode(envelope.SerializeToString())


def test_a_negative_site_cannot_be_sent():
    with pytest.raises(ProtocolError, match="outside of its range"):
        encode(Heartbeat(-1, 0, 0, 0, 0))


def test_a_message_about_no_group_survives_the_wire():
    init = Init(3, 0, Rows(np.empty(0, dtype=np.int64), np.empty((0, 0)), np.empty(0)))
    assert same(decode(encode(init)), init)
    assert size(init) == len(encode(init))


def test_a_request_for_no_group_and_a_reply_about_none_survive_the_wire():
    none = np.empty(0, dtype=np.int64)
    request, reply = Request(3, 7, -1, none), Reply(3, 7, -1, Rows(none, np.empty((0, 0)), np.empty(0)))
    for message in (request, reply):
        assert same(decode(encode(message)), message)
        assert size(message) == len(encode(message))
    assert decode(encode(Reply(3, 7, -1, Rows(none, np.empty((0, 4)), np.empty(0))))).rows.sums.size == 0


def test_the_generated_code_belongs_to_the_proto(tmp_path):
    pytest.importorskip("grpc_tools")
    subprocess.run([sys.executable, ROOT / "tools" / "generate_wire.py", tmp_path], check=True, timeout=60)
    made = (tmp_path / "tacit" / "wire" / "tacit_pb2.pyi").read_text()
    assert made == (ROOT / "src" / "tacit" / "wire" / "tacit_pb2.pyi").read_text()
