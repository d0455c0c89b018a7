"""Concave functions below an expression that touch it at a point: what convex zones are made of.

With z = x - at, a :class:`Concave` is level + slope.z - z'Bz / 2 + kept(x), where B has no negative eigenvalue and
``kept`` is concave. It is at most the expression (``Shape.minorant``), all over a box. It comes from the tree:

- a polynomial of degree 2 is its own Taylor expansion; the part of its Hessian that bends upward is left out;
- x log x, exp, x log(x / y) and such of affine arguments are convex: their tangents are below them, and where they are
  subtracted they are kept as they are; log and sqrt the other way round;
- anything else is above its Taylor expansion with the least Hessian that it may have in the box (curvature.py).

All numbers are rounded so that the function is a little too low, never too high.

>>> from tacit.functions.expressions import Variable
>>> x, y = Variable(0), Variable(1)
>>> below = Shape(x * x - y * y, 2).minorant(np.array([2.0, 1.0]))
>>> np.round(below.values(np.array([[2.0, 1.0], [3.0, 1.0], [2.0, 3.0]])), 6)  # the tangent in x, exact in y
array([ 3.,  7., -5.])
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.functions._kernels_curvature import values_many
from tacit.functions.curvature import Curves, least_above, positive_part
from tacit.functions.expressions import Binary, Constant, Expression, Unary
from tacit.functions.form_sums import Form, form_of
from tacit.functions.polynomials import Polynomial, as_fraction, degree_of
from tacit.functions.program import compile_programs
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["Concave", "Judge", "Shape", "of_form", "of_polynomial", "stacked"]

_ROUNDING = 1e-13  # of the sum of the sizes of all terms
_LEANS = 12  # steps on the way to where a zone ends
_CONVEX = ("exp", "xlogx")
_CONCAVE = ("log", "sqrt")


class _Kept:
    """A concave expression, bounded from below at points."""

    def __init__(self, expression: Expression) -> None:
        self.expression = expression
        programs = compile_programs([expression])
        self._code, self._constants = programs.code, programs.constants[:, None]

    def lower(self, points: FloatArray) -> FloatArray:
        found = np.empty((len(points), 2))
        values_many(self._code, self._constants, np.repeat(points[:, None], 2, axis=1), found)
        return found[:, 0]


@dataclass(frozen=True, slots=True, eq=False)
class Concave:
    """level + slope.z - z'bend z / 2 + kept(x), below its function wherever x is between ``low`` and ``high``."""

    at: FloatArray
    level: float
    slope: FloatArray
    unsure: FloatArray  # how far off the slope may be
    bend: FloatArray
    kept: _Kept | None
    low: FloatArray
    high: FloatArray
    rise: FloatArray | None = None  # how a polynomial bends upward, which was left out

    def values(self, points: FloatArray) -> FloatArray:
        """A lower bound of it at points (k, d); -inf where it has no value. The box is not looked at."""
        moves = points - self.at
        sizes = np.abs(moves)
        linear, bent = moves @ self.slope, 0.5 * ((moves @ self.bend) * moves).sum(axis=1)
        room = sizes @ self.unsure + _ROUNDING * (abs(self.level) + sizes @ np.abs(self.slope) + bent)
        result = self.level + linear - bent - room
        return np.asarray(result if self.kept is None else result + self.kept.lower(points))

    @property
    def exact(self) -> bool:
        """Is it the function itself?"""
        return self.rise is not None and not self.rise.any()

    @property
    def straight(self) -> bool:
        """Is it affine, up to what rounding adds?"""
        return self.kept is None and bool(
            np.abs(self.bend).max(initial=0.0) <= 1e-9 * np.abs(self.slope).max(initial=0.0)
        )

    def leaning(self) -> Concave:
        """The part that bends upward touched where the zone ends, not at the estimate: there the zone is wider.

        z'Hz / 2 is at least p'Hz - p'Hp / 2 for every p. For a polynomial that bends upward only, p becomes the point
        nearest to the estimate at which it is 0, and the zone the half-space beyond it.
        """
        if self.rise is None or not self.rise.any() or self.kept is not None or self.level <= 0.0:
            return self
        bend = self._bend_size()  # leaning changes level and slope only
        point = np.zeros(len(self.at))
        with np.errstate(all="ignore"):  # where the slope is next to nothing, the point is far away
            best, reach = self, self._nearest(bend)
            for _ in range(_LEANS):
                toward = self._leaned(point)
                steep = float(toward.slope @ toward.slope)
                if not (toward.level > 0.0 and 0.0 < steep < np.inf):
                    break
                near = toward._nearest(bend)
                if near > reach:
                    best, reach = toward, near
                point = 0.5 * (point - toward.slope * (toward.level / steep))
        return best

    @property
    def nearest(self) -> float:
        """The distance from the estimate within which it is surely above 0, wherever one goes."""
        return self._nearest(self._bend_size())

    def _bend_size(self) -> float:
        """The largest curvature in any direction."""
        return float(np.linalg.norm(self.bend, 2)) if self.bend.any() else 0.0

    def _nearest(self, bend: float) -> float:
        steep = math.sqrt(float(self.slope @ self.slope)) + math.sqrt(float(self.unsure @ self.unsure))
        level = self.level * (1.0 - 1e-9)
        below = steep + math.sqrt(steep * steep + 2.0 * bend * max(level, 0.0))
        return 0.0 if level <= 0.0 else float("inf") if below == 0.0 else 2.0 * level / below * (1.0 - 1e-9)

    def _leaned(self, point: FloatArray) -> Concave:
        assert self.rise is not None
        pull = self.rise @ point
        half = 0.5 * float(point @ pull)
        size = np.abs(self.rise) @ np.abs(point)
        return replace(
            self,
            level=self.level - half - 1e-14 * (abs(self.level) + float(np.abs(point) @ size)),
            slope=self.slope + pull,
            unsure=self.unsure + 1e-14 * size,
        )

    def plus(self, other: Concave) -> Concave:
        """The sum with another one that is made at the same point and keeps nothing."""
        return replace(
            self,
            level=self.level + other.level - 1e-15 * (abs(self.level) + abs(other.level)),
            slope=self.slope + other.slope,
            unsure=self.unsure + other.unsure,
            bend=self.bend + other.bend,
            rise=None,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Stack:
    """Several concave functions that keep nothing, made at one point: all are judged in one step."""

    at: FloatArray
    level: FloatArray  # (n,)
    slope: FloatArray  # (n, d)
    unsure: FloatArray
    bend: FloatArray  # (n, d, d)

    def are_positive(self, points: FloatArray) -> BoolArray:
        """Is every function surely above 0 at each point (k, d)?"""
        moves = points - self.at
        sizes = np.abs(moves)
        bent = 0.5 * self._bent(moves)
        steep = sizes @ (self.unsure + _ROUNDING * np.abs(self.slope)).T
        room = steep + _ROUNDING * (np.abs(self.level) + bent)
        return np.asarray((self.level + moves @ self.slope.T - bent - room > 0.0).all(axis=1))

    def first_roots(self, moves: FloatArray) -> FloatArray:
        """How many times each move (k, d) may be gone before the first function falls to 0."""
        linear, bent = moves @ self.slope.T, self._bent(moves)
        below = np.sqrt(np.square(linear) + 2.0 * bent * np.maximum(self.level, 0.0)) - linear
        roots = 2.0 * self.level / np.where(below > 0.0, below, 0.0)
        return np.asarray(np.where(self.level <= 0.0, 0.0, roots).min(axis=1))

    def _bent(self, moves: FloatArray) -> FloatArray:
        """move' bend move of each move and function (k, n)."""
        pulled = moves @ self.bend.transpose(1, 0, 2).reshape(moves.shape[1], -1)
        return np.asarray((pulled.reshape(len(moves), len(self.level), -1) * moves[:, None, :]).sum(axis=2))


@dataclass(frozen=True, slots=True, eq=False)
class _Single:
    """A concave function that keeps something: judged by itself."""

    part: Concave

    def are_positive(self, points: FloatArray) -> BoolArray:
        return np.asarray(self.part.values(points) > 0.0)

    def first_roots(self, moves: FloatArray) -> FloatArray:
        """Not known: what is kept is not looked through."""
        return np.full(len(moves), np.inf)


Judge = _Stack | _Single
"""What says whether several functions are above 0."""


def stacked(at: FloatArray, parts: Sequence[Concave]) -> tuple[Judge, ...]:
    """The functions, all made at this point, in as few stacks as there can be."""
    plain = [part for part in parts if part.kept is None]
    found: list[Judge] = [_Single(part) for part in parts if part.kept is not None]
    if plain:
        numbers = ([each.slope for each in plain], [each.unsure for each in plain], [each.bend for each in plain])
        found.insert(0, _Stack(at, np.array([each.level for each in plain]), *map(np.array, numbers)))
    return tuple(found)


@dataclass
class _Sum:
    """What is collected at a point: level, slope, and a Hessian that is at most the true one."""

    at: FloatArray
    level: float
    slope: FloatArray = field(default_factory=lambda: np.zeros(0))
    unsure: FloatArray = field(default_factory=lambda: np.zeros(0))
    hessian: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))
    lost: FloatArray | None = None  # of the Hessian, by rounding

    def __post_init__(self) -> None:
        d = len(self.at)
        self.slope, self.unsure, self.hessian = np.zeros(d), np.zeros(d), np.zeros((d, d))
        self.level -= 1e-15 * abs(self.level)

    def quadratic(self, form: Form, sizes: Form | None = None) -> None:
        """Add x'Mx + linear.x + constant; ``sizes`` bound what its numbers were before anything cancelled."""
        x, far = self.at, np.abs(self.at)
        matrix, linear, constant = form
        most, steep, high = (np.abs(matrix), np.abs(linear), abs(constant)) if sizes is None else sizes
        self.level += float(x @ matrix @ x + linear @ x + constant)
        self.level -= 1e-14 * float(far @ most @ far + steep @ far + high)
        self.slope += 2.0 * matrix @ x + linear
        self.unsure += 1e-14 * (2.0 * most @ far + steep)
        self.hessian += 2.0 * matrix
        if sizes is not None:
            self.lost = 2e-15 * most

    def tangent(self, times: float, curves: Curves) -> bool:
        """Add the tangent; False where there is none."""
        here = curves.over(self.at, self.at)
        if here is None:
            return False
        ends = times * np.stack([here.gradient.low, here.gradient.high])
        self.level += min(times * float(here.value.low), times * float(here.value.high))
        self.slope += ends.mean(axis=0)
        self.unsure += np.abs(ends[1] - ends[0]) + 1e-15 * np.abs(ends).max(axis=0)
        return True

    def finished(
        self, kept: _Kept | None, low: FloatArray, high: FloatArray, spread: FloatArray | None = None
    ) -> Concave:
        d = len(self.at)
        if not self.hessian.any() and (self.lost is None or not self.lost.any()):
            flat = np.zeros((d, d))
            return Concave(self.at, self.level, self.slope, self.unsure, flat, kept, low, high, flat)
        s = np.ones(d) if spread is None else spread
        size = 1e-14 * d * np.abs(self.hessian * np.outer(s, s)).max(initial=0.0)
        if self.lost is not None:
            size += float((self.lost * np.outer(s, s)).sum(axis=1).max())
        bend = positive_part(np.diag(size / np.square(s)) - (self.hessian + self.hessian.T) / 2, s)
        rise = (self.hessian + self.hessian.T) / 2 + bend  # what bends upward: without negative eigenvalues
        tiny = (np.abs(rise) * np.outer(s, s)).max() <= 1e-12 * np.abs(self.hessian * np.outer(s, s)).max()
        return Concave(
            self.at, self.level, self.slope, self.unsure, bend, kept, low, high, np.zeros((d, d)) if tiny else rise
        )  # fmt: skip


