"""The keys of groups as texts: one JSON array for all keys of a group, told apart exactly and shown to people.

Order: numbers by size, before texts; that is how ties between groups are broken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from functools import lru_cache
from math import isfinite

__all__ = ["Value", "group_label", "key_label", "key_order", "key_values", "split_key"]

Value = str | int | float | bool | None
"""One value of a group's key, as JSON has it."""

# As Spark writes them: of each value there is one text, so that different texts are different values.
_WHOLE = re.compile(r"0|-?[1-9]\d{0,18}")
_DOUBLE = re.compile(r"-?(0|[1-9]\d*)\.(0|\d*[1-9])(E-?[1-9]\d*)?")
_DECIMAL = re.compile(r"-?\d+(\.\d+)?")
_TIME = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d*[1-9])?")


@lru_cache(maxsize=1 << 16)
def key_order(key: str) -> tuple[tuple[int, float, str], ...]:
    """What to sort keys by.

    >>> sorted(['["10"]', '["b"]', '["9"]', '[null]'], key=key_order)
    ['[null]', '["9"]', '["10"]', '["b"]']
    """
    return tuple(_part_order(part) for part in _parts(key))


def key_label(key: str) -> str:
    """The key as people read it; different keys have different labels.

    >>> key_label('["north", "a"]'), key_label('[null]'), key_label('["NULL"]'), key_label('["a, b"]')
    ('north, a', 'NULL', "'NULL'", "'a, b'")
    """
    return group_label(_parts(key))


def group_label(group: Iterable[Value]) -> str:
    """A group, given by its values, as people read it. A text stands in quotes where it could be taken for another.

    >>> group_label(["north", 4, True, None]), group_label(["it's", " "])
    ('north, 4, true, NULL', "it's, ' '")
    """
    return ", ".join(map(_value_label, group))


def key_values(key: str, kinds: Sequence[str] = ()) -> list[Value]:
    """The values of a key, as JSON has them; different keys have different values.

    ``kinds`` says what each is: "whole", "double" or "decimal" numbers, "boolean", "time" or "text"; what is not said
    is a text. A number that JSON's readers could not tell from its neighbours stays a text.

    >>> key_values('["4", "true", null, "2026-03-01 12:00:00"]', ("whole", "boolean", "text", "time"))
    [4, True, None, '2026-03-01T12:00:00Z']
    >>> key_values('["4", "1.0E10", "NaN", "1.50"]', ("text", "double", "double", "decimal"))
    ['4', 10000000000.0, 'NaN', 1.5]
    """
    parts = _parts(key)
    return [_typed(part, kinds[at] if at < len(kinds) else "text") for at, part in enumerate(parts)]


def split_key(key: str, last: int) -> tuple[str, str]:
    """The key without its last parts, and those; the empty text where there are none.

    >>> split_key('["/a","north"]', 1), split_key('["/a"]', 0)
    (('["/a"]', '["north"]'), ('["/a"]', ''))
    """
    if not last:
        return key, ""
    parts = _parts(key)
    return _text(parts[:-last]), _text(parts[-last:])


def _text(parts: list[str | None]) -> str:
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def _value_label(value: Value) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    plain = value == value.strip() and value.isprintable() and value and value != "NULL"
    if plain and "," not in value and not value.startswith("'"):
        return value
    return "'" + value.replace("'", "''") + "'"


def _typed(part: str | None, kind: str) -> Value:
    if part is None:
        return None
    match kind:
        case "boolean" if part in ("true", "false"):
            return part == "true"
        case "time" if _TIME.fullmatch(part):
            return part.replace(" ", "T", 1) + "Z"
        case "whole" if _WHOLE.fullmatch(part):
            return int(part)
        case "double" if _DOUBLE.fullmatch(part) and isfinite(float(part)):
            return float(part)
        case "decimal" if _WHOLE.fullmatch(part):
            return int(part)
        case "decimal" if _DECIMAL.fullmatch(part) and Decimal(repr(float(part))) == Decimal(part):
            return float(part)
    return part


def _parts(key: str) -> list[str | None]:
    try:
        parts = json.loads(key)
    except (ValueError, RecursionError):
        return [key]
    fits = isinstance(parts, list) and all(part is None or isinstance(part, str) for part in parts)
    return parts if fits else [key]


def _part_order(part: str | None) -> tuple[int, float, str]:
    if part is None:
        return (0, 0.0, "")
    try:
        number = float(part)
    except ValueError:
        return (2, 0.0, part)
    return (1, number, part) if number == number else (2, 0.0, part)
