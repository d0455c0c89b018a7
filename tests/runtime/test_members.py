"""GROUP BY EACH, live: members that change no answer cost nothing, and nobody is told of one before its first row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.protocols.messages import Report, Request
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording
from tacit.runtime.site_watch import data_key
from tests.runtime.judge import Judge
from tests.runtime.live import Live, RecordedBatch, label
from tests.runtime.recordings import recorded
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2")
S = 1_000_000
WINDOW = "WINDOW LAST 5 SECONDS EVERY 1 SECOND GROUP BY EACH(l) AS m"
OFTEN = f"CREATE WATCH w AS SELECT m, COUNT_IF(PRESENT) AS a FROM d {WINDOW} ALERT WHEN a > 40"
WITHOUT = f"CREATE WATCH w AS SELECT m, COUNT_IF(NOT PRESENT) AS a FROM d {WINDOW} ALERT WHEN a > 40"
GAIN = f"CREATE WATCH w AS SELECT m, INFORMATION_GAIN(x > 5, PRESENT) AS a FROM d {WINDOW} ALERT WHEN a > 0.1"
SUM = f"CREATE WATCH w AS SELECT m, SUM(x) FILTER (WHERE NOT PRESENT) AS a FROM d {WINDOW} TRACK a WITHIN 30"

Rows = list[tuple[int, int, int, list[str]]]
"""Second, site, x, members."""


def system(folder: Path, sentence: str, rows: Rows, protocol: str = "coordinator") -> tuple[Live, Recording]:
    seconds, sites, x, lists = zip(*sorted(rows), strict=True)
    live = Live(folder, SITES, "d", {"x": "double", "l": "array<string>"}, protocol=protocol)
    live.ask(sentence)
    columns = {"x": [float(each) for each in x], "l": list(lists)}
    recording = recorded(parse_watch(sentence), np.array(seconds) * S, np.array(sites, dtype=np.int32), columns, SITES)
    return live, recording


def feed(live: Live, recording: Recording, until: int, since: int = 0) -> None:
    """All rows of these seconds, at every site."""
    for site, name in enumerate(SITES):
        of = np.flatnonzero((recording.site == site) & (recording.t >= since * S) & (recording.t < until * S))
        live.batch(name, RecordedBatch(recording, of, until * S))
    live.settle(30)


def alerts(live: Live) -> list[tuple[str, str, str, str]]:
    return sorted((a["at"], label(a["group"]), a["side"] or "", repr(a["value"])) for a in live.alerts)


def replayed(sentence: str, recording: Recording, protocol: str) -> list[tuple[str, str, str, str]]:
    replay = replay_recording(parse_watch(sentence), recording, step="pane", protocol=protocol, verify=True)
    assert (replay.report.missed, replay.report.spurious) == (0, 0)
    return sorted((a.at, a.group or "", a.side or "", repr(a.value)) for a in replay.report.alerts)


def steady(first: int, end: int, names: str = "abcdefgh", each: int = 1) -> Rows:
    """Rows in turn at all sites, with one member each."""
    return [
        (second, site, (second * 7 + site * 3 + k) % 11, [names[(second + site + k) % len(names)]])
        for second in range(first, end)
        for site in range(len(SITES))
        for k in range(each)
    ]


def test_windows_are_shared_only_by_watches_that_add_the_same_to_all_groups() -> None:
    """Of rows that have the member both add 1, and of rows that have not, one does."""
    every = f"CREATE WATCH v AS SELECT m, COUNT_IF(TRUE) AS a FROM d {WINDOW} ALERT WHEN a > 40"
    one, other = parse_watch(OFTEN), parse_watch(every)
    assert [each.present for each in one.statistics] == [each.present for each in other.statistics]
    assert data_key(one) != data_key(other)
    assert data_key(one) == data_key(parse_watch(OFTEN.replace("> 40", "> 7")))


def test_a_rare_member_is_not_even_named(tmp_path: Path) -> None:
    rows = [(second, site, x, [f"rare{second}{site}"]) for second, site, x, _ in steady(0, 40)]
    live, recording = system(tmp_path, OFTEN, [*rows, *((45, k % 3, 1, ["often"]) for k in range(60)), (59, 0, 1, [])])
    feed(live, recording, 41)
    watch = live.coordinator.watches[1]
    assert watch.settlement is not None
    assert (watch.keys, watch.settlement.settled, live.alerts) == ([""], 40, [])
    feed(live, recording, 60, since=41)
    assert watch.keys == ["", '["often"]']
    assert alerts(live) == replayed(OFTEN, recording, "coordinator")
    assert [(a["pane"], label(a["group"]), a["side"]) for a in live.alerts] == [
        (45, "often", "above"),
        (50, "often", "below"),
    ]


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
@pytest.mark.parametrize("sentence", [WITHOUT, SUM])
def test_what_becomes_true_of_all_is_told_of_every_member_that_was_ever_seen(
    tmp_path: Path, sentence: str, protocol: str
) -> None:
    """Also of one whose rows had left before, at a site that was started anew since; of no later one before its row."""
    rows = [*steady(0, 20, "ab"), (2, 0, 3, ["old", "older"]), *steady(20, 60, "abc", each=5), (50, 2, 3, ["new"])]
    live, recording = system(tmp_path, sentence, rows, protocol)
    feed(live, recording, 15)
    live.crash_site("s0")
    live.settle(10)
    feed(live, recording, 48, since=15)
    assert "old" in {label(a["group"]) for a in live.alerts}
    live.crash_coordinator()
    feed(live, recording, 60, since=48)
    assert alerts(live) == replayed(sentence, recording, protocol)
    first = min(a["pane"] for a in live.alerts if label(a["group"]) == "new")
    assert first >= 50


def test_numbers_outlive_a_coordinator_that_dies_before_the_watch_begins(tmp_path: Path) -> None:
    live, recording = system(tmp_path, GAIN, [*steady(0, 12), *steady(12, 40, "aab", each=4)])
    live.crash_coordinator()
    feed(live, recording, 14)
    before = list(live.coordinator.watches[1].keys)
    assert len(before) > 2
    live.crash_coordinator()
    assert live.coordinator.watches[1].keys == before
    feed(live, recording, 40, since=14)
    assert alerts(live) == replayed(GAIN, recording, "coordinator")


@parametrize_in_tiers("protocol", ["coordinator", "broadcast"], in_test=1)
@pytest.mark.parametrize("sentence", [OFTEN, WITHOUT, GAIN, SUM])
def test_the_observer_finds_every_answer_right(tmp_path: Path, sentence: str, protocol: str) -> None:
    judge = Judge()
    rows = [*steady(0, 20), *steady(20, 40, "aab", each=6), *steady(40, 60, "bcxyz", each=2)]
    live, recording = system(tmp_path, sentence, rows, protocol)
    for name in SITES:
        live.agents[name]._book.witness = judge.witness
        for watch in live.agents[name].watches.values():
            watch.witness = judge.witness
    feed(live, recording, 30)
    feed(live, recording, 60, since=30)
    (verdict,) = judge.verdicts(live.store)
    assert verdict.panes > 50
    assert verdict.is_good, (verdict.wrong[:5], verdict.untold[:5])
    live.store.commit([("UPDATE changes SET side = 1 - side, value = value + 1000", ())])
    assert judge.verdicts(live.store)[0].wrong
    assert alerts(live) == replayed(sentence, recording, protocol)


def test_a_member_that_comes_while_all_are_asked_is_asked_for_too(tmp_path: Path) -> None:
    """Requests for what stands for all groups are made anew, with the members that got their numbers meanwhile."""
    rare = [(second, site, x, [f"rare{second}{site}"]) for second, site, x, _ in steady(0, 30)]
    live, recording = system(tmp_path, WITHOUT, [*rare, *((10 + k // 6, 0, 1, []) for k in range(60))])
    asked: list[Request] = []
    told: list[Report] = []
    say, receive = live.say, live.coordinator.receive

    def listen(out: list) -> None:
        asked.extend(message for _, _, message in out if isinstance(message, Request))
        say(out)

    def hear(site: int, watch: int, message, now: float) -> list:
        told.extend([message] if isinstance(message, Report) else [])
        return receive(site, watch, message, now)

    live.say, live.coordinator.receive = listen, hear
    feed(live, recording, 30)
    assert any(report.rows.groups[0] == 0 and report.known > 1 for report in told)
    wider = [(a, b) for a in asked for b in asked if a.site == b.site and a.pane == b.pane and a.number < b.number]
    assert any(len(a.groups) and set(a.groups.tolist()) < set(b.groups.tolist()) for a, b in wider)
    assert alerts(live) == replayed(WITHOUT, recording, "coordinator")
