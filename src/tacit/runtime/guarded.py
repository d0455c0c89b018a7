"""A defect in one watch ends that watch, and neither a site's stream nor the coordinator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tacit.protocols.messages import Message
from tacit.runtime.kept_watch import KeptWatch, Outbound
from tacit.runtime.store import Write
from tacit.vocabulary import ProtocolError
from tacit.wire.control import Control

__all__ = ["Addressed", "addressed", "fail", "spoken", "writes_of"]

Addressed = tuple[int, int, Message | Control]
"""To which site, about which watch, what."""


def addressed(watch: KeptWatch, out: Sequence[Outbound]) -> list[Addressed]:
    """What a watch says, with its number."""
    return [(site, watch.number, message) for site, message in out]


def spoken(watch: KeptWatch, work: Callable[..., Sequence[Outbound]], *said: Any) -> list[Addressed]:
    """What a watch says to this. A defect in one watch ends that watch, and neither a stream nor the coordinator."""
    try:
        return addressed(watch, work(*said))
    except ProtocolError:
        raise
    except Exception as error:
        fail(watch, error)
        return []


def writes_of(watch: KeptWatch) -> list[Write]:
    """What it must store; nothing, if it fails over that."""
    try:
        return watch.take_writes()
    except Exception as error:
        fail(watch, error)
        return []


def fail(watch: KeptWatch, error: Exception) -> None:
    """Let it end, and say what an operator can do."""
    name = watch.plan.name
    why = f"it failed over {type(error).__name__}: {error}; the coordinator's log says where"
    watch.fail(f"{why}. Start the coordinator again, or DROP WATCH {name} and create it anew", error=error)
