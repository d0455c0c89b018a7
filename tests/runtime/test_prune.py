"""Old answers and alerts are forgotten; what holds now, and what was not delivered, is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from tacit.recording.stream import Recording
from tests.runtime.live import Live, batches_of

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
    assert [name for (name,) in live.store.all("SELECT id FROM alerts WHERE watch = 'a'")] == ["waiting"]
