"""Watches of every kind, with random estimates, drifts and feasible points: what the tests of this room share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from tacit.functions import truth
from tacit.functions.evaluate import value
from tacit.functions.expressions import ChiSquare, Expression, InformationGain, Opaque, Unary, Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Goal, Track
from tacit.functions.monitor import Monitor, Zones
from tacit.functions.statistics import Moment

Array = NDArray[np.float64]
Booleans = NDArray[np.bool_]
Generator = np.random.Generator

x0, x1, x2, x3, x4, x5 = (Variable(j) for j in range(6))


def nonnegative(t: Expression) -> Expression:
    return Unary("nonnegative", t)


def root(t: Expression) -> Expression:
    return Unary("sqrt", t)


GAIN = InformationGain(x0, x1, x2, x3)
CHI = ChiSquare(x0, x1, x2, x3)
VAR_SAMP = nonnegative(x0 * x2 - x1 * x1) / (x0 * (x0 - 1.0))
STDDEV = root(VAR_SAMP)
# count, x, xx, y, yy, xy, and the same as means
CORR = Unary("unit", (x0 * x5 - x1 * x3) / root(nonnegative(x0 * x2 - x1 * x1) * nonnegative(x0 * x4 - x3 * x3)))
CORR_MEANS = Unary("unit", (x4 - x0 * x2) / root(nonnegative(x1 - x0 * x0) * nonnegative(x3 - x2 * x2)))
ENTROPY = (Unary("xlogx", x0 + x1 + x2) - (Unary("xlogx", x0) + Unary("xlogx", x1) + Unary("xlogx", x2))) / (
    x0 + x1 + x2
)


def wobble(a: Array, b: Array) -> Array:
    return np.sin(a) + 0.5 * b


@dataclass(frozen=True)
class Case:
    """A watch and where its statistics come from. ``feasible`` adds what is known beyond signs, moments and simplex."""

    name: str
    goal: Goal
    dimension: int
    draw: Callable[[Generator], Array]
    nonnegative: tuple[bool, ...] = ()
    moments: tuple[Moment, ...] = ()
    simplex: tuple[int, ...] | None = None
    feasible: Callable[[Array], Booleans] | None = None
    scale: tuple[float, ...] | None = None
    exact: bool = field(default=False)  # every ball that is on one side must be found

    def known(self) -> Booleans:
        return np.array(self.nonnegative or (False,) * self.dimension)

    def monitor(self) -> Monitor:
        scale = None if self.scale is None else np.array(self.scale)
        return Monitor(
            self.goal,
            [],
            self.dimension,
            nonnegative=self.known(),
            moments=self.moments,
            simplex=self.simplex,
            scale=scale,
        )

    def is_feasible(self, x: Array) -> Booleans:
        """In true (unscaled) coordinates."""
        ok = np.all(x[:, self.known()] >= 0.0, axis=1)
        for moment in self.moments:
            count = x[:, moment.count] if moment.count >= 0 else 1.0
            ok &= count * x[:, moment.square] >= x[:, moment.first] ** 2
        if self.simplex is not None:
            ok &= np.abs(x[:, list(self.simplex)].sum(axis=1) - 1.0) < 1e-12
        return ok if self.feasible is None else ok & self.feasible(x)

    def units(self) -> Array:
        return np.ones(self.dimension) if self.scale is None else np.array(self.scale)

    def in_ball(self, rng: Generator, e: Array, u: Array, count: int) -> Array:
        """Feasible points (unscaled) of the ball over e and u (scaled): in it, on its sphere, made non-negative."""
        units = self.units()
        centre, radius = (e + u) / 2.0, float(np.linalg.norm(u - e)) / 2.0
        steps = rng.normal(size=(count, self.dimension))
        if self.simplex is not None:
            normal = np.zeros(self.dimension)
            normal[list(self.simplex)] = units[list(self.simplex)]
            normal /= np.linalg.norm(normal)
            steps -= np.outer(steps @ normal, normal)
        steps /= np.linalg.norm(steps, axis=1)[:, None]
        lengths = np.where(rng.random(count) < 0.6, 1.0, rng.random(count) ** (1.0 / self.dimension))
        points = centre + steps * (lengths * radius * (1.0 - 1e-12))[:, None]
        points = np.concatenate([points, np.linspace(e, u, 9)])
        pushed = points.copy()
        pushed[:, self.known()] = np.maximum(pushed[:, self.known()], 0.0)
        if self.simplex is not None:
            along = pushed[:, list(self.simplex)] * units[list(self.simplex)]
            with np.errstate(all="ignore"):
                pushed[:, list(self.simplex)] = along / along.sum(axis=1, keepdims=True) / units[list(self.simplex)]
        pushed = pushed[((pushed - centre) ** 2).sum(axis=1) <= radius**2]
        points = np.concatenate([points, pushed]) * units
        return points[self.is_feasible(points)]

    def right(self, monitor: Monitor, zones: Zones, g: int, x: Array) -> Booleans:
        """Is the group's answer right at the points?"""
        if isinstance(self.goal, Track):
            answer = monitor.tracked(zones.estimate[g : g + 1])[0]
            return truth.tracking_error(self.goal, x, np.full(len(x), answer)) <= 1.0 + 1e-9
        judge = truth.may_say_met if zones.answer[g] == 1 else truth.may_say_not_met
        return judge(self.goal, x)


