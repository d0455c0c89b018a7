"""The simulated network: each fault does what its name says, and everything follows from the seed."""

from __future__ import annotations

import pytest

from tacit.protocols.messages import Heartbeat, HeartbeatAnswer
from tacit.transport import Faults, Outage, Partition, SimulatedNetwork
from tacit.wire import COORDINATOR

COUNT = 400


def deliveries(faults: Faults | None = None, seed: int = 1, every: float = 0.001) -> list[tuple[float, int]]:
    """Site 0 sends numbered heartbeats; when each arrives."""
    network = SimulatedNetwork(seed, faults)
    arrived: list[tuple[float, int]] = []
    network.attach(COORDINATOR, lambda message: arrived.append((network.now, message.number)))
    for number in range(COUNT):
        network.at(number * every, lambda number=number: network.send(0, Heartbeat(0, number, 0, 0, 0)))
    network.run(1000.0)
    assert network.in_flight == 0
    return arrived


def numbers(faults: Faults | None = None, **options: float) -> list[int]:
    return [number for _, number in deliveries(faults, **options)]


def test_without_faults_everything_arrives_once_and_in_order():
    assert numbers() == list(range(COUNT))


def test_the_same_seed_gives_the_same_run():
    faults = Faults(until=1e9, loss=0.2, duplication=0.2, reordering=0.5, delay_mean=0.1, straggling=0.1)
    assert deliveries(faults, seed=4) == deliveries(faults, seed=4)
    assert deliveries(faults, seed=4) != deliveries(faults, seed=5)


def test_loss_loses_its_share():
    assert COUNT * 0.5 < len(numbers(Faults(until=1e9, loss=0.3))) < COUNT * 0.9


def test_duplication_doubles_its_share():
    arrived = numbers(Faults(until=1e9, duplication=0.3))
    assert set(arrived) == set(range(COUNT))
    assert COUNT * 1.1 < len(arrived) < COUNT * 1.5


def test_delay_alone_keeps_the_order_and_reordering_does_not():
    assert numbers(Faults(until=1e9, delay_mean=0.5)) == list(range(COUNT))
    assert numbers(Faults(until=1e9, delay_mean=0.5, reordering=0.5)) != list(range(COUNT))


def test_faults_and_delays_end():
    times = [when for when, _ in deliveries(Faults(until=0.2, straggling=1.0, straggling_max=50.0))]
    assert max(times) < 1.0


def test_a_partition_cuts_its_sites_off():
    cut = Partition(0.1, 0.3, frozenset({0}))
    arrived = [when for when, _ in deliveries(Faults(partitions=(cut,)))]
    assert arrived
    assert not any(0.1 <= when < 0.3 for when in arrived)
    elsewhere = Partition(0.1, 0.3, frozenset({1}))
    assert len(numbers(Faults(partitions=(elsewhere,)))) == COUNT


def test_a_process_that_is_down_hears_nothing():
    faults = Faults(outages=(Outage(COORDINATOR, 0.1, 0.3),))
    assert not any(0.1 <= when < 0.3 for when, _ in deliveries(faults))
    network = SimulatedNetwork(1, faults)
    network.run(0.2)
    assert not network.is_up(COORDINATOR)
    assert network.is_up(0)


def test_the_last_fault_ends_them_all():
    outage, cut = Outage(0, 1.0, 9.0), Partition(2.0, 7.0, frozenset({1}))
    assert Faults(until=5.0, partitions=(cut,), outages=(outage,)).end == 9.0
    assert Faults().end == 0.0


def test_every_message_is_counted_when_it_is_sent_even_if_it_is_lost():
    network = SimulatedNetwork(1, Faults(until=1e9, loss=1.0))
    network.send(COORDINATOR, HeartbeatAnswer(3, 1))
    assert network.ledger.count(source=COORDINATOR, target=3) == 1


def test_what_was_planned_first_happens_first_of_equals():
    network = SimulatedNetwork(1)
    seen: list[str] = []
    network.at(2.0, lambda: seen.append("late"))
    network.at(1.0, lambda: seen.append("first"))
    network.at(1.0, lambda: seen.append("second"))
    network.run(1.5)
    assert seen == ["first", "second"]
    assert network.now == pytest.approx(1.5)
