"""Random schedules of faults: every valid answer is right, drifts are convex, and the watch recovers in time."""

from __future__ import annotations

import pytest

from tests.simulation.judge import judge_many
from tests.tiers import parametrize_in_tiers

CHUNK, CHUNKS = 20, 15
LONG_CHUNK, LONG_CHUNKS = 100, 100


@parametrize_in_tiers("chunk", range(CHUNKS), in_test=1)
def test_schedules(chunk):
    judge_many(chunk * CHUNK, CHUNK)


@pytest.mark.long
@pytest.mark.parametrize("chunk", range(LONG_CHUNKS))
def test_many_schedules(chunk):
    judge_many(1_000_000 + chunk * LONG_CHUNK, LONG_CHUNK)
