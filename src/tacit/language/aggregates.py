"""The aggregates: each lowers to a tree over sums of per-row contributions. One small function per aggregate.

NULL and NaN are skipped. Aggregates of second moments do not change when every value is shifted, so their sums are of
``x - centre`` with a rough mean as centre, which keeps the precision that squares of large numbers would lose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tacit.functions.expressions import ChiSquare, Expression, InformationGain, Unary, Variable
from tacit.language.rows import Row
from tacit.language.vector import VectorBuilder

__all__ = ["AGGREGATES", "Aggregate", "Call", "missing_text", "no_value_text"]


@dataclass(frozen=True, slots=True)
class Call:
    """An aggregate with its arguments read, its FILTER, and the vector it adds to. No rows: COUNT(*)."""

    rows: tuple[Row, ...]
    where: Row | None
    vector: VectorBuilder

    def count(self, *rows: Row) -> Variable:
        """In how many rows all of these have a value; without any, how many rows."""
        rows = _ordered(rows)

        def text(*texts: str) -> str:
            return f"CASE WHEN {_missing(rows, texts)} THEN 0D ELSE 1D END" if rows else "1D"

        shown = ", ".join(row.shown for row in rows) or "*"
        count = self.vector.add(f"count({shown})", text, rows, where=self.where, count=True)
        self.vector.counts(self._population(rows), count)
        return count

    def _population(self, rows: tuple[Row, ...]) -> tuple[str, ...]:
        return (self.where.shown if self.where else "", *(row.shown for row in rows))

    def hits(self, name: str, condition: Callable[..., str], *rows: Row) -> Variable:
        """How many rows meet a condition."""

        def text(*texts: str) -> str:
            return f"CASE WHEN {condition(*texts)} THEN 1D ELSE 0D END"

        return self.vector.add(name, text, rows, where=self.where, count=True)

    def sum(self, row: Row) -> Variable:
        """The sum of the values that are there; true counts as 1, false as 0."""
        if row.truth:
            return self.hits(f"count_if({row.shown})", lambda text: text, row)
        return self.vector.add(
            f"sum({row.shown})",
            lambda text: f"CASE WHEN {_missing((row,), (text,))} THEN 0D ELSE {_number(text)} END",
            [row],
            where=self.where,
            nonnegative=row.nonnegative,
        )

    def product(self, factors: tuple[Row, ...], among: tuple[Row, ...]) -> Variable:
        """The sum of the product of the centred factors, over the rows in which all of ``among`` have a value."""
        factors, among = _ordered(factors), _ordered(among)
        centres = {row.shown: self.vector.centre(row) for row in factors}

        def text(*texts: str) -> str:
            by_shown = {row.shown: text for row, text in zip(among, texts, strict=True)}
            terms = [f"({_number(by_shown[row.shown])} - {centres[row.shown]})" for row in factors]
            return f"CASE WHEN {_missing(among, texts)} THEN 0D ELSE {' * '.join(terms)} END"

        shown = f"{factors[0].shown} - centre" if len(factors) == 1 else f"({factors[0].shown} - centre)"
        others = [row.shown for row in among if row not in factors]
        square = len(factors) == 2 and factors[0] == factors[1]
        if len(factors) == 2:
            shown += "^2" if square else f" * ({factors[1].shown} - centre)"
        name = f"sum({shown})" + (f" beside {', '.join(others)}" if others else "")
        component = self.vector.add(name, text, among, where=self.where, nonnegative=square)
        self.vector.centred(self._population(among), [centres[row.shown] for row in factors], component)
        return component


def _ordered(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """In one order whatever the sentence's, so that CORR(x, y) and REGR_SLOPE(y, x) share their sums."""
    return tuple(sorted(rows, key=lambda row: row.shown))


def _number(text: str) -> str:
    return f"CAST({text} AS DOUBLE)"


