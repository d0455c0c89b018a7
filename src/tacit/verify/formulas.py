"""Values over aggregates: DuckDB computes the aggregates, each from its definition, and Python what stands over them.

What has no value is None, as SQL's NULL. Rows without a value (NULL or NaN) are skipped. No sums are shared, shifted or
kept: an average is DuckDB's average over all rows of the window.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from tacit.language.dialect import Margin
from tacit.verify.spark_sql import duck_sql, spark_text
from tacit.vocabulary.errors import OptionError

__all__ = ["Formulas", "Value", "holds"]

Value = float | None

_ROUNDING = 1e-9  # relative: sums of doubles depend on the order in which they are added


@dataclass(slots=True)
class Formulas:
    """The aggregates that some trees name, as columns of SQL, and the trees' values once these are known."""

    items: Mapping[str, exp.Expr]
    aliases: Sequence[str]
    columns: dict[str, str] = field(default_factory=dict)  # by the SQL of an aggregate its name as a column

    def add(self, tree: exp.Expr) -> None:
        """Note the aggregates of a tree."""
        self._value(tree, None)

    def value(self, tree: exp.Expr, row: Mapping[str, Value]) -> Value:
        """What a tree says, given the values of its aggregates by their columns."""
        value = self._value(tree, row)
        return None if value is None or math.isnan(value) else value

    def _value(self, tree: exp.Expr, row: Mapping[str, Value] | None) -> Value:
        match tree:
            case exp.Paren():
                return self._value(tree.this, row)
            case exp.Literal():
                return float(tree.name)
            case exp.Neg():
                return _each(lambda a: -a, self._value(tree.this, row))
            case exp.Column():
                if tree.name.casefold() in self.items:
                    return self._value(self.items[tree.name.casefold()], row)
                raise OptionError(f"{tree.name} is not an item of SELECT")
            case exp.Filter():
                return self._aggregate(tree.this, tree.expression.this, row)
            case exp.Anonymous():
                name = str(tree.this).casefold()
                if name in _AGGREGATES:
                    return self._aggregate(tree, None, row)
                if name in _SCALARS:
                    return _each(_SCALARS[name], *(self._value(each, row) for each in tree.expressions))
        if type(tree) in _OPERATORS:
            left, right = self._value(tree.this, row), self._value(tree.expression, row)
            return _each(_OPERATORS[type(tree)], left, right)
        raise OptionError(f"the judge does not know {spark_text(tree)}")

    def _aggregate(self, call: exp.Expr, condition: exp.Expr | None, row: Mapping[str, Value] | None) -> Value:
        columns, combine = _AGGREGATES[str(call.this).casefold()]
        arguments = [self._sql(each) for each in call.expressions if not isinstance(each, exp.Star)]
        where = "TRUE" if condition is None else self._sql(condition)
        names = [self._column(sql) for sql in columns(arguments, where)]
        return 1.0 if row is None else combine(*(row[name] for name in names))

    def _sql(self, tree: exp.Expr) -> str:
        return duck_sql(spark_text(tree), self.aliases)

    def _column(self, sql: str) -> str:
        return self.columns.setdefault(sql, f"a{len(self.columns)}")


def holds(
    formulas: Formulas, tree: exp.Expr, row: Mapping[str, Value], leniency: int, *, negated: bool = False
) -> bool:
    """Does a condition hold, with every comparison easier to meet by ``leniency`` margins (-1: harder)?

    NOT is pushed down to the comparisons; one without a value is not met, and neither is its negation.
    """
    match tree:
        case exp.Paren():
            return holds(formulas, tree.this, row, leniency, negated=negated)
        case exp.Not():
            return holds(formulas, tree.this, row, leniency, negated=not negated)
        case exp.And() | exp.Or():
            parts = (holds(formulas, each, row, leniency, negated=negated) for each in (tree.this, tree.expression))
            return all(parts) if isinstance(tree, exp.And) != negated else any(parts)
        case Margin():
            margin = formulas.value(tree.expression, {})
            assert margin is not None
            return _met(formulas, tree.this, row, leniency * margin, leniency, negated)
    return _met(formulas, tree, row, 0.0, leniency, negated)


def _met(
    formulas: Formulas, tree: exp.Expr, row: Mapping[str, Value], give: float, leniency: int, negated: bool
) -> bool:
    while isinstance(tree, exp.Paren | exp.Not):
        negated ^= isinstance(tree, exp.Not)
        tree = tree.this
    if isinstance(tree, exp.Between):
        low = _compared(formulas, tree.this, tree.args["low"], "<" if negated else ">=", row, give, leniency)
        high = _compared(formulas, tree.this, tree.args["high"], ">" if negated else "<=", row, give, leniency)
        return (low or high) if negated else (low and high)
    operator = _COMPARISONS[type(tree)]
    return _compared(
        formulas, tree.this, tree.expression, _NEGATED[operator] if negated else operator, row, give, leniency
    )


def _compared(
    formulas: Formulas,
    left: exp.Expr,
    right: exp.Expr,
    operator: str,
    row: Mapping[str, Value],
    give: float,
    leniency: int,
) -> bool:
    a, b = formulas.value(left, row), formulas.value(right, row)
    if a is None or b is None:
        return False
    give += leniency * _ROUNDING * (1.0 + abs(a) + abs(b))
    match operator:
        case ">":
            return a > b - give
        case ">=":
            return a >= b - give
        case "<":
            return a < b + give
    return a <= b + give


