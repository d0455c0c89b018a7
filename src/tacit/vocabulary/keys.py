"""The keys of groups as texts: one JSON array for all keys of a group, told apart exactly and shown to people.

Order: numbers by size, before texts; that is how ties between groups are broken.
"""

from __future__ import annotations

import json
from functools import lru_cache

__all__ = ["key_label", "key_order", "split_key"]


@lru_cache(maxsize=1 << 16)
def key_order(key: str) -> tuple[tuple[int, float, str], ...]:
    """What to sort keys by.

    >>> sorted(['["10"]', '["b"]', '["9"]', '[null]'], key=key_order)
    ['[null]', '["9"]', '["10"]', '["b"]']
    """
    return tuple(_part_order(part) for part in _parts(key))


def key_label(key: str) -> str:
    """The key as people read it.

    >>> key_label('["north", "a"]'), key_label('[null]')
    ('north, a', 'NULL')
    """
    return ", ".join("NULL" if part is None else str(part) for part in _parts(key))


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
