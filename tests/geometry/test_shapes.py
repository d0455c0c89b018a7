"""Vertices, support, margins and arrays of shapes, against slow twins."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.geometry import Box, Ellipsoid, HalfSpaces, Polygon, Polytope, Shape, interval, shape_of
from tacit.vocabulary import OptionError, ZoneError
from tests.geometry.making import bounded_rows, slow_vertices


def shapes(rng: np.random.Generator, dimension: int) -> list[Shape]:
    rows = bounded_rows(rng, dimension, 4)
    made: list[Shape] = [rows, rows.polytope(), Box(-rng.uniform(0.5, 2, dimension), rng.uniform(0.5, 2, dimension))]
    return [
        *made,
        Ellipsoid(rng.normal(size=dimension), rng.normal(size=(dimension, dimension)) + 2 * np.eye(dimension)),
    ]


def surely_inside(shape: Shape, rng: np.random.Generator, count: int) -> np.ndarray:
    if isinstance(shape, Ellipsoid):
        ways = rng.normal(size=(count, shape.dimension))
        ways *= (rng.random(count) ** (1 / shape.dimension) / np.linalg.norm(ways, axis=1))[:, None]
        return np.asarray(shape.centre + np.linalg.solve(shape.factor, ways.T).T)
    corners = shape.vertices if isinstance(shape, Polytope) else shape.polytope().vertices  # type: ignore[attr-defined]
    return np.asarray(rng.dirichlet(np.ones(len(corners)), count) @ corners)


@pytest.mark.parametrize("dimension", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(4))
def test_vertices_and_back(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = bounded_rows(rng, dimension, 5, at=3.0)
    found, slow = rows.polytope().vertices, slow_vertices(rows)
    assert len(found) == len(np.unique(slow.round(9), axis=0))
    for corner in found:
        assert np.abs(slow - corner).max(axis=1).min() < 1e-9
    points = rng.normal(size=(500, dimension)) * 2 + found.mean(axis=0)
    clear = np.abs(rows.margins(points)) > 1e-9
    assert (rows.contains(points) == rows.polytope().contains(points))[clear].all()


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_support(dimension: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ways = rng.normal(size=(20, dimension))
    for shape in shapes(rng, dimension):
        found = shape.support(ways)
        reached = surely_inside(shape, rng, 2_000) @ ways.T
        assert (reached.max(axis=0) <= found + 1e-9 * (1 + np.abs(found))).all()
        if isinstance(shape, HalfSpaces):
            assert found == pytest.approx((slow_vertices(shape) @ ways.T).max(axis=0))
        if isinstance(shape, Ellipsoid):
            tips = np.linalg.solve(shape.factor.T @ shape.factor, ways.T).T
            tips *= ((found - ways @ shape.centre) / (tips * ways).sum(axis=1))[:, None]
            assert np.linalg.norm(tips @ shape.factor.T, axis=1) == pytest.approx(1.0)


def test_support_without_end_and_of_nothing() -> None:
    half = HalfSpaces(np.array([[1.0, 0.0]]), np.ones(1))
    assert half.support(np.array([[1.0, 0.0], [0.0, 1.0]])).tolist() == [pytest.approx(1.0), np.inf]
    nothing = HalfSpaces(np.array([[1.0], [-1.0]]), np.array([-1.0, -1.0]))
    assert nothing.support(np.array([[1.0]])).tolist() == [-np.inf]
    assert nothing.centre()[1] == pytest.approx(-1.0)
    with pytest.raises(ZoneError, match="no inner point"):
        nothing.polytope()
    with pytest.raises(ZoneError, match="unbounded"):
        half.polytope()
    assert not HalfSpaces(np.array([[1.0, 0], [-1, 0]]), np.ones(2)).is_bounded()


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_margins_of_rows_are_distances(dimension: int, seed: int) -> None:
    """No way out is shorter than the margin, and the way along some normal is no longer."""
    rng = np.random.default_rng(seed)
    for shape in shapes(rng, dimension)[:3]:
        rows = shape if isinstance(shape, HalfSpaces) else shape.half_spaces()  # type: ignore[attr-defined]
        ways = np.vstack([rng.normal(size=(200, dimension)), rows.normals])
        ways /= np.linalg.norm(ways, axis=1)[:, None]
        points = surely_inside(shape, rng, 8)
        margins = shape.margins(points)
        assert ((margins >= 0.0) | ~shape.contains(points)).all()
        for point, margin in zip(points, margins, strict=True):
            with np.errstate(divide="ignore"):
                reach = np.where(
                    ways @ rows.normals.T > 0, (rows.limits - rows.normals @ point) / (ways @ rows.normals.T), np.inf
                )
            assert reach.min() == pytest.approx(margin, abs=1e-12)
            assert margin <= reach.min()
        assert (shape.margins(points + 100.0) < 0.0).all()


@pytest.mark.parametrize("seed", range(6))
def test_margins_of_ellipsoids_are_distances(seed: int) -> None:
    """Against 100,000 points of the boundary."""
    rng = np.random.default_rng(seed)
    shape = Ellipsoid(rng.normal(size=2), rng.normal(size=(2, 2)) + 2 * np.eye(2))
    angles = np.linspace(0, 2 * np.pi, 100_000)
    boundary = shape.centre + np.linalg.solve(shape.factor, np.stack([np.cos(angles), np.sin(angles)])).T
    points = np.vstack([surely_inside(shape, rng, 10), shape.centre + rng.normal(size=(10, 2)) * 3])
    for point, margin, inside in zip(points, shape.margins(points), shape.contains(points), strict=True):
        nearest = float(np.linalg.norm(boundary - point, axis=1).min())
        assert abs(margin) == pytest.approx(nearest, abs=1e-6)
        assert abs(margin) <= nearest
        assert (margin >= 0.0) == inside


def test_margin_at_the_centre_of_an_ellipsoid() -> None:
    assert Ellipsoid(np.zeros(2), np.diag([1.0, 0.5])).margins(np.zeros((1, 2)))[0] == pytest.approx(1.0)


def test_an_inscribed_polytope_is_inside() -> None:
    rng = np.random.default_rng(1)
    ball = Ellipsoid(np.array([1.0, 2.0, 3.0]), rng.normal(size=(3, 3)))
    inside = ball.inscribed(rng.normal(size=(12, 3)))
    assert ball.contains(rng.dirichlet(np.ones(len(inside.vertices)), 1000) @ inside.vertices).all()


def test_twins_of_rows_are_dropped() -> None:
    rows = HalfSpaces(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]), np.array([1.0, 1.0, 1.0]))
    assert rows.without_twins().limits.tolist() == [1.0, 1.0]
    assert rows.without_twins().normals.tolist() == [[2.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_arrays_and_back(dimension: int) -> None:
    rng = np.random.default_rng(5)
    points = rng.normal(size=(200, dimension))
    for shape in shapes(rng, dimension):
        again = shape_of(shape.to_arrays())
        assert isinstance(again, type(shape))
        assert isinstance(again, Shape)
        assert again.contains(points).tolist() == shape.contains(points).tolist()
    assert isinstance(shape_of({"vertices": rng.normal(size=(5, 2))}), Polygon)
    with pytest.raises(OptionError, match="no shape is made of"):
        shape_of({"radius": np.ones(1)})


def test_polygons_go_around() -> None:
    square = interval(0.0, 1.0), Box(np.zeros(2), np.array([2.0, 3.0])).polytope()
    assert Polygon(square[1].vertices).area() == pytest.approx(6.0)
