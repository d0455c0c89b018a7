"""The loop around the coordinator's mind, with links that are lists: what is sent when, and what is stored."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from tacit.runtime.coordinator import Coordinator
from tacit.runtime.coordinator_runner import _Backlog, _forget_strangers
from tacit.runtime.service import Service
from tacit.runtime.store import Store
from tacit.vocabulary import OptionError, ProtocolError
from tacit.wire.codec import VERSION, decode, encode
from tacit.wire.control import Install, Name, Numbers, Opening, TableOffer, Welcome
from tacit.wire.frames import FRAME_BYTES, decode_frame, encode_frame
from tests.runtime.light import COLUMNS, LightSite, LightSystem, rows, until

HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"
BY_K = """
CREATE WATCH by_k AS SELECT k, SUM(x) AS s FROM d
WINDOW LAST 10 SECONDS EVERY 1 SECOND GROUP BY k TRACK s WITHIN 1
"""


class Link:
    """A site's stream without a socket."""

    peer = "nowhere"

    def __init__(self, site: str, instance: str = "i") -> None:
        self.site = site
        self.sent: list[bytes] = []
        self.closed: tuple[str, Any] | None = None
        self.frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        table = TableOffer("d", tuple(COLUMNS.items()))
        self.frames.put_nowait(encode_frame([encode(Opening(VERSION, "test", site, instance, (table,)))]))

    def __aiter__(self) -> Link:
        return self

    async def __anext__(self) -> bytes:
        if (frame := await self.frames.get()) is None:
            raise StopAsyncIteration
        return frame

    def send(self, *frames: bytes) -> bool:
        if self.closed is None:
            self.sent += frames
        return self.closed is None

    def refuse(self, reason: str) -> None:
        self.close(reason, code="refused")

    def close(self, reason: str, *, code: Any = None) -> None:
        self.closed = self.closed or (reason, code)

    @property
    def heard(self) -> list[Any]:
        return [decode(data) for frame in self.sent for data in decode_frame(frame)]


async def _commits(service: Service) -> None:
    """Everything that was said until now is stored and sent."""
    async with asyncio.timeout(20):
        await service._settled()


def run(folder: Path, story: Callable[[Service], Awaitable[None]]) -> None:
    """A service without a port."""

    async def all_of_it() -> None:
        store = Store(folder)
        service = Service(store, Coordinator(store, now=0.0))
        service._tasks = [asyncio.create_task(service._commit_all())]
        try:
            await story(service)
        finally:
            await service.stop()

    asyncio.run(all_of_it())


