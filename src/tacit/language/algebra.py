"""Arithmetic and elementary functions over aggregates, with constants folded as they are met."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from tacit.functions.expressions import Binary, Constant, Expression, Unary

__all__ = ["SCALARS", "NoValueError", "Scalar", "always_zero", "binary", "unary"]


class NoValueError(ArithmeticError):
    """A constant expression that has no (finite) value."""


_UNARY: dict[str, Callable[[float], float]] = {
    "neg": lambda t: -t,
    "abs": abs,
    "sqrt": math.sqrt,
    "exp": math.exp,
    "log": math.log,
    "sin": math.sin,
    "cos": math.cos,
    "tanh": math.tanh,
    "sigmoid": lambda t: 0.5 * (1.0 + math.tanh(0.5 * t)),
}
_BINARY: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
    "pow": math.pow,
    "least": min,
    "greatest": max,
}


def unary(operator: str, operand: Expression) -> Expression:
    """The operator applied; a constant if the operand is one.

    >>> unary("sqrt", Constant(9.0))
    Constant(value=3.0)
    """
    if isinstance(operand, Constant):
        return _constant(lambda: _UNARY[operator](operand.value))
    return Unary(operator, operand)


def binary(operator: str, left: Expression, right: Expression) -> Expression:
    """The operator applied; a constant if both sides are.

    >>> binary("-", Constant(2.0), Constant(2.0))
    Constant(value=0.0)
    """
    if isinstance(left, Constant) and isinstance(right, Constant):
        return _constant(lambda: _BINARY[operator](left.value, right.value))
    return Binary(operator, left, right)


def _constant(compute: Callable[[], float]) -> Constant:
    try:
        value = compute()
    except (ArithmeticError, ValueError):
        raise NoValueError from None
    if not math.isfinite(value):
        raise NoValueError
    return Constant(value)


def always_zero(expression: Expression) -> bool:
    """Is the expression 0 (or without a value) whatever the statistics are, as far as its shape shows?

    >>> from tacit.functions.expressions import Variable
    >>> always_zero(Variable(0) - Variable(0)), always_zero(Variable(0))
    (True, False)
    """
    match expression:
        case Constant(value):
            return value == 0
        case Unary("neg" | "abs" | "sqrt" | "sin" | "tanh", operand):
            return always_zero(operand)
        case Binary("*", left, right):
            return always_zero(left) or always_zero(right)
        case Binary("/", left, _):
            return always_zero(left)
        case Binary("-", left, right) if left == right:
            return True
        case Binary("+" | "-", left, right):
            return always_zero(left) and always_zero(right)
    return False


@dataclass(frozen=True, slots=True)
class Scalar:
    """A function of numbers that may stand over aggregates; ``most`` is None when it takes any number."""

    usage: str
    build: Callable[..., Expression]
    least: int = 1
    most: int | None = 1


def _simple(operator: str) -> Scalar:
    return Scalar(f"{operator}(x)", lambda operand: unary(operator, operand))


def _log(base_or_operand: Expression, operand: Expression | None = None) -> Expression:
    if operand is None:
        return unary("log", base_or_operand)
    base = unary("log", base_or_operand)
    if always_zero(base):
        raise NoValueError
    return binary("/", unary("log", operand), base)


def _chain(operator: str) -> Scalar:
    def build(*operands: Expression) -> Expression:
        result = operands[0]
        for operand in operands[1:]:
            result = binary(operator, result, operand)
        return result

    return Scalar(f"{operator}(x, y, …)", build, 2, None)


_POWER = Scalar("power(x, y)", lambda base, exponent: binary("pow", base, exponent), 2, 2)

SCALARS: dict[str, Scalar] = {
    **{name: _simple(name) for name in ("abs", "sqrt", "exp", "sin", "cos", "tanh", "sigmoid")},
    "ln": Scalar("ln(x)", _log),
    "log": Scalar("log(x) or log(base, x)", _log, 1, 2),
    "log2": Scalar("log2(x)", lambda operand: _log(Constant(2.0), operand)),
    "log10": Scalar("log10(x)", lambda operand: _log(Constant(10.0), operand)),
    "power": _POWER,
    "pow": _POWER,
    "least": _chain("least"),
    "greatest": _chain("greatest"),
    "negative": Scalar("negative(x)", lambda operand: unary("neg", operand)),
    "pi": Scalar("pi()", lambda: Constant(math.pi), 0, 0),
    "e": Scalar("e()", lambda: Constant(math.e), 0, 0),
}
