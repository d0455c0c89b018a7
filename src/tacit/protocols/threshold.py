"""The coordinator's algorithm (seed, section 4.2): resolve violations by balancing a few sites, else ask all.

Theory of operation. A resolution concerns one pane and the groups that were reported at it. Per group it holds the
balancing group P', starting with every site that reported. While the ball of e and the balanced vector b is not
monochromatic, one more site is asked for its vector *as of the same pane*. On success the members' slacks are set so
that each of their drifts is b; the sum of slacks stays 0. When everyone has been asked and it still fails, the vectors
are collected: a new estimate for all sites, slacks 0.

Many groups are resolved side by side: each has its own P', and everything that goes to one site in one round travels
in one message. Violations of other panes wait until this resolution has ended; they are checked again then.

    phase         event                     next phase
    MONITORING    violations of a pane      ASKING or MONITORING (balanced among the reporters alone)
    ASKING        the last awaited reply    ASKING or MONITORING
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.protocols._kernels_balance import RADII_MAX, SMALL
from tacit.protocols.books import Books
from tacit.protocols.messages import AdjustSlack, Message, NewEstimate, Reply, Request, Rows, Snapshot
from tacit.protocols.policies import Policy
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError

__all__ = ["TRANSITIONS", "Balancer", "Phase"]


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

    def __init__(self, pane: int, groups: IntArray, sites: int, dimension: int, *, collecting: bool) -> None:
        k = len(groups)
        self.pane = pane
        self.collecting = collecting  # everyone is asked and a new estimate made, whether or not it balances
        self.groups = groups
        self.open: BoolArray = np.ones(k, dtype=np.bool_)
        self.balanced: BoolArray = np.zeros(k, dtype=np.bool_)
        self.member: BoolArray = np.zeros((sites, k), dtype=np.bool_)
        self.sums: FloatArray = np.zeros((sites, k, dimension))
        self.weights: FloatArray = np.zeros((sites, k))
        self.mass: FloatArray = np.zeros((sites, k, dimension))
        self.mass_sum: FloatArray = np.zeros((k, dimension))
        self.moved: FloatArray = np.zeros(k)  # the sizes of mass and vectors, for their rounding
        self.held: FloatArray = np.zeros(k)
        self.weight_sum: FloatArray = np.zeros(k)
        self.awaited: dict[int, Request] = {}


class Balancer:
    """Resolves the violations of a pane. Messages in, messages out; knows nothing of clocks, leases or loss."""

    def __init__(self, monitor: Monitor, zones: Zones, books: Books, policy: Policy) -> None:
        self.monitor, self.zones, self.books, self.policy = monitor, zones, books, policy
        self.versions: IntArray = np.zeros(len(books.roster), dtype=np.int64)
        self.available: BoolArray = books.roster.copy()
        self.full_syncs = 0
        self.requests = 0
        self._resolution: _Resolution | None = None

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

    def abandon(self) -> None:
        """Forget the resolution under way; nothing it did so far has had an effect."""
        self._resolution = None

    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Resolve the violations of one pane, given by the sites that reported and what they reported."""
        return self._begin(pane, np.unique(np.concatenate([rows.groups for _, rows in reports])), reports)

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Ask every available site for every group: how a watch starts, and how it goes on when the roster changed."""
        return self._begin(pane, np.arange(len(self.zones.answer)), ())

    def snapshot(self, site: int, pane: int) -> Snapshot:
        """All the site needs to go on checking from the pane after this one."""
        books = self.books
        return Snapshot(
            site, int(self.versions[site]), pane, int(np.count_nonzero(books.roster)),
            self.zones.estimate.copy(), books.rows_of(site), books.slack[site].copy(),
        )  # fmt: skip

    def receive(self, reply: Reply) -> tuple[Message, ...]:
        """Take a reply to one of our requests; others (late, doubled) change nothing."""
        resolution = self._resolution
        request = resolution.awaited.get(reply.site) if resolution else None
        if resolution is None or request is None or request.number != reply.number:
            return ()
        if len(reply.rows.groups) != len(request.groups) or (reply.rows.groups != request.groups).any():
            raise ProtocolError(f"site {reply.site} answered other groups than it was asked for")
        del resolution.awaited[reply.site]
        self._join(reply.site, reply.rows)
        return () if resolution.awaited else self._next_round()

    def _begin(self, pane: int, groups: IntArray, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        if self._resolution is not None:
            raise ProtocolError("a resolution is under way; the next one waits for its end")
        sites, _, dimension = self.books.collected.shape
        self._resolution = _Resolution(pane, groups, sites, dimension, collecting=not reports)
        for site, rows in reports:
            self._join(site, rows)
        if reports:
            return self._next_round()
        everyone = np.flatnonzero(self.available)
        return self._ask(everyone, np.ones((len(everyone), len(groups)), dtype=np.bool_))

    def _join(self, site: int, rows: Rows) -> None:
        resolution = self._current()
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

    def _next_round(self) -> tuple[Message, ...]:
        """Close every group that balances now or has nobody left to ask; ask one more site for the others."""
        resolution = self._current()
        if resolution.collecting:
            return self._finish()
        at = np.flatnonzero(resolution.open)
        at = at[~self._balances(at)]
        left = self.available[:, None] & ~resolution.member[:, at]
        exhausted = ~left.any(axis=0)
        resolution.open[at[exhausted]] = False
        at, left = at[~exhausted], left[:, ~exhausted]
        if len(at) == 0:
            return self._finish()
        chosen = self.policy.choose(resolution.groups[at], left, resolution.mass_sum[at])
        sites = np.unique(chosen)
        asked = np.zeros((len(sites), len(resolution.groups)), dtype=np.bool_)
        asked[np.searchsorted(sites, chosen), at] = True
        return self._ask(sites, asked)

    def _balances(self, at: IntArray) -> BoolArray:
        resolution = self._current()
        weight = resolution.weight_sum[at]
        with np.errstate(invalid="ignore", divide="ignore"):
            drift = resolution.mass_sum[at] / weight[:, None] * self.books.spread
        groups = resolution.groups[at]
        inside = np.zeros(len(at), dtype=np.bool_)
        usable = (weight > 0) & self._rounds_little(at)
        inside[usable] = self.monitor.inside(
            self.zones, groups[usable], self.zones.estimate[groups[usable]] + drift[usable]
        )
        resolution.open[at[inside]] = False
        resolution.balanced[at[inside]] = True
        return inside

    def _rounds_little(self, at: IntArray) -> BoolArray:
        """``rounds_little`` of the kernels, for many groups."""
        resolution = self._current()
        with np.errstate(invalid="ignore", divide="ignore"):
            scale = self.books.spread / resolution.weight_sum[at]
            moved, held = resolution.moved[at] * scale, resolution.held[at] * scale
        within = RADII_MAX * self.zones.radius[resolution.groups[at]]
        return (moved <= SMALL * np.maximum(1.0, held)) & ((moved + held <= SMALL) | (moved + held <= within))

    def _ask(self, sites: IntArray, asked: BoolArray) -> tuple[Message, ...]:
        resolution = self._current()
        for site, mask in zip(sites.tolist(), asked, strict=True):
            self.requests += 1
            request = Request(site, self.requests, resolution.pane, resolution.groups[mask])
            resolution.awaited[site] = request
        return tuple(resolution.awaited.values())

    def _finish(self) -> tuple[Message, ...]:
        resolution = self._current()
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
            messages.append(AdjustSlack(site, int(self.versions[site]), resolution.pane, groups, slacks))
        return messages

    def new_estimates(self, groups: IntArray) -> FloatArray:
        """Estimates from what the books hold now; all slacks of these groups become 0."""
        self.full_syncs += 1
        self.books.slack[np.ix_(self.books.roster, groups)] = 0.0
        self.policy.renewed(groups)
        estimates = self.books.estimates(groups)
        self.monitor.refresh(self.zones, groups, estimates)
        return estimates

    def _renew(self, resolution: _Resolution, at: IntArray) -> list[Message]:
        groups = resolution.groups[at]
        no_weights = np.empty(0)
        for site in np.flatnonzero(resolution.member[:, at].any(axis=1)).tolist():
            own = at[resolution.member[site, at]]  # a site may be lost before it is asked for every group
            weights = resolution.weights[site, own] if self.books.weighted else no_weights
            self.books.collect(site, Rows(resolution.groups[own], resolution.sums[site, own], weights))
        estimates = self.new_estimates(groups)
        messages: list[Message] = []
        count = int(np.count_nonzero(self.books.roster))
        took_part: BoolArray = np.asarray(resolution.member[:, at].all(axis=1))
        for site in np.flatnonzero(self.books.roster).tolist():
            self.versions[site] += 1
            if took_part[site]:
                version = int(self.versions[site])
                messages.append(NewEstimate(site, version, resolution.pane, count, groups, estimates))
            else:  # it could not be asked, so what it holds at this pane is not what was collected: say what was
                messages.append(self.snapshot(site, resolution.pane))
        return messages

    def _current(self) -> _Resolution:
        if self._resolution is None:
            raise ProtocolError("no resolution is under way")
        return self._resolution
