"""Questions about a ball, and how they are joined: the data that questions.py makes and watch_tables.py packs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from tacit.functions.entropies import Entropy, Pairing
from tacit.functions.expressions import Expression
from tacit.functions.polynomials import Factor, Fraction, Polynomial
from tacit.vocabulary.arrays import FloatArray

__all__ = [
    "All", "Any_", "Ask", "Case", "Feasible", "Move", "Question", "Recipe", "Weights", "fraction_nonnegative",
    "known_nonnegative", "polynomial_nonnegative", "questions_of",
]  # fmt: skip

Move = Callable[[FloatArray], FloatArray]
Weights = Callable[[FloatArray, FloatArray], FloatArray]


@dataclass(frozen=True)
class Feasible:
    """What the simplification may know of the vector: which components are >= 0."""

    nonnegative: tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class Recipe:
    """Forms that depend on the estimate: weighted sums of polynomials of degree at most 2 and the number 1.

    ``weights(at, bounds)`` gets the polynomials' values at the estimates (k, n) and the bounds (k,) and gives the
    weights (k, forms, n + 1). Each form is asked to be above 0.
    """

    polynomials: tuple[Polynomial, ...]
    forms: int
    weights: Weights


@dataclass(frozen=True)
class Question:
    """Is the expression > (>=, <, <=) its bound at every point? The bound is a number moved by ``moves`` in turn.

    Exactly one of ``fraction``, ``entropy``, ``recipe`` and ``expression`` says what is asked about. ``lenient``:
    points where it has no value are welcome. ``unit``: its values are known to be in [-1, 1].
    """

    above: bool
    strict: bool
    lenient: bool
    side: int  # which bound: 0 the lower, 1 the upper one of a tracked value; conditions have a ``threshold``
    threshold: float | None
    moves: tuple[Move, ...] = ()
    unit: bool = False
    fraction: Fraction | None = None
    entropy: Entropy | None = None
    pairing: Pairing | None = None  # how an entropy is bounded
    recipe: Recipe | None = None
    which: int = 0  # the form of the recipe
    needs: tuple[Factor, ...] = ()  # must differ from 0 besides
    expression: Expression | None = None

    def bound(self, thresholds: FloatArray) -> FloatArray:
        """The bound that the kernel compares with, for each threshold; infinite when it is always or never so."""
        for move in self.moves:
            thresholds = move(thresholds)
        return thresholds

    def static(self) -> float | None:
        """The bound of a condition; None for a tracked value, whose bounds follow the estimate."""
        return None if self.threshold is None else float(self.bound(np.array([self.threshold]))[0])

    def moved(self, move: Move, *, flip: bool = False) -> Question:
        """The question with its bound moved, and its direction turned round when ``flip``."""
        return replace(self, moves=(*self.moves, move), above=self.above != flip, unit=False)


@dataclass(frozen=True)
class All:
    """Every part must be proved."""

    parts: tuple[Ask, ...]


@dataclass(frozen=True)
class Any_:  # noqa: N801
    """One part must be proved."""

    parts: tuple[Ask, ...]


@dataclass(frozen=True)
class Case:
    """Where the condition is proved, ``then`` must be; otherwise ``otherwise``."""

    condition: Question
    then: Ask
    otherwise: Ask


Ask = Question | All | Any_ | Case


def questions_of(asked: Ask) -> list[Question]:
    """All that is asked, conditions of cases included, from left to right."""
    match asked:
        case All(parts) | Any_(parts):
            return [question for part in parts for question in questions_of(part)]
        case Case(condition, then, otherwise):
            return [condition, *questions_of(then), *questions_of(otherwise)]
    return [asked]


def known_nonnegative(factor: Factor, feasible: Feasible) -> bool:
    """Is the factor >= 0 at every feasible point, by its wrapper or because all its terms are?"""
    return factor.nonnegative or polynomial_nonnegative(factor.polynomial(), feasible)


def polynomial_nonnegative(polynomial: Polynomial, feasible: Feasible) -> bool:
    """Every coefficient is positive and every odd power is of a non-negative component."""
    return all(
        number > 0 and all(power % 2 == 0 or feasible.nonnegative[variable] for variable, power in monomial)
        for monomial, number in polynomial.items()
    )


def fraction_nonnegative(fraction: Fraction, feasible: Feasible) -> bool:
    """Is the whole fraction >= 0 wherever it is defined?"""
    return fraction.scale > 0 and all(known_nonnegative(f, feasible) for f in (*fraction.above, *fraction.below))
