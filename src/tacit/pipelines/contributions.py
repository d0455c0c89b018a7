"""What a row adds to each statistic, as native Spark expressions around measured centres.

Second moments are sums of squares around a centre, because sums of squares around 0 lose most of their digits when a
mean is large beside its spread. The centre is the median of a few rows drawn by their hash: it lies among most rows
even where others are far out (a mean does not), and the same rows give the same centre however they are stored.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as sf

from tacit.language.plan import WatchPlan

__all__ = [
    "DRAWS",
    "centre_draws",
    "centre_values",
    "contribution",
    "formatted",
    "literal",
    "passing",
    "sample_key",
    "value_text",
    "where",
]

DRAWS = 7  # odd: their median is one of them


def where(plan: WatchPlan) -> Column:
    """Whether a row counts; NULL is no, as in SQL."""
    return sf.expr(passing(plan.where))


def passing(where: str | None) -> str:
    """Spark SQL of whether a row passes WHERE; without one every row does."""
    return f"coalesce(({where}), false)" if where else "true"


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
    value = sf.when(counts, sf.expr(formatted(text, centres)).cast("double"))
    return sf.coalesce(sf.nanvl(value, sf.lit(0.0)), sf.lit(0.0))


def value_text(text: str, counts: str) -> str:
    """What to sum up, as Spark SQL, of a contribution whose text is ready and of the SQL that says who counts.

    NaN is 0; NULL stays NULL, which a sum leaves out: this is worked out for every row, and each step of it costs.
    """
    return f"nanvl(CASE WHEN {counts} THEN CAST(({text}) AS DOUBLE) END, 0D)"


def formatted(text: str, centres: tuple[float, ...]) -> str:
    """The Spark SQL of a contribution around these centres: two that have the same text are the same.

    >>> formatted("v - {0}", (2.5,))
    'v - (2.5D)'
    """
    return text.format(*(literal(each) for each in centres))


def centre_values(plan: WatchPlan, counts: Column) -> list[Column]:
    """The values of the expressions that are centred, as doubles; NULL where there is none."""
    return [sf.when(counts, sf.expr(text).cast("double")) for text in plan.centres]


def sample_key(plan: WatchPlan, t: Column, counts: Column) -> Column:
    """A hash of what a row contributes and when: the rows of a pane with the least keys are a sample of it.

    It depends on nothing but the row, so the same rows are chosen at a site and in a recording. Contributions are taken
    around 0, for sites choose before they share centres. -0.0 is 0.0 (Spark's sums and hashes say so too).
    """
    around_zero = (0.0,) * len(plan.centres)
    parts = [contribution(each.present, around_zero, counts) for each in plan.statistics]
    values = [*parts, *centre_values(plan, counts)]
    return sf.xxhash64(t.cast("bigint"), *(sf.when(each == 0, sf.lit(0.0)).otherwise(each) for each in values))
