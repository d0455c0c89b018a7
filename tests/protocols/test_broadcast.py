"""The cascade: numbers, estimates and snapshots of the decentralised algorithm."""

from __future__ import annotations

import pytest

from tacit.protocols.messages import Broadcast, Reply, Snapshot
from tacit.vocabulary import ProtocolError
from tests.protocols.watches import answer, cascade, rows, talk


def started(**options):
    machine = cascade(3, **options)
    talk(machine, machine.collect_all(0), [rows(1), rows(2), rows(3)])
    return machine


def test_a_start_collects_everyone_and_sends_everyone_all_vectors():
    machine = cascade(3)
    messages = talk(machine, machine.collect_all(0), [rows(1), rows(2), rows(3)])
    assert [type(message) for message in messages] == [Snapshot] * 3
    assert [site for site, _ in messages[0].everyone] == [0, 1, 2]
    assert machine.zones.estimate[0, 0] == 6.0


def test_violations_of_a_pane_are_broadcast_together_in_the_order_of_sites():
    machine = started()
    messages = machine.start(1, [(2, rows(9)), (0, rows(8))])
    assert [(message.origin, message.site) for message in messages] == [(o, s) for o in (0, 2) for s in range(3)]
    assert all(isinstance(message, Broadcast) for message in messages)
    assert {message.version for message in messages} == {2, 3}
    assert (machine.zones.estimate[0, 0], machine.zones.answer[0]) == (19.0, 1)


def test_an_abandoned_collection_has_no_effect():
    machine = started()
    first, *_ = machine.collect_all(1)
    machine.receive(answer(first, rows(100)))
    machine.abandon()
    assert machine.books.collected[:, 0, 0].tolist() == [1, 2, 3]
    assert machine.awaited == ()


def test_late_and_doubled_replies_change_nothing():
    machine = cascade(2)
    first, second = machine.collect_all(0)
    assert machine.receive(Reply(0, second.number, 0, rows(9))) == ()
    reply = answer(first, rows(1))
    assert machine.receive(reply) == ()
    assert machine.receive(reply) == ()
    assert machine.receive(answer(second, rows(2)))
    assert machine.receive(reply) == ()
    assert machine.zones.estimate[0, 0] == 3.0


def test_only_one_collection_at_a_time():
    machine = cascade(2)
    machine.collect_all(0)
    with pytest.raises(ProtocolError, match="under way"):
        machine.collect_all(1)


def test_sites_that_join_share_the_version_of_all():
    machine = started()
    machine.grow(5)
    assert machine.versions.tolist() == [1] * 5
    assert not machine.available[3:].any()
