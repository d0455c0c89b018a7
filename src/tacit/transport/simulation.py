"""One watch, one coordinator and n sites over a simulated network: what the runtime does, in simulated time.

Each site closes pane p a little after its end and says so; it says heartbeats, may start late, leave, crash and start
again (its vectors are durable, its zone is not). Of the coordinator's state the books are durable, the last settled
pane, and who counts: they are committed before anything that follows from them is sent, so a crash can lose a batch of
messages, and what sites claimed. It then goes on as a live one does.

With ``growing`` a site has a group from the first pane on in which it holds anything of it, and others when it is told
of them; groups have the same numbers everywhere, which live is seen to by whoever carries the messages.

Nothing judges here: checkers look from outside, through ``observers`` and the record of what was published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.functions.monitor import Monitor
from tacit.protocols.books import Books
from tacit.protocols.broadcast import Cascade
from tacit.protocols.centres import Recentrer
from tacit.protocols.fitted import Fitter
from tacit.protocols.messages import Message
from tacit.protocols.policies import DEFAULT_POLICY, Policy, policy_named
from tacit.protocols.settlement import Settlement
from tacit.protocols.site import Site
from tacit.protocols.threshold import Balancer
from tacit.transport.simulated import SimulatedNetwork
from tacit.vocabulary import Answer, FloatArray
from tacit.wire.ledger import COORDINATOR

__all__ = ["Simulation", "Stay", "Streams", "Timing"]

_DYING = 0.1  # seconds before an outage in which a coordinator that loses its batch commits and does not send
_FITS = 16  # panes between looks at whether zones still fit


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """What the sites hold at the end of each pane: sums (panes, sites, groups, d), weights (panes, sites, groups)."""

    sums: FloatArray
    weights: FloatArray | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Simulated seconds."""

    pane: float = 1.0
    jitter: float = 0.1  # a pane is closed up to this long after its end
    heartbeat: float = 0.5
    tick: float = 0.25
    lease: float = 10.0
    resend: float = 1.0


@dataclass(frozen=True, slots=True)
class Stay:
    """A site is there from ``start`` until it says that it leaves, at ``end`` (None: never)."""

    site: int
    start: float = 0.0
    end: float | None = None


