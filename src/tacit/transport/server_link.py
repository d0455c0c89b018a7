"""A site's stream as the coordinator holds it: frames in by iteration, frames out through a bounded queue."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import grpc
from grpc import aio

from tacit.transport.admission import ADMITTED
from tacit.transport.limits import ServerLimits
from tacit.transport.outbox import Outbox
from tacit.vocabulary.errors import ProtocolError

__all__ = ["ServerLink"]

_log = logging.getLogger(__name__)


class ServerLink:
    """One stream of one site. Use it in the event loop of the server only.

    ``site`` is the name that the site's token proved (where tokens are asked for), ``peer`` where it calls from.
    """

    def __init__(self, site: str, context: Any, limits: ServerLimits) -> None:
        self.site, self.peer = site, context.peer()
        self._context, self._limits = context, limits
        self._outbox = Outbox(frames=limits.queue_frames, volume=limits.queue_bytes)
        self._verdict: asyncio.Future[tuple[grpc.StatusCode, str]] = asyncio.get_running_loop().create_future()
        self._first = True

    def __repr__(self) -> str:
        return f"<link of site {self.site!r} from {self.peer}>"

    def __aiter__(self) -> ServerLink:
        return self

    async def __anext__(self) -> bytes:
        """The next frame that the site sent; ends when the site ends the stream."""
        if self._first:
            self._first = False
            try:
                async with asyncio.timeout(self._limits.handshake_s):
                    frame = await self._context.read()
            except TimeoutError as error:
                seconds = f"{self._limits.handshake_s:g}"
                raise ProtocolError(f"the site said nothing within {seconds} seconds of linking up") from error
        else:
            frame = await self._context.read()
        if frame is aio.EOF:
            raise StopAsyncIteration
        return bytes(frame)

    def send(self, *frames: bytes) -> bool:
        """Queue frames for the site, without waiting; False when the stream is ending, because it ends anyway.

        A site that reads so slowly that its queue is full is cut off: it comes back and is told where things stand.
        So is one for which there is a frame that no stream takes.
        """
        if self._verdict.done():
            return False
        largest = max(map(len, frames), default=0)
        if largest > self._limits.message_bytes:
            reason = (
                f"a message of {largest} bytes for site {self.site} is larger than the limit of"
                f" {self._limits.message_bytes} bytes; a watch with fewer groups has smaller ones"
            )
            _log.error("the link of site %s ends: %s", self.site, reason)
            self.close(reason, code=grpc.StatusCode.RESOURCE_EXHAUSTED)
            return False
        if not self._outbox.put(*frames):
            self.close(
                f"the site reads too slowly: {len(self._outbox)} frames are waiting for it",
                code=grpc.StatusCode.RESOURCE_EXHAUSTED,
            )
            return False
        return True

    def close(self, reason: str, *, code: grpc.StatusCode = grpc.StatusCode.ABORTED) -> None:
        """End the stream; the site is told the reason. Frames that wait are dropped; ``on_link`` is cancelled."""
        if not self._verdict.done():
            self._verdict.set_result((code, reason))
            self._outbox.clear()

    def refuse(self, reason: str) -> None:
        """End the stream for something that only an operator can mend: the site will try again seldom."""
        self.close(reason, code=grpc.StatusCode.FAILED_PRECONDITION)

    async def run(self, on_link: Callable[[ServerLink], Awaitable[None]]) -> None:
        """Hold the stream until the site, ``on_link`` or ``close`` ends it."""
        await self._context.send_initial_metadata(ADMITTED)
        work = asyncio.ensure_future(on_link(self))
        writing = asyncio.create_task(self._write())
        try:
            ends: set[asyncio.Future[Any]] = {work, writing, self._verdict}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if work.done() and not self._verdict.done():
                error = None if work.cancelled() else work.exception()
                if error is not None:
                    self._verdict.set_result(_verdict_on(error, self.site))
                else:  # what was queued before the end goes out
                    self._outbox.finish()
                    await asyncio.wait({writing}, timeout=self._limits.farewell_s)
        finally:
            await self._end(work, writing)
        if self._verdict.done():
            await self._say(*self._verdict.result())
        self._verdict.set_result((grpc.StatusCode.OK, ""))

    async def _write(self) -> None:
        while (frame := await self._outbox.get()) is not None:
            await self._context.write(frame)

    async def _end(self, work: asyncio.Future[None], writing: asyncio.Task[None]) -> None:
        was_done = work.done()
        for task in (work, writing):
            task.cancel()
        await asyncio.wait({work, writing})
        if not writing.cancelled():
            writing.exception()  # the site is gone: nobody to tell
        if not work.cancelled() and work.exception() is not None and not was_done:
            _log.error("the stream of site %r failed while it ended", self.site, exc_info=work.exception())

    async def _say(self, code: grpc.StatusCode, reason: str) -> None:
        """End the stream with a status. It waits behind what the site has not read, so the wait is bounded."""
        with suppress(TimeoutError):
            async with asyncio.timeout(self._limits.farewell_s):
                await self._context.abort(code, reason)
        raise aio.AbortError("the site does not read")  # gRPC's own way to leave a handler whose status is said


def _verdict_on(error: BaseException, site: str) -> tuple[grpc.StatusCode, str]:
    if isinstance(error, ProtocolError):
        return grpc.StatusCode.INVALID_ARGUMENT, str(error)
    _log.error("the stream of site %r failed", site, exc_info=error)
    return grpc.StatusCode.INTERNAL, "the coordinator failed over this stream; its log says why"
