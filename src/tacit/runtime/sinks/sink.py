"""What a sink is, and how it says that it could not deliver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from tacit.vocabulary.errors import TacitError

__all__ = ["AlertDocument", "Sink", "SinkError"]

AlertDocument = Mapping[str, Any]
"""An alert as JSON has it: see docs/CONFIGURATION.md, Alerts; ``Teller`` in ``answers.py`` makes them."""


class SinkError(TacitError):
    """Alerts were not delivered. ``retry``: the same may work later, after ``after_seconds`` if the other side said so;
    otherwise it never will.
    """

    def __init__(self, message: str, *, retry: bool, after_seconds: float | None = None) -> None:
        self.retry, self.after_seconds = retry, after_seconds
        super().__init__(message)


class Sink(Protocol):
    """One place where alerts go."""

    @property
    def name(self) -> str:
        """What it is called in the configuration; what is delivered is remembered by this name."""

    @property
    def batch_max(self) -> int:
        """The most alerts that one call takes; 1 where each is a message of its own."""

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        """Returns when all of them are safe at the other side; raises SinkError when that is not certain."""

    async def close(self) -> None:
        """Lets go of connections."""