def of_polynomial(polynomial: Polynomial, at: FloatArray, spread: FloatArray | None = None) -> Concave:
    """The minorant of a polynomial of degree at most 2, everywhere; high for moves as large as ``spread``."""
    return of_form(form_of(polynomial, len(at)), at, spread)


def of_form(form: Form, at: FloatArray, spread: FloatArray | None = None, sizes: Form | None = None) -> Concave:
    """``of_polynomial`` of x'Mx + linear.x + constant."""
    total = _Sum(at, 0.0)
    total.quadratic(form, sizes)
    return total.finished(None, *_everywhere(len(at)), spread)


class Shape:
    """An expression taken apart: a polynomial, parts that bend one way, and the rest."""

    def __init__(self, expression: Expression, dimension: int) -> None:
        self.dimension = dimension
        d = dimension
        self._quadratic: Form = (np.zeros((d, d)), np.zeros(d), 0.0)
        self._bent: list[tuple[float, int, Expression, Curves]] = []
        rest: list[tuple[float, Expression]] = []
        self._take(expression, 1.0, rest)
        self._rest = Curves(_total(rest)) if rest else None
        self._kept: dict[bool, _Kept | None] = {}

    @property
    def needs_box(self) -> bool:
        """Is there a part that is known only within a box?"""
        return self._rest is not None

    def minorant(
        self,
        at: FloatArray,
        low: FloatArray | None = None,
        high: FloatArray | None = None,
        *,
        above: bool = True,
        plus: float = 0.0,
        pieces: int = 1,
        spread: FloatArray | None = None,
    ) -> Concave | None:
        """A concave function below the expression (below its negative, if not ``above``) ``plus`` a number.

        None where none is found; a box is needed where ``needs_box``. It is high for moves as large as ``spread``.
        """
        at = np.asarray(at, dtype=np.float64)
        sense = 1.0 if above else -1.0
        total = _Sum(at, plus)
        matrix, linear, constant = self._quadratic
        total.quadratic((sense * matrix, sense * linear, sense * constant))
        for times, way, _, curves in self._bent:
            if sense * times * way > 0.0 and not total.tangent(sense * times, curves):
                return None
        corners = _everywhere(self.dimension)
        if self._rest is not None:
            if low is None or high is None:
                return None
            around = self._rest.over(low, high, pieces)
            if around is None or not total.tangent(sense, self._rest):
                return None
            total.hessian -= least_above(-around.hessian if above else around.hessian, spread)
            corners = (low, high)
        if above not in self._kept:
            self._kept[above] = self._keep(sense)
        return total.finished(self._kept[above], *corners, spread)

    def _take(self, tree: Expression, times: float, rest: list[tuple[float, Expression]]) -> None:
        quadratic = _quadratic(tree, self.dimension)
        if quadratic is not None:
            matrix, linear, constant = quadratic
            known = self._quadratic
            self._quadratic = (known[0] + times * matrix, known[1] + times * linear, known[2] + times * constant)
            return
        way = _bends(tree)
        if way:
            self._bent.append((times, way, tree, Curves(tree)))
            return None
        match tree:
            case Unary(operator="neg", operand=inner):
                return self._take(inner, -times, rest)
            case Binary(operator="+" | "-", left=left, right=right):
                self._take(left, times, rest)
                return self._take(right, times if tree.operator == "+" else -times, rest)
            case Binary(operator="*", left=Constant(value=c), right=inner) if np.isfinite(c) and c != 0.0:
                return self._take(inner, times * c, rest)
            case Binary(operator="*", left=inner, right=Constant(value=c)) if np.isfinite(c) and c != 0.0:
                return self._take(inner, times * c, rest)
        rest.append((times, tree))
        return None

    def _keep(self, sense: float) -> _Kept | None:
        """The parts that bend down, as they are; of the others only that they have a value."""
        parts = [
            (sense * times if sense * times * way < 0.0 else 0.0, _where_positive(tree))
            for times, way, tree, _ in self._bent
        ]
        return _Kept(_total(parts)) if parts else None


