"""Sites that recentre, and sites with zones of their own, live: whatever crashes, every valid answer is right."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tests.runtime.judge import Judge
from tests.runtime.live import Live, batches_of
from tests.runtime.recordings import recorded
from tests.runtime.stories import RoundFaults, play_by_round
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2", "s3")
COLUMNS = {"k": "string", "x": "bigint", "y": "bigint"}
GOALS = (
    "SELECT SUM(x) / SUM(y) AS m FROM d {window} ALERT WHEN m > 1.6",
    "SELECT SUM(x) AS m, SUM(y) AS n FROM d {window} ALERT WHEN m > 420 OR n > 300",
    "SELECT AVG(x) AS m FROM d {window} TRACK m WITHIN 0.8",
    "SELECT STDDEV(x) AS m FROM d {window} TRACK m WITHIN 10 PERCENT",
    "SELECT k, SUM(x) AS m FROM d {window} GROUP BY k ALERT WHEN m > 60 MARGIN 4",
)
WINDOWS = ("WINDOW LAST 40 SECONDS EVERY 2 SECONDS", "WINDOW LAST 50 ROWS EVERY 2 SECONDS")


def story(seed: int, protocol: str, folder: Path) -> tuple[list[str], list[str], int]:
    """One random run with crashes of sites and coordinator: what was wrong, the states, and the panes judged."""
    rng = np.random.default_rng(seed)
    goal, window = GOALS[seed % len(GOALS)], WINDOWS[int(rng.integers(len(WINDOWS)))]
    sentence = f"CREATE WATCH w AS {goal.format(window=window)}"
    n, seconds = 1_800, 700
    t = np.sort(rng.integers(0, seconds, n)).astype(np.int64) * 1_000_000
    columns = {
        "k": [f"k{each}" for each in rng.integers(0, 3, n)],
        "x": (rng.integers(-2, 12, n) + t // 200_000_000).tolist(),
        "y": rng.integers(1, 7, n).tolist(),
    }
    owners = rng.choice(len(SITES), n).astype(np.int32)
    recording = recorded(parse_watch(sentence), t, owners, columns, SITES)
    judge = Judge()
    live = Live(folder, SITES, "d", COLUMNS, protocol=protocol, witness=judge.witness)
    live.ask(sentence)
    end = (int(recording.t[-1]) // 2_000_000 + 1) * 2_000_000
    queues = {name: batches_of(recording, k, list(range(8, n, 8)), end) for k, name in enumerate(SITES)}
    play_by_round(live, queues, rng, RoundFaults(coordinator=0.05, site=0.1))
    live.settle(150)
    (verdict,) = judge.verdicts(live.store)
    return list(verdict.wrong), [state for (state,) in live.store.all("SELECT state FROM spans")], verdict.panes


@pytest.mark.parametrize("protocol", ["recentre", "fitted"])
@parametrize_in_tiers("seed", range(6), in_test=1)
def test_every_valid_answer_is_right(seed: int, protocol: str, tmp_path: Path) -> None:
    wrong, states, panes = story(seed, protocol, tmp_path)
    assert wrong == []
    assert panes > 200
    assert states[-1] == "valid"


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("coordinator", "zones now   halfspace; to the edge"),
        ("recentre", "may go"),
        ("fitted", "zones now"),
        ("broadcast", "zones now   ball"),
    ],
)
def test_explain_says_which_zones_are_in_use(protocol: str, words: str, tmp_path: Path) -> None:
    sentence = "CREATE WATCH w AS SELECT SUM(x) AS m FROM d WINDOW LAST 40 SECONDS EVERY 2 SECONDS ALERT WHEN m > 900"
    live = Live(tmp_path, SITES, "d", COLUMNS, protocol=protocol)
    live.ask(sentence)
    assert "zones now   none yet" in live.ask("EXPLAIN WATCH w")[0]["text"]
    t = np.arange(400, dtype=np.int64) * 500_000
    columns = {"k": ["k"] * 400, "x": (np.arange(400) % 7 + 1).tolist(), "y": [1] * 400}
    recording = recorded(parse_watch(sentence), t, (np.arange(400) % 4).astype(np.int32), columns, SITES)
    for k, name in enumerate(SITES):
        for batch in batches_of(recording, k, [50], 200_000_000):
            live.batch(name, batch)
    live.settle(40)
    text = live.ask("EXPLAIN WATCH w")[0]["text"]
    assert f"protocol    {protocol}" in text
    assert words in text


@pytest.mark.parametrize("protocol", ["auto", "recentre"])
def test_a_watch_of_many_statistics_is_kept(protocol: str, tmp_path: Path) -> None:
    """25 averages are 50 statistics, which is more than sites can recentre: their zones are balls."""
    total = " + ".join(f"AVG(x + {k} * y)" for k in range(25))
    sentence = f"CREATE WATCH w AS SELECT {total} AS m FROM d WINDOW LAST 40 SECONDS EVERY 2 SECONDS TRACK m WITHIN 50"
    rng = np.random.default_rng(1)
    n = 200
    t = np.sort(rng.integers(0, 100, n)).astype(np.int64) * 1_000_000
    columns = {"x": rng.integers(0, 9, n).tolist(), "y": rng.integers(1, 7, n).tolist()}
    recording = recorded(parse_watch(sentence), t, rng.choice(len(SITES), n).astype(np.int32), columns, SITES)
    judge = Judge()
    live = Live(tmp_path, SITES, "d", COLUMNS, protocol=protocol, witness=judge.witness)
    live.ask(sentence)
    for k, name in enumerate(SITES):
        for batch in batches_of(recording, k, list(range(8, n, 8)), 100_000_000):
            live.batch(name, batch)
            live.pump(0.1)
    live.settle(40)
    (verdict,) = judge.verdicts(live.store)
    assert list(verdict.wrong) == []
    assert verdict.panes >= 45
    assert [state for (state,) in live.store.all("SELECT state FROM spans")][-1] == "valid"
