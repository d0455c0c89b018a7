"""Spark's SQL, as sentences and configurations have it, in DuckDB's words."""

from __future__ import annotations

from collections.abc import Collection

import sqlglot
from sqlglot import exp

from tacit.language.dialect import Tacit
from tacit.vocabulary.errors import OptionError

__all__ = ["PRESENT", "duck_columns", "duck_sql", "spark_text"]

PRESENT = "__present"
"""The column that says, under GROUP BY EACH, whether the row's list has the member."""


def spark_text(tree: exp.Expr) -> str:
    """What a tree of the language's front end says, as Spark writes it."""
    return str(tree.sql(dialect=Tacit, comments=False, normalize_functions=False))


def duck_sql(text: str, aliases: Collection[str] = ()) -> str:
    """A row expression in DuckDB's SQL; columns lose the ``aliases`` of their table.

    >>> duck_sql("CASE WHEN a.x <=> 3 THEN hour(ts) END", ["a"])
    'CASE WHEN x IS NOT DISTINCT FROM 3 THEN HOUR(ts) END'
    """
    folded = {alias.casefold() for alias in aliases}

    def bare(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column):
            if node.table.casefold() in folded and node.table:
                return exp.column(node.this)
            if not node.table and node.name.casefold() == "present":
                return exp.column(PRESENT)
        return node

    try:
        return str(sqlglot.parse_one(text, read="spark").transform(bare).sql(dialect="duckdb"))
    except sqlglot.errors.SqlglotError as error:
        raise OptionError(f"{text!r} cannot be read as SQL by the judge: {error}") from None


def duck_columns(schema: str) -> dict[str, str]:
    """The columns of a schema in Spark's DDL, with DuckDB's types.

    >>> duck_columns("ts TIMESTAMP, `a b` STRING")
    {'ts': 'TIMESTAMPTZ', 'a b': 'TEXT'}
    """
    try:
        table = sqlglot.parse_one(f"CREATE TABLE t ({schema})", read="spark")
    except sqlglot.errors.SqlglotError:
        # Spark also takes "ts: TIMESTAMP", which is not a column of CREATE TABLE.
        table = sqlglot.parse_one(f"CREATE TABLE t ({schema.replace(':', ' ')})", read="spark")
    return {
        column.name: column.args["kind"].sql(dialect="duckdb") for column in table.find_all(exp.ColumnDef)
    }  # fmt: skip
