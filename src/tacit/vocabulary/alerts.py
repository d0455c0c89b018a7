"""What an alert or a change says, in a few words: for lines and sentences. The document itself has everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.vocabulary.keys import Value, group_label

__all__ = ["about_text", "basis_text", "change_text"]

_NAMED = 5  # objects in a sentence


def about_text(alert: Mapping[str, Any]) -> str:
    """The watch of an alert and its group.

    >>> about_text({"watch": "hot", "group": None}), about_text({"watch": "hot", "group": ["north", 4]})
    ('hot', 'hot [north, 4]')
    """
    return alert["watch"] if alert["group"] is None else f"{alert['watch']} [{group_label(alert['group'])}]"


def change_text(alert: Mapping[str, Any]) -> str:
    """What has changed, in a few words.

    >>> change_text({"side": None, "entered": [["/a"]], "left": [["/b"], ["/c"]]}), change_text({"side": "above"})
    ('/a entered, /b, /c left', 'above')
    >>> change_text({"side": "met", "value": 0.5, "comparison": "ratio > 0.4"})
    'met: ratio > 0.4 at 0.5'
    >>> change_text({"side": "not met", "value": None, "comparison": "ratio > 0.4"})
    'not met: ratio > 0.4 without a value'
    """
    if "entered" in alert:
        parts = [f"{_names(alert[how])} {how}" for how in ("entered", "left") if alert[how]]
        return ", ".join(parts) or "another order"
    text = str(alert["side"] or "new value")
    value = alert.get("value")
    if alert.get("comparison"):
        return f"{text}: {alert['comparison']} {'without a value' if value is None else f'at {value:.6g}'}"
    return text if value is None else f"{text}: {value:.6g}"


def basis_text(alert: Mapping[str, Any]) -> str:
    """What the alert rests on, unless that is simply a valid answer of all sites; empty if it is.

    >>> since = "2026-03-01T12:00:00Z"
    >>> basis_text({"state": "stale", "missing": [{"site": "south", "since": since, "reason": "its table is idle"}]})
    'stale: without south since 2026-03-01T12:00:00Z (its table is idle)'
    >>> basis_text({"state": "valid", "missing": [], "late": True}), basis_text({"state": "valid"})
    ('told late', '')
    """
    state, missing = alert.get("state", "valid"), alert.get("missing", ())
    without = ", ".join(f"without {each['site']} since {each['since']} ({each['reason']})" for each in missing)
    said = "" if state == "valid" and not without else ": ".join(each for each in (state, without) if each)
    return "; ".join(each for each in (said, "told late" if alert.get("late") else "") if each)


def _names(objects: Sequence[Sequence[Value]]) -> str:
    more = len(objects) - _NAMED
    return ", ".join(map(group_label, objects[:_NAMED])) + (f" and {more} more" if more > 0 else "")
