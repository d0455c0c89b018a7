"""A replay with zones fitted to each site: every site has its own zone, so sites are checked in blocks of vectors.

The vectors of all updates are made at once (sums of windows), one kernel call says which of a block are outside of
their sites' zones, and the first step with one of them goes through the machine of protocols/fitted.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from tacit.functions._kernels import inside_many
from tacit.functions.monitor import Zones
from tacit.protocols.books import Books
from tacit.protocols.fitted import Fitter
from tacit.protocols.messages import Init, Message, NewEstimate, Reply, Report, Request, Rows
from tacit.protocols.past import EVERY, Past
from tacit.protocols.policies import policy_named
from tacit.recording.engine import Change, Outcome
from tacit.recording.physical import Physical
from tacit.recording.updates import Updates
from tacit.vocabulary import FloatArray, IntArray
from tacit.wire.ledger import COORDINATOR

__all__ = ["FittedEngine"]

_NO_WEIGHTS = np.empty(0)
_ONE: IntArray = np.zeros(1, dtype=np.int64)
_LEAST, _MOST = 64, 1 << 15  # updates that are checked at once


class FittedEngine:
    """Replays one watch without groups, in the form of sums; ``run`` once."""

    def __init__(
        self, physical: Physical, updates: Updates, *, policy: str = "lru", seed: int = 0, every: int = EVERY
    ) -> None:
        self.physical, self.updates, self.outcome = physical, updates, Outcome()
        n, d = physical.sites, physical.dimension
        monitor = physical.monitor
        rng = np.random.default_rng(seed)
        order = policy_named(policy, sites=n, groups=1, dimension=d, rng=rng)
        self.books = Books(n, 1, d)
        self.resolver = Fitter(monitor, monitor.zones(1), self.books, order)
        self._zones = monitor.zones(n)  # each site's own, in the place of a group's
        self._vectors = _vectors(physical, updates)
        self._anchors = np.zeros((n, d))  # what was collected less the slack
        self._now = np.zeros((n, d))
        self._pasts = [Past(site, every) for site in range(n)]
        self._remembered = 0
        self._sent = 0
        self._talks: list[tuple[int, int]] = []

    def run(self, progress: Callable[[int, int], None] | None = None) -> Outcome:
        """Replay everything; ``progress`` hears (updates done, updates in all) now and then."""
        self._initialise()
        self._advance(0, len(self.updates.site), progress)
        self.outcome.talks.append(np.array(self._talks, dtype=np.int64).reshape(-1, 2))
        self.outcome.full_syncs = self.resolver.full_syncs
        return self.outcome

    def stops(self, at: IntArray) -> Iterator[int]:
        """Run up to and with each of these updates, which end steps."""
        self._initialise()
        for begin, end in pairwise([0, *(at + 1).tolist()]):
            self._advance(begin, end, None)
            yield end - 1

    def look(self) -> tuple[Zones, FloatArray]:
        """The zone that each site holds, and how far (sites, d) each has gone in it."""
        return self._zones, (self._now - self._anchors) * self.books.spread

    def _advance(self, done: int, total: int, progress: Callable[[int, int], None] | None) -> None:
        ends, block = np.flatnonzero(self.updates.last[:total]), _LEAST
        while done < total:
            end = int(ends[np.searchsorted(ends, min(total, done + block) - 1)]) + 1
            found = self._first_outside(done, end)
            if found < 0:
                self._pass(done, end)
                done, block = end, min(_MOST, 2 * block)
            else:
                last = int(ends[np.searchsorted(ends, found)])
                self._pass(done, last + 1)
                self._resolve(last)
                done, block = last + 1, max(_LEAST, block // 2)
            if progress is not None:
                progress(done, total)

    def _initialise(self) -> None:
        n = self.physical.sites
        none = Rows(_ONE, np.zeros((1, self.physical.dimension)), _NO_WEIGHTS)
        for site in range(n):
            self._send(site, COORDINATOR, Init(site, 0, none))
            self._send(COORDINATOR, site, NewEstimate(site, 0, 0, n, _ONE, none.sums))
        self.resolver.new_estimates(_ONE)
        for site in range(n):
            self._take(NewEstimate(site, 0, 0, n, _ONE, none.sums, self.resolver.snapshot(site, 0).zones))
        self._record(-1)

    def _first_outside(self, first: int, end: int) -> int:
        """The first of these updates that leaves its site's zone; -1 when none does."""
        sites = self.updates.site[first:end]
        moves = (self._vectors[first:end] - self._anchors[sites]) * self.books.spread
        outside = np.flatnonzero(~self._inside(sites, moves))
        return first + int(outside[0]) if len(outside) else -1

    def _inside(self, sites: IntArray, moves: FloatArray) -> np.ndarray:
        still = ~moves.any(axis=1)
        result = np.empty(len(sites), dtype=np.bool_)
        drifts = np.ascontiguousarray(self._zones.estimate[sites] + moves)
        inside_many(self.physical.monitor.tables, self._zones, np.ascontiguousarray(sites), drifts, result)
        return np.asarray(result | still)

    def _pass(self, first: int, end: int) -> None:
        """These updates have happened."""
        self._now[self.updates.site[first:end]] = self._vectors[first:end]  # of several of a site the last stays

    def _resolve(self, update: int) -> None:
        before = self._sent
        self._remember(update + 1)
        sites = np.arange(self.physical.sites)
        out = sites[~self._inside(sites, (self._now - self._anchors) * self.books.spread)].tolist()
        self.outcome.violations += len(out)
        for site in out:
            self._tell_news(site, update)
            self._send(site, COORDINATOR, Report(site, 1, update, int(self.resolver.versions[site]), self._rows(site)))
        messages: tuple[Message, ...] = self.resolver.start(update, [(site, self._rows(site)) for site in out])
        while messages and isinstance(messages[0], Request):
            answers: tuple[Message, ...] = ()
            for request in messages:
                assert isinstance(request, Request)
                reply = Reply(request.site, request.number, update, self._rows(request.site))
                self._send(COORDINATOR, request.site, request)
                self._tell_news(request.site, update)
                self._send(request.site, COORDINATOR, reply)
                answers = self.resolver.receive(reply)
            messages = answers
        syncs = self.resolver.full_syncs
        for message in messages:
            self._send(COORDINATOR, message.site, message)
            if isinstance(message, NewEstimate):
                self._take(message)
            else:  # slack
                self._anchors[message.site] = self.books.collected[message.site, 0] - self.books.slack[message.site, 0]
        if syncs != self._recorded:
            self._record(update)
        self._talks.append((update, self._sent - before))

    def _take(self, message: NewEstimate) -> None:
        """A site has a new zone around what was collected of it."""
        monitor, site = self.physical.monitor, np.array([message.site])
        monitor.refresh(self._zones, site, message.estimates, make=False)
        if len(message.zones):
            monitor.put_zone_rows(self._zones, site, message.zones)
            self._zones.estimate[site] = 0.0  # as sites do (protocols/site.py)
        self._anchors[message.site] = self.books.collected[message.site, 0]

    def _remember(self, end: int) -> None:
        """Sites look at what they had until now."""
        for update in range(self._remembered, end):
            self._pasts[int(self.updates.site[update])].take(update, self._vectors[update])
        self._remembered = end

    def _tell_news(self, site: int, update: int) -> None:
        for fit in self._pasts[site].news(update):
            self._send(site, COORDINATOR, fit)
            self.resolver.learn(fit)

    def _rows(self, site: int) -> Rows:
        return Rows(_ONE, self._now[site : site + 1].copy(), _NO_WEIGHTS)

    def _send(self, source: int, target: int, message: Message) -> None:
        self._sent += 1
        self.outcome.ledger.add(source, target, message)

    def _record(self, update: int) -> None:
        self._recorded = self.resolver.full_syncs
        zones = self.resolver.zones
        self.outcome.changes.append(Change(update, _ONE, zones.answer.astype(np.int64), zones.estimate.copy()))


def _vectors(physical: Physical, updates: Updates) -> FloatArray:
    """The sums of each update's window, (updates, d), as exact as pairwise sums of blocks are.

    Differences of running sums would lose digits of what left long ago; windows are summed from a tree of blocks.
    """
    rows, lo, hi = physical.rows, updates.lo, updates.hi
    result = np.zeros((len(lo), rows.shape[1]))
    levels = [rows]
    while len(levels[-1]) > 1:
        below = levels[-1]
        even = below[: len(below) // 2 * 2]
        levels.append(even.reshape(-1, 2, rows.shape[1]).sum(axis=1))
    left, right = lo.astype(np.int64).copy(), hi.astype(np.int64).copy()
    for level in levels:
        odd = np.flatnonzero((left < right) & (left % 2 == 1))
        result[odd] += level[left[odd]]
        left[odd] += 1
        odd = np.flatnonzero((left < right) & (right % 2 == 1))
        right[odd] -= 1
        result[odd] += level[right[odd]]
        left, right = left // 2, right // 2
    return result
