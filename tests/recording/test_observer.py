"""The observer's sums are exact: a huge value leaves nothing behind when it leaves the window."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.observer import truth_along
from tacit.recording.physical import physical_plan
from tacit.recording.stream import Recording
from tacit.recording.updates import updates_of


@pytest.mark.parametrize("huge", [1.0, 1e9, -9.99e20])
@pytest.mark.parametrize("groups", [0, 2])
def test_sums_are_those_of_the_rows_in_the_window(huge: float, groups: int) -> None:
    rng = np.random.default_rng(4)
    x = rng.normal(0.0, 1.0, 200)
    x[::25] *= huge
    k = np.arange(200)
    by = "GROUP BY g" if groups else ""
    select = "SELECT g, SUM(x) AS s" if groups else "SELECT SUM(x) AS s"
    plan = parse_watch(f"CREATE WATCH w AS {select} FROM t WINDOW LAST 6 ROWS {by} ALERT WHEN s > 1")
    key = rng.integers(0, groups, 200) if groups else np.zeros(200, dtype=int)
    recording = Recording.from_arrays(
        t=k, site=k % 2, present=x[:, None], group=key if groups else None, groups=("p", "q") if groups else None
    )
    physical = physical_plan(plan, recording)
    updates = updates_of(recording, plan.window, step="event")
    judged = 0
    for group, step, points in truth_along(physical, updates):
        for g, at, (found,) in zip(group.tolist(), step.tolist(), points.tolist(), strict=True):
            rows = [r for site in range(2) for r in range(site, at + 1, 2)[-6:] if key[r] == g]
            assert found == pytest.approx(math.fsum(x[rows]), rel=1e-15, abs=0.0)
            judged += 1
    assert judged >= 200
