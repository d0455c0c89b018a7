"""Which rows are in the window at the end of each pane, written out as a table of DuckDB.

Windows of time are an interval (begin, end) for each pane; windows of rows are, for each pane and site, the places of
the first and the last row among the site's rows that pass WHERE, in the order of their times.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa

from tacit.language.plan import Window
from tacit.verify.question import Question
from tacit.verify.rows import Rows
from tacit.verify.spark_sql import duck_sql

__all__ = ["begin_of", "panes_table", "rows_in_panes"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EVER = -(1 << 62)


def begin_of(window: Window, end_us: int) -> int:
    """The first instant in a window of time that ends before ``end_us``.

    >>> from tacit.language.plan import Every
    >>> begin_of(Window("time", Every(duration_us=5), duration_us=20), 30)
    10
    >>> begin_of(Window("since", Every(duration_us=1), unit="day"), 86_400_000_000 + 5) // 86_400_000_000
    1
    """
    if window.kind == "time":
        assert window.duration_us is not None
        return end_us - window.duration_us
    if window.kind == "since":
        moment = _EPOCH + timedelta(microseconds=end_us - 1)
        return (_start(moment, str(window.unit)) - _EPOCH) // timedelta(microseconds=1)
    return _EVER


def _start(moment: datetime, unit: str) -> datetime:
    match unit:
        case "second":
            return moment.replace(microsecond=0)
        case "minute":
            return moment.replace(second=0, microsecond=0)
        case "hour":
            return moment.replace(minute=0, second=0, microsecond=0)
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)
    return day


def panes_table(question: Question, panes: Sequence[int]) -> pa.Table:
    """A row per pane: its number, and the interval of its window (for windows of rows: all time until its end)."""
    window = question.plan.window
    ends = [question.end_of(pane) for pane in panes]
    begins = [_EVER if window.rows is not None else begin_of(window, end) for end in ends]
    return pa.table({"pane": pa.array(panes, pa.int64()), "begin_us": pa.array(begins, pa.int64()),
                     "end_us": pa.array(ends, pa.int64())})  # fmt: skip


def rows_in_panes(
    rows: Rows, question: Question, table: str, where: str | None, sites: Sequence[str], panes: Sequence[int]
) -> str:
    """SQL for the rows of the window of each of these panes: the columns of the table, and ``__pane``."""
    database = rows.database
    database.register("panes_now", panes_table(question, panes))
    database.execute("CREATE OR REPLACE TEMP TABLE panes AS SELECT * FROM panes_now")
    database.unregister("panes_now")
    passes = f"AND ({duck_sql(where, question.aliases)})" if where else ""
    named = ", ".join("'" + site.replace("'", "''") + "'" for site in sites) or "''"
    kept = f"SELECT * FROM {rows.relation(table)} WHERE __site IN ({named}) {passes}"
    window = question.plan.window
    if window.rows is None:
        return (
            f"SELECT panes.pane AS __pane, kept.* FROM panes JOIN ({kept}) AS kept"
            " ON kept.__t >= panes.begin_us AND kept.__t < panes.end_us"
        )
    step = window.every.rows or 1
    return (
        f"WITH kept AS ({kept}), placed AS (SELECT *, row_number() OVER (PARTITION BY __site ORDER BY __t) AS __place"
        " FROM kept), seen AS (SELECT panes.pane, kept.__site AS site, count(*) AS many FROM panes JOIN kept"
        " ON kept.__t < panes.end_us GROUP BY ALL),"
        f" upto AS (SELECT pane, site, many - many % {step} AS last FROM seen)"
        " SELECT upto.pane AS __pane, placed.* FROM upto JOIN placed ON placed.__site = upto.site"
        f" AND placed.__place <= upto.last AND placed.__place > upto.last - {window.rows}"
    )
