"""A real coordinator on loopback with light sites: real agents and links, and batches without Spark."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from tacit.language import parse_watch
from tacit.runtime.config import Config
from tacit.runtime.coordinator_runner import CoordinatorRunner
from tacit.runtime.link_thread import LinkThread
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.site_agent import SiteAgent
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.transport.grpc_link import SiteLink
from tacit.transport.security import ClientTls
from tests.runtime.live import RecordedBatch
from tests.runtime.recordings import recorded

__all__ = ["COLUMNS", "PATIENCE_S", "LightSite", "LightSystem", "rows", "until"]

COLUMNS = {"x": "double", "k": "string"}
PATIENCE_S = 120.0


def until(condition: Callable[[], Any], what: str = "what the test waits for") -> Any:
    """The first true value; a test that waits for what never comes fails instead of hanging."""
    end = time.monotonic() + PATIENCE_S
    while not (found := condition()):
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.02)
    return found


def rows(sentence: str, seconds: Iterable[int], x: float, keys: Iterable[str] = ("a",)) -> RecordedBatch:
    """A batch with a row per second and key, all with the same ``x``, for watches like this one."""
    at = [(second, key) for second in seconds for key in keys]
    t = np.array([second * 1_000_000 for second, _ in at], dtype=np.int64)
    columns = {"x": [float(x)] * len(at), "k": [key for _, key in at]}
    recording = recorded(parse_watch(sentence), t, np.zeros(len(at), dtype=np.int32), columns, ["here"])
    return RecordedBatch(recording, np.arange(len(recording)), max_time=int(t.max()) if len(t) else None)


class LightSite:
    """A site without Spark, linked up from now on: hand it batches.

    ``downs`` is every reason for which it lost its link, and whether the site may not try again.
    """

    def __init__(
        self,
        folder: Path,
        name: str,
        address: str,
        links: LinkThread,
        *,
        token: str | None = None,
        tls: ClientTls | None = None,
        tables: Iterable[str] = ("d",),
    ) -> None:
        self.name = name
        self.downs: list[tuple[str, bool]] = []
        self.store = SiteStore(folder)
        clocks = [SiteTable(table, COLUMNS, TableClock(0, "event", 0)) for table in tables]
        self.agent = SiteAgent(
            name, self.store, clocks, release="light", say=self.say, wall_us=lambda: time.time_ns() // 1000
        )
        self._batches = dict.fromkeys(tables, 0)
        for table in tables:
            if (known := self.store.batch_of(table)) is not None:
                self._batches[table] = known[1] + 1
        self.link = links.hold(
            lambda: SiteLink(
                address, name, token=token, tls=tls, on_up=lambda: self.say(self.agent.opening()) and None,
                on_frame=self.agent.receive, on_down=self._down,
            )
        )  # fmt: skip
        self._end = threading.Event()
        self._timer = threading.Thread(target=self._beat, daemon=True)
        self.link.start()
        self._timer.start()

    @property
    def reasons(self) -> list[str]:
        """Every reason for which it lost its link."""
        return [reason for reason, _ in self.downs]

    def feed(self, batch: RecordedBatch, table: str = "d") -> None:
        """Rows have come; the first ones wait for a watch, as Spark's do."""
        until(lambda: self.agent.watches, "a watch at the site")
        self.agent.take_batch(table, "checkpoint", self._batches[table], batch)
        self._batches[table] += 1

    def stop(self) -> None:
        """Hang up, and let go of the state; doing it twice does nothing."""
        if self._end.is_set():
            return
        self._end.set()
        self._timer.join()
        self.link.stop()
        self.store.close()

    def say(self, frame: bytes) -> bool:
        """Send a frame, whatever it is."""
        return self.link.send(frame)

    def _down(self, reason: str, fatal: bool) -> None:
        self.agent.link_down()
        self.downs.append((reason, fatal))

    def _beat(self) -> None:
        while not self._end.wait(0.1):
            self.agent.tick({})


class LightSystem:
    """A coordinator with quick heartbeats, and its sites. Use it as a context manager.

    The lease is one that no busy machine lets run out; who waits for its end takes a shorter one.
    """

    def __init__(self, folder: Path, sinks: Iterable[dict[str, Any]] = (), **coordinator: Any) -> None:
        self.folder = folder
        settings = {"listen": "127.0.0.1:0", "heartbeat_seconds": 0.1, "lease_seconds": 10, "gather_seconds": 5}
        document = {"coordinator": {**settings, **coordinator}, "sinks": list(sinks)}
        self.config = Config.model_validate(document, context={"folder": folder})
        self.links = LinkThread()
        self.sites: dict[str, LightSite] = {}
        self.runner = CoordinatorRunner(self.config)
        self.runner.start()
        self.port = self.runner.port
        self.address = f"127.0.0.1:{self.port}"

    def __enter__(self) -> LightSystem:
        return self

    def __exit__(self, *story: object) -> None:
        for site in self.sites.values():
            site.stop()
        self.links.stop()
        self.runner.stop()

    def site(self, name: str, **options: Any) -> LightSite:
        """A site that links up from now on."""
        self.sites[name] = LightSite(self.folder / name, name, self.address, self.links, **options)
        return self.sites[name]

    def stop_coordinator(self) -> None:
        """End the coordinator; sites go on."""
        self.runner.stop()

    def start_coordinator(self) -> None:
        """Start it again where it was, at the same address."""
        listen = self.config.coordinator.model_copy(update={"listen": self.address})
        self.runner = CoordinatorRunner(self.config.model_copy(update={"coordinator": listen}))
        self.runner.start()

    def watch(self, name: str) -> dict[str, Any]:
        """Everything about a watch."""
        return dict(self.runner.ask({"sql": f"SHOW WATCH {name}"})["results"][0]["watch"])

    def feed(self, sentence: str, seconds: Iterable[int], x: float) -> None:
        """The same rows at every site."""
        for site in self.sites.values():
            site.feed(rows(sentence, seconds, x))
