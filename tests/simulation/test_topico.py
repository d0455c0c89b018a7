"""TOPiCo over a network with faults: once counts stand still, every peer and the coordinator have the true list."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tacit.protocols.rounds import Nominator
from tacit.protocols.topico import ranked
from tacit.protocols.topk.bout import Rules
from tacit.transport import Faults, Outage, RankingSimulation, SimulatedNetwork, Stay, Timing
from tacit.vocabulary import State
from tests.simulation.schedules import random_faults
from tests.tiers import parametrize_in_tiers

PANES, STILL, EXPIRY = 40, 22, 3


def moving_then_still(seed: int, sites: int, lists: tuple[str, ...]) -> list[list[dict]]:
    """Counts that change until a pane, and then no more."""
    rng = np.random.default_rng([seed, 5])
    held: list[list[dict]] = []
    for pane in range(PANES):
        if pane >= STILL:
            held.append(held[-1])
            continue
        counts = rng.poisson(rng.pareto(1.0, (sites, len(lists), 12)))
        held.append(
            [
                {
                    (name, f'["o{at}"]'): (float(counts[site, number, at]), int(counts[site, number, at]))
                    for number, name in enumerate(lists)
                    for at in np.flatnonzero(counts[site, number]).tolist()
                }
                for site in range(sites)
            ]
        )
    return held


def truth(held: list[dict], sites: list[int], name: str, k: int) -> tuple[tuple[str, float], ...]:
    total: Counter[str] = Counter()
    for site in sites:
        for (where, key), (count, _) in held[site].items():
            if where == name:
                total[key] += count  # type: ignore[assignment]
    return ranked(total, k)


@parametrize_in_tiers("seed", range(60), in_test=6)
def test_it_is_perfect_once_counts_stand_still(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sites, k = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    lists = ("a", "b") if seed % 3 == 0 else ("",)
    scores = moving_then_still(seed, sites, lists)
    faults = random_faults(rng, sites) if seed % 2 else Faults()
    network = SimulatedNetwork(seed, faults)
    simulation = RankingSimulation(
        Rules(k), scores, network, per=len(lists) > 1, timing=Timing(jitter=0.3, lease=4.0), expiry=EXPIRY
    )
    simulation.run()
    last = simulation.published[-1][1]
    assert last.state is State.VALID
    assert last.pane >= PANES - 3
    assert last.lists is not None
    for name in lists:
        true = truth(scores[-1], list(range(sites)), name, k)
        assert tuple(last.lists.get(name, {}).items()) == true
        for peer in simulation.sites:
            assert isinstance(peer, Nominator)
            assert peer.answer(name) == true


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
    assert tuple(last.lists[""].items()) == truth(scores[-1], [0, 1], "", 3)


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
    assert tuple(last.lists[""].items()) == truth(scores[-1], [0, 1, 3], "", 3)
