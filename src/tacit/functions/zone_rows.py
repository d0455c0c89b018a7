"""Convex zones of groups as the rows of numbers that kernels read, and the choice between them and balls.

- ``ball``: no convex zones;
- ``region``: where the admissible region is itself convex and known exactly;
- ``halfspace``: where it is the side of a plane, or the inadmissible region is convex: the plane at its nearest point;
- ``curvature``: any convex zone that is proved;
- ``auto``: the larger of ball and convex zone, by how far drifts may go along the axes of the statistics' units.

Where the kind that was asked for cannot be had, the group has balls.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tacit.functions._kernels import inside_many
from tacit.functions.convex import ConvexZone, ZoneMaker
from tacit.functions.tables import STATE_CONVEX, STATE_SHORTCUT, Tables, Zones, convex_size
from tacit.vocabulary.arrays import FloatArray, IntArray
from tacit.vocabulary.errors import ProtocolError

__all__ = ["ZONE_KINDS", "ZoneRows"]

ZONE_KINDS = ("auto", "ball", "curvature", "halfspace", "region")
DIMENSION_MOST = 16  # beyond it a zone's matrices are large, and balls are cheaper to ask
PARTS_MOST = 40
_WIDE = 2.0 ** np.arange(0.0, 8.0)  # boxes, in safe radii of the ball
_STEPS = 12
_FAR = 64.0
_ENDLESS = 1e308


class ZoneRows:
    """Writes the convex zones of a watch's groups."""

    def __init__(self, kind: str, makers: dict[int, ZoneMaker], scale: FloatArray) -> None:
        self.kind, self.scale = kind, scale
        d = len(scale)
        fits = d <= DIMENSION_MOST and all(maker.parts_most() <= PARTS_MOST for maker in makers.values())
        self.makers = makers if kind != "ball" and fits else {}
        self.parts = max((maker.parts_most() for maker in self.makers.values()), default=0)
        ways = np.concatenate([np.eye(d), np.ones((1, d)), 1.0 - 2.0 * np.eye(d)]) if d > 1 else np.eye(1)
        self._ways = np.concatenate([ways, -ways])
        self._pieces = 16 if d <= 3 else 1
        self.used: Counter[str] = Counter()  # how many zones of each kind were made

    def write(
        self, tables: Tables, zones: Zones, g: int, bounds: tuple[float, float], spread: FloatArray | None = None
    ) -> str:
        """Make and write the zone of a group, whose estimate and ball are known; the kind that it has now.

        It is made for drifts whose components are as large as ``spread``.
        """
        kind = self._write(tables, zones, g, bounds, spread)
        self.used[kind] += 1
        return kind

    def _write(
        self, tables: Tables, zones: Zones, g: int, bounds: tuple[float, float], spread: FloatArray | None
    ) -> str:
        moves = self._ways if spread is None else self._ways * spread
        at = int(tables.nodes[0, STATE_CONVEX])
        zones.state[g, at] = 0.0
        maker = self.makers.get(int(zones.answer[g]))
        if maker is None or not np.isfinite(zones.estimate[g]).all():
            return "ball"
        zone = self._made(maker, zones.estimate[g] * self.scale, bounds, float(zones.radius[g]), moves)
        if zone is None or not zone.parts or len(zone.parts) > self.parts:
            return "ball"
        kind = _kind(zone)
        if self.kind not in ("auto", "curvature", kind):
            return "ball"
        if self.kind == "auto" and kind == "curvature" and not self._larger(tables, zones, g, zone, moves):
            return "ball"
        self._put(zones, g, at, zone)
        zones.state[g, tables.nodes[0, STATE_SHORTCUT]] = 0.0
        return kind

    def rows(self, tables: Tables, zones: Zones, groups: IntArray) -> FloatArray:
        """The zones of these groups as they are told to others: (k, numbers), or (0, 0) where all have balls."""
        at, d = int(tables.nodes[0, STATE_CONVEX]), len(self.scale)
        most = int(zones.state[groups, at].max(initial=0.0)) if self.parts else 0
        return zones.state[groups, at : at + convex_size(most, d)].copy() if most else np.empty((0, 0))

    def put(self, tables: Tables, zones: Zones, groups: IntArray, rows: FloatArray) -> None:
        """Take zones that were told; the groups' estimates and balls are known."""
        at, d = int(tables.nodes[0, STATE_CONVEX]), len(self.scale)
        zones.state[groups, at] = 0.0
        if rows.shape[1] > convex_size(self.parts, d):
            raise ProtocolError(f"a zone came with {rows.shape[1]} numbers, more than this watch's zones have")
        for g, row in zip(groups.tolist(), rows, strict=True):
            if row[0] > 0.0:
                zones.state[g, at : at + len(row)] = row
                zones.state[g, tables.nodes[0, STATE_SHORTCUT]] = 0.0
                zones.radius[g] = _safe_radius(row, d)

    def _made(
        self, maker: ZoneMaker, point: FloatArray, bounds: tuple[float, float], radius: float, moves: FloatArray
    ) -> ConvexZone | None:
        width = radius if 0.0 < radius < np.inf else float(np.abs(point / self.scale).max()) or 1.0
        boxes = [wide * width * self.scale for wide in _WIDE]
        zone = maker.best(point, bounds, moves * self.scale, boxes, self._pieces)
        return zone if zone is None or all(part.kept is None for part in zone.parts) else None

    def _larger(self, tables: Tables, zones: Zones, g: int, zone: ConvexZone, moves: FloatArray) -> bool:
        """Can drifts go further in it than their balls?"""
        sizes = np.linalg.norm(moves, axis=1)
        if not zones.radius[g] > 0.0:
            return True
        low = float(zones.radius[g]) / sizes
        high = low * _FAR
        own = np.minimum(zone.distances(moves * self.scale), high)
        groups, inside = np.full(len(low), g, dtype=np.int64), np.empty(len(low), dtype=np.bool_)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            inside_many(tables, zones, groups, zones.estimate[g] + middle[:, None] * moves, inside)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return bool(np.log(np.maximum(own, 1e-300)).mean() > np.log(low).mean())

    def _put(self, zones: Zones, g: int, at: int, zone: ConvexZone) -> None:
        d, scale = len(self.scale), self.scale
        row = zones.state[g, at : at + convex_size(len(zone.parts), d)]
        row[0] = len(zone.parts)
        shrunk = 1.0 - 1e-15
        row[1 : 1 + d] = np.maximum((zone.low - zone.at) / scale * shrunk, -_ENDLESS)
        row[1 + d : 1 + 2 * d] = np.minimum((zone.high - zone.at) / scale * shrunk, _ENDLESS)
        size = 1 + 2 * d + d * d
        for k, part in enumerate(zone.parts):
            # Units change nothing but the numbers: rounding of the products is what the doubt is widened by.
            bend = part.bend * np.outer(scale, scale)
            bend = (bend + bend.T) / 2 + np.diag(1e-15 * np.abs(bend).sum(axis=1))
            slope = part.slope * scale
            doubt = part.unsure * scale * (1.0 + 1e-12) + 1e-15 * np.abs(slope)
            first = 1 + 2 * d + k * size
            row[first] = part.level
            row[first + 1 : first + 1 + d] = slope
            row[first + 1 + d : first + 1 + 2 * d] = doubt
            row[first + 1 + 2 * d : first + size] = bend.ravel()
        zones.radius[g] = _safe_radius(row, d)


