"""Rows that come after their panes were closed are counted, told of and written down; a site without room waits."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.vocabulary import MachineError
from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live, RecordedBatch
from tests.runtime.recordings import recorded

SITES = ("north", "south")
TOTAL = "CREATE WATCH w AS SELECT SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
LONG = TOTAL.replace("WATCH w", "WATCH long").replace("EVERY 1 SECOND", "EVERY 10 SECONDS")


class Batch(RecordedBatch):
    """One that can tell its rows."""

    def rows_before(self, time_us: int) -> list[tuple[int, dict[str, Any]]]:
        times = self._recording.t[self._at]
        return [(int(time), {"x": 7.0}) for time in times if time < time_us]


def batch(live: Live, seconds: list[int]) -> Batch:
    t = np.array(seconds) * 1_000_000
    plan = next(iter(live.coordinator.watches.values())).plan
    recording = recorded(plan, t, np.zeros(len(t), dtype=np.int32), {"x": [7.0] * len(t)}, ("s",))
    return Batch(recording, np.arange(len(t)))


def test_late_rows_are_told_of_once_a_minute_and_written_to_a_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    live.ask(LONG)
    table = live.agents["south"].tables["d"]
    table.late_file = tmp_path / "late" / "south.jsonl"
    for name in SITES:
        live.batch(name, batch(live, list(range(100, 130))))
        live.settle(6)
    for minute, seconds in enumerate(([105, 131], [111, 112, 132], [125, 131, 133])):
        live.wall_us = (1 << 60) + minute * 40_000_000
        live.batch("south", batch(live, seconds))
    told = [each.message for each in caplog.records if "came after their panes were closed" in each.message]
    assert [text.split()[2] for text in told] == ["1", "4"]
    assert str(table.late_file) in told[0]
    written = [json.loads(line) for line in table.late_file.read_text().splitlines()]
    assert [each["time"][-3:-1] for each in written] == ["45", "51", "52", "05", "11"]
    assert [each["watches"] for each in written] == [["long", "w"]] * 4 + [["w"]]
    assert written[0] == {"table": "d", "time": "1970-01-01T00:01:45Z", "watches": ["long", "w"], "row": {"x": 7.0}}
    assert table.late == 5
    live.settle(6)
    assert [row["late"] for row in live.ask("SHOW SITES")[0]["sites"]] == [0, 9]  # four for both watches


def test_what_is_late_does_not_depend_on_how_fast_panes_pass(tmp_path: Path) -> None:
    """Nothing is claimed yet, so most panes are held back; they take no rows that are late once they passed."""
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    live.batch("north", rows(TOTAL, range(100, 2000), 5))
    data = live.agents["north"].watches[1].data
    assert data.held
    live.batch("north", rows(TOTAL, range(1500, 1510), 5))
    assert data.late == 10


def test_on_an_event_clock_a_site_without_room_reads_no_further_until_the_other_is_back(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    for name in SITES:
        live.batch(name, rows(TOTAL, range(100, 130), 5))
    live.settle(12)
    agent = live.agents["north"]
    agent.tables["d"].keep_bytes = 10_000
    live.batch("north", rows(TOTAL, range(130, 500), 5))  # more than there is room for, but it is here
    live.settle(40)  # south is silent for longer than its lease, and answers go on without it
    waits = threading.Thread(target=live.batch, args=("north", rows(TOTAL, range(500, 510), 5)), daemon=True)
    waits.start()
    waits.join(1.5)
    assert waits.is_alive()
    assert agent.store.last_batch("d") == 1
    machine = agent.watches[1].machine
    assert machine is not None
    assert machine.oldest <= 130
    live.batch("south", rows(TOTAL, range(130, 500), 5))
    for _ in range(40):
        live.settle(4)
        waits.join(0.2)
        if not waits.is_alive():
            break
    assert not waits.is_alive()
    assert agent.store.last_batch("d") == 2


def test_a_site_that_waits_for_room_can_be_stopped(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    for name in SITES:
        live.batch(name, rows(TOTAL, range(100, 130), 5))
    live.settle(12)
    agent = live.agents["north"]
    agent.tables["d"].keep_bytes = 0
    live.batch("north", rows(TOTAL, range(130, 200), 5))
    threading.Timer(0.5, agent.stop_reading).start()
    with pytest.raises(MachineError, match="stops reading"):
        live.batch("north", rows(TOTAL, range(200, 210), 5))


def test_on_a_wall_clock_the_oldest_panes_go(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.clock = "wall"
    for name in SITES:
        live.crash_site(name)
        live.agents[name].tables["d"].keep_bytes = 20_000
    live.ask(TOTAL)
    for name in SITES:
        live.batch(name, rows(TOTAL, range(100, 130), 5))
    live.settle(12)
    for second in range(130, 1200, 10):
        live.batch("north", rows(TOTAL, range(second, second + 10), 5))
    data, machine = live.agents["north"].watches[1].data, live.agents["north"].watches[1].machine
    assert machine is not None
    assert data.nbytes <= 20_000
    assert 200 < machine.oldest <= machine.closed == 1198
    assert machine.hello().oldest == machine.oldest
