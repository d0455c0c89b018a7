"""A coordinator's mind over a store on disk, and sites that are the protocol's machines alone: sums come by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from tacit.protocols.messages import Message
from tacit.protocols.site import Site
from tacit.runtime.coordinator import Addressed, Coordinator
from tacit.runtime.kept_watch import KeptWatch, Tuning
from tacit.runtime.store import Store
from tacit.vocabulary.answers import MET
from tacit.wire.codec import VERSION
from tacit.wire.control import Counts, Offer, Opening, Sample, TableOffer

__all__ = ["BEGIN", "Played"]

BEGIN = 999
WATCH = "CREATE WATCH hot AS SELECT SUM(temp) AS s FROM air WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN s > 100"
COLUMNS = (("ts", "timestamp"), ("temp", "double"))


class Played:
    """One watch, ``SUM(temp) > 100``. A step is a second in which sites close a pane."""

    def __init__(self, folder: Path, names: str, *, protocol: str = "coordinator") -> None:
        self.folder, self.names, self.protocol = folder, names, protocol
        self.now = 0.0
        self.alerts: list[tuple[int, str, float]] = []
        self.sites: dict[int, Site] = {}
        self.start()
        self.coordinator.ask(WATCH, 0.0)
        self.link_all()
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

    def start(self) -> None:
        """The coordinator's process."""
        self.store = Store(self.folder)
        self.coordinator = Coordinator(
            self.store, now=self.now, expected=list(self.names), protocol=self.protocol, tuning=Tuning()
        )

    def crash(self) -> None:
        """What was not committed is gone; whoever is there links up again."""
        self.store.close()
        self.start()
        self.link_all()

    def link_all(self) -> None:
        for name in self.names:
            self.link(name)

    def link(self, name: str) -> None:
        offer = (TableOffer("air", COLUMNS),)
        self.coordinator.open(name, Opening(VERSION, "test", name, name, offer), self.now)

    def make_sites(self) -> None:
        """Machines for the watch under its present number, at every site that is linked up."""
        watch = self.watch
        assert watch.shape is not None
        for name in self.names:
            site = self._number(name)
            machine = self.sites[site] = Site(site, watch.shape.monitor, 1, begin=watch.begin or 0)
            self.coordinator.receive(site, watch.number, Counts(0, 0, 0, BEGIN), self.now)
            self.pump(self.coordinator.receive(site, watch.number, machine.hello(), self.now))

    def lose(self, name: str) -> Site:
        """A site is cut off."""
        self.names = self.names.replace(name, "")
        site = self._number(name)
        self.coordinator.close(site, self.now)
        return self.sites.pop(site)

    def _number(self, name: str) -> int:
        site = self.coordinator.sites.named(name)
        assert site is not None
        return site.number

    def commit(self) -> None:
        writes, alerts = self.coordinator.take(self.now)
        self.store.commit(writes)
        self.alerts += [(each["pane"], each["side"], each["value"]) for each in alerts]

    def pump(self, out: Iterable[Addressed]) -> None:
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
        self.pump(self.beat())
        self.pump(self.coordinator.tick(self.now))
        self.commit()

    def steps(self, first: int, end: int, values: Mapping[int, float]) -> None:
        for pane in range(first, end):
            self.step(pane, values)
