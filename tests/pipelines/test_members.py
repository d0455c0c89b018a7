"""GROUP BY EACH in a batch: by sub-pane and row by row, against what a recording of the same rows holds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import SparkSession

from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.pipelines.batches import SparkBatch
from tacit.pipelines.prepare import prepare
from tacit.recording.stream import Recording, load
from tacit.vocabulary import SentenceError
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tests.tiers import parametrize_in_tiers

SECOND = 1_000_000
SCHEMA = "time long, x double, ok boolean, l array<string>, f array<double>"
ROWS = [
    (
        None if k % 31 == 30 else k // 3,
        None if k % 7 == 6 else float("nan") if k % 11 == 10 else float(k % 9 - 4),
        (True, False, None)[k % 3 if k % 5 else 2],
        None if k % 13 == 12 else [("a", "b", None, "c", 'd "e"', "[", "")[(k * j + j) % 7] for j in range(k % 6)],
        [(0.0, -0.0, 1.5, float("nan"), None)[(k + j) % 5] for j in range(k % 4)],
    )
    for k in range(120)
]
WATCHES = (
    "SELECT m, INFORMATION_GAIN(ok, PRESENT) AS a FROM t {w} GROUP BY EACH(l) AS m ALERT WHEN a > 0.1",
    "SELECT m, COUNT_IF(PRESENT) AS a, AVG(x) AS b FROM t WHERE x > -3 {w} GROUP BY EACH(l) AS m "
    "ALERT WHEN a > 4 AND b > 0",
    "SELECT m, STDDEV(x) FILTER (WHERE PRESENT) AS a FROM t WHERE ok {w} GROUP BY EACH(l) AS m TRACK a WITHIN 1",
    "SELECT m, COUNT_IF(NOT PRESENT) AS a FROM t {w} GROUP BY EACH(f) AS m ALERT WHEN a > 4",
)


def plan_of(text: str, window: str = "WINDOW LAST 8 SECONDS EVERY 2 SECONDS") -> WatchPlan:
    return parse_watch(f"CREATE WATCH w AS {text.format(w=window)}")


def recording_of(spark: SparkSession, plan: WatchPlan, folder: Path, rows: Sequence[tuple[Any, ...]]) -> Recording:
    return load(
        prepare(spark, plan, spark.createDataFrame(rows, SCHEMA), site="round_robin:2", time="time", folder=folder)
    )


def rows_of(recording: Recording) -> list[tuple[int, list[str], np.ndarray, np.ndarray]]:
    """Time, members, and both contributions of every row."""
    assert recording.member_ptr is not None
    assert recording.member is not None
    assert recording.absent is not None
    found = []
    for k, t in enumerate(recording.t.tolist()):
        members = recording.member[recording.member_ptr[k] : recording.member_ptr[k + 1]]
        texts = [json.dumps([recording.groups[each]]) for each in members]  # type: ignore[index]
        found.append((t, texts, recording.present[k], recording.absent[k]))
    return found


def summed(recording: Recording, sub_us: int) -> dict[tuple[int, str], tuple[int, list[float]]]:
    """What the recording says of every sub-pane and group."""
    sums: dict[tuple[int, str], np.ndarray] = defaultdict(lambda: np.zeros(recording.dimension))
    counts: dict[tuple[int, str], int] = defaultdict(int)
    for t, texts, present, absent in rows_of(recording):
        for key, value in [("", absent), *((text, present - absent) for text in texts)]:
            sums[t // sub_us, key] += value
            counts[t // sub_us, key] += 1
    return {place: (counts[place], sums[place].round(9).tolist()) for place in sums}


def said(deltas: PaneDeltas) -> dict[tuple[int, str], tuple[int, list[float]]]:
    places = [(int(sub), deltas.keys[group]) for sub, group in zip(deltas.sub, deltas.group, strict=True)]
    assert len(set(places)) == len(places)
    values = zip(deltas.rows.tolist(), deltas.sums.round(9).tolist(), strict=True)
    return {place: (rows, sums) for place, (rows, sums) in zip(places, values, strict=True)}


@pytest.mark.middle
def test_a_batch_adds_what_a_recording_holds(spark: SparkSession, tmp_path: Path) -> None:
    """Watches of one list share a pass, and rows are counted once, whatever the number of their members."""
    plans = [plan_of(text) for text in WATCHES]
    recordings = [recording_of(spark, plan, tmp_path / str(k), ROWS) for k, plan in enumerate(plans)]
    batch = SparkBatch(spark.createDataFrame(ROWS, SCHEMA), "time")
    wanted = [
        (plan, each.centres, (k + 1) * SECOND) for k, (plan, each) in enumerate(zip(plans, recordings, strict=True))
    ]
    outcomes = batch.pane_outcomes(wanted)
    assert (batch.rows, batch.no_time, batch.max_time) == (120, 3, 39 * SECOND)
    for (_, _, sub_us), outcome, recording in zip(wanted, outcomes, recordings, strict=True):
        assert said(outcome) == summed(recording, sub_us)
    batch.close()


@parametrize_in_tiers("text", WATCHES, in_test=1)
def test_a_block_has_the_rows_of_a_recording_in_order(spark: SparkSession, tmp_path: Path, text: str) -> None:
    plan = plan_of(text, "WINDOW LAST 20 ROWS")
    recording = recording_of(spark, plan, tmp_path / "all", ROWS)
    batch = SparkBatch(spark.createDataFrame(ROWS, SCHEMA), "time")
    block = batch.row_block(plan, recording.centres)
    batch.close()
    assert _in_words(block) == [
        (t, sorted(texts), (absent + 0.0).tolist(), sorted((present - absent + 0.0).tolist() for _ in texts))
        for t, texts, present, absent in rows_of(recording)
    ]


def _in_words(block: RowBlock) -> list[tuple[int, list[str], list[float], list[list[float]]]]:
    words: list[tuple[int, list[str], list[float], list[list[float]]]] = []
    for t, group, values in zip(block.t.tolist(), block.group.tolist(), block.values + 0.0, strict=True):
        key = block.keys[group]
        if key == "":
            words.append((t, [], values.tolist(), []))
        else:
            assert words[-1][0] == t
            words[-1][1].append(key)
            words[-1][3].append(values.tolist())
    return [(t, sorted(keys), values, sorted(more)) for t, keys, values, more in words]


def test_an_empty_batch_says_nothing(spark: SparkSession) -> None:
    plan = plan_of(WATCHES[0])
    batch = SparkBatch(spark.createDataFrame([], SCHEMA), "time")
    (deltas,) = batch.pane_outcomes([(plan, (), SECOND)])
    assert (len(deltas.sub), batch.rows) == (0, 0)
    assert len(batch.row_block(plan, ()).t) == 0
    batch.close()


def test_what_is_no_list_is_refused(spark: SparkSession) -> None:
    batch = SparkBatch(spark.createDataFrame(ROWS, SCHEMA), "time")
    plan = plan_of("SELECT m, COUNT_IF(PRESENT) AS a FROM t {w} GROUP BY EACH(x) AS m ALERT WHEN a > 1")
    (outcome,) = batch.pane_outcomes([(plan, (), SECOND)])
    assert str(outcome) == "EACH needs a list and x is double"
    with pytest.raises(SentenceError, match="EACH needs a list"):
        batch.row_block(plan, ())
    batch.close()
