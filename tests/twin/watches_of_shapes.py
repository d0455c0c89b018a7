"""Watches of every window, function, goal and grouping in docs/LANGUAGE.md, and of awkward numbers.

Beside each sentence stands what it means. ``rows`` are the rows of the window (of the group), ``m`` is the group.
"""

from __future__ import annotations

import math

from tests.twin.aggregates import (
    correlation,
    count,
    deviation,
    divide,
    information_gain,
    mean,
    total,
    variance,
)
from tests.twin.meaning import AllOf, AnyOf, Compare, Grouping, Track, Watch
from tests.twin.windows import HOUR_S, everything, last_rows, last_rows_by_time, last_seconds, since

BY_G = Grouping(lambda row: row["g"])
EACH_LST = Grouping(lambda row: row["lst"], each=True)
IN_TURN, BY_HASH = "new year in turn", "new year by hash"

WINDOWS = [
    Watch(
        "rows that step by time", "ordinary",
        "SELECT VARIANCE(x) AS a, AVG(y) AS b FROM t WINDOW LAST 20 ROWS EVERY 10 SECONDS ALERT WHEN a > 1.2 AND b > 0",
        last_rows_by_time(20, 10), lambda rows, m: {"a": variance(rows, "x", fewer=1), "b": mean(rows, "y")},
        AllOf((Compare("a", ">", 1.2), Compare("b", ">", 0))),
    ),
    Watch(
        "everything, with a step", "tiny", "SELECT AVG(x) AS a FROM t WINDOW ALL EVERY 20 SECONDS ALERT WHEN a > -3e-9",
        everything(20), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", ">", -3e-9),
    ),
    Watch(
        "since the start of the minute", "ordinary",
        "SELECT STDDEV_SAMP(y) AS a FROM t WINDOW SINCE START OF MINUTE EVERY 5 SECONDS TRACK a WITHIN 0.1",
        since("minute", 5), lambda rows, m: {"a": deviation(rows, "y", fewer=1)}, Track("a", 0.1),
    ),
    Watch(
        "since midnight, with empty sites", BY_HASH,
        "SELECT SUM(x) AS a FROM t WINDOW SINCE MIDNIGHT EVERY 2 HOURS TRACK a WITHIN 2",
        since("day", 2 * HOUR_S), lambda rows, m: {"a": total(rows, "x")}, Track("a", 2, start=0),
    ),
    Watch(
        "since Monday", IN_TURN,
        "SELECT SUM(z) AS a FROM t WINDOW SINCE START OF WEEK EVERY 4 HOURS ALERT WHEN a > 40 MARGIN 2",
        since("week", 4 * HOUR_S), lambda rows, m: {"a": total(rows, "z")}, Compare("a", ">", 40, 2),
    ),
    Watch(
        "since the start of the month", BY_HASH,
        "SELECT AVG(x) AS a FROM t WINDOW SINCE START OF MONTH EVERY 6 HOURS ALERT WHEN a < 0.2",
        since("month", 6 * HOUR_S), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", "<", 0.2),
    ),
    Watch(
        "since the start of the year", IN_TURN,
        "SELECT SUM(u) AS a FROM t WINDOW SINCE START OF YEAR EVERY 6 HOURS TRACK a WITHIN 10 PERCENT",
        since("year", 6 * HOUR_S), lambda rows, m: {"a": total(rows, "u")}, Track("a", 10, percent=True, start=0),
    ),
    Watch(
        "the last hours", BY_HASH,
        "SELECT AVG(x) / AVG(z) AS r, AVG(z) AS l FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR "
        "ALERT WHEN r > 0.5 MARGIN 0.02 OR l > 1.1",
        last_seconds(24 * HOUR_S, HOUR_S),
        lambda rows, m: {"r": divide(mean(rows, "x"), mean(rows, "z")), "l": mean(rows, "z")},
        AnyOf((Compare("r", ">", 0.5, 0.02), Compare("l", ">", 1.1))),
    ),
]  # fmt: skip

FUNCTIONS = [
    Watch(
        "NOT BETWEEN, AND", "ordinary",
        "SELECT AVG(x) / AVG(z) AS a, ABS(AVG(x)) AS b FROM t WINDOW LAST 30 ROWS "
        "ALERT WHEN NOT (a BETWEEN -0.5 AND 0.8 MARGIN 0.05) AND b > 0.1",
        last_rows(30), lambda rows, m: {"a": divide(mean(rows, "x"), mean(rows, "z")), "b": abs(mean(rows, "x"))},
        AllOf((AnyOf((Compare("a", "<", -0.5, 0.05), Compare("a", ">", 0.8, 0.05))), Compare("b", ">", 0.1))),
    ),
    Watch(
        "a root that is not always there", "ordinary",
        "SELECT SQRT(AVG(x)) + LN(AVG(z)) AS a FROM t WINDOW LAST 40 ROWS ALERT WHEN a > 0.4",
        last_rows(40),
        lambda rows, m: {
            "a": math.sqrt(mean(rows, "x")) + math.log(mean(rows, "z")) if mean(rows, "x") >= 0 else math.nan
        },
        Compare("a", ">", 0.4),
    ),
    Watch(
        "waves", "ordinary", "SELECT EXP(AVG(y)) * SIN(SUM(x) / 10) AS a FROM t WINDOW LAST 40 ROWS TRACK a WITHIN 0.3",
        last_rows(40), lambda rows, m: {"a": math.exp(mean(rows, "y")) * math.sin(total(rows, "x") / 10)},
        Track("a", 0.3),
    ),
    Watch(
        "powers of the larger", "ordinary",
        "SELECT GREATEST(POWER(AVG(y), 3), TANH(AVG(z) - 1)) AS a FROM t WINDOW LAST 20 ROWS EVERY 2 ROWS "
        "ALERT WHEN a < 0.05 MARGIN 0.05",
        last_rows(20, every=2), lambda rows, m: {"a": max(mean(rows, "y") ** 3, math.tanh(mean(rows, "z") - 1))},
        Compare("a", "<", 0.05, 0.05),
    ),
    Watch(
        "two sides", "ordinary", "SELECT AVG(x) AS a, AVG(y) AS b FROM t WINDOW LAST 25 ROWS ALERT WHEN a > b + 0.2",
        last_rows(25), lambda rows, m: {"d": mean(rows, "x") - mean(rows, "y")}, Compare("d", ">", 0.2),
    ),
]  # fmt: skip

