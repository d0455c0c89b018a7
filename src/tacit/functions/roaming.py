"""Zones for recentring: how far sites may roam from what they last said while the answer stays within its error.

Sites have said r_i; e is their mean, and moves with every report. A site is silent while z_i = v_i - r_i is in Z. Z is
convex and holds 0, so the mean of the z_i is in it, too, and the global vector is e + z for some z in Z. With the slope
g at a reference point, M+ and M- without negative eigenvalues, and a matrix B,

    Z = { z : |z_j| <= rho_j,   g.z + r |Bz| + z'M+z / 2 <= up,   -g.z + r |Bz| + z'M-z / 2 <= down }

A zone *covers* e when (1) the slope at e differs from g by some d with |B^-1 d| <= r, and (2) every Hessian on the box
e +- rho is at most M+ and at least -M-. Then for every z in Z, by Taylor's theorem with a point in between,
f(e+z) - f(e) <= (g + d).z + z'M+z / 2 <= up, since d.z = (B^-1 d).(Bz) <= r |Bz| (B is symmetric); and it is at least
-down alike. So f(e) + (up - down) / 2 is within (up + down) / 2 of the truth, whatever the sites do in their zones.
Both conditions are checked at e itself with proved bounds (curvature.py), so no region has to be agreed on beforehand:
as long as the zone covers e nobody is told anything.

A larger r lets e go further before all sites need a new zone, and makes Z smaller, so that sites leave it sooner.
``best_zone`` weighs the two by what they cost.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.curvature import Curvature, Curves, least_above, positive_part
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["Costs", "RoamingZone", "best_zone"]

_ROUNDING = 1e-12  # of all terms together, when a site looks whether it is inside
_SLACK = 1e-6  # of r, for the inverse of B
_OUTSIDE = 0.3  # the share of the box in which the Hessian is bounded that is left to e
_THICK = 0.05  # B is at least this part of its mean in every direction: slopes turn in others than foreseen
_ROUNDED = 1e-6  # and this part of the slope, which is known only up to rounding
_REACHES = 2.0 ** np.arange(-3.0, 6.0, 0.5)


@dataclass(frozen=True, slots=True)
class Costs:
    """Reports and refreshes per time, at a zone of radius 1 and a reach of 1, and the messages of a refresh.

    Both fall with the power ``decay`` of radius and reach: 1 for what drifts, 2 for what wanders at random.
    """

    reports: float = 1.0
    refreshes: float = 0.05
    messages: float = 1.0
    decay: float = 1.5

    def of(self, radius: float, reach: float) -> float:
        """Messages per time."""
        near, far = radius**self.decay, reach**self.decay
        if not (near > 0.0 and far > 0.0):  # so small that nothing is left of the power
            return math.inf
        return float(self.reports / near + self.messages * self.refreshes / far)


@dataclass(frozen=True, slots=True, eq=False)
class RoamingZone:
    """Z, and what it takes to see that it covers an estimate."""

    slope: FloatArray
    above: FloatArray
    below: FloatArray
    turn: FloatArray  # B
    unturn: FloatArray  # its inverse
    reach: float  # r
    up: float
    down: float
    box: FloatArray  # rho
    low: FloatArray  # between these corners the Hessian is known to be between -below and above
    high: FloatArray
    pieces: int = 1  # that boxes are cut into when the Hessian is bounded
    radius: float = 0.0  # the typical distance to its boundary, in the directions that it was made for

    @property
    def offset(self) -> float:
        """What is added to f(e) to be in the middle of what f may be."""
        return (self.up - self.down) / 2.0

    @property
    def error(self) -> float:
        """How far the truth may be from that."""
        return (self.up + self.down) / 2.0

    def contains(self, moves: FloatArray) -> BoolArray:
        """Is each move (k, d) in the zone? Rounding never makes it so."""
        linear, turned, above, below = self._terms(moves)
        room = _ROUNDING * (np.abs(moves) @ np.abs(self.slope) + turned + above + below)
        return np.asarray(
            (linear + turned + above + room <= self.up)
            & (turned + below - linear + room <= self.down)
            & (np.abs(moves) <= self.box).all(axis=1)
        )

    def distances(self, directions: FloatArray) -> FloatArray:
        """How many times each direction (k, d) may be gone before the zone ends."""
        linear, turned, above, below = self._terms(directions)
        with np.errstate(divide="ignore"):
            edge = (self.box / np.abs(directions)).min(axis=1)
        sides = np.minimum(_root(above, linear + turned, self.up), _root(below, turned - linear, self.down))
        return np.asarray(np.minimum(edge, sides))

    def covers(self, curves: Curves, estimate: FloatArray) -> bool:
        """Is it proved that f stays within ``down`` and ``up`` of f(e) wherever the sites are in their zones?"""
        here = curves.over(estimate, estimate)
        if here is None or not self._turns_little(here):
            return False
        if ((estimate - self.box >= self.low) & (estimate + self.box <= self.high)).all():
            return True
        around = curves.over(estimate - self.box, estimate + self.box, self.pieces)
        if around is None:
            return False
        spread = self.box  # in units of which the bounds were made
        return all(
            _is_above(matrix, least_above(side, spread), spread)
            for matrix, side in ((self.above, around.hessian), (self.below, -around.hessian))
        )

    def turned(self, curves: Curves, estimate: FloatArray) -> float:
        """How much of its reach the slope at an estimate takes: above 1 the zone does not cover it."""
        here = curves.over(estimate, estimate)
        return float("inf") if here is None else self._turn_of(here) / self.reach

    def _terms(self, moves: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        turned = self.reach * np.sqrt(np.square(moves @ self.turn).sum(axis=1))
        above = 0.5 * ((moves @ self.above) * moves).sum(axis=1)
        below = 0.5 * ((moves @ self.below) * moves).sum(axis=1)
        return moves @ self.slope, turned, above, below

    def _turn_of(self, here: Curvature) -> float:
        """|B^-1 d|, at most, for the slopes that the one at e may be."""
        low, high = here.gradient.low - self.slope, here.gradient.high - self.slope
        middle = (low + high) / 2
        half = np.maximum(high - middle, middle - low)
        return float(np.linalg.norm(self.unturn @ middle) + np.linalg.norm(np.abs(self.unturn) @ half))

    def _turns_little(self, here: Curvature) -> bool:
        return self._turn_of(here) <= self.reach * (1.0 - _SLACK)


def best_zone(
    curves: Curves,
    at: FloatArray,
    within: float,
    moves: FloatArray,
    costs: Costs,
    sizes: Sequence[float] | FloatArray,
    pieces: int = 1,
) -> RoamingZone | None:
    """The zone around an estimate that costs least, of those whose boxes have these sizes; None where none is proved.

    ``moves`` (k, d) are ways that sites go; radius, reach and sizes are in multiples of them.
    """
    spread = np.sqrt(np.square(moves).mean(axis=0))
    spread = spread + 1e-3 * np.sqrt(np.square(spread).mean()) + 1e-300
    here = curves.over(at, at)
    if here is None:
        return None
    slope = (here.gradient.low + here.gradient.high) / 2
    best: tuple[float, RoamingZone] | None = None
    for size in sizes:
        low, high = at - size * spread, at + size * spread
        around = curves.over(low, high, pieces)
        if around is None:
            continue
        above, below = (positive_part(least_above(side, spread), spread) for side in (around.hessian, -around.hessian))
        turn = _turn(around, slope, spread)
        if turn is None:
            continue
        zone = RoamingZone(
            slope, above, below, *turn, 0.0, within, within, (1.0 - _OUTSIDE) * size * spread, low, high, pieces
        )  # fmt: skip
        typical = _middle(zone.distances(moves))
        for reach in _REACHES * typical:
            tried = replace(zone, reach=float(reach))
            radius = _middle(tried.distances(moves))
            cost = costs.of(radius, float(reach))
            if best is None or cost < best[0]:
                best = cost, replace(tried, radius=radius)
    return None if best is None else best[1]


def _turn(around: Curvature, slope: FloatArray, spread: FloatArray) -> tuple[FloatArray, FloatArray] | None:
    """B and its inverse: how slopes turn when the estimate moves by the spread; None where no good inverse is found."""
    low, high = around.hessian.low, around.hessian.high
    middle = (low + high) / 2
    moved = middle * spread
    square = moved @ moved.T + np.diag(np.square((np.maximum(high - middle, middle - low) * spread).sum(axis=1)))
    size = np.trace(square) / len(spread)
    least = _THICK**2 * size + _ROUNDED**2 * float(slope @ slope) + 1e-300
    square = square + np.diag(np.full(len(spread), least))
    values, vectors = np.linalg.eigh((square + square.T) / 2)
    if values[0] <= 0.0:
        return None
    root = np.sqrt(values)
    turn, unturn = (vectors * root) @ vectors.T, (vectors / root) @ vectors.T
    turn, unturn = (turn + turn.T) / 2, (unturn + unturn.T) / 2
    off = np.abs(unturn @ turn - np.eye(len(spread))).sum(axis=1).max() * root[-1] / root[0]
    return (turn, unturn) if off <= _SLACK / 2 else None


def _root(bend: FloatArray, slope: FloatArray, limit: float) -> FloatArray:
    """The positive t with bend t^2 + slope t = limit; infinite where there is none."""
    below = slope + np.sqrt(np.square(slope) + 4.0 * bend * limit)
    return np.asarray(np.where(below > 0.0, 2.0 * limit / np.where(below > 0.0, below, 1.0), np.inf))


def _middle(distances: FloatArray) -> float:
    return float(np.exp(np.log(distances).mean()))


def _is_above(matrix: FloatArray, other: FloatArray, spread: FloatArray) -> bool:
    """Has the difference no negative eigenvalue? ``positive_part`` leaves room for how eigenvalues are rounded."""
    return bool(np.linalg.eigvalsh((matrix - other) * np.outer(spread, spread))[0] >= 0.0)
