"""The sentences that sites and coordinator exchange, as frozen values.

Every message is about one watch and a pane of its clock, and carries rows for the groups it concerns (a watch without
GROUP BY has the one group 0). The names are those of the seed (section 4.2): INIT, REP, REQ, ADJ_SLK, NEW_EST, and the
decentralised algorithm's broadcast. Two differences, both smaller on the wire: a report does not repeat the drift
vector, because the coordinator can compute it; slack travels as its new value, not as a change, so that a doubled or
reordered message does no harm.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np

from tacit.protocols.topico import Candidates, Circular, Nomination
from tacit.protocols.topk.messages import Challenge, Inquiry, Ranking, Showing
from tacit.vocabulary import FloatArray, IntArray

__all__ = [
    "AdjustSlack",
    "Broadcast",
    "Centres",
    "Fit",
    "Heartbeat",
    "HeartbeatAnswer",
    "Hello",
    "Init",
    "Leave",
    "Message",
    "NewEstimate",
    "Reply",
    "Report",
    "Request",
    "Rows",
    "Snapshot",
    "checks_again",
]


def _no_zones() -> FloatArray:
    return np.empty((0, 0))


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Statistics of some groups: sums (k, d), and their weights (k,) where weights vary (else empty)."""

    groups: IntArray
    sums: FloatArray
    weights: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Init:
    """A site's first vector."""

    site: int
    pane: int
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """A site's drift left its zone at this pane (REP). ``version`` is the zone it was checked against.

    Under GROUP BY EACH the row of group 0 stands for all groups that had no number yet, as far as the site knew: it
    knew of ``known`` numbers.
    """

    site: int
    number: int
    pane: int
    version: int
    rows: Rows
    known: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Fit:
    """Where a site's vectors usually are: a mixture of normal distributions, fitted to its panes up to this one.

    Weights (k,), means (k, d), covariances (k, d, d).
    """

    site: int
    number: int
    pane: int
    weights: FloatArray
    means: FloatArray
    covariances: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """The coordinator asks a site for its vector as of a pane (REQ). ``number`` pairs it with its reply.

    Without groups it asks for all that the site has, also those that the coordinator has never heard of; groups that
    the reply leaves out are 0 (under GROUP BY EACH: like group 0).
    """

    site: int
    number: int
    pane: int
    groups: IntArray


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """A site's vector as of the requested pane (REP on REQ)."""

    site: int
    number: int
    pane: int
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class AdjustSlack:
    """Balancing succeeded at this pane: the site's slack is now this (ADJ_SLK)."""

    site: int
    version: int
    pane: int
    groups: IntArray
    slacks: FloatArray


class Centres(IntEnum):
    """What is collected of a site from now on: its vector at the pane, what was before, or what it has reported."""

    VECTOR, STAY, REPORTED = 0, 1, 2


@dataclass(frozen=True, slots=True, eq=False)
class NewEstimate:
    """Everyone was asked at this pane: the new estimate, slack 0, what was sent at that pane is collected (NEW_EST).

    Recentring tells new zones without asking; ``centres`` then says what is collected, and the pane is checked again.
    ``sites`` is how many sites count now. ``zones`` holds the groups' convex zones (k, numbers): no numbers where all
    have balls, else the count of parts first, 0 for a ball (functions/_kernels_convex.py).
    """

    site: int
    version: int
    pane: int
    sites: int
    groups: IntArray
    estimates: FloatArray
    zones: FloatArray = field(default_factory=_no_zones)
    centres: Centres = Centres.VECTOR


@dataclass(frozen=True, slots=True, eq=False)
class Broadcast:
    """The decentralised algorithm: site ``origin`` tells everyone its vector at this pane.

    ``version`` numbers the broadcasts of a watch; a site that misses a number asks for a snapshot by its heartbeats.
    """

    site: int
    origin: int
    version: int
    pane: int
    rows: Rows


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """All a site needs to go on after a crash or a gap: estimates, its own collected vector and slack, per group.

    In the decentralised protocol ``everyone`` holds the collected vectors of all sites, else it is None.
    """

    site: int
    version: int
    pane: int
    sites: int
    estimates: FloatArray
    collected: Rows
    slacks: FloatArray
    everyone: tuple[tuple[int, Rows], ...] | None = None
    zones: FloatArray = field(default_factory=_no_zones)


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A site is alive: it closed its panes through ``closed`` and was silent through ``silent`` under ``version``.

    The newest ``idle_panes`` of the closed panes are provisional: the site's table is idle on an event clock, and only
    other sites' rows made their time pass. Rows that come later may still change them.
    """

    site: int
    number: int
    closed: int
    silent: int
    version: int
    idle_panes: int = 0


@dataclass(frozen=True, slots=True)
class HeartbeatAnswer:
    """The coordinator settled the panes through ``settled``, the newest ``provisional`` of them without some site.

    Provisional panes are settled once more when that site is back, so a site forgets only what is older than ``final``.
    """

    site: int
    settled: int
    provisional: int = 0

    @property
    def final(self) -> int:
        """The last pane that is settled for good."""
        return self.settled - self.provisional


@dataclass(frozen=True, slots=True)
class Hello:
    """A site joins, or comes back after a crash; it still holds its vectors of panes ``oldest`` to ``closed``.

    ``session`` grows with every start of the site, so that a hello delayed past a leave is known to be old.
    """

    site: int
    session: int
    oldest: int
    closed: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A site leaves for good: from the next settled pane on it does not count.

    The site says it until the coordinator says it back. To a site that it does not know the coordinator says the
    session in which that site left (0: it never came), and the site says hello.
    """

    site: int
    session: int


Message = (
    Init
    | Report
    | Request
    | Reply
    | AdjustSlack
    | NewEstimate
    | Broadcast
    | Snapshot
    | Heartbeat
    | HeartbeatAnswer
    | Hello
    | Leave
    | Fit
    | Challenge
    | Inquiry
    | Showing
    | Ranking
    | Candidates
    | Nomination
    | Circular
)


def checks_again(message: Message) -> bool:
    """Must the site that hears this check its pane once more?"""
    return (
        isinstance(message, Broadcast)
        or (isinstance(message, NewEstimate) and message.centres is not Centres.VECTOR)
        or (isinstance(message, Ranking | Circular) and message.again)
    )
