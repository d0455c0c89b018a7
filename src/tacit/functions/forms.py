"""What a planner asks of expressions: their variables, their degree, themselves with parts replaced, their kind.

An expression that is homogeneous of degree 0 in the statistics does not change when all of them are divided by a
shared count: it may be watched over means, with the count as the weight of a site.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tacit.functions.entropies import as_entropy
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
from tacit.functions.goals import Goal, Track, map_goal
from tacit.functions.polynomials import Polynomial, degree_of
from tacit.functions.questions import ask, ask_condition
from tacit.functions.shapes import Feasible, Question, questions_of

__all__ = ["degree", "kind_of", "means_form", "opaques", "substitute", "variables"]

ANY_DEGREE = float("inf")  # the number 0 is homogeneous of every degree


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct parts."""
    match expression:
        case Unary(operand=operand):
            return (operand,)
        case Binary(left=left, right=right):
            return (left, right)
        case InformationGain(c11, c12, c21, c22) | ChiSquare(c11, c12, c21, c22):
            return (c11, c12, c21, c22)
        case Opaque(arguments=arguments):
            return arguments
    return ()


def variables(expression: Expression) -> frozenset[int]:
    """The components that the expression reads.

    >>> sorted(variables(Variable(2) / (Variable(0) + 1.0)))
    [0, 2]
    """
    if isinstance(expression, Variable):
        return frozenset({expression.index})
    return frozenset().union(*(variables(part) for part in children(expression)))


def opaques(expression: Expression) -> list[Opaque]:
    """The Python functions in the expression, as often as they stand there."""
    inner = [found for part in children(expression) for found in opaques(part)]
    return [expression, *inner] if isinstance(expression, Opaque) else inner


def substitute(expression: Expression, replacements: Mapping[int, Expression]) -> Expression:
    """The expression with variables replaced, all at once.

    >>> str(substitute(Variable(0) / Variable(1), {0: Variable(1), 1: Variable(0)}))
    '(x1 / x0)'
    """
    match expression:
        case Variable(index=index):
            return replacements.get(index, expression)
        case Unary(operand=operand):
            return replace(expression, operand=substitute(operand, replacements))
        case Binary(left=left, right=right):
            return replace(expression, left=substitute(left, replacements), right=substitute(right, replacements))
        case InformationGain() | ChiSquare():
            return type(expression)(*(substitute(cell, replacements) for cell in children(expression)))
        case Opaque(arguments=arguments):
            return replace(expression, arguments=tuple(substitute(part, replacements) for part in arguments))
    return expression


def degree(expression: Expression) -> float | None:
    """k when f(s x) = s^k f(x) for every s > 0, as far as the tree shows it; None otherwise.

    >>> total, count = Variable(0), Variable(1)
    >>> degree(total / count), degree(Unary("sqrt", total * count)), degree(count - 1.0)
    (0.0, 1.0, None)
    """
    found = _degree(expression)
    return 0.0 if found == ANY_DEGREE else found


def _degree(expression: Expression) -> float | None:
    match expression:
        case Constant(value=number):
            return ANY_DEGREE if number == 0.0 else 0.0
        case Variable():
            return 1.0
        case InformationGain():
            return 0.0 if _same(children(expression)) is not None else None
        case ChiSquare():
            return _same(children(expression))
        case Opaque(arguments=arguments):
            return 0.0 if all(_degree(part) in (0.0, ANY_DEGREE) for part in arguments) else None
        case Unary(operator="neg" | "abs" | "nonnegative", operand=operand):
            return _degree(operand)
        case Unary(operator="sqrt", operand=operand):
            inner = _degree(operand)
            return None if inner is None else inner / 2.0
        case Unary(operand=operand) if _degree(operand) in (0.0, ANY_DEGREE):
            return 0.0
        case Binary(operator="*" | "/", left=left, right=right):
            a, b = _degree(left), _degree(right)
            if a is None or b is None:
                return None
            if ANY_DEGREE in (a, b):
                return ANY_DEGREE if a == ANY_DEGREE else None
            return a + b if expression.operator == "*" else a - b
        case Binary(operator="pow", left=left, right=Constant(value=power)):
            base = _degree(left)
            return None if base is None or base == ANY_DEGREE else base * power
        case Binary(operator="pow", left=left, right=right):
            return 0.0 if _degree(left) == 0.0 and _degree(right) == 0.0 else None
        case Binary(left=left, right=right):
            together = _same((left, right))
            return together if together is not None else _entropy_degree(expression)
    return None


