"""The columns that a schema written as text names, without Spark: sentences are checked against it."""

from __future__ import annotations

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

__all__ = ["columns_of"]


def columns_of(schema: str) -> dict[str, str]:
    """Spark's short type by column, for a schema as Spark's DDL writes it; empty when it cannot be read here.

    Spark has the last word: a schema that it takes and this function does not is checked when the site starts.

    >>> columns_of("ts TIMESTAMP, `PM2.5` DOUBLE, tags ARRAY<STRING>")
    {'ts': 'timestamp', 'PM2.5': 'double', 'tags': 'array<string>'}
    >>> columns_of("ts: TIMESTAMP")
    {}
    """
    try:
        tree = sqlglot.parse_one(f"CREATE TABLE t ({schema})", read="spark")
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return {}
    inside = tree.this.expressions if isinstance(tree.this, exp.Schema) else []
    columns = [each for each in inside if isinstance(each, exp.ColumnDef) and each.kind is not None]
    if len(columns) < len(inside):
        return {}
    return {each.name: each.kind.sql("spark").lower() for each in columns if each.kind is not None}
