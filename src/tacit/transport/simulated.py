"""A simulated network: loss, delay, reordering, duplication, partitions and crashes, all from one seed.

Time is simulated seconds and advances from event to event; nothing here waits. Every message is encoded, travels as
bytes and is decoded at its target, so the wire format takes part in every run. Without faults a link keeps the order of
its messages, as a TCP stream does; with reordering, the given share may overtake others.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from tacit.protocols.messages import Message
from tacit.wire.codec import decode, encode
from tacit.wire.control import Control
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["Faults", "Outage", "Partition", "SimulatedNetwork"]


@dataclass(frozen=True, slots=True)
class Partition:
    """From ``start`` to ``end`` nothing passes between these sites and the coordinator."""

    start: float
    end: float
    sites: frozenset[int]


@dataclass(frozen=True, slots=True)
class Outage:
    """A process (a site's number, or COORDINATOR) is down from ``start`` to ``end`` and then starts again.

    ``loses_batch``: a coordinator goes down between committing its state and sending what followed from it.
    """

    process: int
    start: float
    end: float
    loses_batch: bool = False


@dataclass(frozen=True, slots=True)
class Faults:
    """What goes wrong before the time ``until``; afterwards the network is quick and faithful."""

    until: float = 0.0
    loss: float = 0.0  # share of messages that never arrive
    duplication: float = 0.0  # share of messages that arrive twice
    reordering: float = 0.0  # share of messages that may be overtaken
    delay_mean: float = 0.01  # seconds, exponential, above the shortest
    straggling: float = 0.0  # share of messages that take up to ``straggling_max`` seconds
    straggling_max: float = 5.0
    partitions: tuple[Partition, ...] = ()
    outages: tuple[Outage, ...] = ()

    @property
    def end(self) -> float:
        """When the last fault is over."""
        return max([self.until, *(p.end for p in self.partitions), *(o.end for o in self.outages)])


class SimulatedNetwork:
    """The queue of everything that will happen, the one clock, and the dice of the network."""

    DELAY_MIN = 0.002
    DELAY_MEAN = 0.01

    def __init__(self, seed: int, faults: Faults | None = None) -> None:
        self.seed = seed
        self.faults = Faults() if faults is None else faults
        self.now = 0.0
        self.ledger = Ledger()
        self.in_flight = 0
        self._rng = np.random.default_rng(seed)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbered = 0
        self._handlers: dict[int, Callable[[Message], None]] = {}
        self._last_arrival: dict[tuple[int, int], float] = {}

    def attach(self, process: int, handler: Callable[[Message], None]) -> None:
        """Messages to this process go to the handler."""
        self._handlers[process] = handler

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Let something happen at a time (now, if that is past); what was said first happens first of equals."""
        self._numbered += 1
        heapq.heappush(self._events, (max(time, self.now), self._numbered, action))

    def run(self, until: float) -> None:
        """Let everything happen up to a time."""
        while self._events and self._events[0][0] <= until:
            self.now, _, action = heapq.heappop(self._events)
            action()
        self.now = until

    def is_up(self, process: int) -> bool:
        """Is this process running now?"""
        return not any(o.process == process and o.start <= self.now < o.end for o in self.faults.outages)

    def send(self, source: int, message: Message) -> None:
        """Send one message: a site's goes to the coordinator, the coordinator's to the site it names."""
        target = message.site if source == COORDINATOR else COORDINATOR
        self.ledger.add(source, target, message)
        faulty = self.now < self.faults.until
        copies = 1
        if faulty:
            lost, doubled = self._rng.random(2)
            if lost < self.faults.loss:
                return
            copies += int(doubled < self.faults.duplication)
        data = encode(message)
        site = message.site
        for _ in range(copies):
            self.in_flight += 1
            self.at(self._arrival(source, target, faulty), partial(self._deliver, site, target, data))

    def _arrival(self, source: int, target: int, faulty: bool) -> float:
        mean = self.faults.delay_mean if faulty else self.DELAY_MEAN
        arrival = self.now + self.DELAY_MIN + mean * float(self._rng.exponential())
        if faulty and self._rng.random() < self.faults.straggling:
            arrival += float(self._rng.random()) * self.faults.straggling_max
        if faulty:  # delays end with the other faults
            arrival = min(arrival, self.faults.until + self.DELAY_MIN)
        if faulty and self._rng.random() < self.faults.reordering:
            return arrival
        link = (source, target)
        arrival = max(arrival, self._last_arrival.get(link, 0.0))
        self._last_arrival[link] = arrival
        return arrival

    def _deliver(self, site: int, target: int, data: bytes) -> None:
        self.in_flight -= 1
        cut = any(p.start <= self.now < p.end and site in p.sites for p in self.faults.partitions)
        if cut or not self.is_up(target) or target not in self._handlers:
            return
        message = decode(data)
        if not isinstance(message, Control):  # a simulation has none
            self._handlers[target](message)
