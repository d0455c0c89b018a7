"""Counts the messages of resolutions that kernels ran: a compact log in, ledger entries out.

An entry is one group at one update: update, group, how many reported, how many took part, and who, in the order they
joined. A negative number of participants says that everyone was asked in vain and a new estimate went to all. All that
goes to one site in one round of one update is one message, whatever the number of groups; from that every message of
the coordinator's protocol follows, with its numbers and so its exact size.
"""

from __future__ import annotations

import numpy as np

from tacit.protocols._kernels import unpack_log
from tacit.protocols._kernels_balance import round_size
from tacit.protocols.threshold import Balancer
from tacit.recording._kernels import count_single
from tacit.vocabulary import IntArray
from tacit.wire import bulk
from tacit.wire.ledger import COORDINATOR, Ledger
from tacit.wire.sizes import VERSION_BYTES

__all__ = ["BroadcastTally", "Tally"]

_CAPACITY = 1 << 20
_NOTES = 1 << 15
_KINDS = ("report", "request", "reply", "adjust_slack", "new_estimate")  # as recording/_kernels.py numbers them


class Tally:
    """The log of one replay; ``flush`` turns it into ledger entries and brings the balancer's numbers up to date."""

    def __init__(self, sites: int, groups: int, dimension: int, *, weighted: bool) -> None:
        self.log = np.empty(max(_CAPACITY, 4 * (4 + sites) * groups), dtype=np.int64)
        self.size = np.zeros(1, dtype=np.int64)
        self.violations = 0
        self._sites, self._groups, self._dimension, self._weighted = sites, groups, dimension, weighted

    def flush(self, ledger: Ledger, balancer: Balancer) -> IntArray:
        """Count everything logged; returns (update, messages) of each resolution, as rows."""
        size = int(self.size[0])
        if size == 0:
            return np.empty((0, 2), dtype=np.int64)
        self.size[0] = 0
        if self._groups == 1:
            return self._flush_single(size, ledger, balancer)
        starts = unpack_log(self.log, size)
        update, group, reporters, signed = (self.log[starts + k] for k in range(4))
        members = np.abs(signed)
        self.violations += int(reporters.sum())
        entry = np.repeat(np.arange(len(starts)), members)
        rank = np.arange(len(entry)) - np.repeat(np.cumsum(members) - members, members)
        site = self.log[starts[entry] + 4 + rank]
        turn = _turns(reporters, entry, rank, self._sites)  # below 0: it reported; else the round it was asked in
        zones = self._zone_messages(ledger, balancer, update, group, signed, entry, site)
        sent = [zones[1]]
        told = turn < 0
        pane, who, lists = _batches(update[entry[told]], np.zeros_like(turn[told]), site[told], group[entry[told]])
        sent.append(pane)
        version = balancer.versions[who] + _before(zones, who, pane)
        once = np.ones(len(who), dtype=np.int64)
        sizes = bulk.report_sizes(who, once, pane, version, lists, self._dimension, self._weighted)
        _count(ledger, "report", None, who, sizes)
        pane, who, lists = _batches(update[entry[~told]], turn[~told], site[~told], group[entry[~told]])
        sent += [pane, pane]
        if len(who):
            number = balancer.requests + 1 + np.arange(len(who))
            balancer.requests += len(who)
            _count(ledger, "request", COORDINATOR, who, bulk.request_sizes(who, number, pane, lists))
            replies = bulk.reply_sizes(who, number, pane, lists, self._dimension, self._weighted)
            _count(ledger, "reply", None, who, replies)
        balancer.versions += np.bincount(zones[0], minlength=self._sites)
        when, count = np.unique(np.concatenate(sent), return_counts=True)
        return np.stack([when, count], axis=1)

    def _flush_single(self, size: int, ledger: Ledger, balancer: Balancer) -> IntArray:
        """``flush`` without groups: an entry is a resolution, so that nothing needs sorting."""
        counts, volumes = np.zeros((2, len(_KINDS), self._sites), dtype=np.int64)
        when, messages = np.empty((2, size // 5 + 1), dtype=np.int64)
        requests = np.array([balancer.requests])
        group = bulk.Lists(np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64))
        vector, rows = bulk.vector_size(self._dimension), bulk.rows_size(group, self._dimension, self._weighted)
        entries, reports = count_single(
            self.log, size, balancer.versions, requests, self._sites, VERSION_BYTES, vector, rows, counts, volumes,
            when, messages,
        )  # fmt: skip
        balancer.requests = int(requests[0])
        self.violations += reports
        for kind, name in enumerate(_KINDS):
            for site in np.flatnonzero(counts[kind]).tolist():
                here, there = (site, COORDINATOR) if name in ("report", "reply") else (COORDINATOR, site)
                ledger.add_many(name, here, (there,), int(counts[kind, site]), int(volumes[kind, site]))
        return np.stack([when[:entries], messages[:entries]], axis=1)

    def _zone_messages(
        self, ledger: Ledger, balancer: Balancer, update: IntArray, group: IntArray, signed: IntArray,
        entry: IntArray, site: IntArray,
    ) -> tuple[IntArray, IntArray]:  # fmt: skip
        """Adjustments to the members of balanced groups, new estimates to all: (site, update) of each, by site."""
        balanced = signed[entry] > 0
        none = np.zeros(int(balanced.sum()), dtype=np.int64)
        adjusted = _batches(update[entry[balanced]], none, site[balanced], group[entry[balanced]])
        failed = np.flatnonzero(signed < 0)
        everyone = np.tile(np.arange(self._sites), len(failed))
        spread = np.repeat(failed, self._sites)
        renewed = _batches(update[spread], np.zeros(len(spread), dtype=np.int64), everyone, group[spread])
        who = np.concatenate([adjusted[1], renewed[1]])
        pane = np.concatenate([adjusted[0], renewed[0]])
        kind = np.repeat([0, 1], [len(adjusted[1]), len(renewed[1])])
        order = np.lexsort((kind, pane, who))
        first = np.searchsorted(who[order], np.arange(self._sites))
        version = np.empty(len(who), dtype=np.int64)
        version[order] = balancer.versions[who[order]] + 1 + np.arange(len(who)) - first[who[order]]
        cut = len(adjusted[1])
        if cut:
            sizes = bulk.adjust_sizes(who[:cut], version[:cut], pane[:cut], adjusted[2], self._dimension)
            _count(ledger, "adjust_slack", COORDINATOR, who[:cut], sizes)
        if cut < len(who):
            sizes = bulk.estimate_sizes(who[cut:], version[cut:], pane[cut:], self._sites, renewed[2], self._dimension)
            _count(ledger, "new_estimate", COORDINATOR, who[cut:], sizes)
        return who[order], pane[order]


class BroadcastTally:
    """Counts broadcasts to everyone: a note for each, ledger entries later, many at a time."""

    def __init__(self, sites: int, dimension: int, ledger: Ledger, *, weighted: bool) -> None:
        self._sites, self._dimension, self._ledger, self._weighted = sites, dimension, ledger, weighted
        self._heads: list[tuple[int, int, int]] = []
        self._groups: list[IntArray] = []

    def note(self, pane: int, origin: int, version: int, groups: IntArray) -> int:
        """The origin broadcast its vectors of these groups; returns how many messages that took."""
        self._heads.append((origin, version, pane))
        self._groups.append(groups)
        if len(self._heads) >= _NOTES:
            self.flush()
        return self._sites - 1

    def flush(self) -> None:
        """Bring the ledger up to date."""
        if not self._heads:
            return
        origin, version, pane = np.array(self._heads, dtype=np.int64).T
        lengths = np.array([len(groups) for groups in self._groups])
        lists = bulk.Lists(np.concatenate(self._groups), np.cumsum(lengths) - lengths)
        counts = np.bincount(origin, minlength=self._sites)
        for target in range(self._sites):
            site = np.full(len(origin), target)
            sizes = bulk.broadcast_sizes(site, origin, version, pane, lists, self._dimension, self._weighted)
            volumes = np.bincount(origin, weights=sizes, minlength=self._sites)
            for source in np.flatnonzero(counts).tolist():
                if source != target:
                    many = int(counts[source]), int(volumes[source])
                    self._ledger.add_many("broadcast", source, (target,), *many)
        self._heads, self._groups = [], []


def _turns(reporters: IntArray, entry: IntArray, rank: IntArray, sites: int) -> IntArray:
    """In which round each member was asked."""
    rounds = np.full((int(reporters.max()) + 1, sites), -1, dtype=np.int64)
    for first in np.unique(reporters).tolist():
        members, turn = first, 0
        while members < sites:
            size = round_size(members, first)
            rounds[first, members : members + size] = turn
            members, turn = members + size, turn + 1
    return rounds[reporters[entry], rank]


def _batches(
    update: IntArray, turn: IntArray, site: IntArray, group: IntArray
) -> tuple[IntArray, IntArray, bulk.Lists]:
    """One message per (update, turn, site), in that order, with its groups: (update, site, groups)."""
    order = np.lexsort((group, site, turn, update))
    update, turn, site, group = update[order], turn[order], site[order], group[order]
    new = np.ones(len(update), dtype=np.bool_)
    new[1:] = (update[1:] != update[:-1]) | (turn[1:] != turn[:-1]) | (site[1:] != site[:-1])
    starts = np.flatnonzero(new)
    return update[starts], site[starts], bulk.Lists(group, starts)


def _before(zones: tuple[IntArray, IntArray], site: IntArray, update: IntArray) -> IntArray:
    """How many of the zone messages went to the site at earlier updates."""
    width = int(max(zones[1].max(initial=0), update.max(initial=0))) + 2
    keys = zones[0] * width + zones[1]
    return np.searchsorted(keys, site * width + update) - np.searchsorted(keys, site * width)


def _count(ledger: Ledger, kind: str, source: int | None, site: IntArray, sizes: IntArray) -> None:
    """Add messages from the coordinator to sites, or (source None) from sites to the coordinator."""
    counts = np.bincount(site)
    volumes = np.bincount(site, weights=sizes)
    for s in np.flatnonzero(counts).tolist():
        here, there = (s, COORDINATOR) if source is None else (source, s)
        ledger.add_many(kind, here, (there,), int(counts[s]), int(volumes[s]))
