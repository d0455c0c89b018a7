"""Expressions as fractions of polynomials with exact coefficients.

A polynomial is a mapping from exponents to a ``Fraction``; a float is a Fraction exactly, so nothing is rounded
until a form is handed to a kernel. Numerator and denominator are kept as *factors*, because the sign of
``c * (c - 1)`` on a ball is decided exactly by its factors and only loosely by the product.

>>> from tacit.functions.expressions import Variable
>>> mean, square = Variable(1) / Variable(0), Variable(2) / Variable(0)
>>> fraction = as_fraction(square - mean * mean)
>>> fraction.numerator(), len(fraction.below)
({((0, 1), (2, 1)): Fraction(1, 1), ((1, 2),): Fraction(-1, 1)}, 2)
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction as Number

from tacit.functions.expressions import Binary, Constant, Expression, Unary, Variable

__all__ = ["Factor", "Fraction", "Monomial", "Polynomial", "as_fraction", "degree_of", "multiply"]

Monomial = tuple[tuple[int, int], ...]  # ((variable, power), …), sorted; () is 1
Polynomial = dict[Monomial, Number]

TERMS_MAX = 200  # beyond this the expression goes to the interval program instead


@dataclass(frozen=True, slots=True)
class Factor:
    """A polynomial, hashable. ``nonnegative`` says that it is known to be >= 0 on the feasible set by its wrapper."""

    terms: tuple[tuple[Monomial, Number], ...]
    nonnegative: bool = False

    def polynomial(self) -> Polynomial:
        return dict(self.terms)


@dataclass(frozen=True, slots=True)
class Fraction:
    """``scale * product(above) / product(below)``, with a value where every factor of ``needs`` differs from 0.

    ``needs`` holds the factors of every division met on the way, also those that cancelled.
    """

    scale: Number
    above: tuple[Factor, ...]
    below: tuple[Factor, ...]
    needs: frozenset[Factor]

    def numerator(self) -> Polynomial:
        """The product of the factors above, with the scale."""
        return _expand(self.scale, self.above)

    def denominator(self) -> Polynomial:
        """The product of the factors below."""
        return _expand(Number(1), self.below)


class _NotAFractionError(Exception):
    """The expression is no fraction of polynomials (or too large a one)."""


def as_fraction(expression: Expression) -> Fraction | None:
    """The expression as a fraction of polynomials, or None when it is not one."""
    try:
        fraction = _fraction(expression)
        for polynomial in (
            fraction.numerator(),
            fraction.denominator(),
        ):  # small enough to be expanded, and to be floats
            _ = [float(number) for number in polynomial.values()]
        return fraction
    except (_NotAFractionError, OverflowError):
        return None


def degree_of(polynomial: Polynomial) -> int:
    """The total degree; 0 for a constant and for the empty polynomial."""
    return max((sum(power for _, power in monomial) for monomial in polynomial), default=0)


def multiply(a: Polynomial, b: Polynomial) -> Polynomial:
    """The product of two polynomials."""
    if len(a) * len(b) > TERMS_MAX:
        raise _NotAFractionError
    product: Polynomial = {}
    for m, x in a.items():
        for n, y in b.items():
            powers = dict(m)
            for variable, power in n:
                powers[variable] = powers.get(variable, 0) + power
            key = tuple(sorted(powers.items()))
            product[key] = product.get(key, Number(0)) + x * y
    return {monomial: number for monomial, number in product.items() if number}


def _expand(scale: Number, factors: Iterable[Factor]) -> Polynomial:
    product: Polynomial = {(): scale} if scale else {}
    for factor in factors:
        product = multiply(product, factor.polynomial())
    return product


def _freeze(polynomial: Polynomial, nonnegative: bool = False) -> tuple[Number, tuple[Factor, ...]]:
    """A polynomial as a number and factors: the common variables are split off, each its own factor."""
    if not polynomial:
        return Number(0), ()
    shared = dict(next(iter(polynomial)))
    for monomial in polynomial:
        powers = dict(monomial)
        shared = {v: min(p, powers[v]) for v, p in shared.items() if v in powers}
    if nonnegative and any(power % 2 for power in shared.values()) and len(polynomial) > 1:
        shared = {}  # x * y >= 0 says nothing of x alone
    factors: list[Factor] = []
    for variable, power in shared.items():
        factors += [Factor(((((variable, 1),), Number(1)),))] * power
    rest: Polynomial = {}
    for monomial, number in polynomial.items():
        left = tuple((v, p - shared.get(v, 0)) for v, p in monomial if p > shared.get(v, 0))
        rest[left] = number
    if set(rest) == {()}:
        return rest[()], tuple(factors)
    # Normalised by a positive number, so that equal factors are recognised and signs are kept.
    lead = abs(next(iter(sorted(rest.items())))[1])
    terms = tuple(sorted((monomial, number / lead) for monomial, number in rest.items()))
    return lead, (*factors, Factor(terms, nonnegative and not shared))


def _constant(number: float) -> Fraction:
    if not math.isfinite(number):
        raise _NotAFractionError
    return Fraction(Number(number), (), (), frozenset())


def _fraction(expression: Expression) -> Fraction:
    match expression:
        case Constant(value=number):
            return _constant(number)
        case Variable(index=index):
            return Fraction(Number(1), (Factor(((((index, 1),), Number(1)),)),), (), frozenset())
        case Unary(operator="neg", operand=operand):
            a = _fraction(operand)
            return Fraction(-a.scale, a.above, a.below, a.needs)
        case Unary(operator="unit", operand=operand):
            return _fraction(operand)  # on the feasible set it changes nothing
        case Unary(operator="nonnegative", operand=operand):
            a = _fraction(operand)
            if a.below:
                return a
            scale, factors = _freeze(a.numerator(), nonnegative=True)
            return Fraction(scale, factors, (), a.needs)
        case Binary(operator="*", left=left, right=right):
            return _product(_fraction(left), _fraction(right))
        case Binary(operator="/", left=left, right=right):
            return _product(_fraction(left), _inverse(_fraction(right)))
        case Binary(operator="+", left=left, right=right):
            return _sum(_fraction(left), _fraction(right), 1)
        case Binary(operator="-", left=left, right=right):
            return _sum(_fraction(left), _fraction(right), -1)
        case Binary(operator="pow", left=left, right=Constant(value=power)) if power == int(power) and abs(power) <= 4:
            base = _fraction(left)
            result = _constant(1.0)
            for _ in range(abs(int(power))):
                result = _product(result, base)
            return _inverse(result) if power < 0 else Fraction(result.scale, result.above, result.below, base.needs)
    raise _NotAFractionError


def _inverse(a: Fraction) -> Fraction:
    if not a.scale:
        raise _NotAFractionError
    return Fraction(1 / a.scale, a.below, a.above, a.needs | frozenset(a.above))


def _product(a: Fraction, b: Fraction) -> Fraction:
    above, below = _cancel([*a.above, *b.above], [*a.below, *b.below])
    return Fraction(a.scale * b.scale, above, below, a.needs | b.needs)


def _cancel(above: list[Factor], below: list[Factor]) -> tuple[tuple[Factor, ...], tuple[Factor, ...]]:
    left = list(below)
    kept = []
    for factor in above:
        if factor in left:
            left.remove(factor)
        else:
            kept.append(factor)
    return tuple(kept), tuple(left)


def _sum(a: Fraction, b: Fraction, sign: int) -> Fraction:
    """Over the least common product of the factors below."""
    _, only_a = _cancel(list(b.below), list(a.below))
    _, only_b = _cancel(list(a.below), list(b.below))
    common, total = [*a.below, *only_b], dict(_expand(a.scale, [*a.above, *only_b]))
    for monomial, number in _expand(sign * b.scale, [*b.above, *only_a]).items():
        total[monomial] = total.get(monomial, Number(0)) + number
        if not total[monomial]:
            del total[monomial]
    if len(total) > TERMS_MAX:
        raise _NotAFractionError
    scale, factors = _freeze(total)
    above, below = _cancel(list(factors), common)
    return Fraction(scale, above, below, a.needs | b.needs)
