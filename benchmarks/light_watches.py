"""A light site with watches: the protocol's own machine (``protocols/site.py``) and frames; no Spark, windows, store.

It closes a pane when it is told to, with sums that it is told to have.

It stands for a ``SiteAgent`` in ``tacit bench many_sites``: what crosses the wire is the same, envelope by envelope.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, TypeGuard

import numpy as np

from tacit.language.plan import WatchPlan
from tacit.language.sentence import parse_watch
from tacit.language.shape import Shape, shape_of, zone_kind
from tacit.protocols.messages import AdjustSlack, Heartbeat, HeartbeatAnswer, Message, NewEstimate, Report, Snapshot
from tacit.protocols.site import Site
from tacit.runtime.repeats import Repeats
from tacit.runtime.speech import bundled, claims_more
from tacit.vocabulary import FloatArray, IntArray
from tacit.wire.codec import VERSION, encode, open_envelope
from tacit.wire.control import (
    BeatsAnswer,
    Clock,
    Control,
    Counts,
    Install,
    Offer,
    Opening,
    Sample,
    TableOffer,
    WatchSet,
    Welcome,
)
from tacit.wire.frames import decode_frame, encode_frame

__all__ = ["COLUMNS", "Figures", "LightSite", "LightWatch"]

COLUMNS = (("ts", "timestamp"), ("x", "double"))
_NONE: IntArray = np.empty(0, dtype=np.int64)


@dataclass(slots=True)
class Figures:
    """What is measured at the sites of one process."""

    waits: list[float] = field(default_factory=list)  # of reports: seconds until the new zone came
    reports: int = 0
    renewed: int = 0  # of them, those that ended with a new estimate for everybody
    bytes_out: int = 0
    bytes_in: int = 0
    frames_out: int = 0
    frames_in: int = 0
    counting: bool = False


class _Machine(Site):
    """The protocol's machine, which does not look again at a vector that it has looked at under the same zone."""

    looked: tuple[int, float] | None = None

    def _violated(self, pane: int) -> IntArray:
        mark = (self.version, float(self._vectors[pane][0][0, 0]))
        if mark == self.looked:
            return _NONE
        violated = super()._violated(pane)
        self.looked = None if len(violated) else mark
        return violated


@dataclass(slots=True)
class LightWatch:
    """A watch at a light site."""

    number: int
    shape: Shape
    machine: _Machine
    begin: int
    value: float  # its sum at the moment, in the units of its zone
    events: int = 0
    since: float | None = None  # when the report was sent that waits for a zone
    repeats: Repeats = field(default_factory=Repeats)

    def share(self, threshold: float) -> float:
        """How far this site may drift upwards before it violates."""
        limit = threshold / float(self.shape.scale[0])
        return (limit - float(self.machine._zones.estimate[0, 0])) / self.machine.sites

    def place(self, drift: float) -> None:
        """Choose the sum so that the site's drift mass is this."""
        books = self.machine._books
        self.value = float(books.collected[0, 0, 0] - books.slack[0, 0, 0]) + drift


