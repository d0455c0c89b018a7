"""Any interleaving at all: messages delivered in any order, twice or never, sites that crash, leave and come back.

Hypothesis plays the network and the machine room. Whatever it does, every answer published as valid is right; and when
it stops, the watch becomes valid again.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from tacit.functions.monitor import CENTRED, FITTED
from tacit.protocols.broadcast import Cascade
from tacit.protocols.claims import TRANSITIONS as SITE_TRANSITIONS
from tacit.protocols.messages import Message
from tacit.protocols.settlement import Settlement
from tacit.protocols.site import Site
from tacit.protocols.threshold import Balancer
from tacit.vocabulary import State
from tacit.wire import decode, encode
from tests.protocols.watches import balancer, cascade, fitter, recentrer, sum_above

SITES = 3
THRESHOLD = 10.0
COORDINATOR = -1
which = st.integers(0, SITES - 1)


class Interleavings(RuleBasedStateMachine):
    """One coordinator, three sites, and a pile of letters."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.letters: list[tuple[int, Message]] = []
        self.held: dict[tuple[int, int], tuple[int, int]] = {}  # (site, pane): (sum, weight)
        self.judged = 0

    @initialize(
        kind=st.sampled_from(["balance", "broadcast", "recentre", "fit"]),
        weighted=st.booleans(),
        margin=st.sampled_from([0.0, 4.0]),
    )
    def begin(self, kind: str, weighted: bool, margin: float) -> None:
        plain = kind in ("balance", "broadcast")  # the others keep weights in the vector
        self.weighted, self.margin = weighted and plain, margin
        goal = {"threshold": THRESHOLD, "margin": margin}
        resolver: Balancer | Cascade
        if plain:
            resolver = (cascade if kind == "broadcast" else balancer)(SITES, weighted=weighted, **goal)
        else:
            resolver = (recentrer if kind == "recentre" else fitter)(SITES, **goal)
        self.settlement = Settlement(resolver, expected=SITES)
        monitor = sum_above(**goal, zone="ball" if plain else CENTRED if kind == "recentre" else FITTED)
        options = {"weighted": self.weighted, "recentres": kind == "recentre", "fits": 8 if kind == "fit" else 0}
        self.sites = [Site(site, monitor, 1, **options) for site in range(SITES)]
        for site in self.sites:
            self.post(COORDINATOR, (site.hello(),))

    def post(self, target: int, messages: tuple[Message, ...]) -> None:
        """Put letters on the pile; the coordinator's go to the site that each names."""
        self.letters += [(message.site if target >= 0 else target, message) for message in messages]

    @rule(site=which, value=st.integers(-15, 25), weight=st.integers(0, 2), panes=st.integers(1, 3))
    def close(self, site: int, value: int, weight: int, panes: int) -> None:
        machine = self.sites[site]
        if machine.left:
            return
        for _ in range(panes):
            pane = machine.closed + 1
            self.held[site, pane] = (value * weight if self.weighted else value, weight)
            sums = np.array([[float(self.held[site, pane][0])]])
            self.post(COORDINATOR, machine.close_pane(pane, sums, np.array([float(weight)]) if self.weighted else None))

    @rule(site=which)
    def beat(self, site: int) -> None:
        self.post(COORDINATOR, self.sites[site].heartbeat())

    @precondition(lambda self: self.letters)
    @rule(data=st.data(), fate=st.sampled_from(["deliver", "deliver", "deliver", "double", "lose"]))
    def mail(self, data: st.DataObject, fate: str) -> None:
        at = data.draw(st.integers(0, min(len(self.letters), 12) - 1))
        target, message = self.letters[at] if fate == "double" else self.letters.pop(at)
        if fate != "lose":
            self.deliver(target, message)

    @rule()
    def deliver_everything(self) -> None:
        for _ in range(200):
            if not self.letters:
                break
            self.deliver(*self.letters.pop(0))

    @rule(seconds=st.sampled_from([0.3, 1.1, 6.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.post(0, self.settlement.tick(self.now))
        self.judge()

    @rule(site=which)
    def crash(self, site: int) -> None:
        self.sites[site].forget_zone()
        self.post(COORDINATOR, (self.sites[site].hello(),))

    @precondition(lambda self: sum(not site.leaving for site in self.sites) > 1)
    @rule(site=which)
    def leave(self, site: int) -> None:
        self.post(COORDINATOR, self.sites[site].leave())

    def deliver(self, target: int, message: Message) -> None:
        message = decode(encode(message))
        if target == COORDINATOR:
            self.post(0, self.settlement.receive(message, self.now))
            self.judge()
            return
        site = self.sites[target]
        before = site.phase
        self.post(COORDINATOR, site.receive(message))
        after = {phase for (phase, _), targets in SITE_TRANSITIONS.items() if phase is before for phase in targets}
        assert site.phase is before or site.phase in after

    def judge(self) -> None:
        """Every new answer that is called valid is right at each of its panes."""
        new, self.judged = self.settlement.published[self.judged :], len(self.settlement.published)
        for answer in new:
            for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1):
                if answer.state is State.VALID:
                    self.check(pane, answer.roster, int(answer.sides[0]))

    def check(self, pane: int, roster: tuple[int, ...], side: int) -> None:
        total, weight = (sum(self.held[site, pane][part] for site in roster) for part in range(2))
        if self.weighted and weight == 0:
            assert side == 2
            return
        truth = total / weight if self.weighted else total
        assert truth > THRESHOLD - self.margin if side == 1 else truth <= THRESHOLD + self.margin

    def teardown(self) -> None:
        """Nothing goes wrong any more: the watch is valid again, and says so to the last pane."""
        if not hasattr(self, "sites"):
            return
        for site in self.sites:
            if site.leaving:
                self.crash(site.site)
        newest = max(site.closed for site in self.sites)
        for site in self.sites:
            if site.closed < newest:
                self.close(site.site, 1, 1, newest - site.closed)
        for round_ in range(200):  # at most a backlog of 50 panes, some rounds of a cascade each
            for site in self.sites:
                if round_ < 10:
                    self.close(site.site, 1, 1, 1)
                self.beat(site.site)
            self.deliver_everything()
            self.wait(0.8)
            if round_ > 10 and self.settlement.settled == self.sites[0].closed:
                break
        last = self.settlement.published[-1]
        assert last.state is State.VALID
        assert last.roster == tuple(range(SITES))
        assert last.pane == self.sites[0].closed


Interleavings.TestCase.settings = settings(max_examples=80, stateful_step_count=60, deadline=None)
TestInterleavings = Interleavings.TestCase


@pytest.mark.long
class TestManyInterleavings(Interleavings.TestCase):
    """The same, for longer."""

    settings = settings(max_examples=3000, stateful_step_count=100, deadline=None)
