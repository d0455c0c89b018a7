"""Watches over sketches on a simulated network (stage.py has the time and the faults).

What a site's sketch holds at the end of each pane is given: the sketches themselves are pure and have tests of their
own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.census import Census
from tacit.protocols.frequent.lookout import Lookout
from tacit.protocols.frequent.shares import Terms
from tacit.protocols.gauges.gauge import Gauge
from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.gauges.sounder import Sounder
from tacit.protocols.messages import Message
from tacit.protocols.settlement import Settlement
from tacit.transport.simulated import SimulatedNetwork
from tacit.transport.stage import Stage, Stay, Timing
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["FrequentSimulation", "GaugeSimulation"]


class GaugeSimulation(Stage):
    """Runs a value that is kept by gauges. ``arrays`` are (panes, sites, size)."""

    sites: list[Gauger]

    def __init__(
        self,
        gauge: Gauge,
        arrays: FloatArray,
        network: SimulatedNetwork,
        *,
        stays: tuple[Stay, ...] | None = None,
        timing: Timing | None = None,
        backlog: int = 50,
    ) -> None:
        panes, sites, _ = arrays.shape
        super().__init__(network, panes=panes, sites=sites, stays=stays, timing=timing, backlog=backlog)
        self.gauge, self.arrays = gauge, arrays
        self.settlement = self._settlement_of(Sounder(gauge, sites))
        self.sites = [Gauger(site, gauge) for site in range(sites)]

    def _close_at(self, site: int, pane: int) -> tuple[Message, ...]:
        return self.sites[site].close_pane(pane, self.arrays[pane, site])

    def _before_hearing(self, machine: object, message: Message) -> None:
        """There is one group."""

    def _anew(self) -> Settlement:
        return self._settlement_of(Sounder(self.gauge, len(self.sites)))


class FrequentSimulation(Stage):
    """Runs frequent keys: cells are (panes, sites, rows * width), ``came`` are the keys of each pane and site."""

    sites: list[Lookout]

    def __init__(
        self,
        terms: Terms,
        places: Callable[[Sequence[str]], IntArray],
        cells: FloatArray,
        came: Sequence[Sequence[Sequence[str]]],
        network: SimulatedNetwork,
        *,
        stays: tuple[Stay, ...] | None = None,
        timing: Timing | None = None,
        backlog: int = 50,
    ) -> None:
        panes, sites, _ = cells.shape
        super().__init__(network, panes=panes, sites=sites, stays=stays, timing=timing, backlog=backlog)
        self.terms, self.places, self.cells, self.came = terms, places, cells, came
        self.settlement = self._settlement_of(Census(terms, sites))
        self.sites = [Lookout(site, Candidates(places, terms.most)) for site in range(sites)]
        self._fed = [-1] * sites

    def _close_at(self, site: int, pane: int) -> tuple[Message, ...]:
        """Keys that came while the site was away are noted, too: its names are as durable as its cells."""
        machine, cells = self.sites[site], self.cells[pane, site]
        keys = [key for each in range(self._fed[site] + 1, pane + 1) for key in self.came[each][site]]
        self._fed[site] = pane
        counts = machine.candidates.counts_of(keys, cells)
        seen = [key for key, count in zip(keys, counts.tolist(), strict=True) if count >= machine.candidates.floor]
        return machine.close_pane(pane, cells, seen)

    def _before_hearing(self, machine: object, message: Message) -> None:
        """Keys have no numbers."""

    def _anew(self) -> Settlement:
        return self._settlement_of(Census(self.terms, len(self.sites)))
