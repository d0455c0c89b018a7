"""Watches of every aggregate in docs/LANGUAGE.md, over ordinary rows.

Beside each sentence stands what it means. ``rows`` are the rows of the window, ``m`` the group (here there are none).
"""

from __future__ import annotations

import math

from tests.twin.aggregates import (
    chi_square,
    count,
    count_if,
    covariance,
    deviation,
    entropy,
    entropy_of,
    mean,
    slope,
    total,
    variance,
)  # fmt: skip
from tests.twin.meaning import AllOf, Compare, Track, Watch
from tests.twin.order import Row
from tests.twin.windows import everything, last_rows, last_seconds


def is_site(row: Row) -> bool:
    """WHERE u >= 0: the site named gone has no such row."""
    return row["u"] >= 0


def above(row: Row, limit: float) -> bool | None:
    """x > limit inside a row, where everything is Spark's: NaN is above every number."""
    return None if row["x"] is None else math.isnan(row["x"]) or row["x"] > limit


SUMS = [
    Watch(
        "a mean", "ordinary", "SELECT AVG(x) AS a FROM t WINDOW LAST 30 ROWS ALERT WHEN a > 0.3",
        last_rows(30), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", ">", 0.3),
    ),
    Watch(
        "rows, with an empty site", "ordinary",
        "SELECT COUNT(*) AS n FROM t WHERE u >= 0 WINDOW LAST 50 SECONDS ALERT WHEN n > 30",
        last_seconds(50, 1), lambda rows, m: {"n": count(rows)}, Compare("n", ">", 30), where=is_site,
    ),
    Watch(
        "values, tracked", "ordinary",
        "SELECT COUNT(x, y) AS n FROM t WHERE u >= 0 WINDOW LAST 60 SECONDS EVERY 6 SECONDS TRACK n WITHIN 4",
        last_seconds(60, 6), lambda rows, m: {"n": count(rows, "x", "y")}, Track("n", 4, start=0), where=is_site,
    ),
    Watch(
        "NaN is above every number", "ordinary",
        "SELECT COUNT_IF(x > 1) AS n, COUNT(x) AS k FROM t WINDOW LAST 20 ROWS ALERT WHEN n > 14 AND k <= 60",
        last_rows(20), lambda rows, m: {"n": count_if(rows, lambda row: above(row, 1)), "k": count(rows, "x")},
        AllOf((Compare("n", ">", 14), Compare("k", "<=", 60))),
    ),
    Watch(
        "NULL fails WHERE", "ordinary",
        "SELECT SUM(y) AS a FROM t WHERE x > 0.5 WINDOW LAST 10 ROWS TRACK a WITHIN 1.5",
        last_rows(10), lambda rows, m: {"a": total(rows, "y")}, Track("a", 1.5, start=0),
        where=lambda row: above(row, 0.5) is True,
    ),
    Watch(
        "FILTER", "ordinary",
        "SELECT AVG(x) FILTER (WHERE u > 80) AS a, COUNT(*) FILTER (WHERE u > 80) AS n FROM t "
        "WINDOW LAST 15 ROWS ALERT WHEN a > 0.3 AND n > 6",
        last_rows(15),
        lambda rows, m: {
            "a": mean([row for row in rows if row["u"] > 80], "x"), "n": count_if(rows, lambda row: row["u"] > 80),
        },
        AllOf((Compare("a", ">", 0.3), Compare("n", ">", 6))),
    ),
    Watch(
        "a share", "ordinary", "SELECT AVG(u > 50) AS a FROM t WINDOW LAST 25 ROWS ALERT WHEN a > 0.5 MARGIN 0.02",
        last_rows(25), lambda rows, m: {"a": mean(rows, lambda row: row["u"] > 50)}, Compare("a", ">", 0.5, 0.02),
    ),
    Watch(
        "windows often empty", "ordinary",
        "SELECT MEAN(x) AS a FROM t WINDOW LAST 2 SECONDS EVERY 1 SECOND ALERT WHEN NOT a > 0.3",
        last_seconds(2, 1), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", "<=", 0.3),
    ),
    Watch(
        "a window longer than the data", "ordinary",
        "SELECT AVG(x) AS a FROM t WINDOW LAST 2000 ROWS ALERT WHEN a > 0.3",
        last_rows(2000, every=20), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", ">", 0.3),
    ),
    Watch(
        "a constant at its threshold", "ordinary", "SELECT AVG(k) AS a FROM t WINDOW LAST 50 ROWS ALERT WHEN a >= 3",
        last_rows(50), lambda rows, m: {"a": mean(rows, "k")}, Compare("a", ">=", 3),
    ),
    Watch(
        "a product in percent", "ordinary",
        "SELECT SUM(z) * SUM(u) AS a FROM t WINDOW LAST 30 ROWS EVERY 3 ROWS TRACK a WITHIN 20 PERCENT",
        last_rows(30, every=3), lambda rows, m: {"a": total(rows, "z") * total(rows, "u")},
        Track("a", 20, percent=True, start=0),
    ),
]  # fmt: skip

