"""The decentralised algorithm (seed, section 4.1): a site whose ball is violated tells everyone its vector.

Everyone then knows a new estimate and checks again; a broadcast can so cause others at the same pane, at worst one per
site, because a site that has just broadcast has drift 0. Rounds make the cascade deterministic: all sites whose ball is
violated under one estimate broadcast together, in the order of their numbers, before anyone checks again.

``Cascade`` is the shared record: which vectors were broadcast, and the estimate they give. In a replay it stands for
what every site holds alike; live, the coordinator keeps it to number and relay the broadcasts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.functions.no_rows import NOTHING
from tacit.protocols.books import Books
from tacit.protocols.messages import Broadcast, Fit, Message, Reply, Request, Rows, Snapshot
from tacit.protocols.resolver import VectorResolver
from tacit.vocabulary import BoolArray, IntArray, ProtocolError

__all__ = ["Cascade"]

_EVERYTHING: IntArray = np.empty(0, dtype=np.int64)


class Cascade(VectorResolver):
    """Numbers broadcasts and keeps the estimate; messages in, messages out."""

    epoch, forgetful = 1, False

    def __init__(self, monitor: Monitor, zones: Zones, books: Books) -> None:
        self.monitor, self.zones, self.books = monitor, zones, books
        self.versions: IntArray = np.zeros(len(books.roster), dtype=np.int64)
        self.available: BoolArray = books.roster.copy()
        self.full_syncs = 0
        self.requests = 0
        self.touched: set[int] = set()  # sites whose books changed; whoever keeps them durable takes them out
        self._collecting: tuple[int, dict[int, Request]] | None = None
        self._collected: dict[int, Rows] = {}

    @property
    def awaited(self) -> tuple[Request, ...]:
        """The requests of a collection whose replies are missing."""
        return () if self._collecting is None else tuple(self._collecting[1].values())

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; all share one version."""
        self.books.grow(sites)
        more = sites - len(self.versions)
        if more > 0:
            newest = self.versions.max(initial=0)
            self.versions = np.concatenate([self.versions, np.full(more, newest, dtype=np.int64)])
            self.available = np.concatenate([self.available, np.zeros(more, dtype=np.bool_)])

    def grow_groups(self, groups: int) -> tuple[Message, ...]:
        """There are groups up to this number now; nobody has said anything of the new: they are 0, or like group 0.

        No request of this protocol names groups, so there is none to be made anew.
        """
        self.books.grow_groups(groups)
        if self.books.template:
            self.zones = self.monitor.grown_alike(self.zones, groups)
        else:
            self.zones = self.monitor.grown(self.zones, groups, np.nan if self.books.weighted else NOTHING)
        return ()

    def abandon(self) -> bool:
        """Forget the collection under way; nothing it did so far has had an effect."""
        self._collecting, self._collected = None, {}
        return False

    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Broadcast what these sites hold at the pane; everyone on the roster is told."""
        everyone = np.flatnonzero(self.books.roster).tolist()
        return tuple(
            Broadcast(site, origin, version, pane, rows)
            for origin, version, rows in self.take(reports)
            for site in everyone
        )

    def take(self, reports: Sequence[tuple[int, Rows]]) -> list[tuple[int, int, Rows]]:
        """``start`` without writing the messages: (origin, version, rows) of each broadcast, in their order."""
        taken = []
        for origin, rows in sorted(reports, key=lambda report: report[0]):
            self.books.collect(origin, rows)
            self.touched.add(origin)
            self.versions += 1
            taken.append((origin, int(self.versions.max()), rows))
        groups = np.unique(np.concatenate([rows.groups for _, rows in reports]))
        self.monitor.refresh(self.zones, groups, self.books.estimates(groups), make=False)
        return taken

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Ask every available site for every group: how a watch starts, and how it goes on when the roster changed."""
        if self._collecting is not None:
            raise ProtocolError("a collection is under way; the next one waits for its end")
        awaited = {}
        for site in np.flatnonzero(self.available).tolist():
            self.requests += 1
            awaited[site] = Request(site, self.requests, pane, _EVERYTHING)
        self._collecting = (pane, awaited)
        return tuple(awaited.values())

    def learn(self, fit: Fit) -> None:
        """Nobody fits zones here."""

    def receive(self, reply: Reply) -> tuple[Message, ...]:
        """Take a reply to one of our requests; others (late, doubled) change nothing."""
        if self._collecting is None:
            return ()
        pane, awaited = self._collecting
        request = awaited.get(reply.site)
        if request is None or request.number != reply.number:
            return ()
        del awaited[reply.site]
        self._collected[reply.site] = reply.rows
        if awaited:
            return ()
        for site, rows in self._collected.items():
            self.books.collect_all(site, rows)
        self.touched.update(np.flatnonzero(self.books.roster).tolist())
        self.abandon()
        self.full_syncs += 1
        groups = np.arange(len(self.zones.answer))
        self.monitor.refresh(self.zones, groups, self.books.estimates(groups), make=False)
        self.versions[:] = self.versions.max() + 1
        return tuple(self.snapshot(site, pane) for site in np.flatnonzero(self.books.roster).tolist())

    def snapshot(self, site: int, pane: int) -> Snapshot:
        """All the site needs to go on checking from the pane after this one: every site's collected vector."""
        books = self.books
        everyone = tuple((other, books.rows_of(other)) for other in np.flatnonzero(books.roster).tolist())
        return Snapshot(
            site, int(self.versions[site]), pane, len(everyone), self.zones.estimate.copy(),
            books.rows_of(site), books.slack[site].copy(), everyone,
        )  # fmt: skip
