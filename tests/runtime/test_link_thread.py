"""Links in their thread: what is asked of them from other threads is done, however busy theirs is."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

from tacit.runtime.link_thread import LinkThread


class Link:
    """It holds until it is told to stop."""

    async def run(self, stop: asyncio.Event) -> None:
        await stop.wait()


def test_a_link_that_is_stopped_before_it_has_dialled_never_does() -> None:
    links, busy = LinkThread(), threading.Event()
    links.loop.call_soon_threadsafe(busy.wait)
    link = links.hold(Link)  # type: ignore[arg-type]
    link.start()
    with ThreadPoolExecutor(1) as other:
        stopping = other.submit(link.stop)
        busy.set()
        stopping.result()
    assert link._done is not None
    assert link._done.done()
    links.stop()
