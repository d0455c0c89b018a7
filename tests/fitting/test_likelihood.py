"""Probabilities of zones against slow twins: counting points, scipy's normal distribution, a plain double integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.stats import multivariate_normal, norm

from tacit.fitting import Likelihood, Mixture, probability
from tacit.fitting.likelihood import Plane, Rays, Sides
from tacit.fitting.spreading import rays
from tacit.geometry import Box, Ellipsoid, HalfSpaces, Polygon, interval
from tacit.vocabulary import OptionError
from tests.fitting.making import mixture, octagon
from tests.geometry.making import bounded_rows
from tests.tiers import parametrize_in_tiers

COUNT = 200_000


def counted(density: Mixture, shape: object, rng: np.random.Generator) -> float:
    """Brute force: the share of random points that are inside."""
    return float(shape.contains(density.draw(COUNT, rng)).mean())  # type: ignore[attr-defined]


def box_chance(density: Mixture, box: Box) -> float:
    return sum(
        float(weight * multivariate_normal(mean, part).cdf(box.high, lower_limit=box.low, rng=np.random.default_rng(0)))
        for weight, mean, part in zip(density.weights, density.means, density.covariances, strict=True)
    )


@pytest.mark.parametrize("seed", range(6))
def test_polygons_by_counting(seed: int) -> None:
    rng = np.random.default_rng(seed)
    density = mixture(rng, 2, 3)
    shape = Polygon(density.mean() + 1.5 * rng.normal(size=(6, 2)))
    assert probability(density, shape) == pytest.approx(counted(density, shape, rng), abs=5 * 0.5 / np.sqrt(COUNT))


@pytest.mark.parametrize("seed", range(4))
def test_boxes_by_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    density = mixture(rng, 2, 2)
    low = density.mean() - rng.uniform(0.1, 2.0, 2)
    box = Box(low, low + rng.uniform(0.5, 3.0, 2))
    assert probability(density, box) == pytest.approx(box_chance(density, box), abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_polygons_by_a_plain_double_integral(seed: int) -> None:
    """The integral as it is written: the density over the triangle."""
    rng = np.random.default_rng(seed)
    density = mixture(rng, 2, 1)
    (ax, ay), (bx, by), (cx, cy) = density.mean() + 1.5 * rng.normal(size=(3, 2))
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)

    def at(t: float, s: float) -> float:
        x = np.array([[ax + s * (bx - ax) + t * (cx - ax), ay + s * (by - ay) + t * (cy - ay)]])
        return float(np.exp(density.log_density(x))[0] * abs(area))

    slow = dblquad(at, 0, 1, 0, lambda s: 1 - s, epsabs=1e-7)[0]
    assert probability(density, Polygon(np.array([[ax, ay], [bx, by], [cx, cy]]))) == pytest.approx(slow, abs=1e-6)


def test_polygons_without_end_and_without_inside() -> None:
    one = Mixture.normal(np.array([0.3, -0.2]), np.array([[1.0, 0.4], [0.4, 2.0]]))
    half = HalfSpaces(np.array([[1.0, 2.0]]), np.array([0.7]))
    spread = np.sqrt(np.array([1.0, 2.0]) @ one.covariances[0] @ np.array([1.0, 2.0]))
    assert probability(one, half) == pytest.approx(norm.cdf((0.7 + 0.1) / spread), abs=1e-12)
    strip = HalfSpaces(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, 0.5]))
    assert probability(one, strip) == pytest.approx(norm.cdf(0.7) - norm.cdf(-0.8), abs=1e-12)
    wedge = HalfSpaces(np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0.3, -0.2]))  # its corner is the mean
    assert probability(one, wedge) == pytest.approx(float(multivariate_normal(*_part(one)).cdf([0.3, -0.2])), abs=1e-8)
    assert probability(one, HalfSpaces(np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([-1.0, -1.0]))) == 0.0
    apart = HalfSpaces(np.array([[1.0, 0], [-0.5, 1], [-0.5, -1]]), np.array([-2.0, 0.5, 0.5]))
    assert probability(one, apart) == 0.0
    assert probability(one, octagon(60.0)) == pytest.approx(1.0, abs=1e-12)
    twins = HalfSpaces(np.array([[1.0, 2.0], [2.0, 4.0], [1.0, 2.0]]), np.array([0.7, 1.4, 0.9]))
    assert probability(one, twins) == pytest.approx(probability(one, half), abs=1e-12)


def _part(one: Mixture) -> tuple[np.ndarray, np.ndarray]:
    return one.means[0], one.covariances[0]


def test_a_mean_on_an_edge_and_on_a_corner() -> None:
    one = Mixture.normal(np.zeros(2), np.eye(2))
    assert probability(one, HalfSpaces(np.array([[1.0, 0.0]]), np.zeros(1))) == pytest.approx(0.5, abs=1e-8)
    square = Box(np.zeros(2), np.ones(2))
    assert probability(one, square) == pytest.approx((norm.cdf(1) - 0.5) ** 2, abs=1e-8)
    hair = [probability(one, Box(np.full(2, e), np.ones(2))) for e in (-1e-9, 1e-9, 1e-12, 3e-16)]
    assert hair == pytest.approx([probability(one, square)] * 4, abs=2e-8)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_the_ways_agree_in_the_plane(seed: int) -> None:
    rng = np.random.default_rng(seed)
    densities = [mixture(rng, 2, int(rng.integers(1, 4))) for _ in range(3)]
    normals = octagon(1.0).normals
    limits = np.array([normals @ each.mean() for each in densities]) + rng.uniform(-0.2, 2.5, (3, 8))
    found = Rays(densities, normals, rays(2, 4000, 0))(limits)[0]
    assert found == pytest.approx(Plane(densities, normals)(limits)[0], abs=2e-4)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_slopes_are_slopes(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    densities = [mixture(rng, dimension, 2) for _ in range(2)]
    rows = bounded_rows(rng, dimension, 3)
    limits = np.array([rows.normals @ each.mean() for each in densities]) + rng.uniform(0.3, 2.0, (2, len(rows.limits)))
    for shared in _ways(densities, rows.normals):
        _, slopes = shared(limits)
        for j in range(len(rows.limits)):
            step = np.zeros(limits.shape)
            step[:, j] = 1e-6
            assert slopes[:, j] == pytest.approx((shared(limits + step)[0] - shared(limits - step)[0]) / 2e-6, abs=2e-5)


def _ways(densities: list[Mixture], normals: np.ndarray) -> list[Likelihood]:
    dimension = normals.shape[1]
    found: list[Likelihood] = [Rays(densities, normals, rays(dimension, 512, 1))]
    return [*found, Plane(densities, normals)] if dimension == 2 else found


@pytest.mark.parametrize("dimension", [1, 3, 5])
def test_boxes_with_diagonal_parts(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    diagonal = np.array([np.diag(rng.uniform(0.2, 2.0, dimension)) for _ in range(2)])
    density = Mixture(np.array([0.3, 0.7]), rng.normal(size=(2, dimension)), diagonal)
    low = density.mean() - rng.uniform(0.5, 2.0, dimension)
    box = Box(low, low + rng.uniform(1.5, 3.0, dimension))
    shared = Likelihood.of([density], box.half_spaces().normals)
    assert isinstance(shared, Sides)
    sides = norm.cdf((box.high - density.means) / np.sqrt(np.einsum("kii->ki", diagonal)))
    sides -= norm.cdf((box.low - density.means) / np.sqrt(np.einsum("kii->ki", diagonal)))
    assert probability(density, box) == pytest.approx(float(density.weights @ sides.prod(axis=1)), abs=1e-14)
    limits = box.half_spaces().limits[None]
    for j in range(2 * dimension):
        step = np.zeros(limits.shape)
        step[0, j] = 1e-6
        numeric = (shared(limits + step)[0] - shared(limits - step)[0]) / 2e-6
        assert shared(limits)[1][:, j] == pytest.approx(numeric, abs=1e-7)


@pytest.mark.parametrize("dimension", [3, 4])
@parametrize_in_tiers("seed", range(3), in_test=1)
def test_rays_above_the_plane(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    density = mixture(rng, dimension, 2)
    rows = bounded_rows(rng, dimension, 6)
    shape = HalfSpaces(rows.normals, rows.normals @ density.mean() + 2 * rng.uniform(0.5, 2.0, len(rows.limits)))
    assert probability(density, shape) == pytest.approx(counted(density, shape, rng), abs=0.01)
    box = Box(density.mean() - 1.5, density.mean() + 1.5)
    assert probability(density, box, directions=16_384) == pytest.approx(box_chance(density, box), abs=0.006)
    ball = Ellipsoid(density.mean(), rng.normal(size=(dimension, dimension)) / 2)
    assert probability(density, ball) == pytest.approx(counted(density, ball, rng), abs=0.01)


def test_many_sites_are_taken_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    densities = [mixture(rng, 3, 2) for _ in range(7)]
    rows = bounded_rows(rng, 3, 2)
    limits = np.array([rows.normals @ each.mean() for each in densities]) + rng.uniform(
        -0.1, 2.0, (7, len(rows.limits))
    )
    whole = Rays(densities, rows.normals, rays(3, 64, 0))(limits)
    monkeypatch.setattr("tacit.fitting.likelihood.ENTRIES_MAX", 3 * 2 * 64 * len(rows.limits))
    cut = Rays(densities, rows.normals, rays(3, 64, 0))
    assert cut.at_once == 3
    for one, other in zip(whole, cut(limits), strict=True):
        assert one.tolist() == other.tolist()


def test_intervals_are_exact() -> None:
    one = Mixture(np.array([0.25, 0.75]), np.array([[0.0], [3.0]]), np.array([[[1.0]], [[4.0]]]))
    exact = 0.25 * (norm.cdf(2) - norm.cdf(-1)) + 0.75 * (norm.cdf(-0.5) - norm.cdf(-2))
    assert probability(one, interval(-1.0, 2.0)) == pytest.approx(exact, abs=1e-14)
    found, _ = Rays([one], np.array([[1.0], [-1.0]]), rays(1, 9, 0))(np.array([[2.0, 1.0]]))
    assert found[0] == pytest.approx(exact, abs=1e-14)


def test_other_dimensions_are_refused() -> None:
    one = Mixture.normal(np.zeros(2), np.eye(2))
    with pytest.raises(OptionError, match="the shape has 1 dimensions"):
        probability(one, interval(0.0, 1.0))
    with pytest.raises(OptionError, match="all mixtures must have 1"):
        Likelihood.of([one], np.array([[1.0]]))