def _safe_radius(row: FloatArray, d: int) -> float:
    """How far from the estimate everything is inside, whatever the direction."""
    radius = float(min(row[1 + d : 1 + 2 * d].min(), -row[1 : 1 + d].max()))
    size = 1 + 2 * d + d * d
    for first in range(1 + 2 * d, 1 + 2 * d + int(row[0]) * size, size):
        slope, doubt = row[first + 1 : first + 1 + d], row[first + 1 + d : first + 1 + 2 * d]
        bend = row[first + 1 + 2 * d : first + size].reshape(d, d)
        steep = float(np.linalg.norm(slope) + np.linalg.norm(doubt)) * (1.0 + 1e-12)
        curve = float(np.linalg.norm(bend, 2)) * (1.0 + 1e-12) if bend.any() else 0.0
        level = float(row[first]) * (1.0 - 1e-9)
        if not level > 0.0:
            return 0.0
        below = steep + np.sqrt(steep * steep + 2.0 * curve * level)
        radius = min(radius, np.inf if below == 0.0 else 2.0 * level / below * (1.0 - 1e-9))
    return max(0.0, float(radius))


def _kind(zone: ConvexZone) -> str:
    """What it is: the region itself, a half-space (or several), or a curvature zone."""
    if all(part.exact for part in zone.parts) and np.isinf(zone.high).all():
        return "region" if any(not part.straight for part in zone.parts) else "halfspace"
    return "halfspace" if all(part.straight for part in zone.parts) and np.isinf(zone.high).all() else "curvature"