class Simulation:
    """Runs a watch to the end of its streams; everything follows from the arguments."""

    def __init__(
        self,
        monitor: Monitor,
        streams: Streams,
        network: SimulatedNetwork,
        *,
        protocol: str = "coordinator",
        policy: str = DEFAULT_POLICY,
        stays: tuple[Stay, ...] | None = None,
        timing: Timing | None = None,
        backlog: int = 50,
        growing: bool = False,
    ) -> None:
        panes, sites, groups, dimension = streams.sums.shape
        self.streams, self.network, self.timing = streams, network, Timing() if timing is None else timing
        self.stays = tuple(Stay(site) for site in range(sites)) if stays is None else stays
        weighted = streams.weights is not None
        self._growing, self._monitor, self._backlog = growing, monitor, backlog
        groups = 0 if growing else groups
        self._rng = np.random.default_rng([network.seed, 1])
        dice = np.random.default_rng([network.seed, 2])
        self._policy: Policy | None = None
        self._protocol, self._recentres = protocol, protocol == "recentre"
        if protocol != "broadcast":
            self._policy = policy_named(policy, sites=sites, groups=groups, dimension=dimension, rng=dice)
        self.settlement = self._settlement(Books(sites, groups, dimension, weighted=weighted))
        self.sites = [
            Site(
                site,
                monitor,
                groups,
                weighted=weighted,
                recentres=self._recentres,
                fits=_FITS if protocol == "fitted" else 0,
            )
            for site in range(sites)
        ]
        self.published: list[tuple[float, Answer]] = []
        self.observers: list[Callable[[Simulation], None]] = []
        self._since: list[float | None] = [None] * sites  # when the stay under way began
        jitter = self._rng.random((panes, sites)) * self.timing.jitter
        due = (np.arange(1, panes + 1) * self.timing.pane)[:, None] + jitter
        self._closes: FloatArray = np.maximum.accumulate(due, axis=0)  # each site closes its panes in order

    def _settlement(self, books: Books) -> Settlement:
        zones = self._monitor.zones(books.collected.shape[1])
        resolver: Balancer | Cascade = Cascade(self._monitor, zones, books)
        if self._policy is not None:
            machine = {"recentre": Recentrer, "fitted": Fitter}.get(self._protocol, Balancer)
            resolver = machine(self._monitor, zones, books, self._policy)
        expected = sum(stay.start == 0.0 for stay in self.stays)
        lease, resend = self.timing.lease, self.timing.resend
        return Settlement(resolver, expected=expected, lease=lease, resend=resend, backlog=self._backlog)

    @property
    def end(self) -> float:
        """When the last pane has been closed by all and has had time to be settled."""
        return float(self._closes.max()) + 3.0

    def run(self) -> None:
        """Run to the end."""
        network = self.network
        network.attach(COORDINATOR, self._coordinator_receives)
        network.at(0.0, self._tick)
        for site in range(len(self.sites)):
            network.attach(site, partial(self._site_receives, site))
            network.at(float(self._rng.random()) * self.timing.heartbeat, partial(self._beat, site))
            for pane, when in enumerate(self._closes[:, site].tolist()):
                network.at(when, partial(self._close, site, pane))
        for stay in self.stays:
            network.at(stay.start, partial(self._start, stay))
            if stay.end is not None:
                network.at(stay.end, partial(self._leave, stay.site))
        for outage in network.faults.outages:
            restart = self._resume if outage.process == COORDINATOR else partial(self._restart, outage.process)
            network.at(outage.end, restart)
        network.run(self.end)

    def _running(self, site: int) -> bool:
        return self._since[site] is not None and self.network.is_up(site)

    def _site_says(self, site: int, messages: tuple[Message, ...]) -> None:
        for message in messages:
            self.network.send(site, message)

    def _coordinator_says(self, messages: tuple[Message, ...]) -> None:
        """Publish what was committed, and send what followed, unless the process dies in between."""
        settlement = self.settlement
        for answer in settlement.published[len(self.published) :]:
            self.published.append((self.network.now, answer))
        dying = any(
            o.process == COORDINATOR and o.loses_batch and o.start - _DYING <= self.network.now < o.start
            for o in self.network.faults.outages
        )
        for message in () if dying else messages:
            self.network.send(COORDINATOR, message)

    def _coordinator_receives(self, message: Message) -> None:
        if self._growing:
            self.settlement.grow_groups(_groups_named(message))
        self._coordinator_says(self.settlement.receive(message, self.network.now))
        self._observe()

    def _site_receives(self, site: int, message: Message) -> None:
        if self._running(site):
            if self._growing:
                self.sites[site].grow_groups(_groups_named(message))
            self._site_says(site, self.sites[site].receive(message))
            if self.sites[site].left:
                self._since[site] = None
            self._observe()

    def _observe(self) -> None:
        for observer in self.observers:
            observer(self)

    def _tick(self) -> None:
        if self.network.is_up(COORDINATOR):
            self._coordinator_says(self.settlement.tick(self.network.now))
            self._observe()
        self.network.at(self.network.now + self.timing.tick, self._tick)

    def _beat(self, site: int) -> None:
        if self._running(site):
            self._site_says(site, self.sites[site].heartbeat())
        self.network.at(self.network.now + self.timing.heartbeat, partial(self._beat, site))

    def _close(self, site: int, pane: int) -> None:
        if self._running(site):
            sums = self.streams.sums[pane, site]
            weights = None if self.streams.weights is None else self.streams.weights[pane, site]
            machine = self.sites[site]
            if self._growing:
                held = np.flatnonzero(sums.any(axis=1) if weights is None else sums.any(axis=1) | (weights != 0.0))
                machine.grow_groups(int(held.max(initial=-1)) + 1)
                sums = sums[: machine.groups]
                weights = None if weights is None else weights[: machine.groups]
            self._site_says(site, machine.close_pane(pane, sums, weights))

    def _resume(self) -> None:
        """The coordinator's process starts: over copies of what is durable, everything else is as new."""
        old = self.settlement
        kept, versions = old.resolver.books, old.resolver.versions.copy()
        sites, groups, dimension = kept.collected.shape
        books = Books(sites, groups, dimension, weighted=kept.weighted)
        books.collected[:], books.weights[:], books.slack[:] = kept.collected, kept.weights, kept.slack
        self.settlement = self._settlement(books)
        resolver = self.settlement.resolver
        resolver.versions, resolver.requests = versions, old.resolver.requests
        self.settlement.published = old.published
        self.settlement.resume(old.settled, old.standing, old.sessions, old.left, self.network.now)
        known = np.arange(groups)
        rows = self._monitor.zone_rows(old.resolver.zones, known)
        if len(rows) and not resolver.forgetful:
            self._monitor.put_zone_rows(resolver.zones, known, rows)

    def _start(self, stay: Stay) -> None:
        """The site joins, or joins again: it holds what it closes from now on."""
        self._since[stay.site] = stay.start
        self._restart(stay.site)

    def _restart(self, site: int) -> None:
        """The process starts; panes that ended while it was down are closed now."""
        since = self._since[site]
        if since is None or not self._running(site):
            return
        machine = self.sites[site]
        machine.forget_zone()
        self._site_says(site, (machine.hello(),))
        closes = self._closes[:, site]
        for pane in np.flatnonzero((closes >= since) & (closes < self.network.now)).tolist():
            if pane > machine.closed:
                self._close(site, pane)

    def _leave(self, site: int) -> None:
        if self._running(site):
            self._site_says(site, self.sites[site].leave())
        elif self._since[site] is not None:
            self.network.at(self.network.now + self.timing.heartbeat, partial(self._leave, site))


def _groups_named(message: Message) -> int:
    """One more than the largest group that a message names."""
    groups = getattr(message, "groups", None)
    for name in ("rows", "collected"):
        groups = getattr(message, name).groups if hasattr(message, name) else groups
    return 0 if groups is None or not len(groups) else int(groups[-1]) + 1
