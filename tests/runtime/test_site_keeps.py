"""What a site keeps of its windows, and what it must not take up again: windows that rows have passed by."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live

SITES = ("north", "south")
TOTAL = "CREATE WATCH total AS SELECT SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
OTHER = TOTAL.replace("WATCH total", "WATCH other").replace("10 SECONDS", "4 SECONDS")


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path, SITES, "d", COLUMNS)


def feed(live: Live, seconds: range, x: float = 5, sites: tuple[str, ...] = SITES) -> None:
    for name in sites:
        live.batch(name, rows(TOTAL, seconds, x))
    live.settle(12)


def said(live: Live, name: str = "total") -> tuple[str, float | None]:
    shown = live.ask(f"SHOW WATCH {name}")[0]["watch"]
    return shown["state"], shown["answer"][0]["value"] if shown["answer"] else None


def valid_panes(live: Live) -> set[int]:
    spans = live.store.all("SELECT first, last FROM spans WHERE state = 'valid'")
    return {pane for first, last in spans for pane in range(first, last + 1)}


def test_a_watch_that_was_dropped_and_comes_again_begins_with_empty_windows(live: Live) -> None:
    live.ask(TOTAL)
    live.ask(OTHER)
    feed(live, range(100, 130))
    live.ask("DROP WATCH total")
    for name in SITES:  # they start again before a batch could make them forget the windows
        live.crash_site(name)
    for agent in live.agents.values():
        assert len(agent.watches) == 1
    feed(live, range(130, 140))
    live.ask(TOTAL)
    feed(live, range(140, 143))
    assert said(live)[0] == "filling"
    feed(live, range(143, 160))
    assert said(live) == ("valid", pytest.approx(100, abs=0.5))


def test_windows_of_a_watch_that_was_a_problem_for_a_while_are_not_taken_up_again(live: Live) -> None:
    live.ask(TOTAL)
    feed(live, range(100, 130))
    live.columns = {"k": "string"}
    live.crash_site("south")
    feed(live, range(130, 150))
    live.settle(20)
    assert said(live)[0] == "stale"
    live.columns = COLUMNS
    live.crash_site("south")
    feed(live, range(150, 153))
    assert said(live)[0] == "filling"
    feed(live, range(153, 170))
    assert said(live) == ("valid", pytest.approx(100, abs=0.5))
    assert not valid_panes(live) & set(range(130, 159))


def test_a_start_that_reads_nothing_loses_no_window(live: Live) -> None:
    live.ask(TOTAL)
    feed(live, range(100, 130))
    live.columns = {"k": "string"}
    live.crash_site("south")
    live.settle(4)
    live.columns = COLUMNS
    live.crash_site("south")
    feed(live, range(130, 132))
    assert said(live) == ("valid", pytest.approx(100, abs=0.5))


def test_panes_that_passed_without_a_watch_are_not_valid(live: Live) -> None:
    live.ask(TOTAL)
    feed(live, range(100, 130))
    live.columns = {"k": "string"}
    live.crash_site("south")
    for name in SITES:
        live.batch(name, rows(TOTAL, range(130, 135), 5))
    live.columns = COLUMNS
    live.crash_site("south")  # within its lease, so that the others waited for it
    feed(live, range(135, 138))
    feed(live, range(138, 160))
    assert said(live) == ("valid", pytest.approx(100, abs=0.5))
    assert not valid_panes(live) & set(range(129, 144))


def test_a_row_of_the_future_does_not_stop_a_watch(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.clock = "wall"
    for name in SITES:
        live.crash_site(name)
    live.ask(TOTAL)
    for second in range(100, 160, 10):
        live.wall_us = (second + 10) * 1_000_000
        seconds = [*range(second, second + 10), *([3_000_000_000] if second == 120 else [])]
        live.batch("south", rows(TOTAL, seconds, 5))
        live.batch("north", rows(TOTAL, range(second, second + 10), 5))
        live.settle(12)
    assert said(live) == ("valid", pytest.approx(100, abs=0.5))
    assert live.ask("SHOW SITES")[0]["sites"][1]["late"] == 0
    assert live.agents["south"].tables["d"].ahead == 1
    assert [each.message for each in caplog.records if "ahead of this machine's clock" in each.message] != []
    live.ask(OTHER)  # which begins as if that row had been a minute ahead
    for second in range(160, 260, 10):
        live.wall_us = (second + 10) * 1_000_000
        feed(live, range(second, second + 10))
    assert said(live, "other") == ("valid", pytest.approx(40, abs=0.5))


def test_what_came_after_spark_was_asked_for_rows_is_not_late(tmp_path: Path) -> None:
    live = Live(tmp_path, ("south",), "d", COLUMNS)
    live.clock, live.wall_us = "wall", 110_000_000
    live.crash_site("south")
    live.ask(TOTAL)
    live.batch("south", rows(TOTAL, range(100, 110), 5))
    live.settle(4)
    asked_us, live.wall_us = live.wall_us, 125_000_000  # and then it took long until the agent had time for it
    live.agents["south"].tick({"d": True}, asked_us)
    live.batch("south", rows(TOTAL, range(110, 125), 5))
    live.settle(4)
    assert said(live) == ("valid", pytest.approx(50, abs=0.5))
    assert live.ask("SHOW SITES")[0]["sites"][0]["late"] == 0


def test_late_rows_of_an_altered_watch_are_counted_once(live: Live) -> None:
    live.ask(TOTAL)
    feed(live, range(100, 130))
    feed(live, range(110, 114), sites=("south",))
    for within in (0.25, 0.75):
        live.ask(f"ALTER WATCH total SET WITHIN {within}")
        live.settle(4)
    assert {row["site"]: row["late"] for row in live.ask("SHOW SITES")[0]["sites"]} == {"north": 0, "south": 4}


def test_rows_without_a_time_are_told_of_once_and_counted(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    live.ask(TOTAL)
    live.ask(OTHER)
    for begin in (100, 110):
        batch = rows(TOTAL, range(begin, begin + 10), 5)
        batch.no_time = 3
        live.batch("south", batch)
        live.batch("north", rows(TOTAL, range(begin, begin + 10), 5))
        live.settle(4)
    assert [each.message for each in caplog.records if "without a time" in each.message] == [
        "table d has rows without a time (3 in this batch), which count nowhere"
    ]
    assert live.agents["south"].tables["d"].no_time == 6
    live.crash_site("south")
    live.store.commit(live.coordinator.ledger_writes())
    live.crash_coordinator()
    live.ask("ALTER WATCH total SET WITHIN 0.25")
    for name in ("second", "third"):
        live.settle(4)
        assert live.ask("SHOW WATCH total")[0]["watch"]["cost"]["no_time"] == 6
        assert [row["no_time"] for row in live.ask("SHOW SITES")[0]["sites"]] == [{"d": 0}, {"d": 6}]
        live.ask(TOTAL.replace("WATCH total", f"WATCH {name}").replace("0.5", "0.75"))  # which counts from now on


def test_a_watch_counts_only_what_came_after_it(live: Live) -> None:
    def centralised(name: str) -> int:
        return live.ask(f"SHOW WATCH {name}")[0]["watch"]["cost"]["centralised"]["messages"]

    live.ask(TOTAL)
    feed(live, range(100, 130))
    live.ask(TOTAL.replace("WATCH total", "WATCH second").replace("0.5", "0.25"))  # on the same windows
    live.settle(4)
    assert (centralised("total"), centralised("second")) == (60, 0)
    feed(live, range(130, 140))
    assert (centralised("total"), centralised("second")) == (80, 20)
    live.ask("ALTER WATCH second SET WITHIN 0.75")
    live.settle(4)
    feed(live, range(140, 145))
    for name in SITES:
        live.crash_site(name)
    feed(live, range(145, 150))
    assert (centralised("total"), centralised("second")) == (100, 40)
    live.ask("DROP WATCH second")
    live.ask(TOTAL.replace("WATCH total", "WATCH second"))
    live.settle(4)
    assert centralised("second") == 0