def _missing(rows: tuple[Row, ...], texts: tuple[str, ...]) -> str:
    """Spark SQL that is true where one of the row expressions has no value."""
    return " OR ".join(missing_text(row, text) for row, text in zip(rows, texts, strict=True))


def missing_text(row: Row, text: str) -> str:
    """Spark SQL, never NULL, that is true where the row expression with this text has no value."""
    if row.truth:
        return f"({text}) IS NULL"
    if row.numeric:
        return f"{_number(text)} IS NULL OR isnan({_number(text)})"
    return no_value_text(text)


def no_value_text(text: str) -> str:
    """``missing_text`` of an expression of unknown type, as in COUNT(name).

    Spark folds typeof, so only a floating-point column pays for the text.
    """
    return f"({text}) IS NULL OR (typeof({text}) IN ('double', 'float') AND CAST({text} AS STRING) = 'NaN')"


# Sums and means


def _sum(call: Call) -> Expression:
    return call.sum(call.rows[0])


def _count(call: Call) -> Expression:
    return call.count(*call.rows)


def _count_if(call: Call) -> Expression:
    (row,) = call.rows
    return call.hits(f"count_if({row.shown})", lambda text: text, row)


def _avg(call: Call) -> Expression:
    (row,) = call.rows
    return call.sum(row) / call.count(row)


# Second moments of one value


def _spread(call: Call) -> tuple[Variable, Expression]:
    """The count c, and c * S2 - S1^2 = c^2 * VAR_POP."""
    (row,) = call.rows
    count = call.count(row)
    first = call.product((row,), (row,))
    square = call.product((row, row), (row,))
    call.vector.moment(count, first, square)
    return count, Unary("nonnegative", count * square - first * first)


def _var_pop(call: Call) -> Expression:
    count, spread = _spread(call)
    return spread / (count * count)


def _var_samp(call: Call) -> Expression:
    count, spread = _spread(call)
    return spread / (count * (count - 1.0))


def _stddev_pop(call: Call) -> Expression:
    return Unary("sqrt", _var_pop(call))


def _stddev_samp(call: Call) -> Expression:
    return Unary("sqrt", _var_samp(call))


# Second moments of a pair


@dataclass(frozen=True, slots=True)
class _Pair:
    """Sums over the rows in which both values are there."""

    call: Call

    @property
    def count(self) -> Variable:
        return self.call.count(*self.call.rows)

    def first(self, which: int) -> Variable:
        return self.call.product((self.call.rows[which],), self.call.rows)

    def product(self, left: int, right: int) -> Variable:
        rows = self.call.rows
        return self.call.product((rows[left], rows[right]), rows)

    def covariance(self) -> Expression:
        """c^2 * COVAR_POP."""
        return self.count * self.product(0, 1) - self.first(0) * self.first(1)

    def spread(self, which: int) -> Expression:
        """c^2 * VAR_POP of one of the two."""
        count, first, square = self.count, self.first(which), self.product(which, which)
        self.call.vector.moment(count, first, square)
        return Unary("nonnegative", count * square - first * first)


def _covar_pop(call: Call) -> Expression:
    pair = _Pair(call)
    return pair.covariance() / (pair.count * pair.count)


def _covar_samp(call: Call) -> Expression:
    pair = _Pair(call)
    return pair.covariance() / (pair.count * (pair.count - 1.0))


def _corr(call: Call) -> Expression:
    pair = _Pair(call)
    covariance = pair.covariance()
    spreads = pair.spread(0) * pair.spread(1)
    call.vector.moment(pair.product(0, 0), pair.product(0, 1), pair.product(1, 1))
    return Unary("unit", covariance / Unary("sqrt", spreads))


def _regr_slope(call: Call) -> Expression:
    """REGR_SLOPE(y, x): the slope of the line of y over x."""
    pair = _Pair(call)
    return pair.covariance() / pair.spread(1)


# Tables and distributions


