"""What no protocol of this version can keep: the reason, and the nearest sentence that can be kept."""

from __future__ import annotations

from sqlglot.tokenizer_core import Token

from tacit.language.clauses import Clause
from tacit.language.places import Place, Source
from tacit.vocabulary.errors import SentenceError

__all__ = ["refuse_clauses", "refuse_from", "refused_distinct", "refused_function", "refused_sketch"]

_EXTREME = (
    "an extreme is not a sum over rows, and one row that leaves the window can change it",
    "count the rows beyond a value: COUNT_IF(x > 10) >= 1",
)
_QUANTILE = (
    "a quantile is not a function of sums, and is read off a sketch under another name",
    "write SELECT QUANTILE(x, 0.5) AS q … TRACK q WITHIN 1 PERCENT, or watch the share beyond a value:"
    " AVG(x > 10) > 0.5 says that the median is above 10",
)
_HISTOGRAM = (
    "a distribution is not a number, and not a function of sums",
    "write GROUP BY x HAVING COUNT(*) > 1000 for the values that many rows have, or TRACK a QUANTILE",
)
_DISTINCT = (
    "distinct values cannot be counted by adding up sites; that comes with the sketches of a later version",
    "count rows with COUNT(*), or watch one value per group with GROUP BY",
)
_CHOICE = (
    "it jumps, so nothing near it can be promised",
    "compare the parts themselves and join the comparisons with AND and OR",
)
_ROUNDING = (
    "rounding jumps, so nothing near it can be promised",
    "leave it out, and say MARGIN for what may be ignored",
)
_TRUTH = ("a truth over all rows is not a sum", "count the rows: COUNT_IF(condition) >= 1")
_MOMENTS = ("it needs third or fourth moments, which are not kept", "VAR_POP, STDDEV and CORR use second moments")
_LIST = ("a list of values is not a number", "watch COUNT(*) or a sum")
_REGRESSION = ("it is not kept in this version", "REGR_SLOPE(y, x), CORR(x, y), COVAR_POP(x, y) and AVG are")
_ONE_ROW = ("one row of many is not a sum", "watch AVG(x) or SUM(x)")

USAGES = {
    "self_join_size": "SELF_JOIN_SIZE(x)",
    "inner_product": "INNER_PRODUCT(x, y)",
    "quantile": "QUANTILE(x, 0.99)",
}
"""How the aggregates of the sketches are written."""

REFUSED: dict[str, tuple[str, str]] = {
    **dict.fromkeys(("min", "max", "min_by", "max_by", "minimum", "maximum"), _EXTREME),
    **dict.fromkeys(("median", "percentile", "percentile_approx", "approx_percentile", "percentile_cont"), _QUANTILE),
    **dict.fromkeys(("percentile_disc", "quantiles", "p50", "p90", "p95", "p99", "iqr"), _QUANTILE),
    **dict.fromkeys(("mode", "histogram_numeric"), _HISTOGRAM),
    **dict.fromkeys(("count_distinct", "countd", "nunique", "uniq", "distinct_count"), _DISTINCT),
    **dict.fromkeys(("approx_count_distinct", "hll_sketch_agg", "bitmap_construct_agg"), _DISTINCT),
    **dict.fromkeys(("any", "some", "every", "bool_or", "bool_and"), _TRUTH),
    **dict.fromkeys(("skewness", "kurtosis"), _MOMENTS),
    **dict.fromkeys(("collect_list", "collect_set", "array_agg", "listagg", "string_agg"), _LIST),
    **dict.fromkeys(("first", "last", "first_value", "last_value", "any_value"), _ONE_ROW),
    **dict.fromkeys(
        ("regr_intercept", "regr_r2", "regr_avgx", "regr_avgy", "regr_count", "regr_sxx", "regr_sxy", "regr_syy"),
        _REGRESSION,
    ),
    **dict.fromkeys(("round", "bround", "floor", "ceil", "ceiling", "rint", "sign"), _ROUNDING),
    **dict.fromkeys(("signum", "mod", "pmod"), _ROUNDING),
    **dict.fromkeys(("if", "iff", "case", "when", "nvl2", "nullif", "isnull", "isnotnull"), _CHOICE),
    "coalesce": (
        "it jumps where a value appears, so nothing near it can be promised",
        "an aggregate without a value makes its comparison not met, which is often what is wanted",
    ),
}
REFUSED["nvl"] = REFUSED["ifnull"] = REFUSED["coalesce"]


def refused_function(source: Source, name: str, at: Place) -> SentenceError | None:
    """The error for a function that exists but cannot be kept over aggregates, or None."""
    if name not in REFUSED:
        return None
    reason, nearest = REFUSED[name]
    return source.error(f"{name.upper()} cannot be kept: {reason}", at, nearest)


def refused_distinct(source: Source, at: Place) -> SentenceError:
    reason, nearest = _DISTINCT
    return source.error(f"DISTINCT cannot be kept: {reason}", at, nearest)


def refused_sketch(source: Source, name: str, at: Place) -> SentenceError:
    """An aggregate of the sketches where numbers are computed with."""
    return source.error(
        f"{name.upper()} is read off a sketch, so it is tracked alone: not beside other aggregates, in arithmetic or in"
        " a condition",
        at,
        f"write SELECT {USAGES[name]} AS v … TRACK v WITHIN {1 if name == 'quantile' else 15} PERCENT",
    )


def refuse_clauses(source: Source, clauses: dict[str, Clause]) -> None:
    """Raises for the first clause that belongs to another kind of watch or of query."""
    later: dict[str, tuple[str, str]] = {
        "OFFSET": ("OFFSET has no meaning for a watch", "leave it out"),
        "QUALIFY": ("QUALIFY is for one-off queries", "write the condition after ALERT WHEN"),
        "LATERAL": ("LATERAL VIEW is not part of a watch", "GROUP BY EACH(list) AS name watches each member of a list"),
        **dict.fromkeys(
            ("UNION", "EXCEPT", "INTERSECT"), ("a watch reads one table", "write one watch for each table")
        ),
        **dict.fromkeys(
            ("SORT BY", "CLUSTER BY", "DISTRIBUTE BY"), ("a watch has no order of rows", "leave it out")
        ),
    }  # fmt: skip
    for word, clause in clauses.items():
        if word in later:
            reason, nearest = later[word]
            raise source.error(reason, clause.keyword, nearest)


def refuse_from(source: Source, token: Token, *, several: bool = False) -> SentenceError:
    """What may not follow the table's name; ``several`` when the sentence may have two tables."""
    if several:
        if token.text == ",":
            return source.error("an inner product is of two tables", token, "leave the others out")
        return source.error(
            "a watch has no joins: an inner product joins by its arguments", token, "write FROM requests, logins"
        )
    if token.text == ",":
        return source.error("a watch reads one table", token, "write one watch for each table")
    return source.error(
        "a watch reads one table, without joins", token, "join beforehand, and watch the table that comes of it"
    )
