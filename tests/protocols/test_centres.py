"""Recentring and fitted zones where they were once wrong: silence about a lost zone, far estimates, large numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.expressions import Expression, Variable
from tacit.functions.goals import Comparison, Goal, Track
from tacit.functions.monitor import CENTRED, FITTED, Monitor
from tacit.functions.truth import may_say_met, may_say_not_met, tracking_error
from tacit.protocols.claims import Phase
from tacit.protocols.messages import Fit, HeartbeatAnswer, Message, NewEstimate, Report
from tacit.protocols.settlement import Settlement
from tacit.protocols.site import EPOCH, Site
from tacit.transport import Faults, SimulatedNetwork, Simulation, Streams
from tacit.vocabulary import ProtocolError, State
from tacit.vocabulary.answers import MET
from tests.protocols.watches import fitter, recentrer, rows, sum_above

X, Y = Variable(0), Variable(1)


class Pair:
    """A coordinator and two sites, or more; what goes to those in ``deaf`` is lost."""

    def __init__(self, threshold: float, sites: int = 2) -> None:
        self.hub = Settlement(recentrer(sites, threshold=threshold), expected=sites, lease=4.0)
        monitor = sum_above(threshold, zone=CENTRED)
        self.sites = [Site(site, monitor, 1, recentres=True) for site in range(sites)]
        self.now = 0.0
        self.deaf: set[int] = set()
        self.say([site.hello() for site in self.sites])

    def say(self, messages: list[Message]) -> None:
        queue = list(messages)
        while queue:
            for answer in self.hub.receive(queue.pop(0), self.now):
                if answer.site not in self.deaf:
                    queue += self.sites[answer.site].receive(answer)

    def close(self, site: int, pane: int, value: float) -> list[Message]:
        return [*self.sites[site].close_pane(pane, np.array([[value]])), *self.sites[site].heartbeat()]


def test_silence_about_a_lost_zone_is_never_taken_for_it() -> None:
    """However often a site that missed a zone believes that its reports were taken, it is found out."""
    pair = Pair(100.0)
    pair.say([*pair.close(0, 0, 10.0), *pair.close(1, 0, 10.0)])
    pair.say([*pair.sites[0].heartbeat(), *pair.sites[1].heartbeat()])
    pair.close(1, 1, 60.0)  # lost
    lost = pair.sites[1]
    assert lost.phase is Phase.BLOCKED
    pair.now, pair.deaf = 10.0, {1}
    pair.say(list(pair.sites[0].heartbeat()))
    pair.hub.tick(pair.now)
    pair.say(pair.close(0, 1, 95.0))  # with 10 of the other, which is stale: above, and a new zone for all
    pair.say(pair.close(0, 2, 95.0))
    pair.close(1, 2, 160.0)
    answers = [each for each in pair.hub.receive(lost.heartbeat()[0], pair.now) if isinstance(each, HeartbeatAnswer)]
    for _ in range(2):  # doubled, and the snapshot is lost
        lost.receive(answers[0])
    assert lost.version % EPOCH > 0
    pair.now, pair.deaf = 12.2, set()
    for pane in (3, 4):
        pair.say([*pair.close(0, pane, 95.0), *pair.close(1, pane, -40.0)])
    pair.say([*pair.sites[0].heartbeat(), *pair.sites[1].heartbeat()])
    valid = [each for each in pair.hub.published if each.state is State.VALID and each.pane >= 3]
    assert all(each.sides[0] != MET for each in valid)  # 55 is not above 100


class Eight(Pair):
    """Eight sites that hold 10 each, so that one may go far before all need a new zone; site 1 is the one that does."""

    def __init__(self) -> None:
        super().__init__(200.0, sites=8)
        self.all_close(0)
        self.say([beat for site in self.sites for beat in site.heartbeat()])

    def all_close(self, pane: int, *, but: tuple[int, ...] = (), first: float = 10.0) -> None:
        """All close the pane, but these; ``first`` is what the first site holds."""
        for site in range(8):
            if site not in but:
                self.say(self.close(site, pane, first if site == 0 else 10.0))

    def lose_site_1(self) -> None:
        """The lease of site 1 runs out."""
        self.now += 10.0
        self.say([beat for site in self.sites if site.site != 1 for beat in site.heartbeat()])
        self.hub.tick(self.now)
        assert self.hub.stale == (1,)


def taken_unheard() -> Eight:
    """Site 1 reports that it holds 50; the report is taken, and site 1 does not hear of that."""
    eight = Eight()
    eight.deaf = {1}
    eight.all_close(1, but=(1,))
    eight.say(eight.close(1, 1, 50.0))
    eight.deaf = set()
    assert eight.hub.settled == 1
    assert eight.sites[1].phase is Phase.BLOCKED
    return eight


def test_a_lost_site_does_not_keep_an_older_centre_under_a_new_zone() -> None:
    """With the centre from before its report it would be silent at 10, where the coordinator counts 50."""
    eight = taken_unheard()
    eight.lose_site_1()
    eight.close(1, 2, 10.0)  # is lost
    eight.all_close(2, but=(1,), first=95.0)  # 205 with the 50 of the lost site: above, and a new zone for all
    for pane in range(3, 6):
        eight.now += 1.0
        eight.say([beat for site in eight.sites for beat in site.heartbeat()])
        eight.all_close(pane, first=95.0)
    last = eight.hub.published[-1]
    assert (last.pane, last.state) == (5, State.VALID)
    assert last.sides[0] != MET  # 165 is not above 200


def test_a_site_takes_a_zone_only_at_the_version_that_the_zone_follows() -> None:
    eight = taken_unheard()
    site, version = eight.sites[1], eight.sites[1].version
    told = eight.hub.resolver.resolve(2, [(0, Report(0, 9, 2, EPOCH, rows(95.0)))])
    (zone,) = (each for each in told if each.site == 1)
    assert isinstance(zone, NewEstimate)
    eight.close(1, 2, 10.0)
    site.receive(zone)
    assert (site.version, site.phase) == (version, Phase.BLOCKED)


def test_what_a_lost_site_believed_in_a_former_life_is_no_claim() -> None:
    """Its report was lost, but the pane was settled without it, so it took it for taken; then it started again."""
    eight = Eight()
    site = eight.sites[1]
    eight.close(1, 1, 20.0)  # is lost
    eight.lose_site_1()
    eight.all_close(1, but=(1,))
    site.receive(HeartbeatAnswer(1, eight.hub.settled))
    eight.close(1, 2, 19.5)
    (former,) = eight.close(1, 3, 28.8)  # is on its way for long
    site.forget_zone()
    eight.say([site.hello()])
    eight.deaf = {1}
    eight.all_close(2, but=(1,))
    assert eight.hub.settled == 1  # all are asked anew as of pane 1, and site 1 does not hear it
    eight.all_close(3, but=(1,))
    eight.say([former])
    assert eight.hub.settled == 1


def right(goal: Goal, vectors: np.ndarray, zone: str, dimension: int) -> bool:
    """Is every valid answer right, without faults? ``vectors`` are (panes, sites, d)."""
    monitor = Monitor(goal, (), dimension, zone=zone)
    protocol = "recentre" if zone == CENTRED else "fitted"
    streams = Streams(vectors[:, :, None, :], None)
    simulation = Simulation(monitor, streams, SimulatedNetwork(1, Faults()), protocol=protocol)
    simulation.run()
    published = simulation.settlement.published
    assert published[-1].pane >= len(vectors) - 2
    for answer in published:
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1):
            truth = vectors[pane].sum(axis=0)[None]
            if answer.state is not State.VALID:
                continue
            if isinstance(goal, Track):
                good = tracking_error(goal, truth, monitor.tracked(answer.estimates))[0] <= 1.0 + 1e-6
            else:
                good = bool((may_say_met if answer.sides[0] == MET else may_say_not_met)(goal, truth)[0])
            if not good:
                return False
    return True


@pytest.mark.parametrize("zone", [CENTRED, FITTED])
def test_what_bends_little_beside_its_slope_still_bends(zone: str) -> None:
    """x y with sums of a thousand million: the bend is nothing beside the slope, and all beside the region."""
    vectors = np.zeros((6, 2, 2))
    vectors[0] = (1e9, 0.5e9)
    for pane in range(1, 6):
        vectors[pane] = (1e9 * (1 + pane), 0.5e9 - 0.3e9 * pane)
    assert right(Comparison(X * Y, ">=", 0.0), vectors, zone, 2)


@pytest.mark.parametrize("zone", [CENTRED, FITTED])
@pytest.mark.parametrize(
    ("goal", "expression"), [(Track(X, 1e-5), X), (Comparison(X, ">", 0.0), X)], ids=["track", "threshold"]
)
def test_a_far_estimate_rounds_no_move(zone: str, goal: Goal, expression: Expression) -> None:
    """A spike of 10^12 in the first pane, and then steps of 10^-5: none of them may be lost."""
    dice = np.random.default_rng(0)
    vectors = np.cumsum(dice.integers(-2, 3, (30, 3, 1)), axis=0) * 2.0**-17
    vectors[0] += 1e12
    assert right(goal, vectors, zone, 1)


def test_a_mixture_that_is_none_is_refused() -> None:
    machine = fitter(2)
    for weights, means, covariances in (
        ([-1.0], [[0.0]], [[[1.0]]]),
        ([1.0], [[0.0]], [[[-1.0]]]),
        ([1.0], [[0.0, 0.0]], [np.eye(2)]),
    ):
        with pytest.raises(ProtocolError, match="site 1"):
            machine.learn(Fit(1, 1, 0, np.array(weights), np.array(means), np.array(covariances)))
