"""What a watch will cost, said before it runs: the a-priori bounds of ``functions.chance`` with a recording's numbers.

Two statements, kept apart because they are worth different things:

- *bounds*, under the seed's assumptions (section 5): rows independent and alike over time, the estimate at the mean.
  D is the certified safe radius there; the bounds are on the chance that a site violates in a window, summed over
  sites and groups.
- an *estimate* for this recording: how far its windows moved in strides of an eighth of a window, against the safe
  radius at each. It drops both assumptions (real windows vary more than independent rows would, and the distance from
  the threshold changes), so it is the better guide, and it is no bound. Watches with groups have only the random walk
  of independent rows.

Items are rows for windows by rows, else panes; each site's items are compared with its own mean, for a drift is a
change of the site's own vector. In the weighted form a row adds m - w e to the drift mass, in the sums form m.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.functions.chance import (
    balanced_messages,
    broadcast_messages,
    collected_messages,
    hoeffding,
    markov,
    rate,
    together_messages,
)
from tacit.functions.zone_rows import chosen_kind
from tacit.language.plan import WatchPlan
from tacit.language.shape import zone_kind
from tacit.protocols._kernels import ONE_GROUP
from tacit.recording.items import Items, Walk, items_of
from tacit.recording.physical import Physical, physical_plan
from tacit.recording.stream import Recording
from tacit.recording.updates import updates_of
from tacit.vocabulary import FloatArray

__all__ = ["Prediction", "predict"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """What is expected of one watch over one recording. Chances are per window, summed over sites and groups."""

    sites: int
    groups: int
    items_per_window: float
    windows: float  # disjoint windows per site in the recording
    distance: float  # from the mean to the threshold set, certified, in the plan's units (median over groups)
    deviation: float  # of a site's window vector from its mean, in the same units (median over groups)
    violations_markov: float  # expected violations per window, at most; v' at the mean
    violations_markov_old: float  # v' an old window
    violations_hoeffding: float  # v' an old window, components within the recorded range
    inflation: float | None  # how much more windows move than with independent items; None where not measured
    violations: float  # estimate for the whole recording
    coordinator_low: float
    coordinator_high: float
    broadcast: float
    centralised: int
    pane_shipping: int
    zones: dict[str, float]  # how far drifts may go from the mean in each kind of zone, in usual drifts

    @property
    def panes_cheaper(self) -> bool:
        """Would shipping every pane need fewer messages than the coordinator's protocol at its cheapest?"""
        return self.pane_shipping < self.coordinator_low

    def as_dict(self) -> dict[str, Any]:
        """Everything, ready for JSON."""
        return {**asdict(self), "panes_cheaper": self.panes_cheaper}

    def text(self) -> str:
        """A few lines for people."""
        groups = f" and {self.groups:,} groups" if self.groups > 1 else ""
        lines = [
            "predicted cost, rows independent and alike over time (bounds):",
            f"  the mean is {self.distance:.3g} from the threshold set (certified); a site's window varies by "
            f"{self.deviation:.3g} around its mean",
            f"  violations per window, all {self.sites} sites{groups} together: "
            f"at most {self.violations_markov_old:.3g} "
            f"(Markov; {self.violations_markov:.3g} from the mean), {self.violations_hoeffding:.3g} (Hoeffding)",
            f"zones at the mean, in usual drifts to the edge: {_zone_words(self.zones)}",
            "predicted cost of this recording (estimate):",
        ]
        if self.inflation is not None:
            lines.append(f"  its windows move {self.inflation:.3g} times as much as with independent rows")
        lines += [
            f"  about {self.violations:,.0f} violations: {self.coordinator_low:,.0f} to {self.coordinator_high:,.0f} "
            f"messages with the coordinator, {self.broadcast:,.0f} by broadcast",
            f"  against {self.centralised:,} (a message per event) "
            f"and {self.pane_shipping:,} (a message per site and pane)",
        ]
        if self.panes_cheaper:
            lines.append(
                "  shipping panes would be cheaper than this watch; a margin or a longer window may change that"
            )
        return "\n".join(lines)


