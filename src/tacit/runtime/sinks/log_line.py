"""Alerts as lines of the log."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from tacit.runtime.sinks.alert import alert_text
from tacit.runtime.sinks.sink import AlertDocument

__all__ = ["LogSink"]

LOGGER = logging.getLogger("tacit.alerts")


class LogSink:
    """A line per alert from the logger ``tacit.alerts``; the document is the record's ``alert``."""

    batch_max = 100

    def __init__(self, name: str = "log", level: str = "warning") -> None:
        self.name = name
        self._level = logging.getLevelNamesMapping()[level.upper()]

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        for alert in alerts:
            LOGGER.log(self._level, "%s", alert_text(alert), extra={"alert": dict(alert)})

    async def close(self) -> None:
        pass
