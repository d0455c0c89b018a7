"""Who is known to a watch, who counts, who is stale, and what each has claimed.

The *roster* (the resolver's) is who counts. It changes only with a collection; whoever comes in between waits for one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.protocols.messages import Report
from tacit.protocols.resolver import Resolver
from tacit.protocols.topico import Nomination
from tacit.protocols.topk.messages import Challenge

__all__ = ["FOREVER", "NEVER", "Members", "Seen"]

NEVER = -(1 << 62)  # before any pane
FOREVER = 1 << 62  # after any pane
_PACE = 5  # panes that a site may be behind and still join


@dataclass(slots=True)
class Seen:
    """What is known of one site, from its first hello to the end of its leave."""

    session: int
    heard: float
    oldest: int  # it holds the panes oldest to closed
    closed: int
    silent: int = NEVER  # claimed under the zone that the coordinator holds for it
    report: Report | Challenge | Nomination | None = None
    sent: float = float("-inf")  # when it was last sent a zone
    stale: bool = False

    def reports(self, pane: int) -> bool:
        """Is its violation of this pane waiting?"""
        return self.report is not None and self.report.pane == pane


@dataclass(frozen=True, slots=True)
class Gathered:
    """A collection that can begin: who will count, who of them can be asked, and the panes that all of these hold."""

    members: list[int]
    able: list[int]
    pane: int
    newest: int


class Members:
    """The sites of one watch. Whoever changes the roster, a session or who left calls ``changed``.

    Sites come in thousands and their heartbeats every second, so what most of them need is kept at hand.
    """

    def __init__(self, resolver: Resolver) -> None:
        self._resolver = resolver
        self.seen: dict[int, Seen] = {}
        self.left: dict[int, int] = {}  # the session in which a site left
        self.leaving: set[int] = set()  # left, but on the roster until the next collection
        self.expected: frozenset[int] = frozenset()  # the sites that must count, whether they ever came or not
        self.hopeless: frozenset[int] = frozenset()  # sites that said that they will never answer for these panes
        self.idle: dict[int, tuple[int, float]] = {}  # idle sites: the last pane that own rows closed, and since when
        self._pending: tuple[int, ...] = ()  # expected, and not on the roster of this version:
        self._pending_of: tuple[int, frozenset[int]] = (-1, self.expected)
        self.version = 0  # grows whenever something changes that must be stored anew
        self._stale: set[int] = set()  # whoever may be
        self._known = -1  # the version whose roster is at hand
        self._roster: tuple[int, ...] = ()
        self.before: tuple[int, ...] = ()  # the roster before the one that is proposed, while it is
        self._laggard = -1  # a site that all wait for, so that most heartbeats need no look at all sites
        resolver.roster[:] = False

    def changed(self) -> None:
        """The roster, a session, or who left is another now."""
        self.version += 1

    def counts(self, site: int) -> bool:
        """Is the site on the roster?"""
        roster = self._resolver.roster
        return site < len(roster) and bool(roster[site])

    def may_count(self, site: int) -> bool:
        """Is the site on the roster, or on the one that counts again if the collection under way is given up?"""
        return self.counts(site) or site in self.before

    @property
    def roster(self) -> tuple[int, ...]:
        """The sites that count."""
        if self._known != self.version:
            self._known = self.version
            self._roster = tuple(np.flatnonzero(self._resolver.roster).tolist())
        return self._roster

    @property
    def stale(self) -> tuple[int, ...]:
        """The sites that count and whose lease ran out."""
        if not self._stale:
            return ()
        return tuple(site for site in sorted(self._stale) if self.counts(site) and self.seen[site].stale)

    def absent(self, final: int) -> tuple[int, ...]:
        """The expected sites that do not count yet and cannot be asked either: they never came, or hold nothing new.

        ``final`` is the last pane that is settled for good: who has not closed the next one has nothing to say yet.
        """
        if self._pending_of != (self.version, self.expected):
            self._pending_of = self.version, self.expected
            self._pending = tuple(sorted(s for s in self.expected if not self.counts(s) and s not in self.left))
        return tuple(site for site in self._pending if not self._joins(site, final))

    def _joins(self, site: int, final: int) -> bool:
        seen = self.seen.get(site)
        return seen is not None and not seen.stale and seen.closed > final

    @property
    def certain(self) -> int:
        """The last pane that no later row can change: idle sites have closed later ones by the time of others only."""
        panes = (pane for site, (pane, _) in self.idle.items() if self._matters(site))
        return min(panes, default=FOREVER)

    def _matters(self, site: int) -> bool:
        """Does it count, and will it do so?"""
        return self.counts(site) and site not in self.hopeless and site not in self.leaving

    def idle_at(self, pane: int) -> tuple[int, ...]:
        """The sites that count and have closed this pane only because they are idle."""
        return tuple(sorted(site for site, (last, _) in self.idle.items() if last < pane and self.counts(site)))

    @property
    def strangers(self) -> bool:
        """Are there sites that are seen and do not count?"""
        return len(self.seen) != len(self.roster)

    def hear(self, site: int, now: float) -> None:
        """The site lives."""
        seen = self.seen[site]
        seen.heard, seen.stale = now, False
        self._stale.discard(site)

    def lose(self, site: int) -> None:
        """Its lease ran out."""
        self.seen[site].stale = True
        self._stale.add(site)

    def forget(self, site: int) -> None:
        """It left, and nothing is owed to it."""
        self.seen.pop(site, None)
        self.idle.pop(site, None)
        self._stale.discard(site)

    def let_go(self) -> None:
        """A collection has ended: those who left and are not on its roster are gone for good."""
        self.before = ()
        for site in [site for site in self.leaving if not self.counts(site)]:
            self.leaving.discard(site)
            self.forget(site)
        self.changed()

    def newcomers(self, settled: int, final: int) -> list[int]:
        """Sites that do not count yet and keep pace: they hold the next pane or will soon, and are then waited for.

        One that only closes what is settled already would never get in; one that is far behind is not waited for,
        unless it is expected: then no pane is final without it.
        """
        if not self.strangers:
            return []
        return [
            site
            for site, seen in self.seen.items()
            if not (seen.stale or self.counts(site) or site in self.leaving)
            and (
                (site in self.expected and seen.closed > final)
                or (seen.oldest <= min(seen.closed, settled + 1) and seen.closed >= settled - _PACE)
            )
        ]

    def waits(self, settled: int, backlog: int | None) -> bool:
        """Does the next pane wait for the very site that it waited for when we last looked at all?"""
        seen = self.seen.get(self._laggard)
        if seen is None or seen.stale or not self.counts(self._laggard) or seen.silent > settled or self.strangers:
            return False
        return not seen.reports(settled + 1) and (backlog is None or seen.closed - settled <= backlog)

    def lag(self, settled: int, backlog: int | None) -> bool:
        """Does the next pane wait for a site, though the backlog is not too long? Then that one is remembered.

        Heartbeats go round in turn: of such sites the one heard last is likely to be the last to claim.
        """
        if self.strangers:
            return False
        found, latest, behind = -1, float("-inf"), backlog is None
        for site in self.roster:
            seen = self.seen[site]
            if seen.stale:
                continue
            behind = behind or backlog is None or seen.closed - settled <= backlog
            if seen.silent <= settled and seen.heard >= latest and not seen.reports(settled + 1):
                found, latest = site, seen.heard
        if found < 0 or not behind:
            return False
        self._laggard = found
        return True

    # Collections

    def gather(self, settled: int, final: int, expected: int) -> Gathered | None:
        """Who would count after a collection of a pane after ``settled``; None while some must be waited for.

        Before there is a roster, sites that have closed no pane are waited for only while those that have are fewer
        than expected: one that never closes any would hold up all others for ever. It joins when it has.
        """
        if len(self.seen) + len(self.left) < expected or self._is_behind(settled, expected):
            return None
        staying = [site for site in self.roster if site not in self.leaving]
        if staying:
            members = sorted([*staying, *self.newcomers(settled, final)])
        else:
            members = sorted(site for site, seen in self.seen.items() if not seen.stale and site not in self.leaving)
            ready = [site for site in members if self.seen[site].closed > settled]
            members = ready if ready and len({*ready, *self.left}) >= expected else members
        able = [site for site in members if not self.seen[site].stale]
        if len({*members, *self.left}) < expected or not able:
            return None
        pane = max(settled + 1, *(self.seen[site].oldest for site in able))
        newest = min(self.seen[site].closed for site in able)
        if pane > newest:
            self._laggard = min(able, key=lambda site: (self.seen[site].closed, -self.seen[site].heard))
            return None
        return Gathered(members, able, pane, newest)

    def _is_behind(self, settled: int, expected: int) -> bool:
        """Does a collection wait for this very site, whoever else may come or go?"""
        seen = self.seen.get(self._laggard)
        if seen is None or seen.stale or self._laggard in self.leaving or seen.closed > settled:
            return False
        return self.counts(self._laggard) or (not self.roster and len(self.seen) + len(self.left) <= expected)

    def propose(self, members: list[int]) -> None:
        """These count from now on, unless it is withdrawn."""
        self.before = self.roster
        self._set(members)

    def withdraw(self) -> None:
        """Who counted before counts again."""
        self._set(list(self.before))
        self.before = ()

    def _set(self, members: list[int]) -> None:
        self._resolver.roster[:] = False
        self._resolver.roster[members] = True
        self.changed()
