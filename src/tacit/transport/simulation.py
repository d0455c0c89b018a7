"""A watch of vectors over a simulated network (stage.py has the time and the faults).

With ``growing`` a site has a group from the first pane on in which it holds anything of it, and others when it is told
of them; groups have the same numbers everywhere, which live is seen to by whoever carries the messages.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from tacit.transport.stage import Machine, Stage, Stay, Timing
from tacit.vocabulary import FloatArray

__all__ = ["Simulation", "Streams"]

_FITS = 16  # panes between looks at whether zones still fit


@dataclass(frozen=True, slots=True, eq=False)
class Streams:
    """What the sites hold at the end of each pane: sums (panes, sites, groups, d), weights (panes, sites, groups)."""

    sums: FloatArray
    weights: FloatArray | None = None


class Simulation(Stage):
    """Runs a watch of vectors to the end of its streams; everything follows from the arguments."""

    settlement: Settlement
    sites: list[Site]

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
        super().__init__(network, panes=panes, sites=sites, stays=stays, timing=timing, backlog=backlog)
        self.streams = streams
        weighted = streams.weights is not None
        self._growing, self._monitor = growing, monitor
        groups = 0 if growing else groups
        dice = np.random.default_rng([network.seed, 2])
        self._policy: Policy | None = None
        self._protocol = protocol
        if protocol != "broadcast":
            self._policy = policy_named(policy, sites=sites, groups=groups, dimension=dimension, rng=dice)
        self.settlement = self._settlement_of(self._resolver(Books(sites, groups, dimension, weighted=weighted)))
        recentres, fits = protocol == "recentre", _FITS if protocol == "fitted" else 0
        self.sites = [
            Site(site, monitor, groups, weighted=weighted, recentres=recentres, fits=fits) for site in range(sites)
        ]

    @property
    def resolver(self) -> Balancer | Cascade:
        """Who resolves violations."""
        resolver = self.settlement.resolver
        assert isinstance(resolver, Balancer | Cascade)
        return resolver

    def _resolver(self, books: Books) -> Balancer | Cascade:
        zones = self._monitor.zones(books.collected.shape[1])
        if self._policy is None:
            return Cascade(self._monitor, zones, books)
        machines: dict[str, type[Balancer]] = {"recentre": Recentrer, "fitted": Fitter}
        return machines.get(self._protocol, Balancer)(self._monitor, zones, books, self._policy)

    def _before_hearing(self, machine: Settlement | Machine, message: Message) -> None:
        if self._growing and isinstance(machine, Settlement | Site):
            machine.grow_groups(_groups_named(message))

    def _close_at(self, site: int, pane: int) -> tuple[Message, ...]:
        sums = self.streams.sums[pane, site]
        weights = None if self.streams.weights is None else self.streams.weights[pane, site]
        machine = self.sites[site]
        if self._growing:
            held = np.flatnonzero(sums.any(axis=1) if weights is None else sums.any(axis=1) | (weights != 0.0))
            machine.grow_groups(int(held.max(initial=-1)) + 1)
            sums = sums[: machine.groups]
            weights = None if weights is None else weights[: machine.groups]
        return machine.close_pane(pane, sums, weights)

    def _anew(self) -> Settlement:
        kept = self.resolver.books
        sites, groups, dimension = kept.collected.shape
        books = Books(sites, groups, dimension, weighted=kept.weighted)
        books.collected[:], books.weights[:], books.slack[:] = kept.collected, kept.weights, kept.slack
        return self._settlement_of(self._resolver(books))

    def _resume(self) -> None:
        old = self.resolver
        super()._resume()
        known = np.arange(len(old.zones.answer))
        rows = self._monitor.zone_rows(old.zones, known)
        if len(rows) and not old.forgetful:
            self._monitor.put_zone_rows(self.resolver.zones, known, rows)


def _groups_named(message: Message) -> int:
    """One more than the largest group that a message names."""
    groups = getattr(message, "groups", None)
    for name in ("rows", "collected"):
        groups = getattr(message, name).groups if hasattr(message, name) else groups
    return 0 if groups is None or not len(groups) else int(groups[-1]) + 1
