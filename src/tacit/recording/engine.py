"""The replay engine: kernels through silence, the protocol's own machines at every violation.

All sites live in one set of arrays; a kernel advances them in the exact global order to the next step with a violation,
and the resolution runs to its end before the next update, so every answer is as of its step. The machines are those of
protocols/, fed with messages; every message is counted as it would cross the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from tacit.protocols._kernels import EXHAUSTED, LOG_FULL, ONE_GROUP, advance, advance_balancing, check_groups
from tacit.protocols._kernels_balance import LRU, OPPOSITE, RANDOM
from tacit.protocols.books import Books
from tacit.protocols.broadcast import Cascade
from tacit.protocols.centres import Recentrer
from tacit.protocols.messages import AdjustSlack, Broadcast, Init, Message, NewEstimate, Reply, Report, Request, Rows
from tacit.protocols.policies import LeastRecentlyUsed, MostOpposite, Policy, policy_named
from tacit.protocols.threshold import Balancer
from tacit.recording.physical import Physical
from tacit.recording.tally import BroadcastTally, Tally
from tacit.recording.updates import Updates
from tacit.vocabulary import FloatArray, IntArray, OptionError
from tacit.vocabulary.answers import MET
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["PROTOCOLS", "Change", "Engine", "Outcome"]

PROTOCOLS = ("coordinator", "broadcast", "recentre")
_NO_WEIGHTS = np.empty(0)
_BLOCK = 1 << 14
_TURNS = 1 << 12


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """From this update on these groups have these estimates, sides and (for tracking) values."""

    update: int
    groups: IntArray
    sides: IntArray
    estimates: FloatArray


@dataclass(slots=True)
class Outcome:
    """What a replay did."""

    changes: list[Change] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    violations: int = 0
    full_syncs: int = 0
    talks: list[IntArray] = field(default_factory=list)  # blocks of (update, messages of its resolution)
    worst_imbalance: float = 0.0  # sum of slacks against the vectors; convexity holds while it is rounding


class Engine:
    """Replays one watch with one protocol; ``run`` once.

    The coordinator's resolutions run inside the kernel and are counted from its log, broadcasts are counted in bulk;
    with ``by_hand`` every message goes through the machines of protocols/. Both give the same.
    """

    def __init__(
        self,
        physical: Physical,
        updates: Updates,
        *,
        protocol: str = "coordinator",
        policy: str = "lru",
        seed: int = 0,
        by_hand: bool = False,
        ticks: IntArray | None = None,
    ) -> None:
        if protocol not in PROTOCOLS:
            raise OptionError(f"there is no protocol named {protocol!r}; choose one of {', '.join(PROTOCOLS)}")
        self.physical, self.updates, self.outcome = physical, updates, Outcome()
        n, groups, d = physical.sites, physical.groups, physical.dimension
        monitor = physical.monitor
        self.zones = monitor.zones(groups)
        self.books = Books(n, groups, d, weighted=physical.weighted)
        rng = np.random.default_rng(seed)
        order = policy_named(policy, sites=n, groups=groups, dimension=d, rng=rng)
        self._recentres = protocol == "recentre"
        self._ticks, self._origin = ticks, 0  # updates are counted from the origin
        if self._recentres:
            # A step moves one site, unless it is a pane, which moves all.
            self._balancer: Balancer = Recentrer(
                monitor, self.zones, self.books, order, None if ticks is not None else 1
            )
        else:
            self._balancer = Balancer(monitor, self.zones, self.books, order)
        self._cascade = Cascade(monitor, self.zones, self.books)
        self._broadcasts = protocol == "broadcast"
        self._by_hand = by_hand
        self._in_kernel = not (self._broadcasts or self._recentres or by_hand)
        self._tally = Tally(n, groups, d, weighted=physical.weighted)
        self._told_all = BroadcastTally(n, d, self.outcome.ledger, weighted=physical.weighted)
        self._order_state = _order_state(order, n, groups, d, rng)
        self._sent = 0
        width = physical.rows.shape[1] * (1 if physical.exact else 2)  # sums, and what rounding lost of them
        self._local = np.zeros((n, groups, width))
        self._common = np.zeros((n, width))
        self._held = np.zeros((n, groups), dtype=np.int64)
        self._anchor = np.zeros((n, groups, d))
        self._anchor_weight = np.zeros((n, groups))
        self._told = np.ones((n, groups), dtype=np.bool_)
        self._proved = np.full((n, groups, 2 * d + 2), -1.0)  # see protocols/_kernels_quiet.py
        self._proved[:, :, d + 1] = 0.5
        self._at_lo = np.zeros(n, dtype=np.int64)
        self._at_hi = np.zeros(n, dtype=np.int64)
        self._seen = np.full((n, groups), -1, dtype=np.int64)
        self._old = (np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros((n, width)))
        self._out_site = np.zeros(n * groups, dtype=np.int64)
        self._out_group = np.zeros(n * groups, dtype=np.int64)
        self._sheet, self._points = np.zeros((n, d + 2)), np.zeros((3, d))
        self._lists = (np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64))
        self._joined = np.zeros(n, dtype=np.int64)
        self._failed = np.zeros(groups, dtype=np.int64)
        self._talks: list[tuple[int, int]] = []
        room = max(_TURNS, groups)
        self._turns = (np.zeros((room, 3), dtype=np.int64), np.zeros((room, d)), np.zeros(1, dtype=np.int64))
        self._renewals = np.zeros(1, dtype=np.int64)  # those that kernels made

    def run(self, progress: Callable[[int, int], None] | None = None) -> Outcome:
        """Replay everything; ``progress`` hears (updates done, updates in all) now and then."""
        updates, physical = self.updates, self.physical
        self._place_windows()
        self._initialise()
        # Kernels tell of new estimates only where the answer turns. What is met from the start is said with the first
        # row, and with the value of then.
        plain = physical.monitor.plain and not (self.outcome.changes[0].sides == MET).any()
        total = len(updates.site)
        done = 0
        while done < total:
            end = total if progress is None else min(total, done + _BLOCK)
            while end < total and not updates.last[end - 1]:
                end += 1
            state = (
                done, end, updates.site, updates.lo, updates.hi, updates.last, self._at_lo, self._at_hi,
                physical.mode, physical.rows, physical.shared, physical.group, physical.pointer, physical.member,
                self._local, self._common, self._held, physical.exact, self._anchor, self._anchor_weight,
                self._told, physical.weighted, self.books.spread, self._proved, physical.monitor.tables, self.zones,
                self._seen, *self._old, self._out_site, self._out_group, self._sheet, self._points, *self._lists,
            )  # fmt: skip
            if self._in_kernel:
                tally = self._tally
                why, done, failed = advance_balancing(
                    *state, *self._order_state, tally.log, tally.size, self._joined, self._failed, *self._turns,
                    self.books.collected, self.books.weights, self.books.slack, plain, self._renewals,
                )  # fmt: skip
                turned = self._record_turns(done - 1 if why == EXHAUSTED else -1)
                if why == EXHAUSTED:
                    self._renew(done - 1, self._failed[:failed].copy(), turned)
                elif why == LOG_FULL:
                    self._count_log()
            else:
                done, violations = advance(*state)
                if violations:
                    self._resolve(done - 1, violations)
            if progress is not None:
                progress(done, total)
        self._count_log()
        self._told_all.flush()
        self.outcome.talks.append(np.array(self._talks, dtype=np.int64).reshape(-1, 2))
        self._note_imbalance(np.arange(physical.groups))
        if self._renewals[0]:  # kernels moved estimates without a word; the answers are those last told
            self._record(total - 1, np.arange(physical.groups))
        self.outcome.violations += self._tally.violations
        self.outcome.full_syncs = self._balancer.full_syncs + int(self._renewals[0])
        return self.outcome

    def _count_log(self) -> None:
        """Count what kernels resolved since the last time."""
        self.outcome.talks.append(self._tally.flush(self.outcome.ledger, self._balancer))

    def _renew(self, update: int, groups: IntArray, turned: IntArray) -> None:
        """The kernel asked everyone in vain: collect all, as the machine does, and make new estimates.

        ``turned`` have theirs already, and another answer.
        """
        self._note_imbalance(groups)
        vectors = self._common[:, None] + self._local[:, groups]
        self._note_drifts(groups, vectors)
        self.books.collected[:, groups] = vectors[:, :, : self.physical.dimension]
        if self.physical.weighted:
            self.books.weights[:, groups] = vectors[:, :, self.physical.dimension]
        self._balancer.new_estimates(groups)
        self._anchor[:, groups] = self.books.collected[:, groups]
        if self.physical.weighted:
            self._anchor_weight[:, groups] = self.books.weights[:, groups]
            self._told[:, groups] = self.books.weights[:, groups] == 0.0
        self._record(update, np.sort(np.concatenate([groups, turned])))

    def _note_drifts(self, groups: IntArray, vectors: FloatArray) -> None:
        """How far sites have drifted, as the coordinator sees it when it has asked all of them."""
        if not self.physical.monitor.convex:
            return
        d = self.physical.dimension
        mass = vectors[:, :, :d] - self._anchor[:, groups]
        if self.physical.weighted:
            weights = vectors[:, :, d]
            change = weights - self._anchor_weight[:, groups]
            with np.errstate(all="ignore"):
                estimates = np.nan_to_num(self.zones.estimate[groups])
                mass = (mass - change[:, :, None] * estimates) / weights[:, :, None]
        else:
            mass = mass * self.books.spread
        self._balancer.spread.note(mass.reshape(-1, d))

    def _place_windows(self) -> None:
        """Every window starts empty, at its site's first row."""
        site = self.updates.site
        first = np.full(self.physical.sites, -1)
        first[site[::-1]] = np.arange(len(site))[::-1]  # of several the last is kept: the first update
        lo = self.updates.lo[first[first >= 0]]
        self._at_lo[first >= 0] = lo
        self._at_hi[first >= 0] = lo

    def _initialise(self) -> None:
        """Every site sends the vector of its empty window; a group nobody spoke of is 0, so one row says it all."""
        groups = np.arange(self.physical.groups)
        weights = np.zeros(1) if self.physical.weighted else _NO_WEIGHTS
        none = Rows(groups[:1], np.zeros((1, self.physical.dimension)), weights)
        n = self.physical.sites
        for site in range(n):
            init = Init(site, 0, none)
            if not self._broadcasts:
                self._send(site, COORDINATOR, init)
                self._send(COORDINATOR, site, NewEstimate(site, 0, 0, n, none.groups, none.sums))
            else:
                for other in range(n):
                    if other != site:
                        self._send(site, other, init)
        # Live, groups that nobody has spoken of have balls, and without a coordinator all have.
        one = self.physical.mode == ONE_GROUP
        make = one and not self._broadcasts
        self.physical.monitor.refresh(self.zones, groups, self.books.estimates(groups), make=make)
        if self._recentres and one:
            self._balancer.new_estimates(groups)
        self._record(-1, groups)

    def _resolve(self, update: int, violations: int) -> None:
        before = self._sent
        sites, groups = self._out_site[:violations], self._out_group[:violations]
        self.outcome.violations += violations
        if self._broadcasts:
            self._broadcast(update, self._reports(sites, groups))
        elif self._recentres:
            self._recentre(update, self._reports(sites, groups))
        else:
            self._balance(update, self._reports(sites, groups))
        self._talks.append((update, self._sent - before))

    def _reports(self, sites: IntArray, groups: IntArray) -> list[tuple[int, Rows]]:
        return [
            (site, self._rows(site, np.sort(groups[sites == site]))) for site in np.unique(sites).tolist()
        ]  # fmt: skip

    def _rows(self, site: int, groups: IntArray) -> Rows:
        vectors = self._common[site] + self._local[site, groups]
        d = self.physical.dimension
        return Rows(groups, vectors[:, :d], vectors[:, d] if self.physical.weighted else _NO_WEIGHTS)

    def _balance(self, update: int, reports: list[tuple[int, Rows]]) -> None:
        resolver = self._balancer
        for site, rows in reports:
            self._send(site, COORDINATOR, Report(site, 1, update, int(resolver.versions[site]), rows))
        messages: tuple[Message, ...] = resolver.start(update, reports)
        while messages and isinstance(messages[0], Request):
            answers: tuple[Message, ...] = ()
            for request in messages:
                assert isinstance(request, Request)
                reply = Reply(request.site, request.number, update, self._rows(request.site, request.groups))
                self._send(COORDINATOR, request.site, request)
                self._send(request.site, COORDINATOR, reply)
                answers = resolver.receive(reply)
            messages = answers
        renewed: NewEstimate | None = None
        touched: IntArray = np.empty(0, dtype=np.int64)
        for message in messages:
            assert isinstance(message, AdjustSlack | NewEstimate)
            self._send(COORDINATOR, message.site, message)
            self._set_anchor(message.site, message.groups)
            touched = message.groups
            if isinstance(message, NewEstimate):
                renewed = message
        self._note_imbalance(touched)
        if renewed is not None:
            self._record(update, renewed.groups)

    def _recentre(self, update: int, reports: list[tuple[int, Rows]]) -> None:
        resolver, changed = self._balancer, np.empty(0, dtype=np.int64)
        tick = self._origin + update
        tick = tick if self._ticks is None else int(self._ticks[tick])
        while reports:
            for site, rows in reports:
                self._send(site, COORDINATOR, Report(site, 1, update, int(resolver.versions[site]), rows))
                changed = np.union1d(changed, rows.groups)
            messages = resolver.start(tick, reports)
            for site, rows in reports:
                self._set_anchor(site, rows.groups)
            reports = []
            for message in messages:
                self._send(COORDINATOR, message.site, message)
            if messages:
                assert isinstance(messages[0], NewEstimate)
                self._proved[:, messages[0].groups, self.physical.dimension] = -1.0  # what was proved of other zones
                reports = self._outside(messages[0].groups)
        self._record(update, changed)

    def _outside(self, groups: IntArray) -> list[tuple[int, Rows]]:
        """The reports of all sites whose drifts are outside, of these groups."""
        physical = self.physical
        count = check_groups(
            groups, self._local, self._common, self._anchor, self._anchor_weight, self._told, physical.weighted,
            self.books.spread, self._proved, physical.monitor.tables, self.zones, self._out_site, self._out_group,
            self._points,
        )  # fmt: skip
        self.outcome.violations += count
        return self._reports(self._out_site[:count], self._out_group[:count])

    def _broadcast(self, update: int, reports: list[tuple[int, Rows]]) -> None:
        resolver = self._cascade
        changed: IntArray = np.empty(0, dtype=np.int64)
        while reports:
            if self._by_hand:
                for message in resolver.start(update, reports):
                    assert isinstance(message, Broadcast)
                    if message.site != message.origin:
                        self._send(message.origin, message.site, message)
            else:
                for origin, version, rows in resolver.take(reports):
                    self._sent += self._told_all.note(update, origin, version, rows.groups)
            groups = np.unique(np.concatenate([rows.groups for _, rows in reports]))
            for site, rows in reports:
                self._set_anchor(site, rows.groups)
            changed = np.union1d(changed, groups)
            reports = self._outside(groups)
        self._record(update, changed)

    def _send(self, source: int, target: int, message: Message) -> None:
        self._sent += 1
        self.outcome.ledger.add(source, target, message)

    def _set_anchor(self, site: int, groups: IntArray) -> None:
        self._anchor[site, groups] = self.books.collected[site, groups] - self.books.slack[site, groups]
        if self.physical.weighted:
            self._anchor_weight[site, groups] = self.books.weights[site, groups]
            d = self.physical.dimension
            weight = self._common[site, d] + self._local[site, groups, d]
            self._told[site, groups] = weight == 0.0

    def _note_imbalance(self, groups: IntArray) -> None:
        collected = self.books.collected[:, groups]
        slack = collected - self._anchor[:, groups]
        size = np.abs(slack).sum(axis=0) + np.abs(collected).sum(axis=0)  # a slack is rounded as these are
        with np.errstate(invalid="ignore"):
            worst = float(np.nan_to_num(np.abs(slack.sum(axis=0)) / size).max(initial=0.0))
        self.outcome.worst_imbalance = max(self.outcome.worst_imbalance, worst)

    def _record_turns(self, last: int) -> IntArray:
        """Record what kernels answered anew; the groups of update ``last`` are given back, to be told with others."""
        notes, estimates, count = self._turns
        end, count[0] = int(count[0]), 0
        cuts = [0, *(np.flatnonzero(notes[1:end, 0] != notes[: max(0, end - 1), 0]) + 1).tolist(), end]
        for first, after in pairwise(cuts if end else []):
            update, groups = int(notes[first, 0]), notes[first:after, 1].copy()
            if update == last:
                return groups
            self.outcome.changes.append(
                Change(update, groups, notes[first:after, 2].copy(), estimates[first:after].copy())
            )
        return notes[:0, 1].copy()

    def _record(self, update: int, groups: IntArray) -> None:
        sides = self.zones.answer[groups].astype(np.int64)
        self.outcome.changes.append(Change(update, groups.copy(), sides, self.zones.estimate[groups].copy()))


def _order_state(
    policy: Policy, sites: int, groups: int, dimension: int, rng: np.random.Generator
) -> tuple[int, IntArray, FloatArray, IntArray, FloatArray, IntArray]:
    """A balancing policy as kernels see it: its own arrays, shared, and dice thrown beforehand."""
    known = policy.known if isinstance(policy, MostOpposite) else np.zeros((sites, groups, dimension))
    recency = policy.recency if isinstance(policy, MostOpposite) else policy
    if not isinstance(recency, LeastRecentlyUsed):
        recency = LeastRecentlyUsed(sites, groups)
    code = {MostOpposite: OPPOSITE, LeastRecentlyUsed: LRU}.get(type(policy), RANDOM)
    dice = rng.random(1 << 16) if code == RANDOM else np.zeros(1)
    return code, recency.used, known, recency.clock, dice, np.zeros(1, dtype=np.int64)
