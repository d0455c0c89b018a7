"""Expressions over a statistics vector: the trees that watches are made of.

A tree is immutable and knows nothing of SQL, time or sites. ``Variable(j)`` is component j of the global
statistics vector (a sum or a count over all sites). The language lowers every aggregate to such trees, for
example ``AVG(x)`` to ``Variable(sum_x) / Variable(count_x)``; domain errors are nan, as SQL's NULL.

>>> str(Variable(0) / Variable(1))
'(x0 / x1)'
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["Binary", "ChiSquare", "Constant", "Expression", "InformationGain", "Opaque", "Unary", "Variable"]

UNARY_OPERATORS = (
    "neg",
    "abs",
    "sqrt",
    "exp",
    "log",
    "sin",
    "cos",
    "tanh",
    "sigmoid",
    "xlogx",  # t * log2(t), with 0 log 0 = 0
    "nonnegative",  # max(t, 0): known to be >= 0 on the feasible set (a variance), so clamping is sound there
    "unit",  # clamp to [-1, 1]: known to hold on the feasible set (a correlation)
)
BINARY_OPERATORS = ("+", "-", "*", "/", "pow", "least", "greatest")


class Expression:
    """A tree over the statistics; built with Python's operators."""

    __slots__ = ()

    def __add__(self, other: Expression | float) -> Expression:
        return Binary("+", self, _lift(other))

    def __radd__(self, other: float) -> Expression:
        return Binary("+", _lift(other), self)

    def __sub__(self, other: Expression | float) -> Expression:
        return Binary("-", self, _lift(other))

    def __rsub__(self, other: float) -> Expression:
        return Binary("-", _lift(other), self)

    def __mul__(self, other: Expression | float) -> Expression:
        return Binary("*", self, _lift(other))

    def __rmul__(self, other: float) -> Expression:
        return Binary("*", _lift(other), self)

    def __truediv__(self, other: Expression | float) -> Expression:
        return Binary("/", self, _lift(other))

    def __rtruediv__(self, other: float) -> Expression:
        return Binary("/", _lift(other), self)

    def __pow__(self, other: Expression | float) -> Expression:
        return Binary("pow", self, _lift(other))

    def __neg__(self) -> Expression:
        return Unary("neg", self)


@dataclass(frozen=True, slots=True)
class Constant(Expression):
    """A number."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:g}"


@dataclass(frozen=True, slots=True)
class Variable(Expression):
    """Component ``index`` of the global statistics vector."""

    index: int

    def __str__(self) -> str:
        return f"x{self.index}"


@dataclass(frozen=True, slots=True)
class Unary(Expression):
    """A function of one expression; ``operator`` is one of UNARY_OPERATORS."""

    operator: str
    operand: Expression

    def __str__(self) -> str:
        return f"-{self.operand}" if self.operator == "neg" else f"{self.operator}({self.operand})"


@dataclass(frozen=True, slots=True)
class Binary(Expression):
    """A function of two expressions; ``operator`` is one of BINARY_OPERATORS."""

    operator: str
    left: Expression
    right: Expression

    def __str__(self) -> str:
        if self.operator in ("+", "-", "*", "/"):
            return f"({self.left} {self.operator} {self.right})"
        return f"{self.operator}({self.left}, {self.right})"


@dataclass(frozen=True, slots=True)
class InformationGain(Expression):
    """Mutual information, in bits, of a 2x2 table of non-negative cells (c11, c12, c21, c22), normalised inside.

    An empty table has no value (nan); 0 log 0 = 0.
    """

    c11: Expression
    c12: Expression
    c21: Expression
    c22: Expression

    def __str__(self) -> str:
        return f"information_gain({self.c11}, {self.c12}, {self.c21}, {self.c22})"


@dataclass(frozen=True, slots=True)
class ChiSquare(Expression):
    """Pearson's chi-square of a 2x2 table of counts: N (c11 c22 - c12 c21)^2 / (product of the margins).

    A table with an empty row or column has no value (nan).
    """

    c11: Expression
    c12: Expression
    c21: Expression
    c22: Expression

    def __str__(self) -> str:
        return f"chi_square({self.c11}, {self.c12}, {self.c21}, {self.c22})"


@dataclass(frozen=True, slots=True)
class Opaque(Expression):
    """A Python callable of the argument values (each an array), with a declared Lipschitz constant.

    The constant is with respect to the Euclidean norm of the argument vector. Without one, ``unsound=True``
    must be said, and every answer that rests on it says so too.
    """

    name: str
    function: Callable[..., object]
    arguments: tuple[Expression, ...]
    lipschitz: float | None = None
    unsound: bool = False

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.arguments))})"


def _lift(value: Expression | float) -> Expression:
    return value if isinstance(value, Expression) else Constant(float(value))
