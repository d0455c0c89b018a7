"""Zones of a tracked expression for recentring: one that follows the estimate, one that stays, and which is cheaper.

Both are proved (roaming.py, splitting.py). What they will cost is learned from what happened since the last zone was
told: how often sites reported, and how far the estimate went, measured against both kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from tacit.functions.convex import ZoneMaker
from tacit.functions.curvature import Curves
from tacit.functions.expressions import Expression
from tacit.functions.questions import ask
from tacit.functions.roaming import Costs, RoamingZone, best_zone
from tacit.functions.shapes import All, Feasible, Question
from tacit.functions.splitting import SplitZone, best_split
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["Learned", "TrackZones", "TrackedZone"]

FOLLOW, STAY = "follow", "stay"
_WIDE = 2.0 ** np.arange(-10.0, 8.0)
_NEAR = 2.0 ** np.arange(-2.0, 2.5, 0.5)
_TINY = (1e-3, 1e-6, 1e-9)  # what boxes are shrunk by where none is proved
_PIECES = {1: 16, 2: 16, 3: 16, 4: 8, 5: 8, 6: 4}
_IDLE = 0.3  # of its reach the estimate is taken to have gone, at least
_TRIED = 0.3  # the weight of the last period in what is learned


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
    def zone(self) -> RoamingZone | SplitZone:
        return self.zones[self.kind]


class TrackZones:
    """Zones for one expression that is tracked within an error."""

    def __init__(
        self,
        expression: Expression,
        within: float,
        dimension: int,
        nonnegative: Sequence[bool] | None = None,
        kinds: tuple[str, ...] = (FOLLOW, STAY),
    ) -> None:
        self.expression, self.within, self.kinds = expression, within, kinds
        self.curves = Curves(expression)
        feasible = Feasible(tuple(nonnegative) if nonnegative is not None else (False,) * dimension)
        low, high = Question(True, False, False, 0, None), Question(False, False, False, 1, None)
        asked = All((ask(expression, low, feasible), ask(expression, high, feasible)))
        self._maker = ZoneMaker(asked, dimension, feasible)
        self._pieces = _PIECES.get(dimension, 1)
        self._sizes: dict[str, float] = {}

    def value(self, at: FloatArray) -> float:
        """f at a point."""
        return float(self.curves.values(at[None])[0])

    def answer(self, told: Told, estimate: FloatArray) -> float:
        """What is said of f, within the error of the truth."""
        zone = told.zone
        return (zone.low + zone.high) / 2.0 if isinstance(zone, SplitZone) else self.value(estimate) + zone.offset

    def covers(self, told: Told, estimate: FloatArray) -> bool:
        """Is the answer proved with this estimate?"""
        zone = told.zone
        return zone.covers(estimate) if isinstance(zone, SplitZone) else zone.covers(self.curves, estimate)

    def gone(self, zone: RoamingZone | SplitZone, estimate: FloatArray) -> float:
        """How much of its reach the estimate has used."""
        used = zone.gone(estimate) if isinstance(zone, SplitZone) else zone.turned(self.curves, estimate)
        return max(min(used, 1e3), _IDLE)

    def measured(self, told: Told, learned: Learned, estimate: FloatArray, reports: int, time: int) -> Learned:
        """What a period has taught, in which so many reports came in so much time and the estimate ended here."""
        time = max(1, time)
        decay = learned.costs(told.kind).decay
        refreshes = {
            kind: (self.gone(zone, estimate) * zone.reach) ** decay / time for kind, zone in told.zones.items()
        }
        weight = _TRIED if learned.tried else 1.0
        return learned.updated(weight, reports / time * told.zone.radius**decay, refreshes)

    def best(self, at: FloatArray, moves: FloatArray, learned: Learned) -> Told | None:
        """The cheapest zone of each kind, and the cheaper of both in use; None where there is none."""
        spread = np.sqrt(np.square(moves).mean(axis=0))
        spread = spread + 1e-3 * np.sqrt(np.square(spread).mean()) + 1e-300
        zones: dict[str, RoamingZone | SplitZone] = {}
        for kind in self.kinds:
            sizes = _WIDE if kind not in self._sizes else self._sizes[kind] * _NEAR
            zone = self._one(kind, at, moves, spread, learned, sizes)
            for shrink in _TINY:
                zone = zone or self._one(kind, at, moves, spread, learned, _WIDE * shrink)
            if zone is not None:
                zones[kind] = zone
        if not zones:
            return None
        found = {kind: learned.costs(kind).of(zone.radius, zone.reach) for kind, zone in zones.items()}
        kind = min(found, key=found.__getitem__)
        return Told(zones, kind, found[kind])

    def _one(
        self, kind: str, at: FloatArray, moves: FloatArray, spread: FloatArray, learned: Learned, sizes: FloatArray
    ) -> RoamingZone | SplitZone | None:
        costs = learned.costs(kind)
        zone: RoamingZone | SplitZone | None
        if kind == FOLLOW:
            zone = best_zone(self.curves, at, self.within, moves, costs, sizes, self._pieces)
            corners = None if zone is None else (zone.low, zone.high)
        else:
            boxes = [size * spread for size in sizes]
            zone = best_split(self._maker, at, self.value(at), self.within, moves, costs, boxes, self._pieces)
            corners = None if zone is None else (zone.whole.low, zone.whole.high)
        if corners is not None and np.isfinite(corners[1] - corners[0]).all():
            self._sizes[kind] = float(((corners[1] - corners[0]) / 2.0 / spread).max())
        return zone
