"""What a judge says beside what is true at a pane: what was left out, lost, doubled, late, or said for others."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.verify.history import Span
from tacit.verify.judge import judge_watch, last_pane_of_data
from tacit.verify.question import question_of
from tacit.verify.verdict import Verdict
from tests.verify.recordings import SITES, history, rows_of

pytest.importorskip("duckdb")

SENTENCE = "SELECT SUM(x) AS s FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND ALERT WHEN s > 5"
HOT = (3, 4, 8)  # the seconds in which the sum is above 5
ROWS = {
    "north": [{"ts": float(t), "x": 10.0 if t in HOT else 1.0} for t in range(12)],
    "south": [{"ts": t + 0.5, "x": 0.0} for t in range(12)],
}
SAID: dict[str, Any] = {
    "changes": [(3, "", 1, 10.0), (5, "", 0, 1.0), (8, "", 1, 10.0), (9, "", 0, 1.0)],
    "alerts": [
        {"pane": 3, "side": "above"}, {"pane": 5, "side": "below"}, {"pane": 8, "side": "above"},
        {"pane": 9, "side": "below"},
    ],
}  # fmt: skip
LAST = 10


def _verdict(folder: Path, *, until: int | None = LAST, **said: Any) -> Verdict:
    return judge_watch(history(SENTENCE, LAST, **{**SAID, **said}), rows_of(folder, ROWS), until=until)


def _spans(*parts: tuple[int, int, str]) -> list[Span]:
    return [Span(1, first, last, state, SITES) for first, last, state in parts]


def test_a_run_without_a_fault_is_good(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path)
    assert verdict.is_good
    assert (verdict.panes, verdict.crossings, verdict.alerts) == (11, 4, 4)


def test_panes_that_were_skipped_are_found_and_so_are_the_alerts_in_them(tmp_path: Path) -> None:
    verdict = _verdict(
        tmp_path, spans=_spans((0, 6, "valid"), (10, 10, "valid")),
        changes=SAID["changes"][:2], alerts=SAID["alerts"][:2],
    )  # fmt: skip
    assert verdict.skipped == [(7, 9)]
    assert [each.split(":")[0] for each in verdict.lost] == ["pane 8", "pane 9"]
    assert not verdict.is_good


def test_a_published_gap_excuses_what_is_in_it(tmp_path: Path) -> None:
    verdict = _verdict(
        tmp_path, spans=_spans((0, 6, "valid"), (7, 9, "unknown"), (10, 10, "valid")),
        changes=SAID["changes"][:2], alerts=SAID["alerts"][:2],
    )  # fmt: skip
    assert [(gap.first, gap.last) for gap in verdict.gaps] == [(7, 9)]
    assert verdict.is_good


def test_data_without_an_answer_at_the_end_is_left_out(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, spans=_spans((0, 9, "valid")))
    assert verdict.unanswered == 1
    assert not verdict.is_good


def test_a_change_without_its_alert_is_lost(tmp_path: Path) -> None:
    verdict = _verdict(tmp_path, alerts=[*SAID["alerts"][:2], SAID["alerts"][3]])
    assert verdict.wrong == []
    assert all(each.startswith("pane 8") for each in verdict.lost)
    assert verdict.lost


def test_a_crossing_that_is_told_twice_is_doubled(tmp_path: Path) -> None:
    twice = [*SAID["alerts"][:1], {"pane": 4, "side": "above"}, *SAID["alerts"][1:]]
    assert _verdict(tmp_path, alerts=twice).doubled == ["pane 4: above, as at pane 3"]
    again = [{**SAID["alerts"][0], "id": "x"}, {**SAID["alerts"][0], "id": "x"}, *SAID["alerts"][1:]]
    assert "pane 3: the alert x came twice" in _verdict(tmp_path, alerts=again).doubled


def test_a_provisional_alert_and_the_late_one_that_is_valid_are_not_the_same_twice(tmp_path: Path) -> None:
    alerts = [{"pane": 4, "side": "above", "state": "stale"}, {**SAID["alerts"][0], "late": True}, *SAID["alerts"][1:]]
    verdict = _verdict(tmp_path, alerts=alerts)
    assert verdict.is_good
    assert verdict.late == 1


def test_a_provisional_alert_that_the_settled_pane_confirms_counts_and_is_not_raised_again(tmp_path: Path) -> None:
    alerts = [SAID["alerts"][0], {**SAID["alerts"][1], "state": "stale"}, *SAID["alerts"][2:]]
    assert _verdict(tmp_path, alerts=alerts).is_good


def test_a_correction_takes_back_a_provisional_alert_and_is_no_crossing(tmp_path: Path) -> None:
    wrong = {"pane": 6, "side": "above", "state": "stale"}
    taken_back = {"pane": 7, "side": "below", "state": "valid", "correction": True}
    assert _verdict(tmp_path, alerts=[*SAID["alerts"][:2], wrong, taken_back, *SAID["alerts"][2:]]).is_good


def test_a_list_whose_alert_tells_other_members_is_lost(tmp_path: Path) -> None:
    sentence = (
        "SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND GROUP BY k ORDER BY n DESC LIMIT 1"
    )
    rows = rows_of(tmp_path, {site: [{"ts": float(t), "k": "a"} for t in range(12)] for site in SITES})
    lists = [(0, "", [['["a"]', 2]])]
    good, bad = ([{"pane": 0, "ranking": [[[name], 2]]}] for name in ("a", "b"))
    assert judge_watch(history(sentence, LAST, lists=lists, alerts=good), rows).is_good
    assert judge_watch(history(sentence, LAST, lists=lists, alerts=bad), rows).lost
    twice = judge_watch(history(sentence, LAST, lists=lists, alerts=[*good, *good]), rows)
    assert twice.doubled == ["pane 0: the same list, as at pane 0"]


def test_a_valid_alert_against_the_truth_is_wrong_whatever_its_pane_says_now(tmp_path: Path) -> None:
    alerts = [SAID["alerts"][0], SAID["alerts"][1], {"pane": 7, "side": "above", "state": "valid"}, *SAID["alerts"][2:]]
    verdict = _verdict(tmp_path, alerts=alerts)
    assert verdict.wrong == ["pane 7: a valid alert says met"]


def test_an_answer_that_does_not_claim_to_be_of_all_is_judged_apart(tmp_path: Path) -> None:
    spans = [
        Span(1, 0, 2, "valid", SITES), Span(1, 3, 4, "stale", SITES, ("north",)), Span(1, 5, 10, "valid", SITES),
    ]  # fmt: skip
    verdict = _verdict(tmp_path, spans=spans, changes=SAID["changes"][2:], alerts=SAID["alerts"][2:])
    assert verdict.apart == {"stale": 2}
    assert verdict.apart_off == {}  # of south alone it is true
    assert verdict.wrong == []
    assert [each.split(":")[0] for each in verdict.lost] == ["pane 3", "pane 5"]  # until they are settled late


def test_an_answer_called_valid_without_a_site_is_wrong(tmp_path: Path) -> None:
    spans = [Span(1, 0, 6, "valid", SITES), Span(1, 7, 10, "valid", ("north",))]
    verdict = _verdict(tmp_path, spans=spans)
    assert len(verdict.wrong) == 4
    assert "without south" in verdict.wrong[0]


def test_a_window_that_fills_without_a_site_speaks_for_the_others_only(tmp_path: Path) -> None:
    spans = [Span(1, 0, 2, "filling", ("south",)), Span(1, 3, 10, "valid", SITES)]
    verdict = _verdict(tmp_path, spans=spans)
    assert verdict.is_good
    assert (verdict.apart, verdict.panes) == ({"filling": 3}, 8)


def test_a_site_that_was_dropped_is_not_missed(tmp_path: Path) -> None:
    spans = [Span(1, 0, 10, "valid", ("north",))]
    said = history(SENTENCE, LAST, **SAID, spans=spans)
    assert judge_watch(said, rows_of(tmp_path, ROWS), sites=["north"], until=LAST).is_good


def test_late_rows_excuse_their_panes_only_if_a_site_has_counted_them(tmp_path: Path) -> None:
    rows_of(tmp_path, ROWS)
    late = tmp_path / "north" / "b.parquet"
    pq.write_table(pa.Table.from_pylist([{"ts": 1.25, "x": 100.0}]), late)
    first = tmp_path / "north" / "a.parquet"
    os.utime(first, (1_000_000, 1_000_000))
    rows = rows_of(tmp_path, {})
    silent = judge_watch(history(SENTENCE, LAST, **SAID), rows, until=LAST)
    assert [each.split(" (")[0] for each in silent.wrong] == ["pane 1"]
    counted = judge_watch(history(SENTENCE, LAST, **SAID), rows, dropped=1, until=LAST)
    assert (counted.wrong, counted.excused) == ([], 1)
    too_many = judge_watch(history(SENTENCE, LAST, **SAID), rows, dropped=2, until=LAST)
    assert "only 1 came late" in too_many.problem


def test_with_the_clock_of_the_machine_a_file_that_comes_late_has_late_rows(tmp_path: Path) -> None:
    rows_of(tmp_path, ROWS, clock="wall")
    for site in SITES:
        os.utime(tmp_path / site / "a.parquet", (1, 1))  # rows of the first second are late, and no others
    rows = rows_of(tmp_path, {}, clock="wall")
    changes = [(0, "", 1, 100.0), (1, "", 0, 1.0), *SAID["changes"]]
    alerts = [{"pane": 0, "side": "above"}, {"pane": 1, "side": "below"}, *SAID["alerts"]]
    said = history(SENTENCE, LAST, changes=changes, alerts=alerts)
    assert len(judge_watch(said, rows).wrong) == 2
    counted = judge_watch(said, rows, dropped=1)
    assert (counted.wrong, counted.lost, counted.excused) == ([], [], 1)


def test_the_last_pane_of_data_is_that_of_the_site_that_ends_first(tmp_path: Path) -> None:
    question = question_of(f"CREATE WATCH w AS {SENTENCE}")
    assert last_pane_of_data(rows_of(tmp_path / "event", ROWS), question) == 10
    assert last_pane_of_data(rows_of(tmp_path / "slow", ROWS, watermark="3 seconds"), question) == 7
    assert last_pane_of_data(rows_of(tmp_path / "wall", ROWS, clock="wall"), question) is None
