"""Keys of groups from two sides, the store's texts and DuckDB's values, in one form that can be compared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

__all__ = ["Key", "key_of_text", "key_of_values", "shown"]

Key = tuple[str | None, ...]
"""The parts of a key as texts; numbers in one way of writing, whatever their type."""

_EXACT = 1 << 53  # up to here a double has every whole number


def key_of_values(values: Iterable[Any], kinds: Sequence[str] = ()) -> Key:
    """The key that some values of DuckDB, or of JSON, make; ``kinds`` says which texts are numbers or times.

    >>> key_of_values([1, "01", None, 2.5])
    ('1.0', '01', None, '2.5')
    >>> key_of_values(["1", "2026-03-01T12:00:00Z"], ["number", "time"])
    ('1.0', '2026-03-01 12:00:00')
    """
    parts = list(values)
    known = [*kinds, *(["text"] * len(parts))]
    return tuple(_part(part, kind) for part, kind in zip(parts, known, strict=False))


def key_of_text(text: str, kinds: Sequence[str] = ()) -> Key:
    """The key that a coordinator has stored, a JSON array.

    >>> key_of_text('["1", null, "1"]', ["number", "text", "text"]), key_of_text("")
    (('1.0', None, '1'), ())
    """
    if not text:
        return ()
    try:
        parts = json.loads(text)
    except ValueError:
        parts = [text]
    return key_of_values(parts if isinstance(parts, list) else [parts], kinds)


def shown(key: Key) -> str:
    """A key for people."""
    return ", ".join("NULL" if part is None else part for part in key)


def _part(value: Any, kind: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if kind == "number" or isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return str(value.replace(tzinfo=None))
    if kind == "time":
        return str(value).replace("T", " ", 1).removesuffix("Z")
    return str(value)


def _number(value: Any) -> str:
    try:
        whole = int(value)
        if whole == (float(value) if isinstance(value, float) else Decimal(str(value))):
            return repr(float(whole)) if abs(whole) < _EXACT else str(whole)
    except (ValueError, OverflowError, ArithmeticError):
        pass
    try:
        return repr(float(value))
    except ValueError:
        return str(value)