def worst(case: Case, rng: Generator, f: Expression, e: Array, u: Array, sign: float, undefined: float) -> float:
    """The largest sign * f that a local search finds in the ball; a point without a value counts as ``undefined``."""
    points = case.in_ball(rng, e, u, 400)
    centre, radius = (e + u) / 2.0, np.linalg.norm(u - e) / 2.0
    spread, best = radius / 2.0, -np.inf
    for _ in range(20 if len(points) else 0):
        values = sign * value(f, points)
        values = np.where(np.isnan(values), undefined, values)
        top = points[np.argsort(-values)[:6]]
        best = max(best, float(values.max()))
        tried = np.repeat(top, 40, axis=0) / case.units() + rng.normal(size=(40 * len(top), case.dimension)) * spread
        tried[:, case.known()] = np.maximum(tried[:, case.known()], 0.0)
        if case.simplex is not None:
            tried -= np.outer((tried @ case.units() - 1.0) / (case.units() @ case.units()), case.units())
        away = tried - centre
        tried = centre + away * np.minimum(1.0, radius / np.maximum(np.linalg.norm(away, axis=1), 1e-300))[:, None]
        tried *= case.units()
        points = np.concatenate([top, tried[case.is_feasible(tried)]])
        spread *= 0.7
    return best


def sums_of_pairs(rng: Generator) -> Array:
    n = int(rng.integers(5, 200))
    x = rng.normal(rng.normal(), rng.uniform(0.1, 3.0), n)
    y = x * rng.normal() + rng.normal(size=n)
    return np.array([n, x.sum(), (x * x).sum(), y.sum(), (y * y).sum(), (x * y).sum()])


def means_of_pairs(rng: Generator) -> Array:
    sums = sums_of_pairs(rng)
    return sums[1:] / sums[0]


def table(rng: Generator) -> Array:
    """Often with an empty cell."""
    return rng.multinomial(int(rng.integers(20, 500)), rng.dirichlet([0.3] * 4)).astype(float)


def simplex_table(rng: Generator) -> Array:
    counts = table(rng)
    return counts / counts.sum()


def share(rng: Generator) -> Array:
    return rng.dirichlet([1.0, 1.0])


def shares(rng: Generator) -> Array:
    return rng.dirichlet([1.0, 1.0, 1.0])


def correlated(x: Array) -> Booleans:
    """Means (x, xx, y, yy, xy) that some data has."""
    a, b, c = x[:, 1] - x[:, 0] ** 2, x[:, 3] - x[:, 2] ** 2, x[:, 4] - x[:, 0] * x[:, 2]
    return (a >= 0.0) & (b >= 0.0) & (c * c <= a * b)


def correlated_sums(x: Array) -> Booleans:
    with np.errstate(all="ignore"):
        return np.asarray((x[:, 0] > 0.0) & correlated(x[:, 1:] / x[:, :1]))


def normal(size: int, spread: float = 1.0) -> Callable[[Generator], Array]:
    return lambda rng: rng.normal(size=size) * spread


def uniform(size: int, low: float, high: float) -> Callable[[Generator], Array]:
    return lambda rng: rng.uniform(low, high, size)


TABLE = (True,) * 4
PAIR = (True, False, True, False, True, False)
PAIR_MEANS = (False, True, False, True, False)
VARIANCE = (Moment(0, 1, 2),)
ONE_MEAN = (Moment(-1, 0, 1),)
SPREAD = root(nonnegative(x1 - x0 * x0)) / (2.0 + Unary("tanh", x0))
NET = Unary("sigmoid", 3.0 * x0 - x1) + Unary("sigmoid", 2.0 * x1)

