"""A coordinator's port and sites on real sockets, with what happened to them on record."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from tacit.transport.grpc_link import SiteLink
from tacit.transport.grpc_server import Server, serve
from tacit.transport.security import ServerSecurity
from tacit.wire import decode_frame, encode_frame

PATIENCE_S = 120.0


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test's coroutine; one that waits for something that never comes fails instead of hanging."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_S):
            await test()

    asyncio.run(bounded())


async def echo(link) -> None:
    """Say every envelope back; a frame that is none is a ProtocolError."""
    async for frame in link:
        link.send(encode_frame(decode_frame(frame)))


async def parrot(request, client):
    """Answer with the question."""
    return {"said": request, "client": client}


async def count(request, client):
    """Answer as often as wished."""
    for number in range(request["to"]):
        yield {"number": number}


async def listen(address="127.0.0.1:0", *, security=None, **parts) -> Server:
    """A coordinator that echoes, unless told otherwise."""
    parts = {"on_link": echo, "on_ask": parrot, "on_follow": count, **parts}
    return await serve(address, security=ServerSecurity() if security is None else security, **parts)


@asynccontextmanager
async def listening(*args: Any, **parts: Any) -> AsyncIterator[str]:
    """The address of a coordinator that stops at the end."""
    server = await listen(*args, **parts)
    try:
        yield f"127.0.0.1:{server.port}"
    finally:
        await server.stop(0.2)


class Site:
    """A site's link and what it was told, in order."""

    def __init__(self, address: str, name: str = "north", **options: Any) -> None:
        self.told: asyncio.Queue[tuple[Any, ...]] = asyncio.Queue()
        self.pauses: list[float] = []
        self.stop = asyncio.Event()
        defaults = {"rng": random.Random(1), "sleep": self._pause}
        self.link = SiteLink(
            address,
            name,
            on_up=lambda: self.told.put_nowait(("up",)),
            on_frame=lambda frame: self.told.put_nowait(("frame", frame)),
            on_down=lambda reason, fatal: self.told.put_nowait(("down", reason, fatal)),
            **{**defaults, **options},
        )

    async def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        await asyncio.sleep(min(seconds, 0.02))

    async def until(self, what: str) -> tuple[Any, ...]:
        """The next thing of this kind that the site was told; others before it are skipped."""
        while (news := await self.told.get())[0] != what:
            pass
        return news

    async def is_well(self, text: bytes = b"are you there?") -> None:
        """The link carries a frame there and back."""
        assert self.link.send(encode_frame([text]))
        kind, *rest = await self.told.get()
        assert (kind, decode_frame(rest[0])) == ("frame", [text])


@asynccontextmanager
async def linked(address: str, name: str = "north", **options: Any) -> AsyncIterator[Site]:
    """A site whose link runs until the end, up or not."""
    site = Site(address, name, **options)
    task = asyncio.create_task(site.link.run(site.stop))
    try:
        yield site
    finally:
        site.stop.set()
        await task


class Proxy:
    """Stands between a site and its coordinator. While ``passes`` is not set nothing passes, yet nothing is closed."""

    def __init__(self, target: str) -> None:
        self._target = target.split(":")
        self._writers: list[asyncio.StreamWriter] = []
        self.address = ""
        self.passes = asyncio.Event()
        self.passes.set()

    async def connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Carry one connection, both ways, until an end of it is closed."""
        far_reader, far_writer = await asyncio.open_connection(*self._target)
        ways = self._carry(reader, far_writer), self._carry(far_reader, writer)
        await asyncio.gather(*ways, return_exceptions=True)

    def cut(self) -> None:
        """Break every connection."""
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.append(writer)
        while data := await reader.read(65536):
            await self.passes.wait()
            writer.write(data)
        writer.close()


@asynccontextmanager
async def between(target: str) -> AsyncIterator[Proxy]:
    """A proxy in front of an address."""
    proxy = Proxy(target)
    server = await asyncio.start_server(proxy.connect, "127.0.0.1", 0)
    proxy.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        proxy.cut()
