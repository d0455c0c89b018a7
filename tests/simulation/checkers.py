"""What must hold of every run, judged from outside: by the data and the plain definitions of functions/truth.py."""

from __future__ import annotations

import numpy as np

from tacit.functions.goals import Track
from tacit.functions.truth import TOLERANCE, may_say_met, may_say_not_met, tracking_error, widened
from tacit.protocols.settlement import Phase
from tacit.transport import Simulation, Stage
from tacit.vocabulary import Answer, State
from tacit.vocabulary.answers import MET
from tests.simulation.watches import Watch

__all__ = ["ConvexityChecker", "lost_panes", "panes_in", "valid_again", "valid_share", "wrong_answers"]


def wrong_answers(watch: Watch, answers: list[Answer]) -> list[str]:
    """Every pane and group at which an answer published as valid is not within its promise."""
    wrong = []
    for answer in answers:
        if answer.state is not State.VALID:
            continue
        first = answer.pane if answer.first is None else answer.first
        truth = watch.truth(answer.roster)[first : answer.pane + 1]
        panes, groups, dimension = truth.shape
        points = truth.reshape(-1, dimension)
        said = padded(watch, answer.estimates, groups)
        all_sides = np.concatenate([answer.sides, watch.monitor.answers(said)[len(answer.sides) :]])
        sides = np.tile(all_sides, panes)
        right = _right(watch, points, sides, np.tile(said, (panes, 1)))
        for at in np.flatnonzero(~right).tolist():
            pane, group = first + at // groups, at % groups
            wrong.append(f"pane {pane}, group {group}: said {sides[at]} with {said[group]}, is {points[at]}")
    return wrong


def padded(watch: Watch, estimates: np.ndarray, groups: int) -> np.ndarray:
    """The estimates of all groups: those that nobody spoke of are 0, and have no mean."""
    nowhere = 0.0 if watch.streams.weights is None else np.nan
    missing = groups - len(estimates)
    return np.concatenate(
        [estimates.reshape(-1, watch.monitor.dimension), np.full((missing, watch.monitor.dimension), nowhere)]
    )


def _right(watch: Watch, points: np.ndarray, sides: np.ndarray, estimates: np.ndarray) -> np.ndarray:
    goal = watch.goal
    if isinstance(goal, Track):
        said = watch.monitor.tracked(estimates)
        return tracking_error(goal, points, said) <= 1.0 + TOLERANCE
    # Whole numbers are judged exactly.
    lenient = goal if watch.integer and watch.streams.weights is None else widened(goal, points)
    return np.where(sides == MET, may_say_met(lenient, points), may_say_not_met(lenient, points))


class ConvexityChecker:
    """Watches a run: whenever all zones agree with the coordinator's books, the drifts' mean is the global vector."""

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self.checked = 0
        self.broken: list[str] = []
        self._last: tuple[int, ...] = ()

    def __call__(self, simulation: Simulation) -> None:
        settlement = simulation.settlement
        versions = settlement.resolver.versions
        roster = settlement.roster
        sites = [simulation.sites[site] for site in roster]
        if settlement.phase not in (Phase.SETTLING, Phase.RESOLVING) or not sites:
            return
        if any(site.version != versions[site.site] for site in sites):
            return
        pane = max(site.final for site in sites)
        state = (pane, *roster, *(site.version for site in sites))
        if state == self._last or any(pane not in site._vectors for site in sites):
            return
        self._last = state
        self.checked += 1
        self._check(simulation, pane, roster)

    def _check(self, simulation: Simulation, pane: int, roster: tuple[int, ...]) -> None:
        books = simulation.resolver.books
        size = 1.0 + np.abs(books.slack[list(roster)]).max(initial=0.0)
        if np.abs(books.slack[list(roster)].sum(axis=0)).max(initial=0.0) > TOLERANCE * size:
            self.broken.append(f"t={simulation.network.now}, pane {pane}: the slacks do not sum to 0")
        groups = len(books.slack[0])
        for site in roster:  # all that the coordinator knows of; a site is told when it needs to be
            simulation.sites[site].grow_groups(groups)
        drifts = np.stack([simulation.sites[site].drifts(pane)[:groups] for site in roster])
        truth = self.watch.truth(roster)[pane, :groups]
        if groups == 0:
            return
        if (
            simulation.sites[roster[0]].recentres or simulation.sites[roster[0]].fits
        ):  # each is seen from where its zone was made: see it from the estimate
            seen_from = np.stack([simulation.sites[site].estimates(groups) for site in roster])
            drifts = drifts - seen_from + books.estimates(np.arange(groups))
        if self.watch.streams.weights is None:
            mean = drifts.mean(axis=0)
        else:
            weights = self.watch.streams.weights[pane, list(roster), :groups]
            if (weights == 0).any():  # without weight a site has no drift
                return
            mean = (drifts * weights[..., None]).sum(axis=0) / weights.sum(axis=0)[:, None]
        usable = np.isfinite(mean) & np.isfinite(truth)
        size = 1.0 + np.abs(drifts).max(initial=0.0, where=np.isfinite(drifts))
        if (np.abs(mean - truth)[usable] > TOLERANCE * size).any():
            self.broken.append(f"t={simulation.network.now}, pane {pane}: the mean drift is {mean}, the truth {truth}")


def valid_share(simulation: Stage, panes: int) -> float:
    """The share of the first ``panes`` panes that were published as valid."""
    valid = np.zeros(panes, dtype=bool)
    for answer in simulation.settlement.published:
        if answer.state is State.VALID:
            valid[(answer.pane if answer.first is None else answer.first) : answer.pane + 1] = True
    return float(valid.mean())


def valid_again(simulation: Stage, after: float, within: float) -> str | None:
    """Why the run did not recover: no valid answer in time, not every later pane valid, or a pane that was lost."""
    times = [when for when, answer in simulation.published if answer.state is State.VALID and when >= after]
    if not times or times[0] > after + within:
        return f"the first valid answer after {after} came at {times[0] if times else None}"
    timing = simulation.timing
    first = int((after + within) / timing.pane)
    last = int((simulation.end - 3.0 - timing.jitter) / timing.pane) - 1
    missing = sorted(set(range(first, last)) - panes_in(simulation, State.VALID))
    return f"panes {missing} were never published as valid" if missing else lost_panes(simulation)


def lost_panes(simulation: Stage) -> str | None:
    """Why some pane was never settled with everybody, though all sites held it: late settlement must reach them all."""
    settlement, valid, gaps = simulation.settlement, *(panes_in(simulation, s) for s in (State.VALID, State.UNKNOWN))
    if settlement.final < settlement.settled:
        return f"panes {settlement.final + 1} to {settlement.settled} are still provisional at the end"
    if gaps and all(stay.start == 0.0 and stay.end is None for stay in simulation.stays):
        return f"panes {sorted(gaps)} are a gap, though every site held them"
    lost = set(range(min(valid), settlement.final + 1)) - valid - gaps
    return f"panes {sorted(lost)} are final and were never published as valid, nor as a gap" if lost else None


def panes_in(simulation: Stage, state: State) -> set[int]:
    """The panes that were ever published in a state."""
    panes: set[int] = set()
    for _, answer in simulation.published:
        if answer.state is state:
            panes.update(range(answer.pane if answer.first is None else answer.first, answer.pane + 1))
    return panes