NUMBERS = [
    Watch(
        "a huge deviation", "huge", "SELECT STDDEV(x) AS a FROM t WINDOW LAST 30 ROWS ALERT WHEN a > 1.3e10",
        last_rows(30), lambda rows, m: {"a": deviation(rows, "x", fewer=1)}, Compare("a", ">", 1.3e10),
    ),
    Watch(
        "a tiny correlation", "tiny", "SELECT CORR(x, y) AS a FROM t WINDOW LAST 30 ROWS TRACK a WITHIN 0.2",
        last_rows(30), lambda rows, m: {"a": correlation(rows, "x", "y")}, Track("a", 0.2),
    ),
    Watch(
        "a small deviation of large values", "shifted",
        "SELECT STDDEV(x) AS a FROM t WINDOW LAST 30 ROWS ALERT WHEN a > 0.0013 MARGIN 0.00001",
        last_rows(30), lambda rows, m: {"a": deviation(rows, "x", fewer=1)}, Compare("a", ">", 0.0013, 0.00001),
    ),
    Watch(
        "a sum with outliers", "outliers", "SELECT SUM(x) AS a FROM t WINDOW LAST 5 ROWS ALERT WHEN a > 3 MARGIN 0.5",
        last_rows(5), lambda rows, m: {"a": total(rows, "x")}, Compare("a", ">", 3, 0.5),
    ),
    Watch(
        "a deviation with outliers", "outliers",
        "SELECT STDDEV(x) AS a FROM t WINDOW LAST 5 ROWS ALERT WHEN a > 1.2 MARGIN 0.05",
        last_rows(5), lambda rows, m: {"a": deviation(rows, "x", fewer=1)}, Compare("a", ">", 1.2, 0.05),
    ),
    Watch(
        "a mean with sentinels", "sentinels",
        "SELECT AVG(x) AS a FROM t WINDOW LAST 30 SECONDS EVERY 3 SECONDS TRACK a WITHIN 0.5",
        last_seconds(30, 3), lambda rows, m: {"a": mean(rows, "x")}, Track("a", 0.5),
    ),
]  # fmt: skip

GROUPS = [
    Watch(
        "a mean of each key", "sentinels",
        "SELECT g, AVG(x) AS a FROM t WINDOW LAST 20 ROWS GROUP BY g ALERT WHEN a > 0.5 MARGIN 0.05",
        last_rows(20), lambda rows, m: {"a": mean(rows, "x")}, Compare("a", ">", 0.5, 0.05), grouping=BY_G,
    ),
    Watch(
        "a sum of each key, tracked", "ordinary",
        "SELECT g, SUM(x) AS a FROM t WHERE u <> 50 WINDOW LAST 100 SECONDS EVERY 10 SECONDS GROUP BY g "
        "TRACK a WITHIN 3",
        last_seconds(100, 10), lambda rows, m: {"a": total(rows, "x")}, Track("a", 3, start=0),
        where=lambda row: row["u"] != 50, grouping=BY_G,
    ),
    Watch(
        "two keys", IN_TURN,
        "SELECT hour(ts) < 12 AS morning, g, COUNT(*) AS n FROM t WINDOW LAST 12 ROWS GROUP BY morning, g "
        "ALERT WHEN n < 6",
        last_rows(12), lambda rows, m: {"n": count(rows)}, Compare("n", "<", 6),
        grouping=Grouping(lambda row: (str(row["ts"].hour < 12).lower(), row["g"])),
    ),
    Watch(
        "information gain of each member", "ordinary",
        "SELECT m, INFORMATION_GAIN(u > 50, PRESENT) AS a FROM t WINDOW LAST 30 ROWS GROUP BY EACH(lst) AS m "
        "ALERT WHEN a > 0.03 MARGIN 0.01",
        last_rows(30),
        lambda rows, m: {
            "a": information_gain(rows, lambda row: row["u"] > 50, lambda row: m in (row["lst"] or []))
        },
        Compare("a", ">", 0.03, 0.01), grouping=EACH_LST,
    ),
    Watch(
        "a mean of each member", "ordinary",
        "SELECT m, AVG(CASE WHEN PRESENT THEN x END) AS a FROM t WINDOW LAST 100 SECONDS EVERY 10 SECONDS "
        "GROUP BY EACH(lst) AS m ALERT WHEN a > 0.4 MARGIN 0.1",
        last_seconds(100, 10), lambda rows, m: {"a": mean([row for row in rows if m in (row["lst"] or [])], "x")},
        Compare("a", ">", 0.4, 0.1), grouping=EACH_LST,
    ),
]  # fmt: skip

OF_SHAPES = WINDOWS + FUNCTIONS + NUMBERS + GROUPS
