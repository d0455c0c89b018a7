"""Watches on sketches live, by hand: names that outlive ALTER and PAUSE, stations that begin late, leaps, history."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.language.recorded import live_plan
from tacit.runtime.pane_clock import TableClock
from tests.runtime.live import Live, RecordedBatch
from tests.runtime.recordings import recorded

SITES = ("s0", "s1")
FREQUENT = "CREATE WATCH w AS SELECT k FROM d {} GROUP BY k HAVING COUNT(*) > 100 SKETCH EPSILON 0.01"
SQUARES = "CREATE WATCH {} AS SELECT SELF_JOIN_SIZE(k) AS f FROM d {} TRACK f WITHIN 10 PERCENT SKETCH EPSILON {}"


class Told(Live):
    """Both sites get the same rows: (seconds, key)."""

    def rows(self, sentence: str, rows: list[tuple[int, str | None]], until: int) -> None:
        for name in self.names:
            self.batch(name, batch_of(sentence, rows, until))
            self.pump(0.01)
        self.settle(3)

    def states(self, number: int) -> set[str]:
        return {state for (state,) in self.store.all("SELECT state FROM spans WHERE watch = ?", (number,))}


def batch_of(sentence: str, rows: list[tuple[int, str | None]], until: int | None = None) -> RecordedBatch:
    rows = sorted(rows, key=lambda row: row[0])
    t = np.array([time * 1_000_000 for time, _ in rows], dtype=np.int64)
    site = np.zeros(len(rows), dtype=np.int32)
    recording = recorded(live_plan(parse_watch(sentence)), t, site, {"k": [key for _, key in rows]}, ("s",))
    return RecordedBatch(recording, np.arange(len(rows)), None if until is None else until * 1_000_000)


@pytest.mark.parametrize("window", ["", "SINCE START OF HOUR EVERY 1 MINUTE", "LAST 60 MINUTES EVERY 1 MINUTE"])
@pytest.mark.parametrize("change", [["PAUSE WATCH w", "RESUME WATCH w"], ["ALTER WATCH w SET THRESHOLD 30"]])
def test_a_watch_that_goes_on_knows_the_keys_of_which_no_row_comes_any_more(window, change, tmp_path: Path):
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    sentence = FREQUENT.format(window and f"WINDOW {window}")
    live.ask(sentence)
    for minute in (5, 30, 70, 100):
        live.rows(sentence, [(60 * minute, "z")], 60 * minute + 60)
    live.rows(sentence, [(60 * 122, "heavy")] * 60 + [(60 * 122, "mid")] * 20, 60 * 123)
    for each in change:
        live.ask(each)
        live.settle(3)
    for minute in (125, 126, 127):
        live.rows(sentence, [(60 * minute, "z")], 60 * minute + 60)
    number = max(live.coordinator.watches)
    watch = live.coordinator.watches[number]
    assert live.states(number) == {"valid"}
    assert set(watch.said[""]) == ({'["heavy"]'} if "PAUSE" in change[0] else {'["heavy"]', '["mid"]'})


def test_a_threshold_far_below_what_names_were_kept_for_is_not_valid_before_the_window_is_full(tmp_path: Path):
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    sentence = FREQUENT.format("WINDOW SINCE START OF HOUR EVERY 1 MINUTE")
    live.ask(sentence)
    for minute in (5, 70):
        live.rows(sentence, [(60 * minute, "z")], 60 * minute + 60)
    live.ask("ALTER WATCH w SET THRESHOLD 5")
    for minute in (75, 100, 119):
        live.rows(sentence, [(60 * minute, "z")], 60 * minute + 60)
    assert live.states(2) == {"filling"}
    live.rows(sentence, [(60 * 121, "z")], 60 * 122)
    assert live.states(2) == {"filling", "valid"}


def test_a_threshold_that_is_lowered_again_and_again_is_kept(tmp_path: Path):
    """Each time to more than an eighth; what names are kept from must not be more than there is to divide."""
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    sentence = FREQUENT.format("WINDOW LAST 60 SECONDS EVERY 5 SECONDS").replace("> 100", "> 8000")
    live.ask(sentence)
    second = 0
    for threshold in (8000, 1100, 150, 20, 3):
        live.ask(f"ALTER WATCH w SET THRESHOLD {threshold}")
        for _ in range(5):
            live.rows(sentence, [(second, "x")] * 20 + [(second, "y")], second + 5)
            second += 5
    for _ in range(12):
        live.rows(sentence, [(second, "x")] * 20 + [(second, "y")], second + 5)
        second += 5
    watch = live.coordinator.find("w")
    assert watch.shown_state == "valid"
    assert set(watch.said[""]) == {'["x"]', '["y"]'}


def test_names_are_not_those_of_another_watch_that_had_the_number(tmp_path: Path):
    """The coordinator was reset, and the sites started again: in its short window the key never had many rows."""
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    short, long = (f"WINDOW LAST {length} SECONDS EVERY 5 SECONDS" for length in (10, 6000))
    first = SQUARES.format("a", long, 0.02)
    live.ask(first)
    live.ask(FREQUENT.format(short).replace("> 100", "> 4096"))
    for second in range(0, 6000, 200):
        live.rows(first, [(each, "slow") for each in range(second, second + 200, 5)], second + 200)
    live.store.close()
    shutil.rmtree(tmp_path / "coordinator")
    live.numbers.clear()
    live.to_coordinator.clear()
    live.agents.pop("s0").store.close()
    live.start_coordinator()
    live.start_site("s0")
    live.ask(first)
    live.ask(FREQUENT.format(long).replace("> 100", "> 600"))
    for second in (6000, 6005, 6010, 6015):
        live.rows(first, [(second, "x")], second + 5)
    assert live.coordinator.find("a").shown_state == "valid"
    assert live.states(2) == {"filling"}


def test_a_stricter_watch_that_comes_within_a_period_is_filling_until_the_next(tmp_path: Path):
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    window = "WINDOW SINCE START OF HOUR EVERY 1 MINUTE"
    first = SQUARES.format("a", window, 0.3)
    live.ask(first)
    for minute in range(5, 90, 5):
        live.rows(first, [(60 * minute, "k")] * 10, 60 * minute + 60)
    live.ask(SQUARES.format("b", window, 0.05))
    for minute in (90, 100, 119):
        live.rows(first, [(60 * minute, "k")], 60 * minute + 60)
    assert live.states(1) == {"filling", "valid"}
    assert live.states(2) == {"filling"}
    live.rows(first, [(60 * 121, "k")], 60 * 122)
    assert live.states(2) == {"filling", "valid"}


def test_rows_of_panes_that_a_clock_leaps_over_are_in_the_sketch(tmp_path: Path):
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    live.agents["s0"].tables["d"].clock = TableClock(0, "wall", 0)
    sentence = SQUARES.format("w", "WINDOW LAST 20000 SECONDS EVERY 1 SECOND", 0.2)
    live.ask(sentence)
    live.rows(sentence, [(0, "a")], 1)
    live.rows(sentence, [(25_000, "z")], 25_001)
    live.rows(sentence, [(25_010, "a")] * 1000, 25_010)
    for second in (36_000, 36_001):
        live.rows(sentence, [(second, "z")], second + 1)
    assert live.coordinator.watches[1].said[""].value == pytest.approx(1e6, rel=0.15)


def test_history_is_read_for_the_longest_window_and_its_keys_have_names(tmp_path: Path):
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    sentences = [
        SQUARES.format("a", "WINDOW LAST 10 SECONDS EVERY 1 SECOND", 0.05),
        SQUARES.format("b", "WINDOW LAST 80 SECONDS EVERY 1 SECOND", 0.05),
    ]  # fmt: skip
    names = "CREATE WATCH c AS SELECT k FROM d WINDOW LAST 80 SECONDS EVERY 1 SECOND GROUP BY k HAVING COUNT(*) > 60"
    past = [(second, "z") for second in range(100)] + [(50, "heavy")] * 50

    class Past:
        def __init__(self, rows):
            self.rows = rows

        def pane_outcomes(self, wanted):
            text = sentences[0] if wanted[0][0].where else names
            return batch_of(text, self.rows).pane_outcomes(wanted)

    class Now(Past):
        no_time, max_time = 0, 0

        def __init__(self, rows, until):
            self.listed, self.rows, self.max_time = rows, len(rows), until * 1_000_000

        def pane_outcomes(self, wanted):
            return [
                batch_of(sentences[0] if each[0].where else names, self.listed).pane_outcomes([each])[0]
                for each in wanted
            ]

    def history(begin, end, through):
        return Past([row for row in past if begin <= row[0] * 1_000_000 < end])

    for agent in live.agents.values():
        agent.tables["d"].history = history
    live.rows(sentences[0], [(99, "z")], 100)
    for sentence in (*sentences, names):
        live.ask(sentence)
    for second in range(101, 110):
        for name in SITES:
            live.batch(name, Now([(second, "z")], second + 1))
            live.pump(0.01)
        live.settle(3)
    watches = live.coordinator.watches
    assert watches[2].said[""].value == pytest.approx(100.0**2 + 160.0**2, rel=0.15)
    assert '["heavy"]' in watches[3].said[""]


@pytest.mark.parametrize("window", ["WINDOW LAST 60 SECONDS EVERY 5 SECONDS", ""])
def test_a_new_sketch_does_not_have_the_rows_without_a_value_of_one_that_is_gone(window, tmp_path: Path):
    """It has the same place on disk; a site that starts again must not take one part of each."""
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    first = SQUARES.format("a", window, 0.3)
    often = f"SELECT k FROM d {window} GROUP BY k HAVING COUNT(*) > 50 SKETCH EPSILON"
    live.ask(first)
    live.rows(first, [(0, "x")], 60)
    live.ask(f"CREATE WATCH b AS {often} 0.05")
    live.rows(first, [(60, "x")], 120)
    live.rows(first, [(120, None)] * 200, 180)
    live.ask("DROP WATCH b")
    live.rows(first, [(180, "x")], 240)
    live.ask(f"CREATE WATCH c AS {often} {0.001 if window else 0.05}")
    for minute in (4, 5):
        live.rows(first, [(60 * minute, "x")] * 60, 60 * minute + 60)
    live.crash_site("s0")
    for minute in (6, 7, 8):
        live.rows(first, [(60 * minute, "x")] * 60 + [(60 * minute, None)] * 10, 60 * minute + 60)
    watch = live.coordinator.find("c")
    assert watch.shown_state == "valid"
    assert set(watch.said[""]) == {'["x"]'}


PAST = [(second, "z") for second in range(100)] + [(50, "heavy")] * 50 + [(51, None)] * 50


class Filled(Told):
    """With history at the sites; watches may come while it is read."""

    meanwhile: str | None = None

    def start_site(self, name: str) -> None:
        super().start_site(name)
        self.agents[name].tables["d"].history = self.history

    def history(self, begin: int, end: int, through: int | None) -> RecordedBatch:
        if self.meanwhile is not None:
            self.ask(self.meanwhile)
            self.meanwhile = None
        rows = [row for row in PAST if begin <= row[0] * 1_000_000 < end]
        return batch_of(SQUARES.format("a", "", 0.01), rows)


@pytest.mark.parametrize("case", ["crash", "names", "longer", "meanwhile"])
def test_history_that_is_read_before_a_pane_is_closed_is_not_lost_and_not_taken_for_more(case, tmp_path: Path):
    live = Filled(tmp_path, ("s0",), "d", {"k": "string"})
    last = "WINDOW LAST {} SECONDS EVERY 5 SECONDS"
    often = f"SELECT k FROM d {last.format(80)} GROUP BY k HAVING COUNT(*) > 40 SKETCH EPSILON 0.01"
    first = SQUARES.format("a", last.format(10 if case == "meanwhile" else 80), 0.01)
    live.rows(first, [(99, "z")], 100)
    if case == "meanwhile":
        live.meanwhile = SQUARES.format("b", last.format(80), 0.01)
    live.ask(f"CREATE WATCH b AS {often}" if case == "crash" else first)
    live.rows(first, [(100, "z")], 101)  # history is read, and no pane is closed
    if case == "crash":
        live.crash_site("s0")
    elif case == "names":
        live.ask(f"CREATE WATCH b AS {often}")
    elif case == "longer":
        live.ask(SQUARES.format("b", last.format(95), 0.01))
    for second in range(106, 126):
        live.rows(first, [(second, "z")], second + 1)
    watch = live.coordinator.find("b")
    if case == "crash":
        assert watch.shown_state == "valid"
        assert set(watch.said[""]) == {'["z"]', '["heavy"]', "[null]"}
    else:
        assert live.states(2) == {"filling"}
