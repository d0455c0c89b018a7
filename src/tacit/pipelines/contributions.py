"""What a row adds to each statistic, as native Spark expressions around measured centres.

Second moments are sums of squares around a centre near the mean, because sums of squares around 0 lose most of their
digits when a mean is large beside its spread. The centre only has to be near, measured by the range of the data: it is
rounded to 8 significant bits, or to a 16th of the range where that is finer, so that subtracting it from typical data
is exact and a recount of the same rows gives the same centre. The centre of a constant is the constant.
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as sf

from tacit.language.plan import WatchPlan

__all__ = ["centre_sums", "contribution", "literal", "rough", "where"]

_BITS = 8
_RANGE_BITS = 4


def where(plan: WatchPlan) -> Column:
    """Whether a row counts; NULL is no, as in SQL."""
    return sf.coalesce(sf.expr(plan.where), sf.lit(False)) if plan.where else sf.lit(True)


def centre_sums(plan: WatchPlan, counts: Column) -> list[Column]:
    """Four aggregates per centre: the sum, number, least and greatest of its finite values in rows that count."""
    aggregates = []
    for index, text in enumerate(plan.centres):
        value = sf.when(counts, sf.expr(text).cast("double"))
        finite = sf.when(sf.abs(value) < float("inf"), value)
        aggregates += [
            sf.sum(finite).alias(f"centre_sum{index}"),
            sf.count(finite).alias(f"centre_count{index}"),
            sf.min(finite).alias(f"centre_low{index}"),
            sf.max(finite).alias(f"centre_high{index}"),
        ]
    return aggregates


def rough(value: float, low: float, high: float) -> float:
    """A mean to 8 significant bits, or to a 16th of the range of its values where that is finer.

    >>> rough(1012.7, 900.0, 1100.0), rough(-0.3, -1.0, 1.0), rough(0.0, -1.0, 1.0), rough(float("nan"), 0.0, 1.0)
    (1012.0, -0.30078125, 0.0, 0.0)
    >>> rough(1e9 + 0.3, 1e9, 1e9 + 1.0), rough(0.3, 0.1, 0.1)
    (1000000000.3125, 0.1)
    """
    if not math.isfinite(value):
        return 0.0
    if low == high:
        return low
    exponent = math.frexp(value)[1] - _BITS
    if math.isfinite(high - low):
        exponent = min(exponent, math.frexp(high - low)[1] - 1 - _RANGE_BITS)
    return math.ldexp(round(math.ldexp(value, -exponent)), exponent)


def literal(value: float) -> str:
    """A double as Spark SQL reads it back, bit for bit.

    >>> literal(-0.30078125)
    '(-0.30078125D)'
    """
    return f"({value!r}D)"


def contribution(text: str, centres: tuple[float, ...], counts: Column) -> Column:
    """The contribution as a double; NULL and NaN add nothing.

    It is worked out only for rows that count: ``WHERE x <> 0`` must protect ``AVG(1 / x)``.
    """
    value = sf.when(counts, sf.expr(text.format(*(literal(each) for each in centres))).cast("double"))
    return sf.coalesce(sf.nanvl(value, sf.lit(0.0)), sf.lit(0.0))
