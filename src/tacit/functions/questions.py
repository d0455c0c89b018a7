"""From a goal to questions about a ball: each comparison in the form that can be answered best.

"Is f > T?" is simplified before it is asked. Monotone outer functions move into the threshold: ``sqrt(g) > T`` is
``g > T^2``. What is left is asked as an affine or quadratic form (a fraction P/Q of degree at most 2: the sign of
P - T Q, with every factor of Q keeping its sign), as an entropy, or as a program. A *lenient* question welcomes points
where f has no value: the answer "not met" is right there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from tacit.functions.correlations import ask_chi_square, ask_correlation
from tacit.functions.entropies import Entropy, as_entropy
from tacit.functions.expressions import Binary, ChiSquare, Constant, Expression, InformationGain, Unary
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition
from tacit.functions.polynomials import Fraction, as_fraction, degree_of
from tacit.functions.shapes import (
    All,
    Any_,
    Ask,
    Feasible,
    Move,
    Question,
    fraction_nonnegative,
    polynomial_nonnegative,
)
from tacit.vocabulary.arrays import FloatArray

__all__ = ["ask", "ask_condition"]

Peel = Callable[[Expression, Question, Feasible], Ask]


def ask_condition(goal: Condition, met: bool, feasible: Feasible) -> Ask:
    """What must be proved so that the answer *met* (or *not met*) stays right, margins included."""
    match goal:
        case Comparison(expression, operator, threshold, margin):
            greater = operator.startswith(">")
            if met:
                bound = threshold - margin if greater else threshold + margin
                question = Question(greater, operator in (">", "<"), False, 0, bound)
            else:
                bound = threshold + margin if greater else threshold - margin
                question = Question(not greater, operator in (">=", "<="), True, 0, bound)
            return ask(expression, question, feasible)
        case AllOf(parts):
            asked = tuple(ask_condition(part, met, feasible) for part in parts)
            return All(asked) if met else Any_(asked)
        case AnyOf(parts):
            asked = tuple(ask_condition(part, met, feasible) for part in parts)
            return Any_(asked) if met else All(asked)
    raise TypeError(f"not a condition: {goal!r}")


def ask(expression: Expression, question: Question, feasible: Feasible) -> Ask:
    """Simplify the question about the expression as far as possible."""
    fraction = as_fraction(expression)
    if fraction is not None and _small(fraction):
        if fraction_nonnegative(fraction, feasible):
            question = question.moved(_below_zero_is_sure(question.above, question.strict))
        return replace(question, fraction=fraction)
    if isinstance(expression, InformationGain | ChiSquare):
        question = question.moved(_below_zero_is_sure(question.above, question.strict))
    entropy = as_entropy(expression)
    if entropy is not None and _entropy_possible(entropy, feasible):
        ways = tuple(replace(question, entropy=entropy, pairing=pairing) for pairing in entropy.pairings())
        return ways[0] if len(ways) == 1 else Any_(ways)
    correlation = ask_correlation(expression, question, feasible)
    if correlation is not None:
        return correlation
    chi_square = ask_chi_square(expression, question, feasible)
    if chi_square is not None:  # beside empty cells, where the orthant matters, the program sees more
        return Any_((chi_square, replace(question, expression=expression)))
    match expression:
        case Unary(operator="neg", operand=operand):
            return ask(operand, question.moved(np.negative, flip=True), feasible)
        case Unary(operator="abs", operand=operand):
            return _absolute(operand, question, feasible)
        case Unary(operator=operator, operand=operand) if operator in _PEELED:
            return _PEELED[operator](operand, question, feasible)
    inner = _without_constant(expression, question)
    if inner is not None:
        return ask(*inner, feasible)
    return replace(question, expression=expression)


def _without_constant(expression: Expression, question: Question) -> tuple[Expression, Question] | None:
    """g + c > T is g > T - c, and so on; the bound moves with outward rounding."""
    above = question.above
    match expression:
        case (
            Binary(operator="+", left=part, right=Constant(value=c))
            | Binary(operator="+", left=Constant(value=c), right=part)
        ):
            return part, question.moved(_rounded(lambda t: t - c, above))
        case Binary(operator="-", left=part, right=Constant(value=c)):
            return part, question.moved(_rounded(lambda t: t + c, above))
        case Binary(operator="-", left=Constant(value=c), right=part):
            return part, question.moved(_rounded(lambda t: c - t, not above), flip=True)
        case (
            Binary(operator="*", left=part, right=Constant(value=c))
            | Binary(operator="*", left=Constant(value=c), right=part)
        ) if c != 0.0:
            return part, question.moved(_rounded(lambda t: t / c, above == (c > 0.0)), flip=c < 0.0)
        case Binary(operator="/", left=part, right=Constant(value=c)) if c != 0.0:
            return part, question.moved(_rounded(lambda t: t * c, above == (c > 0.0)), flip=c < 0.0)
    return None


def _small(fraction: Fraction) -> bool:
    pieces = [fraction.numerator(), fraction.denominator(), *(f.polynomial() for f in fraction.needs)]
    return all(degree_of(piece) <= 2 for piece in pieces)


def _entropy_possible(entropy: Entropy, feasible: Feasible) -> bool:
    arguments = [argument for _, argument in entropy.terms]
    return all(polynomial_nonnegative(piece, feasible) for piece in (*arguments, entropy.total))


def _below_zero_is_sure(above: bool, strict: bool) -> Move:
    """f >= 0 is known: f > T is sure for T < 0, and f < T never is."""

    def move(t: FloatArray) -> FloatArray:
        if above:
            return np.where((t < 0.0) | ((t == 0.0) & (not strict)), -np.inf, t)
        return np.where((t < 0.0) | ((t == 0.0) & strict), -np.inf, t)

    return move


def _rounded(move: Move, above: bool) -> Move:
    """The moved bound, made a little stricter than the rounding of one operation could have made it laxer."""
    toward = np.inf if above else -np.inf

    def outward(t: FloatArray) -> FloatArray:
        moved = move(t)
        return np.where(np.isfinite(moved), np.nextafter(moved, toward), moved)

    return outward


def _stricter(t: FloatArray, above: bool) -> FloatArray:
    """By more than the mathematical library's error."""
    slack = 1e-15 * np.abs(t) + 1e-300
    return np.where(np.isfinite(t), t + slack if above else t - slack, t)


