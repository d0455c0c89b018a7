"""Convex zones of groups as the rows of numbers that kernels read, and the choice between them and balls.

- ``ball``: no convex zones;
- ``region``: where the admissible region is itself convex and known exactly;
- ``halfspace``: where it is the side of a plane, or the inadmissible region is convex: the plane at its nearest point;
- ``curvature``: any convex zone that is proved;
- ``fitted``: a zone of its own for each site (protocols/fitted.py);
- ``auto``: the larger of ball and convex zone, by how far drifts may go along the axes of the statistics' units.

Where the kind that was asked for cannot be had, the group has balls.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from tacit.functions._kernels import inside_many
from tacit.functions.convex import ConvexZone, ZoneMaker
from tacit.functions.roaming import RoamingZone
from tacit.functions.tables import NORMED, NOTHING, STATE_CONVEX, STATE_SHORTCUT, Tables, Zones, convex_size
from tacit.vocabulary.arrays import FloatArray, IntArray

__all__ = [
    "DOUBT",
    "ENDLESS",
    "ZONE_KINDS",
    "ZoneRows",
    "chosen_kind",
    "convex_row",
    "faces_row",
    "nothing_row",
    "roaming_row",
]

ZONE_KINDS = ("auto", "ball", "curvature", "fitted", "halfspace", "region")
DIMENSION_MOST = 16  # beyond it a zone's matrices are large, and balls are cheaper to ask
PARTS_MOST = 40
_WIDE = 2.0 ** np.arange(0.0, 8.0)  # boxes, in safe radii of the ball
_STEPS = 12
_FAR = 64.0
_MOST = 1e3  # usual drifts: what goes further is taken to be endless
ENDLESS = 1e308
DOUBT = 2e-12  # of the slope


class ZoneRows:
    """Writes the convex zones of a watch's groups."""

    def __init__(self, kind: str, makers: dict[int, ZoneMaker], scale: FloatArray, width: int = 1) -> None:
        self.kind, self.scale = kind, scale
        d = len(scale)
        fits = d <= DIMENSION_MOST and all(maker.parts_most() <= PARTS_MOST for maker in makers.values())
        self.makers = makers if kind != "ball" and fits else {}
        self.parts = max((maker.parts_most() for maker in self.makers.values()), default=0)
        self.width = max(width, convex_size(self.parts, d))  # numbers that a zone may have
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
        codes = np.unique(zones.state[groups, at]).astype(np.int64).tolist() if self.width > 1 else []
        if not any(codes):
            return np.empty((0, 0))
        return zones.state[groups, at : at + max(convex_size(code, d) for code in codes)].copy()

    def put(self, tables: Tables, zones: Zones, groups: IntArray, rows: FloatArray) -> None:
        """Take zones that were told; the groups' estimates and balls are known."""
        at, d = int(tables.nodes[0, STATE_CONVEX]), len(self.scale)
        zones.state[groups, at] = 0.0
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
        return maker.best(point, bounds, moves * self.scale, boxes, self._pieces, plain=True)

    def sizes(
        self, tables: Tables, zones: Zones, g: int, bounds: tuple[float, float], spread: FloatArray | None = None
    ) -> dict[str, float]:
        """How far drifts may go at a group's estimate, by the kinds of zones that there are, in usual drifts.

        The group must have its ball (``refresh`` with ``make=False``).
        """
        moves = self._ways if spread is None else self._ways * spread
        found = {"ball": float(np.exp(self._of_balls(tables, zones, g, moves)))}
        maker = self.makers.get(int(zones.answer[g]))
        if maker is None or not np.isfinite(zones.estimate[g]).all():
            return found
        zone = self._made(maker, zones.estimate[g] * self.scale, bounds, float(zones.radius[g]), moves)
        if zone is not None and zone.parts and len(zone.parts) <= self.parts:
            found[_kind(zone)] = float(np.exp(self._of_zone(zone, moves)))
        return found

    def region(self, zones: Zones, g: int, bounds: tuple[float, float], spread: FloatArray | None) -> ConvexZone | None:
        """The convex zone at a group's estimate, which has its ball; in statistics, not units."""
        maker = self.makers.get(int(zones.answer[g]))
        if maker is None or not np.isfinite(zones.estimate[g]).all():
            return None
        moves = self._ways if spread is None else self._ways * spread
        return self._made(maker, zones.estimate[g] * self.scale, bounds, float(zones.radius[g]), moves)

    def _larger(self, tables: Tables, zones: Zones, g: int, zone: ConvexZone, moves: FloatArray) -> bool:
        """Can drifts go further in it than their balls?"""
        if not zones.radius[g] > 0.0:
            return True
        most = float(zones.radius[g]) * _FAR
        return self._of_zone(zone, moves, most) > self._of_balls(tables, zones, g, moves)

    def _of_zone(self, zone: ConvexZone, moves: FloatArray, most: float = np.inf) -> float:
        """The typical distance to the end of a zone in units of the moves, as a logarithm."""
        own = np.minimum(zone.distances(moves * self.scale), most / np.linalg.norm(moves, axis=1))
        return float(np.log(np.clip(own, 1e-300, _MOST)).mean())

    def _of_balls(self, tables: Tables, zones: Zones, g: int, moves: FloatArray) -> float:
        """The same for balls, found by halving."""
        low = np.full(len(moves), float(zones.radius[g])) / np.linalg.norm(moves, axis=1)
        if not 0.0 < zones.radius[g] < np.inf:
            return float(np.log(np.clip(low, 1e-300, 1e300)).mean())
        high = low * _FAR
        groups, inside = np.full(len(low), g, dtype=np.int64), np.empty(len(low), dtype=np.bool_)
        for _ in range(_STEPS):
            middle = np.sqrt(low * high)
            inside_many(tables, zones, groups, zones.estimate[g] + middle[:, None] * moves, inside)
            low, high = np.where(inside, middle, low), np.where(inside, high, middle)
        return float(np.log(low).mean())

    def _put(self, zones: Zones, g: int, at: int, zone: ConvexZone) -> None:
        row = convex_row(zone, self.scale)
        zones.state[g, at : at + len(row)] = row
        zones.radius[g] = _safe_radius(row, len(self.scale))


