"""Rankings to simulate, and what must hold of every run of them."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import numpy as np

from tacit.protocols.settlement import Phase
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.challenger import Challenger
from tacit.protocols.topk.ranker import Ranker
from tacit.transport import Faults, RankingSimulation, SimulatedNetwork, Stay, Timing
from tacit.vocabulary import Answer, State
from tests.simulation.checkers import valid_again
from tests.simulation.schedules import random_faults, random_stays

__all__ = ["InvariantChecker", "RankingSchedule", "judge_ranking", "ranking_of", "wrong_rankings"]

WINDOW = 5  # panes
PANES = 34


@dataclass(frozen=True, eq=False)
class RankingSchedule:
    """Everything a run follows from."""

    seed: int
    rules: Rules
    scores: list[list[dict[tuple[str, str], tuple[float, int]]]]
    per: bool
    faults: Faults
    stays: tuple[Stay, ...]
    timing: Timing
    relief: int

    def simulation(self, faults: Faults | None = None) -> RankingSimulation:
        """A run that is ready to start, perhaps with other faults."""
        network = SimulatedNetwork(self.seed, self.faults if faults is None else faults)
        return RankingSimulation(
            self.rules, self.scores, network, per=self.per, stays=self.stays, timing=self.timing, relief=self.relief
        )

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.rules}, per {self.per}, {self.faults}, {self.stays}"


def ranking_of(seed: int, *, panes: int = PANES, churn: bool = True) -> RankingSchedule:
    """The schedule that this seed stands for."""
    rng = np.random.default_rng([seed, 99])
    sites = int(rng.integers(2, 6))
    whole, closed, per = bool(rng.random() < 0.7), bool(rng.random() < 0.25), bool(rng.random() < 0.3)
    ranked = float(rng.choice([np.inf, np.inf, 6.0]))
    epsilon = float(rng.choice([0.0, 0.0, 2.0, 10.0]))
    rules = Rules(int(rng.integers(1, 5)), epsilon, 1.0 if whole else 0.0, closed=closed, ranked=ranked)
    scores = _windows(rng, sites, panes, whole=whole, negative=closed, lists=("a", "b", "c") if per else ("",))
    timing = Timing(jitter=float(rng.choice([0.05, 0.3, 1.5])), lease=4.0)
    stays = random_stays(rng, sites) if churn else tuple(Stay(site) for site in range(sites))
    relief = int(rng.choice([0, 2, 20]))
    return RankingSchedule(seed, rules, scores, per, random_faults(rng, sites), stays, timing, relief)


def _windows(
    rng: np.random.Generator, sites: int, panes: int, *, whole: bool, negative: bool, lists: tuple[str, ...]
) -> list[list[dict[tuple[str, str], tuple[float, int]]]]:
    """What each site holds at the end of each pane, of rows of the last WINDOW panes; objects come and go."""
    objects = int(rng.integers(3, 16))
    rate = rng.choice([0.3, 1.0, 3.0])
    liking = rng.pareto(1.0, (len(lists), objects)) + 0.2
    held: list[list[dict[tuple[str, str], tuple[float, int]]]] = [[] for _ in range(panes)]
    for _site in range(sites):
        rows: list[list[tuple[str, str, float]]] = []
        for _ in range(panes):
            came = []
            for number, name in enumerate(lists):
                liking[number] *= rng.lognormal(0.0, 0.2, objects)
                share = liking[number] / liking[number].sum()
                for at in rng.choice(objects, int(rng.poisson(rate * 2)), p=share).tolist():
                    score = float(rng.integers(0, 5)) if whole else float(rng.normal(2.0, 1.0))
                    came.append((name, f'["o{at}"]', -abs(score) if negative else abs(score)))
            rows.append(came)
        for pane in range(panes):
            total: dict[tuple[str, str], list[float]] = defaultdict(list)
            for came in rows[max(0, pane - WINDOW + 1) : pane + 1]:
                for name, key, score in came:
                    total[name, key].append(score)
            held[pane].append({place: (float(np.sum(scores)), len(scores)) for place, scores in total.items()})
    return held


def wrong_rankings(schedule: RankingSchedule, answers: list[Answer]) -> list[str]:
    """Every pane and list at which an answer published as valid is not within its promise."""
    wrong = []
    for answer in answers:
        if answer.state is State.VALID:
            for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1):
                wrong += [f"pane {pane}: {why}" for why in _wrong_at(schedule, pane, answer)]
    return wrong


def _wrong_at(schedule: RankingSchedule, pane: int, answer: Answer) -> list[str]:
    truth: dict[str, Counter[str]] = defaultdict(Counter)
    for site in answer.roster:
        for (name, key), (score, _) in schedule.scores[pane][site].items():
            truth[name][key] += score  # type: ignore[assignment]
    rules, found = schedule.rules, []
    assert answer.lists is not None
    for name in {*truth, *answer.lists}:
        said, there = answer.lists.get(name, {}), truth[name]
        slop = 0.0 if rules.quantum else 1e-9 * (1.0 + sum(map(abs, there.values())))
        if not set(said) <= set(there) or len(said) != min(rules.k, len(there)):
            found.append(f"list {name!r}: said {sorted(said)}, there are {dict(there)}")
            continue
        least = min((there[key] for key in said), default=0.0)
        most = max((score for key, score in there.items() if key not in said), default=-np.inf)
        if least + rules.epsilon < most - slop:
            found.append(f"list {name!r}: said {sorted(said)} of {dict(there)}, within {rules.epsilon}")
        off = max((abs(score - there[key]) for key, score in said.items()), default=0.0)
        if off > rules.ranked + slop:
            found.append(f"list {name!r}: a score is off by {off}, and {rules.ranked} is promised")
    return found


class InvariantChecker:
    """Watches a run: whenever all hold what the coordinator has told, both invariants of the paper are there."""

    def __init__(self) -> None:
        self.checked = 0
        self.broken: list[str] = []
        self._last: object = None

    def __call__(self, simulation: RankingSimulation) -> None:
        settlement = simulation.settlement
        ranker = settlement.resolver
        assert isinstance(ranker, Ranker)
        roster = settlement.roster
        if settlement.phase is not Phase.SETTLING or not roster:
            return
        sites = [site for site in simulation.sites if site.site in roster and isinstance(site, Challenger)]
        if any(site.version != ranker.versions[site.site] for site in sites):
            return
        state = (settlement.settled, *roster, *(site.version for site in sites))
        if state == self._last:
            return
        self._last = state
        self.checked += 1
        for name, standings in ranker.lists.items():
            n = len(standings)
            deltas = standings.deltas[:n]
            size = 1e-9 * (1.0 + np.abs(deltas).max(initial=0.0))
            if (np.abs(deltas.sum(axis=1)) > size).any():
                self.broken.append(f"list {name!r}: adjustments do not sum to 0")
            member = standings.member[:n]
            outside = ~member if standings.open else ~member & standings.known[:n]
            least = deltas[member, 0].min(initial=np.inf) + ranker.rules.epsilon
            if least < deltas[outside, 0].max(initial=0.0 if standings.open else -np.inf) - size:
                self.broken.append(f"list {name!r}: the coordinator's adjustments are in the wrong order")
            for site in sites:
                table = site.contest(name).table
                for row, key in enumerate(standings.keys):
                    at = table.find(key)
                    if (0.0 if at < 0 else table.deltas[at]) != deltas[row, site.site + 1]:
                        self.broken.append(f"list {name!r}, site {site.site}: another adjustment of {key} is told")


def judge_ranking(schedule: RankingSchedule) -> tuple[RankingSimulation, list[str]]:
    """The run, and what was wrong with it."""
    simulation = schedule.simulation()
    checker = InvariantChecker()
    simulation.observers.append(checker)
    simulation.run()
    wrong = wrong_rankings(schedule, simulation.settlement.published) + checker.broken
    late = valid_again(simulation, schedule.faults.end, schedule.timing.lease + 5.0)
    wrong += [late] if late is not None else []
    wrong += [] if checker.checked else ["the invariants were never checked"]
    return simulation, wrong
