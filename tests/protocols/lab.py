"""A coordinator and sites in one process: every word is delivered at once, unless a test holds it back."""

from __future__ import annotations

import numpy as np

from tacit.functions.monitor import Monitor
from tacit.protocols.books import Books
from tacit.protocols.broadcast import Cascade
from tacit.protocols.messages import Message
from tacit.protocols.policies import policy_named
from tacit.protocols.settlement import Settlement
from tacit.protocols.site import Site
from tacit.protocols.threshold import Balancer
from tacit.transport import MemoryNetwork
from tacit.vocabulary import Answer, State
from tacit.wire import COORDINATOR

__all__ = ["PROTOCOLS", "Lab"]

PROTOCOLS = ("coordinator lru", "coordinator opposite", "coordinator random", "broadcast")


class Lab:
    """n sites and one watch. Time passes only when a test says so."""

    def __init__(
        self,
        protocol: str,
        monitor: Monitor,
        sites: int,
        *,
        groups: int = 1,
        weighted: bool = False,
        twice: bool = False,  # every message is delivered twice
    ) -> None:
        zones, books = monitor.zones(groups), Books(sites, groups, monitor.dimension, weighted=weighted)
        resolver: Balancer | Cascade = Cascade(monitor, zones, books)
        if protocol != "broadcast":
            name, shape = protocol.split()[1], {"sites": sites, "groups": groups, "dimension": monitor.dimension}
            resolver = Balancer(monitor, zones, books, policy_named(name, **shape, rng=np.random.default_rng(5)))
        self.now = 0.0
        self.pane = -1
        self.twice = twice
        self.settlement = Settlement(resolver, expected=sites, lease=10.0, resend=1.0)
        self.sites = [Site(site, monitor, groups, weighted=weighted) for site in range(sites)]
        self.network = MemoryNetwork()
        self.network.attach(COORDINATOR, self._coordinator)
        for site in self.sites:
            self.start(site.site)

    def start(self, site: int) -> None:
        """The site's process starts and says hello."""
        self.network.attach(site, lambda message: self._site(site, message))
        self.network.send(site, (self.sites[site].hello(),))

    def stop(self, site: int) -> None:
        """The site's process dies."""
        self.network.detach(site)

    def restart(self, site: int) -> None:
        """The site's process starts again, without its zone."""
        self.sites[site].forget_zone()
        self.start(site)

    def close(self, vectors: dict[int, object], weights: dict[int, object] | None = None) -> None:
        """The next pane ends: each of these sites closes it with its vector, then heartbeats go round."""
        self.pane += 1
        for site, vector in vectors.items():
            heavy = None if weights is None else np.asarray(weights[site], dtype=float)
            sums = np.asarray(vector, dtype=float).reshape(-1, self.sites[site].monitor.dimension)
            self.network.send(site, self.sites[site].close_pane(self.pane, sums, heavy))
        self.beat(*vectors)

    def beat(self, *sites: int, rounds: int = 1) -> None:
        """Heartbeats, as often as it takes for a cascade to end."""
        for _ in range(rounds + len(sites)):
            self.now += 0.5
            for site in sites:
                self.network.send(site, self.sites[site].heartbeat())
            self.network.send(COORDINATOR, self.settlement.tick(self.now))

    def wait(self, seconds: float, *alive: int) -> None:
        """Time passes; these sites say heartbeats."""
        end = self.now + seconds
        while self.now < end:
            self.beat(*alive, rounds=1 - len(alive))

    @property
    def last(self) -> Answer:
        """What was published last."""
        return self.settlement.published[-1]

    def sides(self) -> dict[int, list[int]]:
        """The sides published as valid, by pane."""
        return {
            pane: answer.sides.tolist()
            for answer in self.settlement.published
            if answer.state is State.VALID
            for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1)
        }

    def _coordinator(self, message: Message) -> tuple[Message, ...]:
        said = self.settlement.receive(message, self.now)
        return said + self.settlement.receive(message, self.now) if self.twice else said

    def _site(self, site: int, message: Message) -> tuple[Message, ...]:
        said = self.sites[site].receive(message)
        return said + self.sites[site].receive(message) if self.twice else said
