"""A site that was away for longer than its lease: the others went on, and it must catch up and count again."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tacit.language.sentence import parse_watch
from tacit.recording.stream import Recording
from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live, RecordedBatch

WATCH = "CREATE WATCH w AS SELECT SUM(v) AS s FROM t WINDOW LAST 4 SECONDS EVERY 1 SECOND ALERT WHEN s > 20 MARGIN 1"
SECONDS = 60


@pytest.mark.parametrize("crash", [False, True])
def test_a_site_that_others_went_on_without_catches_up(tmp_path: Path, crash: bool) -> None:
    t = np.repeat(np.arange(SECONDS), 2) * 1_000_000
    value = 1.0 + np.arange(2 * SECONDS) % 7
    columns = np.stack([value, np.ones(2 * SECONDS)], axis=1)[:, : len(parse_watch(WATCH).statistics)]
    recording = Recording.from_arrays(t=t, site=np.tile([0, 1], SECONDS), present=columns)
    recording = replace(recording, key=np.arange(2 * SECONDS), centred=np.empty((2 * SECONDS, 0)))
    live = Live(tmp_path, ("a", "b"), "t", {"ts": "timestamp", "v": "double"})
    live.ask(WATCH)

    def feed(name: str, begin: int, end: int) -> None:
        place = live.names.index(name)
        live.batch(name, RecordedBatch(recording, np.arange(2 * begin + place, 2 * end + place, 2)))

    for name in live.names:
        feed(name, 0, 10)
    live.settle()
    watch = next(iter(live.coordinator.watches.values()))
    assert watch.settlement is not None
    assert watch.settlement.settled == 8
    feed("a", 10, 30)
    for _ in range(60):  # b says nothing, and its lease runs out
        live.agents["a"].tick({})
        live.pump(0.5)
    assert watch.settlement.settled == 28
    if crash:
        live.crash_site("b")
    live.settle(4)  # b hears how far the others are before it has read on
    feed("b", 10, 20)
    live.settle(4)
    feed("b", 20, 40)
    feed("a", 30, 40)
    live.settle()
    assert watch.settlement.settled == 38
    assert watch.state.value == "valid"
    exact = value[2 * 35 : 2 * 39].sum()
    ((side, said),) = [(each.side, each.value) for each in watch.said.values()]
    assert (side == 1) == (exact > 20), (exact, said)


def test_a_site_that_a_new_coordinator_measures_otherwise(tmp_path: Path) -> None:
    mean = "CREATE WATCH m AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK m WITHIN 1"
    live = Live(tmp_path, ("north", "south"), "d", COLUMNS)
    live.ask(mean)
    for name in live.names:
        live.batch(name, rows(mean, range(100, 130), 5))
    live.settle(10)
    # The coordinator and north lose everything; the watch is created anew and begins while south is away.
    live.store.close()
    live.agents["south"].link_down()
    away = live.agents.pop("south")
    live.agents.pop("north").store.close()
    for name in ("coordinator", "north"):
        shutil.rmtree(tmp_path / name)
    live.to_coordinator.clear()
    live.numbers.clear()
    live.start_coordinator()
    live.coordinator.tuning.gather = 0.0
    live.start_site("north")
    live.ask(mean)
    live.batches["north"] = 0
    live.batch("north", rows(mean, range(130, 150), 60_000))
    live.settle(10)
    live.agents["south"] = away
    live.link("south")
    for begin in (150, 180):
        for name in live.names:
            live.batch(name, rows(mean, range(begin, begin + 30), 60_000 if name == "north" else 5))
        live.settle(10)
    shown = live.ask("SHOW WATCH m")[0]["watch"]
    assert (shown["state"], shown["sites"]) == ("valid", ["north", "south"])
    assert shown["answer"][0]["value"] == pytest.approx(30_002.5, abs=1)


def test_a_number_that_meant_another_watch_before_the_coordinator_was_reset(tmp_path: Path) -> None:
    each_second = "CREATE WATCH m AS SELECT SUM(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK m WITHIN 1"
    other = each_second.replace("EVERY 1 SECOND", "EVERY 10 SECONDS")
    live = Live(tmp_path, ("north", "south"), "d", COLUMNS)
    live.ask(each_second)
    for name in live.names:
        live.batch(name, rows(each_second, range(100, 130), 5))
    live.settle(10)
    live.store.close()
    shutil.rmtree(tmp_path / "coordinator")
    live.numbers.clear()
    live.start_coordinator()
    live.ask(other)
    live.agents["south"].tables["d"].columns = {"k": "string"}  # of which it cannot be kept
    for name in live.names:
        live.agents[name].link_down()
        live.to_coordinator.clear()
        live.link(name)
    assert live.agents["south"].watches == {}
    assert [settled for _, _, settled in live.agents["north"].store.watches()] == [None]
    for begin in (130, 160):
        live.batch("north", rows(each_second, range(begin, begin + 30), 5))
        live.settle(10)
    shown = live.ask("SHOW WATCH m")[0]["watch"]
    assert (shown["sites"], list(shown["problems"])) == (["north"], ["south"])
    assert (shown["state"], shown["answer"][0]["value"]) == ("stale", pytest.approx(50, abs=1))


def test_zones_outlive_a_restart_of_the_coordinator_and_not_its_reset(tmp_path: Path) -> None:
    """A thousand sites need not be told everything again; what another store counted means nothing to this one."""
    mean = "CREATE WATCH m AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK m WITHIN 1"
    live = Live(tmp_path, ("a", "b"), "d", COLUMNS)
    live.ask(mean)
    for name in live.names:
        live.batch(name, rows(mean, range(100, 110), 5))
    live.settle()
    held = {name: agent.watches[1].machine.version for name, agent in live.agents.items()}
    assert all(held.values())
    live.crash_coordinator()
    live.pump()
    assert {name: agent.watches[1].machine.version for name, agent in live.agents.items()} == held
    assert live.coordinator.watches[1].settlement.resolver.versions.tolist() == list(held.values())
    shutil.rmtree(tmp_path / "coordinator")
    live.crash_coordinator()
    live.pump()
    assert not any(agent.watches for agent in live.agents.values())
