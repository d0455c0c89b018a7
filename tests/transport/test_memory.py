"""In memory: delivered at once and in order, counted to the byte."""

from __future__ import annotations

import pytest

from tacit.protocols.messages import Heartbeat, HeartbeatAnswer, Leave
from tacit.transport import MemoryNetwork
from tacit.wire import COORDINATOR, Ledger, size


def test_a_conversation_ends_before_the_next_begins():
    network = MemoryNetwork()
    heard: list[tuple[int, object]] = []

    def coordinator(message):
        heard.append((COORDINATOR, message))
        return (HeartbeatAnswer(message.site, 1), HeartbeatAnswer(message.site, 2)) if message.site == 0 else ()

    def site(message):
        heard.append((0, message))
        return (Leave(5, message.settled),)

    network.attach(COORDINATOR, coordinator)
    network.attach(0, site)
    network.send(0, (Heartbeat(0, 1, 1, 1, 1),))
    kinds = [(who, type(message).__name__) for who, message in heard]
    assert kinds == [(-1, "Heartbeat"), (0, "HeartbeatAnswer"), (0, "HeartbeatAnswer"), (-1, "Leave"), (-1, "Leave")]


def test_every_message_is_counted_even_when_nobody_listens():
    ledger = Ledger()
    network = MemoryNetwork(ledger)
    leave = Leave(3, 1)
    network.send(3, (leave, leave))
    assert (ledger.messages, ledger.bytes) == (2, 2 * size(leave))


def test_a_detached_process_hears_nothing():
    network = MemoryNetwork()
    network.attach(COORDINATOR, pytest.fail)
    network.detach(COORDINATOR)
    network.send(0, (Leave(0, 1),))


def test_an_error_in_a_handler_does_not_jam_the_network():
    network = MemoryNetwork()
    network.attach(COORDINATOR, lambda message: 1 / 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            network.send(0, (Leave(0, 1),))
