"""What an alert says: the comparison that fired, what the answer rests on, and of which group."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from tacit.language.sentence import parse_watch
from tests.runtime.live import Live, batches_of
from tests.runtime.recordings import recorded

S = 1_000_000
SITES = ("north", "south")
COLUMNS = {"k": "string", "x": "bigint"}
EITHER = (
    "CREATE WATCH w AS SELECT AVG(x) AS m, COUNT(*) AS n FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND"
    " ALERT WHEN m > 8 OR n < 4"
)


def run(folder: Path, sentence: str, rows: list[tuple[int, str | None, int]], end: int) -> Live:
    """A system whose sites take turns with rows: second, key, value."""
    live = Live(folder, SITES, "d", COLUMNS)
    live.ask(sentence)
    columns = {"k": [key for _, key, _ in rows], "x": [value for _, _, value in rows]}
    t = np.array([second for second, _, _ in rows], dtype=np.int64) * S
    recording = recorded(parse_watch(sentence), t, np.arange(len(rows), dtype=np.int32) % 2, columns, SITES)
    for number, name in enumerate(SITES):
        for batch in batches_of(recording, number, [], end * S):
            live.batch(name, batch)
    live.settle(200)
    return live


def test_an_alert_names_the_comparison_that_fired(tmp_path: Path) -> None:
    """Rows are too few at first; then their mean is high; then there are too few again while it stays so."""
    rows = [*[(second, "a", 5) for second in range(0, 20)] * 2, *[(second, "a", 9) for second in range(20, 30)] * 2]
    live = run(tmp_path, EITHER, sorted(rows), 40)
    told = [(each["side"], each["comparison"], each["threshold"]) for each in live.alerts]
    assert told[:3] == [("met", "n < 4", 4.0), ("not met", "n < 4", 4.0), ("met", "m > 8", 8.0)]
    assert live.alerts[0]["value"] < 4 <= live.alerts[1]["value"]
    assert live.alerts[2]["value"] > 8
    assert [each["state"] for each in live.alerts[:3]] == ["filling", "filling", "valid"]
    assert all(each["sites"] == list(SITES) and not each["late"] for each in live.alerts)


@pytest.mark.parametrize("crashes", [False, True])
def test_the_comparison_is_known_after_a_crash(tmp_path: Path, crashes: bool) -> None:
    """Many rows come, then a high mean, then few rows; what was true before the crash is stored."""
    sentence = EITHER.replace("n < 4", "n > 14")
    rows = sorted([*[(second, "a", 5) for second in range(40)] * 2, *[(second, "a", 5) for second in range(10, 22)] * 2,
                   *[(20, "a", 80)] * 2, *[(24, "a", 80)] * 2])  # fmt: skip
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(sentence)
    columns = {"k": [key for _, key, _ in rows], "x": [value for _, _, value in rows]}
    t = np.array([second for second, _, _ in rows], dtype=np.int64) * S
    recording = recorded(parse_watch(sentence), t, np.arange(len(rows), dtype=np.int32) % 2, columns, SITES)
    cut = int(np.searchsorted(t[::2], 23 * S))
    queues = [batches_of(recording, number, [cut], 40 * S) for number in range(2)]
    for number, name in enumerate(SITES):
        live.batch(name, queues[number].pop(0))
    live.settle(100)
    if crashes:
        live.crash_coordinator()
        for name in SITES:
            live.link(name)
    for number, name in enumerate(SITES):
        for batch in queues[number]:
            live.batch(name, batch)
    live.settle(100)
    told = [(each["side"], each["comparison"]) for each in live.alerts]
    assert told == [("met", "n > 14"), ("not met", "m > 8")]


@pytest.mark.parametrize(("goal", "none"), [("SUM(x) AS m", None), ("AVG(x) AS m", None), ("COUNT(*) AS m", 0.0)])
def test_a_condition_over_no_rows_has_no_value(tmp_path: Path, goal: str, none: float | None) -> None:
    """Rows whose sum is 0 are rows; once the window is empty a sum has no value, and a count is 0."""
    sentence = f"CREATE WATCH w AS SELECT {goal} FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN m > 0"
    live = run(tmp_path, sentence, [(second, "a", 9) for second in range(10) for _ in range(2)], 30)
    assert [(each["side"], each["value"]) for each in live.alerts][-1] == ("below", none)
    (shown,) = live.ask("SHOW WATCH w")
    assert shown["watch"]["answer"] == [{"value": none, "side": "below", "met": False}]


def test_a_sum_of_rows_that_is_0_is_told_as_0(tmp_path: Path) -> None:
    sentence = "CREATE WATCH w AS SELECT SUM(x) AS m FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN m > 3"
    rows = [(second, "a", 9 if second < 10 else 0) for second in range(40) for _ in range(2)]
    live = run(tmp_path, sentence, rows, 30)
    assert [(each["side"], each["value"]) for each in live.alerts][-1] == ("below", 0.0)


def test_groups_that_read_alike_are_told_apart(tmp_path: Path) -> None:
    sentence = (
        "CREATE WATCH w AS SELECT k, SUM(x) AS s FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND GROUP BY k"
        " ALERT WHEN s > 8"
    )
    rows = [(second, key, 9) for second in range(10) for key in (None, "NULL", "a, b") for _ in range(2)]
    live = run(tmp_path, sentence, rows, 12)
    assert {str(each["group"]) for each in live.alerts} == {"[None]", "['NULL']", "['a, b']"}
    (shown,) = live.ask("SHOW WATCH w")
    assert {str(row["group"]) for row in shown["watch"]["answer"]} == {"[None]", "['NULL']", "['a, b']"}


def test_groups_are_arrays_of_typed_values(tmp_path: Path) -> None:
    sentence = (
        "CREATE WATCH w AS SELECT k, x, SUM(x) AS s FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND GROUP BY k, x"
        " ALERT WHEN s > 8"
    )
    rows = [(second, key, value) for second in range(10) for key in ("7", "a, b") for value in (9, 12)]
    live = run(tmp_path, sentence, rows, 12)
    wanted = sorted([["7", 9], ["7", 12], ["a, b", 9], ["a, b", 12]])
    raised = [each["group"] for each in live.alerts if each["side"] == "above"]
    assert sorted(raised) == wanted
    (shown,) = live.ask("SHOW WATCH w")
    assert sorted(row["group"] for row in shown["watch"]["answer"]) == wanted


def test_an_alert_without_a_site_says_which_one_and_since_when(tmp_path: Path) -> None:
    sentence = "CREATE WATCH w AS SELECT AVG(x) AS m FROM d WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"
    live = Live(tmp_path, SITES, "d", COLUMNS)
    live.ask(sentence)
    rows = [*[(second, "a", 5) for second in range(20)] * 2, *[(second, "a", 30) for second in range(20, 40)] * 2]
    rows.sort()
    columns = {"k": ["a" for _ in rows], "x": [value for _, _, value in rows]}
    t = np.array([second for second, _, _ in rows], dtype=np.int64) * S
    recording = recorded(parse_watch(sentence), t, np.arange(len(rows), dtype=np.int32) % 2, columns, SITES)
    north, south = (batches_of(recording, number, [20], 40 * S) for number in range(2))
    live.batch("north", north.pop(0))
    live.batch("south", south.pop(0))
    live.settle(50)
    assert live.alerts == []
    gone = live.now
    live.cut("south")
    live.settle(600)  # longer than its lease
    for batch in north:
        live.batch("north", batch)
        live.settle(50)
    (alert,) = live.alerts
    assert (alert["state"], alert["side"], alert["late"]) == ("stale", "above", False)
    (missing,) = alert["missing"]
    assert (missing["site"], missing["reason"]) == ("south", "nothing was heard of it")
    since = datetime.fromisoformat(missing["since"]).timestamp()  # the calendar of the test stands still at 0
    assert gone - live.now - 1 <= since < -10
