"""Watches to simulate, and streams for them: every shape the protocols must keep, over random data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression, Unary, Variable
from tacit.functions.goals import AnyOf, Comparison, Goal, Track
from tacit.functions.monitor import Monitor
from tacit.functions.statistics import Moment
from tacit.transport import Streams

__all__ = ["SHAPES", "Watch", "make_watch"]

X0, X1, X2 = Variable(0), Variable(1), Variable(2)
WINDOW = 5  # panes


@dataclass(frozen=True, eq=False)
class Watch:
    """A goal, its monitor, and what the sites hold at each pane."""

    name: str
    goal: Goal
    monitor: Monitor
    streams: Streams
    integer: bool

    def truth(self, roster: tuple[int, ...]) -> np.ndarray:
        """The global vector (panes, groups, d) over these sites."""
        sums = self.streams.sums[:, list(roster)].sum(axis=1)
        if self.streams.weights is None:
            return sums
        with np.errstate(invalid="ignore", divide="ignore"):
            return sums / self.streams.weights[:, list(roster)].sum(axis=1)[..., None]


@dataclass(frozen=True)
class Shape:
    """One form of a watch: statistics of a row's value v, and the goal for a threshold and a margin."""

    name: str
    statistics: tuple[Callable[[np.ndarray], np.ndarray], ...]
    expression: Expression
    goal: Callable[[float, float], Goal]
    groups: int = 1
    weighted: bool = False
    nonnegative: tuple[bool, ...] = ()
    moments: tuple[Moment, ...] = ()


def one(v: np.ndarray) -> np.ndarray:
    return np.ones_like(v)


def same(v: np.ndarray) -> np.ndarray:
    return v


def square(v: np.ndarray) -> np.ndarray:
    return v * v


def large(v: np.ndarray) -> np.ndarray:
    return (v > 10).astype(float)


def above(expression: Expression, operator: str = ">") -> Callable[[float, float], Goal]:
    return lambda threshold, margin: Comparison(expression, operator, threshold, margin)


def either(threshold: float, margin: float) -> Goal:
    return AnyOf((Comparison(X0, ">", threshold, margin), Comparison(X0 / X1, "<", 2.0, margin)))


VARIANCE = X2 / X0 - (X1 / X0) * (X1 / X0)
SPREAD = Unary("nonnegative", X1 - X0 * X0)

SHAPES = (
    Shape("sum", (same,), X0, above(X0)),
    Shape("sum at most", (same,), X0, above(X0, "<=")),
    Shape("ratio", (same, one), X0 / X1, above(X0 / X1), nonnegative=(False, True)),
    Shape("share", (large, one), X0 / X1, above(X0 / X1, ">="), nonnegative=(True, True)),
    Shape(
        "variance", (one, same, square), VARIANCE, above(VARIANCE),
        nonnegative=(True, False, True), moments=(Moment(0, 1, 2),),
    ),
    Shape("mean by weight", (same,), X0, above(X0), weighted=True),
    Shape("mean by weight at most", (same,), X0, above(X0, "<"), weighted=True),
    Shape("spread by weight", (same, square), SPREAD, above(SPREAD), weighted=True, nonnegative=(False, True)),
    Shape("either", (same, one), X0, either, nonnegative=(False, True)),
    Shape("track", (same, one), X0 / X1, lambda _, margin: Track(X0 / X1, 1.0 + margin), nonnegative=(False, True)),
    Shape("track percent", (same,), X0, lambda _, margin: Track(X0, 10.0 + margin, percent=True)),
    Shape("track by weight", (same,), X0, lambda _, margin: Track(X0, 2.0 + margin), weighted=True),
    Shape("groups", (same, one), X0 / X1, above(X0 / X1), groups=20, nonnegative=(False, True)),
    Shape("groups by weight", (same,), X0, above(X0), groups=20, weighted=True),
    Shape("groups of sums", (same,), X0, above(X0), groups=20),
)  # fmt: skip


def make_watch(shape: Shape, rng: np.random.Generator, *, sites: int, panes: int, zone: str = "ball") -> Watch:
    """A watch of this shape with its threshold in the middle of what happens, so that it is crossed."""
    integer = bool(rng.random() < 0.7)
    margin = float(rng.choice([0.0, 0.0, 0.5, 2.0]))
    sums, counts = _windows(shape, rng, sites, panes, integer)
    streams = Streams(sums, counts if shape.weighted else None)
    with np.errstate(invalid="ignore", divide="ignore"):
        x = sums.sum(axis=1) / (counts.sum(axis=1)[..., None] if shape.weighted else 1.0)
    seen = value(shape.expression, x.reshape(-1, x.shape[-1]))
    seen = seen[np.isfinite(seen)]
    middle = float(np.quantile(seen, rng.uniform(0.2, 0.8))) if len(seen) else 0.0
    goal = shape.goal(round(middle * 4) / 4 if integer else middle, margin)
    monitor = Monitor(
        goal, (shape.expression,), len(shape.statistics),
        nonnegative=np.array(shape.nonnegative or [False] * len(shape.statistics)), moments=shape.moments, zone=zone,
    )  # fmt: skip
    return Watch(shape.name, goal, monitor, streams, integer)


def _windows(
    shape: Shape, rng: np.random.Generator, sites: int, panes: int, integer: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Sums (panes, sites, groups, d) and counts (panes, sites, groups) of windows over random rows.

    Each site's level walks; some panes have no rows, and some sites fall silent for a while, so that windows empty.
    """
    rows, groups = 3, shape.groups
    level = 8.0 + np.cumsum(rng.normal(0, rng.choice([0.0, 0.1, 0.5, 2.0]), (panes, sites, groups)), axis=0)
    values = level[..., None] + rng.normal(0, rng.choice([0.0, 1.0, 4.0]), (panes, sites, groups, rows))
    values = np.rint(values) if integer else values
    there = rng.random((panes, sites, groups, rows)) < rng.choice([0.2, 0.6, 1.0])
    for _ in range(int(rng.integers(0, 3))):
        start, length = int(rng.integers(0, panes)), int(rng.integers(5, 15))
        where = slice(None) if rng.random() < 0.3 else int(rng.integers(0, sites))
        there[start : start + length, where] = False
    if groups > 1:  # half of them are there from the start, others appear
        born = np.maximum(0, rng.integers(-panes, panes, groups))
        there &= (np.arange(panes)[:, None] >= born)[:, None, :, None]
    deltas = np.stack([np.where(there, f(values), 0.0).sum(axis=-1) for f in shape.statistics], axis=-1)
    return _sliding(deltas), _sliding(there.sum(axis=-1).astype(float))


def _sliding(deltas: np.ndarray) -> np.ndarray:
    """Sums of the last WINDOW panes, each added afresh."""
    padded = np.concatenate([np.zeros((WINDOW - 1, *deltas.shape[1:])), deltas])
    return np.stack([padded[p : p + WINDOW].sum(axis=0) for p in range(len(deltas))])
