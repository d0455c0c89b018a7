"""A backlog in memory, and alerts to put into it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.runtime.sinks import AlertDocument

__all__ = ["MemoryBacklog", "Pauses", "alert"]


def alert(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"hot/{number}", "watch": "hot", "at": f"1970-01-01T00:00:{number:02d}Z", "pane": number, "side": "met",
        "value": 1.5, "group": None, "raised": f"1970-01-01T00:00:{number:02d}.500Z", **more,
    }  # fmt: skip


class MemoryBacklog:
    """What the coordinator's store does, without a disk."""

    def __init__(self, alerts: Sequence[AlertDocument]) -> None:
        self.alerts = list(alerts)
        self.taken: dict[str, list[str]] = {}
        self.refused: dict[str, dict[str, str]] = {}

    async def undelivered(self, sink: str, limit: int) -> list[AlertDocument]:
        settled = {*self.taken.get(sink, ()), *self.refused.get(sink, ())}
        return [each for each in self.alerts if each["id"] not in settled][:limit]

    async def delivered(self, sink: str, ids: Sequence[str]) -> None:
        self.taken.setdefault(sink, []).extend(ids)

    async def parked(self, sink: str, id: str, reason: str) -> None:
        self.refused.setdefault(sink, {})[id] = reason


class Pauses:
    """A sleep that takes no time and remembers."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
