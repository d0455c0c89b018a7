"""What is to be fitted, and what comes of it.

Choose zones S_i = {x : A x <= c_i} for the sites so that all of them stay in their zones with the largest probability,
prod P_i(S_i), while the weighted mean of points in the zones is always in the region C = {x : A x <= c}:
sum w_i c_i <= (sum w_i) c. If C is a polytope no other shapes do better than those with its own normals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.fitting.mixtures import Mixture
from tacit.geometry import HalfSpaces
from tacit.geometry.minkowski import check_weights
from tacit.geometry.rounding import products_slack
from tacit.vocabulary import FloatArray, OptionError, ZoneError

__all__ = ["ZoneFit", "ZoneProblem", "log_chance"]

LEAST = 1e-12  # a probability below this counts as this


@dataclass(frozen=True, eq=False)
class ZoneProblem:
    """A region, and for each site its mixture, its weight, and the point its zone must hold now (its anchor).

    ``counts`` says how many sites an entry stands for (clusters); it multiplies the entry's log-probability.
    """

    region: HalfSpaces
    mixtures: Sequence[Mixture]
    weights: FloatArray | None = None  # (n,); all alike where there are none
    anchors: FloatArray | None = None  # (n, d)
    counts: FloatArray | None = None  # (n,)
    shares: FloatArray = field(init=False)  # (n,), the weights made to sum to 1

    def __post_init__(self) -> None:
        sites, dimension = len(self.mixtures), self.region.dimension
        if not sites:
            raise OptionError("zones are fitted to at least one site")
        if any(each.dimension != dimension for each in self.mixtures):
            raise OptionError(f"all mixtures must have {dimension} dimensions, as the region has")
        weights = check_weights(np.ones(sites) if self.weights is None else self.weights, sites)
        counts = check_weights(np.ones(sites) if self.counts is None else self.counts, sites)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "counts", counts)
        object.__setattr__(self, "shares", weights / weights.sum())
        spread = np.sqrt(np.mean([np.diag(each.covariance()) for each in self.mixtures], axis=0))
        _refuse_twins(self.region.normals * spread)
        if self.anchors is None:
            middle = self.shares @ np.array([each.mean() for each in self.mixtures])
            if not self.region.contains(middle[None])[0] and self.region.centre()[1] <= 0.0:
                raise ZoneError("the admissible region is empty, so no zones fit into it; use the ball")
            return
        anchors = np.array(self.anchors, dtype=np.float64)
        if anchors.shape != (sites, dimension) or not np.isfinite(anchors).all():
            raise OptionError(f"anchors must be {sites} points of {dimension} finite numbers, one for each site")
        object.__setattr__(self, "anchors", anchors)
        if not self.region.contains((self.shares @ anchors)[None])[0] or not (self.budget() > 0.0).all():
            raise ZoneError(
                "the estimate (the weighted mean of the anchors) is not inside the admissible region, so no zones can "
                "hold it; use the ball"
            )

    def floors(self) -> FloatArray | None:
        """What each limit must be at least for the zone to hold its anchor, rounding paid twice: (n, m)."""
        if self.anchors is None:
            return None
        normals = self.region.normals
        magnitudes = np.abs(self.anchors) @ np.abs(normals).T
        magnitudes = magnitudes + np.abs(self.region.limits) + np.abs(self.anchors @ normals.T)
        return np.asarray(self.anchors @ normals.T + 8 * products_slack(magnitudes, normals.shape[1]))

    def budget(self) -> FloatArray:
        """What is left of each limit when every zone has shrunk to its anchor: (m,)."""
        floors = self.floors()
        assert floors is not None
        return np.asarray(self.region.limits - self.shares @ floors)

    def spreads(self) -> FloatArray:
        """The standard deviation of each row of A x at each site: (n, m)."""
        normals = self.region.normals
        covariances = np.array([each.covariance() for each in self.mixtures])
        return np.asarray(np.sqrt(np.einsum("md,nde,me->nm", normals, covariances, normals)))


@dataclass(frozen=True, eq=False)
class ZoneFit:
    """Zones, one for each site, that are proved to be safe together; and how good they are by their mixtures."""

    zones: tuple[HalfSpaces, ...]
    chances: FloatArray  # (n,): of a site's point being in its zone
    objective: float  # the sum of the counted logs of the chances
    steps: int  # of the optimiser
    prices: FloatArray | None = None  # (m,): what the objective gains by a little more of each limit of the region

    @property
    def limits(self) -> FloatArray:
        """(n, m), of zones that share their normals."""
        return np.array([each.limits for each in self.zones])


def log_chance(chances: FloatArray, counts: FloatArray) -> float:
    """The objective: counted logs of the probabilities."""
    return float(counts @ np.log(np.maximum(chances, LEAST)))


def _refuse_twins(normals: FloatArray) -> None:
    """The same direction twice, in the data's own units, makes an edge count twice; callers drop the looser row."""
    unit = normals / np.linalg.norm(normals, axis=1)[:, None]
    if (np.triu(unit @ unit.T, 1) > 1 - 1e-12).any():
        raise OptionError("the region has the same half-space direction twice; keep the tighter one")
