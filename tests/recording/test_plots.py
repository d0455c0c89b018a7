"""Pictures: every kind of watch can be drawn, and the drawn curves are the truth."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.curves import Curve, thinned, true_curves
from tacit.recording.drifts import _Stopping, drifts_along
from tacit.recording.plots import save_replay_plot
from tacit.recording.replay import replay_recording
from tacit.recording.settings import Settings
from tacit.recording.stream import Recording
from tacit.recording.sweep import row_of
from tacit.recording.sweep_plot import save_sweep_plot
from tacit.recording.vary import read_variation

MEAN = "CREATE WATCH w AS SELECT AVG(x) AS m FROM t WINDOW LAST 20 ROWS ALERT WHEN m > 5 MARGIN 0.3"
TRACK = "CREATE WATCH w AS SELECT AVG(x) AS m FROM t WINDOW LAST 20 ROWS TRACK m WITHIN 10 PERCENT"
BOTH = "CREATE WATCH w AS SELECT SUM(x) AS s, AVG(x) AS m FROM t ALERT WHEN s > 100 OR m > 5"
EACH = "CREATE WATCH w AS SELECT g, AVG(x) AS m FROM t WINDOW LAST 20 ROWS GROUP BY g ALERT WHEN m > 5"


def stream(*, groups: int = 0, sites: int = 4) -> Recording:
    rng = np.random.default_rng(3)
    size = 600
    x = rng.normal(5.0 + np.sin(np.arange(size) / 60.0), 0.5)
    return Recording.from_arrays(
        t=np.arange(size) * 1_000_000, site=rng.integers(0, sites, size), present=np.stack([x, np.ones(size)], axis=1),
        group=rng.integers(0, groups, size) if groups else None, sites=[f"site {k}" for k in range(sites)],
    )  # fmt: skip


@pytest.mark.parametrize(
    ("text", "groups", "sites"), [(MEAN, 0, 4), (TRACK, 0, 4), (BOTH, 0, 4), (EACH, 12, 3), (MEAN, 0, 40)]
)
@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
def test_every_kind_of_watch_is_drawn(tmp_path: Path, text: str, groups: int, sites: int, protocol: str) -> None:
    plan, recording = parse_watch(text), stream(groups=groups, sites=sites)
    replay = replay_recording(plan, recording, protocol=protocol)
    save_replay_plot(plan, recording, replay, tmp_path / "seen.png", Settings(protocol))
    assert (tmp_path / "seen.png").stat().st_size > 10_000


def test_the_curve_is_the_truth() -> None:
    plan, recording = parse_watch(MEAN), stream()
    replay = replay_recording(plan, recording)
    goal = replay.physical.goal
    [[curve]] = true_curves(replay.physical, replay.updates, [goal.expression], np.zeros(1, dtype=np.int64))  # type: ignore[union-attr]
    windows: dict[int, list[float]] = {site: [] for site in range(4)}
    for k in range(len(recording)):
        windows[int(recording.site[k])] = [*windows[int(recording.site[k])], recording.present[k, 0]][-20:]
        held = [x for window in windows.values() for x in window]
        assert curve.value[k] == pytest.approx(np.mean(held))


BENT = "CREATE WATCH w AS SELECT SUM(x) * COUNT(x) AS m FROM t WINDOW LAST 20 SECONDS ALERT WHEN m > 2000"


@pytest.mark.parametrize(
    ("watch", "zone", "protocol"),
    [
        (MEAN, "ball", "coordinator"),
        (MEAN, "auto", "coordinator"),
        (BENT, "curvature", "coordinator"),
        (MEAN, "fitted", "coordinator"),
        (TRACK, "auto", "recentre"),
    ],
)
def test_silent_sites_are_inside_their_zones(watch: str, zone: str, protocol: str) -> None:
    replay = replay_recording(parse_watch(watch), stream(), zone=zone, protocol=protocol)
    assert replay.fitted == (zone == "fitted")
    drifts = drifts_along(
        replay.physical, replay.updates, 0, protocol=protocol, policy="lru", seed=0, ticks=replay.ticks,
        fitted=replay.fitted,
    )  # fmt: skip
    share = drifts.share[np.isfinite(drifts.share)]
    assert len(share) > 1_000
    assert (share >= 0).all()
    assert (share < 1).mean() > 0.99  # at 1 it is outside, or at the very edge
    assert share.min() == 0.0


def test_a_thinned_curve_keeps_its_ends_and_peaks() -> None:
    value = np.zeros(50_000)
    value[31_234], value[7] = 9.0, -3.0
    short = thinned(Curve(np.arange(50_000), value), 100)
    assert len(short.time) <= 400
    assert (short.value.min(), short.value.max()) == (-3.0, 9.0)
    assert (short.time[0], short.time[-1]) == (0, 49_999)


@pytest.mark.parametrize(
    "vary",
    [
        ["threshold=4:6:5"], ["threshold=4:6:3", "protocol=coordinator,broadcast", "window=10,20"],
        ["protocol=coordinator,broadcast", "policy=lru,random"], ["window=5,50,500"], ["window=10,1min"],
    ],
)  # fmt: skip
def test_every_kind_of_sweep_is_drawn(tmp_path: Path, vary: list[str]) -> None:
    from tacit.recording.sweep import jobs_of

    variations = [read_variation(text) for text in vary]
    rows = []
    for job in jobs_of(parse_watch(MEAN), variations, Settings(), Path()):
        how = job.settings
        report = replay_recording(job.plan, stream(), protocol=how.protocol, policy=how.policy).report.as_dict()
        shown = {name: value if isinstance(value, (str, float, int)) else str(value) for name, value in job.values}
        rows.append(row_of(shown, report))
    save_sweep_plot(rows, variations, "w", tmp_path / "sweep.png")
    assert (tmp_path / "sweep.png").stat().st_size > 10_000


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
@pytest.mark.parametrize(("text", "groups"), [(MEAN, 0), (EACH, 12)])
def test_stopping_to_look_changes_nothing(text: str, groups: int, protocol: str) -> None:
    replay = replay_recording(parse_watch(text), stream(groups=groups), protocol=protocol)
    engine = _Stopping(replay.physical, replay.updates, protocol=protocol)
    ends = np.flatnonzero(replay.updates.last)
    for _ in engine.stops(np.unique(np.append(ends[::7], ends[-1]))):
        pass
    assert engine.outcome.ledger.by_kind() == replay.report.messages["by_kind"]
