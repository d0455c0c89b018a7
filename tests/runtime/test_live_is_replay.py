"""Live is replay: random recordings, cut into random batches that come in random order, with random crashes.

Whatever the cuts, the order and the crashes, the live system raises exactly the alerts of ``replay --step pane``:
the same panes, sides, groups and, bit for bit, values (the data are whole numbers).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.replay import replay_recording
from tests.runtime.live import Live, batches_of, label
from tests.runtime.recordings import recorded
from tests.runtime.stories import BatchFaults, play_by_batch, settle_until
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2", "s3")
COLUMNS = {"k": "string", "x": "bigint", "y": "bigint", "l": "array<string>"}
GOALS = {
    "mean": "SELECT AVG(x) AS m FROM d {window} ALERT WHEN m > 8",
    "margin": "SELECT AVG(x) AS m FROM d WHERE y > 2 {window} ALERT WHEN m > 8 MARGIN 1",
    "ratio": "SELECT SUM(x) / SUM(y) AS m FROM d {window} TRACK m WITHIN 0.3",
    "spread": "SELECT STDDEV(x) AS m FROM d {window} TRACK m WITHIN 0.5",
    "relation": "SELECT CORR(x, y) AS m FROM d {window} ALERT WHEN m > 0.02",
    "either": "SELECT AVG(x) AS m, COUNT(*) AS n FROM d {window} ALERT WHEN m > 9 OR n < 100",
    "counts": "SELECT k, COUNT(*) AS m FROM d {window} GROUP BY k TRACK m WITHIN 5",
    "means": "SELECT k, AVG(x) AS m FROM d WHERE y > 2 {window} GROUP BY k ALERT WHEN m > 8 MARGIN 1",
    "sums": "SELECT k, SUM(x) AS m FROM d {window} GROUP BY k ALERT WHEN m > 20",
}
EACH = {
    "gain": "SELECT m, INFORMATION_GAIN(x > 8, PRESENT) AS a FROM d {window} {each} ALERT WHEN a > 0.04",
    "gains": "SELECT m, INFORMATION_GAIN(x > 8, PRESENT) AS a FROM d {window} {each} ALERT WHEN a > 0.05 MARGIN 0.02",
    "often": "SELECT m, COUNT_IF(PRESENT) AS a FROM d WHERE y > 2 {window} {each} ALERT WHEN a > 9.5",
    "seldom": "SELECT m, COUNT_IF(PRESENT) AS a FROM d {window} {each} ALERT WHEN a < 8.5 MARGIN 1.8",
    "without": "SELECT m, COUNT_IF(NOT PRESENT) AS a FROM d {window} {each} ALERT WHEN a > 30.5",
    "told": "SELECT m, SUM(x) FILTER (WHERE PRESENT) AS a FROM d {window} {each} TRACK a WITHIN 12.5",
    "untold": "SELECT m, SUM(y) FILTER (WHERE NOT PRESENT) AS a FROM d {window} {each} TRACK a WITHIN 40.5",
    "mean": "SELECT m, AVG(x) FILTER (WHERE PRESENT) AS a FROM d {window} {each} ALERT WHEN a > 8 MARGIN 1",
    "share": "SELECT m, AVG(PRESENT) AS a FROM d {window} {each} ALERT WHEN a > 0.2",
    "spread": "SELECT m, STDDEV(x) FILTER (WHERE PRESENT) AS a FROM d {window} {each} TRACK a WITHIN 1.03",
    "all": "SELECT m, AVG(x) AS a FROM d {window} {each} ALERT WHEN a > 8",
    "both": "SELECT m, COUNT_IF(PRESENT) AS a, AVG(x) AS b FROM d {window} {each} ALERT WHEN a > 4.5 AND b > 8",
}
WINDOWS = (
    "WINDOW LAST 60 SECONDS EVERY 5 SECONDS", "WINDOW LAST 60 SECONDS EVERY 7 SECONDS",
    "WINDOW LAST 50 ROWS EVERY 5 SECONDS", "WINDOW SINCE START OF MINUTE EVERY 5 SECONDS", "",
)  # fmt: skip


def story(
    seed: int, folder: Path, goal: str | None = None, seconds: int = 400, batches: int = 12, protocol: str | None = None
) -> tuple[list[tuple], list[tuple]]:
    """One random run: the alerts of the live system and those of the replay."""
    rng = np.random.default_rng(seed)
    goal = GOALS[sorted(GOALS)[seed % len(GOALS)]] if goal is None else goal
    window = WINDOWS[int(rng.integers(len(WINDOWS)))]
    sentence = f"CREATE WATCH w AS {goal.format(window=window, each='GROUP BY EACH(l) AS m')}"
    plan = parse_watch(sentence)
    n = int(rng.integers(50, 1500))
    t = np.sort(rng.integers(0, seconds, n)).astype(np.int64) * 1_000_000
    columns = {
        "k": [f"k{each}" for each in rng.zipf(1.5, n) % 7],
        "x": (rng.integers(-5, 20, n) + t // (seconds * 200_000)).tolist(),
        "y": rng.integers(1, 9, n).tolist(),
    }
    if "{each}" in goal:
        names = rng.zipf(1.4, (n, 4)) % 23 + np.arange(n)[:, None] // 300  # new ones come, others go
        columns["l"] = [[f"w{name}" for name in row[: rng.integers(5)]] for row in names]
    owners = rng.choice(len(SITES), n, p=rng.dirichlet(np.ones(len(SITES)))).astype(np.int32)
    recording = recorded(plan, t, owners, columns, SITES)
    chosen = str(rng.choice(["coordinator", "broadcast"]))
    protocol = protocol or chosen
    report = replay_recording(plan, recording, step="pane", protocol=protocol, verify=True).report
    assert (report.missed, report.spurious) == (0, 0), sentence
    live = Live(folder, SITES, "d", COLUMNS, protocol=protocol)
    live.ask(sentence)
    pane = live.coordinator.watches[1].pane_us
    end = (int(recording.t[-1]) // pane + 1) * pane
    queues = {
        name: batches_of(recording, k, np.sort(rng.integers(0, n // 2 + 1, int(rng.integers(batches)))).tolist(), end)
        for k, name in enumerate(SITES)
    }
    faults = BatchFaults(
        crash=0.1 if rng.random() < 0.6 else 0.0,
        of_coordinator=0.0 if protocol == "recentre" else 0.5,  # whose zones a crash loses: all are asked anew then
        cut=0.2 if "{each}" in goal else 0.0,
    )
    play_by_batch(live, queues, rng, faults)
    settle_until(live, end // pane - 1, rounds=seconds // 10)
    mine = sorted((a["at"], label(a["group"]), a["side"] or "", repr(a["value"]), a["comparison"]) for a in live.alerts)
    theirs = sorted((a.at, a.group or "", a.side or "", repr(a.value), a.comparison) for a in report.alerts)
    return mine, theirs


@parametrize_in_tiers("seed", range(14), in_test=9)
def test_live_is_replay(seed: int, tmp_path: Path) -> None:
    mine, theirs = story(seed, tmp_path)
    assert mine == theirs


@parametrize_in_tiers("seed", range(12), in_test=2)
def test_so_it_is_when_sites_recentre(seed: int, tmp_path: Path) -> None:
    """Sites crash, the coordinator does not: what it has learned of the cost of zones is lost with it."""
    mine, theirs = story(seed, tmp_path, protocol="recentre")
    assert mine == theirs


@parametrize_in_tiers("seed", [37, 46, 48, 49], in_test=1)
def test_a_vector_on_the_edge_of_its_zone_is_on_the_same_side_of_it_in_both(seed: int, tmp_path: Path) -> None:
    """Counts and a margin of a whole number meet often: slacks must be rounded alike by kernels and machines."""
    goal = "SELECT k, COUNT(*) AS m FROM d {window} GROUP BY k ALERT WHEN m < 9 MARGIN 2"
    mine, theirs = story(seed, tmp_path, goal)
    assert mine == theirs


@parametrize_in_tiers("seed", [0, 1, pytest.param(4, marks=pytest.mark.long)], in_test=1)
def test_a_recording_that_comes_in_one_batch_is_walked_through_pane_by_pane(seed: int, tmp_path: Path) -> None:
    """Far more panes than a coordinator lets wait: none is skipped, for only rows make this time pass."""
    mine, theirs = story(seed, tmp_path, seconds=20_000, batches=1)
    assert mine == theirs
    assert mine


@parametrize_in_tiers("seed", range(12), in_test=3)
def test_live_is_replay_of_every_member_of_a_list(seed: int, tmp_path: Path) -> None:
    mine, theirs = story(seed, tmp_path, EACH[sorted(EACH)[seed % len(EACH)]])
    assert mine == theirs


def test_a_condition_that_holds_of_no_rows_is_met_from_the_first_row_of_its_group_on(tmp_path: Path) -> None:
    mine, theirs = story(8, tmp_path, "SELECT k, SUM(x) AS m FROM d {window} GROUP BY k ALERT WHEN m < 20")
    assert mine == theirs


def test_what_is_met_from_the_start_is_said_with_the_value_of_its_first_pane(tmp_path: Path) -> None:
    """Few rows alone make it met; a new estimate that changes no answer must be in the first alert all the same."""
    mine, theirs = story(2728, tmp_path)
    assert mine == theirs


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 3000, 100))
def test_live_is_replay_many_times(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        mine, theirs = story(seed, tmp_path / str(seed))
        assert mine == theirs, f"seed {seed}"


@pytest.mark.long
@pytest.mark.parametrize("first", range(3000, 5000, 100))
def test_live_is_replay_of_every_member_many_times(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        mine, theirs = story(seed, tmp_path / str(seed), EACH[sorted(EACH)[seed % len(EACH)]])
        assert mine == theirs, f"seed {seed}"
