"""Expressions that are sums of t log2 t over affine arguments, divided by one affine total: entropies and gains.

Multiplied by its total N, the information gain of a table is sum h(cells) - sum h(margins) + h(N) with
h(t) = t log2 t: convex and concave parts of affine arguments, which is all that the bounds of the kernel need.

>>> from tacit.functions.expressions import Variable
>>> entropy = as_entropy(InformationGain(*map(Variable, range(4))))
>>> len(entropy.terms), [len(pairing.pairs) for pairing in entropy.pairings()]  # by columns, by rows
(9, [3, 3])
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction as Number
from itertools import combinations

from tacit.functions.expressions import Binary, Expression, InformationGain, Unary
from tacit.functions.polynomials import Polynomial, as_fraction, degree_of, multiply

__all__ = ["Entropy", "Pairing", "as_entropy"]

Frozen = tuple[tuple[tuple[tuple[int, int], ...], Number], ...]


@dataclass(frozen=True)
class Entropy:
    """(sum of coefficient * h(argument) + rest) / total; every argument, ``rest`` and ``total`` are affine."""

    terms: tuple[tuple[Number, Polynomial], ...]
    rest: Polynomial
    total: Polynomial

    def pairings(self) -> tuple[Pairing, ...]:
        """The ways to write the terms as pairs h(u + v) - h(u) - h(v) and single terms, at most a few."""
        left = {_freeze(argument): number for number, argument in self.terms}
        return tuple(dict.fromkeys(_pairings(left)))[:PAIRINGS_MAX]


@dataclass(frozen=True)
class Pairing:
    """coefficient * (h(u + v) - h(u) - h(v)) for each of ``pairs``, coefficient * h(t) for each of ``singles``."""

    pairs: tuple[tuple[Number, Frozen, Frozen], ...]
    singles: tuple[tuple[Number, Frozen], ...]


PAIRINGS_MAX = 2
PARTS_MAX = 10  # beyond this only the set of all candidates is tried as the parts of a sum


def _pairings(left: dict[Frozen, Number]) -> Iterator[Pairing]:
    """Take the longest argument that is the sum of others of the opposite sign; the rest follows in the same way."""
    for whole in sorted(left, key=len, reverse=True):
        number = left[whole]
        found = False
        for parts in _splits(whole, [key for key, other in left.items() if other == -number]):
            found = True
            rest = {key: other for key, other in left.items() if key != whole and key not in parts}
            for pairing in _pairings(rest):
                yield Pairing((*_chain(number, parts), *pairing.pairs), pairing.singles)
        if found:
            return
    yield Pairing((), tuple((number, key) for key, number in left.items()))


def _splits(whole: Frozen, candidates: list[Frozen]) -> Iterator[tuple[Frozen, ...]]:
    """Sets of candidates (two or more) whose sum is ``whole``."""
    within = [key for key in candidates if {m for m, _ in key} <= {m for m, _ in whole}]
    sizes = range(2, len(within) + 1) if len(within) <= PARTS_MAX else [len(within)]
    for size in sizes:
        for parts in combinations(within, size):
            total: Polynomial = {}
            for part in parts:
                total = _plus(total, dict(part))
            if _freeze(total) == whole:
                yield parts


def _chain(number: Number, parts: tuple[Frozen, ...]) -> Iterator[tuple[Number, Frozen, Frozen]]:
    """h(a + b + c) - h(a) - h(b) - h(c) = S(a, b + c) + S(b, c)."""
    for k, part in enumerate(parts[:-1]):
        rest: Polynomial = {}
        for other in parts[k + 1 :]:
            rest = _plus(rest, dict(other))
        yield number, part, _freeze(rest)


@dataclass
class _Sum:
    terms: dict[Frozen, Number]
    rest: Polynomial
    total: Polynomial


def as_entropy(expression: Expression) -> Entropy | None:
    """The expression in that form, or None; at least one logarithm must take part."""
    parts = _parts(expression)
    if parts is None or not parts.terms:
        return None
    return Entropy(tuple((n, dict(argument)) for argument, n in parts.terms.items() if n), parts.rest, parts.total)


def _affine(expression: Expression) -> Polynomial | None:
    fraction = as_fraction(expression)
    if fraction is None or fraction.below or fraction.needs:
        return None
    polynomial = fraction.numerator()
    return polynomial if degree_of(polynomial) <= 1 else None


def _parts(expression: Expression) -> _Sum | None:
    one: Polynomial = {(): Number(1)}
    plain = _affine(expression)
    if plain is not None:
        return _Sum({}, plain, one)
    match expression:
        case Unary(operator="xlogx", operand=operand):
            argument = _affine(operand)
            return None if argument is None else _Sum({_freeze(argument): Number(1)}, {}, one)
        case Unary(operator="neg", operand=operand):
            return _scaled(_parts(operand), Number(-1))
        case Unary(operator="nonnegative" | "unit", operand=operand):
            return _parts(operand)
        case InformationGain():
            return _gain(expression)
        case Binary(operator="+" | "-", left=left, right=right):
            return _added(_parts(left), _parts(right), 1 if expression.operator == "+" else -1)
        case Binary(operator="*", left=left, right=right):
            for scale, part in ((_affine(left), right), (_affine(right), left)):
                if scale is not None and degree_of(scale) == 0:
                    return _scaled(_parts(part), scale.get((), Number(0)))
        case Binary(operator="/", left=left, right=right):
            above, below = _parts(left), _affine(right)
            if above is None or not below:
                return None
            if degree_of(below) == 0:
                return _scaled(above, 1 / below[()])
            if above.total == one:
                return _Sum(above.terms, above.rest, below)
    return None


def _freeze(polynomial: Polynomial) -> Frozen:
    return tuple(sorted(polynomial.items()))


def _gain(gain: InformationGain) -> _Sum | None:
    cells = [_affine(cell) for cell in (gain.c11, gain.c12, gain.c21, gain.c22)]
    if any(cell is None for cell in cells):
        return None
    c11, c12, c21, c22 = (cell or {} for cell in cells)
    total = _plus(_plus(c11, c12), _plus(c21, c22))
    terms: dict[Frozen, Number] = {}
    for argument, number in (
        *((cell, 1) for cell in (c11, c12, c21, c22)),
        *((margin, -1) for margin in (_plus(c11, c12), _plus(c21, c22), _plus(c11, c21), _plus(c12, c22))),
        (total, 1),
    ):
        key = _freeze(argument)
        terms[key] = terms.get(key, Number(0)) + number
    return _Sum(terms, {}, total) if total else None


def _plus(a: Polynomial, b: Polynomial, sign: int = 1) -> Polynomial:
    total = dict(a)
    for monomial, number in b.items():
        total[monomial] = total.get(monomial, Number(0)) + sign * number
    return {monomial: number for monomial, number in total.items() if number}


def _scaled(a: _Sum | None, number: Number) -> _Sum | None:
    if a is None:
        return None
    rest = {monomial: x * number for monomial, x in a.rest.items() if number}
    return _Sum({key: x * number for key, x in a.terms.items()}, rest, a.total)


def _added(a: _Sum | None, b: _Sum | None, sign: int) -> _Sum | None:
    if a is None or b is None:
        return None
    if a.total != b.total:  # a plain number is a multiple of the other's total
        for one, other, first in ((a, b, True), (b, a, False)):
            if not one.terms and degree_of(one.rest) == 0 and degree_of(one.total) == 0:
                lifted = _Sum({}, multiply(one.rest, other.total), other.total)
                return _added(lifted, b, sign) if first else _added(a, lifted, sign)
        return None
    terms = dict(a.terms)
    for key, number in b.terms.items():
        terms[key] = terms.get(key, Number(0)) + sign * number
    return _Sum(terms, _plus(a.rest, b.rest, sign), a.total)
