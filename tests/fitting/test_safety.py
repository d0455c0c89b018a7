"""The seed's correctness: whatever was fitted, the weighted mean of points in the zones is in the region. Exactly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.fitting import Mixture, ZoneFit, ZoneProblem, finished, fit_clustered, fit_dual, fit_general, fit_vertices
from tacit.fitting.likelihood import Likelihood
from tacit.geometry import HalfSpaces
from tacit.vocabulary import ZoneError
from tests.fitting.making import mixture
from tests.geometry.making import bounded_rows, points_near

SEEDS = st.integers(0, 2**32 - 1)


def random_problem(rng: np.random.Generator, dimension: int, sites: int) -> ZoneProblem:
    region = bounded_rows(rng, dimension, int(rng.integers(1, 4)), at=rng.choice([0.0, 1.0, 1e4])).without_twins()
    centre, radius = region.centre()
    anchors = centre + rng.normal(size=(sites, dimension)) * radius
    weights = rng.uniform(0.1, 5.0, sites)
    anchors += centre + 0.5 * radius * rng.uniform(-0.5, 0.5, dimension) - weights @ anchors / weights.sum()
    moved = [mixture(rng, dimension, int(rng.integers(1, 3))) for _ in range(sites)]
    mixtures = [
        each.moved(at - each.mean() + 0.3 * rng.normal(size=dimension)) for each, at in zip(moved, anchors, strict=True)
    ]
    return ZoneProblem(region, mixtures, weights, anchors)


def mean_is_inside(task: ZoneProblem, zones: tuple[HalfSpaces, ...], rng: np.random.Generator) -> None:
    """Points at the zones' edges and corners, as far out as the zones let them: all one way, and at random."""
    ways = np.vstack([task.region.normals, rng.normal(size=(6, task.region.dimension))])
    drawn = []
    for i, zone in enumerate(zones):
        near = np.empty((0, task.region.dimension)) if task.anchors is None else task.anchors[i : i + 1]
        try:
            edge = np.vstack([points_near(rng, zone, 60), zone.polytope().vertices])
            middle = edge.mean(axis=0)
            near = np.vstack(
                [near, edge, middle + (edge - middle) * (1 - 1e-9), middle + (edge - middle) * (1 - 1e-12)]
            )
        except ZoneError:  # nothing but its anchor
            pass
        near = near[zone.contains(near)]
        if not len(near):
            return
        farthest = near[(near @ ways.T).argmax(axis=0)]
        drawn.append(np.vstack([farthest, near[rng.integers(0, len(near), 6)]]))
    assert task.weights is not None
    weights = [Fraction(each) for each in task.weights.tolist()]
    for k in range(len(ways) + 6):
        sums = [
            sum(w * Fraction(p[k, j]) for w, p in zip(weights, drawn, strict=True))
            for j in range(task.region.dimension)
        ]
        for row, limit in zip(task.region.normals.tolist(), task.region.limits.tolist(), strict=True):
            assert sum(Fraction(a) * s for a, s in zip(row, sums, strict=True)) <= sum(weights) * Fraction(limit)


@pytest.mark.middle
@settings(max_examples=25)
@given(SEEDS, st.integers(1, 3), st.integers(1, 5), st.sampled_from([fit_dual, fit_general, fit_clustered]))
def test_fitted_zones(seed: int, dimension: int, sites: int, solver: object) -> None:
    rng = np.random.default_rng(seed)
    task = random_problem(rng, dimension, sites)
    fit = solver(task)  # type: ignore[operator]
    held(task, fit)
    mean_is_inside(task, fit.zones, rng)


@settings(max_examples=10)
@given(SEEDS, st.integers(2, 3), st.integers(1, 3))
def test_zones_fitted_by_vertices(seed: int, dimension: int, sites: int) -> None:
    rng = np.random.default_rng(seed)
    task = random_problem(rng, dimension, sites)
    try:
        fit = fit_vertices(task, dimension + 3, directions=64, steps_max=10)
    except ZoneError:
        return  # said so, and the ball is used
    held(task, fit)
    mean_is_inside(task, fit.zones, rng)


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4), st.integers(1, 6), st.floats(-1.0, 1.0))
def test_any_limits_at_all_are_made_safe(seed: int, dimension: int, sites: int, excess: float) -> None:
    """Solvers may be as wrong as they like: what is handed out is safe, or there is an error."""
    rng = np.random.default_rng(seed)
    task = random_problem(rng, dimension, sites)
    limits = task.region.limits + rng.normal(size=(sites, len(task.region.limits))) + excess
    fit = finished(task, limits, Likelihood.of(task.mixtures, task.region.normals), steps=0)
    held(task, fit)
    mean_is_inside(task, fit.zones, rng)


@settings(max_examples=20)
@given(SEEDS, st.integers(1, 3), st.integers(2, 5))
def test_without_anchors(seed: int, dimension: int, sites: int) -> None:
    rng = np.random.default_rng(seed)
    anchored = random_problem(rng, dimension, sites)
    task = ZoneProblem(anchored.region, anchored.mixtures, anchored.weights)
    mean_is_inside(task, fit_dual(task, steps_max=20).zones, rng)


def held(task: ZoneProblem, fit: ZoneFit) -> None:
    assert task.anchors is not None
    for zone, anchor in zip(fit.zones, task.anchors, strict=True):
        assert zone.contains(anchor[None])[0]


def test_the_test_can_fail() -> None:
    """Zones that are a little too large are caught."""
    rng = np.random.default_rng(0)
    one = Mixture.normal(np.zeros(2), np.eye(2))
    region = bounded_rows(rng, 2, 2)
    zones = tuple(HalfSpaces(region.normals, region.limits + 1e-6) for _ in range(2))
    with pytest.raises(AssertionError):
        mean_is_inside(ZoneProblem(region, [one, one]), zones, rng)
