"""A site's half of both protocols, on the clock of panes.

The site keeps its vectors of the panes that are not settled yet, checks each closed pane once against the zone it
holds, and is silent while the drift stays inside. On the first violating pane it reports that pane's vector and stops
claiming anything later, until a zone of a newer version arrives; then it checks again from that zone's pane on. It
answers requests as of the pane they name. A site that recentres (centres.py) goes on by itself when its report was
taken. What it holds of zones is a cache: after a crash it says hello and is sent a snapshot. Claims are in claims.py.

Groups may appear while the watch runs (``grow_groups``). One that nobody has told the coordinator of is 0 everywhere as
far as the coordinator knows, and the site checks it against the zone around 0 like any other: a rare key costs nothing.

Under GROUP BY EACH (``template``) a row counts in every group, so that nothing is 0: group 0 holds what all groups have
that no row has the member of, and stands for every group that has no number at the coordinator. All that is said of
group 0 holds of such a group, and the site checks its own vector of it against the zone of group 0. Two rules keep that
true. A site that says its vector of group 0 has seen to it that every group of which its vector is another has a number
(``must_be_named``). A group that gets its number (``name_groups``) is from then on what group 0 was; as messages come
in order, it is so for everybody at the same place of what was said.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tacit.functions.monitor import Monitor
from tacit.functions.no_rows import has_no_rows
from tacit.protocols.books import estimate_of
from tacit.protocols.claims import Claimant
from tacit.protocols.holdings import Holdings
from tacit.protocols.messages import (
    AdjustSlack,
    Broadcast,
    Centres,
    HeartbeatAnswer,
    Leave,
    Message,
    NewEstimate,
    Reply,
    Report,
    Request,
    Rows,
    Snapshot,
)
from tacit.protocols.past import Past
from tacit.vocabulary import FloatArray, IntArray, ProtocolError

__all__ = ["EPOCH", "Site"]

EPOCH = 1 << 16  # a version of recentring is EPOCH times the zones told, plus the reports taken (centres.py)
_NO_WEIGHTS = np.empty(0)


class Site(Holdings, Claimant[Report]):
    """Pure machine: panes and messages in, messages out. The vectors are durable, the zone is not."""

    def __init__(
        self,
        site: int,
        monitor: Monitor,
        groups: int,
        *,
        weighted: bool = False,
        template: bool = False,
        history: int | None = None,
        begin: int = 0,
        session: int = 0,
        recentres: bool = False,
        fits: int = 0,
    ) -> None:
        Holdings.__init__(self, monitor, groups, weighted=weighted, template=template, panes=history)
        self.recentres = recentres
        self._epoch = EPOCH if recentres else 1  # of which the versions of zones are multiples (centres.py)
        self.fits = fits  # panes after which it looks whether zones still fit it; 0: zones are not fitted
        self._past = Past(site, fits) if fits else None
        self.sites = 1
        Claimant.__init__(self, site, begin=begin, session=session)

    def forget_zone(self) -> None:
        """A start: what a crash loses is the zone and any report under way. The vectors and ``session`` are durable."""
        self._start_anew()
        self.sites = 1
        self._everyone = None
        self._forget_groups()

    def name_groups(self, groups: IntArray) -> None:
        """These groups have numbers at the coordinator: group 0 does not stand for them any more.

        A report that is under way says what it says of group 0 of them, too.
        """
        fresh = groups[~self._named[groups]]
        self._named[groups] = True
        blocked = self._blocked
        if self.template and len(fresh) and blocked is not None and blocked.rows.groups[0] == 0:
            self._blocked = replace(blocked, rows=self._rows(blocked.pane, self._violated(blocked.pane)))

    def must_be_named(self, message: Message) -> IntArray:
        """The groups that must have numbers before this is said, beside those that it names."""
        if not self.stands_for_all(message):
            return self._groups[:0]
        assert isinstance(message, Report | Reply)
        if message.pane not in self._vectors:
            return self._groups
        return np.flatnonzero(self._named | self._differs(message.pane))

    def without_name(self, groups: IntArray) -> IntArray:
        """Those of these groups that never had a number at the coordinator."""
        return groups[~self._named[groups]]

    def stands_for_all(self, message: Message) -> bool:
        """Does the message say a vector that stands for all groups without a number?"""
        if not (self.template and isinstance(message, Report | Reply)):
            return False
        return bool(len(message.rows.groups) and message.rows.groups[0] == 0)

    def as_it_is_now(self, message: Message) -> Message:
        """A report that waited, as it is to be said now."""
        blocked = self._blocked
        if isinstance(message, Report) and blocked is not None and blocked.number == message.number:
            return blocked
        return message

    @property
    def estimate_of_all(self) -> FloatArray:
        """The estimate (1, d) of group 0, and so of all groups without a number."""
        return self._zones.estimate[:1]

    def makes(self, make: Callable[[int], tuple[FloatArray, FloatArray | None]]) -> None:
        """Who can make the sums and weights of a held pane again, to the bit: then memory need not hold them all."""

        def vector(pane: int) -> tuple[FloatArray, FloatArray]:
            sums, weights = make(pane)
            return sums, _NO_WEIGHTS if weights is None else weights

        self._vectors.make = vector

    def close_pane(
        self, pane: int, sums: FloatArray, weights: FloatArray | None = None, last: int | None = None
    ) -> tuple[Message, ...]:
        """The pane is complete and these are its window's sums, (groups, d); copied. Panes are closed in order.

        All panes up to ``last`` have the same sums. After a gap (the site was away) the older panes are forgotten: what
        is held has no holes.
        """
        self._next_closed(pane)
        self._vectors.put(pane, (sums.copy(), _NO_WEIGHTS if weights is None else weights.copy()), last)
        self.closed = pane if last is None else last
        if self._past is not None:
            self._past.take(pane, sums[0].copy())
        return self._go_on()

    def receive(self, message: Message) -> tuple[Message, ...]:
        """One transition. A zone that is not the very next version changes nothing: a snapshot will come."""
        match message:
            case Request():
                return self._answer(message)
            case AdjustSlack() if message.version == self.version + 1:
                self._fit(message.groups, message.slacks)
                self._books.slack[0, message.groups] = message.slacks
                self._tell(message.pane, message.groups)
                return self._zone_changed(message.version, message.pane)
            case NewEstimate() if self._follows(message) and message.pane in self._vectors:
                self._fit(message.groups, message.estimates)
                if message.centres is not Centres.VECTOR:
                    return self._recentred(message)
                self._books.collect(0, self._rows(message.pane, message.groups))
                self._take_zones(message.groups, message.estimates, message.zones)
                self._tell(message.pane, message.groups)
                self.sites = message.sites
                return self._zone_changed(message.version, message.pane)
            case Broadcast() if message.version == self.version + 1 and self._everyone is not None:
                return self._broadcast(message, self._everyone)
            case Snapshot() if message.version >= self.version:
                return self._restore(message)
            case HeartbeatAnswer():
                self.final = max(self.final, message.final)
                self._vectors.forget(self.final)
                if self.recentres and self._blocked is not None and self._blocked.pane <= message.settled:
                    return self._taken(self._blocked)
            case Leave():
                return self._dismissed(message)
        return ()

    def drifts(self, pane: int) -> FloatArray:
        """u of every group at a pane, for checkers (ALGORITHMS.md, section 1, convexity)."""
        rows = self._rows(pane, self._groups)
        mass = self._books.drift_mass(0, rows, self._zones.estimate)
        weights = rows.weights[:, None] if self.weighted else 1.0 / self.sites
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(self._zones.estimate + mass / weights)

    def estimates(self, groups: int) -> FloatArray:
        """The estimates (groups, d) of the first groups, as the site was told them, for checkers."""
        return np.asarray(self._zones.estimate[:groups])

    @property
    def slack(self) -> FloatArray:
        """The slack of every group (groups, d), for checkers."""
        return np.asarray(self._books.slack[0])

    def _answer(self, request: Request) -> tuple[Message, ...]:
        if request.pane not in self._vectors:
            return (self.hello(),)
        groups = request.groups
        if len(groups) == 0 and self.template:
            groups = np.flatnonzero((self._groups == 0) | self._differs(request.pane))
        elif len(groups) == 0:
            sums, weights = self._vector(request.pane)
            groups = np.flatnonzero(
                (sums != 0.0).any(axis=1) | (weights != 0.0) if self.weighted else ~has_no_rows(sums)
            )
        elif groups[0] < 0 or groups[-1] >= len(self._groups):
            raise ProtocolError(f"the coordinator asked site {self.site} for a group that its watch does not have")
        return (*self._news(), Reply(self.site, request.number, request.pane, self._rows(request.pane, groups)))

    def _news(self) -> tuple[Message, ...]:
        return () if self._past is None else self._past.news(self.closed)

    def _follows(self, message: NewEstimate) -> bool:
        """Does the zone follow the one that we hold?

        A zone that moves no centre must follow on our very version, which counts our reports that were taken: after a
        report that was taken without our knowledge, ours is not the centre that the zone was made for.
        """
        if message.centres is Centres.VECTOR:
            return message.version == (self.version // self._epoch + 1) * self._epoch
        return message.version == self.version + self._epoch

    def _taken(self, report: Report) -> tuple[Message, ...]:
        """Its pane is settled and no zone came: the report was taken, and is the centre now."""
        self._books.collect(0, report.rows)
        return self._zone_changed(self.version + 1, report.pane)

    def _recentred(self, message: NewEstimate) -> tuple[Message, ...]:
        """A new zone for recentring: the pane is checked once more."""
        if message.centres is Centres.REPORTED:
            if self._blocked is None or self._blocked.pane != message.pane:
                return ()  # it took a report that we forgot; our heartbeats ask for a snapshot
            self._books.collect(0, self._blocked.rows)
        self._take_zones(message.groups, message.estimates, message.zones)
        self.sites = message.sites
        return self._zone_changed(message.version, message.pane - 1)

    def _broadcast(self, message: Broadcast, everyone: dict[int, Rows]) -> tuple[Message, ...]:
        self._books.check(message.rows)
        groups = message.rows.groups
        if message.origin == self.site:
            self._books.collect(0, message.rows)
            self._tell(message.pane, groups)
        known = everyone[message.origin]
        known.sums[groups] = message.rows.sums
        if self.weighted:
            known.weights[groups] = message.rows.weights
        sums = np.stack([rows.sums[groups] for rows in everyone.values()])
        weights = np.stack([rows.weights[groups] for rows in everyone.values()]) if self.weighted else None
        self.monitor.refresh(self._zones, groups, estimate_of(sums, weights))
        return self._zone_changed(message.version, message.pane - 1)

    def _restore(self, snapshot: Snapshot) -> tuple[Message, ...]:
        if snapshot.version == self.version and self.silent >= snapshot.pane and self._blocked is None:
            return ()
        groups = snapshot.collected.groups
        self._books.check(snapshot.collected, may_be_empty=True)
        self._fit(groups, snapshot.slacks)
        self._fit(groups, snapshot.estimates)
        self.sites = snapshot.sites
        self._forget_groups()  # those that it does not name are 0, or like group 0
        self._named = np.isin(self._groups, groups) | (self._groups == 0)
        if len(groups):
            self._books.collect(0, snapshot.collected)
            self._books.slack[0, groups] = snapshot.slacks
            self._take_zones(groups, snapshot.estimates, snapshot.zones)
        if snapshot.everyone is not None:
            self._everyone = {site: self._padded(rows) for site, rows in snapshot.everyone}
            if self.weighted and len(groups):
                # There is no slack in this protocol: what was told is what was collected.
                self._told[0][groups], self._told[1][groups] = snapshot.collected.sums, snapshot.collected.weights
        return self._zone_changed(snapshot.version, snapshot.pane)

    def _fit(self, groups: IntArray, table: FloatArray) -> None:
        if len(groups) == table.size == 0:
            return
        if groups[-1] >= len(self._groups) or table.shape != (len(groups), self.monitor.dimension):
            raise ProtocolError(f"the coordinator sent site {self.site} a zone that does not fit its watch")

    def _take_zones(self, groups: IntArray, estimates: FloatArray, zones: FloatArray) -> None:
        """New estimates, and the zones that all sites have around them.

        Zones that do not move with the estimate are looked at from 0: what a site has gone since it last spoke must not
        be rounded by an estimate that may be far away by now.
        """
        self.monitor.check_zone_rows(groups, zones)
        self.monitor.refresh(self._zones, groups, estimates, make=False)
        if len(zones):
            self.monitor.put_zone_rows(self._zones, groups, zones)
            if self.recentres or self.fits:
                self._zones.estimate[groups[zones[:, 0] != 0.0]] = 0.0

    def _zone_changed(self, version: int, pane: int) -> tuple[Message, ...]:
        self._keep_alike()
        return super()._zone_changed(version, pane)

    def _oldest(self) -> int:
        oldest = self._vectors.oldest
        return self.closed + 1 if oldest is None else oldest

    def _holds(self, pane: int) -> bool:
        return pane in self._vectors

    def _run(self, pane: int) -> int:
        return self._vectors.run(pane)

    def _forget(self, pane: int) -> None:
        self._vectors.forget(pane)

    def _violation(self, pane: int) -> Report | None:
        violated = self._violated(pane)
        if not len(violated):
            return None
        return Report(self.site, self._reports + 1, pane, self.version, self._rows(pane, violated))

    def _violated(self, pane: int) -> IntArray:
        """The groups whose ball is not proved to be on the answer's side."""
        rows = self._rows(pane, self._groups)
        mass = self._books.drift_mass(0, rows, self._zones.estimate)
        ok = (mass == 0.0).all(axis=1)
        if self.weighted:
            # Without weight there is no drift, and if every site lost its weight the mean has no value any more. So a
            # site that loses its weight says so, even when its drift mass is 0; what it told already holds on.
            told_sums, told_weights = self._told
            defined = (rows.weights > 0) & np.isfinite(self._zones.estimate).all(axis=1)
            ok = (ok & defined) | ((rows.sums == told_sums).all(axis=1) & (rows.weights == told_weights))
        if self.template:  # group 0 speaks for those that are like it
            ok |= ~(self._named | self._differs(pane))
        with np.errstate(invalid="ignore", divide="ignore"):
            drift = self._zones.estimate + (mass / rows.weights[:, None] if self.weighted else mass * self.sites)
        moved = np.flatnonzero(~ok & np.isfinite(drift).all(axis=1))
        ok[moved] = self.monitor.inside(self._zones, moved, drift[moved])
        return np.flatnonzero(~ok)
