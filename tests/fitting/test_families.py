"""Families of shapes, vertices, clusters, correlated sites, and how many faces are enough."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.fitting import (
    Mixture,
    ZoneProblem,
    fit_clustered,
    fit_dual,
    fit_general,
    fit_joint,
    fit_vertices,
    joint_chance,
    moment_vectors,
    probability,
    region_rows,
    saturated,
)
from tacit.fitting.spreading import directions_of, rays
from tacit.fitting.vertices import hull_chance
from tacit.geometry import Box, Ellipsoid, HalfSpaces, Polytope, fits, interval, rows_fit, vertices_fit
from tests.fitting.making import mixture, octagon, problem


@pytest.mark.parametrize(
    ("region", "family", "faces", "rows"),
    [
        (interval(-1.0, 2.0), "interval", None, 2),
        (Ellipsoid(np.zeros(1), np.eye(1)), "interval", None, 2),
        (Ellipsoid(np.zeros(2), np.eye(2)), "triangle", None, 3),
        (Ellipsoid(np.zeros(2), np.diag([1.0, 0.2])), "box", None, 4),
        (Ellipsoid(np.zeros(2), np.diag([1.0, 0.2])), "octagon", None, 8),
        (Ellipsoid(np.zeros(3), np.diag([1.0, 0.2, 3.0])), "polytope", 20, 20),
        (Ellipsoid(np.zeros(4), np.eye(4)), "box", None, 8),
        (octagon(1.0), "box", None, 4),
        (octagon(1.0), "triangle", None, 3),
        (octagon(1.0), "octagon", None, 8),
        (octagon(1.0), "polytope", 5, 5),
        (octagon(1.0), "polytope", 12, 8),
        (Box(-np.ones(3), np.ones(3)), "box", None, 6),
        (Polytope(np.array([[-1.0, -1.0], [3.0, -1.0], [-1.0, 3.0]])), "octagon", None, 3),
    ],
)  # fmt: skip
def test_members_lie_inside_and_hold_the_estimate(region: object, family: str, faces: int | None, rows: int) -> None:
    d = region.dimension  # type: ignore[attr-defined]
    at, spread = np.full(d, 0.1), np.linspace(1.0, 2.0, d)
    found = region_rows(region, family, around=at, spread=spread, faces=faces)  # type: ignore[arg-type]
    assert len(found.limits) == rows
    assert found.contains(at[None])[0]
    if isinstance(region, (HalfSpaces, Box, Polytope)) and not isinstance(region, HalfSpaces):
        region = region.half_spaces()
    same = isinstance(region, HalfSpaces) and found.limits.shape == region.limits.shape
    assert same or fits([found], np.ones(1), region)  # type: ignore[list-item, arg-type]
    assert found.margins(at[None])[0] > 0.1


def test_directions_are_spread() -> None:
    for dimension, count in ((2, 5), (3, 12), (3, 20), (4, 8), (4, 17), (1, 2)):
        found = directions_of(dimension, count)
        assert len(found) == count
        assert np.linalg.norm(found, axis=1) == pytest.approx(1.0)
        assert HalfSpaces(found, np.ones(count)).is_bounded()
    assert rays(3, 512, 1).mean(axis=0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_slope_of_a_hull(dimension: int) -> None:
    rng = np.random.default_rng(3)
    density = mixture(rng, dimension, 2)
    shape = Polytope(density.mean() + 1.5 * rng.normal(size=(8, dimension)))
    fan = rays(dimension, 256, 0)
    chance, slopes = hull_chance(density, shape, fan)
    assert chance == pytest.approx(probability(density, shape), abs=0.02)
    for k in range(len(shape.vertices)):
        for j in range(dimension):
            step = np.zeros(shape.vertices.shape)
            step[k, j] = 1e-6
            up, down = (hull_chance(density, Polytope(shape.vertices + s), fan)[0] for s in (step, -step))
            assert slopes[k, j] == pytest.approx((up - down) / 2e-6, abs=1e-4)


def test_free_vertices_come_near_the_best_and_never_past_it() -> None:
    """The region's own normals are the best of all shapes; triangles are worse, eight vertices nearly as good."""
    task = problem(3, 3, size=1.2)
    best = fit_dual(task)
    three, eight = (fit_vertices(task, k, directions=256, steps_max=60) for k in (3, 8))
    for fit in (three, eight):
        assert task.weights is not None
        assert vertices_fit(fit.polytopes, task.weights, task.region)
        assert fit.objective <= best.objective + 2e-3
        for mixture_, hull, chance in zip(task.mixtures, fit.polytopes, fit.chances, strict=True):
            assert probability(mixture_, hull) == pytest.approx(chance, abs=1e-3)
    assert three.objective < eight.objective
    assert eight.objective > best.objective - 0.05


