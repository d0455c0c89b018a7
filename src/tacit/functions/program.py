"""An expression as a program for the interval interpreter: arrays instead of a tree, equal parts computed once.

>>> from tacit.functions.expressions import Variable
>>> mean = Variable(0) / Variable(1)
>>> program = compile_programs([mean * mean + mean])
>>> program.stop[0] - program.start[0]  # x0, x1, their quotient, its square, the sum
5
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from tacit.functions import _kernels_interval as op
from tacit.functions.expressions import (
    Binary,
    ChiSquare,
    Constant,
    Expression,
    InformationGain,
    Opaque,
    Unary,
    Variable,
)
from tacit.vocabulary.arrays import FloatArray, IntArray

__all__ = ["Programs", "compile_programs"]

_UNARY = {
    "neg": op.NEGATE,
    "abs": op.ABSOLUTE,
    "sqrt": op.ROOT,
    "exp": op.EXPONENTIAL,
    "log": op.LOGARITHM,
    "sin": op.SINE,
    "cos": op.COSINE,
    "tanh": op.TANH,
    "sigmoid": op.SIGMOID,
    "xlogx": op.XLOGX,
    "nonnegative": op.NONNEGATIVE,
    "unit": op.UNIT,
}
_BINARY = {
    "+": op.ADD,
    "-": op.SUBTRACT,
    "*": op.MULTIPLY,
    "/": op.DIVIDE,
    "least": op.LEAST,
    "greatest": op.GREATEST,
    "pow": op.POWER,
}


@dataclass(frozen=True)
class Programs:
    """Several programs in the same arrays; program k is the rows ``start[k]`` to ``stop[k]`` of ``code``.

    ``opaques`` lists the calls of user functions with the slot where each one's anchor starts: its value at the
    estimate, its Lipschitz constant, then its arguments there.
    """

    code: IntArray
    constants: FloatArray
    operands: IntArray
    start: tuple[int, ...]
    stop: tuple[int, ...]
    opaques: tuple[tuple[Opaque, int], ...]
    anchors: int  # slots in all

    def placed(self, constants: int, operands: int) -> IntArray:
        """The code for a place where the constants and the operands begin at these rows of larger tables."""
        code = self.code.copy()
        code[code[:, 0] == op.CONSTANT, 1] += constants
        code[np.isin(code[:, 0], (op.POWER_INTEGER, op.POWER_REAL)), 2] += constants
        code[code[:, 0] == op.OPAQUE, 2] += operands
        return code


@dataclass
class _Writer:
    rows: list[tuple[int, int, int, int]] = field(default_factory=list)
    constants: list[float] = field(default_factory=list)
    operands: list[int] = field(default_factory=list)
    opaques: dict[Opaque, int] = field(default_factory=dict)
    anchors: int = 0
    start: int = 0
    seen: dict[tuple[int, ...], int] = field(default_factory=dict)

    def emit(self, operation: int, a: int = 0, b: int = 0, c: int = 0) -> int:
        key = (operation, a, b, c)
        if key not in self.seen:
            self.seen[key] = len(self.rows) - self.start
            self.rows.append(key)
        return self.seen[key]

    def constant(self, number: float) -> int:
        if number not in self.constants:
            self.constants.append(number)
        return self.constants.index(number)

    def write(self, expression: Expression) -> int:
        match expression:
            case Constant(value=number):
                return self.emit(op.CONSTANT, self.constant(number))
            case Variable(index=index):
                return self.emit(op.VARIABLE, index)
            case Unary(operator=operator, operand=operand):
                return self.emit(_UNARY[operator], self.write(operand))
            case Binary(operator="pow", left=left, right=Constant(value=power)):
                whole = power == int(power) and abs(power) < 1000
                return self.emit(op.POWER_INTEGER if whole else op.POWER_REAL, self.write(left), self.constant(power))
            case Binary(operator=operator, left=left, right=right):
                return self.emit(_BINARY[operator], self.write(left), self.write(right))
            case InformationGain():
                return self.write(_information_gain(expression))
            case ChiSquare():
                return self.write(_chi_square(expression))
            case Opaque():
                return self.opaque(expression)
        raise TypeError(f"not an expression: {expression!r}")

    def opaque(self, expression: Opaque) -> int:
        registers = [self.write(argument) for argument in expression.arguments]
        if expression not in self.opaques:
            self.opaques[expression] = self.anchors
            self.anchors += 2 + len(registers)
        first = len(self.operands)
        self.operands += registers
        return self.emit(op.OPAQUE, self.opaques[expression], first, len(registers))


def compile_programs(expressions: Iterable[Expression]) -> Programs:
    """Compile the expressions into one set of arrays."""
    writer, start, stop = _Writer(), [], []
    for expression in expressions:
        writer.start, writer.seen = len(writer.rows), {}
        last = writer.write(expression)
        if last != len(writer.rows) - writer.start - 1:  # the value must be the last register
            writer.rows.append((op.ADD, last, writer.emit(op.CONSTANT, writer.constant(0.0)), 0))
        start.append(writer.start)
        stop.append(len(writer.rows))
    return Programs(
        np.array(writer.rows, dtype=np.int64).reshape(-1, 4),
        np.array(writer.constants, dtype=np.float64),
        np.array(writer.operands, dtype=np.int64),
        tuple(start),
        tuple(stop),
        tuple(writer.opaques.items()),
        writer.anchors,
    )


def _information_gain(gain: InformationGain) -> Expression:
    cells = (gain.c11, gain.c12, gain.c21, gain.c22)
    rows = (gain.c11 + gain.c12, gain.c21 + gain.c22)
    columns = (gain.c11 + gain.c21, gain.c12 + gain.c22)
    total = rows[0] + rows[1]
    score: Expression = Unary("xlogx", total)
    for cell in cells:
        score = score + Unary("xlogx", cell)
    for margin in (*rows, *columns):
        score = score - Unary("xlogx", margin)
    return Unary("unit", Unary("nonnegative", score / total))


def _chi_square(chi: ChiSquare) -> Expression:
    off = chi.c11 * chi.c22 - chi.c12 * chi.c21
    rows = (chi.c11 + chi.c12) * (chi.c21 + chi.c22)
    columns = (chi.c11 + chi.c21) * (chi.c12 + chi.c22)
    return (chi.c11 + chi.c12 + (chi.c21 + chi.c22)) * off**2.0 / (rows * columns)
