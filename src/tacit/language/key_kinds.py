"""What the values of a group's key are, from the sentence and the types of the table's columns: JSON shows them so.

Keys travel and are compared as texts, whatever the types of a column at different sites. Their kinds only say how a
text is shown: what is not sure is a text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.optimizer.annotate_types import annotate_types

from tacit.language.plan import ByKey, WatchPlan

__all__ = ["key_kinds"]

_TEXT = "text"
_KINDS: dict[str, tuple[exp.DType, ...]] = {
    "whole": (exp.DType.TINYINT, exp.DType.SMALLINT, exp.DType.INT, exp.DType.BIGINT),
    "double": (exp.DType.FLOAT, exp.DType.DOUBLE),
    "decimal": (exp.DType.DECIMAL,),
    "boolean": (exp.DType.BOOLEAN,),
    "time": (exp.DType.TIMESTAMP, exp.DType.TIMESTAMPTZ, exp.DType.TIMESTAMPLTZ, exp.DType.TIMESTAMPNTZ),
}


def key_kinds(plan: WatchPlan, tables: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """The kind of each part of a group's key: whole, double, decimal, boolean, time or text.

    ``tables`` are the columns of the watch's table and their Spark types, at each site that has it. Where sites
    disagree, the part is a text.

    >>> from tacit.language.sentence import parse_watch
    >>> text = "CREATE WATCH w AS SELECT COUNT(*) AS n FROM t GROUP BY k, hour(ts), ts TRACK n WITHIN 5"
    >>> key_kinds(parse_watch(text), [{"k": "string", "ts": "timestamp"}, {"k": "int", "ts": "timestamp"}])
    ('text', 'whole', 'time')
    """
    if plan.grouping is None:
        return ()
    single = not isinstance(plan.grouping, ByKey)
    texts = (plan.grouping.expression,) if not isinstance(plan.grouping, ByKey) else plan.grouping.expressions
    found = [tuple(_kind(text, columns, member=single) for text in texts) for columns in tables]
    return tuple(
        kinds[0] if len(set(kinds)) == 1 else _TEXT for kinds in zip(*found, strict=True)
    ) or (_TEXT,) * len(texts)  # fmt: skip


def _kind(text: str, columns: Mapping[str, str], *, member: bool) -> str:
    types = {name.casefold(): kind for name, kind in columns.items()}

    def typed(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Column) and node.name.casefold() in types:
            return exp.cast(exp.Null(), exp.DataType.build(types[node.name.casefold()], dialect="spark"))
        return node

    try:
        tree = annotate_types(sqlglot.parse_one(text, read="spark").transform(typed), dialect="spark")
    except (SqlglotError, ValueError, TypeError, AttributeError, LookupError, RecursionError):
        return _TEXT  # a function or a type that only Spark knows
    kind = tree.type
    if member and kind is not None:
        kind = kind.expressions[0] if kind.this == exp.DType.ARRAY and kind.expressions else None
    if isinstance(tree, exp.TimestampTrunc):
        return "time"
    return next((name for name, those in _KINDS.items() if kind is not None and kind.this in those), _TEXT)
