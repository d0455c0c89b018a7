"""Random schedules of faults, and the run that a seed stands for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.functions.monitor import CENTRED, FITTED
from tacit.protocols.policies import POLICIES
from tacit.transport import Faults, Outage, Partition, SimulatedNetwork, Simulation, Stay, Timing
from tacit.wire import COORDINATOR
from tests.simulation.watches import SHAPES, Watch, make_watch

__all__ = ["Schedule", "random_faults", "random_stays", "schedule_of"]

FAULTS_END = 16.0
PANES = 34


@dataclass(frozen=True, eq=False)
class Schedule:
    """Everything a run follows from."""

    seed: int
    watch: Watch
    protocol: str
    policy: str
    faults: Faults
    stays: tuple[Stay, ...]
    timing: Timing
    growing: bool  # groups are known from the first pane on in which a site holds something of them

    def simulation(self, faults: Faults | None = None) -> Simulation:
        """A run that is ready to start, perhaps with other faults."""
        network = SimulatedNetwork(self.seed, self.faults if faults is None else faults)
        return Simulation(
            self.watch.monitor, self.watch.streams, network,
            protocol=self.protocol, policy=self.policy, stays=self.stays, timing=self.timing, growing=self.growing,
        )  # fmt: skip

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.watch.name}, {self.protocol}, {self.policy}, {self.faults}, {self.stays}"


def schedule_of(seed: int, *, panes: int = PANES, churn: bool = True) -> Schedule:
    """The schedule that this seed stands for."""
    rng = np.random.default_rng(seed)
    sites = int(rng.integers(2, 6))
    shape = SHAPES[int(rng.integers(len(SHAPES)))]
    recentres = seed % 4 == 1 and not shape.weighted
    fits = seed % 16 == 7 and not shape.weighted and shape.groups == 1
    zone = CENTRED if recentres else FITTED if fits else "auto" if seed % 4 == 3 else "ball"
    watch = make_watch(shape, rng, sites=sites, panes=panes, zone=zone)
    protocol = "coordinator" if rng.random() < 0.65 else "broadcast"
    protocol = "recentre" if recentres else "fitted" if fits else protocol
    policy = str(rng.choice(POLICIES))
    jitter = float(rng.choice([0.05, 0.3, 1.5]))
    timing = Timing(jitter=jitter, lease=4.0)
    growing = watch.streams.sums.shape[2] > 1 and seed % 3 != 0
    stays = random_stays(rng, sites) if churn else _all(sites)
    return Schedule(seed, watch, protocol, policy, random_faults(rng, sites), stays, timing, growing)


def _all(sites: int) -> tuple[Stay, ...]:
    return tuple(Stay(site) for site in range(sites))


def random_stays(rng: np.random.Generator, sites: int) -> tuple[Stay, ...]:
    """Most sites are there from the start for good; some join, leave, or leave and join again."""
    stays = []
    for site in range(sites):
        kind = rng.random() if site > 0 else 1.0
        moment = float(rng.uniform(3, FAULTS_END - 4))
        if kind < 0.1:
            stays.append(Stay(site, start=moment))
        elif kind < 0.2:
            stays.append(Stay(site, end=moment))
        elif kind < 0.3:
            stays += [Stay(site, end=moment), Stay(site, start=moment + float(rng.uniform(2, 8)))]
        else:
            stays.append(Stay(site))
    return tuple(stays)


def random_faults(rng: np.random.Generator, sites: int) -> Faults:
    """Any mixture of faults; each is absent half of the time."""

    def perhaps(value: float) -> float:
        return value if rng.random() < 0.5 else 0.0

    def span(longest: float) -> tuple[float, float]:
        start = float(rng.uniform(0, FAULTS_END - 2))
        return start, min(FAULTS_END, start + float(rng.uniform(0.2, longest)))

    partitions = [
        Partition(*span(9), frozenset(rng.choice(sites, int(rng.integers(1, sites + 1)), replace=False).tolist()))
        for _ in range(int(rng.choice([0, 0, 1, 2])))
    ]
    outages = [Outage(int(rng.integers(sites)), *span(9)) for _ in range(int(rng.choice([0, 0, 1, 2, 3])))]
    if rng.random() < 0.3:
        outages.append(Outage(COORDINATOR, *span(9), loses_batch=bool(rng.random() < 0.5)))
    return Faults(
        until=FAULTS_END,
        loss=perhaps(float(rng.uniform(0, 0.4))),
        duplication=perhaps(float(rng.uniform(0, 0.4))),
        reordering=perhaps(float(rng.uniform(0, 1))),
        delay_mean=float(rng.choice([0.01, 0.1, 0.4])),
        straggling=perhaps(float(rng.uniform(0, 0.1))),
        straggling_max=float(rng.choice([3.0, 15.0])),
        partitions=tuple(partitions),
        outages=tuple(outages),
    )
