"""Checks the columns of a plan against the schema of the data, before any data is read."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from tacit.language.places import closest
from tacit.language.plan import ByMember, ColumnUse, WatchPlan
from tacit.vocabulary.errors import SentenceError

__all__ = ["check_columns", "check_tables"]

NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
# Spark counts true as 1 in our sums, and a timestamp is seconds; an untyped column holds only NULLs.
COUNTS_AS_NUMBER = (*NUMBERS, "boolean", "timestamp", "void")
HINTS = {
    "string": "cast it, as in CAST({name} AS DOUBLE), if its texts are numbers",
    "date": "unix_date({name}) counts days",
    "timestamp_ntz": "unix_seconds(CAST({name} AS TIMESTAMP)) counts seconds",
    "array": "size({name}) counts its members",
}


def check_columns(plan: WatchPlan, schema: Mapping[str, str], *, table: str | None = None) -> None:
    """Raises SentenceError for a column that is not there, or that cannot play its role.

    ``schema`` gives Spark's short type of each column of ``table`` (which need not be said where the watch reads one
    table; otherwise it is FROM's first). Names are compared as Spark does, without case.

    >>> from tacit.language.sentence import parse_watch
    >>> plan = parse_watch("CREATE WATCH w AS SELECT AVG(so3) AS a FROM air ALERT WHEN a > 1")
    >>> check_columns(plan, {"so2": "double", "station": "string"})
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.SentenceError: line 1, column 30: there is no column named so3; did you mean so2?
    """
    types = {name.casefold(): kind.strip().lower() for name, kind in schema.items()}
    for use in plan.columns:
        if use.table not in (None, table or plan.table):
            continue
        kind = types.get(use.name.casefold())
        if kind is None:
            raise _unknown(plan, use, schema)
        _check_role(use, kind)


def check_tables(plan: WatchPlan, tables: Collection[str]) -> None:
    """SentenceError for a table that is none of these.

    >>> from tacit.language.sentence import parse_watch
    >>> plan = parse_watch("CREATE WATCH w AS SELECT AVG(so2) AS a FROM aer ALERT WHEN a > 1")
    >>> check_tables(plan, ["air", "water"])
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.SentenceError: there is no table named aer; did you mean air?
    """
    for table in plan.tables:
        if table not in tables:
            meant = closest(table, tables, cutoff=0.6)
            hint = f"did you mean {meant}?" if meant else f"the sites have {', '.join(sorted(tables)) or 'no tables'}"
            raise SentenceError(f"there is no table named {table}", hint=hint)


def _unknown(plan: WatchPlan, use: ColumnUse, schema: Mapping[str, str]) -> SentenceError:
    meant = closest(use.name, schema, cutoff=0.6)
    hint = f"did you mean {meant}?" if meant else f"the columns are {', '.join(schema) or 'none'}"
    if use.name.upper() == "PRESENT" and not isinstance(plan.grouping, ByMember):
        hint = "PRESENT needs GROUP BY EACH(list) AS name"
    return SentenceError(f"there is no column named {use.name}", line=use.line, column=use.column, hint=hint)


def _check_role(use: ColumnUse, kind: str) -> None:
    base = kind.split("(")[0].split("<")[0].split(" ")[0]
    if base in ("char", "varchar"):
        base = "string"
    wrong: str | None = None
    if use.role == "number" and base not in COUNTS_AS_NUMBER:
        wrong = "a number"
    elif use.role == "boolean" and base not in ("boolean", "void"):
        wrong = "a condition (true or false)"
    elif use.role == "array" and base != "array":
        wrong = "a list"
    if wrong is None:
        return
    hint = HINTS.get(base) if use.role == "number" else None
    if use.role == "boolean":
        hint = "compare {name} with something"
    elif use.role == "array" and base == "string":
        hint = "split it, as in EACH(split({name}, ' '))"
    raise SentenceError(
        f"{use.name} is of type {kind} where {wrong} is expected",
        line=use.line,
        column=use.column,
        hint=hint.format(name=use.name) if hint else None,
    )