_COMPARISONS: dict[type[exp.Expr], str] = {exp.GT: ">", exp.GTE: ">=", exp.LT: "<", exp.LTE: "<="}
_NEGATED = {">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_OPERATORS: dict[type[exp.Expr], Callable[[float, float], float]] = {
    exp.Add: lambda a, b: a + b,
    exp.Sub: lambda a, b: a - b,
    exp.Mul: lambda a, b: a * b,
    exp.Div: lambda a, b: a / b,
}


def _each(function: Callable[..., float], *values: Value) -> Value:
    """The function of the values; None where one is missing, or where the function has no value."""
    if any(value is None or math.isnan(value) for value in values):
        return None
    try:
        found = float(function(*values))
    except (ArithmeticError, ValueError):
        return None
    return None if math.isnan(found) else found


def _log(*values: float) -> float:
    return math.log(values[0]) if len(values) == 1 else math.log(values[1]) / math.log(values[0])


_SCALARS: dict[str, Callable[..., float]] = {
    "abs": abs, "sqrt": math.sqrt, "exp": math.exp, "ln": math.log, "log": _log, "log2": math.log2,
    "log10": math.log10, "power": math.pow, "pow": math.pow, "sin": math.sin, "cos": math.cos, "tanh": math.tanh,
    "sigmoid": lambda x: 1.0 / (1.0 + math.exp(-x)) if x > -700 else 0.0, "least": min, "greatest": max,
    "negative": lambda x: -x, "pi": lambda: math.pi, "e": lambda: math.e,
}  # fmt: skip


# The aggregates. Each says which columns of SQL it needs, and how its value follows from them.

Columns = Callable[[Sequence[str], str], list[str]]
Combine = Callable[..., Value]


def _number(sql: str) -> str:
    return f"NULLIF(CAST(({sql}) AS DOUBLE), CAST('nan' AS DOUBLE))"


def _there(sql: str) -> str:
    return f"(({sql}) IS NOT NULL AND NOT (typeof({sql}) IN ('DOUBLE', 'FLOAT') AND CAST(({sql}) AS VARCHAR) = 'nan'))"


def _over(function: str) -> Columns:
    """An aggregate of DuckDB over rows in which all arguments have a value."""

    def columns(arguments: Sequence[str], where: str) -> list[str]:
        numbers = [_number(each) for each in arguments]
        there = " AND ".join(f"{each} IS NOT NULL" for each in numbers)
        return [f"{function}({', '.join(numbers)}) FILTER (WHERE ({where}) AND {there})"]

    return columns


def _rows(arguments: Sequence[str], where: str) -> list[str]:
    there = "".join(f" AND {_there(each)}" for each in arguments)
    return [f"count(*) FILTER (WHERE ({where}){there})"]


def _hits(arguments: Sequence[str], where: str) -> list[str]:
    return [f"count(*) FILTER (WHERE ({where}) AND ({arguments[0]}))"]


def _cells(arguments: Sequence[str], where: str) -> list[str]:
    c, d = (f"({each})" for each in arguments)
    pairs = ((c, d), (c, f"NOT {d}"), (f"NOT {c}", d), (f"NOT {c}", f"NOT {d}"))
    return [f"count(*) FILTER (WHERE ({where}) AND {a} AND {b})" for a, b in pairs]


def _masses(arguments: Sequence[str], where: str) -> list[str]:
    if len(arguments) == 1:
        c = f"({arguments[0]})"
        return [f"count(*) FILTER (WHERE ({where}) AND {each})" for each in (c, f"NOT {c}")]
    return [column for each in arguments for column in _over("fsum")([each], where)]


def _same(value: Value) -> Value:
    return value


def _or_zero(value: Value) -> Value:
    return 0.0 if value is None else value


def _entropy(*masses: Value) -> Value:
    known = [mass or 0.0 for mass in masses]
    total = math.fsum(known)
    if total <= 0 or min(known) < 0:
        return None
    return -math.fsum(mass / total * math.log2(mass / total) for mass in known if mass > 0)


def _information_gain(both: float, first: float, second: float, neither: float) -> Value:
    parts = (
        _entropy(both + first, second + neither), _entropy(both + second, first + neither),
        _entropy(both, first, second, neither),
    )  # fmt: skip
    return None if None in parts else parts[0] + parts[1] - parts[2]  # type: ignore[operator]


def _chi_square(both: float, first: float, second: float, neither: float) -> Value:
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    rows = both + first + second + neither
    return None if margins == 0 else rows * (both * neither - first * second) ** 2 / margins


_AGGREGATES: dict[str, tuple[Columns, Combine]] = {
    "sum": (_over("fsum"), _or_zero),
    "count": (_rows, _same),
    "count_if": (_hits, _same),
    "avg": (_over("favg"), _same),
    "mean": (_over("favg"), _same),
    "var_pop": (_over("var_pop"), _same),
    "var_samp": (_over("var_samp"), _same),
    "variance": (_over("var_samp"), _same),
    "stddev": (_over("stddev_samp"), _same),
    "std": (_over("stddev_samp"), _same),
    "stddev_samp": (_over("stddev_samp"), _same),
    "stddev_pop": (_over("stddev_pop"), _same),
    "covar_pop": (_over("covar_pop"), _same),
    "covar_samp": (_over("covar_samp"), _same),
    "corr": (_over("corr"), _same),
    "regr_slope": (_over("regr_slope"), _same),
    "entropy": (_masses, _entropy),
    "information_gain": (_cells, _information_gain),
    "chi_square": (_cells, _chi_square),
}
