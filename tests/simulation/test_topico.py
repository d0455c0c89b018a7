"""TOPiCo over a network: a peer that falls silent expires and is named, and sites come and go."""

from __future__ import annotations

from tacit.protocols.topk.bout import Rules
from tacit.transport import Faults, Outage, RankingSimulation, SimulatedNetwork, Stay, Timing
from tacit.vocabulary import State
from tests.simulation.topico import EXPIRY, moving_then_still, true_list


def test_a_peer_that_falls_silent_expires_and_is_named() -> None:
    scores = moving_then_still(1, 3, ("",))
    faults = Faults(until=100.0, outages=(Outage(2, 15.0, 200.0),))
    simulation = RankingSimulation(
        Rules(3), scores, SimulatedNetwork(1, faults), timing=Timing(lease=4.0), expiry=EXPIRY
    )
    simulation.run()
    last = simulation.published[-1][1]
    assert (last.state, last.stale) == (State.STALE, (2,))
    assert last.lists is not None
    assert tuple(last.lists[""].items()) == true_list(scores[-1], (0, 1), "", 3)


def test_sites_come_and_go() -> None:
    scores = moving_then_still(2, 4, ("",))
    stays = (Stay(0), Stay(1), Stay(2, end=12.0), Stay(3, start=9.0))
    simulation = RankingSimulation(
        Rules(3), scores, SimulatedNetwork(3, Faults()), stays=stays, timing=Timing(lease=4.0), expiry=EXPIRY
    )
    simulation.run()
    last = simulation.published[-1][1]
    assert (last.state, last.roster) == (State.VALID, (0, 1, 3))
    assert last.lists is not None
    assert tuple(last.lists[""].items()) == true_list(scores[-1], (0, 1, 3), "", 3)
