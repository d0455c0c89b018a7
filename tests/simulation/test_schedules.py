"""Random schedules of faults: every valid answer is right, and every watch recovers in time.

Each check judges seeds that no check has judged before, drawn from the commit (slices.py), beside a few that are always
the same and all that ever failed. The summary of pytest names the slice, and says how to judge it again.
"""

from __future__ import annotations

import pytest

from tests.simulation.families import FAMILIES, judge_many
from tests.simulation.slices import COUNT, fresh_slice, known_seeds, slice_of
from tests.tiers import parametrize_in_tiers

CHUNK = 30
CASES = [(family, begin) for begin in range(0, COUNT, CHUNK) for family in FAMILIES]


@pytest.mark.parametrize(("family", "seed"), known_seeds())
def test_seeds_that_once_failed(family, seed):
    judge_many(family, seed, 1)


@pytest.mark.middle
@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_seeds(family):
    judge_many(family, 0, CHUNK)


@parametrize_in_tiers("family, begin", CASES, in_test=len(FAMILIES))
def test_fresh_seeds(family, begin):
    judge_many(family, fresh_slice().first + begin, CHUNK)


def test_every_commit_has_its_own_seeds():
    firsts = {slice_of(f"{number:040x}") for number in range(1000)}
    assert len(firsts) == 1000
    assert all(abs(one - other) >= COUNT for one in firsts for other in firsts if one != other)