def _absolute(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    """abs(g) > T where g > T or g < -T; abs(g) < T where both g < T and g > -T."""
    upper = ask(operand, question, feasible)
    lower = ask(operand, question.moved(np.negative, flip=True), feasible)
    if not question.above:
        return All((upper, lower))
    threshold = question.static()
    if threshold is None:  # a tracked value: below 0 nothing is asked but a value

        def sure(t: FloatArray) -> FloatArray:
            return np.where(t <= 0.0, -np.inf, t)

        upper = ask(operand, question.moved(sure), feasible)
        return Any_((upper, lower))
    if threshold < 0.0 or (threshold == 0.0 and not question.strict):
        return ask(operand, question.moved(lambda t: np.full_like(t, -np.inf)), feasible)
    return Any_((upper, lower))


def _root(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    """sqrt(g) > T is g > T^2, for T >= 0."""
    above, strict = question.above, question.strict

    def move(t: FloatArray) -> FloatArray:
        squared = _square_stricter(t, above)
        if above:
            return np.where(t < 0.0, -np.inf, squared)
        return np.where((t < 0.0) | ((t == 0.0) & strict), -np.inf, squared)

    asked = ask(operand, question.moved(move), feasible)
    threshold = question.static()
    surely_enough = above and threshold is not None and threshold >= 0.0
    return asked if surely_enough else _with_domain(asked, operand, question, feasible, strict=False)


def _with_domain(asked: Ask, operand: Expression, question: Question, feasible: Feasible, strict: bool) -> Ask:
    """The argument must also be >= 0 (> 0), unless undefined points are welcome or it is known."""
    fraction = as_fraction(operand)
    known = fraction is not None and _small(fraction) and fraction_nonnegative(fraction, feasible)
    if question.lenient or (known and not strict):
        return asked
    return All((asked, ask(operand, Question(True, strict, False, 0, 0.0), feasible)))


def _square_stricter(t: FloatArray, above: bool) -> FloatArray:
    """t * t, exactly where it fits (Dekker's product tells), otherwise rounded to the stricter side."""
    with np.errstate(all="ignore"):
        square = t * t
        big = t * 134217729.0
        head = big - (big - t)
        tail = t - head
        error = ((head * head - square) + 2.0 * head * tail) + tail * tail
        exact = (error == 0.0) & np.isfinite(error) & (square > 1e-280)
        exact |= t == 0.0
    return np.where(exact, square, _stricter(square, above))


def _exponential(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    above = question.above

    def move(t: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            return np.where(t <= 0.0, -np.inf, _stricter(np.log(np.maximum(t, 1e-320)), above))

    # Where exp overflows there is no value: a strict question must also stay below that.
    asked = ask(operand, question.moved(move), feasible)
    if question.lenient or not above:
        return asked
    return All((asked, ask(operand, Question(False, True, False, 0, 709.0), feasible)))


def _logarithm(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    above = question.above

    def move(t: FloatArray) -> FloatArray:
        with np.errstate(all="ignore"):
            moved = _stricter(np.exp(t), above)
        return np.maximum(moved, 5e-324) if above else np.where(np.isneginf(t), -np.inf, moved)

    asked = ask(operand, question.moved(move), feasible)
    return asked if above else _with_domain(asked, operand, question, feasible, strict=True)


def _bounded(low: float, high: float, inverse: Move) -> Peel:
    """A function that climbs from low to high without reaching them."""

    def peel(operand: Expression, question: Question, feasible: Feasible) -> Ask:
        above = question.above

        def move(t: FloatArray) -> FloatArray:
            with np.errstate(all="ignore"):
                # At its ends the function reaches them after rounding: stay a little inside.
                inner = _stricter(inverse(np.clip(t, low + 1e-15, high - 1e-15)), above)
                inner = inner + (1e-14 if above else -1e-14) * (1.0 + np.abs(inner))
            sure, never = (t < low, t >= high) if above else (t > high, t <= low)
            return np.where(sure, -np.inf if above else np.inf, np.where(never, np.inf if above else -np.inf, inner))

        return ask(operand, question.moved(move), feasible)

    return peel


def _unit(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    """A clamp to [-1, 1] that changes nothing on the feasible set."""
    above, strict = question.above, question.strict

    def move(t: FloatArray) -> FloatArray:
        if above:
            never = (t >= 1.0) if strict else (t > 1.0)
            return np.where(t < -1.0, -np.inf, np.where(never, np.inf, t))
        never = (t <= -1.0) if strict else (t < -1.0)
        return np.where(t > 1.0, np.inf, np.where(never, -np.inf, t))

    return ask(operand, replace(question.moved(move), unit=True), feasible)


def _clamped(operand: Expression, question: Question, feasible: Feasible) -> Ask:
    """max(t, 0), known to change nothing: questions below 0 answer themselves."""
    return ask(operand, question.moved(_below_zero_is_sure(question.above, question.strict)), feasible)


_PEELED: Mapping[str, Peel] = {
    "sqrt": _root,
    "exp": _exponential,
    "log": _logarithm,
    "tanh": _bounded(-1.0, 1.0, np.arctanh),
    "sigmoid": _bounded(0.0, 1.0, lambda t: np.log(t) - np.log1p(-t)),
    "unit": _unit,
    "nonnegative": _clamped,
}
