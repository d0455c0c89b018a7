"""What a row adds to each statistic, as native Spark expressions around measured centres.

Second moments are sums of squares around a centre near the mean, because sums of squares around 0 lose most of their
digits when a mean is large beside its spread. The centre only has to be near: it is rounded to 8 significant bits,
so that subtracting it from typical data is exact and a recount of the same rows gives the same centre.
"""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as sf

from tacit.language.plan import WatchPlan

__all__ = ["centre_sums", "contribution", "literal", "rough", "where"]

_BITS = 8


def where(plan: WatchPlan) -> Column:
    """Whether a row counts; NULL is no, as in SQL."""
    return sf.coalesce(sf.expr(plan.where), sf.lit(False)) if plan.where else sf.lit(True)


def centre_sums(plan: WatchPlan, counts: Column) -> list[Column]:
    """Two aggregates per centre, the sum and the number of its finite values in rows that count."""
    aggregates = []
    for index, text in enumerate(plan.centres):
        value = sf.when(counts, sf.expr(text).cast("double"))
        finite = sf.when(sf.abs(value) < float("inf"), value)
        aggregates += [sf.sum(finite).alias(f"centre_sum{index}"), sf.count(finite).alias(f"centre_count{index}")]
    return aggregates


def rough(value: float) -> float:
    """The value to 8 significant bits.

    >>> rough(1012.7), rough(-0.3), rough(0.0), rough(float("nan"))
    (1012.0, -0.30078125, 0.0, 0.0)
    """
    if not math.isfinite(value):
        return 0.0
    fraction, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(fraction, _BITS)), exponent - _BITS)


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
