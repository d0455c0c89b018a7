"""Messages in memory: delivered at once, in order, each counted as it would cross the wire."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable

from tacit.protocols.messages import Message
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["MemoryNetwork"]

Handler = Callable[[Message], Iterable[Message]]


class MemoryNetwork:
    """One process per number; what a handler returns goes to the other side: to the coordinator, or to its ``site``.

    Delivery is synchronous and first in, first out: ``send`` returns when nothing is left to deliver, so every
    conversation has ended before the next one begins.

    >>> from tacit.protocols.messages import Leave
    >>> network = MemoryNetwork()
    >>> network.attach(COORDINATOR, lambda message: (message,))
    >>> network.attach(4, lambda message: ())
    >>> network.send(4, (Leave(4, session=1),))
    >>> network.ledger.by_kind()
    {'leave': 2}
    """

    def __init__(self, ledger: Ledger | None = None) -> None:
        self.ledger = Ledger() if ledger is None else ledger
        self._handlers: dict[int, Handler] = {}
        self._queue: deque[tuple[int, Message]] = deque()
        self._delivering = False

    def attach(self, process: int, handler: Handler) -> None:
        """Messages to this process (a site's number, or COORDINATOR) go to the handler."""
        self._handlers[process] = handler

    def detach(self, process: int) -> None:
        """Messages to this process are counted and lost from now on."""
        del self._handlers[process]

    def send(self, source: int, messages: Iterable[Message]) -> None:
        """Send messages of one process and deliver until all is quiet."""
        self._post(source, messages)
        if self._delivering:
            return
        self._delivering = True
        try:
            while self._queue:
                target, message = self._queue.popleft()
                handler = self._handlers.get(target)
                if handler is not None:
                    self._post(target, handler(message))
        finally:
            self._delivering = False

    def _post(self, source: int, messages: Iterable[Message]) -> None:
        for message in messages:
            target = message.site if source == COORDINATOR else COORDINATOR
            self.ledger.add(source, target, message)
            self._queue.append((target, message))
