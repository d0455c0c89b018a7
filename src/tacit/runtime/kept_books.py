"""What of a watch's books is stored, as it changes, and how a settlement goes on from it after a crash."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tacit.protocols.policies import LeastRecentlyUsed
from tacit.protocols.resolver import Estate, Resolver, VectorResolver
from tacit.protocols.settlement import Settlement
from tacit.protocols.threshold import Balancer
from tacit.runtime.store import Write, pack, unpack
from tacit.vocabulary.arrays import AnyArray, FloatArray

__all__ = ["KeptBooks", "StoredBooks", "resume", "stored_estate"]

StoredBooks = Mapping[int, tuple[bytes, bytes, bytes, bytes | None]]
"""By site: what was collected, weights, slack, and when it was last asked for each group."""

_BOOKS = "INSERT OR REPLACE INTO books VALUES (?, ?, ?, ?, ?, ?)"
_GROUPS = "INSERT OR REPLACE INTO groups VALUES (?, ?, ?)"


class KeptBooks:
    """Knows what of one watch, by its number, is stored already."""

    def __init__(self, number: int) -> None:
        self._number = number
        self._stored: tuple[int, int, int] | None = None  # the revision of the membership, settled and final panes
        self._keys = 0
        self._zones = -1  # the collections that the stored zones are from

    def know(self, keys: int) -> None:
        """So many groups are stored."""
        self._keys = keys

    def writes(self, settlement: Settlement, keys: Sequence[str]) -> list[Write]:
        """What changed since the last time; the resolver's touched sites are taken."""
        writes, resolver = self._group_writes(keys), settlement.resolver
        policy = getattr(resolver, "policy", None)
        recency = policy if isinstance(policy, LeastRecentlyUsed) else None
        stored, now = self._stored, (settlement.membership, settlement.settled, settlement.final)
        if resolver.touched or stored != now:
            self._stored = now
            clock = 0 if recency is None else int(recency.clock[0])
            panes = (settlement.settled, settlement.final, settlement.front)
            values = (*panes, pack(resolver.versions), clock, self._number)
            sql = "UPDATE watches SET settled = ?, final = ?, front = ?, versions = ?, clock = ? WHERE number = ?"
            writes.append((sql, values))
        if stored is None or stored[0] != settlement.membership:  # seldom, and as long as there are sites
            members = (settlement.standing, settlement.sessions, settlement.left)
            who = (*map(json.dumps, members), self._number)
            writes.append(("UPDATE watches SET roster = ?, sessions = ?, gone = ? WHERE number = ?", who))
        if isinstance(resolver, VectorResolver):
            writes += [self._book_write(resolver, site, recency) for site in sorted(resolver.touched)]
        resolver.touched.clear()
        return writes + self._zone_writes(resolver)

    def _book_write(self, resolver: VectorResolver, site: int, recency: LeastRecentlyUsed | None) -> Write:
        books = resolver.books
        used = pack(recency.used[site]) if recency is not None and site < len(recency.used) else None
        vectors = (pack(books.collected[site]), pack(books.weights[site]), pack(books.slack[site]))
        return _BOOKS, (self._number, site, *vectors, used)

    def _zone_writes(self, resolver: Resolver) -> list[Write]:
        """The convex zones that sites hold: a coordinator that starts again must hold the very same."""
        if not isinstance(resolver, Balancer) or not resolver.monitor.convex or resolver.full_syncs == self._zones:
            return []
        self._zones = resolver.full_syncs
        rows = resolver.monitor.zone_rows(resolver.zones, np.arange(len(resolver.zones.answer)))
        squares = resolver.spread.squares
        kept = (pack(rows), None if squares is None else pack(squares), self._number)
        return [("UPDATE watches SET zones = ?, spread = ? WHERE number = ?", kept)]

    def estate_writes(self, estate: Estate, keys: Sequence[str]) -> list[Write]:
        """A paused watch keeps what it will go on from."""
        writes = self._group_writes(keys)
        who = (json.dumps(estate.roster), json.dumps(estate.left), self._number)
        writes.append(("UPDATE watches SET roster = ?, gone = ? WHERE number = ?", who))
        for site in estate.roster if estate.collected.size else ():
            collected, weights = estate.collected[site], estate.weights[site]
            vectors = (pack(collected), pack(weights), pack(np.zeros_like(collected)))
            writes.append((_BOOKS, (self._number, site, *vectors, None)))
        return writes

    def _group_writes(self, keys: Sequence[str]) -> list[Write]:
        fresh = range(self._keys, len(keys))
        self._keys = len(keys)
        return [(_GROUPS, (self._number, number, keys[number])) for number in fresh]


