"""What an alert says, in a few words: for lines and sentences. The document itself has everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["change_text"]

_NAMED = 5  # objects in a sentence


def change_text(alert: Mapping[str, Any]) -> str:
    """What has changed, in a few words.

    >>> change_text({"side": None, "entered": ["/a"], "left": ["/b", "/c"]}), change_text({"side": "above"})
    ('/a entered, /b, /c left', 'above')
    """
    if "entered" not in alert:
        return str(alert["side"] or "new value")
    parts = [f"{_names(alert[how])} {how}" for how in ("entered", "left") if alert[how]]
    return ", ".join(parts) or "another order"


def _names(objects: Sequence[str]) -> str:
    more = len(objects) - _NAMED
    return ", ".join(objects[:_NAMED]) + (f" and {more} more" if more > 0 else "")
