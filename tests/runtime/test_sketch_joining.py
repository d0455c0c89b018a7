"""Watches on sketches that come while history is read or soon after, and names of those that nobody looks after."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.runtime import sketch_names, sketch_past
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.sketch_data import SketchData
from tests.runtime.live import RecordedBatch
from tests.runtime.test_sketch_stories import SITES, SQUARES, Told, batch_of

SHORT = SQUARES.format("a", "WINDOW LAST 10 SECONDS EVERY 1 SECOND", 0.05)
LONG = SQUARES.format("b", "WINDOW LAST 80 SECONDS EVERY 1 SECOND", 0.05)
STRICT = SQUARES.format("b", "WINDOW LAST 10 SECONDS EVERY 1 SECOND", 0.01)
OFTEN = (
    "CREATE WATCH b AS SELECT k FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND GROUP BY k HAVING COUNT(*) > 60"
    " SKETCH EPSILON 0.05"
)
PAST = [(second, "z") for second in range(101)] + [(98, "heavy")] * 50


class Joined(Told):
    """Sites with history, and a moment while it is read."""

    def __init__(self, folder: Path, names=SITES) -> None:
        super().__init__(folder, names, "d", {"k": "string"})
        self.meanwhile: list[str] = []
        self.read: list[tuple[int, int]] = []
        self.give_history()
        self.rows(SHORT, [(100, "z")], 100)

    def give_history(self) -> None:
        for agent in self.agents.values():
            agent.tables["d"].history = self.history

    def history(self, begin_us: int, end_us: int, through: int | None) -> RecordedBatch:
        self.read.append((begin_us // 1_000_000, end_us // 1_000_000))
        for sentence in self.meanwhile:
            self.ask(sentence)
        self.meanwhile = []
        return batch_of(SHORT, [row for row in PAST if begin_us <= row[0] * 1_000_000 < end_us])

    def feed(self, seconds: range) -> None:
        for second in seconds:
            self.rows(SHORT, [(second, "z")], second + 1)

    def value(self, number: int) -> float:
        return self.coordinator.watches[number].said[""].value


def idle_or_not(live: Joined, idle: bool) -> None:
    """History is read while the table is idle, or with its next batch."""
    if idle:
        for agent in live.agents.values():
            agent.fill("d")
        live.settle(3)
    live.feed(range(101, 106))


@pytest.mark.parametrize("idle", [True, False])
def test_a_longer_window_that_comes_while_history_is_read_is_filling(idle: bool, tmp_path: Path) -> None:
    live = Joined(tmp_path)
    live.ask(SHORT)
    live.meanwhile = [LONG]
    idle_or_not(live, idle)
    assert live.states(1) == {"valid"}
    assert live.value(1) == pytest.approx(100.0**2 + 20.0**2, rel=0.15)
    assert live.states(2) == {"filling"}  # of its 80 seconds 10 were read
    live.feed(range(106, 169))
    assert live.states(2) == {"filling"}
    live.feed(range(169, 171))
    assert live.states(2) == {"filling", "valid"}
    assert live.value(2) == pytest.approx(100.0**2 + 160.0**2, rel=0.15)
    assert [begin for begin, _ in live.read if begin > 0] == [90, 20]  # the second site knew of it


@pytest.mark.parametrize("idle", [True, False])
@pytest.mark.parametrize("other", [STRICT, OFTEN])
def test_one_that_needs_no_more_history_has_it_once(idle: bool, other: str, tmp_path: Path) -> None:
    live = Joined(tmp_path)
    live.ask(SHORT)
    live.meanwhile = [other]
    idle_or_not(live, idle)
    assert live.states(1) == live.states(2) == {"valid"}
    if other == STRICT:
        assert live.value(2) == pytest.approx(100.0**2 + 20.0**2, rel=0.12)
    else:
        assert live.coordinator.watches[2].said[""] == {'["heavy"]': pytest.approx(100.0, abs=2.0)}


@pytest.mark.parametrize("other", [STRICT, OFTEN])
def test_one_that_comes_after_history_and_before_the_first_pane_is_filling(other: str, tmp_path: Path) -> None:
    """A new sketch lacks the history; the names of its keys are not known to frequent keys on an old one."""
    live = Joined(tmp_path)
    live.ask(SHORT)
    for agent in live.agents.values():
        agent.fill("d")
    live.settle(3)
    live.ask(other)
    live.feed(range(101, 109))
    assert live.states(1) == {"valid"}
    assert live.states(2) == {"filling"}
    live.feed(range(109, 112))
    assert live.states(2) == {"filling", "valid"}


def test_history_is_not_lost_with_a_site_that_has_closed_no_pane_since(tmp_path: Path) -> None:
    live = Joined(tmp_path)
    live.ask(SHORT)
    for name in SITES:
        live.batch(name, batch_of(SHORT, [(101, "z")], 101))  # which closes no pane of the watch
        live.crash_site(name)
    live.give_history()
    live.settle(3)
    live.feed(range(101, 104))
    assert live.value(1) == pytest.approx(100.0**2 + 20.0**2, rel=0.15)
    assert live.states(1) == {"valid"}


def data_of(live: Told) -> SketchData:
    return next(iter(live.agents["s0"]._book.data.values()))


@pytest.mark.middle
@pytest.mark.parametrize("paused", [True, False])
def test_names_of_a_watch_without_a_machine_go(
    paused: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    """It is paused, or a site has never come, so that it has not begun."""
    monkeypatch.setattr(sketch_past, "_SMALL", 1 << 10)
    live = Told(tmp_path, SITES, "d", {"k": "string"})
    for agent in live.agents.values():
        agent.tables["d"].clock = TableClock(0, "wall", 0)
        agent.tables["d"].keep_bytes = 1 << 12
    sentence = OFTEN.replace("> 60", "> 6")
    if not paused:
        live.cut(SITES[1])
    live.ask(sentence)
    fed = SITES if paused else SITES[:1]
    most = 0
    for second in range(0, 600, 2):
        for name in fed:
            live.batch(name, batch_of(sentence, [(second, f"k{second}"), (second, "z")], second + 2))
        live.pump(0.01)
        if second == 20 and paused:
            live.settle(2)
            live.ask("PAUSE WATCH b")
        view = list(data_of(live)._views.values())[-1]
        if second > 40:
            assert not view.tended
            most = max(most, len(view.candidates))
    assert most < 120


def test_there_are_never_too_many_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a window no key has ever too few rows; what is forgotten is owned up to."""
    monkeypatch.setattr(sketch_names, "NAMES", 50)
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    sentence = "CREATE WATCH b AS SELECT k FROM d GROUP BY k HAVING COUNT(*) > 6 SKETCH EPSILON 0.05"
    live.ask(sentence)
    live.ask("PAUSE WATCH b")
    live.settle(2)
    for minute in range(20):
        rows = [(60 * minute, f"k{10 * minute + each}") for each in range(10)] + [(60 * minute, "z")]
        live.batch("s0", batch_of(sentence, rows, 60 * minute + 60))
        live.pump(0.01)
        view = list(data_of(live)._views.values())[-1]
        assert len(view.candidates) <= 50
    assert '["z"]' in view.candidates.keys
    assert view.named is not None
    live.ask("RESUME WATCH b")
    live.rows(sentence, [(1200, "z")], 1260)
    number = max(live.coordinator.watches)
    assert live.states(number) == {"filling"}


def test_names_are_written_when_they_change(tmp_path: Path) -> None:
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    live.ask(OFTEN)
    written = []
    for second in (0, 1, 2, 3, 4, 5):
        live.rows(OFTEN, [(second, "new" if second == 4 else "z")] * 20, second + 1)
        data = data_of(live)
        names = [each for each in live.agents["s0"].store.pieces(data.scope) if each.startswith("names/")]
        assert names == ["names/1"]
        data._dirty = True
        written.append("names/1" in {each.key for each in data.changes()})
        data.saved()
    assert not any(written[1:])  # after the first it was told from how many rows on it is to remember keys
    live.crash_site("s0")
    assert set(data_of(live).view(1).candidates.keys) == {'["z"]', '["new"]'}
    live.ask("DROP WATCH b")
    live.rows(OFTEN, [(6, "z")], 7)
    assert not live.agents["s0"]._book.data
