"""How many rows every key has in the window at the end of a pane: counted, all of them."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.language.plan import SketchKey
from tacit.verify.keys import Key, key_of_values
from tacit.verify.panes import rows_in_panes
from tacit.verify.question import Question
from tacit.verify.rows import Rows
from tacit.verify.spark_sql import duck_sql

__all__ = ["counts_at", "values_at"]

_AT_ONCE = 1_000

Counts = dict[int, dict[Key, int]]


def counts_at(rows: Rows, question: Question, key: SketchKey, panes: Sequence[int], sites: Sequence[str]) -> Counts:
    """The counts by pane and key; panes without rows are missing."""
    found: Counts = {}
    for start in range(0, len(panes), _AT_ONCE):
        inside = _inside(rows, question, key, panes[start : start + _AT_ONCE], sites)
        value = duck_sql(key.expression, question.aliases)
        query = f"SELECT __pane, {value} AS k, count(*) FROM ({inside}) GROUP BY __pane, k"
        for pane, each, count in rows.database.execute(query).fetchall():
            text = key_of_values([each])
            counts = found.setdefault(pane, {})
            counts[text] = counts.get(text, 0) + count
    return found


def values_at(
    rows: Rows, question: Question, key: SketchKey, panes: Sequence[int], sites: Sequence[str]
) -> dict[int, list[float]]:
    """The numbers of all rows by pane, in their order; infinite ones do not count."""
    found: dict[int, list[float]] = {}
    for start in range(0, len(panes), _AT_ONCE):
        inside = _inside(rows, question, key, panes[start : start + _AT_ONCE], sites)
        value = f"CAST({duck_sql(key.expression, question.aliases)} AS DOUBLE)"
        query = f"SELECT __pane, list({value} ORDER BY {value}) FROM ({inside}) WHERE isfinite({value}) GROUP BY __pane"
        found.update(rows.database.execute(query).fetchall())
    return found


def _inside(rows: Rows, question: Question, key: SketchKey, panes: Sequence[int], sites: Sequence[str]) -> str:
    inside = rows_in_panes(rows, question, key.table, key.where, sites, panes)
    if key.missing is None:
        return inside
    value = duck_sql(key.expression, question.aliases)
    lacking = f"({value}) IS NULL OR (typeof({value}) IN ('DOUBLE', 'FLOAT') AND CAST(({value}) AS VARCHAR) = 'nan')"
    return f"SELECT * FROM ({inside}) WHERE NOT ({lacking})"
