"""From a watch plan to the vector that is monitored: which sums, in which form, in which units.

Choices, each sound by itself; what is chosen only changes how many messages are needed.

- Only statistics that the goal needs are kept. Those that are known to be equal on every row may become one.
- *weighted* form (means, the seed's): when every expression is homogeneous of degree 0 in the statistics, they may all
  be divided by a shared count, which becomes the weight. *sums* otherwise.
- Units: each component is divided by a power of two near its spread, so that balls are round where the data is; powers
  of two lose nothing.

A live watch cannot look at its data beforehand: its units and centres come from a sample of its first pane
(``measure_of``), and a replay by panes takes them from the same rows, so that both keep the same zones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np

from tacit.functions.expressions import Constant, Expression, Variable
from tacit.functions.forms import degree, opaques, substitute, variables
from tacit.functions.goals import Frequent, Goal, InnerProduct, Quantile, SelfJoin, SketchGoal, Top, Track, map_goal
from tacit.functions.monitor import CENTRED, CENTRED_MOST, FITTED, Monitor
from tacit.functions.no_rows import NOTHING
from tacit.functions.statistics import Moment, shifted
from tacit.language.explain import form_of
from tacit.language.plan import ByMember, WatchPlan
from tacit.vocabulary import FloatArray
from tacit.wire.control import Measure, Sample

__all__ = [
    "DRAWS",
    "SAMPLE",
    "Measure",
    "Shape",
    "VectorForm",
    "can_fit",
    "measure_of",
    "protocol_for",
    "shape_of",
    "units_of",
    "vector_form",
    "zone_kind",
]

SAMPLE = 64  # rows of the first pane that units and centres are taken from
DRAWS = 7  # of which so many, an odd number, give a centre: their median is one of them
SKETCHES: dict[type[SketchGoal], str] = {
    Frequent: "frequent", SelfJoin: "self_join", InnerProduct: "inner_product", Quantile: "quantile",
}  # fmt: skip
"""The protocols of watches on sketches."""
_SPREADS = 1_024.0
_HUGE = 2.0**500
_EXPONENT = 250  # of a unit, at most: the squares of its squares are still numbers
_STILL = 16.0  # a component that does not vary has a unit so much smaller than its size: its ball is flat there


@dataclass(frozen=True, slots=True)
class VectorForm:
    """Which statistics the vector holds. ``weights`` are those whose sum is the weight, () is the number of rows."""

    goal: Goal
    outputs: tuple[tuple[str, Expression], ...]
    kept: tuple[int, ...]
    weights: tuple[int, ...] | None  # None: sums, every site has weight 1
    simplex: tuple[int, ...] | None
    nonnegative: tuple[bool, ...]
    counts: tuple[bool, ...]
    moments: tuple[Moment, ...]

    @property
    def weighted(self) -> bool:
        """Do weights vary?"""
        return self.weights is not None

    def monitor(self, scale: FloatArray, zone: str = "ball") -> Monitor:
        """The mathematics of the watch in these units of the kept statistics, with zones of this kind."""
        return Monitor(
            self.goal, self.outputs, len(self.kept), nonnegative=np.array(self.nonnegative, dtype=np.bool_),
            moments=self.moments, simplex=self.simplex, scale=scale, zone=zone,
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A watch ready to be monitored over vectors of all its statistics, the number of rows as one more component."""

    form: VectorForm
    monitor: Monitor
    scale: FloatArray

    def vectors(self, sums: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The monitored sums (G, d') in their units, and weights (G,) where they vary, from sums (G, d + 1)."""
        inner = sums[:, list(self.form.kept)] / self.scale
        if self.form.weights is None:
            inner[sums[:, -1] == 0.0] = NOTHING
            return inner, None
        weights = sums[:, list(self.form.weights)].sum(axis=1) if self.form.weights else sums[:, -1].copy()
        return inner, np.asarray(weights)


def shape_of(plan: WatchPlan, measure: Measure, zone: str = "ball") -> Shape:
    """The shape of a watch that was measured, with zones of this kind."""
    form = vector_form(plan, form="sums" if zone in (CENTRED, FITTED) else "auto")
    scale = np.asarray(measure.units[list(form.kept)], dtype=np.float64)
    return Shape(form, form.monitor(scale, zone), scale)


def zone_kind(plan: WatchPlan, protocol: str, asked: str = "auto") -> str:
    """The kind of zones that a watch has.

    Without a coordinator that makes them sites cannot agree on convex ones, and under GROUP BY EACH, where one group
    stands for others, those that have just got their number have what it has.
    """
    if protocol in ("recentre", "fitted"):
        return CENTRED if protocol == "recentre" else FITTED
    alone = protocol == "broadcast" or isinstance(plan.grouping, ByMember)
    return "ball" if alone and asked == "auto" else asked


def can_fit(plan: WatchPlan) -> bool:
    """Can zones be fitted to each site? Where regions are polytopes, or in the plane; and without groups."""
    if isinstance(plan.goal, Top | SketchGoal):
        return False
    form = vector_form(plan, form="sums")
    flat = all(form_of(tree) in ("constant", "affine", "ratio of affine") for tree in _trees(form.goal))
    return plan.grouping is None and (flat or len(form.kept) <= 2)


def protocol_for(plan: WatchPlan, asked: str) -> str:
    """The protocol that keeps a watch: what was asked for, if it can; ``auto`` recentres what is tracked.

    Rankings and watches on sketches have protocols of their own. Recentring knows neither GROUP BY EACH, where one
    group stands for others, nor Python functions, nor more than CENTRED_MOST statistics: such watches are balanced,
    with balls where there is no other zone. Zones are fitted to watches without groups.
    """
    if isinstance(plan.goal, Top):
        return plan.goal.using or "coordinator"
    if isinstance(plan.goal, SketchGoal):
        return SKETCHES[type(plan.goal)]
    if asked == "fitted":
        return "fitted" if can_fit(plan) else "coordinator"
    able = (
        not isinstance(plan.grouping, ByMember)
        and not any(map(opaques, _trees(plan.watched)))
        and len(vector_form(plan, form="sums").kept) <= CENTRED_MOST
    )
    if asked == "auto":
        return "recentre" if able and isinstance(plan.goal, Track) else "coordinator"
    return asked if able or asked != "recentre" else "coordinator"


def measure_of(plan: WatchPlan, samples: Sequence[Sample]) -> Measure:
    """Centres and units from the sites' samples of the first pane: of the SAMPLE rows with the least keys of all."""
    dimension, count = len(plan.statistics), len(plan.centres)
    if isinstance(plan.goal, Top | SketchGoal):  # scores are compared as they are, and so are counts
        return Measure(np.zeros(count), np.ones(dimension))
    keys = np.concatenate([np.empty(0, dtype=np.int64), *(sample.keys for sample in samples)])
    least = np.argsort(keys, kind="stable")[:SAMPLE]
    seen = np.concatenate(
        [np.empty((0, count)), *(sample.centres.reshape(len(sample.keys), count) for sample in samples)]
    )[least]
    centres = np.array([_centre(column) for column in seen.T], dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a site that is so far out cannot keep the watch, and says so
        around = [
            shifted(sample.values.reshape(len(sample.keys), dimension), plan.shifts, sample.at, centres)
            for sample in samples
        ]
    values = np.concatenate([np.empty((0, dimension)), *(each for each in around)])[least]
    return Measure(centres, units_of(values.T, still=_STILL))


def _centre(values: FloatArray) -> float:
    finite = values[np.isfinite(values)][:DRAWS].tolist()
    return float(median(finite[: len(finite) - (len(finite) + 1) % 2])) if finite else 0.0


def vector_form(plan: WatchPlan, *, merged: Mapping[int, int] | None = None, form: str = "auto") -> VectorForm:
    """Which statistics are kept and how. ``merged`` names for each statistic the first one that is equal to it."""
    merged = {j: j for j in range(len(plan.statistics))} if merged is None else merged
    swap: dict[int, Expression] = {j: Variable(k) for j, k in merged.items() if j != k}
    goal = map_goal(plan.watched, lambda tree: substitute(tree, swap))
    outputs = tuple((name, substitute(tree, swap)) for name, tree in plan.outputs)
    trees = _trees(goal)
    used = sorted({v for tree in trees for v in variables(tree)})
    outputs = tuple((name, tree) for name, tree in outputs if set(variables(tree)) <= set(used))
    outputs = outputs or (("value", trees[0]),)
    weights = _weights(plan, [*trees, *(tree for _, tree in outputs)], used) if form != "sums" else None
    simplex: tuple[int, ...] | None = None
    kept = used
    if weights is not None and len(weights) == 1:
        kept = [j for j in used if j != weights[0]]
        one: dict[int, Expression] = {weights[0]: Constant(1.0)}
        goal = map_goal(goal, lambda tree: substitute(tree, one))
        outputs = tuple((name, substitute(tree, one)) for name, tree in outputs)
    elif weights:
        simplex = tuple(kept.index(j) for j in weights)
    renumber: dict[int, Expression] = {j: Variable(k) for k, j in enumerate(kept)}
    where = {j: k for k, j in enumerate(kept)}
    if weights is not None and len(weights) == 1:
        where[weights[0]] = -1  # the count of a mean is 1
    return VectorForm(
        goal=map_goal(goal, lambda tree: substitute(tree, renumber)),
        outputs=tuple((name, substitute(tree, renumber)) for name, tree in outputs),
        kept=tuple(kept),
        weights=None if weights is None else tuple(weights),
        simplex=simplex,
        nonnegative=tuple(plan.statistics[j].nonnegative for j in kept),
        counts=tuple(plan.statistics[j].count for j in kept),
        moments=_moments(plan, merged, where),
    )


def _trees(goal: Goal) -> list[Expression]:
    """The expressions of a goal; only what they need is kept in the vector."""
    trees: list[Expression] = []

    def note(tree: Expression) -> Expression:
        trees.append(tree)
        return tree

    map_goal(goal, note)
    return trees


def _weights(plan: WatchPlan, trees: Sequence[Expression], used: list[int]) -> list[int] | None:
    """The columns whose sum is the weight of the weighted form, [] for the number of rows, None for the sums form."""
    if not used or any(degree(tree) != 0 for tree in trees):
        return None
    counts = [j for j in used if plan.statistics[j].count]
    if len(counts) == len(used):
        return counts  # a contingency table: the cells themselves sum to the number of rows
    return counts if len(counts) == 1 else []


def units_of(columns: FloatArray, *, still: float = 1.0) -> FloatArray:
    """A power of two near the spread of each column (near its size over ``still``, where it does not vary)."""
    if columns.size == 0:
        return np.ones(len(columns))
    largest = np.finfo(np.float64).max
    columns = np.nan_to_num(columns, nan=0.0, posinf=largest, neginf=-largest)
    # Squares of numbers that are huge would be none: these are measured in a unit of their own first.
    shrunk = np.where(np.abs(columns).max(axis=1) > _HUGE, 2.0**-600, 1.0)
    columns = columns * shrunk[:, None]
    some = columns[:, :: max(1, columns.shape[1] // 4_096)]
    (low, high), usual = np.quantile(some, [0.25, 0.75], axis=1), np.quantile(np.abs(some), 0.75, axis=1)
    spread, size = columns.std(axis=1), np.abs(columns).mean(axis=1)
    # Some rows may be far out: they must not set the unit of all.
    spread = np.where(high > low, np.minimum(spread, _SPREADS * (high - low)), spread)
    size = np.where(usual > 0, np.minimum(size, _SPREADS * usual), size)
    unit = np.where(spread > 1e-9 * np.maximum(size, 1e-300), spread, size / still)
    unit = np.where(unit > 0, unit, 1.0)
    return np.asarray(2.0 ** np.clip(np.round(np.log2(unit)) - np.log2(shrunk), -_EXPONENT, _EXPONENT))


def _moments(plan: WatchPlan, merged: Mapping[int, int], where: Mapping[int, int]) -> tuple[Moment, ...]:
    """The moments whose three parts are in the vector (``where`` of a statistic, -1 for the count of a mean)."""
    found = []
    for moment in plan.moments:
        indices = [merged[k] for k in (moment.count, moment.first, moment.square)]
        if all(k in where for k in indices):
            found.append(Moment(*(where[k] for k in indices)))
    return tuple(found)