def _cells(call: Call) -> tuple[Variable, Variable, Variable, Variable]:
    """The 2x2 table of two conditions; a NULL in either makes all four conditions not true."""
    first, second = call.rows
    a, b = first.shown, second.shown

    def cell(name: str, left: str, right: str) -> Variable:
        return call.hits(name, lambda x, y: f"{left}({x}) AND {right}({y})", first, second)

    return (
        cell(f"count({a} and {b})", "", ""),
        cell(f"count({a} and not {b})", "", "NOT "),
        cell(f"count(not {a} and {b})", "NOT ", ""),
        cell(f"count(not {a} and not {b})", "NOT ", "NOT "),
    )


def _information_gain(call: Call) -> Expression:
    return InformationGain(*_cells(call))


def _chi_square(call: Call) -> Expression:
    return ChiSquare(*_cells(call))


def _entropy(call: Call) -> Expression:
    """Of one condition: of its truth. Of several values: of the distribution proportional to their sums. In bits."""
    if len(call.rows) == 1:
        (row,) = call.rows
        masses = [
            call.hits(f"count_if({row.shown})", lambda text: text, row),
            call.hits(f"count_if(not {row.shown})", lambda text: f"NOT ({text})", row),
        ]
    else:
        masses = [call.sum(row) for row in call.rows]
    total: Expression = masses[0]
    spread: Expression = Unary("xlogx", masses[0])
    for mass in masses[1:]:
        total, spread = total + mass, spread + Unary("xlogx", mass)
    return (Unary("xlogx", total) - spread) / total


@dataclass(frozen=True, slots=True)
class Aggregate:
    """How an aggregate is called and lowered; the last role repeats when ``variadic``."""

    usage: str
    roles: tuple[str, ...]
    lower: Callable[[Call], Expression]
    variadic: bool = False

    def role(self, position: int, arguments: int) -> str:
        return "number" if self.lower is _entropy and arguments > 1 else self.roles[min(position, len(self.roles) - 1)]


AGGREGATES: dict[str, Aggregate] = {
    "sum": Aggregate("SUM(x)", ("number",), _sum),
    "count": Aggregate("COUNT(*) or COUNT(x)", ("any",), _count, variadic=True),
    "count_if": Aggregate("COUNT_IF(condition)", ("boolean",), _count_if),
    "avg": Aggregate("AVG(x)", ("number",), _avg),
    "mean": Aggregate("MEAN(x)", ("number",), _avg),
    "var_pop": Aggregate("VAR_POP(x)", ("number",), _var_pop),
    "var_samp": Aggregate("VAR_SAMP(x)", ("number",), _var_samp),
    "variance": Aggregate("VARIANCE(x)", ("number",), _var_samp),
    "stddev": Aggregate("STDDEV(x)", ("number",), _stddev_samp),
    "std": Aggregate("STD(x)", ("number",), _stddev_samp),
    "stddev_samp": Aggregate("STDDEV_SAMP(x)", ("number",), _stddev_samp),
    "stddev_pop": Aggregate("STDDEV_POP(x)", ("number",), _stddev_pop),
    "covar_pop": Aggregate("COVAR_POP(x, y)", ("number", "number"), _covar_pop),
    "covar_samp": Aggregate("COVAR_SAMP(x, y)", ("number", "number"), _covar_samp),
    "corr": Aggregate("CORR(x, y)", ("number", "number"), _corr),
    "regr_slope": Aggregate("REGR_SLOPE(y, x)", ("number", "number"), _regr_slope),
    "entropy": Aggregate("ENTROPY(condition) or ENTROPY(a, b, …)", ("boolean",), _entropy, variadic=True),
    "chi_square": Aggregate("CHI_SQUARE(condition, condition)", ("boolean", "boolean"), _chi_square),
    "information_gain": Aggregate("INFORMATION_GAIN(condition, condition)", ("boolean", "boolean"), _information_gain),
}
