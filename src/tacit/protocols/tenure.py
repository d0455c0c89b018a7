"""Who a settlement counts, in which phase it is, and how it goes on from what another one left."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

from tacit.protocols.members import NEVER, Members, Seen
from tacit.protocols.resolver import Estate, Resolver
from tacit.vocabulary import Answer, State

__all__ = ["TRANSITIONS", "Estate", "Phase", "Tenure"]


class Phase(Enum):
    """What the coordinator waits for: a pane that all hold, all vectors, claims of the next pane, or some vectors."""

    GATHERING = "gathering"
    COLLECTING = "collecting"
    SETTLING = "settling"
    RESOLVING = "resolving"


TRANSITIONS: dict[tuple[Phase, str], Phase] = {
    (Phase.GATHERING, "every member holds the pane"): Phase.COLLECTING,
    (Phase.COLLECTING, "the last awaited reply"): Phase.SETTLING,
    (Phase.COLLECTING, "a member cannot answer"): Phase.GATHERING,
    (Phase.SETTLING, "claims of the next pane"): Phase.SETTLING,
    (Phase.SETTLING, "violations of the next pane"): Phase.RESOLVING,
    (Phase.SETTLING, "the roster changes or the backlog is long"): Phase.GATHERING,
    (Phase.RESOLVING, "the resolver has ended"): Phase.SETTLING,
    (Phase.RESOLVING, "a member cannot answer"): Phase.SETTLING,
}


class Tenure:
    """The state of a settlement, and what others ask of it between messages."""

    def __init__(
        self,
        resolver: Resolver,
        *,
        expected: int,
        begin: int = 0,
        lease: float = 10.0,
        resend: float = 1.0,
        backlog: int | None = 50,
        now: float = 0.0,
    ) -> None:
        self.resolver = resolver
        self.phase = Phase.GATHERING
        self.settled = self.final = self.front = begin - 1  # front: the last pane that was ever settled
        self._began = now
        self._first = begin
        self._once_more = False  # the next collection may be one of the last final pane
        self.skips = False  # panes before the first collection are nobody's: the watch was paused
        self.published: list[Answer] = []
        self.newest = NEVER  # the newest pane that any site has closed
        self._expected, self._lease, self._resend = expected, lease, resend
        self.backlog = backlog  # more panes than this may not wait: some are skipped; None: none ever is
        self._members = Members(resolver)
        self._recollect = False
        self._newest = False  # collect at the newest pane, not at the next one
        self._pane = NEVER  # of the collection or resolution under way
        self._start = NEVER  # the last pane before the collection that need not be settled any more
        self._asked = float("-inf")
        self._doubtful: set[int] = set()  # the sites that were stale at any moment of it
        resolver.available[:] = False

    def resume(
        self,
        settled: int,
        roster: Iterable[int],
        sessions: Mapping[int, int],
        left: Mapping[int, int],
        now: float,
        *,
        final: int | None = None,
        front: int | None = None,
    ) -> None:
        """Go on after a crash, over books that were kept: a resolution under way is begun again by the sites' reports.

        Sites are given a lease to be heard of. What they claimed is forgotten; their heartbeats say it again.
        """
        members = sorted(roster)
        self.settled, self._members.left = settled, dict(left)
        self.final = settled if final is None else final
        self.front = settled if front is None else max(front, settled)
        self.resolver.grow(members[-1] + 1 if members else 0)
        self._members.propose(members)
        self.resolver.available[:] = False
        self.resolver.available[members] = True
        for site in members:
            self._members.seen[site] = Seen(sessions.get(site, 0), now, NEVER, settled)
            if sessions.get(site, 0) <= left.get(site, NEVER):
                self._members.leaving.add(site)
                self._recollect = True
        if members:
            self.resolver.recompute()
            self._expected, self.phase = 1, Phase.SETTLING
            self.newest = max(self.newest, settled)
            if self.resolver.forgetful or not self.resolver.versions[members].all():  # or nobody holds a zone yet
                self._recollect = True

    def collect_again(self) -> None:
        """After ``resume``: where all must be asked anew, ask of the last final pane, which all sites still hold.

        The next pane may be long in coming, and until then there would be no answer. Who has left counts up to the last
        settled pane, so then the next one is waited for.
        """
        self._once_more = self._recollect and not self._members.leaving and self._first <= self.final == self.front

    def succeed(self, estate: Estate, now: float) -> None:
        """Take over from a settlement whose zones are of no use any more (the watch was altered, or paused).

        Who counted goes on counting, with what was last collected of it, and is given a lease to be heard of; answers
        come when all who are there have been asked anew.
        """
        members = list(estate.roster)
        self.resolver.inherit(estate)
        self.resume(self.settled, members, dict.fromkeys(members, -1), estate.left, now)

    @property
    def estate(self) -> Estate:
        """What a successor starts from."""
        return self.resolver.estate(self.standing, self.left)

    @property
    def standing(self) -> tuple[int, ...]:
        """The sites that the last answer rests on: while all are asked anew, the roster before."""
        if self.phase is Phase.COLLECTING:
            return self._members.before
        return self.roster

    @property
    def membership(self) -> int:
        """Grows whenever the roster, a session or who left changes: then it must be stored anew."""
        return self._members.version

    @property
    def sessions(self) -> dict[int, int]:
        """The session of every site that is known."""
        return {site: seen.session for site, seen in self._members.seen.items()}

    @property
    def left(self) -> dict[int, int]:
        """The session in which each site that left did so."""
        return dict(self._members.left)

    def readmit(self, site: int) -> None:
        """The site's process is there, on a new stream: that it was once sent away says nothing any more.

        Nor does what it called its session: nothing of an older stream can still arrive.
        """
        if self._members.left.pop(site, None) is not None:
            self._members.changed()
        if site in self._members.seen:
            self._members.seen[site].session = -1

    def require(self, sites: frozenset[int], hopeless: frozenset[int] = frozenset()) -> None:
        """The sites without which no answer is valid, whether they ever came or not; the others count when they come.

        Of ``hopeless`` sites it is known that they will never answer for the panes that pass: answers go on without
        them, are never valid, and nothing is kept for their return.
        """
        self._members.expected, self._members.hopeless = sites, hopeless

    def expect(self, sites: int) -> None:
        """A watch that has not begun yet waits for so many sites."""
        if self.phase is Phase.GATHERING and not self.roster:
            self._expected = sites

    @property
    def roster(self) -> tuple[int, ...]:
        """The sites that count."""
        return self._members.roster

    @property
    def stale(self) -> tuple[int, ...]:
        """The sites that count and whose lease ran out."""
        return self._members.stale

    @property
    def absent(self) -> tuple[int, ...]:
        """The sites that are required and do not count, because they have not come."""
        return self._members.absent(self.final)

    @property
    def idle(self) -> tuple[int, ...]:
        """The sites that count, and of which the last settled pane has no row that would have closed it."""
        return self._members.idle_at(self.settled)

    @property
    def missing(self) -> tuple[int, ...]:
        """The sites that answers go on without now, or that are idle."""
        idle = self._members.idle_at(self.settled) if self.final < self.settled else ()
        return tuple(sorted({*self.stale, *self.absent, *idle}))

    def absence(self, site: int) -> tuple[float, str]:
        """Since when, and why, answers go on without a site."""
        known, members = self._members.seen.get(site), self._members
        since = self._began if known is None else known.heard
        if site in members.hopeless:
            return since, "it cannot keep the watch"
        if known is None or (not members.counts(site) and known.stale):
            return since, "it has not come"
        if known.stale:
            return since, "nothing was heard of it"
        if site in members.idle:
            return members.idle[site][1], "its table is idle"
        return since, "it has not closed these panes yet" if not members.counts(site) else "it has just come back"

    def heard(self, site: int) -> float:
        """When the site last said anything of this watch."""
        return self._members.seen[site].heard

    @property
    def state(self) -> State:
        """What the answer would be called now."""
        if self.stale or self.absent or self.final < self.front:
            return State.STALE
        return State.VALID if self.phase is Phase.SETTLING else State.RESOLVING
