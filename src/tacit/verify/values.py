"""The values of a watch's aggregates at the end of every pane, of every group, from all rows of the window."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit.language.plan import ByKey, ByMember
from tacit.verify.formulas import Formulas, Value
from tacit.verify.keys import Key, key_of_values
from tacit.verify.panes import rows_in_panes
from tacit.verify.question import Question
from tacit.verify.rows import Rows
from tacit.verify.spark_sql import PRESENT, duck_sql

__all__ = ["Groups", "groups_at", "key_kinds"]

_AT_ONCE = 1_000  # panes in one query
_NUMBERS = {
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE", "DECIMAL",
}  # fmt: skip

Row = Mapping[str, Value]


@dataclass(slots=True)
class Groups:
    """The aggregates by pane and group. A group is there from the first pane on at which it has a row."""

    empty: Row  # of no rows
    there_from: dict[Key, int] = field(default_factory=dict)
    at: dict[int, dict[Key, Row]] = field(default_factory=dict)

    def rows(self, pane: int) -> dict[Key, Row]:
        """The values of all groups that are there at a pane."""
        now = self.at.get(pane, {})
        return {key: now.get(key, self.empty) for key, first in self.there_from.items() if first <= pane}


def groups_at(rows: Rows, question: Question, formulas: Formulas, panes: Sequence[int], sites: Sequence[str]) -> Groups:
    """The values at these panes, of the rows of these sites."""
    plan = question.plan
    grouping = plan.grouping
    columns = {name: sql for sql, name in formulas.columns.items()}
    said = "".join(f", {sql} AS {name}" for name, sql in columns.items())
    found = Groups(_empty(rows, plan.table, columns))
    keys = _keys(question)
    if grouping is None:
        found.there_from[()] = -(1 << 62)
    else:
        found.there_from = _there_from(rows, question, sites)
    for start in range(0, len(panes), _AT_ONCE):
        some = panes[start : start + _AT_ONCE]
        inside = rows_in_panes(rows, question, plan.table, plan.where, sites, some)
        if isinstance(grouping, ByMember):
            lists = f"list_distinct({duck_sql(grouping.expression, question.aliases)})"
            members = _members(rows, question, sites)
            inside = (
                f"SELECT inside.*, members.k0, coalesce(list_contains({lists}, members.k0), FALSE) AS {PRESENT}"
                f" FROM ({inside}) AS inside, ({members}) AS members"
            )
            query = f"SELECT __pane, k0{said} FROM ({inside}) GROUP BY __pane, k0"
        else:
            named = "".join(f", {sql} AS k{number}" for number, sql in enumerate(keys))
            query = f"SELECT __pane{named}{said} FROM ({inside}) GROUP BY ALL"
        width = 1 if isinstance(grouping, ByMember) else len(keys)
        for pane, *values in rows.database.execute(query).fetchall():
            key = key_of_values(values[:width])
            found.at.setdefault(pane, {})[key] = _named(columns, values[width:])
    return found


def key_kinds(rows: Rows, question: Question) -> tuple[str, ...]:
    """What the parts of a group's key are: "number", "time" or "text"."""
    grouping = question.plan.grouping
    if grouping is None:
        return ()
    if isinstance(grouping, ByMember):
        said = f"unnest({duck_sql(grouping.expression, question.aliases)}) AS k0"
    else:
        said = ", ".join(f"{sql} AS k{number}" for number, sql in enumerate(_keys(question)))
    described = rows.database.execute(f"DESCRIBE SELECT {said} FROM {rows.relation(question.plan.table)}").fetchall()
    return tuple(_kind(str(type_)) for _, type_, *_ in described)


def _kind(type_: str) -> str:
    if type_.split("(")[0] in _NUMBERS:
        return "number"
    return "time" if type_.startswith(("TIMESTAMP", "DATE")) else "text"


def _named(columns: Mapping[str, str], values: Sequence[Any]) -> Row:
    return {name: _plain(value) for name, value in zip(columns, values, strict=True)}


def _plain(value: Any) -> Value:
    return None if value is None or math.isnan(float(value)) else float(value)


def _empty(rows: Rows, table: str, columns: Mapping[str, str]) -> Row:
    if not columns:
        return {}
    said = ", ".join(columns.values())
    made = f"SELECT *, FALSE AS {PRESENT} FROM {rows.relation(table)} WHERE FALSE"
    return _named(columns, rows.database.execute(f"SELECT {said} FROM ({made})").fetchall()[0])


def _keys(question: Question) -> list[str]:
    grouping = question.plan.grouping
    expressions = grouping.expressions if isinstance(grouping, ByKey) else ()
    return [duck_sql(text, question.aliases) for text in expressions]


def _counting(rows: Rows, question: Question, sites: Sequence[str]) -> str:
    plan = question.plan
    named = ", ".join("'" + site.replace("'", "''") + "'" for site in sites) or "''"
    passes = f"AND ({duck_sql(plan.where, question.aliases)})" if plan.where else ""
    return f"SELECT * FROM {rows.relation(plan.table)} WHERE __site IN ({named}) {passes}"


def _members(rows: Rows, question: Question, sites: Sequence[str]) -> str:
    """SQL for all members that rows have, each with the time of its first row."""
    grouping = question.plan.grouping
    assert isinstance(grouping, ByMember)
    listed = duck_sql(grouping.expression, question.aliases)
    each = f"SELECT unnest({listed}) AS k0, __t FROM ({_counting(rows, question, sites)})"
    return f"SELECT k0, min(__t) AS first_us FROM ({each}) WHERE k0 IS NOT NULL GROUP BY k0"


def _there_from(rows: Rows, question: Question, sites: Sequence[str]) -> dict[Key, int]:
    keys = _keys(question)
    if isinstance(question.plan.grouping, ByMember):
        query = _members(rows, question, sites)
    else:
        named = ", ".join(f"{sql} AS k{number}" for number, sql in enumerate(keys))
        query = f"SELECT {named}, min(__t) FROM ({_counting(rows, question, sites)}) GROUP BY ALL"
    found: dict[Key, int] = {}
    for *values, first_us in rows.database.execute(query).fetchall():
        key = key_of_values(values)
        found[key] = min(found.get(key, 1 << 62), first_us // question.pane_us)
    return found