def predict(plan: WatchPlan, recording: Recording, *, step: str = "event") -> Prediction:
    """The cost of the watch over this recording, without replaying it.

    With ``step`` pane all sites that violate in a pane may balance among themselves, which is the cheapest there.
    """
    together = step == "pane" and plan.window.every.rows is None
    physical = physical_plan(plan, recording)
    items = items_of(physical, recording, plan.window)
    n, sites = items.per_window, physical.sites
    estimates = _estimates(physical, items)
    variance, spread = _moments(physical, items, estimates)
    zones = physical.monitor.zones(physical.groups)
    physical.monitor.refresh(zones, np.arange(physical.groups), estimates)
    to_vector = _to_vector(physical, items)
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(to_vector > 0.0, zones.radius / to_vector, np.inf)
    walk = items.walk() if physical.mode == ONE_GROUP else None
    inflation: float | None = None
    if walk is not None:
        violations, inflation = _along(physical, walk, items.per_window, variance[:, 0].sum(axis=1))
    else:
        per_window = np.minimum(rate(variance, n, distance, spread).sum(axis=1), n)
        violations = float((per_window * items.count).sum() / n)
    deviation = np.sqrt(variance.sum(axis=2) / n) * to_vector
    return Prediction(
        sites=sites, groups=physical.groups, items_per_window=n, windows=float(items.count.mean()) / n,
        distance=float(np.median(zones.radius)), deviation=float(np.median(deviation.max(axis=0, initial=0.0))),
        violations_markov=float(markov(variance, n, distance, old=False).sum()),
        violations_markov_old=float(markov(variance, n, distance).sum()),
        violations_hoeffding=float(hoeffding(variance, spread, n, distance).sum()),
        inflation=inflation, violations=violations,
        coordinator_low=together_messages(violations) if together else balanced_messages(violations),
        coordinator_high=collected_messages(violations, sites),
        broadcast=broadcast_messages(violations, sites), centralised=len(recording),
        pane_shipping=len(updates_of(recording, plan.window, step="pane").site),
        zones=_zones(plan, recording, estimates, deviation),
    )  # fmt: skip


def _zones(plan: WatchPlan, recording: Recording, estimates: FloatArray, deviation: FloatArray) -> dict[str, float]:
    """The sizes of the zones around the mean of the first group that has one."""
    known = np.flatnonzero(np.isfinite(estimates).all(axis=1))
    if not len(known):
        return {}
    g = int(known[0])
    monitor = physical_plan(plan, recording, zone=zone_kind(plan, "coordinator")).monitor
    usual = float(deviation[:, g].max(initial=0.0)) / max(1.0, np.sqrt(monitor.dimension))
    return monitor.zone_sizes(estimates[g], np.full(monitor.dimension, usual) if usual > 0.0 else None)


def _zone_words(sizes: dict[str, float]) -> str:
    if not sizes:
        return "there is no mean"
    chosen = chosen_kind(sizes)
    listed = ", ".join(f"{kind} {size:.3g}" for kind, size in sorted(sizes.items(), key=lambda pair: -pair[1]))
    return f"{listed}; {chosen} is taken"


def _estimates(physical: Physical, items: Items) -> FloatArray:
    """The expected global vector of each group: a mean weighted by the counts, or the sum of N items of every site."""
    d = physical.dimension
    if physical.weighted:
        total = items.total.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(total[:, :d] / total[:, d:])
    mean = items.total / np.maximum(items.count, 1)[:, None, None]
    return np.asarray(items.per_window * mean.sum(axis=0))


def _moments(physical: Physical, items: Items, estimates: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Variance (sites, groups, d) and range (groups, d) of what an item adds to the drift mass: m - w e, or m."""
    d, count = physical.dimension, np.maximum(items.count, 1)[:, None, None]
    first, second = items.total[..., :d], items.square[..., :d]
    spread = (items.high - items.low)[:, :d]
    if physical.weighted:
        e = np.nan_to_num(estimates)
        first = first - e * items.total[..., d:]
        second = second - 2.0 * e * items.cross[..., :d] + e * e * items.square[..., d:]
        spread = spread + np.abs(e) * (items.high - items.low)[:, d:]
    return np.maximum(0.0, second / count - (first / count) ** 2), spread


def _to_vector(physical: Physical, items: Items) -> FloatArray:
    """What a change of a site's mean item is multiplied by to be a change of its drift vector (sites, groups)."""
    if not physical.weighted:
        return np.full((physical.sites, physical.groups), physical.sites * items.per_window)
    weight = items.total[..., -1] / np.maximum(items.count, 1)[:, None]
    return np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0.0)


def _along(physical: Physical, walk: Walk, per_window: float, variance: FloatArray) -> tuple[float, float | None]:
    """Expected violations of the whole recording from its strides, and how much more its windows move."""
    d, n, count = physical.dimension, physical.sites, walk.before.shape[1]
    if physical.weighted:
        was, weight = walk.before[..., d], walk.after[..., d]
        with np.errstate(divide="ignore", invalid="ignore"):
            e = np.nan_to_num(walk.before[..., :d].sum(axis=0) / was.sum(axis=0)[:, None])
        mass = walk.after[..., :d] - walk.before[..., :d] - (weight - was)[..., None] * e
        to_vector = np.divide(1.0, weight, out=np.zeros_like(weight), where=weight > 0.0)
    else:
        e = walk.before.sum(axis=0)
        mass = walk.after - walk.before
        to_vector = np.full(mass.shape[:2], float(n))
    zones = physical.monitor.zones(count)
    physical.monitor.refresh(zones, np.arange(count), e)
    moved = (mass**2).sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        exits = moved * (to_vector / zones.radius) ** 2
    exits = np.where(moved > 0.0, np.minimum(exits, np.minimum(walk.changes, walk.items)), 0.0)
    independent = 2.0 * min(walk.items, per_window) * variance.mean()
    inflation = float(moved.mean() / independent) if independent > 0.0 else None
    return float(exits.sum() * walk.each), inflation
