"""Convex zones: sets around an estimate in which an answer is right everywhere, so that means of points stay in them.

A question (shapes.py) is proved on a convex set by concave functions below what it asks about (minorants.py): where all
of them are above 0, the answer is right, and such points form a convex set. Every question has its own way:

- a fraction P / Q against B: P - B Q, times the sign of Q; every factor of Q keeps its sign;
- a correlation: for the estimate's own t the form C - B (t X + Y / t) / 2, as balls are judged (correlations.py);
- an entropy: its pairs h(u + v) - h(u) - h(v) are concave, its single terms convex;
- any other expression: its shape, or its least Hessian in a box.

Unlike balls, which may each be proved in another way, all sites must be in *one* convex set: of alternatives (OR) the
larger is taken, by how far points may go in the directions that are asked for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction as Number
from functools import partial

import numpy as np

from tacit.functions.expressions import Constant, Expression, Unary, Variable
from tacit.functions.form_sums import Form, form_of, form_value, weighed
from tacit.functions.minorants import Concave, Judge, Shape, of_form, of_polynomial, stacked
from tacit.functions.polynomials import Factor, Polynomial
from tacit.functions.shapes import All, Any_, Ask, Case, Feasible, Question, known_nonnegative, questions_of
from tacit.vocabulary.arrays import BoolArray, FloatArray

__all__ = ["ConvexZone", "ZoneMaker"]

_STEPS = 24  # halvings in the search for where a zone ends
_ENDLESS = 1e300
_FAR = 1e9  # a zone that goes on so many times a direction is taken to be endless there


@dataclass(frozen=True, slots=True, eq=False)
class ConvexZone:
    """The points between two corners where every part is above 0."""

    at: FloatArray
    parts: tuple[Concave, ...]
    low: FloatArray
    high: FloatArray
    _stack: tuple[Judge, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_stack", stacked(self.at, self.parts))

    def contains(self, points: FloatArray) -> BoolArray:
        """Is each point (k, d) in it? Rounding never makes it so."""
        inside: BoolArray = np.asarray(((points >= self.low) & (points <= self.high)).all(axis=1))
        with np.errstate(all="ignore"):
            for part in self._stack:
                inside &= part.are_positive(points)
        return inside

    def distances(self, moves: FloatArray) -> FloatArray:
        """How many times each move (k, d) may be gone from the estimate before the zone ends."""
        with np.errstate(all="ignore"):
            to_edge = np.where(moves > 0.0, (self.high - self.at) / moves, (self.low - self.at) / moves)
        edge = np.where(moves == 0.0, np.inf, to_edge).min(axis=1)
        inside, outside = np.zeros(len(moves)), np.minimum(edge, _FAR)
        whole = self.contains(self.at + outside[:, None] * moves)
        with np.errstate(all="ignore"):
            quick = np.array([part.first_roots(moves) for part in self._stack]).min(axis=0, initial=np.inf)
        outside = np.where(whole, outside, np.minimum(outside, quick))
        if any(part.kept is not None for part in self.parts):
            for _ in range(_STEPS):  # geometric at first: the scale is not known
                middle = np.where(inside > 0.0, np.sqrt(inside * outside), outside * 1e-3)
                fits = self.contains(self.at + middle[:, None] * moves)
                inside, outside = np.where(fits, middle, inside), np.where(fits, outside, middle)
            return np.asarray(np.where(whole, edge, inside))
        return np.asarray(np.where(whole, edge, outside))


class ZoneMaker:
    """Makes zones for one question tree, wherever the estimate goes."""

    def __init__(self, asked: Ask, dimension: int, feasible: Feasible) -> None:
        self.asked, self.dimension, self.feasible = asked, dimension, feasible
        self._shapes: dict[int, tuple[Question, Shape]] = {}
        self._forms: dict[int, tuple[Question, list[Form]]] = {}
        self._spread = np.ones(dimension)
        self._boxless: dict[int, tuple[Concave, ...] | None] = {}  # ways of one call of ``best``, by question
        self._weights: dict[tuple[int, float], FloatArray] = {}  # of one call of ``best``, by recipe and bound

    def needs_box(self) -> bool:
        """Does what is proved depend on a box?"""
        return any(q.expression is not None and self._shape(q).needs_box for q in questions_of(self.asked))

    def parts_most(self) -> int:
        """How many parts a zone can have."""
        return _parts(self.asked)

    def best(
        self,
        at: FloatArray,
        bounds: tuple[float, float],
        moves: FloatArray,
        boxes: Iterable[FloatArray] = (),
        pieces: int = 1,
        *,
        plain: bool = False,
    ) -> ConvexZone | None:
        """The largest zone for moves (k, d) that is found; None where there is none that holds the estimate.

        ``bounds`` are the least and greatest value of what is tracked. ``boxes`` are half-widths to try, where boxes
        are needed. With ``plain`` only zones that are rows of numbers are looked for: no part keeps an expression.
        """
        self._spread = np.sqrt(np.square(moves).mean(axis=0))
        self._spread = self._spread + 1e-3 * self._spread.max(initial=0.0) + 1e-300
        widths = list(boxes) if self.needs_box() else [np.full(self.dimension, np.inf)]
        found: list[tuple[float, ConvexZone]] = []
        self._boxless.clear()
        self._weights.clear()
        leanings: dict[int, tuple[Concave, Concave]] = {}  # parts that need no box are the same in every box
        for width in widths:
            for parts in self._ways(self.asked, at, bounds, at - width, at + width, pieces):
                if any(not part.level > 0.0 and part.kept is None for part in parts):
                    continue  # the estimate itself would be outside
                if plain and any(part.kept is not None for part in parts):
                    continue
                for part in parts:
                    if id(part) not in leanings:
                        leanings[id(part)] = (part, part.leaning())  # kept, for its id must stay its own
                leaned = tuple(leanings[id(part)][1] for part in parts)
                for variant in (
                    (parts, leaned) if any(a is not b for a, b in zip(parts, leaned, strict=True)) else (parts,)
                ):
                    zone = _joined(at, variant)
                    if zone.contains(at[None])[0]:
                        found.append((_size(zone, moves), zone))
        return max(found, key=lambda pair: pair[0])[1] if found else None

    def _ways(
        self, asked: Ask, at: FloatArray, bounds: tuple[float, float], low: FloatArray, high: FloatArray, pieces: int
    ) -> list[tuple[Concave, ...]]:
        """The ways to prove it, each a list of what must be above 0."""
        match asked:
            case All(parts):
                ways: list[tuple[Concave, ...]] = [()]
                for part in parts:
                    more = self._ways(part, at, bounds, low, high, pieces)
                    ways = [(*one, *other) for one in ways for other in more][:8]
                return ways
            case Any_(parts):
                return [way for part in parts for way in self._ways(part, at, bounds, low, high, pieces)]
            case Case(condition, then, otherwise):
                both = All((condition, then))
                return [
                    *self._ways(both, at, bounds, low, high, pieces),
                    *self._ways(otherwise, at, bounds, low, high, pieces),
                ]
        if asked.expression is not None:
            way = self._way(asked, at, bounds, low, high, pieces)
        elif id(asked) in self._boxless:
            way = self._boxless[id(asked)]
        else:
            way = self._boxless[id(asked)] = self._way(asked, at, bounds, low, high, pieces)
        return [] if way is None else [way]

    def _way(
        self, q: Question, at: FloatArray, bounds: tuple[float, float], low: FloatArray, high: FloatArray, pieces: int
    ) -> tuple[Concave, ...] | None:
        threshold = bounds[q.side] if q.threshold is None else q.threshold
        bound = float(q.bound(np.array([threshold]))[0])
        sense = 1.0 if q.above else -1.0
        if q.recipe is not None:  # which knows itself what an infinite bound means
            return self._recipe(q, at, bound)
        if math.isnan(bound) or sense * bound == math.inf:
            return None
        if q.fraction is not None:
            return self._fraction(q, at, bound)
        if sense * bound == -math.inf:
            bound = -sense * _ENDLESS  # all it needs is a value
        if q.entropy is not None:
            return self._entropy(q, at, bound)
        part = self._shape(q).minorant(
            at, low, high, above=q.above, plus=-sense * bound, pieces=pieces, spread=self._spread
        )
        return None if part is None else (part,)

    def _fraction(self, q: Question, at: FloatArray, bound: float) -> tuple[Concave, ...] | None:
        """sign(Q) (P - B Q) above 0, where every factor of Q keeps its sign."""
        assert q.fraction is not None
        above, below, *factors = self._forms_of(
            q, (q.fraction.numerator, q.fraction.denominator), [*q.fraction.below, *q.fraction.needs]
        )
        parts = self._signed(q, dict.fromkeys([*q.fraction.below, *q.fraction.needs]), factors, at)
        if parts is None or math.isinf(bound):
            return parts if parts is None else tuple(part for part, _ in parts.values() if part is not None)
        sense = 1.0 if q.above else -1.0
        for factor, (_, sign) in parts.items():
            sense *= sign if q.fraction.below.count(factor) % 2 else 1
        total, sizes = weighed([(sense, above), (-sense * bound, below)], self.dimension)
        main = of_form(total, at, self._spread, sizes)
        return (main, *(part for part, _ in parts.values() if part is not None))

    def _recipe(self, q: Question, at: FloatArray, bound: float) -> tuple[Concave, ...] | None:
        """The form of the recipe at this estimate above 0, and what it needs different from 0."""
        recipe = q.recipe
        assert recipe is not None
        count = len(recipe.polynomials)
        forms = self._forms_of(q, [partial(dict, polynomial) for polynomial in recipe.polynomials], q.needs)
        weights = self._weights_of(q, forms[:count], at, bound)[q.which]
        if not np.isfinite(weights).all():
            return None
        weighted = zip(weights[:-1].tolist(), forms[:count], strict=True)
        total, sizes = weighed(weighted, self.dimension, float(weights[-1]))
        main = of_form(total, at, self._spread, sizes)
        if not main.level > 0.0:  # a recipe has many forms: one that does not hold here spares the others
            return None
        parts = self._signed(q, dict.fromkeys(q.needs), forms[count:], at)
        return None if parts is None else (main, *(part for part, _ in parts.values() if part is not None))

    def _weights_of(self, q: Question, forms: Sequence[Form], at: FloatArray, bound: float) -> FloatArray:
        """The weights of all forms of a question's recipe; worked out once in each call of ``best``."""
        recipe = q.recipe
        assert recipe is not None
        key = (id(recipe), bound)
        if key not in self._weights:
            values = np.array([[form_value(form, at) for form in forms]])
            self._weights[key] = recipe.weights(values, np.array([bound]))[0]
        return self._weights[key]

    def _signed(
        self, q: Question, factors: Iterable[Factor], forms: Sequence[Form], at: FloatArray
    ) -> dict[Factor, tuple[Concave | None, int]] | None:
        """For each factor what keeps its sign, if that must be asked, and its sign; None where one is 0."""
        found: dict[Factor, tuple[Concave | None, int]] = {}
        for factor, form in zip(factors, forms, strict=True):
            known = known_nonnegative(factor, self.feasible)
            here = form_value(form, at)
            if (here == 0.0 and not known) or not math.isfinite(here):
                return None
            sign = 1 if known or here > 0.0 else -1
            signed = (sign * form[0], sign * form[1], sign * form[2])
            found[factor] = (None if known and q.lenient else of_form(signed, at, self._spread), sign)
        return found

    def _forms_of(
        self, q: Question, polynomials: Sequence[Callable[[], Polynomial]], factors: Iterable[Factor]
    ) -> list[Form]:
        """The polynomials, then the different factors, as forms; worked out once for each question."""
        kept = self._forms.get(id(q))
        if kept is None:
            forms = [form_of(make(), self.dimension) for make in polynomials]
            forms += [form_of(factor.polynomial(), self.dimension) for factor in dict.fromkeys(factors)]
            kept = self._forms[id(q)] = (q, forms)  # kept, for its id must stay its own
        return kept[1]

    def _entropy(self, q: Question, at: FloatArray, bound: float) -> tuple[Concave, ...] | None:
        """S / N against B is S - B N, where N stays above 0."""
        assert q.entropy is not None
        part = self._shape(q).minorant(at, above=q.above, spread=self._spread)
        if part is None:
            return None
        times = -Number(bound if q.above else -bound)
        moved = of_polynomial({m: times * number for m, number in q.entropy.total.items()}, at)
        return (part.plus(moved), of_polynomial(q.entropy.total, at))

    def _shape(self, q: Question) -> Shape:
        kept = self._shapes.get(id(q))
        if kept is None:
            tree = q.expression if q.expression is not None else _pairs(q)
            kept = self._shapes[id(q)] = (q, Shape(tree, self.dimension))  # kept, for its id must stay its own
        return kept[1]


