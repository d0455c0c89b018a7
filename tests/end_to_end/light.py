"""A site without Spark: the real agent and the real link, and batches that are only counts of rows."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from tacit.language.plan import WatchPlan
from tacit.runtime.link_thread import LinkThread
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.site_agent import SiteAgent
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.transport.grpc_link import SiteLink
from tacit.transport.security import ClientTls
from tacit.vocabulary.batches import PaneDeltas, SampleRows

__all__ = ["WATCH", "LightSite"]

WATCH = "CREATE WATCH flow AS SELECT COUNT(*) AS n FROM events WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN n > 30"
S = 1_000_000


class _Rows:
    """So many rows in one second; for watches that do nothing but count."""

    def __init__(self, second: int, rows: int) -> None:
        self.second, self.rows, self.no_time, self.max_time = second, rows, 0, second * S

    def draw_centres(self, plan: WatchPlan) -> tuple[float | None, ...]:
        return (None,) * len(plan.centres)

    def pane_outcomes(self, wanted):
        one = np.array([self.rows])
        return [
            PaneDeltas(
                np.array([self.second * S // length]), np.zeros(1, dtype=np.int64), one, one[:, None] * 1.0, ("",)
            )
            for _, _, length in wanted
        ]

    def sample(self, plan, centres, lo_us, hi_us, count) -> SampleRows:
        keys = np.arange(self.rows, dtype=np.int64)
        return SampleRows(keys, np.ones((self.rows, 1)), np.empty((self.rows, len(plan.centres))))


class LightSite:
    """It links up when made. ``downs`` is every reason for which it had no link, and whether that was fatal."""

    def __init__(
        self, folder: Path, name: str, address: str, *, token: str | None = None, tls: ClientTls | None = None
    ) -> None:
        self.name, self.second = name, 1_000
        self.downs: list[tuple[str, bool]] = []
        self._links = LinkThread()
        table = SiteTable("events", {"ts": "timestamp"}, TableClock(0, "event", 0))
        self.agent = SiteAgent(
            name, SiteStore(folder / f"light-{name}"), [table], release="light", say=self.say, wall_us=lambda: 0
        )
        self.link = self._links.hold(
            lambda: SiteLink(
                address, name, on_up=self._up, on_frame=self.agent.receive, on_down=self._down, token=token, tls=tls
            )
        )
        self.link.start()
        self._end = threading.Event()
        self._timer = threading.Thread(target=self._beat, daemon=True)
        self._timer.start()

    def say(self, frame: bytes) -> bool:
        """Send a frame, whatever it is."""
        return self.link.send(frame)

    def _up(self) -> None:
        self.say(self.agent.opening())

    def _down(self, reason: str, fatal: bool) -> None:
        self.agent.link_down()
        self.downs.append((reason, fatal))

    def _beat(self) -> None:
        while not self._end.wait(0.3):
            self.agent.tick({})

    def feed(self, rows: int) -> None:
        """One second of rows."""
        self.agent.take_batch("events", "checkpoint", self.second - 1_000, _Rows(self.second, rows))
        self.second += 1

    def stop(self) -> None:
        """Hang up; doing it twice does nothing."""
        if self._end.is_set():
            return
        self._end.set()
        self._timer.join()
        self.link.stop()
        self._links.stop()
        self.agent.store.close()