CASES = (
    Case("affine", Comparison(x0 + 2.0 * x1 - x2, ">", 1.0), 3, normal(3, 2.0), exact=True),
    Case("affine in the orthant", Comparison(x0 - x1, ">", 1.0, 0.1), 2, uniform(2, 0.0, 5.0), (True, True)),
    Case("count", Comparison(x0, ">=", 100.0), 1, lambda r: r.integers(80, 120, 1).astype(float), (True,), exact=True),
    Case("ratio", Comparison(x0 / x1, ">", 0.5), 2, uniform(2, 0.0, 10.0), (True, True)),
    Case("ratio, scaled", Comparison(x0 / x1, "<", 0.5), 2, uniform(2, 0.0, 10.0), (True, True), scale=(0.25, 8.0)),
    Case("ratio of means", Comparison((x0 / x1) / (x2 / x3), ">", 0.5, 0.05), 4, uniform(4, 1.0, 10.0), TABLE),
    Case("quadratic 1", Comparison(x0 * x0 - x0, "<", 0.5), 1, normal(1), exact=True),
    Case("quadratic 2", Comparison(x0 * x0 + 3.0 * x1**2.0, "<=", 2.0), 2, normal(2), exact=True),
    Case("quadratic 3", Comparison(x0 * x0 - x1 * x2 + x1, ">", 0.5), 3, normal(3), exact=True),
    Case("quadratic 4", Comparison(x0 * x1 - x2 * x3 + x0, ">=", 0.2, 0.01), 4, normal(4), exact=True),
    Case(
        "standard deviation", Comparison(STDDEV, ">", 1.5, 0.1), 3, lambda r: sums_of_pairs(r)[:3], PAIR[:3], VARIANCE
    ),
    Case("correlation", Comparison(CORR, ">", 0.5, 0.05), 6, sums_of_pairs, PAIR, feasible=correlated_sums),
    Case("correlation of means", Comparison(CORR_MEANS, ">", 0.5), 5, means_of_pairs, PAIR_MEANS, feasible=correlated),
    Case(
        "correlation below", Comparison(CORR_MEANS, "<", -0.3, 0.02), 5, means_of_pairs, PAIR_MEANS, feasible=correlated
    ),
    Case("information gain", Comparison(GAIN, ">", 0.05), 4, table, TABLE),
    Case("gain below", Comparison(GAIN, "<=", 0.02, 0.005), 4, table, TABLE),
    Case("gain on the simplex", Comparison(GAIN, ">", 0.05), 4, simplex_table, TABLE, simplex=(0, 1, 2, 3)),
    Case(
        "share",
        Comparison(x0 / x1, ">", 0.5, 0.01),
        2,
        share,
        (True, True),
        simplex=(0, 1),
        scale=(0.5, 2.0),
    ),
    Case("quadratic of shares", Comparison(x0 * x1 - x2 * x2, ">", 0.02), 3, shares, (True,) * 3, simplex=(0, 1, 2)),
    Case("spread of means", Comparison(SPREAD, ">", 0.8), 2, lambda r: means_of_pairs(r)[:2], (False, True), ONE_MEAN),
    Case("entropy", Comparison(ENTROPY, ">", 0.8), 3, lambda r: table(r)[:3] + 1.0, (True,) * 3),
    Case("chi-square", Comparison(CHI, ">", 10.0), 4, table, TABLE),
    Case("chi-square below", Comparison(CHI, "<", 10.0, 0.5), 4, table, TABLE),
    Case(
        "or",
        AnyOf((Comparison(x0 / x1, ">", 0.5), Comparison(x0, ">=", 6.0, 0.5))),
        2,
        uniform(2, 0.0, 10.0),
        (True, True),
    ),
    Case(
        "and, or",
        AllOf((Comparison(x0 / x1, "<", 0.5), AnyOf((Comparison(x0, ">=", 6.0), Comparison(x1 * x0, "<", 9.0, 1.0))))),
        2,
        uniform(2, 0.0, 10.0),
        (True, True),
    ),
    Case("abs", Comparison(Unary("abs", x0 - x1), ">", 0.7), 2, normal(2)),
    Case("abs below", Comparison(Unary("abs", x0 * x1), "<", 0.7), 2, normal(2)),
    Case("two-layer network", Comparison(NET, ">", 1.0), 2, normal(2)),
    Case("waves", Comparison(Unary("exp", Unary("sin", x0)) * Unary("tanh", x1), ">", 0.7), 2, normal(2, 2.0)),
    Case("root and log", Comparison(Unary("log", x0) + root(x1) / (1.0 + x0), "<=", 0.7), 2, uniform(2, -0.2, 4.0)),
    Case("user function", Comparison(Opaque("f", wobble, (x0, x1), 1.12), ">", 0.3), 2, normal(2)),
    Case("track a sum", Track(x0 - x1, 5.0), 2, uniform(2, 0.0, 30.0)),
    Case("track percent", Track(x0 / x1, 5.0, percent=True), 2, lambda r: r.uniform([-4, 1], [8, 9]), (False, True)),
    Case("track a deviation", Track(STDDEV, 0.2), 3, lambda r: sums_of_pairs(r)[:3], PAIR[:3], VARIANCE),
    Case("track a correlation", Track(CORR_MEANS, 0.2), 5, means_of_pairs, PAIR_MEANS, feasible=correlated),
    Case("track a gain", Track(GAIN, 0.02), 4, table, TABLE),
    Case("track a chi-square", Track(CHI, 10.0), 4, table, TABLE),
)
