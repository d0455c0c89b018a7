"""A site's link to its coordinator: dials out, holds one stream of frames both ways, and comes back when it breaks.

Between attempts it pauses for a random part of a growing time (full jitter), so that a thousand sites do not return to
a restarted coordinator in the same moment. What only an operator can mend (a wrong token, another release, a
certificate that does not hold) is told as fatal and tried again seldom.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any

import grpc
from grpc import aio

from tacit.transport.admission import calling_card, is_admitted
from tacit.transport.backoff import Backoff
from tacit.transport.limits import LinkLimits
from tacit.transport.outbox import Outbox
from tacit.transport.refusals import Refusal, explain
from tacit.transport.security import ClientTls, check_dial, split_address
from tacit.vocabulary.errors import OptionError, ProtocolError

__all__ = ["SiteLink"]

_METHOD = "/tacit.Tacit/Link"
_FORGOTTEN = "Internal error from Core"  # what gRPC says when a write met the end of the stream (grpc/grpc#36066)

_log = logging.getLogger(__name__)

Stream = Any  # of gRPC, which says no types


class SiteLink:
    """One site's link. All calls, in and out, are in the event loop that ``run`` runs in.

    ``on_up()`` is called when the coordinator has let the site in, ``on_frame(frame)`` for each frame in order,
    ``on_down(reason, fatal)`` when the link breaks and after each attempt that failed. The callbacks must not block.
    A ProtocolError out of ``on_frame`` ends the stream, which is then dialled anew; any other error ends ``run``.
    """

    def __init__(
        self,
        address: str,
        site: str,
        *,
        on_up: Callable[[], None],
        on_frame: Callable[[bytes], None],
        on_down: Callable[[str, bool], None],
        token: str | None = None,
        tls: ClientTls | None = None,
        limits: LinkLimits | None = None,
        rng: random.Random | None = None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
    ) -> None:
        split_address(address)  # refuses what is none
        self.address, self.site = address, site
        self._on_up, self._on_frame, self._on_down = on_up, on_frame, on_down
        self._token, self._tls = token, tls
        self._limits = LinkLimits() if limits is None else limits
        self._clock, self._sleep = clock, sleep
        self._backoff = Backoff(self._limits, random.Random() if rng is None else rng)
        self._outbox: Outbox | None = None
        self._broken: asyncio.Future[str] | None = None

    @property
    def is_up(self) -> bool:
        """Has the coordinator let the site in?"""
        return self._outbox is not None

    def send(self, frame: bytes) -> bool:
        """Queue a frame for the coordinator, without waiting; False while the link is down, or when it must break.

        It breaks when the coordinator reads so slowly that the queue is full, or over a frame that no stream takes.
        What was queued may be lost with the link: whoever sends says again what matters when it is up again.
        """
        if self._outbox is None or self._broken is None or self._broken.done():
            return False
        if len(frame) > self._limits.message_bytes:
            reason = (
                f"a message of {len(frame)} bytes is larger than the limit of {self._limits.message_bytes} bytes;"
                " a watch with fewer groups has smaller ones"
            )
            _log.error("the link of site %s breaks: %s", self.site, reason)
            self._broken.set_result(reason)
            return False
        if not self._outbox.put(frame):
            self._broken.set_result(f"the coordinator reads too slowly: {len(self._outbox)} frames are waiting for it")
            return False
        return True

    async def run(self, stop: asyncio.Event) -> None:
        """Keep the link up until ``stop`` is set; what was queued by then still goes out."""
        stopping = asyncio.create_task(stop.wait())
        try:
            while not stop.is_set():
                since = self._clock()
                refusal, was_up = await self._attempt(stopping)
                self._on_down(refusal.sentence, refusal.fatal)
                steady = was_up and self._clock() - since >= self._limits.steady_s
                pause = asyncio.ensure_future(self._sleep(self._backoff.pause(fatal=refusal.fatal, steady=steady)))
                await _first_of(stopping, pause)
                await _cancel(pause)
        finally:
            await _cancel(stopping)

    async def _attempt(self, stopping: asyncio.Task[bool]) -> tuple[Refusal, bool]:
        """Dial once and hold the stream for as long as it lasts: why it ended, and whether it was ever up."""
        options = self._limits.options()
        try:
            await asyncio.to_thread(check_dial, self.address, self._token, self._tls)
            if self._tls is None:
                channel = aio.insecure_channel(self.address, options=options)
            else:
                channel = aio.secure_channel(self.address, self._tls.credentials(), options=options)
        except OptionError as error:
            return Refusal(str(error), fatal=True), False
        async with channel:
            dial = channel.stream_stream(_METHOD)
            stream: Stream = dial(metadata=aio.Metadata(*calling_card(token=self._token, site=self.site)))
            try:
                return await self._hold(stream, stopping)
            finally:
                self._outbox = self._broken = None
                stream.cancel()

    async def _hold(self, stream: Stream, stopping: asyncio.Task[bool]) -> tuple[Refusal, bool]:
        greeting = asyncio.ensure_future(stream.initial_metadata())
        await _first_of(greeting, stopping, timeout=self._limits.handshake_s)
        is_greeted = greeting.done()
        await _cancel(greeting)
        if not is_greeted:
            if stopping.done():
                return Refusal("the site stops", fatal=False), False
            return await self._explain(grpc.StatusCode.UNAVAILABLE, None), False
        if not is_admitted(await stream.initial_metadata()):
            return await self._refusal(stream), False
        self._outbox = outbox = Outbox(frames=self._limits.queue_frames, volume=self._limits.queue_bytes)
        self._broken = broken = asyncio.get_running_loop().create_future()
        self._on_up()
        reading = asyncio.create_task(self._read(stream))
        writing = asyncio.create_task(self._write(stream, outbox))
        try:
            await _first_of(reading, broken, stopping)
            if stopping.done() and not reading.done() and not broken.done():
                outbox.finish()
                await _first_of(reading, timeout=self._limits.farewell_s)  # ends when the coordinator has heard us out
                return Refusal("the site stops", fatal=False), True
            if broken.done():
                return Refusal(broken.result(), fatal=False), True
            try:
                reading.result()
            except ProtocolError as error:
                return Refusal(str(error), fatal=False), True
            code, details = await stream.code(), await stream.details()
            if code is grpc.StatusCode.UNAVAILABLE or details == _FORGOTTEN:  # the next attempt finds out more
                return Refusal(f"the coordinator at {self.address} broke off", fatal=False), True
            return await self._explain(code, details), True
        finally:
            broken.cancel()
            await _cancel(reading, writing)

    async def _refusal(self, stream: Stream) -> Refusal:
        """Why the site was not let in. Nothing is written before that has come whole: a write into a stream that ends
        makes gRPC forget why it ended (grpc/grpc#36066)."""
        try:
            async with asyncio.timeout(self._limits.handshake_s):
                return await self._explain(await stream.code(), await stream.details())
        except TimeoutError:
            return await self._explain(grpc.StatusCode.UNIMPLEMENTED, None)

    async def _read(self, stream: Stream) -> None:
        with suppress(aio.AioRpcError):  # the stream itself is asked why it ended
            while (frame := await stream.read()) is not aio.EOF:
                self._on_frame(bytes(frame))

    async def _write(self, stream: Stream, outbox: Outbox) -> None:
        with suppress(aio.AioRpcError, asyncio.InvalidStateError):  # the reader sees the end too, and its reason
            while (frame := await outbox.get()) is not None:
                await stream.write(frame)
            await stream.done_writing()

    async def _explain(self, code: grpc.StatusCode, details: str | None) -> Refusal:
        return await asyncio.to_thread(partial(explain, code, details, self.address, self._tls))


async def _first_of(*waited: asyncio.Future[Any], timeout: float | None = None) -> None:
    await asyncio.wait(waited, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)


async def _cancel(*tasks: asyncio.Future[Any]) -> None:
    """End tasks and wait until they have ended, so that nothing of them is left in the loop."""
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()
