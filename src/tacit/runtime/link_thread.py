"""One event loop in a thread of its own, in which all of this process's sites hold their links."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

from tacit.transport.grpc_link import SiteLink

__all__ = ["HeldLink", "LinkThread"]

_STOP_S = 5.0


class HeldLink:
    """A site's link, to be used from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, make: Callable[[], SiteLink]) -> None:
        self._loop, self._make = loop, make
        self._link: SiteLink | None = None
        self._stop = asyncio.Event()  # of the loop's thread
        self._done: Future[None] | None = None

    def start(self) -> None:
        """Dial, and go on dialling."""
        self._done = asyncio.run_coroutine_threadsafe(self._run(), self._loop)

    def send(self, frame: bytes) -> bool:
        """Queue a frame; whether it goes out shows when the coordinator answers."""
        if self._link is None:
            return False
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(self._send, frame)
            return True
        return False

    def stop(self) -> None:
        """Hang up, also a link whose turn to dial has not come yet."""
        if self._done is None:
            return
        self._loop.call_soon_threadsafe(self._stop.set)
        with suppress(Exception):
            self._done.result(_STOP_S)

    def failure(self) -> BaseException | None:
        """Why the link is held no more, if that is so."""
        if self._done is None or not self._done.done() or self._done.cancelled():
            return None
        return self._done.exception()

    def _send(self, frame: bytes) -> None:
        if self._link is not None:
            self._link.send(frame)

    async def _run(self) -> None:
        self._link = self._make()
        await self._link.run(self._stop)


class LinkThread:
    """The thread and its loop."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="tacit-links", daemon=True)
        self._thread.start()

    def hold(self, make: Callable[[], SiteLink]) -> HeldLink:
        """A link that is not started yet."""
        return HeldLink(self.loop, make)

    def stop(self) -> None:
        """End the loop; links must have been stopped. Doing it twice does nothing."""
        if not self._thread.is_alive():
            return
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        try:
            self.loop.run_forever()
        finally:
            pending: set[asyncio.Task[Any]] = asyncio.all_tasks(self.loop)
            for task in pending:
                task.cancel()
            if pending:
                self.loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
            self.loop.close()