def _everywhere(dimension: int) -> tuple[FloatArray, FloatArray]:
    wide = np.full(dimension, np.inf)
    return -wide, wide


def _total(parts: list[tuple[float, Expression]]) -> Expression:
    first, *others = (tree if times == 1.0 else Constant(times) * tree for times, tree in parts)
    result: Expression = first
    for each in others:
        result = result + each
    return result


def _bends(tree: Expression) -> int:
    """1 for what is known to be convex, -1 for concave, 0 for neither, where ``_where_positive`` has a value."""
    match tree:
        case Unary(operator=operator, operand=inner) if operator in (*_CONVEX, *_CONCAVE) and _affine(inner):
            return 1 if operator in _CONVEX else -1
        case Binary() if _is_divergence(tree):
            return 1
        case Binary() if _is_pair(tree):
            return -1
    return 0


def _is_pair(tree: Expression) -> bool:
    """h(u + v) - h(u) - h(v) with h(t) = t log t and affine u and v: concave, as the entropy of a choice is."""
    match tree:
        case Binary(
            operator="-",
            left=Binary(
                operator="-",
                left=Unary(operator="xlogx", operand=Binary(operator="+", left=u, right=v)),
                right=Unary(operator="xlogx", operand=first),
            ),
            right=Unary(operator="xlogx", operand=second),
        ):
            return u == first and v == second and _affine(u) and _affine(v)
    return False


