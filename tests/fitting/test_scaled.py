"""Zones of the region's own shape: ellipsoids in different sizes, and the common shape with its best moves."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.fitting import Mixture, fit_common, fit_dual, fit_scaled
from tacit.fitting.scaled import ball_chance, scaled_fit_is_safe
from tacit.fitting.spreading import rays
from tacit.geometry import Ellipsoid, rows_fit
from tacit.vocabulary import OptionError, ZoneError
from tests.fitting.making import mixture, problem


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_the_mass_of_a_ball_and_its_slopes(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    density = mixture(rng, dimension, 2)
    middle, size, fan = density.mean() + 0.3 * rng.normal(size=dimension), 1.2, rays(dimension, 512, 0)
    chance, slopes = ball_chance(density, middle, size, fan)
    drawn = density.draw(100_000, rng)
    assert chance == pytest.approx((np.linalg.norm(drawn - middle, axis=1) <= size).mean(), abs=0.02)
    for j in range(dimension + 1):
        step = np.zeros(dimension + 1)
        step[j] = 1e-6
        up, down = (ball_chance(density, middle + s[:-1], size + s[-1], fan)[0] for s in (step, -step))
        assert slopes[j] == pytest.approx((up - down) / 2e-6, abs=1e-4)


@settings(max_examples=15)
@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.integers(1, 4), st.booleans())
def test_the_mean_is_always_in_the_region(seed: int, dimension: int, sites: int, anchored: bool) -> None:
    rng = np.random.default_rng(seed)
    turned, _ = np.linalg.qr(rng.normal(size=(dimension, dimension)))
    region = Ellipsoid(rng.normal(size=dimension) * rng.choice([0.0, 100.0]), turned * rng.uniform(0.3, 3.0, dimension))
    weights = rng.uniform(0.2, 3.0, sites)
    densities = [mixture(rng, dimension, 2).moved(region.centre) for _ in range(sites)]
    anchors = np.tile(region.centre, (sites, 1)) + 1e-3 * rng.normal(size=(sites, dimension)) if anchored else None
    fit = fit_scaled(region, densities, weights, anchors=anchors, directions=128, steps_max=20)
    assert scaled_fit_is_safe(fit.zones, weights, region)
    if anchors is not None:
        assert all(zone.contains(anchor[None])[0] for zone, anchor in zip(fit.zones, anchors, strict=True))
    ways = rng.normal(size=(20, dimension))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    tips = np.array([zone.centre + np.linalg.solve(zone.factor, ways.T).T * (1 - 1e-12) for zone in fit.zones])
    held = np.array([zone.contains(each) for zone, each in zip(fit.zones, tips, strict=True)])
    tips = np.where(held[..., None], tips, np.array([zone.centre for zone in fit.zones])[:, None, :])
    exact = [Fraction(each) for each in weights.tolist()]
    factor = [[Fraction(a) for a in row] for row in region.factor.tolist()]
    for k in range(20):
        offset = [
            sum(w * Fraction(tips[i, k, j]) for i, w in enumerate(exact)) / sum(exact) - Fraction(region.centre[j])
            for j in range(dimension)
        ]
        image = [sum(a * b for a, b in zip(row, offset, strict=True)) for row in factor]
        assert sum(each * each for each in image) <= 1


def test_sizes_follow_the_sites_and_are_better_than_one() -> None:
    region = Ellipsoid(np.zeros(2), np.eye(2) / 2)
    sites = [Mixture.normal(np.zeros(2), 0.04 * np.eye(2)), Mixture.normal(np.zeros(2), np.eye(2))]
    fit = fit_scaled(region, sites)
    small, large = (1 / zone.factor[0, 0] for zone in fit.zones)
    assert small + large == pytest.approx(4.0, abs=1e-6)
    assert large > 2 * small
    assert fit.chances[1] > 1 - np.exp(-2.0) + 0.05  # of the ball of radius 2


def test_unsafe_sizes_are_not_called_safe() -> None:
    region = Ellipsoid(np.zeros(2), np.eye(2))
    whole = Ellipsoid(np.zeros(2), np.eye(2))
    assert not scaled_fit_is_safe([whole, Ellipsoid(np.array([1e-6, 0.0]), np.eye(2))], np.ones(2), region)
    assert not scaled_fit_is_safe([Ellipsoid(np.zeros(2), np.diag([1.0, 0.9]))], np.ones(1), region)
    assert not scaled_fit_is_safe([Ellipsoid(np.zeros(2), np.diag([1.0, -1.0]))], np.ones(1), region)
    assert scaled_fit_is_safe([Ellipsoid(np.zeros(2), 2 * np.eye(2))] * 2, np.ones(2), region)


@pytest.mark.parametrize(
    ("anchors", "error", "words"),
    [
        (np.full((2, 2), 3.0), ZoneError, "not inside.*use the ball"),
        (np.full((3, 2), 0.0), OptionError, "2 points of 2"),
        (np.full((2, 2), np.nan), OptionError, "finite"),
    ],
)
def test_anchors_that_cannot_be(anchors: np.ndarray, error: type[Exception], words: str) -> None:
    sites = [Mixture.normal(np.zeros(2), np.eye(2))] * 2
    with pytest.raises(error, match=words):
        fit_scaled(Ellipsoid(np.zeros(2), np.eye(2)), sites, anchors=anchors)


@pytest.mark.parametrize("seed", range(3))
def test_the_common_shape_is_moved_best_and_never_beats_fitted_zones(seed: int) -> None:
    task = problem(seed, 6, parts=3, anchored=False)
    plain, best = fit_common(task, best_moves=False), fit_common(task)
    assert task.weights is not None
    assert rows_fit(best.zones, task.weights, task.region)
    assert plain.objective - 1e-9 <= best.objective <= fit_dual(task).objective + 1e-6
    moves = np.linalg.lstsq(task.region.normals, (best.limits - task.region.limits).T, rcond=None)[0].T
    assert best.limits == pytest.approx(task.region.limits + moves @ task.region.normals.T, abs=1e-9)
    assert task.shares @ moves == pytest.approx(0.0, abs=1e-9)
