"""An alert, the JSON document that every sink is given, as a line and as a sentence."""

from __future__ import annotations

import json

from tacit.runtime.sinks.sink import AlertDocument
from tacit.vocabulary.alerts import about_text, basis_text, change_text

__all__ = ["alert_text", "as_line"]


def as_line(alert: AlertDocument) -> bytes:
    """The document on one line, without its end; the same bytes each time."""
    return json.dumps(dict(alert), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode()


def alert_text(alert: AlertDocument) -> str:
    """The alert as a sentence.

    >>> alert_text({"id": "w/1", "watch": "w", "at": "1970-01-01T00:00:10Z", "side": "above", "value": 0.5,
    ...     "comparison": "mean > 0.4", "group": ["north"], "state": "valid"})
    'w [north] at 1970-01-01T00:00:10Z: above: mean > 0.4 at 0.5 [w/1]'
    """
    basis = basis_text(alert)
    what = f"{change_text(alert)} ({basis})" if basis else change_text(alert)
    return f"{about_text(alert)} at {alert['at']}: {what} [{alert['id']}]"
