"""The gRPC transport alone: a thousand sites in one process, a coordinator that echoes in another.

How long it takes until all are linked up, what a round trip to all of them takes, and how many round trips a second
pass when each site sends its next frame as soon as the last one is back.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Callable
from multiprocessing.connection import Connection

import numpy as np

from benchmarks.common import parser
from benchmarks.light_sites import run_sites
from tacit.transport.grpc_server import serve
from tacit.transport.security import ServerSecurity
from tacit.transport.server_link import ServerLink
from tacit.vocabulary import OptionError

DESCRIPTION = "a thousand gRPC links: time to link up, round trips to all, round trips per second"
PAYLOAD = bytes(60)  # about a report


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when a frame was lost."""
    options = parser("links", DESCRIPTION)
    options.add_argument("--sites", type=int, help="how many sites (default 1000, quick 100)")
    chosen = options.parse_args(arguments)
    sites = chosen.sites or (100 if chosen.quick else 1000)
    here, there = multiprocessing.Pipe()
    coordinator = multiprocessing.get_context("spawn").Process(target=_coordinate, args=(there,), daemon=True)
    coordinator.start()
    try:
        return asyncio.run(_measure(f"127.0.0.1:{here.recv()}", sites, 5 if chosen.quick else 20))
    finally:
        here.send("stop")
        coordinator.join()


class Echoing:
    """A site that notes when its frames come back."""

    def __init__(self, count: Callable[[], None]) -> None:
        self._count = count
        self.send: Callable[[bytes], bool] | None = None
        self.is_busy = False
        self.times: list[float] = []
        self._since = 0.0

    def up(self, send: Callable[[bytes], bool]) -> None:
        """Linked up."""
        self.send = send
        self._count()

    def ask(self) -> None:
        """Send one frame."""
        self._since = time.perf_counter()
        assert self.send is not None
        self.send(PAYLOAD)

    def frame(self, frame: bytes) -> None:
        """It is back."""
        self.times.append(time.perf_counter() - self._since)
        self._count()
        if self.is_busy:
            self.ask()

    def down(self, reason: str, fatal: bool) -> None:
        """Nothing should break here; say so when it does."""
        if reason != "the site stops":
            print(f"  a link broke: {reason}")


async def _measure(address: str, count: int, rounds: int) -> int:
    stop, arrived, seen = asyncio.Event(), asyncio.Event(), 0

    def note() -> None:
        nonlocal seen
        seen += 1
        if seen % count == 0:
            arrived.set()

    sites = {f"site {number}": Echoing(note) for number in range(count)}
    begin = time.perf_counter()
    running = asyncio.create_task(run_sites(address, sites, stop, per_second=10_000))
    await arrived.wait()
    print(f"  {count} sites linked up in {time.perf_counter() - begin:.2f} s")
    everyone = []
    for _ in range(rounds):
        arrived.clear()
        begin = time.perf_counter()
        for site in sites.values():
            site.ask()
        await arrived.wait()
        everyone.append(time.perf_counter() - begin)
    print(
        f"  a round trip of all: median {1000 * float(np.median(everyone)):.0f} ms, worst {1000 * max(everyone):.0f} ms"
    )
    for site in sites.values():
        site.times.clear()
        site.is_busy = True
        site.ask()
    await asyncio.sleep(rounds / 4)
    for site in sites.values():
        site.is_busy = False
    times = np.concatenate([site.times for site in sites.values()])
    print(
        f"  busy: {len(times) / (rounds / 4):.0f} round trips per second, "
        f"p50 {1000 * np.quantile(times, 0.5):.1f} ms, p99 {1000 * np.quantile(times, 0.99):.1f} ms"
    )
    stop.set()
    await running
    return 0 if all(site.times for site in sites.values()) else 1


def _coordinate(pipe: Connection) -> None:
    async def echo(link: ServerLink) -> None:
        async for frame in link:
            link.send(frame)

    async def run() -> None:
        server = await serve(
            "127.0.0.1:0", security=ServerSecurity(), on_link=echo, on_ask=_no_question, on_follow=_no_question
        )
        pipe.send(server.port)
        await asyncio.to_thread(pipe.recv)
        await server.stop(1.0)

    asyncio.run(run())


def _no_question(request: object, client: str) -> object:
    raise OptionError("this coordinator only says frames back")