def test_much_for_a_site_goes_in_several_frames(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        await service._ask({"sql": BY_K}, "")
        link = Link("north")
        linked = asyncio.create_task(service._link(link))
        keys = [f"{number:05d}" + "x" * 1_000 for number in range(12_000)]
        for begin in range(0, len(keys), 100):
            link.frames.put_nowait(encode_frame([encode(Name(tuple(keys[begin : begin + 100])), 1)]))
        while not link.frames.empty():
            await asyncio.sleep(0)
        await _commits(service)
        assert max(map(len, link.sent)) < 2 * FRAME_BYTES
        assert len(link.sent) > 2
        told = [key for message in link.heard if isinstance(message, Numbers) for key in message.keys]
        assert told == keys
        link.frames.put_nowait(None)
        await linked

    run(tmp_path, story)


def test_what_was_said_to_an_old_link_is_not_sent_on_the_new_one(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        old, new = Link("north"), Link("north")
        first = asyncio.create_task(service._link(old))
        await _commits(service)
        _, out = service.coordinator.ask(HOT, 1.0)
        service._say(out)
        second = asyncio.create_task(service._link(new))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await _commits(service)
        assert isinstance(new.heard[0], Welcome)
        assert sum(isinstance(message, Install) for message in new.heard) == 1
        for task in (first, second):
            task.cancel()
        await asyncio.gather(first, second, return_exceptions=True)

    run(tmp_path, story)


def test_what_came_before_garbled_bytes_in_a_frame_is_answered(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        await service._ask({"sql": BY_K}, "")
        link = Link("north")
        link.frames.put_nowait(encode_frame([encode(Name(("a", "b")), 1), b"garbled"]))
        said: list[Any] = []
        service._say, say = lambda out: said.extend(out) or say(out), service._say  # type: ignore[method-assign]
        with pytest.raises(ProtocolError):
            await service._link(link)
        assert Numbers(0, ("a", "b")) in [message for _, _, message in said]

    run(tmp_path, story)


def test_half_a_letter_in_a_question_is_refused(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        with pytest.raises(OptionError, match="half a letter at place"):
            await service._ask({"sql": HOT.replace("FROM d", "FROM d WHERE k = '\ud800'")}, "")
        await _commits(service)

    run(tmp_path, story)


class Disk(Store):
    """A store whose commits wait, and may fail."""

    def __init__(self, folder: Path) -> None:
        self.may, self.entered, self.full = Event(), Event(), False
        self.may.set()
        super().__init__(folder)

    def commit(self, writes: Any) -> None:
        self.entered.set()
        self.may.wait()
        if self.full:
            self.full = False
            raise OSError("the disk is full")
        super().commit(writes)


def names_in(folder: Path) -> list[str]:
    store = Store(folder)
    names = [name for (name,) in store.all("SELECT name FROM watches ORDER BY number")]
    store.close()
    return names


def test_after_a_commit_that_failed_nothing_is_stored(tmp_path: Path) -> None:
    async def story() -> None:
        disk = Disk(tmp_path)
        service = Service(disk, Coordinator(disk, now=0.0))
        service._tasks = [asyncio.create_task(service._commit_all())]
        service.coordinator.ask(HOT, 1.0)
        disk.full = True
        service._work.set()
        with pytest.raises(OSError, match="full"):
            await service.wait()
        service.coordinator.ask(HOT.replace("hot", "later"), 2.0)
        await service.stop()

    asyncio.run(story())
    assert names_in(tmp_path) == []


def test_what_a_sink_could_not_store_holds_up_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        disk = Disk(tmp_path)
        service = Service(disk, Coordinator(disk, now=0.0))
        service._tasks = [asyncio.create_task(service._commit_all())]
        disk.full = True
        with pytest.raises(OSError, match="full"):
            await service.stored([("INSERT INTO meta VALUES ('a', '1')", ())])
        await service._ask({"sql": HOT}, "")
        await service.stop()

    asyncio.run(story())
    assert names_in(tmp_path) == ["hot"]


def test_a_commit_that_waits_when_the_end_comes_is_made(tmp_path: Path) -> None:
    async def story() -> None:
        disk = Disk(tmp_path)
        service = Service(disk, Coordinator(disk, now=0.0))
        disk.may.clear()
        disk.entered.clear()
        first = asyncio.create_task(service.stored([("INSERT INTO meta VALUES ('a', '1')", ())]))
        await asyncio.to_thread(disk.entered.wait)
        service._tasks = [asyncio.create_task(service._commit_all())]
        service.coordinator.ask(HOT, 1.0)
        service._work.set()
        await asyncio.sleep(0.05)  # its commit is queued behind the first
        stopping = asyncio.create_task(service.stop())
        await asyncio.sleep(0.05)
        disk.may.set()
        await asyncio.gather(stopping, first)

    asyncio.run(story())
    assert names_in(tmp_path) == ["hot"]


def test_two_processes_under_one_name_do_not_throw_each_other_out(tmp_path: Path) -> None:
    async def story(service: Service) -> None:
        first, again, other, late = (Link("north", "a"), Link("north", "a"), Link("north", "b"), Link("north", "b"))
        tasks = [asyncio.create_task(service._link(first))]
        await _commits(service)
        tasks.append(asyncio.create_task(service._link(again)))  # the same process, whose old stream may be dead
        await _commits(service)
        assert first.closed == ("this site has linked up anew", None)
        assert isinstance(again.heard[0], Welcome)
        await service._link(other)
        assert other.closed is not None
        assert "another process runs as site north" in other.closed[0]
        assert other.closed[1] == "refused"
        assert (again.closed, other.heard) == (None, [])
        service.coordinator.sites[0].seen -= 11.0  # it has not been heard of for longer than its lease
        tasks.append(asyncio.create_task(service._link(late)))
        await _commits(service)
        assert again.closed is not None
        assert isinstance(late.heard[0], Welcome)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    run(tmp_path, story)


def _waiting(folder: Path, *deliveries: tuple[str, str]) -> None:
    store = Store(folder)
    for seq, (sink, name) in enumerate(deliveries):
        document = f'{{"id": "{name}", "raised": "2026-01-01"}}'
        store.commit([("INSERT OR IGNORE INTO alerts (id, watch, document) VALUES (?, 'w', ?)", (name, document))])
        store.commit([("INSERT INTO deliveries VALUES (?, ?, ?)", (sink, name, seq))])
    store.close()


def test_an_alert_that_a_sink_refuses_is_set_aside_and_kept(tmp_path: Path) -> None:
    _waiting(tmp_path, ("hook", "one"), ("hook", "two"))

    async def story(service: Service) -> None:
        backlog = _Backlog(service)
        await backlog.parked("hook", "one", "it answered 400")
        assert [alert["id"] for alert in await backlog.undelivered("hook", 10)] == ["two"]
        assert service.store.all("SELECT * FROM set_aside") == [("hook", "one", "it answered 400")]
        service.store.commit(service.coordinator.prune(1e9))
        assert service.store.one("SELECT COUNT(*) FROM set_aside") == (1,)
        await backlog.delivered("hook", ["two"])
        service.store.commit(service.coordinator.prune(-1e9))  # as if it were long ago
        assert service.store.one("SELECT COUNT(*) FROM set_aside") == (0,)

    run(tmp_path, story)


def test_nothing_waits_for_a_sink_that_is_no_longer_configured(tmp_path: Path, caplog) -> None:
    _waiting(tmp_path, ("hook", "one"), ("gone", "one"), ("gone", "two"))
    store = Store(tmp_path)
    _forget_strangers(store, {"hook": False})
    assert store.all("SELECT sink, id FROM deliveries") == [("hook", "one")]
    store.close()
    assert "2 alerts waited for the sink gone, which is no longer configured" in caplog.text


def test_changes_that_a_sink_takes_no_more_do_not_wait_for_it(tmp_path: Path) -> None:
    _waiting(tmp_path, ("hook", "one"), ("hook", "two"), ("all", "two"))
    store = Store(tmp_path)
    store.commit([("UPDATE alerts SET kind = 'change' WHERE id = 'two'", ())])
    _forget_strangers(store, {"hook": False, "all": True})
    assert store.all("SELECT sink, id FROM deliveries ORDER BY sink") == [("all", "two"), ("hook", "one")]
    store.close()


def test_over_the_wire_the_second_process_is_refused_and_the_first_one_started_again_is_not(tmp_path: Path) -> None:
    with LightSystem(tmp_path) as system:
        first = system.site("north")
        online = lambda: system.runner.ask({"status": True})["sites"][0]["online"]  # noqa: E731
        until(lambda: system.runner.ask({"status": True})["sites"] and online())
        second = LightSite(tmp_path / "elsewhere", "north", system.address, system.links)
        until(lambda: second.reasons)
        assert "another process runs as site north" in second.reasons[0]
        assert (first.reasons, online()) == ([], True)
        second.stop()
        first.stop()
        again = system.site("north")
        until(lambda: again.agent.number is not None)
        assert again.reasons == []


def test_what_no_stream_takes_fails_its_watch_and_ends_no_link(tmp_path: Path) -> None:
    by_k = BY_K.replace("SUM(x)", "AVG(x)")
    keys = [f"k{number:03d}" for number in range(500)]
    with LightSystem(tmp_path) as system:
        assert system.runner._service is not None
        system.runner._service.message_bytes = 3_500  # 500 groups take 4,000, their names 3,000
        sites = [system.site(name) for name in ("north", "south")]
        system.runner.ask({"sql": by_k})
        for first in range(100, 140, 10):
            for site in sites:
                site.feed(rows(by_k, range(first, first + 10), 5, keys))
        failed = until(lambda: (found := system.watch("by_k"))["state"] == "failed" and found)
        assert "is larger than a stream takes (3,500 bytes)" in failed["problems"]["coordinator"]
        assert "group by something coarser" in failed["problems"]["coordinator"]
        system.runner.ask({"sql": f"DROP WATCH by_k; {HOT}"})
        until(lambda: all(list(site.agent.watches) == [2] for site in sites))
        for first in range(140, 170, 10):
            system.feed(HOT, range(first, first + 10), 5)
        until(lambda: system.watch("hot")["state"] == "valid")
        assert [site.reasons for site in sites] == [[], []]  # no link broke
