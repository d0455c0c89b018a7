"""Rows that may have come too late. Only their panes may differ from the truth, and only if a site has dropped rows."""

from __future__ import annotations

from bisect import bisect_left

from tacit.verify.panes import begin_of
from tacit.verify.question import Question
from tacit.verify.rows import Rows

__all__ = ["LateRows"]

_SLACK_US = 1_000_000  # a file is written a little before its rows are read


class LateRows:
    """The times of the rows whose pane may have been closed when they came, by the order of the files.

    A pane is closed by a later row of the same site and an earlier file that has passed its end by the watermark; with
    ``clock = "wall"`` also by the clock of the machine.
    """

    def __init__(self, rows: Rows, question: Question, tables: tuple[str, ...]) -> None:
        self._question = question
        self._times: list[int] = []
        for table in tables:
            for source in rows.of(table):
                self._times += self._of(rows, table, source.site, source.watermark_us, source.clock)
        self._times.sort()

    def __len__(self) -> int:
        return len(self._times)

    def touch(self, pane: int) -> bool:
        """Is one of these rows in the window of this pane?"""
        end = self._question.end_of(pane)
        window = self._question.plan.window
        begin = -(1 << 62) if window.rows is not None else begin_of(window, end)
        at = bisect_left(self._times, begin)
        return at < len(self._times) and self._times[at] < end

    def _of(self, rows: Rows, table: str, site: str, watermark_us: int, clock: str) -> list[int]:
        pane_us = self._question.pane_us
        closes = f"(CAST(floor(__t / {pane_us}) AS BIGINT) + 1) * {pane_us} + {watermark_us}"
        wall = f"OR mine.__came + {_SLACK_US} >= {closes}" if clock == "wall" else ""
        named = site.replace("'", "''")
        query = (
            f"WITH mine AS (SELECT __t, __came FROM {rows.relation(table)} WHERE __site = '{named}'),"
            " newest AS (SELECT __came, max(__t) AS t FROM mine GROUP BY __came),"
            " before AS (SELECT __came, max(t) OVER (ORDER BY __came ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
            " AS t FROM newest)"
            " SELECT mine.__t FROM mine JOIN before ON before.__came = mine.__came"
            f" WHERE before.t >= {closes} {wall}"
        )
        return [t for (t,) in rows.database.execute(query).fetchall()]
