"""The load side of "one coordinator, a thousand sites": many links in one process, each with its own connection.

``run_sites`` keeps a link per site and hands frames to what is given as the site: a machine without Spark. The
benchmark ``links`` gives it sites that only echo, which measures the transport alone.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from typing import Protocol

from tacit.transport.grpc_link import SiteLink
from tacit.transport.security import ClientTls

__all__ = ["LightSite", "run_sites"]


class LightSite(Protocol):
    """What a site does with its link. All calls come in the event loop of ``run_sites`` and must not block."""

    def up(self, send: Callable[[bytes], bool]) -> None:
        """The coordinator let it in; ``send`` takes frames until it is down."""

    def frame(self, frame: bytes) -> None:
        """A frame came."""

    def down(self, reason: str, fatal: bool) -> None:
        """The link broke, or an attempt failed."""


async def run_sites(
    address: str,
    sites: Mapping[str, LightSite],
    stop: asyncio.Event,
    *,
    tokens: Mapping[str, str] | None = None,
    tls: ClientTls | None = None,
    per_second: float = 500.0,
    seed: int = 0,
) -> None:
    """Run a link per site until ``stop`` is set; ``per_second`` of them are dialled at first, one after the other."""
    tasks: set[asyncio.Task[None]] = set()
    try:
        for number, (name, site) in enumerate(sites.items()):
            token = None if tokens is None else tokens[name]
            tasks.add(asyncio.create_task(_link(address, name, site, token, tls, seed + number).run(stop)))
            await asyncio.sleep(1 / per_second)
        await stop.wait()
    finally:
        stop.set()
        await asyncio.gather(*tasks)


def _link(
    address: str, name: str, site: LightSite, token: str | None, tls: ClientTls | None, seed: int
) -> SiteLink:  # fmt: skip
    def up() -> None:
        site.up(link.send)

    link = SiteLink(
        address,
        name,
        on_up=up,
        on_frame=site.frame,
        on_down=site.down,
        token=token,
        tls=tls,
        rng=random.Random(seed),
    )
    return link
