"""The coordinator's algorithm (seed, section 4.2): resolve violations by balancing a few sites, else ask all.

Theory of operation. A resolution concerns one pane and the groups that were reported at it. Per group it holds the
balancing group P', starting with every site that reported. While the ball of e and the balanced vector b is not
monochromatic, one more site is asked for its vector *as of the same pane*; when many have been asked in vain, many at
once (``round_size``). On success the members' slacks are set so that each of their drifts is b; the sum of slacks stays
0. When everyone has been asked and it still fails, the vectors are collected: a new estimate for all sites, slacks 0.

Under GROUP BY EACH group 0 stands for all groups without a number. One that gets its number while group 0 is being
resolved has been resolved so far just as group 0 has: it goes on from a copy, and who was asked for group 0 is asked
for it, too.

Many groups are resolved side by side: each has its own P', and everything that goes to one site in one round travels
in one message. Violations of other panes wait until this resolution has ended; they are checked again then.

    phase         event                     next phase
    MONITORING    violations of a pane      ASKING or MONITORING (balanced among the reporters alone)
    ASKING        the last awaited reply    ASKING or MONITORING
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import Enum

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.functions.no_rows import NOTHING
from tacit.protocols._kernels_balance import FEW, RADII_MAX, SMALL
from tacit.protocols.books import Books, spelled_out
from tacit.protocols.messages import AdjustSlack, Fit, Message, NewEstimate, Reply, Request, Rows, Snapshot
from tacit.protocols.policies import Policy
from tacit.protocols.resolver import VectorResolver, next_version
from tacit.protocols.spread import Spread
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError

__all__ = ["TRANSITIONS", "Balancer", "Phase", "round_sizes"]

_EVERYTHING: IntArray = np.empty(0, dtype=np.int64)


class Phase(Enum):
    """Where a coordinator is: waiting for a violation, or for replies."""

    MONITORING = "monitoring"
    ASKING = "asking"


TRANSITIONS: dict[tuple[Phase, str], tuple[Phase, ...]] = {
    (Phase.MONITORING, "violations of a pane"): (Phase.ASKING, Phase.MONITORING),
    (Phase.ASKING, "the last awaited reply"): (Phase.ASKING, Phase.MONITORING),
}


class _Resolution:
    """The state of one resolution: who is in each group's P', and what they sent."""

    def __init__(self, pane: int, groups: IntArray, sites: int, dimension: int) -> None:
        k = len(groups)
        self.pane = pane
        self.groups = groups
        self.open: BoolArray = np.ones(k, dtype=np.bool_)
        self.balanced: BoolArray = np.zeros(k, dtype=np.bool_)
        self.member: BoolArray = np.zeros((sites, k), dtype=np.bool_)
        self.reporters: IntArray = np.zeros(k, dtype=np.int64)
        self.sums: FloatArray = np.zeros((sites, k, dimension))
        self.weights: FloatArray = np.zeros((sites, k))
        self.mass: FloatArray = np.zeros((sites, k, dimension))
        self.mass_sum: FloatArray = np.zeros((k, dimension))
        self.moved: FloatArray = np.zeros(k)  # the sizes of mass and vectors, for their rounding
        self.held: FloatArray = np.zeros(k)
        self.weight_sum: FloatArray = np.zeros(k)
        self.awaited: dict[int, Request] = {}
        self.rows: dict[int, Rows] = {}  # replies to this round's requests

    def add_alike(self, fresh: IntArray) -> None:
        """Further groups, which are where group 0, the first one, is."""
        many = len(fresh)
        self.groups = np.concatenate([self.groups, fresh])
        for name in ("open", "balanced", "reporters", "mass_sum", "moved", "held", "weight_sum"):
            table = getattr(self, name)
            setattr(self, name, np.concatenate([table, np.repeat(table[:1], many, axis=0)]))
        for name in ("member", "sums", "weights", "mass"):
            table = getattr(self, name)
            setattr(self, name, np.concatenate([table, np.repeat(table[:, :1], many, axis=1)], axis=1))
        for site, rows in self.rows.items():
            if rows.groups[0] == 0:
                self.rows[site] = spelled_out(rows, fresh)


class _Collection:
    """Everyone is asked for everything, and there are new estimates whether or not it balances."""

    def __init__(self, pane: int) -> None:
        self.pane = pane
        self.rows: dict[int, Rows] = {}
        self.awaited: dict[int, Request] = {}


class Balancer(VectorResolver):
    """Resolves the violations of a pane. Messages in, messages out; knows nothing of clocks, leases or loss."""

    epoch = 1  # a zone that is told has a version that is the next multiple of this
    forgetful = False  # are its zones lost with it?

    def __init__(self, monitor: Monitor, zones: Zones, books: Books, policy: Policy) -> None:
        self.monitor, self.zones, self.books, self.policy = monitor, zones, books, policy
        self.versions: IntArray = np.zeros(len(books.roster), dtype=np.int64)
        self.available: BoolArray = books.roster.copy()
        self.full_syncs = 0
        self.requests = 0
        self.spread = Spread()
        self.touched: set[int] = set()  # sites whose books changed; whoever keeps them durable takes them out
        self._resolution: _Resolution | _Collection | None = None

    @property
    def phase(self) -> Phase:
        """MONITORING unless a resolution waits for replies."""
        return Phase.MONITORING if self._resolution is None else Phase.ASKING

    @property
    def awaited(self) -> tuple[Request, ...]:
        """The requests whose replies are missing, to be sent again when they may be lost."""
        return () if self._resolution is None else tuple(self._resolution.awaited.values())

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; not while a resolution is under way."""
        if self._resolution is not None:
            raise ProtocolError("a resolution is under way; sites join after its end")
        self.books.grow(sites)
        more = sites - len(self.versions)
        if more > 0:
            self.versions = np.concatenate([self.versions, np.zeros(more, dtype=np.int64)])
            self.available = np.concatenate([self.available, np.zeros(more, dtype=np.bool_)])

    def grow_groups(self, groups: int) -> tuple[Message, ...]:
        """There are groups up to this number now; nobody has said anything of the new: they are 0, or like group 0.

        Requests that must be made anew are returned.
        """
        known, template = len(self.zones.answer), self.books.template
        self.books.grow_groups(groups)
        self.policy.grow_groups(groups, alike=template)
        if not template:
            self.zones = self.monitor.grown(self.zones, groups, np.nan if self.books.weighted else NOTHING)
            return ()
        self.zones = self.monitor.grown_alike(self.zones, groups)
        resolution = self._resolution
        if groups <= known or not isinstance(resolution, _Resolution) or resolution.groups[0] != 0:
            return ()
        fresh = np.arange(known, groups)
        resolution.add_alike(fresh)
        anew: list[Message] = []
        for site, request in resolution.awaited.items():
            if request.groups[0] == 0:
                self.requests += 1
                wider = Request(site, self.requests, resolution.pane, np.concatenate([request.groups, fresh]))
                resolution.awaited[site] = wider
                anew.append(wider)
        return tuple(anew)

    def abandon(self) -> bool:
        """Forget the resolution under way; nothing it did so far has had an effect."""
        self._resolution = None
        return False

    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Resolve the violations of one pane, given by the sites that reported and what they reported."""
        self._idle()
        groups = np.unique(np.concatenate([rows.groups for _, rows in reports]))
        sites, _, dimension = self.books.collected.shape
        resolution = self._resolution = _Resolution(pane, groups, sites, dimension)
        for site, rows in reports:
            self._join(resolution, site, rows)
        resolution.reporters = np.count_nonzero(resolution.member, axis=0)
        return self._next_round(resolution)

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Ask every available site for every group: how a watch starts, and how it goes on when the roster changed."""
        self._idle()
        collection = self._resolution = _Collection(pane)
        for site in np.flatnonzero(self.available).tolist():
            self.requests += 1
            collection.awaited[site] = Request(site, self.requests, pane, _EVERYTHING)
        return tuple(collection.awaited.values())

    def snapshot(self, site: int, pane: int) -> Snapshot:
        """All the site needs to go on checking from the pane after this one."""
        books = self.books
        return Snapshot(
            site, int(self.versions[site]), pane, int(np.count_nonzero(books.roster)),
            self.zones.estimate.copy(), books.rows_of(site), books.slack[site].copy(),
            zones=self._zone_rows(site, np.arange(len(self.zones.answer))),
        )  # fmt: skip

    def _zone_rows(self, site: int, groups: IntArray) -> FloatArray:
        """The zones of these groups as a site is told them."""
        return self.monitor.zone_rows(self.zones, groups)

    def learn(self, fit: Fit) -> None:
        """A site says where its vectors usually are; only fitted zones need to know."""

    def receive(self, reply: Reply) -> tuple[Message, ...]:
        """Take a reply to one of our requests; others (late, doubled) change nothing."""
        resolution = self._resolution
        request = resolution.awaited.get(reply.site) if resolution else None
        if resolution is None or request is None or request.number != reply.number:
            return ()
        everything = isinstance(resolution, _Collection)
        if not everything and not np.array_equal(reply.rows.groups, request.groups):
            raise ProtocolError(f"site {reply.site} answered other groups than it was asked for")
        del resolution.awaited[reply.site]
        resolution.rows[reply.site] = reply.rows
        if resolution.awaited:
            return ()
        if isinstance(resolution, _Collection):
            return self._renew_all(resolution)
        for site, rows in sorted(resolution.rows.items()):  # sums must not depend on who answers first
            self._join(resolution, site, rows)
        resolution.rows.clear()
        return self._next_round(resolution)

    def _idle(self) -> None:
        if self._resolution is not None:
            raise ProtocolError("a resolution is under way; the next one waits for its end")

    def _join(self, resolution: _Resolution, site: int, rows: Rows) -> None:
        at = np.searchsorted(resolution.groups, rows.groups)
        mass = self.books.drift_mass(site, rows, self.zones.estimate[rows.groups])
        weights = rows.weights if self.books.weighted else np.ones(len(at))
        resolution.member[site, at] = True
        resolution.sums[site, at] = rows.sums
        resolution.weights[site, at] = weights
        resolution.mass[site, at] = mass
        resolution.mass_sum[at] += mass
        resolution.moved[at] += np.abs(mass).sum(axis=1)
        resolution.held[at] += np.abs(rows.sums).sum(axis=1)
        resolution.weight_sum[at] += weights

    def _next_round(self, resolution: _Resolution) -> tuple[Message, ...]:
        """Close every group that balances now or has nobody left to ask; ask more sites for the others."""
        at = np.flatnonzero(resolution.open)
        at = at[~self._balances(resolution, at)]
        left = self.available[:, None] & ~resolution.member[:, at]
        exhausted = ~left.any(axis=0)
        resolution.open[at[exhausted]] = False
        at, left = at[~exhausted], left[:, ~exhausted]
        if len(at) == 0:
            return self._finish(resolution)
        members = np.count_nonzero(resolution.member[:, at], axis=0)
        sizes = round_sizes(members, members - resolution.reporters[at])
        asked = np.zeros(resolution.member.shape, dtype=np.bool_)
        for more in range(int(sizes.max())):
            wanting = np.flatnonzero((sizes > more) & left.any(axis=0))
            if not len(wanting):
                break
            to = at[wanting]
            chosen = self.policy.choose(resolution.groups[to], left[:, wanting], resolution.mass_sum[to])
            left[chosen, wanting] = False
            asked[chosen, to] = True
        return self._ask(resolution, asked)

    def _balances(self, resolution: _Resolution, at: IntArray) -> BoolArray:
        weight = resolution.weight_sum[at]
        with np.errstate(invalid="ignore", divide="ignore"):
            drift = resolution.mass_sum[at] / weight[:, None] * self.books.spread
        groups = resolution.groups[at]
        inside = np.zeros(len(at), dtype=np.bool_)
        usable = (weight > 0) & self._rounds_little(resolution, at)
        inside[usable] = self.monitor.inside(
            self.zones, groups[usable], self.zones.estimate[groups[usable]] + drift[usable]
        )
        resolution.open[at[inside]] = False
        resolution.balanced[at[inside]] = True
        return inside

    def _rounds_little(self, resolution: _Resolution, at: IntArray) -> BoolArray:
        """``rounds_little`` of the kernels, for many groups."""
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = self.books.spread / resolution.weight_sum[at]
            moved, held = resolution.moved[at] * scale, resolution.held[at] * scale
        within = RADII_MAX * self.zones.radius[resolution.groups[at]]
        return (moved <= SMALL * np.maximum(1.0, held)) & ((moved + held <= SMALL) | (moved + held <= within))

    def _ask(self, resolution: _Resolution, asked: BoolArray) -> tuple[Message, ...]:
        for site in np.flatnonzero(asked.any(axis=1)).tolist():
            self.requests += 1
            request = Request(site, self.requests, resolution.pane, resolution.groups[asked[site]])
            resolution.awaited[site] = request
        return tuple(resolution.awaited.values())

    def _finish(self, resolution: _Resolution) -> tuple[Message, ...]:
        self._resolution = None
        messages: list[Message] = []
        if resolution.balanced.any():
            messages.extend(self._adjust(resolution))
        collected = ~resolution.balanced
        if collected.any():
            messages.extend(self._renew(resolution, np.flatnonzero(collected)))
        return tuple(messages)

    def _adjust(self, resolution: _Resolution) -> list[Message]:
        messages: list[Message] = []
        per_weight = resolution.mass_sum / np.where(resolution.weight_sum > 0, resolution.weight_sum, 1.0)[:, None]
        for site in np.flatnonzero((resolution.member & resolution.balanced).any(axis=1)).tolist():
            at = np.flatnonzero(resolution.member[site] & resolution.balanced)
            groups = resolution.groups[at]
            target = resolution.weights[site, at, None] * per_weight[at]
            slacks = self.books.slack[site, groups] + (target - resolution.mass[site, at])
            self.books.slack[site, groups] = slacks
            self.policy.took_part(site, groups, target)
            self.versions[site] += 1
            self.touched.add(site)
            messages.append(AdjustSlack(site, int(self.versions[site]), resolution.pane, groups, slacks))
        return messages

    def new_estimates(self, groups: IntArray) -> FloatArray:
        """Estimates from what the books hold now; all slacks of these groups become 0."""
        self.full_syncs += 1
        self.books.slack[np.ix_(self.books.roster, groups)] = 0.0
        self.policy.renewed(groups)
        estimates = self.books.estimates(groups)
        self.monitor.refresh(self.zones, groups, estimates, self.spread.now)
        return estimates

    def _renew(self, resolution: _Resolution, at: IntArray) -> list[Message]:
        groups = resolution.groups[at]
        no_weights = np.empty(0)
        self._note_drifts(resolution, at)
        for site in np.flatnonzero(resolution.member[:, at].any(axis=1)).tolist():
            own = at[resolution.member[site, at]]  # a site may be lost before it is asked for every group
            weights = resolution.weights[site, own] if self.books.weighted else no_weights
            self.books.collect(site, Rows(resolution.groups[own], resolution.sums[site, own], weights))
        took_part = np.flatnonzero(resolution.member[:, at].all(axis=1)).tolist()
        return self._tell_all(resolution.pane, groups, took_part)

    def _note_drifts(self, resolution: _Resolution, at: IntArray) -> None:
        """All sites have said where they are: how far that is from where they were."""
        if not self.monitor.convex:
            return
        member = resolution.member[:, at]
        mass = resolution.mass[:, at]
        with np.errstate(all="ignore"):
            drifts = mass / resolution.weights[:, at, None] if self.books.weighted else mass * self.books.spread
        self.spread.note(drifts[member])

    def _renew_all(self, collection: _Collection) -> tuple[Message, ...]:
        self._resolution = None
        for site, rows in collection.rows.items():
            self.books.collect_all(site, rows)
        return tuple(self._tell_all(collection.pane, np.arange(len(self.zones.answer)), collection.rows))

    def _tell_all(self, pane: int, groups: IntArray, took_part: Collection[int]) -> list[Message]:
        """New estimates for everyone from what the books hold."""
        estimates = self.new_estimates(groups)
        messages: list[Message] = []
        everyone = np.flatnonzero(self.books.roster).tolist()
        for site in everyone:
            self.versions[site] = next_version(int(self.versions[site]), self.epoch)
            if site in took_part:
                version, zones = int(self.versions[site]), self._zone_rows(site, groups)
                messages.append(NewEstimate(site, version, pane, len(everyone), groups, estimates, zones))
            else:  # it could not be asked, so what it holds at this pane is not what was collected: say what was
                messages.append(self.snapshot(site, pane))
        self.touched.update(everyone)
        return messages


def round_sizes(members: IntArray, asked: IntArray) -> IntArray:
    """``round_size`` of the kernels, for many groups."""
    return np.where(asked < FEW, np.maximum(1, members // FEW), asked)