def chosen_kind(sizes: dict[str, float]) -> str:
    """Of the kinds of zones that there are, by their sizes, the one that ``auto`` takes.

    >>> chosen_kind({"ball": 2.0, "curvature": 3.0}), chosen_kind({"ball": 2.0, "halfspace": 1.0})
    ('curvature', 'halfspace')
    """
    exact = [kind for kind in sizes if kind in ("halfspace", "region")]
    return exact[0] if exact else max(sizes, key=sizes.__getitem__)


def convex_row(zone: ConvexZone, scale: FloatArray, share: float = 1.0) -> FloatArray:
    """A zone as numbers, for moves from its estimate in units of ``scale``; shrunk to this share of its size."""
    d = len(scale)
    row = np.zeros(convex_size(len(zone.parts), d))
    row[0] = len(zone.parts)
    shrunk = share * (1.0 - 1e-15)
    row[1 : 1 + d] = np.maximum((zone.low - zone.at) / scale * shrunk, -ENDLESS)
    row[1 + d : 1 + 2 * d] = np.minimum((zone.high - zone.at) / scale * shrunk, ENDLESS)
    for k, part in enumerate(zone.parts):
        _put_part(row, d, k, part.level, part.slope * scale / share, part.unsure * scale / share,
                  part.bend * np.outer(scale, scale) / share**2)  # fmt: skip
    return row


