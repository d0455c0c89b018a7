"""A watch, a coordinator and n sites over a simulated network: what the runtime does, in simulated time.

Each site closes pane p a little after its end and says so; it says heartbeats, may start late, leave, crash and start
again (its data is durable, its zone is not). Of the coordinator's state the books are durable, the last settled pane,
and who counts: they are committed before anything that follows from them is sent, so a crash can lose a batch of
messages, and what sites claimed. It then goes on as a live one does.

Nothing judges here: checkers look from outside, through ``observers`` and the record of what was published.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.protocols.frequent.lookout import Lookout
from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.messages import Message
from tacit.protocols.resolver import Resolver
from tacit.protocols.rounds import Nominator
from tacit.protocols.settlement import Settlement
from tacit.protocols.site import Site
from tacit.protocols.topk.challenger import Challenger
from tacit.transport.simulated import SimulatedNetwork
from tacit.vocabulary import Answer, FloatArray
from tacit.wire.ledger import COORDINATOR

__all__ = ["Machine", "Stage", "Stay", "Timing"]

Machine = Site | Challenger | Nominator | Gauger | Lookout

_DYING = 0.1  # seconds before an outage in which a coordinator that loses its batch commits and does not send


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


class Stage(ABC):
    """Time, faults, and who is there; what is watched is up to whoever inherits."""

    settlement: Settlement
    sites: Sequence[Machine]

    def __init__(
        self,
        network: SimulatedNetwork,
        *,
        panes: int,
        sites: int,
        stays: tuple[Stay, ...] | None = None,
        timing: Timing | None = None,
        backlog: int = 50,
    ) -> None:
        self.network, self.timing = network, Timing() if timing is None else timing
        self.stays = tuple(Stay(site) for site in range(sites)) if stays is None else stays
        self._backlog = backlog
        self._rng = np.random.default_rng([network.seed, 1])
        self.published: list[tuple[float, Answer]] = []
        self.observers: list[Callable[[Any], None]] = []
        self._since: list[float | None] = [None] * sites  # when the stay under way began
        jitter = self._rng.random((panes, sites)) * self.timing.jitter
        due = (np.arange(1, panes + 1) * self.timing.pane)[:, None] + jitter
        self._closes: FloatArray = np.maximum.accumulate(due, axis=0)  # each site closes its panes in order

    def _settlement_of(self, resolver: Resolver) -> Settlement:
        expected = sum(stay.start == 0.0 for stay in self.stays)
        lease, resend = self.timing.lease, self.timing.resend
        return Settlement(resolver, expected=expected, lease=lease, resend=resend, backlog=self._backlog)

    @abstractmethod
    def _close_at(self, site: int, pane: int) -> tuple[Message, ...]:
        """The site closes a pane: what it says."""

    @abstractmethod
    def _anew(self) -> Settlement:
        """A settlement over copies of what is durable of the present one."""

    @abstractmethod
    def _before_hearing(self, machine: Settlement | Machine, message: Message) -> None:
        """A message is about to be received."""

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
                network.at(stay.end, partial(self._leave, stay))
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
        self._before_hearing(self.settlement, message)
        self._coordinator_says(self.settlement.receive(message, self.network.now))
        self._observe()

    def _site_receives(self, site: int, message: Message) -> None:
        if self._running(site):
            self._before_hearing(self.sites[site], message)
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
            self._site_says(site, self._close_at(site, pane))

    def _resume(self) -> None:
        """The coordinator's process starts: over copies of what is durable, everything else is as new."""
        old = self.settlement
        self.settlement = self._anew()
        resolver = self.settlement.resolver
        resolver.grow(len(old.resolver.versions))
        resolver.versions[:], resolver.requests = old.resolver.versions, old.resolver.requests
        self.settlement.published = old.published
        self.settlement.resume(
            old.settled, old.standing, old.sessions, old.left, self.network.now, final=old.final, front=old.front
        )
        self.settlement.collect_again()

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

    def _leave(self, stay: Stay) -> None:
        """The site leaves, and says so again if it crashes unheard. If it has joined again by then, it stays."""
        site = stay.site
        if self._since[site] != stay.start:
            return
        if self._running(site) and not self.sites[site].leaving:
            self._site_says(site, self.sites[site].leave())
        self.network.at(self.network.now + self.timing.heartbeat, partial(self._leave, stay))
