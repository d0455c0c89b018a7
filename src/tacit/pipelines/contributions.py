"""What a row adds to each statistic, as native Spark expressions around measured centres.

Second moments are sums of squares around a centre, because sums of squares around 0 lose most of their digits when a
mean is large beside its spread. The centre is the median of a few rows drawn by their hash: it lies among most rows
even where others are far out (a mean does not), and the same rows give the same centre however they are stored.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from tacit.language.plan import WatchPlan

__all__ = ["DRAWS", "centre_draws", "contribution", "literal", "where"]

DRAWS = 7  # odd: their median is one of them


def where(plan: WatchPlan) -> Column:
    """Whether a row counts; NULL is no, as in SQL."""
    return sf.coalesce(sf.expr(plan.where), sf.lit(False)) if plan.where else sf.lit(True)


def centre_draws(plan: WatchPlan, counts: Column, *identity: Column) -> list[Column]:
    """Aggregates that draw DRAWS values of each centre from the rows that count: those whose hashes are least."""
    aggregates = []
    for index, text in enumerate(plan.centres):
        value = sf.when(counts, sf.expr(text).cast("double"))
        finite = sf.abs(value) < float("inf")
        for k in range(DRAWS):
            drawn = sf.struct(sf.xxhash64(*identity, sf.lit(k)).alias("order"), value.alias("value"))
            aggregates.append(sf.min(sf.when(finite, drawn)).alias(f"draw{index}_{k}"))
    return aggregates


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