class LightSite:
    """One site, as ``run_sites`` holds it."""

    _plans: ClassVar[dict[str, WatchPlan]] = {}
    _shapes: ClassVar[dict[tuple[object, ...], Shape]] = {}

    def __init__(self, name: str, figures: Figures) -> None:
        self.name, self.figures = name, figures
        self.number: int | None = None
        self.lease_s = 10.0
        self.watches: dict[int, LightWatch] = {}
        self.offered: dict[int, Install] = {}
        self._send: Callable[[bytes], bool] | None = None
        self._claims: list[tuple[int, Heartbeat]] = []

    # The link

    def up(self, send: Callable[[bytes], bool]) -> None:
        """Linked up."""
        self._send = send
        self._say([encode(Opening(VERSION, "bench", self.name, self.name, (TableOffer("readings", COLUMNS),)))])

    def down(self, reason: str, fatal: bool) -> None:
        """Nothing should break here; say so when it does."""
        self._send = None
        if reason != "the site stops":
            print(f"  the link of {self.name} broke: {reason}", flush=True)

    def frame(self, frame: bytes) -> None:
        """A frame came."""
        figures = self.figures
        if figures.counting:
            figures.bytes_in += len(frame)
            figures.frames_in += 1
        out: list[bytes] = []
        self._claims.clear()
        for data in decode_frame(frame):
            about, _, message = open_envelope(data)
            out += self._receive(about, message)
        if self._claims and self.number is not None:
            out += bundled(self.number, self._claims)
        if out:
            self._say(out)

    def close_pane(self, pane: int, look: Callable[[LightSite], None]) -> None:
        """The pane is over: ``look`` sets the sums; what follows is said in one frame, with the heartbeats."""
        if self.number is None:
            return
        look(self)
        out: list[bytes] = []
        beats, counted = [], []
        for about, watch in self.watches.items():
            machine = watch.machine
            vector = np.array([[watch.value]])
            for due in range(machine.closed + 1, pane + 1):
                out += self._tell(watch, machine.close_pane(due, vector))
            for message in machine.heartbeat():
                if isinstance(message, Heartbeat):
                    beats.append((about, message))
                else:
                    out += self._tell(watch, (message,))
            watch.events += 100
            counted.append((about, Counts(watch.events, pane, 0, watch.begin)))
        for about, install in self.offered.items():
            out.append(encode(self._offer(install, pane), about))
        self.offered.clear()
        self._say([*out, *bundled(self.number, beats, counted)])

    def _say(self, out: list[bytes]) -> None:
        if self._send is None or not out:
            return
        frame = encode_frame(out)
        if self.figures.counting:
            self.figures.bytes_out += len(frame)
            self.figures.frames_out += 1
        self._send(frame)

    # Messages

    def _receive(self, about: int, message: Message | Control) -> list[bytes]:
        match message:
            case Welcome():
                self.number, self.lease_s = message.site, message.lease_s
            case WatchSet() | Clock():
                pass
            case Install():
                return self._install(about, message)
            case BeatsAnswer():
                for each, settled in zip(message.watches, message.settled, strict=True):
                    if each in self.watches:
                        self.watches[each].machine.receive(HeartbeatAnswer(message.site, settled))
            case _ if about in self.watches and isinstance(message, Message):
                watch = self.watches[about]
                version = watch.machine.version
                said = watch.machine.receive(message)
                if watch.machine.version > version:
                    if watch.since is not None:
                        self._note(watch, message)
                    if claims_more(watch.machine, message):
                        self._claims.append((about, next(filter(_is_beat, watch.machine.heartbeat()))))
                return self._tell(watch, said)
        return []

    def _note(self, watch: LightWatch, message: Message) -> None:
        assert watch.since is not None
        assert isinstance(message, AdjustSlack | NewEstimate | Snapshot), message
        if self.figures.counting:
            self.figures.waits.append(time.perf_counter() - watch.since)
            self.figures.renewed += not isinstance(message, AdjustSlack)
        watch.since = None

    def _tell(self, watch: LightWatch, messages: tuple[Message, ...]) -> list[bytes]:
        now = time.time_ns() // 1000
        said = [each for each in messages if not watch.repeats.lately(each, now, self.lease_s)]
        for message in said:
            if isinstance(message, Report) and watch.since is None:
                watch.since = time.perf_counter()
                self.figures.reports += self.figures.counting
        return [encode(message, watch.number) for message in said]

    def _install(self, about: int, install: Install) -> list[bytes]:
        if install.measure is None or install.begin is None:
            self.offered[about] = install
            return []
        if about in self.watches:
            return []
        assert self.number is not None
        shape = self._shape(install)
        machine = _Machine(self.number, shape.monitor, 1, begin=install.begin)
        vectors, _ = shape.vectors(np.array([[1.0, 1.0]]))
        watch = self.watches[about] = LightWatch(about, shape, machine, install.begin, float(vectors[0, 0]))
        return self._tell(watch, (machine.hello(),))

    def _offer(self, install: Install, pane: int) -> Offer:
        """What a site says of a watch that has not begun: some rows whose x is about 1."""
        assert self.number is not None
        plan = self._plan(install.text)
        values: FloatArray = np.linspace(0.5, 1.5, 5)[:, None]
        none: FloatArray = np.empty((5, 0))
        assert not plan.centres
        return Offer(self.number, pane, pane, "", Sample(np.arange(5), values, np.empty(0), none))

    def _plan(self, text: str) -> WatchPlan:
        if text not in self._plans:
            self._plans[text] = parse_watch(text)
        return self._plans[text]

    def _shape(self, install: Install) -> Shape:
        assert install.measure is not None
        key = (install.text, install.protocol, install.measure.units.tobytes())
        if key not in self._shapes:
            plan = self._plan(install.text)
            self._shapes[key] = shape_of(plan, install.measure, zone_kind(plan, install.protocol))
        return self._shapes[key]


def _is_beat(message: Message) -> TypeGuard[Heartbeat]:
    return isinstance(message, Heartbeat)
