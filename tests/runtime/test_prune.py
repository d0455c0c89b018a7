"""Old answers and alerts are forgotten; what holds now, and what was not delivered, is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tacit.recording.stream import Recording
from tests.runtime.light import COLUMNS
from tests.runtime.light import rows as rows_of
from tests.runtime.live import Live, RecordedBatch, batches_of
from tests.runtime.test_coordinator import BY_K

SQL = "CREATE WATCH a AS SELECT SUM(x) AS s FROM d WINDOW LAST 2 SECONDS EVERY 1 SECOND TRACK s WITHIN 1"
PANES = 40


def recording() -> Recording:
    t = np.arange(PANES) * 1_000_000
    made = Recording.from_arrays(t, np.arange(PANES) % 2, (np.arange(PANES) * 7 % 50)[:, None], statistics=["sum(x)"])
    object.__setattr__(made, "key", np.arange(PANES))
    object.__setattr__(made, "centred", np.empty((PANES, 0)))
    return made


def test_what_is_old_is_forgotten(tmp_path: Path) -> None:
    rows = recording()
    live = Live(tmp_path, ("north", "south"), "d", {"x": "bigint"})
    live.ask(SQL)
    for site, name in enumerate(live.names):
        for batch in batches_of(rows, site, [], PANES * 1_000_000):
            live.batch(name, batch)
            live.pump(0.1)
    live.settle(10)
    count = lambda table: live.store.one(f"SELECT COUNT(*) FROM {table}")[0]  # noqa: E731
    before = count("changes")
    assert before > PANES / 2
    old = [("INSERT INTO alerts (id, watch, document) VALUES (?, 'a', ?)", (name, json.dumps({"raised": "1969-01-01"})))
           for name in ("old", "waiting")]  # fmt: skip
    live.store.commit([*old, ("INSERT INTO deliveries VALUES ('sink', 'waiting', 2)", ())])
    live.store.commit(live.coordinator.prune(5.0))
    kept = live.store.all("SELECT pane FROM changes ORDER BY pane")
    assert 1 <= len(kept) < before
    assert sum(pane < PANES - 7 for (pane,) in kept) <= 1  # the one that still held then
    assert live.store.all("SELECT id FROM alerts WHERE id IN ('old', 'waiting')") == [("waiting",)]


def test_watches_that_are_no_more_are_let_go(tmp_path: Path) -> None:
    live = Live(tmp_path, ("north",), "d", {"x": "bigint"})
    live.coordinator.wall = lambda: 1_000.0
    live.ask(SQL)
    rows = recording()
    live.batch("north", RecordedBatch(rows, np.flatnonzero(rows.site == 0)))
    live.settle(10)
    live.ask("ALTER WATCH a SET WITHIN 2")
    assert list(live.coordinator.watches) == [2]
    live.settle(4)
    live.store.commit(live.coordinator.ledger_writes())
    live.ask("ALTER WATCH a SET WITHIN 3; ALTER WATCH a SET WITHIN 4")
    live.settle(4)
    count = lambda table: live.store.one(f"SELECT COUNT(*) FROM {table}")[0]  # noqa: E731
    live.store.commit(live.coordinator.prune(100.0))  # nothing of it is old
    assert (count("watches"), count("ended")) == (4, 3)
    live.coordinator.wall = lambda: 2_000.0
    live.store.commit(live.coordinator.prune(100.0))  # what its earlier numbers left is, but not the watch
    assert (count("watches"), count("ended")) == (1, 0)
    assert count("changes") > 0
    assert live.coordinator.watches[4].lineage == 1
    live.coordinator.accounts.sent(1, 0, -1, "report", 60)  # under a number that it had before
    live.ask("DROP WATCH a")
    assert live.coordinator.watches == {}
    assert live.store.all("SELECT watch, kind FROM ledger") == [(1, "report")]
    assert min(count("changes"), count("counts")) > 0  # for a while
    live.coordinator.wall = lambda: 3_000.0
    live.store.commit(live.coordinator.prune(100.0))
    left = {table: count(table) for table in ("changes", "spans", "counts", "books", "groups")}
    assert left == dict.fromkeys(left, 0)
    assert live.store.all("SELECT DISTINCT watch FROM ledger") in ([], [(0,)])
    live.crash_coordinator()
    live.ask(SQL)
    assert list(live.coordinator.watches) == [5]  # numbers are not given twice


def test_the_groups_of_a_watch_go_with_it(tmp_path: Path) -> None:
    live = Live(tmp_path, ("north",), "d", COLUMNS)
    live.ask(BY_K)
    live.batch("north", rows_of(BY_K, range(100, 130), 1, keys=["a", "b"]))
    live.settle(10)
    groups = lambda: live.store.all("SELECT watch, key FROM groups")  # noqa: E731
    assert groups() == [(1, '["a"]'), (1, '["b"]')]
    live.ask("ALTER WATCH by_k SET WITHIN 2")
    live.settle(10)
    assert {watch for watch, _ in groups()} <= {2}
    live.ask("DROP WATCH by_k")
    assert groups() == []


def test_an_alert_of_a_watch_that_is_dropped_in_the_same_moment_is_raised(tmp_path: Path) -> None:
    live = Live(tmp_path, ("north",), "d", {"x": "bigint"})
    live.ask(SQL)
    live.coordinator.watches[1].alerts.append({"id": "last", "watch": "a", "sites": [], "missing": []})
    live.ask("DROP WATCH a")
    assert [alert["id"] for alert in live.alerts] == ["last"]
