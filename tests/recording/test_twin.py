"""The engine against the plain-Python twin of the whole protocol: the same messages of every kind."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.twin import Ratio, Twin
from tacit.language import parse_watch
from tacit.recording.physical import physical_plan
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording

HOUR_US = 3_600_000_000
WATCH = "CREATE WATCH r AS SELECT AVG(a) / AVG(b) AS ratio FROM t WINDOW LAST 12 HOURS ALERT WHEN ratio > {threshold}"


def _recording(seed: int, sites: int = 4, hours: int = 300) -> Recording:
    """Hourly readings that wander, with gaps: NULLs, silent hours, and two readings at one instant."""
    rng = np.random.default_rng(seed)
    level = np.exp(np.cumsum(rng.normal(0.0, 0.03, (hours, 2)), axis=0))
    rows = []
    for hour in range(hours):
        for site in range(sites):
            for _ in range(rng.choice([0, 1, 2], p=[0.1, 0.85, 0.05])):
                a, b = np.rint(20.0 * level[hour] * np.exp(rng.normal(0.0, 0.4, 2)))
                has_a, has_b = rng.random(2) > 0.05
                rows.append((hour * HOUR_US, site, [a * has_a, float(has_a), b * has_b, float(has_b)]))
    times, where, present = zip(*rows, strict=True)
    return Recording.from_arrays(t=times, site=where, present=present, sites=[str(k) for k in range(sites)])


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("threshold", [0.7, 1.0, 1.6])
def test_same_messages(seed: int, threshold: float) -> None:
    recording = _recording(seed)
    plan = parse_watch(WATCH.format(threshold=threshold))
    names = [statistic.name for statistic in plan.statistics]
    assert names == ["sum(a)", "count(a)", "sum(b)", "count(b)"]
    replay = replay_recording(plan, recording, policy="lru", zone="ball", verify=True)
    assert (replay.report.missed, replay.report.spurious) == (0, 0)
    scale = physical_plan(plan, recording).scale
    twin = Twin(Ratio(threshold, tuple(scale.tolist())), len(recording.sites), 12 * HOUR_US)
    units = (recording.present / scale).tolist()
    said = twin.run(zip(recording.t.tolist(), recording.site.tolist(), units, strict=True))
    assert dict(said) == {kind: count for kind, count in replay.report.messages["by_kind"].items() if count}
    assert (twin.violations, twin.full_syncs) == (replay.report.violations, replay.report.full_syncs)