def _same(parts: tuple[Expression, ...]) -> float | None:
    """The degree that all parts have, if they have one."""
    degrees = [_degree(part) for part in parts]
    if any(one is None for one in degrees):
        return None
    told = {one for one in degrees if one != ANY_DEGREE}
    return ANY_DEGREE if not told else told.pop() if len(told) == 1 else None


def _entropy_degree(expression: Expression) -> float | None:
    """A sum of t log t is homogeneous of degree 1 exactly when its arguments, weighted, cancel."""
    entropy = as_entropy(expression)
    if entropy is None or degree_of(entropy.total) != 0:
        return None
    pieces = [argument for _, argument in entropy.terms] + [entropy.rest]
    if any(() in piece for piece in pieces):
        return None
    left: Polynomial = {}
    for number, argument in entropy.terms:
        for monomial, x in argument.items():
            left[monomial] = left.get(monomial, 0 * x) + number * x
    return None if any(left.values()) else 1.0


def means_form(goal: Goal, count: int) -> Goal | None:
    """The goal over means (every statistic divided by component ``count``, which becomes 1), or None.

    >>> from tacit.functions.goals import Comparison
    >>> str(means_form(Comparison(Variable(0) / Variable(1), ">", 2.0), 1).expression)
    '(x0 / 1)'
    """
    degrees: list[float | None] = []

    def look(expression: Expression) -> Expression:
        degrees.append(degree(expression))
        return substitute(expression, {count: Constant(1.0)})

    changed = map_goal(goal, look)
    return changed if all(one == 0.0 for one in degrees) else None


def kind_of(goal: Goal, nonnegative: tuple[bool, ...] | None = None) -> str:
    """How balls are judged for this goal, for EXPLAIN.

    >>> from tacit.functions.goals import Comparison
    >>> kind_of(Comparison(Variable(0) / Variable(1), ">", 2.0))
    'ratio, exact'
    """
    seen: list[int] = []

    def look(expression: Expression) -> Expression:
        seen.extend(variables(expression))
        return expression

    map_goal(goal, look)
    feasible = Feasible(nonnegative if nonnegative is not None else (True,) * (max(seen, default=0) + 1))
    if isinstance(goal, Track):
        asked = ask(goal.expression, Question(True, False, False, 0, None), feasible)
    else:
        asked = ask_condition(goal, True, feasible)
    return "; ".join(dict.fromkeys(_kind(question) for question in questions_of(asked)))


def _kind(question: Question) -> str:
    if question.fraction is not None:
        above, below = degree_of(question.fraction.numerator()), degree_of(question.fraction.denominator())
        if max(above, below) > 1:
            return "quadratic, exact"
        return "ratio, exact" if below else "affine, exact"
    if question.entropy is not None:
        return "entropy, chord bounds"
    if question.recipe is not None:
        return "geometric mean of quadratics, nearly exact"
    assert question.expression is not None
    opaques = _opaques(question.expression)
    if any(opaque.lipschitz is None for opaque in opaques):
        return "unsound"
    return "Lipschitz" if opaques else "interval, mean value, branch and bound"


def _opaques(expression: Expression) -> list[Opaque]:
    inner = [opaque for part in children(expression) for opaque in _opaques(part)]
    return [expression, *inner] if isinstance(expression, Opaque) else inner
