"""Who resolves the violations of a watch: by its goal and its protocol."""

from __future__ import annotations

import numpy as np

from tacit.functions.additive import row_weights
from tacit.functions.goals import Frequent, SketchGoal, Top
from tacit.language.plan import WatchPlan
from tacit.language.shape import Shape
from tacit.protocols.books import Books
from tacit.protocols.broadcast import Cascade
from tacit.protocols.centres import Recentrer
from tacit.protocols.fitted import Fitter
from tacit.protocols.frequent.census import Census
from tacit.protocols.gauges.making import gauge_of, terms_of
from tacit.protocols.gauges.sounder import Sounder
from tacit.protocols.policies import LeastRecentlyUsed
from tacit.protocols.rounds import Exchange
from tacit.protocols.threshold import Balancer
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.ranker import Ranker

__all__ = ["expiry_of", "gauge_resolver", "list_resolver", "rules_of", "vector_resolver"]


def vector_resolver(shape: Shape, protocol: str, groups: int, *, template: bool) -> Balancer | Cascade:
    """Of a watch with a condition or a value that is tracked."""
    monitor, weighted = shape.monitor, shape.form.weighted
    books = Books(0, groups, monitor.dimension, weighted=weighted, template=template)
    zones = monitor.grown(monitor.zones(0), groups, np.nan if weighted else 0.0)
    if protocol == "broadcast":
        return Cascade(monitor, zones, books)
    kinds: dict[str, type[Balancer]] = {"recentre": Recentrer, "fitted": Fitter}
    return kinds.get(protocol, Balancer)(monitor, zones, books, LeastRecentlyUsed(0, groups))


def gauge_resolver(plan: WatchPlan) -> Sounder:
    """Of a value that is read off sketches and tracked."""
    assert isinstance(plan.goal, SketchGoal)
    return Sounder(gauge_of(plan.goal), 0)


def list_resolver(plan: WatchPlan) -> Ranker | Exchange | Census:
    """Of a ranking, or of frequent keys."""
    goal = plan.goal
    if isinstance(goal, Frequent):
        return Census(terms_of(goal), 0)
    assert isinstance(goal, Top)
    if goal.using == "topico":
        return Exchange(goal.k, 0, expiry=expiry_of(plan), per=bool(goal.per))
    return Ranker(rules_of(plan), 0, per=bool(goal.per))


def expiry_of(plan: WatchPlan) -> int:
    """After so many panes what a peer of topico has said is older than the window."""
    return max(1, -(-int(plan.window.duration_us or 0) // int(plan.window.every.duration_us or 1)))


def rules_of(plan: WatchPlan) -> Rules:
    """What a ranking promises. Leeway is handed out in whole numbers until a site shows a score that is none."""
    goal = plan.goal
    assert isinstance(goal, Top)
    weights = row_weights(goal.expression, len(plan.statistics))
    assert weights is not None  # the language has seen to it
    used = np.flatnonzero(weights).tolist()
    counts = all(plan.statistics[at].count for at in used) and bool((weights == np.rint(weights)).all())
    epsilon = float(np.floor(goal.within)) if counts else goal.within
    ranked = np.inf if goal.ranked is None else goal.ranked
    return Rules(goal.k, epsilon, 1.0, closed=not goal.largest, ranked=ranked)