def test_twelve_vertices_in_space() -> None:
    rng = np.random.default_rng(4)
    sites = [mixture(rng, 3, 1) for _ in range(2)]
    centre = np.mean([each.mean() for each in sites], axis=0)
    ball = Ellipsoid(centre, np.eye(3) / 2)
    region = region_rows(ball, "polytope", faces=20, around=centre, spread=np.ones(3))
    task = ZoneProblem(region, sites, anchors=np.array([each.mean() for each in sites]))
    fit = fit_vertices(task, 12, directions=128, steps_max=15)
    assert all(len(each.vertices) <= 12 for each in fit.polytopes)
    assert fits(fit.polytopes, np.ones(2), ball)


def test_saturation_stops_where_little_is_gained() -> None:
    rng = np.random.default_rng(1)
    sites = [mixture(rng, 2, 1) for _ in range(3)]
    centre = np.mean([each.mean() for each in sites], axis=0)
    disk = Ellipsoid(centre, np.eye(2) / 1.5)
    tried: list[int] = []

    def fit(faces: int) -> object:
        tried.append(faces)
        region = region_rows(disk, "polytope", faces=faces, around=centre, spread=np.ones(2))
        return fit_dual(ZoneProblem(region, sites))

    count, found = saturated(fit, range(4, 64, 4))  # type: ignore[type-var]
    assert tried[-1] == count + 4
    assert tried[-1] < 60
    again = fit(tried[-1])
    assert again.objective - found.objective < np.log1p(1e-3)  # type: ignore[attr-defined]


def test_moments_do_not_know_where_a_site_is() -> None:
    rng = np.random.default_rng(5)
    one = mixture(rng, 2, 3)
    assert moment_vectors([one.moved(np.array([5.0, -3.0]))]) == pytest.approx(moment_vectors([one]))
    points = one.draw(400_000, rng)
    third = ((points - points.mean(axis=0)) ** 3).mean(axis=0)
    assert moment_vectors([one])[0, 3:] == pytest.approx(0.5 * np.cbrt(third), abs=0.05)


@pytest.mark.parametrize("anchored", [True, False])
def test_clusters_are_nearly_as_good_as_one_problem(anchored: bool) -> None:
    task = problem(6, 24, parts=2, anchored=anchored)
    flat, tree = fit_general(task), fit_clustered(task, fan=5)
    assert task.weights is not None
    assert rows_fit(tree.zones, task.weights, task.region)
    assert tree.objective > flat.objective * 1.25  # both are below 0


def test_uniform_clusters_share_one_shape() -> None:
    rng = np.random.default_rng(7)
    kinds = [mixture(rng, 2, 1) for _ in range(2)]
    sites = [kinds[k % 2].moved(rng.normal(size=2)) for k in range(40)]
    centre = np.mean([each.mean() for each in sites], axis=0)
    fit = fit_clustered(ZoneProblem(octagon(1.5, centre), sites), fan=4)
    flat = fit_dual(ZoneProblem(octagon(1.5, centre), sites))
    assert fit.objective > flat.objective * 1.02
    sizes = fit.limits - np.array([each.mean() for each in sites]) @ octagon(1.0).normals.T
    assert sizes[::2] == pytest.approx(np.tile(sizes[0], (20, 1)), abs=1e-9)


def test_identical_sites_by_hundreds() -> None:
    sites = [Mixture.normal(np.zeros(2), np.eye(2))] * 100
    fit = fit_clustered(ZoneProblem(octagon(2.0), sites, anchors=np.zeros((100, 2))))
    assert fit.limits == pytest.approx(2.0, abs=1e-9)


def test_correlated_sites_are_silent_together_more_often() -> None:
    """One storm moves all sites at once: room is better spent on calm days than on the storm."""
    rng = np.random.default_rng(8)
    storm = rng.random(3000) < 0.15
    common = np.where(storm, 6.0, 0.0)[:, None, None] * np.ones((1, 4, 1))
    samples = rng.normal(size=(3000, 4, 1)) * np.array([0.5, 1.0, 1.5, 2.0])[None, :, None] + common
    sites = [
        Mixture(np.array([0.85, 0.15]), np.array([[0.0], [6.0]]), np.full((2, 1, 1), spread**2))
        for spread in (0.5, 1.0, 1.5, 2.0)
    ]
    task = ZoneProblem(interval(-2.5, 5.0).half_spaces(), sites, anchors=np.zeros((4, 1)))
    alone, together = fit_dual(task), fit_joint(task, samples)
    assert task.weights is not None
    assert rows_fit(together.zones, task.weights, task.region)
    assert joint_chance(together, samples) > joint_chance(alone, samples)
    later = rng.normal(size=(3000, 4, 1)) * np.array([0.5, 1.0, 1.5, 2.0])[None, :, None]
    later += np.where(rng.random(3000) < 0.15, 6.0, 0.0)[:, None, None]
    assert joint_chance(together, later) > joint_chance(alone, later)
