"""Correlations and chi-squares on a ball, through quadratic forms.

The question is C > B sqrt(X Y), with C, X and Y of degree at most 2 and X, Y >= 0 on the feasible set. Since
sqrt(X Y) is the least of (t X + Y / t) / 2 over t > 0,

- C > B sqrt(X Y), B >= 0, is proved when for *one* t the quadratic form C - B (t X + Y / t) / 2 stays above 0;
- C < B sqrt(X Y), B >= 0, is proved when for *every* t the form B (t X + Y / t) / 2 - C does. Writing it as
  q_p = B (a^2 X + b^2 Y) - 2 a b C for directions p = (a, b) >= 0, every direction between p and p' is a combination
  with coefficients >= 0, so q_p, q_p' and the mixed form B (a a' X + b b' Y) - (a b' + a' b) C being above 0 proves all
  of them: a quarter circle is cut into a few such cells, finest where the estimate's own t lies.

B < 0 is the same with C mirrored. Chi-square is N C^2 / (X Y) with C = c11 c22 - c12 c21: |C| against sqrt(T / N)
sqrt(X Y), where N is bounded on the ball by one of a few levels around its estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction as Number
from itertools import pairwise

import numpy as np

from tacit.functions.expressions import Binary, ChiSquare, Expression, Unary
from tacit.functions.polynomials import Factor, Polynomial, as_fraction, degree_of, multiply
from tacit.functions.shapes import All, Any_, Ask, Case, Feasible, Question, Recipe, Weights, polynomial_nonnegative
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["ask_chi_square", "ask_correlation"]

# Directions of a quarter circle, in degrees; 45 is the estimate's own t.
DIRECTIONS = (0.0, 20.0, 33.0, 41.5, 45.0, 48.5, 57.0, 70.0, 90.0)
LEVELS = (0.02, 0.1, 0.35)  # how far the total may move, as a share of its estimate
ALWAYS, NEVER = 1.0, -1.0
ONE: Polynomial = {(): Number(1)}


@dataclass(frozen=True)
class _Triple:
    """C, X and Y, and the factors that differ from 0 where the quotient is defined."""

    c: Polynomial
    x: Polynomial
    y: Polynomial
    needs: tuple[Factor, ...]


def ask_correlation(expression: Expression, question: Question, feasible: Feasible) -> Ask | None:
    """The question about C / sqrt(X Y), or None when the expression is not one."""
    triple = _triple(expression, feasible)
    if triple is None:
        return None
    # f > B >= 0 and f < B <= 0 need one t, the others every t; a tracked value may need either.
    sense = 1.0 if question.above else -1.0

    def one(at: FloatArray, bounds: FloatArray) -> FloatArray:
        return _one_direction(at, sense, bounds, never=~(sense * bounds >= 0.0))

    def every(at: FloatArray, bounds: FloatArray) -> FloatArray:
        return _all_directions(at, -sense, bounds, never=~(sense * bounds <= 0.0))

    some = _forms(question, triple, one, 1)
    each = _forms(question, triple, every, len(CELLS))
    threshold = question.static()
    if threshold is None:
        return _defined(Any_((some, each)), triple, question)
    easy = sense * threshold >= 0.0
    parts = some if easy else each
    # On the feasible set |f| <= 1, so C away from 0 says that X and Y are too.
    return parts if question.lenient or (easy and question.unit) else _defined(parts, triple, question)


def ask_chi_square(expression: Expression, question: Question, feasible: Feasible) -> Ask | None:
    """The question about N C^2 / (X Y) of a table with affine cells, or None."""
    if not isinstance(expression, ChiSquare):
        return None
    cells = [_affine(cell) for cell in (expression.c11, expression.c12, expression.c21, expression.c22)]
    if any(cell is None or not polynomial_nonnegative(cell, feasible) for cell in cells):
        return None
    c11, c12, c21, c22 = (cell or {} for cell in cells)
    margins = [_plus(c11, c12), _plus(c21, c22), _plus(c11, c21), _plus(c12, c22)]
    c = _plus(multiply(c11, c22), multiply(c12, c21), -1)
    needs = tuple(Factor(tuple(sorted(margin.items()))) for margin in margins)
    triple = _Triple(c, multiply(margins[0], margins[1]), multiply(margins[2], margins[3]), needs)
    total = _plus(margins[0], margins[1])
    parts: Ask = Any_(())
    for level in reversed(LEVELS):
        near = _question(question, Recipe((total,), 1, _within(level, question.above)), 0)
        parts = Case(near, _at_level(question, triple, level, total), parts)
    return parts if question.lenient else _defined(parts, triple, question)


def _at_level(question: Question, triple: _Triple, level: float, total: Polynomial) -> Ask:
    """|C| against sqrt(T / N) sqrt(X Y), with N at the end of the level where the question is hardest."""

    def root(at: FloatArray, bounds: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            far = at[:, 3] * (1.0 - level if question.above else 1.0 + level)
            value = np.sqrt(np.maximum(bounds, 0.0) / np.maximum(far, 1e-300))
        return value * (1.0 + 1e-15) if question.above else value * (1.0 - 1e-15)

    def one(at: FloatArray, bounds: FloatArray) -> FloatArray:
        sign = np.where(at[:, 0] < 0.0, -1.0, 1.0)
        rows = _one_direction(at[:, :3], sign, sign * root(at, bounds), never=bounds == np.inf)
        return _with_total(np.where((bounds < 0.0)[:, None, None], _constant(rows, ALWAYS), rows))

    def every(at: FloatArray, bounds: FloatArray) -> FloatArray:
        above, below = (
            _all_directions(at[:, :3], sign, sign * root(at, bounds), never=bounds < 0.0) for sign in (1.0, -1.0)
        )
        return _with_total(np.concatenate([above, below], axis=1))

    extra = (total,)
    if question.above:
        return _forms(question, triple, one, 1, extra)
    return _forms(question, triple, every, 2 * len(CELLS), extra)


def _question(question: Question, recipe: Recipe, which: int) -> Question:
    """A form of the recipe, asked to be above 0."""
    return replace(question, above=True, strict=True, recipe=recipe, which=which)


def _forms(
    question: Question, triple: _Triple, weights: Weights, count: int, extra: tuple[Polynomial, ...] = ()
) -> Ask:
    recipe = Recipe((triple.c, triple.x, triple.y, *extra), count, weights)
    return All(tuple(_question(question, recipe, k) for k in range(count)))


def _defined(parts: Ask, triple: _Triple, question: Question) -> Ask:
    """X and Y must also stay away from 0: asked beside a form that is always above it."""
    always = Recipe((ONE,), 1, lambda at, bounds: np.broadcast_to(np.array([1.0, 0.0]), (len(at), 1, 2)))
    return All((replace(_question(question, always, 0), needs=triple.needs), parts))


def _spread(at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """t and 1 / t with t = sqrt(Y / X) at the estimate, where X and Y weigh the same; 1 where they do not tell."""
    with np.errstate(all="ignore"):
        t = np.sqrt(at[:, 2] / at[:, 1])
    t = np.where(np.isfinite(t) & (t > 0.0), t, 1.0)
    return t, 1.0 / t


def _one_direction(at: FloatArray, sense: float | FloatArray, bounds: FloatArray, never: BoolArray) -> FloatArray:
    """sense * C - |B| (t X + Y / t) / 2: proves sense * f > |B|."""
    (t, inverse), size = _spread(at), 0.5 * _finite_size(bounds)
    rows = np.stack([np.broadcast_to(sense, t.shape), -size * t, -size * inverse, np.zeros_like(t)], axis=1)
    rows = np.where((never | (bounds == sense * np.inf))[:, None], _constant(rows, NEVER), rows)
    return np.where((bounds == -sense * np.inf)[:, None], _constant(rows, ALWAYS), rows)[:, None, :]


def _all_directions(at: FloatArray, sense: float, bounds: FloatArray, never: BoolArray) -> FloatArray:
    """|B| (a a' X + b b' Y) - sense (a b' + a' b) C of every cell: together they prove sense * f < |B|."""
    (t, inverse), size = _spread(at), _finite_size(bounds)
    a, b, a_, b_ = CELLS.T
    rows = np.stack(
        np.broadcast_arrays(
            -sense * (a * b_ + a_ * b), (size * t)[:, None] * (a * a_), (size * inverse)[:, None] * (b * b_),
            np.zeros((1, 1)),
        ),
        axis=2,
    )  # fmt: skip
    rows = np.where((never | (bounds == -sense * np.inf))[:, None, None], _constant(rows, NEVER), rows)
    return np.where((bounds == sense * np.inf)[:, None, None], _constant(rows, ALWAYS), rows)


def _within(level: float, above: bool) -> Weights:
    """Does the total stay within the level of its estimate, on the side that matters?"""
    sign = 1.0 if above else -1.0

    def weights(at: FloatArray, bounds: FloatArray) -> FloatArray:
        n = at[:, 0]
        return np.stack([np.full(len(n), sign), -sign * n * (1.0 - sign * level)], axis=1)[:, None, :]

    return weights


def _finite_size(bounds: FloatArray) -> FloatArray:
    return np.where(np.isfinite(bounds), np.abs(bounds), 0.0)


def _constant(rows: FloatArray, number: float) -> FloatArray:
    result = np.zeros_like(rows)
    result[..., -1] = number
    return result


def _with_total(rows: FloatArray) -> FloatArray:
    """Room for the total, which the form does not use."""
    return np.concatenate([rows[..., :3], np.zeros_like(rows[..., :1]), rows[..., 3:]], axis=2)


def _cells() -> FloatArray:
    """(a, b, a', b') of every direction but the two axes, where the form is X or Y, and of every two neighbours.

    Those nearest to the estimate's own direction come first: they fail first.
    """
    points = [(math.cos(math.radians(angle)), math.sin(math.radians(angle))) for angle in DIRECTIONS]
    points[0], points[-1] = (1.0, 0.0), (0.0, 1.0)
    cells = [(*p, *p) for p in points[1:-1]] + [(*p, *q) for p, q in pairwise(points)]
    return np.array(sorted(cells, key=lambda cell: abs(cell[0] * cell[2] - cell[1] * cell[3])))


CELLS = _cells()


def _triple(expression: Expression, feasible: Feasible) -> _Triple | None:
    match expression:
        case Binary(operator="/", left=left, right=Unary(operator="sqrt", operand=inside)):
            above, below = as_fraction(left), as_fraction(inside)
        case Binary(
            operator="/",
            left=left,
            right=Binary(operator="*", left=Unary(operator="sqrt", operand=x), right=Unary(operator="sqrt", operand=y)),
        ):
            above, below = as_fraction(left), as_fraction(x * y)  # both are known to be >= 0 below
        case _:
            return None
    if above is None or below is None or above.below or above.needs or below.below or below.needs:
        return None
    if not 1 <= len(below.above) <= 2 or below.scale <= 0:
        return None
    known = all(f.nonnegative or polynomial_nonnegative(f.polynomial(), feasible) for f in below.above)
    c = above.numerator()
    if not known or degree_of(c) > 2 or any(degree_of(f.polynomial()) > 2 for f in below.above):
        return None
    first = {monomial: number * below.scale for monomial, number in below.above[0].polynomial().items()}
    second = below.above[1].polynomial() if len(below.above) == 2 else ONE
    return _Triple(c, first, second, tuple(dict.fromkeys(below.above)))


def _affine(expression: Expression) -> Polynomial | None:
    fraction = as_fraction(expression)
    if fraction is None or fraction.below or fraction.needs or degree_of(fraction.numerator()) > 1:
        return None
    return fraction.numerator()


def _plus(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    total = dict(a)
    for monomial, number in b.items():
        total[monomial] = total.get(monomial, Number(0)) + sign * number
    return {monomial: number for monomial, number in total.items() if number}
