"""An hour of kills in one system with watches of every kind on both clocks, from a seed that is the commit's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.kill_story import tell
from tests.simulation.slices import fresh_slice

pytest.importorskip("duckdb")
pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.xdist_group("live")]

KILLS = 300


def test_nothing_is_wrong_lost_or_doubled_however_often_everything_is_killed(tmp_path: Path) -> None:
    seeds = fresh_slice()
    print(f"of {seeds.source}; told again by: python -m tests.end_to_end.kill_story --seed {seeds.first}")
    outcome = tell(tmp_path, KILLS, seeds.first, say=print)
    print("\n".join(outcome.lines()))
    assert outcome.is_good, outcome.lines()
    assert sum(outcome.kills.values()) >= 0.9 * KILLS