def roaming_row(zone: RoamingZone, scale: FloatArray) -> FloatArray:
    """A zone that follows the estimate as numbers, for moves in units of ``scale``."""
    d = len(scale)
    row = np.zeros(convex_size(NORMED + 2, d))
    row[0] = NORMED + 2
    row[1 : 1 + d], row[1 + d : 1 + 2 * d] = -zone.box / scale * (1.0 - 1e-15), zone.box / scale * (1.0 - 1e-15)
    square, none = np.outer(scale, scale), np.zeros(d)
    _put_part(row, d, 0, zone.up, -zone.slope * scale, none, zone.above * square)
    _put_part(row, d, 1, zone.down, zone.slope * scale, none, zone.below * square)
    row[-d * d :] = (zone.reach * zone.turn * scale * (1.0 + 1e-14)).ravel()
    return row


def faces_row(normals: FloatArray, levels: FloatArray) -> FloatArray:
    """{z : normals z <= levels} as numbers, for moves z in units."""
    faces, d = normals.shape
    row = np.zeros(convex_size(faces, d))
    row[0] = faces
    row[1 : 1 + d], row[1 + d : 1 + 2 * d] = -ENDLESS, ENDLESS
    for k in range(faces):
        _put_part(row, d, k, float(levels[k]), -normals[k], np.zeros(d), np.zeros((d, d)))
    return row


def nothing_row() -> FloatArray:
    """Nobody may move."""
    return np.array([float(NOTHING)])


def _put_part(
    row: FloatArray, d: int, k: int, level: float, slope: FloatArray, doubt: FloatArray, bend: FloatArray
) -> None:
    # Units change nothing but the numbers: rounding of the products is what the doubt is widened by.
    bend = (bend + bend.T) / 2 + np.diag(1e-15 * np.abs(bend).sum(axis=1))
    size = 1 + 2 * d + d * d
    first = 1 + 2 * d + k * size
    row[first] = level
    row[first + 1 : first + 1 + d] = slope
    doubt = doubt * (1.0 + 1e-12) + 1e-15 * np.abs(slope)
    little = DOUBT * np.abs(slope)  # what is no more than rounding needs no numbers of its own on the wire
    row[first + 1 + d : first + 1 + 2 * d] = little if (doubt <= little).all() else doubt
    row[first + 1 + 2 * d : first + size] = bend.ravel()


@np.errstate(over="ignore")  # a slope that is too long for a double leaves no room
def _safe_radius(row: FloatArray, d: int) -> float:
    """How far from the estimate everything is inside, whatever the direction."""
    code, size = int(row[0]), 1 + 2 * d + d * d
    parts = code % NORMED
    if parts == NOTHING:
        return 0.0
    radius = float(min(row[1 + d : 1 + 2 * d].min(), -row[1 : 1 + d].max()))
    end = 1 + 2 * d + parts * size
    norm = float(np.linalg.norm(row[end : end + d * d].reshape(d, d), 2)) if code >= NORMED else 0.0
    for first in range(1 + 2 * d, end, size):
        slope, doubt = row[first + 1 : first + 1 + d], row[first + 1 + d : first + 1 + 2 * d]
        bend = row[first + 1 + 2 * d : first + size].reshape(d, d)
        steep = (float(np.linalg.norm(slope) + np.linalg.norm(doubt)) + norm) * (1.0 + 1e-12)
        curve = float(np.linalg.norm(bend, 2)) * (1.0 + 1e-12) if bend.any() else 0.0
        level = float(row[first]) * (1.0 - 1e-9)
        if not level > 0.0:
            return 0.0
        below = steep + np.sqrt(steep * steep + 2.0 * curve * level)
        if not below < np.inf:
            return 0.0
        radius = min(radius, np.inf if below == 0.0 else 2.0 * level / below * (1.0 - 1e-9))
    return max(0.0, float(radius)) if radius == radius else 0.0


def _kind(zone: ConvexZone) -> str:
    """What it is: the region itself, a half-space (or several), or a curvature zone."""
    if all(part.exact for part in zone.parts) and np.isinf(zone.high).all():
        return "region" if any(not part.straight for part in zone.parts) else "halfspace"
    return "halfspace" if all(part.straight for part in zone.parts) and np.isinf(zone.high).all() else "curvature"
