"""A coordinator's mind over a store on disk, and sites that are the protocol's machines alone: sums come by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tacit.protocols.messages import Message
from tacit.protocols.site import Site
from tacit.runtime.coordinator import Addressed
from tacit.runtime.kept_watch import KeptWatch, Tuning
from tacit.vocabulary.answers import MET
from tacit.wire.codec import VERSION
from tacit.wire.control import Counts, Offer, Opening, Sample, TableOffer
from tests.runtime.live import Live

__all__ = ["BEGIN", "Played"]

BEGIN = 999
WATCH = "CREATE WATCH hot AS SELECT SUM(temp) AS s FROM air WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN s > 100"
COLUMNS = (("ts", "timestamp"), ("temp", "double"))


class Played(Live):
    """One watch, ``SUM(temp) > 100``. A step is a second in which sites close a pane."""

    tuning = Tuning()

    def __init__(self, folder: Path, names: str, *, protocol: str = "coordinator") -> None:
        super().__init__(folder, tuple(names), "air", dict(COLUMNS), protocol=protocol)
        self.sites: dict[int, Site] = {}
        self.coordinator.ask(WATCH, 0.0)
        rows = Sample(np.array([1]), np.ones((1, 1)), np.zeros(0), np.zeros((1, 0)))
        for site in range(len(names)):
            self.coordinator.receive(site, 1, Offer(site, BEGIN + 1, BEGIN + 2, "", rows), 0.1)
        self.coordinator.tick(0.2)
        self.commit()
        self.now = 1.0
        self.make_sites()

    @property
    def watch(self) -> KeptWatch:
        return self.coordinator.find("hot")

    @property
    def answer(self) -> tuple[int, str, bool]:
        """The pane, the state, and whether the sum is above."""
        watch = self.watch
        assert watch.answered is not None
        return watch.answered.pane, watch.state.value, watch.said[""].side == MET

    @property
    def raised(self) -> list[tuple[int, str, float]]:
        """The pane, side and value of every alert."""
        return [(each["pane"], each["side"], each["value"]) for each in self.alerts]

    def running(self) -> list[str]:
        return list(self.names)

    def start_site(self, name: str) -> None:
        self.link(name)

    def link(self, name: str) -> None:
        """What the coordinator says to it is not carried."""
        self.open_link(name, Opening(VERSION, "test", name, name, (TableOffer("air", COLUMNS),)))

    def make_sites(self) -> None:
        """Machines for the watch under its present number, at every site that is linked up."""
        watch = self.watch
        assert watch.shape is not None
        for name in self.names:
            site = self.numbers[name]
            machine = self.sites[site] = Site(site, watch.shape.monitor, 1, begin=watch.begin or 0)
            self.coordinator.receive(site, watch.number, Counts(0, 0, 0, BEGIN), self.now)
            self.carry(self.coordinator.receive(site, watch.number, machine.hello(), self.now))

    def lose(self, name: str) -> Site:
        """A site is cut off."""
        self.names = tuple(each for each in self.names if each != name)
        site = self.numbers[name]
        self.close_link(name)
        return self.sites.pop(site)

    def come_back(self, name: str) -> None:
        """A site that was cut off is linked again; its machine is to be made."""
        self.names = (*self.names, name)
        self.link(name)

    def carry(self, out: Iterable[Addressed]) -> None:
        """Carry messages to and fro until nothing is left to say."""
        todo, number = list(out), self.watch.number
        while todo:
            site, about, message = todo.pop(0)
            if about == number and site in self.sites and isinstance(message, Message):
                for reply in self.sites[site].receive(message):
                    todo += self.coordinator.receive(site, number, reply, self.now)

    def close(self, pane: int, values: Mapping[int, float]) -> None:
        """Sites close a pane, and nothing they say of it arrives."""
        assert self.watch.shape is not None
        for site, value in values.items():
            self.sites[site].close_pane(pane, np.array([[value]]) / self.watch.shape.scale)

    def beat(self) -> list[Addressed]:
        """Heartbeats arrive; what the coordinator says to them is not carried."""
        out: list[Addressed] = []
        for site, machine in self.sites.items():
            for message in machine.heartbeat():
                out += self.coordinator.receive(site, self.watch.number, message, self.now)
        return out

    def step(self, pane: int, values: Mapping[int, float]) -> None:
        self.now += 1.0
        self.close(pane, values)
        self.carry(self.beat())
        self.carry(self.coordinator.tick(self.now))
        self.commit()

    def steps(self, first: int, end: int, values: Mapping[int, float]) -> None:
        for pane in range(first, end):
            self.step(pane, values)
