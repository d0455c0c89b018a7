"""The ledger counts every message once and to the byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tacit.protocols.messages import Heartbeat, HeartbeatAnswer, Leave
from tacit.wire import COORDINATOR, HEARTBEATS, KINDS, Ledger, encode, kind_of
from tests.wire.messages import any_message

ends = st.integers(-1, 3)


@given(st.lists(st.tuples(ends, ends, any_message()), max_size=20))
def test_totals_are_sums_over_messages(sent):
    ledger = Ledger()
    for source, target, message in sent:
        ledger.add(source, target, message)
    counted = [message for _, _, message in sent if kind_of(message) not in HEARTBEATS]
    assert ledger.messages == len(counted)
    assert ledger.bytes == sum(len(encode(message)) for message in counted)
    assert ledger.messages + ledger.heartbeats[0] == len(sent) == sum(ledger.by_kind().values())
    assert sum(ledger.bytes_by_kind().values()) == ledger.bytes + ledger.heartbeats[1]
    assert ledger.as_dict()["total"] == len(counted)
    assert sum(entry["messages"] for entry in ledger.as_dict()["entries"]) == len(sent)


@given(st.lists(st.tuples(ends, ends, any_message()), max_size=10), st.integers(0, 10))
def test_merging_equals_counting_in_one(sent, at):
    whole, left, right = Ledger(), Ledger(), Ledger()
    for number, entry in enumerate(sent):
        whole.add(*entry)
        (left if number < at else right).add(*entry)
    left.merge(right)
    assert left.as_dict() == whole.as_dict()


def test_heartbeats_are_shown_and_not_in_the_total():
    ledger = Ledger()
    ledger.add(0, COORDINATOR, Heartbeat(0, 0, 5, 5, 1))
    ledger.add(COORDINATOR, 0, HeartbeatAnswer(0, 5))
    ledger.add(0, COORDINATOR, Leave(0, 1))
    assert (ledger.messages, ledger.heartbeats[0]) == (1, 2)
    assert ledger.as_dict()["by_kind"] == {"leave": 1}
    assert ledger.as_dict()["entries"][0]["source"] == "coordinator"


def test_many_are_counted_per_target():
    ledger = Ledger()
    ledger.add_many("broadcast", 2, range(5), 1, 40)
    assert (ledger.messages, ledger.bytes, ledger.count(target=4)) == (5, 200, 1)


def test_every_kind_has_one_lower_case_name():
    assert len(set(KINDS.values())) == len(KINDS) == 33
    assert all(name == name.lower() for name in KINDS.values())