def _parts(asked: Ask) -> int:
    match asked:
        case All(parts):
            return sum(map(_parts, parts))
        case Any_(parts):
            return max(map(_parts, parts), default=0)
        case Case(condition, then, otherwise):
            return max(_parts(condition) + _parts(then), _parts(otherwise))
        case Question(fraction=fraction) if fraction is not None:
            return 1 + len({*fraction.below, *fraction.needs})
    return 2 if asked.entropy is not None else 1 + len(asked.needs)


def _joined(at: FloatArray, parts: tuple[Concave, ...]) -> ConvexZone:
    parts = tuple({_mark(part): part for part in parts}.values())  # several questions may need the same
    wide = np.full(len(at), np.inf)
    low = np.max([-wide, *(part.low for part in parts)], axis=0)
    high = np.min([wide, *(part.high for part in parts)], axis=0)
    return ConvexZone(at, parts, low, high)


def _mark(part: Concave) -> tuple[object, ...]:
    """What tells it from others."""
    numbers = (part.slope, part.unsure, part.bend, part.low, part.high)
    return (part.level, *(each.tobytes() for each in numbers), None if part.kept is None else id(part.kept))


def _size(zone: ConvexZone, moves: FloatArray) -> float:
    """The typical distance to its end, on a scale of logarithms; endless directions count as far ones."""
    return float(np.log(np.clip(zone.distances(moves), 1e-300, _FAR)).mean())


def _spelled(polynomial: Polynomial) -> Expression:
    """A polynomial as a tree."""
    result: Expression = Constant(0.0)
    for monomial, number in polynomial.items():
        term: Expression = Constant(float(number))
        for variable, power in monomial:
            term = term * Variable(variable) ** float(power) if power > 1 else term * Variable(variable)
        result = result + term
    return result


def _pairs(q: Question) -> Expression:
    """The numerator of an entropy."""
    assert q.entropy is not None
    assert q.pairing is not None
    result = _spelled(q.entropy.rest)
    for number, u, v in q.pairing.pairs:
        left, right = _spelled(dict(u)), _spelled(dict(v))
        pair = Unary("xlogx", left + right) - Unary("xlogx", left) - Unary("xlogx", right)
        result = result + Constant(float(number)) * pair
    for number, u in q.pairing.singles:
        result = result + Constant(float(number)) * Unary("xlogx", _spelled(dict(u)))
    return result
