"""Recentring on the clock of panes: who leaves its zone says so, and that is all, while the estimate stays covered.

A site that leaves its zone reports its vector, which becomes its centre: what was last collected of it, as far as the
coordinator knows. Its drift is 0 then, and it has all of the zone to roam in. The coordinator needs not answer: that
the pane is settled, which heartbeats tell, means that the report was taken. When the zone does not cover the estimate
any more (``Keeper``, recentre.py), all sites get a new one, as of the same pane, and check it again; their centres stay
where they are. With data that stand still this ends, for every site reports at most once.

Versions. A site's version is a pair (h, l): h zones were told, l reports were taken. A report that is taken makes it
(h, l + 1) at both ends, without a word; a zone makes it (h + 1, l), and a collection (h + 1, 0). A site takes a zone
that moves no centre only if its own version is (h, l), the very one that the zone follows. When a site's lease runs
out, the coordinator makes its version (h + 1, 0), which only a snapshot brings to the site. Panes that are settled
once more are so after a collection. Hence the *invariant*: whenever a site's version is one that the coordinator has
given it, the site's centre and zone are those of the coordinator at that version.

Proof, by induction over what a site does. A snapshot copies both; after a collection both hold the site's vector of
the pane that it was asked for. A zone that moves no centre: both were at (h, l), alike, and get the same zone. A
report r, of the first pane that the site found outside under (h, l), and which it thinks was taken because the pane
is settled: let the coordinator have been at (h, l + 1) too, having taken r' under (h, l). While it held (h, l) the
site was never lost, or (h, l) would have ended; so each pane that it settled meanwhile was claimed under (h, l).
Claims are true of the data, which are durable, in all lives of the site, and by induction they were made with the
same centre and zone. So none of those panes is outside, and both r and r' are of the first pane outside after the one
at which the coordinator came to (h, l): r is r'. A zone that takes a report of its own pane along
(``Centres.REPORTED``) is the same case, with a zone.

Panes that a site closed by the time of others alone are no such data: rows may undo them. The site then says hello; as
messages of a stream come in order, nothing that it said before is heard after that, and the settlement forgets what it
was told of those panes. None of them is final before a collection, from which all that is said here starts afresh.

Without the second number a zone was taken by a site that had not heard that its report was taken, and that kept its
old centre: the sum was wrong, and nobody noticed (tests/simulation/seeds.txt). Other mistakes are harmless: a site
that takes the silence about a lost zone for consent comes to a version that the coordinator never gave it, its claims
count for nothing, and it is sent a snapshot. In all other protocols a site changes nothing that it was not told, and
takes what it is told only if it holds the version just before.

Weights that vary are not kept beside the vector but in it (``form="sums"``): the division is part of the function.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.functions.tracking import EACH, FOLLOW, STAY
from tacit.protocols.books import Books
from tacit.protocols.messages import Centres, Message, NewEstimate, Rows
from tacit.protocols.policies import Policy
from tacit.protocols.recentre import Keeper
from tacit.protocols.site import EPOCH
from tacit.protocols.threshold import Balancer
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["Recentrer"]

_MOST = 256  # groups whose zones are made at once; the others say every change until they are looked at again


class Recentrer(Balancer):
    """Takes the reports of a pane, and makes new zones when they are needed."""

    epoch = EPOCH
    forgetful = True

    def __init__(
        self, monitor: Monitor, zones: Zones, books: Books, policy: Policy, changes: float | None = None
    ) -> None:
        super().__init__(monitor, zones, books, policy)
        self._changes = changes
        self._keepers: dict[int, Keeper] = {}
        self._now = 0

    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Take the reports of one pane; what all must be told, if anything."""
        self._idle()
        self._now = pane
        fresh: set[int] = set()
        for site, rows in sorted(reports, key=lambda report: report[0]):
            moved = (rows.sums - self.books.collected[site, rows.groups]) * (self.books.spread * self.monitor.scale)
            for g, move in zip(rows.groups.tolist(), moved, strict=True):
                if g not in self._keepers:
                    fresh.add(g)
                    self._keepers[g] = self._keeper()
                self._keepers[g].note(move)
            self.books.collect(site, rows)
            self.touched.add(site)
        groups = np.unique(np.concatenate([rows.groups for _, rows in reports]))
        sides = self.monitor.answers(self.books.estimates(groups))
        estimates = self.books.estimates(groups)
        renewed = [
            g
            for g, estimate, side in zip(groups.tolist(), estimates, sides.tolist(), strict=True)
            if self._settle(g, estimate, side, fresh=g in fresh)
        ]
        reporters = {site for site, _ in reports}
        if not renewed and any(map(_is_used_up, self.versions[sorted(reporters)].tolist())):
            renewed = groups[:1].tolist()
        if not renewed:
            self.versions[sorted(reporters)] += 1
            return ()
        self.full_syncs += 1
        return tuple(self._tell_zones(pane, np.array(renewed), reporters))

    def new_estimates(self, groups: IntArray) -> FloatArray:
        """Estimates from what the books hold now, after all were asked; zones are made anew around them."""
        self.full_syncs += 1
        estimates = self.books.estimates(groups)
        sides = self.monitor.answers(estimates)
        for k, (g, estimate, side) in enumerate(zip(groups.tolist(), estimates, sides.tolist(), strict=True)):
            keeper = self._keepers[g] = self._keeper(self._keepers.get(g))
            if k < _MOST:
                keeper.begin(self._now, estimate * self.monitor.scale, self._spread(g), side)
            self._write(g, estimate, keeper)
        return estimates

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Ask every available site for every group: how a watch starts, and how it goes on when the roster changed."""
        self._now = pane
        return super().collect_all(pane)

    def words(self, group: int) -> str:
        """The zone of a group in words."""
        keeper = self._keepers.get(group)
        if keeper is None or keeper.told.kind == EACH:
            return "none: sites say every change"
        zone = keeper.told.zone
        ways = {FOLLOW: "it follows the estimate", STAY: "it stays where it is"}
        return f"{ways[keeper.told.kind]}; in usual moves sites may go {zone.radius:.3g}, the estimate {zone.reach:.3g}"

    def _keeper(self, before: Keeper | None = None) -> Keeper:
        """Of a group; with what was learned of it before."""
        assert self.monitor.centred is not None
        sites = int(np.count_nonzero(self.books.roster))
        keeper = Keeper(self.monitor.centred, sites, self._changes)
        if before is not None and before.sites == sites:
            keeper.learned = before.learned
        return keeper

    def _settle(self, g: int, estimate: FloatArray, side: int, *, fresh: bool) -> bool:
        """Look at a group whose centres have moved: must its sites be told a zone?"""
        keeper = self._keepers[g]
        if fresh:
            keeper.begin(self._now, estimate * self.monitor.scale, self._spread(g), side)
        elif not keeper.settle(self._now, estimate * self.monitor.scale, self._spread(g), side):
            if keeper.told.kind != STAY:  # what is said goes with the estimate; sites need not know
                self._move(g, estimate, side)
            return False
        self._write(g, estimate, keeper)
        return True

    def _move(self, g: int, estimate: FloatArray, side: int) -> None:
        self.zones.estimate[g] = estimate
        self.zones.answer[g] = side

    def _write(self, g: int, estimate: FloatArray, keeper: Keeper) -> None:
        """The group has the zone of its keeper, around this estimate."""
        self.monitor.refresh(self.zones, np.array([g]), estimate[None], make=False)
        self.monitor.put_centred(self.zones, g, keeper.told)

    def _spread(self, g: int) -> FloatArray:
        """How far sites may be expected to move before they have: as far as they are from each other."""
        centres = self.books.collected[self.books.roster, g] * (self.books.spread * self.monitor.scale)
        apart = np.abs(centres - centres.mean(axis=0)).mean(axis=0)
        least = np.abs(centres).mean(axis=0) / 16.0
        spread = np.maximum(apart, least)
        return np.asarray(spread + 1e-3 * spread.max(initial=0.0) + 1e-12)

    def _tell_zones(self, pane: int, groups: IntArray, reporters: set[int]) -> list[Message]:
        rows = self.monitor.zone_rows(self.zones, groups)
        everyone = np.flatnonzero(self.books.roster).tolist()
        messages: list[Message] = []
        for site in everyone:
            self.versions[site] = _with_zone(int(self.versions[site]))
            centres = Centres.REPORTED if site in reporters else Centres.STAY
            version, told = int(self.versions[site]), self.zones.estimate[groups]
            messages.append(NewEstimate(site, version, pane, len(everyone), groups, told, rows, centres))
        self.touched.update(everyone)
        return messages


def _is_used_up(version: int) -> bool:
    """Would one more report be one too many to be counted?

    >>> _is_used_up(EPOCH), _is_used_up(2 * EPOCH - 1)
    (False, True)
    """
    return (version + 1) % EPOCH == 0


def _with_zone(version: int) -> int:
    """The version after a zone that moves no centre; one that no site takes as the next where counting begins anew.

    >>> _with_zone(3 * EPOCH + 5) == 4 * EPOCH + 5, _with_zone(4 * EPOCH - 1) == 5 * EPOCH
    (True, True)
    """
    return (version // EPOCH + 2) * EPOCH if _is_used_up(version) else version + EPOCH
