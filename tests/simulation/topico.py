"""Rankings kept by TOPiCo to simulate: once counts stand still, every peer and the coordinator have the true list."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from tacit.protocols.rounds import Nominator
from tacit.protocols.topico import ranked
from tacit.protocols.topk.bout import Rules
from tacit.transport import Faults, RankingSimulation, SimulatedNetwork, Stay, Timing
from tacit.vocabulary import State
from tests.simulation.schedules import random_faults, random_stays

__all__ = ["EXPIRY", "PANES", "TopicoSchedule", "judge_topico", "moving_then_still", "topico_of", "true_list"]

PANES, STILL, EXPIRY = 40, 22, 3

Counts = list[list[dict[tuple[str, str], tuple[float, int]]]]


@dataclass(frozen=True, eq=False)
class TopicoSchedule:
    """Everything a run follows from."""

    seed: int
    k: int
    lists: tuple[str, ...]
    counts: Counts
    faults: Faults
    stays: tuple[Stay, ...]
    timing: Timing

    def simulation(self) -> RankingSimulation:
        """A run that is ready to start."""
        network = SimulatedNetwork(self.seed, self.faults)
        return RankingSimulation(
            Rules(self.k), self.counts, network,
            per=len(self.lists) > 1, stays=self.stays, timing=self.timing, expiry=EXPIRY,
        )  # fmt: skip

    @property
    def there_at_the_end(self) -> tuple[int, ...]:
        """The sites that stay."""
        return tuple(sorted({stay.site for stay in self.stays if stay.end is None}))

    def __str__(self) -> str:
        return f"seed {self.seed}: the {self.k} largest of {len(self.lists)} lists, {self.faults}, {self.stays}"


def topico_of(seed: int) -> TopicoSchedule:
    """The schedule that this seed stands for."""
    rng = np.random.default_rng(seed)
    sites, k = int(rng.integers(2, 6)), int(rng.integers(1, 5))
    lists = ("a", "b") if seed % 3 == 0 else ("",)
    faults = random_faults(rng, sites) if seed % 4 else Faults()
    stays = random_stays(rng, sites) if seed % 2 else tuple(Stay(site) for site in range(sites))
    timing = Timing(jitter=0.3, lease=4.0)
    return TopicoSchedule(seed, k, lists, moving_then_still(seed, sites, lists), faults, stays, timing)


def moving_then_still(seed: int, sites: int, lists: tuple[str, ...]) -> Counts:
    """Counts that change until a pane, and then no more."""
    rng = np.random.default_rng([seed, 5])
    held: Counts = []
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


def true_list(held: list[dict[tuple[str, str], tuple[float, int]]], sites: tuple[int, ...], name: str, k: int) -> tuple:
    """The k largest of a list at these sites, with their counts."""
    total: Counter[str] = Counter()
    for site in sites:
        for (where, key), (count, _) in held[site].items():
            if where == name:
                total[key] += count  # type: ignore[assignment]
    return ranked(total, k)


def judge_topico(schedule: TopicoSchedule) -> tuple[RankingSimulation, list[str]]:
    """The run, and what was wrong at its end."""
    simulation = schedule.simulation()
    simulation.run()
    if not simulation.published:
        return simulation, ["nothing was ever published"]
    last, sites = simulation.published[-1][1], schedule.there_at_the_end
    wrong = []
    if last.state is not State.VALID or last.pane < PANES - 3 or last.roster != sites:
        wrong.append(f"the last answer is {last.state.value} for pane {last.pane} over {last.roster}")
    for name in schedule.lists:
        true = true_list(schedule.counts[-1], sites, name, schedule.k)
        said = tuple((last.lists or {}).get(name, {}).items())
        if said != true:
            wrong.append(f"list {name!r}: said {said}, is {true}")
        for site in sites:
            peer = simulation.sites[site]
            assert isinstance(peer, Nominator)
            if peer.answer(name) != true:
                wrong.append(f"list {name!r}, site {site}: knows {peer.answer(name)}, is {true}")
    return simulation, wrong
