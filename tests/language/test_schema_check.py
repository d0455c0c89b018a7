"""Columns against a schema: names, roles, places."""

from __future__ import annotations

import pytest

from tacit.language import check_columns
from tacit.vocabulary.errors import SentenceError
from tests.language.twins import watch

SCHEMA = {
    "so2": "double",
    "No2": "int",
    "price": "decimal(10,2)",
    "station": "string",
    "code": "varchar(4)",
    "ok": "boolean",
    "ts": "timestamp",
    "day": "date",
    "tags": "array<string>",
    "place": "struct<city:string,height:double>",
}


@pytest.mark.parametrize(
    "select",
    [
        "AVG(so2 + NO2 * price)",
        "AVG(ok)",
        "SUM(ts)",
        "COUNT(station)",
        "COUNT_IF(ok AND station = 'a')",
        "AVG(place.height)",
        "AVG(t.so2)",
        "AVG(CAST(station AS DOUBLE))",
        "AVG(length(station))",
        "INFORMATION_GAIN(array_contains(tags, 'x'), `ok`)",
        "AVG(datediff(DAY, day, day))",
    ],
)
def test_right(select: str) -> None:
    check_columns(watch(f"{select} AS a"), SCHEMA)


@pytest.mark.parametrize(
    ("select", "rest", "column", "message", "hint"),
    [
        ("AVG(so3)", "", 30, "no column named so3", "did you mean so2?"),
        ("AVG(so2)", "WHERE statoin = 'x'", 53, "no column named statoin", "did you mean station?"),
        ("AVG(so2)", "GROUP BY zzz", 56, "no column named zzz", "the columns are so2, No2"),
        ("AVG(present)", "", 30, "no column named present", "GROUP BY EACH"),
        ("AVG(station)", "", 30, "station is of type string where a number", "CAST(station AS DOUBLE)"),
        ("AVG(so2 + code)", "", 36, "code is of type varchar(4) where a number", "CAST(code AS DOUBLE)"),
        ("AVG(sqrt(tags))", "", 35, "tags is of type array<string> where a number", "size(tags)"),
        ("AVG(day)", "", 30, "day is of type date where a number", "unix_date(day)"),
        ("AVG(place)", "", 30, "place is of type struct", ""),
        ("COUNT_IF(station)", "", 35, "where a condition", "compare station"),
        ("AVG(so2)", "WHERE ok AND no2", 60, "no2 is of type int where a condition", "compare no2"),
        ("AVG(so2)", "GROUP BY EACH(station) AS m", 61, "where a list", "split(station, ' ')"),
    ],
)
def test_wrong(select: str, rest: str, column: int, message: str, hint: str) -> None:
    with pytest.raises(SentenceError) as caught:
        check_columns(watch(f"{select} AS a", rest), SCHEMA)
    assert message in str(caught.value)
    assert hint in (caught.value.hint or "")
    assert (caught.value.line, caught.value.column) == (1, column)
