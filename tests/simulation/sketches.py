"""Watches over sketches to simulate, and what must hold of every run of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.protocols.frequent.shares import Terms
from tacit.protocols.gauges.gauge import Gauge
from tacit.protocols.gauges.inner_product import InnerProductGauge
from tacit.protocols.gauges.quantile import QuantileGauge
from tacit.protocols.gauges.self_join import SelfJoinNorms, SelfJoinProducts
from tacit.sketches.quantiles import digest, ranked
from tacit.transport import Faults, FrequentSimulation, GaugeSimulation, SimulatedNetwork, Stay, Timing
from tacit.vocabulary import Answer, State
from tests.simulation.checkers import valid_again
from tests.simulation.schedules import random_faults, random_stays

__all__ = [
    "PANES",
    "FrequentSchedule",
    "GaugeSchedule",
    "frequent_of",
    "gauge_of",
    "judge_sketch",
    "wrong_keys",
    "wrong_values",
]

WINDOW = 6  # panes
PANES = 34
SLOP = 1e-9


@dataclass(frozen=True, eq=False)
class GaugeSchedule:
    """Everything a run of a gauged value follows from."""

    seed: int
    gauge: Gauge
    within: float
    arrays: np.ndarray
    faults: Faults
    stays: tuple[Stay, ...]
    timing: Timing

    def simulation(self, faults: Faults | None = None) -> GaugeSimulation:
        """A run that is ready to start, perhaps with other faults."""
        network = SimulatedNetwork(self.seed, self.faults if faults is None else faults)
        return GaugeSimulation(self.gauge, self.arrays, network, stays=self.stays, timing=self.timing)

    def wrong(self, answers: list[Answer]) -> list[str]:
        """Where an answer published as valid is not within its promise."""
        return wrong_values(self, answers)

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.gauge}, {self.faults}, {self.stays}"


@dataclass(frozen=True, eq=False)
class FrequentSchedule:
    """Everything a run of frequent keys follows from."""

    seed: int
    terms: Terms
    cells: np.ndarray  # (panes, sites, rows * width)
    came: list[list[list[str]]]
    counts: np.ndarray  # (panes, sites, keys), what the windows really hold
    at: dict[str, np.ndarray]  # by key its cells
    faults: Faults
    stays: tuple[Stay, ...]
    timing: Timing

    def simulation(self, faults: Faults | None = None) -> FrequentSimulation:
        """A run that is ready to start, perhaps with other faults."""
        network = SimulatedNetwork(self.seed, self.faults if faults is None else faults)
        return FrequentSimulation(
            self.terms, self.places, self.cells, self.came, network, stays=self.stays, timing=self.timing
        )

    def places(self, keys: Sequence[str]) -> np.ndarray:
        """The cells of keys."""
        return np.stack([self.at[key] for key in keys])

    def wrong(self, answers: list[Answer]) -> list[str]:
        """Where an answer published as valid is not within its promise."""
        return wrong_keys(self, answers)

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.terms}, {self.faults}, {self.stays}"


def _conditions(rng: np.random.Generator, sites: int, *, churn: bool) -> tuple[Faults, tuple[Stay, ...], Timing]:
    timing = Timing(jitter=float(rng.choice([0.05, 0.3, 1.5])), lease=4.0)
    stays = random_stays(rng, sites) if churn else tuple(Stay(site) for site in range(sites))
    return random_faults(rng, sites), stays, timing


def _windows(rows: np.ndarray) -> np.ndarray:
    """Sums over the last panes of what came in each: (panes, ...)."""
    sums = np.cumsum(rows, axis=0)
    sums[WINDOW:] -= sums[:-WINDOW].copy()
    return sums


def gauge_of(seed: int, *, churn: bool = True) -> GaugeSchedule:
    """The schedule that this seed stands for."""
    rng = np.random.default_rng([seed, 77])
    sites, depth, width = int(rng.integers(2, 6)), int(rng.integers(1, 4)), int(rng.integers(2, 9))
    within = float(rng.choice([0.02, 0.1, 0.4]))
    kind = seed % 4
    if kind == 3:
        gauge, arrays = _quantile(rng, sites, within)
        return GaugeSchedule(seed, gauge, within, arrays, *_conditions(rng, sites, churn=churn))
    makers = (SelfJoinNorms, SelfJoinProducts, InnerProductGauge)
    gauge: Gauge = makers[kind](depth, width, within)
    streams = 2 if kind == 2 else 1
    rate = float(rng.choice([0.5, 5.0, 100.0])) * rng.lognormal(0.0, 0.6, (PANES, sites, 1, 1))
    liking = rng.pareto(1.0, (streams, 12)) + 0.1
    came = rng.poisson(rate * liking / liking.sum(axis=1, keepdims=True))  # (panes, sites, streams, keys)
    hashed = rng.integers(0, width, (depth, 12))
    cells = np.zeros((PANES, sites, streams, depth, width))
    for row in range(depth):
        for key in range(12):
            cells[:, :, :, row, hashed[row, key]] += came[..., key]
    arrays = _windows(cells).reshape(PANES, sites, -1)
    arrays *= 1.0 + rng.uniform(-0.03, 0.03, arrays.shape) if rng.random() < 0.5 else 1.0  # counters estimate
    return GaugeSchedule(seed, gauge, within, arrays, *_conditions(rng, sites, churn=churn))


def _quantile(rng: np.random.Generator, sites: int, within: float) -> tuple[QuantileGauge, np.ndarray]:
    """Digests of windows of values that wander, or are mostly alike."""
    points = int(rng.integers(1, 12))
    gauge = QuantileGauge(float(rng.choice([0.1, 0.5, 0.95])), within, points)
    spread, drift = int(rng.choice([2, 30, 1000])), float(rng.choice([0.0, 1.0, 20.0]))
    arrays = np.zeros((PANES, sites, gauge.size))
    for site in range(sites):
        rate = float(rng.choice([0.5, 5.0, 50.0]))
        panes: list[tuple[np.ndarray, np.ndarray]] = []
        for pane in range(PANES):
            values = np.floor(rng.integers(0, spread, int(rng.poisson(rate))) + drift * pane)
            panes.append(digest(values, np.ones(len(values)), points))
            arrays[pane, site] = np.nan_to_num(ranked(panes[-WINDOW:], points))
    return gauge, arrays


def frequent_of(seed: int, *, churn: bool = True) -> FrequentSchedule:
    """The schedule that this seed stands for."""
    rng = np.random.default_rng([seed, 78])
    sites, depth, width = int(rng.integers(2, 7)), int(rng.integers(1, 4)), int(rng.integers(3, 24))
    keys = [f'["k{key}"]' for key in range(int(rng.integers(3, 30)))]
    rate = float(rng.choice([1.0, 8.0, 60.0]))
    liking = rng.pareto(0.8, (sites, len(keys))) + 0.05
    if rng.random() < 0.5:
        liking[:] = liking[0]
    moving = np.cumsum(rng.normal(0.0, 0.15, (PANES, 1, len(keys))), axis=0)
    share = liking * np.exp(moving)
    rows = rng.poisson(rate * share / share.sum(axis=2, keepdims=True))  # (panes, sites, keys)
    hashed = rng.integers(0, width, (depth, len(keys))) + width * np.arange(depth)[:, None]
    cells = np.zeros((PANES, sites, depth * width))
    for key in range(len(keys)):
        for row in range(depth):
            cells[:, :, hashed[row, key]] += rows[..., key]
    threshold = float(rng.choice([1.0, 5.0, 40.0])) * max(1.0, rate * sites * WINDOW / 60.0) // 1
    terms = Terms(threshold, float(rng.choice([0.0, 0.0, 0.2])) * threshold)
    came = [[[keys[key] for key in np.flatnonzero(each)] for each in pane] for pane in rows]
    at = {key: hashed[:, number] for number, key in enumerate(keys)}
    return FrequentSchedule(
        seed, terms, _windows(cells), came, _windows(rows), at, *_conditions(rng, sites, churn=churn)
    )


def _panes(answers: list[Answer]) -> list[tuple[int, Answer]]:
    """Every pane that was published as valid, with what was said of it."""
    return [
        (pane, answer)
        for answer in answers
        if answer.state is State.VALID
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1)
    ]


def wrong_values(schedule: GaugeSchedule, answers: list[Answer]) -> list[str]:
    """Every pane at which a value published as valid is not within its promise."""
    wrong = []
    for pane, answer in _panes(answers):
        arrays, said = schedule.arrays[pane, list(answer.roster)], float(answer.estimates[0, 0])
        if isinstance(schedule.gauge, QuantileGauge):
            gauge, slop = schedule.gauge, schedule.within + SLOP
            fewer, most = gauge.rank(arrays, np.nextafter(said, -np.inf)), gauge.rank(arrays, said)
            if np.isnan(said) != np.isnan(most) or not (np.isnan(most) or fewer - slop <= gauge.phi <= most + slop):
                wrong.append(f"pane {pane}: said {said}, whose rank is {fewer} to {most}")
            continue
        truth = schedule.gauge.value(arrays)
        if abs(said - truth) > schedule.gauge.tolerance(arrays) * (1.0 + SLOP):
            wrong.append(f"pane {pane}: said {said}, is {truth}")
    return wrong


def wrong_keys(schedule: FrequentSchedule, answers: list[Answer]) -> list[str]:
    """Every pane and key at which an answer published as valid is not within its promise.

    Of a key inside the sketches say at least so much; of a key outside there really is at most so much. (A site
    does not speak of a key that it has no rows of, whatever others leave in its cells.)
    """
    wrong = []
    for pane, answer in _panes(answers):
        assert answer.lists is not None
        inside, roster = answer.lists.get("", {}), list(answer.roster)
        for number, (key, at) in enumerate(schedule.at.items()):
            said = schedule.cells[pane, roster][:, at].min(axis=1).sum()
            real = schedule.counts[pane, roster, number].sum()
            if key in inside and said < schedule.terms.least * (1.0 - SLOP):
                wrong.append(f"pane {pane}: {key} is inside with {said}, {schedule.terms}")
            if key not in inside and real > schedule.terms.most * (1.0 + SLOP):
                wrong.append(f"pane {pane}: {key} is outside with {real}, {schedule.terms}")
    return wrong


def judge_sketch(
    schedule: GaugeSchedule | FrequentSchedule,
) -> tuple[GaugeSimulation | FrequentSimulation, list[str]]:
    """The run, and what was wrong with it."""
    simulation = schedule.simulation()
    simulation.run()
    wrong = schedule.wrong(simulation.settlement.published)
    late = valid_again(simulation, schedule.faults.end, schedule.timing.lease + 5.0)
    return simulation, wrong + ([late] if late is not None else [])
