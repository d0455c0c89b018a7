"""An alert, the JSON document that every sink is given, as a line and as a sentence."""

from __future__ import annotations

import json

from tacit.runtime.sinks.sink import AlertDocument
from tacit.vocabulary.alerts import change_text

__all__ = ["alert_text", "as_line"]


def as_line(alert: AlertDocument) -> bytes:
    """The document on one line, without its end; the same bytes each time."""
    return json.dumps(dict(alert), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode()


def alert_text(alert: AlertDocument) -> str:
    """The alert as a sentence.

    >>> alert_text({"id": "w/1", "watch": "w", "at": "1970-01-01T00:00:10Z", "side": "met", "value": 0.5})
    'w is met at 1970-01-01T00:00:10Z: 0.5 [w/1]'
    """
    group = "" if alert.get("group") is None else f" of {alert['group']}"
    if "entered" in alert:
        return f"{alert['watch']}{group} at {alert['at']}: {change_text(alert)} [{alert['id']}]"
    changed = "has changed" if alert.get("side") is None else f"is {alert['side']}"
    value = "" if alert.get("value") is None else f": {alert['value']:.6g}"
    return f"{alert['watch']}{group} {changed} at {alert['at']}{value} [{alert['id']}]"