MOMENTS = [
    Watch(
        "a variance of everything", "ordinary", "SELECT VARIANCE(x) AS a FROM t ALERT WHEN a < 1.8",
        everything(), lambda rows, m: {"a": variance(rows, "x", fewer=1)}, Compare("a", "<", 1.8),
    ),
    Watch(
        "a variance in percent", "ordinary",
        "SELECT VAR_POP(y) AS a FROM t WINDOW LAST 20 ROWS EVERY 4 ROWS TRACK a WITHIN 10 PERCENT",
        last_rows(20, every=4), lambda rows, m: {"a": variance(rows, "y")}, Track("a", 10, percent=True),
    ),
    Watch(
        "no deviation", "ordinary", "SELECT STDDEV_POP(k) AS a FROM t WINDOW LAST 50 ROWS TRACK a WITHIN 0.001",
        last_rows(50), lambda rows, m: {"a": deviation(rows, "k")}, Track("a", 0.001),
    ),
    Watch(
        "a covariance", "ordinary",
        "SELECT COVAR_POP(x, y) AS a FROM t WINDOW LAST 100 SECONDS EVERY 20 SECONDS ALERT WHEN a > 0.1 MARGIN 0.02",
        last_seconds(100, 20), lambda rows, m: {"a": covariance(rows, "x", "y")}, Compare("a", ">", 0.1, 0.02),
    ),
    Watch(
        "a covariance, tracked", "ordinary",
        "SELECT COVAR_SAMP(x, y) AS a FROM t WINDOW LAST 1.5 MINUTES EVERY 9 SECONDS TRACK a WITHIN 0.2",
        last_seconds(90, 9), lambda rows, m: {"a": covariance(rows, "x", "y", fewer=1)}, Track("a", 0.2),
    ),
    Watch(
        "a slope", "ordinary",
        "SELECT REGR_SLOPE(y, x) AS a FROM t WINDOW LAST 40 ROWS ALERT WHEN a > 0.05 MARGIN 0.03",
        last_rows(40), lambda rows, m: {"a": slope(rows, "y", "x")}, Compare("a", ">", 0.05, 0.03),
    ),
]  # fmt: skip

INFORMATION = [
    Watch(
        "entropy of a condition", "ordinary",
        "SELECT ENTROPY(u > 60) AS a FROM t WINDOW LAST 15 ROWS ALERT WHEN a > 0.97",
        last_rows(15), lambda rows, m: {"a": entropy_of(rows, lambda row: row["u"] > 60)}, Compare("a", ">", 0.97),
    ),
    Watch(
        "entropy of sums", "ordinary", "SELECT ENTROPY(z, u + 2) AS a FROM t WINDOW LAST 25 ROWS TRACK a WITHIN 0.02",
        last_rows(25), lambda rows, m: {"a": entropy(total(rows, "z"), total(rows, lambda row: row["u"] + 2))},
        Track("a", 0.02),
    ),
    Watch(
        "chi square", "ordinary",
        "SELECT CHI_SQUARE(u > 60, z > 0.7) AS a FROM t WINDOW LAST 40 ROWS ALERT WHEN a > 1 MARGIN 0.1",
        last_rows(40), lambda rows, m: {"a": chi_square(rows, lambda row: row["u"] > 60, lambda row: row["z"] > 0.7)},
        Compare("a", ">", 1, 0.1),
    ),
]  # fmt: skip

OF_AGGREGATES = SUMS + MOMENTS + INFORMATION
