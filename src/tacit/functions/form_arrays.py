"""Affine and quadratic forms as the runs of numbers that _kernels_forms.py reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction as Number

import numpy as np

from tacit.functions import _kernels_forms as layout
from tacit.functions.polynomials import Polynomial
from tacit.functions.shapes import Feasible, Question, Recipe
from tacit.functions.statistics import Moment
from tacit.vocabulary.arrays import FloatArray

__all__ = ["Coefficients", "Dish", "Space", "form_size", "pack_forms", "tracked_fraction"]


@dataclass(frozen=True)
class Space:
    """The coordinates and what is known of a feasible vector in them."""

    dimension: int
    scale: FloatArray
    nonnegative: FloatArray
    plane: FloatArray
    moments: tuple[Moment, ...]

    @classmethod
    def of(
        cls,
        dimension: int,
        scale: FloatArray,
        nonnegative: FloatArray,
        simplex: Sequence[int] | None,
        moments: Sequence[Moment],
    ) -> Space:
        """``simplex`` names components that sum to 1: they lie in a plane."""
        plane = np.zeros(dimension + 2)
        if simplex:
            plane[list(simplex)] = scale[list(simplex)]
            length = float(np.linalg.norm(plane[:dimension]))
            plane[:dimension] /= length
            plane[dimension], plane[dimension + 1] = 1.0 / length, 1.0
        return cls(dimension, scale, nonnegative, plane, tuple(moments))

    def feasible(self) -> Feasible:
        return Feasible(tuple(bool(known) for known in self.nonnegative))


def form_size(dimension: int) -> int:
    """How many numbers a form takes."""
    return layout.HEADER + 2 * dimension + 2 * dimension * dimension


def pack_forms(
    space: Space,
    quadratic: FloatArray,
    linear: FloatArray,
    constant: FloatArray,
    sizes: tuple[FloatArray, FloatArray, FloatArray],
    grid: FloatArray,
) -> FloatArray:
    """Forms c0 + b.z + z'Az, one per row of (k, d, d), (k, d), (k,): headers, eigenvalues along the plane.

    ``sizes`` bound the magnitudes that went into A, b and c0 before anything cancelled.
    """
    k, d = linear.shape
    broken = ~(np.isfinite(quadratic).all(axis=(1, 2)) & np.isfinite(linear).all(axis=1) & np.isfinite(constant))
    if broken.any():  # an overflow: a form that is nan everywhere proves nothing
        quadratic, linear = np.where(broken[:, None, None], 0.0, quadratic), np.where(broken[:, None], 0.0, linear)
        constant = np.where(broken, np.nan, constant)
    normal = space.plane[:d]
    project = np.eye(d) - np.outer(normal, normal)
    forms = np.zeros((k, form_size(d)))
    curved = np.any(quadratic != 0.0, axis=(1, 2))
    flat = ~np.any(linear != 0.0, axis=1)
    forms[:, layout.AT_ZERO] = constant
    forms[:, layout.SIZE_QUADRATIC], forms[:, layout.SIZE_LINEAR], forms[:, layout.SIZE_CONSTANT] = sizes
    forms[:, layout.KIND] = np.where(
        curved, layout.QUADRATIC_FORM, np.where(flat, layout.CONSTANT_FORM, layout.AFFINE_FORM)
    )
    forms[:, layout.GRID] = np.where(curved, 0.0, grid)
    forms[:, layout.NORM] = np.linalg.norm(linear @ project, axis=1) * (1.0 + 1e-14)
    start = layout.HEADER + d
    forms[:, layout.HEADER : start] = linear
    if curved.any():
        values, vectors = np.linalg.eigh(project @ quadratic[curved] @ project)
        rows = np.flatnonzero(curved)
        forms[rows, layout.EIGEN_LEAST], forms[rows, layout.EIGEN_MOST] = values[:, 0], values[:, -1]
        forms[rows, start : start + d * d] = quadratic[curved].reshape(len(rows), d * d)
        forms[rows, start + d * d : start + d * d + d] = values
        forms[rows, start + d * d + d :] = np.swapaxes(vectors, 1, 2).reshape(len(rows), d * d)
    return forms


@dataclass(frozen=True)
class Coefficients:
    """A polynomial of degree at most 2 in scaled coordinates, exactly."""

    quadratic: dict[tuple[int, int], Number]
    linear: dict[int, Number]
    constant: Number

    @classmethod
    def of(cls, polynomial: Polynomial, scale: FloatArray) -> Coefficients:
        quadratic: dict[tuple[int, int], Number] = {}
        linear: dict[int, Number] = {}
        constant = Number(0)
        for monomial, number in polynomial.items():
            indices = [variable for variable, power in monomial for _ in range(power)]
            for variable in indices:
                number = number * Number(float(scale[variable]))
            if not indices:
                constant = number
            elif len(indices) == 1:
                linear[indices[0]] = number
            else:
                quadratic[(indices[0], indices[1])] = number
        return cls(quadratic, linear, constant)

    def arrays(self, dimension: int) -> tuple[FloatArray, FloatArray, float]:
        quadratic, linear = np.zeros((dimension, dimension)), np.zeros(dimension)
        for (i, j), number in self.quadratic.items():
            quadratic[i, j] += float(number) / 2.0
            quadratic[j, i] += float(number) / 2.0
        for j, number in self.linear.items():
            linear[j] = float(number)
        return quadratic, linear, float(self.constant)

    def whole(self) -> Coefficients | None:
        """Times a positive number, so that every coefficient is a small integer; None when there is none."""
        numbers = [*self.quadratic.values(), *self.linear.values(), self.constant]
        by = math.lcm(*(number.denominator for number in numbers))
        if max(abs(number * by) for number in numbers) >= 2**31:
            return None
        return Coefficients(
            {key: number * by for key, number in self.quadratic.items()},
            {key: number * by for key, number in self.linear.items()},
            self.constant * by,
        )


@dataclass
class Dish:
    """A recipe in its place: the first of its forms in Zones.forms, and its polynomials as arrays."""

    recipe: Recipe
    question: Question
    first: int
    polynomials: list[tuple[FloatArray, FloatArray, float]]

    def forms(self, space: Space, estimates: FloatArray, bounds: FloatArray) -> FloatArray:
        """The recipe's forms (k, forms * size) at the estimates (k, d)."""
        quadratic = np.stack([a for a, _, _ in self.polynomials])
        linear = np.stack([b for _, b, _ in self.polynomials])
        constant = np.array([c for _, _, c in self.polynomials])
        at = constant + estimates @ linear.T + np.einsum("ki,nij,kj->kn", estimates, quadratic, estimates)
        weights = self.recipe.weights(at, bounds)
        k, m, n = len(at), self.recipe.forms, len(self.polynomials)
        by, last = weights.reshape(k * m, n + 1)[:, :n], weights.reshape(k * m, n + 1)[:, n]
        size = np.abs(by)
        sizes = (
            size @ np.linalg.norm(quadratic, axis=(1, 2)),
            size @ np.linalg.norm(linear, axis=1),
            size @ np.abs(constant) + np.abs(last),
        )
        flat, lean = np.tensordot(by, quadratic, axes=1), by @ linear
        level = by @ constant + last
        whole = np.all(by == np.rint(by), axis=1) & np.all(lean == np.rint(lean), axis=1)
        whole &= (level == np.rint(level)) & (sizes[2] < 2.0**31)
        return pack_forms(space, flat, lean, level, sizes, whole.astype(np.float64)).reshape(k, -1)


def tracked_fraction(question: Question) -> Recipe:
    """P - bound Q (or mirrored), whose sign answers the question about P / Q."""
    assert question.fraction is not None
    sense = 1.0 if question.above else -1.0

    def weights(at: FloatArray, bounds: FloatArray) -> FloatArray:
        finite = np.where(np.isfinite(bounds), bounds, 0.0)
        return np.stack([np.full(len(at), sense), -sense * finite, np.zeros(len(at))], axis=1)[:, None, :]

    return Recipe((question.fraction.numerator(), question.fraction.denominator()), 1, weights)
