"""Deliveries: in order, at least once, whatever the sink does."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Sequence

import pytest

from tacit.runtime.sinks import AlertDocument, Delivery, SinkError
from tests.runtime.sinks.memory import MemoryBacklog, Pauses, alert


class Moody:
    """A sink that answers by a list of moods: None takes, an error is raised."""

    name = "moody"

    def __init__(self, moods: Sequence[Exception | None] = (), *, batch_max: int = 2, bad: Sequence[str] = ()) -> None:
        self.moods, self.batch_max, self.bad = list(moods), batch_max, set(bad)
        self.got: list[str] = []
        self.closed = False

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        mood = self.moods.pop(0) if self.moods else None
        if mood is not None:
            raise mood
        if any(each["id"] in self.bad for each in alerts):
            raise SinkError("no", retry=False)
        self.got += [each["id"] for each in alerts]

    async def close(self) -> None:
        self.closed = True


def all_steps(delivery: Delivery) -> None:
    async def run() -> None:
        while await delivery.step():
            pass

    asyncio.run(run())


def test_everything_in_order() -> None:
    backlog, sink = MemoryBacklog([alert(number) for number in range(5)]), Moody()
    all_steps(Delivery(sink, backlog))
    assert sink.got == backlog.taken["moody"] == [f"hot/{number}" for number in range(5)]


def test_pauses_grow_and_the_other_side_may_ask_for_more() -> None:
    later = [SinkError("away", retry=True)] * 9
    backlog, pauses = MemoryBacklog([alert(1)]), Pauses()
    sink = Moody([*later, SinkError("busy", retry=True, after_seconds=120.0)])
    all_steps(Delivery(sink, backlog, rng=random.Random(1), sleep=pauses))
    assert backlog.taken["moody"] == ["hot/1"]
    for pause, full in zip(pauses.seconds, [0.5, 1, 2, 4, 8, 16, 32, 60, 60], strict=False):
        assert full / 2 <= pause <= full
    assert pauses.seconds[-1] == 120.0


def test_a_refusal_parks_one_alert_and_the_others_go_on(caplog: pytest.LogCaptureFixture) -> None:
    backlog = MemoryBacklog([alert(number) for number in range(4)])
    sink = Moody(bad=["hot/1"], batch_max=3)
    with caplog.at_level(logging.ERROR, logger="tacit.sinks"):
        all_steps(Delivery(sink, backlog))
    assert backlog.taken["moody"] == ["hot/0", "hot/2", "hot/3"]
    assert backlog.refused["moody"] == {"hot/1": "no"}
    assert "refuses the alert hot/1, which is set aside: no" in caplog.text


def test_what_was_not_written_down_is_sent_again_with_the_same_id() -> None:
    class Forgetful(MemoryBacklog):
        crashed = False

        async def delivered(self, sink: str, ids: Sequence[str]) -> None:
            if not self.crashed:
                self.crashed = True
                raise RuntimeError("power cut")
            await super().delivered(sink, ids)

    backlog, sink = Forgetful([alert(1), alert(2)]), Moody()
    with pytest.raises(RuntimeError, match="power cut"):
        all_steps(Delivery(sink, backlog))
    all_steps(Delivery(sink, backlog))  # as after a restart
    assert sink.got == ["hot/1", "hot/2", "hot/1", "hot/2"]
    assert backlog.taken["moody"] == ["hot/1", "hot/2"]


def test_the_task_wakes_survives_defects_and_closes_the_sink(caplog: pytest.LogCaptureFixture) -> None:
    backlog, sink, pauses = MemoryBacklog([alert(1)]), Moody([ValueError("a defect")]), Pauses()

    async def story() -> None:
        delivery = Delivery(sink, backlog, sleep=pauses)
        task = asyncio.create_task(delivery.run())
        while "hot/1" not in sink.got:
            await asyncio.sleep(0)
        backlog.alerts.append(alert(2))
        delivery.wake()
        while "hot/2" not in sink.got:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with caplog.at_level(logging.INFO, logger="tacit.sinks"):
        asyncio.run(story())
    assert sink.closed
    assert len(pauses.seconds) == 1
    assert "the sink moody failed unexpectedly" in caplog.text
    assert "takes alerts again after 1 failures" in caplog.text


def test_a_sink_that_is_away_does_not_hold_up_the_others() -> None:
    backlog = MemoryBacklog([alert(1)])
    away, well = Moody([SinkError("away", retry=True)]), Moody()
    well.name = "well"  # type: ignore[misc]

    async def story() -> None:
        stuck = asyncio.create_task(Delivery(away, backlog, sleep=lambda _seconds: asyncio.Event().wait()).run())  # type: ignore[arg-type, return-value]
        await Delivery(well, backlog).step()
        stuck.cancel()
        with pytest.raises(asyncio.CancelledError):
            await stuck

    asyncio.run(story())
    assert (away.got, well.got) == ([], ["hot/1"])
