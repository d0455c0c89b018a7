"""Zones fitted to each site (seed 001), kept by balancing on the faces of the zones.

All zones are polytopes with the same normals A, those of a region C = {x : A x <= c} around the estimate in which the
answer is right. Site i, whose share of the total times n is x_i, is silent while A x_i <= c_i. The mean of the x_i is
the global vector, so it is in C as long as the mean of the c_i is at most c. What the c_i are is free: they are fitted
to where each site's vectors usually are (fitting/), and hold what it has now. Beyond two dimensions, where a fit takes
seconds, every face is shared out by how far sites move across it, and only regions that are polytopes are fitted:
polytopes inside of others give away more than fitting finds.

A site that leaves its zone is balanced face by face: of the members of a group what is left to the faces, c_j - A x_j,
is added up, and if no face is overdrawn it is shared out anew in proportion to how much each site moves across that
face. This is the slack of ALGORITHMS.md, section 1, in as many dimensions as there are faces. When everyone was asked
and a face is still overdrawn, there is a new estimate, a new region and a new fit.

Where no such region is known, or it cannot hold what the sites have, all have the zones that they would have otherwise
(threshold.py) until the next collection.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.fitting.dual import fit_dual
from tacit.fitting.families import region_rows
from tacit.fitting.mixtures import Mixture
from tacit.fitting.problem import ZoneProblem
from tacit.functions.convex import ConvexZone
from tacit.functions.minorants import Concave
from tacit.functions.monitor import FACES_MOST, Monitor, Zones
from tacit.functions.zone_rows import faces_row
from tacit.geometry import HalfSpaces
from tacit.protocols.books import Books
from tacit.protocols.messages import Fit, Message, NewEstimate, Reply, Request, Rows
from tacit.protocols.policies import Policy
from tacit.protocols.resolver import next_version
from tacit.protocols.threshold import Balancer, round_sizes
from tacit.vocabulary import BoolArray, FloatArray, IntArray
from tacit.vocabulary.errors import OptionError, ProtocolError, ZoneError

__all__ = ["Fitter"]

_ROUNDING = 1e-12  # of the sizes of what is added up
_RESERVE = 1e-3  # of what sites usually move that must be left to every face after balancing
_SOME = 0.5  # of its usual move, for one that is outside of what was fitted to it
_FIT_MOST = 2  # dimensions in which probabilities of polygons are exact and quick; beyond it sites get by their moves
_FACES = {1: 2, 2: 8}  # of the polytopes in regions that have none of their own
_ONE: IntArray = np.zeros(1, dtype=np.int64)


class _Region:
    """A convex zone as a shape that polytopes are fitted into."""

    def __init__(self, zone: ConvexZone, scale: FloatArray) -> None:
        self._zone, self._scale = zone, scale
        self.dimension = len(scale)

    def contains(self, points: FloatArray) -> BoolArray:
        """Is each point (k, d), in units, in it?"""
        return self._zone.contains(np.atleast_2d(points) * self._scale)


@dataclass(slots=True)
class _Group:
    """A balancing under way: who took part, with what, and who is still asked."""

    pane: int
    rows: dict[int, Rows] = field(default_factory=dict)
    reporters: int = 0
    anew: bool = False  # all are asked, because there is reason to fit anew
    awaited: dict[int, Request] = field(default_factory=dict)


class Fitter(Balancer):
    """Balances on faces while there are fitted zones, and as ``Balancer`` does while there are none."""

    forgetful = True

    def __init__(self, monitor: Monitor, zones: Zones, books: Books, policy: Policy) -> None:
        super().__init__(monitor, zones, books, policy)
        self.mixtures: dict[int, Mixture] = {}
        self.fitted = 0  # collections after which zones were fitted
        self._normals: FloatArray = np.empty((0, monitor.dimension))
        self._limits: FloatArray | None = None  # (sites, faces)
        self._moves: FloatArray = np.empty((0, 0))  # how far each site moves across each face: (sites, faces)
        self._group: _Group | None = None
        self._wanted: FloatArray = np.empty((0, 0))  # the limits as they were fitted
        self._news: set[int] = set()  # sites whose mixtures no fit has seen

    def learn(self, fit: Fit) -> None:
        """A site says where its vectors usually are."""
        if fit.means.shape[1] != self.monitor.dimension:
            raise ProtocolError(f"site {fit.site} fitted a mixture in other dimensions than its watch has")
        try:
            self.mixtures[fit.site] = Mixture(fit.weights, fit.means, fit.covariances)
        except OptionError as error:
            raise ProtocolError(f"site {fit.site} told a mixture that is none: {error}") from error
        self._news.add(fit.site)

    @property
    def awaited(self) -> tuple[Request, ...]:
        """The requests whose replies are missing."""
        return super().awaited if self._group is None else tuple(self._group.awaited.values())

    def abandon(self) -> bool:
        """Forget the resolution under way; nothing it did so far has had an effect."""
        self._group = None
        return super().abandon()

    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Resolve the violations of one pane."""
        anew = self._is_worth_a_fit()
        if self._limits is None and not anew:
            return super().start(pane, reports)
        self._idle()
        self._group = _Group(pane, dict(reports), len(reports), anew)
        return self._next(self._group)

    def _is_worth_a_fit(self) -> bool:
        """Have most sites said something new of where they are, and all something?"""
        sites = set(np.flatnonzero(self.books.roster).tolist())
        return 2 * len(self._news & sites) > len(sites) and sites <= set(self.mixtures)

    def receive(self, reply: Reply) -> tuple[Message, ...]:
        """Take a reply to one of our requests; others change nothing."""
        group = self._group
        if group is None:
            return super().receive(reply)
        request = group.awaited.get(reply.site)
        if request is None or request.number != reply.number:
            return ()
        del group.awaited[reply.site]
        group.rows[reply.site] = reply.rows
        return () if group.awaited else self._next(group)

    def new_estimates(self, groups: IntArray) -> FloatArray:
        """Estimates from what the books hold now, and zones around them."""
        self.full_syncs += 1
        self.books.slack[np.ix_(self.books.roster, groups)] = 0.0
        self.policy.renewed(groups)
        estimates = self.books.estimates(groups)
        self._limits = None
        if len(self.zones.answer) == 1:
            self._fit(estimates[0])
        self.monitor.refresh(self.zones, groups, estimates, self.spread.now, make=self._limits is None)
        if self._limits is not None:
            self.monitor.made("fitted")
        return estimates

    def _idle(self) -> None:
        super()._idle()
        assert self._group is None

    def _next(self, group: _Group) -> tuple[Message, ...]:
        """Share out what is left, ask more sites, or, when there are none, begin anew."""
        members = sorted(group.rows)
        if not group.anew:
            left, sizes = self._left(group.rows)
            wanted = _RESERVE * self._moves[members].sum(axis=0) + _ROUNDING * sizes
            if (left.sum(axis=0) > wanted).all():
                self._group = None
                return tuple(self._share(group, members, left.sum(axis=0)))
        free = self.available.copy()
        free[members] = False
        if not free.any():
            self._group = None
            moved = [rows.sums[0] - self.books.collected[site, 0] for site, rows in sorted(group.rows.items())]
            self.spread.note(np.array(moved) * self.books.spread)
            for site, rows in group.rows.items():
                self.books.collect(site, rows)
            return tuple(self._tell_all(group.pane, _ONE, group.rows))
        count = np.array([len(members)])
        size = len(free) if group.anew else int(round_sizes(count, count - group.reporters)[0])
        for _ in range(size):
            if not free.any():
                break
            (chosen,) = self.policy.choose(_ONE, free[:, None], np.zeros((1, self.monitor.dimension))).tolist()
            free[chosen] = False
            self.requests += 1
            group.awaited[chosen] = Request(chosen, self.requests, group.pane, _ONE)
        return tuple(group.awaited.values())

    def _left(self, rows: Mapping[int, Rows]) -> tuple[FloatArray, FloatArray]:
        """c_j - A x_j of these sites (k, faces), in their order, and the sizes of what was added up (faces)."""
        assert self._limits is not None
        sites = sorted(rows)
        points = np.array([rows[site].sums[0] for site in sites]) * self.books.spread
        limits = self._limits[sites]
        sizes = np.abs(limits) + np.abs(points) @ np.abs(self._normals).T
        return limits - points @ self._normals.T, sizes.sum(axis=0)

    def _share(self, group: _Group, members: list[int], left: FloatArray) -> list[Message]:
        """Every member gets of every face what was fitted to it, or, where it is beyond that, some of its usual move.

        What is left over or missing then is taken from all in proportion.
        """
        assert self._limits is not None
        points = np.array([group.rows[site].sums[0] for site in members]) * self.books.spread
        fitted = self._wanted[members] - points @ self._normals.T
        parts = np.maximum(fitted, _SOME * self._moves[members])
        parts = parts / parts.sum(axis=0)
        messages: list[Message] = []
        everyone = int(np.count_nonzero(self.books.roster))
        for site, part in zip(members, parts, strict=True):
            rows = group.rows[site]
            self.books.collect(site, rows)
            self._limits[site] = rows.sums[0] * self.books.spread @ self._normals.T + part * left
            self.policy.took_part(site, _ONE, rows.sums)
            self.versions[site] = next_version(int(self.versions[site]), self.epoch)
            self.touched.add(site)
            version, told = int(self.versions[site]), self._zone_rows(site, _ONE)
            messages.append(
                NewEstimate(site, version, group.pane, everyone, _ONE, self.zones.estimate[:1].copy(), told)
            )
        return messages

    def _zone_rows(self, site: int, groups: IntArray) -> FloatArray:
        """A site's own zone, around what was last collected of it."""
        if self._limits is None:
            return super()._zone_rows(site, groups)
        point = self.books.collected[site, 0] * self.books.spread
        at = self._normals @ point
        sizes = np.abs(self._limits[site]) + np.abs(self._normals) @ np.abs(point)
        return faces_row(self._normals, self._limits[site] - at - _ROUNDING * sizes)[None]

    def _fit(self, estimate: FloatArray) -> None:
        """Zones for all sites around what was collected, if there is a region that holds the estimate."""
        sites = np.flatnonzero(self.books.roster)
        points = self.books.collected[sites, 0] * self.books.spread
        try:
            mixtures = [self._mixture(site, point) for site, point in zip(sites.tolist(), points, strict=True)]
            spread = np.sqrt(np.mean([np.diag(each.covariance()) for each in mixtures], axis=0))
            region = self._region(estimate, spread)
            if region is None:
                return
            problem = ZoneProblem(region, mixtures, anchors=points)
            moves = problem.spreads()
            limits = fit_dual(problem).limits if len(estimate) <= _FIT_MOST else _by_moves(region, points, moves)
        except (ZoneError, OptionError):
            return
        self._normals = region.normals
        self._limits = np.zeros((len(self.books.roster), len(region.limits)))
        self._limits[sites] = limits
        self._wanted = self._limits.copy()
        self._news.clear()
        self._moves = np.ones(self._limits.shape)
        self._moves[sites] = moves
        room = self._limits[sites] - points @ self._normals.T
        if not (room > _ROUNDING * (np.abs(self._limits[sites]) + np.abs(points) @ np.abs(self._normals).T)).all():
            self._limits = None
            return
        self.fitted += 1

    def _mixture(self, site: int, point: FloatArray) -> Mixture:
        """Where the site usually is, as the coordinator knows it; before it has said so, where it is now."""
        known, n = self.mixtures.get(site), self.books.spread
        if known is not None:
            return Mixture(known.weights, known.means * n, known.covariances * n * n)
        return Mixture.normal(point, np.diag(np.square(np.abs(point) / 16.0 + 1e-9)))

    def _region(self, estimate: FloatArray, spread: FloatArray) -> HalfSpaces | None:
        """A polytope around the estimate in which the answer is right, in units; None where none is known."""
        zone = self.monitor.region(estimate, spread)
        if zone is None or not zone.parts:  # without parts the answer is right everywhere, and there is no face to fit
            return None
        scale = self.monitor.scale
        if all(map(_is_flat, zone.parts)) and np.isinf(zone.high).all() and np.isinf(zone.low).all():
            normals = np.array([-part.slope * scale for part in zone.parts])
            levels = np.array([part.level for part in zone.parts])
            return HalfSpaces(normals, normals @ estimate + levels * (1.0 - 1e-9)).without_twins()
        faces = _FACES.get(len(scale))
        if faces is None or faces > FACES_MOST:
            return None
        return region_rows(_Region(zone, scale), "polytope", around=estimate, spread=spread, faces=faces)


def _is_flat(part: Concave) -> bool:
    """Is it a half-space, but for doubts that are no more than rounding, which zones pay for?"""
    return part.kept is None and not part.bend.any() and bool((part.unsure <= 1e-13 * np.abs(part.slope)).all())


def _by_moves(region: HalfSpaces, points: FloatArray, moves: FloatArray) -> FloatArray:
    """What is left to each face, shared out in proportion to how far sites move across it: limits (n, faces)."""
    at = points @ region.normals.T
    room = region.limits - at.mean(axis=0)
    return np.asarray(at + room * (1.0 - 1e-9) * moves / moves.mean(axis=0))
