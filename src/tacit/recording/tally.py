"""Counts the messages of resolutions that kernels ran: a compact log in, ledger entries out.

An entry is: update, group, how many reported, how many took part, and who, in the order they joined. A negative number
of participants says that everyone was asked in vain and a new estimate went to all. From that every message of the
coordinator's protocol follows, with its numbers and so its exact size.
"""

from __future__ import annotations

import numpy as np

from tacit.protocols._kernels import unpack_log
from tacit.protocols.threshold import Balancer
from tacit.vocabulary import IntArray
from tacit.wire import bulk
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["Tally"]

_CAPACITY = 1 << 20


class Tally:
    """The log of one replay; ``flush`` turns it into ledger entries and brings the balancer's numbers up to date."""

    def __init__(self, sites: int, dimension: int, *, weighted: bool) -> None:
        self.log = np.empty(_CAPACITY + 8 * sites, dtype=np.int64)
        self.size = np.zeros(1, dtype=np.int64)
        self.violations = 0
        self._sites, self._dimension, self._weighted = sites, dimension, weighted

    def add_renewal(self, update: int, group: int, order: IntArray, reporters: int) -> None:
        """Log a resolution that asked everyone and made a new estimate."""
        at = int(self.size[0])
        self.log[at : at + 4] = update, group, reporters, -len(order)
        self.log[at + 4 : at + 4 + len(order)] = order
        self.size[0] = at + 4 + len(order)

    def flush(self, ledger: Ledger, balancer: Balancer) -> list[tuple[int, int]]:
        """Count everything logged; returns (update, messages) of each resolution."""
        size = int(self.size[0])
        if size == 0:
            return []
        self.size[0] = 0
        starts = unpack_log(self.log, size)
        update, group, reporters, signed = (self.log[starts + k] for k in range(4))
        members = np.abs(signed)
        self.violations += int(reporters.sum())
        entry = np.repeat(np.arange(len(starts)), members)
        rank = np.arange(len(entry)) - np.repeat(np.cumsum(members) - members, members)
        site = self.log[starts[entry] + 4 + rank]
        reported = rank < reporters[entry]
        zone = self._zones(entry, site, signed, balancer)
        self._reports(ledger, zone, entry[reported], site[reported], update, group, balancer)
        asked_entry, asked = entry[~reported], site[~reported]
        number = balancer.requests + 1 + np.arange(len(asked))
        balancer.requests += len(asked)
        pane, g, d = update[asked_entry], group[asked_entry], self._dimension
        _count(ledger, "request", COORDINATOR, asked, bulk.request_sizes(asked, number, pane, g))
        _count(ledger, "reply", None, asked, bulk.reply_sizes(asked, number, pane, g, d, self._weighted))
        self._zone_messages(ledger, zone, update, group, signed, balancer)
        spread = np.where(signed < 0, self._sites, members)
        return list(zip(update.tolist(), (reporters + 2 * (members - reporters) + spread).tolist(), strict=True))

    def _zones(self, entry: IntArray, site: IntArray, signed: IntArray, balancer: Balancer) -> tuple[IntArray, IntArray]:
        """(entry, site) of every zone message; after a renewal every site gets one."""
        balanced = signed[entry] > 0
        renewed = np.flatnonzero(signed < 0)
        entries = np.concatenate([entry[balanced], np.repeat(renewed, self._sites)])
        sites = np.concatenate([site[balanced], np.tile(np.arange(self._sites), len(renewed))])
        order = np.lexsort((entries, sites))
        return entries[order], sites[order]

    def _reports(
        self, ledger: Ledger, zone: tuple[IntArray, IntArray], entry: IntArray, site: IntArray,
        update: IntArray, group: IntArray, balancer: Balancer,
    ) -> None:  # fmt: skip
        width = len(update) + 1
        keys = zone[1] * width + zone[0]
        before = np.searchsorted(keys, site * width + entry) - np.searchsorted(keys, site * width)
        sizes = bulk.report_sizes(
            site, np.ones(len(site), dtype=np.int64), update[entry], balancer.versions[site] + before,
            group[entry], self._dimension, self._weighted,
        )  # fmt: skip
        _count(ledger, "report", None, site, sizes)

    def _zone_messages(
        self, ledger: Ledger, zone: tuple[IntArray, IntArray], update: IntArray, group: IntArray,
        signed: IntArray, balancer: Balancer,
    ) -> None:  # fmt: skip
        entry, site = zone
        first = np.searchsorted(site, np.arange(self._sites))
        version = balancer.versions[site] + 1 + np.arange(len(site)) - first[site]
        adjusted = signed[entry] > 0
        for kind, mine in (("adjust_slack", adjusted), ("new_estimate", ~adjusted)):
            s, v, pane, g = site[mine], version[mine], update[entry[mine]], group[entry[mine]]
            if kind == "adjust_slack":
                sizes = bulk.adjust_sizes(s, v, pane, g, self._dimension)
            else:
                sizes = bulk.estimate_sizes(s, v, pane, self._sites, g, self._dimension)
            _count(ledger, kind, COORDINATOR, s, sizes)
        balancer.versions += np.bincount(site, minlength=self._sites)


def _count(ledger: Ledger, kind: str, source: int | None, site: IntArray, sizes: IntArray) -> None:
    """Add messages from the coordinator to sites, or (source None) from sites to the coordinator."""
    counts = np.bincount(site)
    volumes = np.bincount(site, weights=sizes)
    for s in np.flatnonzero(counts).tolist():
        here, there = (s, COORDINATOR) if source is None else (source, s)
        ledger.add_many(kind, here, (there,), int(counts[s]), int(volumes[s]))
