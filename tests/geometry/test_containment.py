"""A point called inside is inside, in exact arithmetic; a point that is clearly inside is called so."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.geometry import Box, Ellipsoid, HalfSpaces, Polygon, Polytope, interval
from tacit.vocabulary import OptionError, ZoneError
from tests.geometry.making import SCALES, bounded_rows, exact_room, in_polygon, points_near

SEEDS = st.integers(0, 2**32 - 1)


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4), st.sampled_from(SCALES), st.sampled_from((0.0, 1.0, 1e5)))
def test_half_spaces_are_sound(seed: int, dimension: int, size: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    shape = bounded_rows(rng, dimension, 4, at=at, size=size)
    near = points_near(rng, shape, 60)
    said = shape.contains(near)
    for point, inside in zip(near, said, strict=True):
        if inside:
            assert exact_room(shape, point) >= 0
    assert not shape.contains(np.full((1, dimension), np.nan))[0]
    assert not shape.contains(np.full((1, dimension), np.inf))[0]


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4), st.sampled_from(SCALES), st.sampled_from((0.0, 1.0, 1e5)))
def test_half_spaces_give_nothing_away(seed: int, dimension: int, size: float, at: float) -> None:
    """Called outside though inside: only within the bound that the docstring states."""
    rng = np.random.default_rng(seed)
    shape = bounded_rows(rng, dimension, 4, at=at, size=size)
    near = points_near(rng, shape, 60)
    for point in near[~shape.contains(near)]:
        bound = (
            2 * (dimension + 8) * 2.0**-52 * float((np.abs(shape.normals) @ np.abs(point) + np.abs(shape.limits)).max())
        )
        assert exact_room(shape, point) <= Fraction(bound) + Fraction(2) ** -990


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4), st.sampled_from(SCALES), st.sampled_from((0.0, 1.0, 1e5)))
def test_rows_for_kernels_are_sound(seed: int, dimension: int, size: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    shape = bounded_rows(rng, dimension, 4, at=at, size=size)
    near = points_near(rng, shape, 60)
    reach = float(np.abs(near).max()) * 2
    normals, limits = shape.kernel_rows(reach)
    passed = (near @ normals.T <= limits).all(axis=1)
    for point in near[passed]:
        assert exact_room(shape, point) >= 0
    middle = shape.polytope().vertices.mean(axis=0)
    assert (normals @ middle <= limits).all()
    far = middle + np.eye(dimension)[0] * 4 * reach
    assert not (normals @ far <= limits).all()
    assert not (normals @ np.full(dimension, np.nan) <= limits).all()


@settings(max_examples=60)
@given(SEEDS, st.sampled_from(SCALES), st.sampled_from((0.0, 1.0, 1e5)))
def test_polygons_are_sound(seed: int, size: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    shape = Polygon(rng.normal(size=(8, 2)) * size + rng.normal(size=2) * at)
    near = points_near(rng, shape.half_spaces(), 60)
    said = shape.contains(near)
    for point, inside in zip(near, said, strict=True):
        if inside:
            assert in_polygon(shape.vertices, point)
    shrunk = 0.999 - 4e-13 * at / size  # what rounding can hide of a small shape far from the origin
    clearly = shape.vertices.mean(axis=0) + shrunk * (near - shape.vertices.mean(axis=0))
    assert shape.contains(clearly).all()


@pytest.mark.parametrize("seed", range(5))
def test_inner_and_outer_half_spaces_of_a_hull(seed: int) -> None:
    """In space: inner rows lie within, outer rows hold the vertices; exactly."""
    rng = np.random.default_rng(seed)
    shape = Polytope(rng.normal(size=(10, 3)) + 100)
    inner, outer = shape.half_spaces("inner"), shape.half_spaces("outer")
    for corner in shape.vertices:
        assert exact_room(outer, corner) >= 0
    for corner in inner.polytope().vertices:
        assert exact_room(outer, corner) >= -Fraction(1e-9)
        assert np.abs(shape.vertices - corner).sum(axis=1).min() < 1e-9


@settings(max_examples=60)
@given(SEEDS, st.integers(1, 4), st.sampled_from(SCALES), st.sampled_from((0.0, 1.0, 1e5)))
def test_ellipsoids_are_sound(seed: int, dimension: int, size: float, at: float) -> None:
    rng = np.random.default_rng(seed)
    factor = (rng.normal(size=(dimension, dimension)) + 2 * np.eye(dimension)) / size
    shape = Ellipsoid(rng.normal(size=dimension) * at, factor)
    ways = rng.normal(size=(60, dimension))
    ways /= np.linalg.norm(ways, axis=1)[:, None]
    edge = shape.centre + np.linalg.solve(factor, ways.T).T
    edge = edge + rng.integers(-4, 5, edge.shape) * np.spacing(edge)
    exact = [[Fraction(each) for each in row] for row in factor.tolist()]
    for point in edge[shape.contains(edge)]:
        offset = [Fraction(a) - Fraction(b) for a, b in zip(point.tolist(), shape.centre.tolist(), strict=True)]
        image = [sum(a * b for a, b in zip(row, offset, strict=True)) for row in exact]
        assert sum(each * each for each in image) <= 1
    assert shape.contains(shape.centre + (edge - shape.centre) * 0.999).all()
    assert not shape.contains(shape.centre + (edge - shape.centre) * 1.001).any()


def test_boxes_are_exact() -> None:
    box = Box(np.array([0.1, -1.0]), np.array([0.3, 1.0]))
    corners = np.array([[0.1, -1.0], [0.3, 1.0], [np.nextafter(0.3, 1), 0.0], [np.nan, 0.0]])
    assert box.contains(corners).tolist() == [True, True, False, False]
    assert interval(1.0, 2.0).contains(np.array([[1.0], [2.5]])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: HalfSpaces(np.array([[0.0, 0.0]]), np.ones(1)), OptionError, "one of the normals is 0"),
        (lambda: HalfSpaces(np.eye(2), np.array([1.0, np.nan])), OptionError, "finite"),
        (lambda: HalfSpaces(np.eye(2), np.ones(3)), OptionError, "must be 2 numbers"),
        (lambda: HalfSpaces(np.eye(2), np.ones(2)).contains(np.ones(2)), OptionError, "2 columns"),
        (lambda: HalfSpaces(np.eye(2), np.ones(2)).kernel_rows(0.0), OptionError, "reach"),
        (lambda: interval(2.0, 1.0), ZoneError, "empty"),
        (lambda: Polytope(np.ones((5, 2))), ZoneError, "no inside"),
        (lambda: Polytope(np.ones((2, 2))), ZoneError, "no inside"),
        (lambda: Polytope(np.ones((2, 1))), ZoneError, "one point"),
        (lambda: Polygon(np.random.default_rng(0).normal(size=(5, 3))), OptionError, "plane"),
        (lambda: Ellipsoid(np.zeros(2), np.zeros((2, 2))), ZoneError, "axis"),
        (lambda: Ellipsoid(np.zeros(2), np.eye(3)), OptionError, "square"),
        (lambda: Ellipsoid.of_quadratic(np.eye(2), np.zeros(2), -1.0), ZoneError, "empty"),
        (lambda: Ellipsoid.of_quadratic(np.diag([1.0, -1.0]), np.zeros(2), 1.0), ZoneError, "positive definite"),
    ],
)  # fmt: skip
def test_what_is_no_shape(make: object, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        make()  # type: ignore[operator]
