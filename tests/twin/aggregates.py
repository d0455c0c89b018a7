"""The aggregates of docs/LANGUAGE.md over a list of rows, each from its textbook definition.

What has no value is NaN. Sums are `math.fsum`, which rounds once, and second moments take two passes, so that huge and
tiny values keep their digits. A column is a name or a function of a row; a condition is a function of a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tests.twin.order import Row

Column = str | Callable[[Row], float | None]
Condition = Callable[[Row], bool | None]


def has_value(value: float | None) -> bool:
    """Neither NULL nor NaN."""
    return value is not None and not math.isnan(value)


def values(rows: list[Row], *columns: Column) -> list[tuple[Any, ...]]:
    """The values of the columns in those rows in which all have one."""
    found: list[tuple[Any, ...]] = [tuple(row[c] if isinstance(c, str) else c(row) for c in columns) for row in rows]
    return [entry for entry in found if all(map(has_value, entry))]


def total(rows: list[Row], x: Column) -> float:
    """SUM(x): of no rows 0."""
    return math.fsum(x for (x,) in values(rows, x))


def count(rows: list[Row], *columns: Column) -> float:
    """COUNT(x, y, …); without columns COUNT(*)."""
    return float(len(values(rows, *columns)))


def count_if(rows: list[Row], condition: Condition) -> float:
    """COUNT_IF(c)."""
    return float(sum(condition(row) is True for row in rows))


def mean(rows: list[Row], x: Column) -> float:
    """AVG(x)."""
    return divide(total(rows, x), count(rows, x))


def covariance(rows: list[Row], x: Column, y: Column, *, fewer: int = 0) -> float:
    """COVAR_POP(x, y); with ``fewer=1`` COVAR_SAMP."""
    pairs = values(rows, x, y)
    if len(pairs) <= fewer:
        return math.nan
    middle_x, middle_y = (math.fsum(column) / len(pairs) for column in zip(*pairs, strict=True))
    return math.fsum((a - middle_x) * (b - middle_y) for a, b in pairs) / (len(pairs) - fewer)


def variance(rows: list[Row], x: Column, *, fewer: int = 0) -> float:
    """VAR_POP(x); with ``fewer=1`` VAR_SAMP."""
    return covariance(rows, x, x, fewer=fewer)


def deviation(rows: list[Row], x: Column, *, fewer: int = 0) -> float:
    """STDDEV_POP(x); with ``fewer=1`` STDDEV."""
    return math.sqrt(variance(rows, x, fewer=fewer))


def _pairs(rows: list[Row], x: Column, y: Column) -> list[Row]:
    return [{"x": a, "y": b} for a, b in values(rows, x, y)]


def correlation(rows: list[Row], x: Column, y: Column) -> float:
    """CORR(x, y)."""
    pairs = _pairs(rows, x, y)
    return divide(covariance(pairs, "x", "y"), deviation(pairs, "x") * deviation(pairs, "y"))


def slope(rows: list[Row], y: Column, x: Column) -> float:
    """REGR_SLOPE(y, x)."""
    pairs = _pairs(rows, x, y)
    return divide(covariance(pairs, "x", "y"), variance(pairs, "x"))


def entropy(*weights: float) -> float:
    """In bits, of the distribution that is proportional to the weights; a negative weight leaves no value."""
    whole = math.fsum(weights)
    if whole <= 0 or min(weights) < 0:
        return math.nan
    return -math.fsum(w / whole * math.log2(w / whole) for w in weights if w > 0)


def entropy_of(rows: list[Row], condition: Condition) -> float:
    """ENTROPY(c)."""
    met = count_if(rows, condition)
    return entropy(met, len(rows) - met)


def _table(rows: list[Row], c: Condition, d: Condition) -> list[float]:
    """How many rows meet both conditions, only the first, only the second, neither."""
    cells = [(c(row), d(row)) for row in rows]
    return [float(cells.count(cell)) for cell in ((True, True), (True, False), (False, True), (False, False))]


def information_gain(rows: list[Row], c: Condition, d: Condition) -> float:
    """INFORMATION_GAIN(c, d)."""
    both, first, second, neither = _table(rows, c, d)
    apart = entropy(both + first, second + neither) + entropy(both + second, first + neither)
    return apart - entropy(both, first, second, neither)


def chi_square(rows: list[Row], c: Condition, d: Condition) -> float:
    """CHI_SQUARE(c, d)."""
    both, first, second, neither = _table(rows, c, d)
    margins = (both + first) * (second + neither) * (both + second) * (first + neither)
    return divide(len(rows) * (both * neither - first * second) ** 2, margins)


def divide(a: float, b: float) -> float:
    """a / b, without a value where b is 0."""
    return math.nan if b == 0 else a / b