def _is_divergence(tree: Expression) -> bool:
    """x log(x / y) with affine x and y, which is convex where both are positive."""
    match tree:
        case Binary(
            operator="*", left=x, right=Unary(operator="log", operand=Binary(operator="/", left=other, right=y))
        ):
            return x == other and _affine(x) and _affine(y)
    return False


def _where_positive(tree: Expression) -> Expression:
    """x log(x / y) has a value, too, where both are negative, and bends the other way there."""
    match tree:
        case Binary(left=x, right=Unary(operand=Binary(right=y))) if _is_divergence(tree):
            return x * (Unary("log", x) - Unary("log", y))
    return tree


def _affine(tree: Expression) -> bool:
    fraction = None if _clamped(tree) else as_fraction(tree)
    return fraction is not None and not fraction.needs and degree_of(fraction.numerator()) <= 1


def _clamped(tree: Expression) -> bool:
    """Fractions take clamps for granted, which holds for feasible vectors only; here nothing is known of them."""
    match tree:
        case Unary(operator=operator, operand=inner):
            return operator in ("nonnegative", "unit") or _clamped(inner)
        case Binary(left=left, right=right):
            return _clamped(left) or _clamped(right)
    return False


def _quadratic(tree: Expression, dimension: int) -> Form | None:
    """Its form, if it is a polynomial of degree at most 2."""
    fraction = None if _clamped(tree) else as_fraction(tree)
    if fraction is None or fraction.needs or degree_of(fraction.numerator()) > 2:
        return None
    return form_of(fraction.numerator(), dimension)
