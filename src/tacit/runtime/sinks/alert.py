"""An alert as the JSON document that every sink is given."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta
from typing import Any

from tacit.runtime.sinks.sink import AlertDocument

__all__ = ["alert_document", "alert_text", "as_line"]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def alert_document(
    *,
    id: str,
    watch: str,
    at_us: int,
    pane: int,
    raised_us: int,
    side: str | None = None,
    value: float | None = None,
    group: str | None = None,
) -> dict[str, Any]:
    """The document: ``at_us`` is the end of the pane, ``raised_us`` when the coordinator noticed.

    >>> alert_document(id="w/1", watch="w", at_us=10_000_000, pane=9, raised_us=11_500_000, side="met", value=0.5)
    {'id': 'w/1', 'watch': 'w', 'at': '1970-01-01T00:00:10Z', 'pane': 9, 'side': 'met', 'value': 0.5, 'group': None,
     'raised': '1970-01-01T00:00:11.500Z'}
    """
    known = value is not None and math.isfinite(value)
    return {
        "id": id,
        "watch": watch,
        "at": _iso(at_us),
        "pane": pane,
        "side": side,
        "value": value if known else None,
        "group": group,
        "raised": _iso(raised_us),
    }


def as_line(alert: AlertDocument) -> bytes:
    """The document on one line, without its end; the same bytes each time."""
    return json.dumps(dict(alert), ensure_ascii=False, allow_nan=False, separators=(", ", ": ")).encode()


def alert_text(alert: AlertDocument) -> str:
    """The alert as a sentence.

    >>> alert_text({"id": "w/1", "watch": "w", "at": "1970-01-01T00:00:10Z", "side": "met", "value": 0.5})
    'w is met at 1970-01-01T00:00:10Z: 0.5 [w/1]'
    """
    group = "" if alert.get("group") is None else f" of {alert['group']}"
    changed = "has changed" if alert.get("side") is None else f"is {alert['side']}"
    value = "" if alert.get("value") is None else f": {alert['value']:.6g}"
    return f"{alert['watch']}{group} {changed} at {alert['at']}{value} [{alert['id']}]"


def _iso(time_us: int) -> str:
    moment = EPOCH + timedelta(microseconds=time_us)
    precision = "seconds" if time_us % 1_000_000 == 0 else "milliseconds" if time_us % 1_000 == 0 else "microseconds"
    return moment.isoformat(timespec=precision).replace("+00:00", "Z")
