"""A site whose table is idle on an event clock: it goes on behind the others, and no row that comes later is late."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live, RecordedBatch
from tests.runtime.recordings import recorded

SITES = ("north", "south")
TOTAL = "CREATE WATCH w AS SELECT SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
GROUPS = (
    "CREATE WATCH w AS SELECT k, SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND GROUP BY k ALERT WHEN s > 80"
)
JOIN = (
    "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(k) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND"
    " TRACK s WITHIN 10 PERCENT SKETCH EPSILON 0.05"
)


def valid(live: Live) -> set[int]:
    spans = live.store.all("SELECT first, last FROM spans WHERE state = 'valid'")
    return {pane for first, last in spans for pane in range(first, last + 1)}


def late(live: Live) -> list[int]:
    return [row["late"] for row in live.ask("SHOW SITES")[0]["sites"]]


@pytest.mark.parametrize("crash", [False, True])
def test_a_site_that_is_fed_after_the_other_one_loses_no_row(tmp_path: Path, crash: bool) -> None:
    """Four pieces, each fed to one site and then to the other, which was idle meanwhile."""
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    for begin in range(100, 300, 50):
        for name, other in (SITES, SITES[::-1]):
            live.batch(name, rows(TOTAL, range(begin, begin + 50), 5))
            live.settle(12, idle=("d",))
            machine = live.agents[other].watches[1].machine
            if name == "north" and begin > 100:
                assert machine is not None
                assert machine.closed == begin + 48
                assert machine.idle_panes == 50
            if crash:
                live.crash_site(other)
    live.settle(40)
    assert late(live) == [0, 0]
    shown = live.ask("SHOW WATCH w")[0]["watch"]
    assert shown["answer"][0]["value"] == pytest.approx(100, abs=0.5)
    assert set(range(115, 299)) <= valid(live)


def test_what_was_closed_while_idle_is_not_saved(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(TOTAL)
    for name in SITES:
        live.batch(name, rows(TOTAL, range(100, 120), 5))
    live.settle(12)
    live.batch("north", rows(TOTAL, range(120, 200), 5))
    live.settle(12, idle=("d",))
    assert live.agents["south"].watches[1].data.keeper.closed == 198
    live.crash_site("south")
    assert live.agents["south"].watches[1].data.keeper.closed == 118


def test_groups_have_their_numbers_after_time_was_given_back(tmp_path: Path) -> None:
    """On the same link, so that the coordinator does not say them again; keys come that were told of meanwhile."""
    live = Live(tmp_path, SITES, "d", {"k": "string", "x": "double"})
    live.ask(GROUPS)
    plan = live.coordinator.watches[1].plan

    def feed(name: str, seconds: range, keys: str, x: float) -> None:
        t = np.repeat(np.array(seconds) * 1_000_000, len(keys))
        columns = {"k": list(keys) * len(seconds), "x": [x] * len(t)}
        live.batch(
            name, RecordedBatch(recorded(plan, t, np.zeros(len(t), dtype=np.int32), columns, ("s",)), np.arange(len(t)))
        )

    for name in SITES:
        feed(name, range(100, 120), "ab", 1.0)
    live.settle(12)
    feed("north", range(120, 150), "bcda", 5.0)
    live.settle(12, idle=("d",))
    feed("south", range(120, 150), "da", 5.0)
    live.settle(30)
    said = {key: (each.side, each.value) for key, each in live.coordinator.watches[1].said.items()}
    assert {key: side for key, (side, _) in said.items() if side == 1}.keys() == {'["a"]', '["d"]'}
    assert late(live) == [0, 0]


def test_a_sketch_takes_back_what_it_read_while_it_was_idle(tmp_path: Path) -> None:
    live = Live(tmp_path, SITES, "d", {"k": "string"})
    live.ask(JOIN)
    plan = live.agents["north"].watches[1].data.plan

    def feed(name: str, seconds: range, key: str) -> None:
        t = np.array(seconds) * 1_000_000
        columns = {"k": [key] * len(t)}
        live.batch(
            name, RecordedBatch(recorded(plan, t, np.zeros(len(t), dtype=np.int32), columns, ("s",)), np.arange(len(t)))
        )

    for name in SITES:
        feed(name, range(100, 120), "a")
    live.settle(12)
    feed("north", range(120, 160), "a")
    live.settle(12, idle=("d",))
    feed("south", range(120, 160), "a")
    live.settle(40)
    shown = live.ask("SHOW WATCH w")[0]["watch"]
    assert (shown["state"], late(live)) == ("valid", [0, 0])
    assert shown["answer"][0]["value"] == pytest.approx(400, rel=0.15)
