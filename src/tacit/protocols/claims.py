"""What every site's machine does on the clock of panes, whatever it watches: claim silence, or stop and say why.

A site checks each closed pane once under what the coordinator told it last (a *zone*, by its version), and claims all
panes up to the first that is not silent. That one it reports, and claims nothing later until it is told something of a
newer version. Whatever it says may be lost, so it says it again with every heartbeat: hello while it holds no zone, or
not the pane that it is to check next, the report it is blocked by, and leave until the coordinator has said it back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from enum import Enum
from typing import Generic, TypeVar

from tacit.protocols.messages import Heartbeat, Hello, Leave, Message, Report
from tacit.protocols.topico import Nomination
from tacit.protocols.topk.messages import Challenge
from tacit.vocabulary import ProtocolError

__all__ = ["TRANSITIONS", "Claimant", "Phase"]

Said = TypeVar("Said", Report, Challenge, Nomination)
"""How a site says that a pane is not silent."""


class Phase(Enum):
    """Where a site is: without a zone, checking panes against it, or outside of it and waiting."""

    WAITING = "waiting"
    CHECKING = "checking"
    BLOCKED = "blocked"


TRANSITIONS: dict[tuple[Phase, str], tuple[Phase, ...]] = {
    (Phase.WAITING, "a zone or a snapshot"): (Phase.CHECKING, Phase.BLOCKED),
    (Phase.CHECKING, "a pane inside the zone"): (Phase.CHECKING,),
    (Phase.CHECKING, "a pane outside the zone"): (Phase.BLOCKED,),
    (Phase.CHECKING, "a newer zone or a snapshot"): (Phase.CHECKING, Phase.BLOCKED),
    (Phase.BLOCKED, "a newer zone or a snapshot"): (Phase.CHECKING, Phase.BLOCKED),
    (Phase.CHECKING, "a crash"): (Phase.WAITING,),
    (Phase.BLOCKED, "a crash"): (Phase.WAITING,),
}


class Claimant(ABC, Generic[Said]):
    """Panes in order, claims, and what is said until it was heard. What is watched is up to whoever inherits."""

    def __init__(self, site: int, *, begin: int, session: int) -> None:
        self.site, self.session = site, session
        self.closed = self.final = begin - 1  # final: settled for good, so what is older may be forgotten
        self.idle_panes = 0  # so many of the newest closed panes are provisional: its table was idle
        self._reports = 0
        self._start_anew()

    def _start_anew(self) -> None:
        """A start: what a crash loses is the zone and any report under way. The data and ``session`` are durable."""
        self.session += 1
        self.leaving = self.left = False
        self.version = 0
        self.silent = self.final
        self._blocked: Said | None = None

    @property
    def phase(self) -> Phase:
        """WAITING without a zone, BLOCKED after a violation, else CHECKING."""
        if self.version == 0:
            return Phase.WAITING
        return Phase.CHECKING if self._blocked is None else Phase.BLOCKED

    @property
    def oldest(self) -> int:
        """The oldest pane that can be asked for; the one that is closed next when there is none."""
        return self._oldest()

    def hello(self) -> Hello:
        """The first words after a start or a crash."""
        return Hello(self.site, self.session, self._oldest(), self.closed)

    def leave(self) -> tuple[Message, ...]:
        """Leave for good. Go on with ``receive`` and ``heartbeat`` until ``left``."""
        self.leaving = True
        return (Leave(self.site, self.session),)

    def heartbeat(self) -> tuple[Message, ...]:
        """Said every so often: what is claimed, and again whatever may have been lost."""
        if self.leaving:
            return () if self.left else self.leave()
        beat = Heartbeat(self.site, self._reports, self.closed, self.silent, self.version, self.idle_panes)
        if self.version == 0:
            return (self.hello(), beat)
        if self._blocked is not None:
            return (beat, self._blocked)
        lacking = self.silent < self.closed and not self._holds(self.silent + 1)
        return (self.hello(), beat) if lacking else (beat,)

    def jump(self, pane: int) -> None:
        """Nothing changed before this pane, so all of that was silent: for replays, which close only such panes."""
        if self.version and self._blocked is None:
            self.closed = self.silent = pane - 1

    def _dismissed(self, message: Leave) -> tuple[Message, ...]:
        """The coordinator says our leave back, or that it does not know us."""
        if self.leaving:
            self.left = self.left or message.session == self.session
        elif message.session < self.session:
            return (self.hello(),)
        return ()

    def _next_closed(self, pane: int) -> None:
        if pane <= self.closed:
            raise ProtocolError(f"site {self.site} closed pane {pane} after pane {self.closed}")

    def _zone_changed(self, version: int, pane: int) -> tuple[Message, ...]:
        """There is a zone of a new version; panes after this one are to be checked under it."""
        self.version, self.silent, self._blocked = version, pane, None
        return self._go_on()

    def _go_on(self) -> tuple[Message, ...]:
        """Check the closed panes not claimed yet, in order, up to the first violation."""
        while self.version > 0 and self._blocked is None and self.silent < self.closed:
            pane = self.silent + 1
            if not self._holds(pane):
                return (self.hello(),)
            report = self._violation(pane)
            if report is not None:
                self._reports += 1
                self._blocked = report
                return (*self._news(), report)
            self.silent = max(pane, self._run(pane))
        return ()

    def forget(self, pane: int) -> None:
        """Panes before this one cannot be asked for any more: there is no room for them."""
        self._forget(min(pane, self.closed + 1))

    def _news(self) -> tuple[Message, ...]:
        """What is to be said before a report."""
        return ()

    @abstractmethod
    def _oldest(self) -> int:
        """The oldest pane that can be asked for; one more than the newest when there is none."""

    @abstractmethod
    def _holds(self, pane: int) -> bool:
        """Can this pane be asked for?"""

    def _run(self, pane: int) -> int:
        """The last pane of those that were closed with this one and are all like it."""
        return pane

    @abstractmethod
    def _forget(self, pane: int) -> None:
        """Forget the panes before this one."""

    @abstractmethod
    def _violation(self, pane: int) -> Said | None:
        """What is to be reported of this pane, with the number after ``_reports``; None when all is well."""
