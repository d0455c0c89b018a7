"""What the values of a group's key are."""

from __future__ import annotations

import pytest

from tacit.language.key_kinds import key_kinds
from tacit.language.sentence import parse_watch

COLUMNS = {
    "k": "string", "x": "bigint", "d": "double", "price": "decimal(10,2)", "b": "boolean", "ts": "timestamp",
    "local": "timestamp_ntz", "day": "date", "l": "array<int>", "names": "array<string>",
}  # fmt: skip
KINDS = {
    "k": "text", "x": "whole", "X": "whole", "d": "double", "price": "decimal", "b": "boolean", "ts": "time",
    "local": "time", "day": "text", "hour(ts)": "whole", "x % 2": "whole", "x > 3": "boolean", "d / 2": "double",
    "upper(k)": "text", "cast(k AS INT)": "whole", "date_trunc('hour', ts)": "time", "coalesce(x, 'a')": "text",
    "l[0]": "whole", "weird(x)": "text", "CASE WHEN x > 3 THEN 'a' ELSE k END": "text",
    "date_format(ts, 'yyyy')": "text",
}  # fmt: skip


@pytest.mark.parametrize("key", KINDS)
def test_the_kind_of_a_key(key: str) -> None:
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT COUNT(*) AS n FROM t GROUP BY {key} TRACK n WITHIN 5", row_functions=["weird"]
    )
    assert key_kinds(plan, [COLUMNS]) == (KINDS[key],)


@pytest.mark.parametrize(("each", "kind"), [("l", "whole"), ("names", "text"), ("k", "text")])
def test_the_kind_of_a_member(each: str, kind: str) -> None:
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT COUNT_IF(PRESENT) AS n FROM t GROUP BY EACH({each}) AS m TRACK n WITHIN 5"
    )
    assert key_kinds(plan, [COLUMNS]) == (kind,)


def test_where_sites_disagree_a_key_is_a_text() -> None:
    plan = parse_watch("CREATE WATCH w AS SELECT COUNT(*) AS n FROM t GROUP BY x, b TRACK n WITHIN 5")
    assert key_kinds(plan, [COLUMNS, {**COLUMNS, "x": "string"}]) == ("text", "boolean")
    assert key_kinds(plan, [COLUMNS, {**COLUMNS, "x": "double"}]) == ("text", "boolean")
    assert key_kinds(plan, []) == ("text", "text")
