"""Averages of zones: Lemma 1 by brute force, half-planes, weights, and the safety of what is called safe."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.geometry import (
    Box,
    Ellipsoid,
    HalfSpaces,
    Polytope,
    average_of_rows,
    average_of_vertices,
    fits,
    interval,
    rows_fit,
    vertices_fit,
)
from tacit.vocabulary import OptionError, ZoneError
from tests.geometry.making import bounded_rows, exact_room


def all_means(zones: list[Polytope], weights: np.ndarray) -> list[list[Fraction]]:
    """Lemma 1 as it is written: the mean of every choice of vertices."""
    shares = [Fraction(each) / sum(map(Fraction, weights.tolist())) for each in weights.tolist()]
    found = []
    for chosen in product(*(zone.vertices.tolist() for zone in zones)):
        found.append(
            [sum(s * Fraction(v[k]) for s, v in zip(shares, chosen, strict=True)) for k in range(len(chosen[0]))]
        )
    return found


def slow_fit(zones: list[Polytope], weights: np.ndarray, region: HalfSpaces) -> bool:
    rows = [
        ([Fraction(a) for a in row], Fraction(c))
        for row, c in zip(region.normals.tolist(), region.limits.tolist(), strict=True)
    ]
    return all(
        sum(a * x for a, x in zip(row, mean, strict=True)) <= limit
        for mean in all_means(zones, weights)
        for row, limit in rows
    )


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 3), st.floats(0.3, 1.2))
def test_the_vertex_method_is_lemma_1(seed: int, dimension: int, sites: int, size: float) -> None:
    rng = np.random.default_rng(seed)
    region = bounded_rows(rng, dimension, 3, at=1.0)
    centre = region.centre()[0]
    zones = [Polytope(centre + size * rng.normal(size=(dimension + 2, dimension)) / 2) for _ in range(sites)]
    weights = rng.uniform(0.2, 2.0, sites)
    assert vertices_fit(zones, weights, region) == slow_fit(zones, weights, region)
    average = average_of_vertices(zones, weights)
    means = np.array(all_means(zones, weights), dtype=float)
    ways = rng.normal(size=(30, dimension))
    assert average.support(ways) == pytest.approx((means @ ways.T).max(axis=0))


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(1, 6), st.booleans())
def test_the_mean_of_points_in_zones_is_in_the_region(seed: int, dimension: int, sites: int, by_vertices: bool) -> None:
    """Random region, random zones that are called safe, random points in them: exactly inside, always."""
    rng = np.random.default_rng(seed)
    region = bounded_rows(rng, dimension, 4, at=1.0)
    weights = rng.uniform(0.2, 2.0, sites)
    shares = weights / weights.sum()
    moves = rng.normal(size=(sites, dimension))
    moves -= shares @ moves
    limits = region.limits + moves @ region.normals.T
    extra = rng.normal(size=limits.shape) * 0.2
    limits = limits + (extra - shares @ extra) - 1e-12
    zones = [HalfSpaces(region.normals, each) for each in limits]
    shapes = zones
    if by_vertices:
        try:
            shapes = [each.polytope() for each in zones]  # type: ignore[misc]
        except ZoneError:
            return
    if not fits(shapes, weights, region):
        return
    points = []
    for each in shapes:
        try:
            corners = each.vertices if isinstance(each, Polytope) else each.polytope().vertices
        except ZoneError:
            return
        drawn = np.vstack([corners, rng.dirichlet(np.full(len(corners), 0.3), 40) @ corners])
        drawn = drawn[each.contains(drawn)]
        if not len(drawn):
            return
        points.append(drawn[rng.integers(0, len(drawn), 20)])
    exact = [Fraction(each) for each in weights.tolist()]
    for k in range(20):
        mean = [
            sum(w * Fraction(p[k, j]) for w, p in zip(exact, points, strict=True)) / sum(exact)
            for j in range(dimension)
        ]
        for row, limit in zip(region.normals.tolist(), region.limits.tolist(), strict=True):
            assert sum(Fraction(a) * x for a, x in zip(row, mean, strict=True)) <= Fraction(limit)


def test_the_half_plane_method() -> None:
    one, two = interval(-1.0, 1.0).half_spaces(), interval(0.0, 4.0).half_spaces()
    assert average_of_rows([one, two], np.array([1.0, 3.0])).limits == pytest.approx([3.25, 0.25])
    region = interval(-0.25, 3.25).half_spaces()
    assert rows_fit([one, two], np.array([1.0, 3.0]), region)
    assert not rows_fit([one, two], np.array([1.0, 1.0]), interval(-0.4, 3.25).half_spaces())
    hair = HalfSpaces(region.normals, region.limits - np.array([2.0**-50, 0.0]))
    assert not rows_fit([one, two], np.array([1.0, 3.0]), hair)
    assert not rows_fit([one, two], np.array([1.0, 3.0]), HalfSpaces(2 * region.normals, 9 * np.ones(2)))


def test_unweighted_averages_of_clusters_are_unsound() -> None:
    """The example of ALGORITHMS: the pair looks safe when its cluster counts as one site."""
    one, pair = interval(-0.5, 0.5).half_spaces(), interval(-1.5, 1.5).half_spaces()
    region = interval(-1.0, 1.0).half_spaces()
    assert rows_fit([one, pair], np.array([1.0, 1.0]), region)
    assert not rows_fit([one, pair], np.array([1.0, 2.0]), region)
    assert not rows_fit([one, pair, pair], np.ones(3), region)


def test_curved_regions() -> None:
    disk = Ellipsoid(np.zeros(2), np.eye(2))
    square = Box(np.full(2, -0.7), np.full(2, 0.7))
    assert fits([square, square], np.ones(2), disk)
    wide, tall = Box(np.array([-1.2, -0.1]), np.array([1.2, 0.1])), Box(np.array([-0.1, -1.2]), np.array([0.1, 1.2]))
    assert fits([wide, tall], np.ones(2), disk)
    assert not fits([wide, tall], np.array([1.0, 6.0]), disk)
    assert not fits([Box(-np.ones(2), np.ones(2))], np.ones(1), disk)
    rows = [wide.half_spaces(), tall.half_spaces()]
    assert fits(rows, np.ones(2), disk)
    with pytest.raises(OptionError, match="no vertices"):
        fits([disk], np.ones(1), disk)


@pytest.mark.parametrize("weights", [np.array([1.0]), np.array([1.0, 0.0]), np.array([1.0, np.nan])])
def test_weights_that_are_none(weights: np.ndarray) -> None:
    zone = interval(-1.0, 1.0).half_spaces()
    with pytest.raises(OptionError, match="weights must be 2"):
        rows_fit([zone, zone], weights, zone)


def test_zones_of_other_normals_have_no_average_of_rows() -> None:
    with pytest.raises(OptionError, match="same normals"):
        average_of_rows(
            [interval(0.0, 1.0).half_spaces(), HalfSpaces(np.array([[2.0], [-1.0]]), np.ones(2))], np.ones(2)
        )


def test_the_outer_average_holds_the_average() -> None:
    rng = np.random.default_rng(3)
    zones = [bounded_rows(rng, 2, 0), bounded_rows(rng, 2, 0)]
    average = average_of_rows(zones, np.array([0.1, 0.7]))
    for mean in all_means([each.polytope() for each in zones], np.array([0.1, 0.7])):
        assert exact_room(average, np.array(mean, dtype=float)) > -1e-12
