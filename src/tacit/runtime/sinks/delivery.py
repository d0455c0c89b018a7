"""Takes alerts from where they are kept to one sink: in order, at least once, for as long as it takes.

An alert counts as delivered when the sink has taken it and the backlog has written that down. A crash in between sends
it again with the same id. A sink that is out of order holds up its own alerts and no others.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from tacit.runtime.sinks.sink import AlertDocument, Sink, SinkError

__all__ = ["Backlog", "Delivery"]

LOGGER = logging.getLogger("tacit.sinks")
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 60.0
LOOK_S = 5.0


class Backlog(Protocol):
    """Alerts and what has become of them at each sink; kept on disk by the coordinator's store."""

    async def undelivered(self, sink: str, limit: int) -> Sequence[AlertDocument]:
        """The oldest alerts that the sink has neither taken nor refused, in the order they were raised."""

    async def delivered(self, sink: str, ids: Sequence[str]) -> None:
        """The sink has taken these."""

    async def parked(self, sink: str, id: str, reason: str) -> None:
        """The sink has refused this one for good: it is kept, and not tried again."""


class Delivery:
    """The work of one sink; ``run`` it as a task, and ``wake`` it when an alert has been written down."""

    def __init__(
        self,
        sink: Sink,
        backlog: Backlog,
        *,
        rng: random.Random | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._sink, self._backlog = sink, backlog
        self._rng, self._sleep = rng or random.Random(), sleep
        self._news = asyncio.Event()
        self._failures = 0

    def wake(self) -> None:
        """There is something new; call it in the loop's own thread."""
        self._news.set()

    async def run(self) -> None:
        """Delivers until it is cancelled."""
        try:
            while True:
                self._news.clear()
                try:
                    more = await self.step()
                except Exception as error:
                    # A defect here must not end the deliveries of a process that runs for months.
                    LOGGER.exception("the sink %s failed unexpectedly", self._sink.name)
                    await self._pause(SinkError(f"{type(error).__name__}: {error}", retry=True))
                    continue
                if not more:
                    await self._wait_for_news()
        finally:
            await self._sink.close()

    async def step(self) -> bool:
        """Tries once to deliver what is oldest; False when there is nothing."""
        alerts = await self._backlog.undelivered(self._sink.name, self._sink.batch_max)
        if not alerts:
            return False
        try:
            await self._sink.deliver(alerts)
        except SinkError as error:
            if error.retry:
                await self._pause(error)
            elif len(alerts) == 1:
                await self._park(alerts[0], error)
            else:
                await self._one_by_one(alerts)
            return True
        await self._done(alerts)
        return True

    async def _one_by_one(self, alerts: Sequence[AlertDocument]) -> None:
        """One of several was refused: only by itself can it be told from the others."""
        for alert in alerts:
            try:
                await self._sink.deliver([alert])
            except SinkError as error:
                if error.retry:
                    await self._pause(error)
                    return
                await self._park(alert, error)
            else:
                await self._done([alert])

    async def _done(self, alerts: Sequence[AlertDocument]) -> None:
        await self._backlog.delivered(self._sink.name, [str(alert["id"]) for alert in alerts])
        if self._failures:
            LOGGER.info("the sink %s takes alerts again after %d failures", self._sink.name, self._failures)
        self._failures = 0

    async def _park(self, alert: AlertDocument, error: SinkError) -> None:
        LOGGER.error("the sink %s refuses the alert %s, which is set aside: %s", self._sink.name, alert["id"], error)
        await self._backlog.parked(self._sink.name, str(alert["id"]), str(error))
        self._failures = 0

    async def _pause(self, error: SinkError) -> None:
        """Each failure in a row doubles the pause; a little chance keeps many from coming back at once."""
        grown = min(FIRST_PAUSE_S * 2 ** min(self._failures, 16), LONGEST_PAUSE_S)
        pause = max(grown * (0.5 + self._rng.random() / 2), error.after_seconds or 0.0)
        self._failures += 1
        if self._failures == 1 or grown == LONGEST_PAUSE_S:
            LOGGER.warning("the sink %s did not take alerts, which are tried again: %s", self._sink.name, error)
        await self._sleep(pause)

    async def _wait_for_news(self) -> None:
        try:
            async with asyncio.timeout(LOOK_S):  # in case nobody wakes us
                await self._news.wait()
        except TimeoutError:
            pass
