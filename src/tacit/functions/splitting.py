"""Convex zones shared between the sites and the estimate: how recentring keeps an answer that does not move.

A is convex, holds the reference point a, and the answer is right all over it (convex.py). Sites roam in
Z = (1 - s)(A - a) around what they last said, and the estimate e may be anywhere in a + s (A - a). The global vector is
e + z with z in Z, so it is in a + s (A - a) + (1 - s)(A - a) = A, because A is convex. No more has to be known of the
function: A may be proved in any way.

Against the zones of roaming.py: there the answer follows f(e), and what limits e is how the slope turns; here it stays
what it is, and what limits e is how far f may go. The first is better for what is nearly linear and moves much, the
second for what bends and stays; which it is shows by what they cost.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from tacit.functions.convex import ConvexZone, ZoneMaker
from tacit.functions.roaming import Costs
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["SplitZone", "best_split"]

_LEAST, _MOST = 0.02, 0.9  # the share of e


@dataclass(frozen=True, slots=True, eq=False)
class SplitZone:
    """The zone of all sites, and where the estimate may be."""

    whole: ConvexZone
    share: float
    low: float  # what the value is between
    high: float
    size: float  # the typical distance to the end of the whole, in the directions that it was made for

    @property
    def radius(self) -> float:
        """The typical distance that a site may go."""
        return (1.0 - self.share) * self.size

    @property
    def reach(self) -> float:
        """The typical distance that the estimate may go."""
        return self.share * self.size

    def contains(self, moves: FloatArray) -> BoolArray:
        """May a site be so far (k, d) from what it said?"""
        return self.whole.contains(self.whole.at + moves / (1.0 - self.share) * (1.0 + 1e-15))

    def distances(self, directions: FloatArray) -> FloatArray:
        """How many times each direction (k, d) may be gone before the zone ends."""
        return (1.0 - self.share) * self.whole.distances(directions)

    def covers(self, estimate: FloatArray) -> bool:
        """Is the answer proved with this estimate, wherever the sites are in their zones?"""
        at = self.whole.at
        return bool(self.whole.contains((at + (estimate - at) / self.share * (1.0 + 1e-15))[None])[0])

    def gone(self, estimate: FloatArray) -> float:
        """How much of its part the estimate has used: above 1 it is outside."""
        away = estimate - self.whole.at
        if not away.any():
            return 0.0
        return float(1.0 / max(self.share * float(self.whole.distances(away[None])[0]), 1e-9))


def best_split(
    maker: ZoneMaker,
    at: FloatArray,
    bounds: Iterable[tuple[float, float]],
    moves: FloatArray,
    costs: Costs,
    boxes: Iterable[FloatArray] = (),
    pieces: int = 1,
) -> SplitZone | None:
    """The cheapest zone in which the value stays between one of these bounds; None where none is proved.

    The bounds of a condition are its own: what is given is not looked at then.
    """
    best: tuple[float, SplitZone] | None = None
    ratio = costs.messages * costs.refreshes / max(costs.reports, 1e-300)
    share = 1.0 - 1.0 / (1.0 + ratio ** (1.0 / (costs.decay + 1.0)))
    share = float(np.clip(share, _LEAST, _MOST))
    boxes = list(boxes)
    for low, high in bounds:
        whole = maker.best(at, (low, high), moves, boxes, pieces)
        if whole is None:
            continue
        size = float(np.exp(np.log(np.clip(whole.distances(moves), 1e-300, 1e9)).mean()))
        zone = SplitZone(whole, share, low, high, size)
        cost = costs.of(zone.radius, zone.reach)
        if best is None or cost < best[0]:
            best = cost, zone
    return None if best is None else best[1]
