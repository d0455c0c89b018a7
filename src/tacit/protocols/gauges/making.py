"""From what a watch on sketches promises to the shape of its sketches and to its gauges: the same in every process."""

from __future__ import annotations

import math

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SelfJoin, SketchGoal
from tacit.protocols.frequent.shares import Terms
from tacit.protocols.gauges.gauge import Gauge
from tacit.protocols.gauges.inner_product import InnerProductGauge
from tacit.protocols.gauges.quantile import QuantileGauge
from tacit.protocols.gauges.self_join import SelfJoinNorms, SelfJoinProducts
from tacit.sketches.parameters import Shape
from tacit.sketches.watching import watch_shape

__all__ = ["SEED", "gauge_of", "points_of", "shape_of", "terms_of"]

SEED = 20_150_211
"""Of the hash of all sketches of watches: those of different sites must agree on what a cell means."""


def shape_of(goal: SketchGoal) -> Shape:
    """The rows and cells of the sketches, and the error of their window counters.

    >>> from tacit.functions.goals import Accuracy
    >>> shape = shape_of(SelfJoin(0.15, Accuracy(0.15, 0.15)))
    >>> shape.depth, shape.width
    (2, 32)
    """
    query = "point" if isinstance(goal, Frequent) else "inner_product"
    return watch_shape(goal.accuracy.epsilon, goal.accuracy.delta, query=query)  # type: ignore[arg-type]


def points_of(goal: Quantile) -> int:
    """How many values a site's array of a quantile has: half of epsilon is for them, half for what they are read from.

    >>> from tacit.functions.goals import Accuracy
    >>> points_of(Quantile(0.5, 0.01, Accuracy(0.01, 0.01)))
    100
    """
    return math.ceil(1 / goal.accuracy.epsilon)


def gauge_of(goal: SketchGoal, *, zone: str = "auto") -> Gauge:
    """The gauges of a tracked value; those of a self-join by products, or by norms as in the seed."""
    match goal:
        case SelfJoin():
            shape = shape_of(goal)
            kind = SelfJoinNorms if zone == "norms" else SelfJoinProducts
            return kind(shape.depth, shape.width, goal.within, shape.epsilon_window)
        case InnerProduct():
            shape = shape_of(goal)
            return InnerProductGauge(shape.depth, shape.width, goal.within, shape.epsilon_window)
        case Quantile():
            return QuantileGauge(goal.phi, goal.within, points_of(goal))
        case Frequent():
            raise AssertionError("frequent keys have no gauges")


def terms_of(goal: Frequent) -> Terms:
    """The threshold and the margin of frequent keys."""
    return Terms(goal.threshold, goal.margin)
