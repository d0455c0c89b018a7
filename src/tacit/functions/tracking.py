"""Zones for recentring: one that follows the estimate, one that stays, and which is cheaper.

Both are proved (roaming.py, splitting.py). What they will cost is learned from what happened since the last zone was
told: how often sites reported, and how far the estimate went, measured against both kinds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from tacit.functions.convex import ZoneMaker
from tacit.functions.curvature import Curves
from tacit.functions.goals import Goal, Track
from tacit.functions.questions import ask, ask_condition
from tacit.functions.roaming import Costs, RoamingZone, best_zone
from tacit.functions.shapes import All, Ask, Feasible, Question
from tacit.functions.splitting import SplitZone, best_split
from tacit.vocabulary.answers import MET, NOT_MET
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["EACH", "FOLLOW", "SAY_ALL", "STAY", "Learned", "Told", "TrackZones", "TrackedZone"]

FOLLOW, STAY, EACH = "follow", "stay", "each"  # in the last every change is said
_WIDE = 2.0 ** np.arange(-10.0, 8.0)
_NEAR = 2.0 ** np.arange(-2.0, 2.5, 0.5)
_TINY = (1e-3, 1e-6, 1e-9)  # what boxes are shrunk by where none is proved
_PIECES = {1: 16, 2: 16, 3: 16, 4: 8, 5: 8, 6: 4}
_IDLE = 0.3  # of its reach the estimate is taken to have gone, at least
_TRIED = 0.3  # the weight of the last period in what is learned
_ABOVE = (1.0, 0.75, 1.25, 0.5, 1.5, 0.2, 1.8)  # how much of twice the error is left above the value, in errors


class TrackedZone(Protocol):
    """What sites and coordinator need of a zone."""

    @property
    def radius(self) -> float: ...

    @property
    def reach(self) -> float: ...

    def contains(self, moves: FloatArray) -> BoolArray: ...

    def distances(self, directions: FloatArray) -> FloatArray: ...


@dataclass(slots=True)
class Learned:
    """What reports and refreshes cost, per time, at a radius and a reach of 1."""

    messages: float
    reports: float = 1.0
    refreshes: dict[str, float] = field(default_factory=lambda: {FOLLOW: 0.05, STAY: 0.05})
    tried: bool = False
    sizes: dict[str, float] = field(default_factory=dict)  # of the boxes in which zones were last proved

    def costs(self, kind: str) -> Costs:
        """For one kind of zone."""
        return Costs(self.reports, self.refreshes[kind], self.messages)

    def updated(self, weight: float, reports: float, refreshes: dict[str, float]) -> Learned:
        """With what was seen in a period."""
        mixed = {kind: (1.0 - weight) * old + weight * refreshes.get(kind, old) for kind, old in self.refreshes.items()}
        return replace(
            self, reports=(1.0 - weight) * self.reports + weight * reports, refreshes=mixed, tried=True
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """The zones that were found together; the first is in use, the other is there to compare."""

    zones: dict[str, RoamingZone | SplitZone]
    kind: str
    cost: float

    @property
    def zone(self) -> RoamingZone | SplitZone | StillZone:
        return STILL if self.kind == EACH else self.zones[self.kind]


class StillZone:
    """Nobody may move: every change is said, and the estimate is the truth."""

    radius = reach = 0.0

    def contains(self, moves: FloatArray) -> BoolArray:
        """Is each move (k, d) none?"""
        return np.asarray(~moves.any(axis=1))

    def distances(self, directions: FloatArray) -> FloatArray:
        """How many times each direction (k, d) may be gone."""
        return np.zeros(len(directions))


STILL = StillZone()
SAY_ALL = Told({}, EACH, 0.0)


class TrackZones:
    """Zones for one goal: an expression that is tracked, or a condition, whose answer stays while its zone does.

    ``lopsided`` lets the error reach further to one side than to the other, and the answer be in the middle; else the
    answer is the value at an estimate. ``plain`` takes only zones that are rows of numbers (zone_rows.py).
    """

    def __init__(
        self,
        goal: Goal,
        dimension: int,
        feasible: Feasible | None = None,
        kinds: tuple[str, ...] = (FOLLOW, STAY),
        *,
        lopsided: bool = False,
        plain: bool = False,
    ) -> None:
        self.goal, self._lopsided, self._plain = goal, lopsided, plain
        feasible = feasible or Feasible((False,) * dimension)
        asked: dict[int, Ask]
        if isinstance(goal, Track):
            low, high = Question(True, False, False, 0, None), Question(False, False, False, 1, None)
            asked = {MET: All((ask(goal.expression, low, feasible), ask(goal.expression, high, feasible)))}
            self.curves = Curves(goal.expression)
            self.kinds = (STAY,) if goal.percent else kinds
        else:
            asked = {side: ask_condition(goal, bool(side), feasible) for side in (NOT_MET, MET)}
            self.kinds = (STAY,)
        self._makers = {side: ZoneMaker(each, dimension, feasible) for side, each in asked.items()}
        self._pieces = _PIECES.get(dimension, 1)

    @property
    def parts_most(self) -> int:
        """How many parts a zone can have."""
        return max(2, *(maker.parts_most() for maker in self._makers.values()))

    def value(self, at: FloatArray) -> float:
        """The tracked expression at a point."""
        return float(self.curves.values(at[None])[0])

    def answer(self, told: Told, estimate: FloatArray) -> float:
        """What is said of a tracked expression, within the error of the truth."""
        zone = told.zone
        return (zone.low + zone.high) / 2.0 if isinstance(zone, SplitZone) else self.value(estimate)

    def covers(self, told: Told, estimate: FloatArray) -> bool:
        """Is the answer proved with this estimate?"""
        zone = told.zone
        if isinstance(zone, RoamingZone):
            return zone.covers(self.curves, estimate)
        return zone.covers(estimate) if isinstance(zone, SplitZone) else True

    def gone(self, zone: RoamingZone | SplitZone, estimate: FloatArray) -> float:
        """How much of its reach the estimate has used."""
        used = zone.gone(estimate) if isinstance(zone, SplitZone) else zone.turned(self.curves, estimate)
        return max(min(used, 1e3), _IDLE)

    def measured(self, told: Told, learned: Learned, estimate: FloatArray, reports: int, time: int) -> Learned:
        """What a period has taught, in which so many reports came in so much time and the estimate ended here."""
        if told.kind == EACH:
            return learned
        time = max(1, time)
        decay = learned.costs(told.kind).decay
        refreshes = {
            kind: (self.gone(zone, estimate) * zone.reach) ** decay / time for kind, zone in told.zones.items()
        }
        weight = _TRIED if learned.tried else 1.0
        return learned.updated(weight, reports / time * told.zone.radius**decay, refreshes)

    def best(self, at: FloatArray, moves: FloatArray, learned: Learned, side: int = MET) -> Told | None:
        """The cheapest zone of each kind, and the cheaper of both in use; None where there is none.

        ``side`` is the answer that a condition has there.
        """
        maker = self._makers.get(side)
        if maker is None or not np.isfinite(at).all():
            return None
        spread = np.sqrt(np.square(moves).mean(axis=0))
        spread = spread + 1e-3 * np.sqrt(np.square(spread).mean()) + 1e-300
        zones: dict[str, RoamingZone | SplitZone] = {}
        for kind in self.kinds:
            sizes = _WIDE if kind not in learned.sizes else learned.sizes[kind] * _NEAR
            zone = self._one(kind, maker, at, moves, spread, learned, sizes)
            for shrink in _TINY:
                zone = zone or self._one(kind, maker, at, moves, spread, learned, _WIDE * shrink)
            if zone is not None:
                zones[kind] = zone
        if not zones:
            return None
        found = {kind: learned.costs(kind).of(zone.radius, zone.reach) for kind, zone in zones.items()}
        kind = min(found, key=found.__getitem__)
        return Told(zones, kind, found[kind])

    def _one(
        self, kind: str, maker: ZoneMaker, at: FloatArray, moves: FloatArray, spread: FloatArray, learned: Learned,
        sizes: FloatArray,
    ) -> RoamingZone | SplitZone | None:  # fmt: skip
        costs = learned.costs(kind)
        zone: RoamingZone | SplitZone | None
        if kind == FOLLOW:
            assert isinstance(self.goal, Track)
            zone = best_zone(self.curves, at, self.goal.within, moves, costs, sizes, self._pieces)
            corners = None if zone is None else (zone.low, zone.high)
        else:
            boxes = [size * spread for size in sizes]
            zone = best_split(maker, at, self._bounds(at), moves, costs, boxes, self._pieces)
            if zone is not None and self._plain and any(part.kept is not None for part in zone.whole.parts):
                return None
            corners = None if zone is None else (zone.whole.low, zone.whole.high)
        if zone is None or not zone.radius > 0.0:
            return None
        if corners is not None and np.isfinite(corners[1] - corners[0]).all():
            learned.sizes[kind] = float(((corners[1] - corners[0]) / 2.0 / spread).max())
        return zone

    def _bounds(self, at: FloatArray) -> list[tuple[float, float]]:
        """Between which a tracked value may stay, one after the other to be tried."""
        if not isinstance(self.goal, Track):
            return [(0.0, 0.0)]
        here = self.value(at)
        if self.goal.percent or not self._lopsided:
            low, high = self.goal.right_for(np.array([here]))
            return [(float(low[0]), float(high[0]))]
        within = self.goal.within
        return [(here - within * (2.0 - above), here + within * above) for above in _ABOVE]