def stored_estate(row: Mapping[str, Any], books: StoredBooks, *, template: bool = False) -> Estate | None:
    """What a paused watch goes on from, if it ever ran."""
    roster = json.loads(row["roster"])
    if not roster:
        return None
    if not books:  # of a ranking nothing is kept but who counted
        return Estate(tuple(roster), _by_site(row["gone"]), np.zeros((max(roster) + 1, 0, 0)), np.zeros((1, 0)))
    known = {site: (unpack(books[site][0]), unpack(books[site][1])) for site in roster}
    groups = max(len(collected) for collected, _ in known.values())
    dimension = next(iter(known.values()))[0].shape[1]
    collected = np.zeros((max(roster) + 1, groups, dimension))
    weights = np.zeros((max(roster) + 1, groups))
    for site, (vectors, heft) in known.items():
        collected[site], weights[site] = _padded(vectors, groups, template), _padded(heft, groups, template)
    return Estate(tuple(roster), _by_site(row["gone"]), collected, weights)


def resume(settlement: Settlement, row: Mapping[str, Any], books: StoredBooks, now: float) -> None:
    """Let a fresh settlement go on; ``row`` is the watch's."""
    resolver = settlement.resolver
    versions = unpack(row["versions"])
    resolver.grow(len(versions))
    resolver.versions[: len(versions)] = versions
    policy = getattr(resolver, "policy", None)
    for site, (collected, weights, slack, used) in books.items():
        assert isinstance(resolver, VectorResolver)
        known = unpack(collected)
        groups, template = len(known), resolver.books.template
        resolver.books.collected[site, :groups] = known
        resolver.books.weights[site, :groups] = unpack(weights)
        resolver.books.slack[site, :groups] = unpack(slack)
        if template:  # groups that got their numbers after this was stored are as group 0 was then
            resolver.books.copy_template(site, np.arange(groups, resolver.books.collected.shape[1]))
        if isinstance(policy, LeastRecentlyUsed) and used is not None:
            policy.took_part(site, np.empty(0, dtype=np.int64), np.empty(0))
            recency = unpack(used)
            policy.used[site] = _padded(recency, policy.used.shape[1], template)
    if isinstance(policy, LeastRecentlyUsed):
        policy.clock[0] = row["clock"]
    roster, sessions, left = json.loads(row["roster"]), _by_site(row["sessions"]), _by_site(row["gone"])
    settlement.resume(row["settled"], roster, sessions, left, now, final=row["final"], front=row["front"])
    settlement.collect_again()
    if isinstance(resolver, Balancer) and row["zones"] is not None and roster:
        _resume_zones(resolver, unpack(row["zones"]))
        resolver.spread.squares = None if row["spread"] is None else unpack(row["spread"])


def _resume_zones(resolver: Balancer, rows: FloatArray) -> None:
    """The zones that sites hold; groups that came later have balls, or are as group 0 is."""
    if not rows.size:
        return
    known = np.arange(len(resolver.zones.answer))
    if resolver.books.template:
        resolver.monitor.put_zone_rows(resolver.zones, known, _padded(rows, len(known), template=True))
    else:
        resolver.monitor.put_zone_rows(resolver.zones, known[: len(rows)], rows)


def _padded(table: AnyArray, groups: int, template: bool) -> AnyArray:
    """A table of so many groups: those that came later are 0, or as group 0 is."""
    wider = np.zeros((groups, *table.shape[1:]), dtype=table.dtype)
    if template and len(table):
        wider[:] = table[0]
    wider[: len(table)] = table
    return wider


def _by_site(text: str) -> dict[int, int]:
    return {int(site): value for site, value in json.loads(text).items()}
