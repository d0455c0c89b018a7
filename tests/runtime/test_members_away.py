"""GROUP BY EACH where sites are away for longer than their lease and processes die: no valid answer is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tests.runtime.judge import Judge, Verdict
from tests.runtime.live import Live, batches_of
from tests.runtime.recordings import recorded
from tests.runtime.stories import RoundFaults, play_by_round
from tests.runtime.test_live_is_replay import COLUMNS, EACH, SITES, WINDOWS
from tests.tiers import parametrize_in_tiers


def story(seed: int, folder: Path) -> tuple[Verdict, set[str]]:
    """One random run, and the states that were shown while it ran."""
    rng = np.random.default_rng([seed, 9])
    goal = EACH[sorted(EACH)[seed % len(EACH)]]
    window = WINDOWS[int(rng.integers(len(WINDOWS)))]
    sentence = f"CREATE WATCH w AS {goal.format(window=window, each='GROUP BY EACH(l) AS m')}"
    n = int(rng.integers(300, 900))
    t = np.sort(rng.integers(0, 300, n)).astype(np.int64) * 1_000_000
    names = rng.zipf(1.4, (n, 4)) % 17 + np.arange(n)[:, None] // 100
    columns = {
        "k": ["k"] * n,
        "x": (rng.integers(-5, 20, n) + t // 80_000_000).tolist(),
        "y": rng.integers(1, 9, n).tolist(),
        "l": [[f"w{name}" for name in row[: rng.integers(5)]] for row in names],
    }
    owners = rng.choice(len(SITES), n).astype(np.int32)
    recording = recorded(parse_watch(sentence), t, owners, columns, SITES)
    judge = Judge()
    protocol = str(rng.choice(["coordinator", "broadcast"]))
    live = Live(folder, SITES, "d", COLUMNS, protocol=protocol, witness=judge.witness)
    live.ask(sentence)
    end = (int(recording.t[-1]) // 35_000_000 + 1) * 35_000_000
    queues = {name: batches_of(recording, k, list(range(5, n, 5)), end) for k, name in enumerate(SITES)}
    states: set[str] = set()

    def look() -> None:  # at the time: panes that were settled without a site are settled again when it is back
        states.add(live.coordinator.watches[1].shown_state)

    play_by_round(live, queues, rng, RoundFaults(coordinator=0.08, site=0.08, away=0.12), between=look)
    live.settle(150)
    (verdict,) = judge.verdicts(live.store)
    return verdict, states


@parametrize_in_tiers("seed", range(14), in_test=2)
def test_no_valid_answer_is_wrong(seed: int, tmp_path: Path) -> None:
    verdict, _ = story(seed, tmp_path)
    assert verdict.panes > 0
    assert verdict.wrong == ()


@pytest.mark.middle
def test_sites_are_away_long_enough_to_be_stale(tmp_path: Path) -> None:
    states = {state for seed in range(8, 12) for state in story(seed, tmp_path / str(seed))[1]}
    assert {"stale", "valid"} <= states


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 1100, 100))
def test_no_valid_answer_is_wrong_many_times(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        assert story(seed, tmp_path / str(seed))[0].wrong == (), f"seed {seed}"
