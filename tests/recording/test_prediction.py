"""What EXPLAIN predicts beside what the replay then needs: the order of magnitude, whatever the window."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.prediction import predict
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording

HOUR_US = 3_600_000_000
LEVEL = "SELECT AVG(a) AS a FROM t WINDOW {window} ALERT WHEN a > 0.2"
WATCHES = {
    "mean": LEVEL.format(window="LAST 24 HOURS EVERY 1 HOUR"),
    "rows": LEVEL.format(window="LAST 100 ROWS"),
    "since midnight": LEVEL.format(window="SINCE MIDNIGHT"),
    "all": LEVEL.format(window="ALL"),
    "window longer than half the data": LEVEL.format(window="LAST 700 ROWS"),
    "or": "SELECT AVG(a) AS a, AVG(b) AS b FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN a > 0.2 OR b > 0.3",
    "sums": "SELECT SUM(a) AS a, COUNT(b) AS n FROM t WINDOW LAST 48 HOURS EVERY 1 HOUR ALERT WHEN a > 20 OR n < 50",
    "track": "SELECT AVG(a) AS a FROM t WINDOW LAST 48 HOURS EVERY 1 HOUR TRACK a WITHIN 0.3",
}


def _recording(statistics: list[str], sites: int = 4, hours: int = 1000, empty: int = 0) -> Recording:
    """Hourly readings of two quantities that wander, as the statistics of a watch ask for them."""
    rng = np.random.default_rng(5)
    common = np.zeros((hours, 2))
    for hour in range(1, hours):
        common[hour] = 0.98 * common[hour - 1] + rng.normal(0.0, 0.15, 2)
    hour, site = np.divmod(np.arange(hours * sites), sites)
    values = common[hour] + rng.normal(0.0, 0.5, (hours * sites, 2))
    columns = {"sum(a)": values[:, 0], "sum(b)": values[:, 1]}
    present = np.stack([columns.get(name, np.ones(len(hour))) for name in statistics], axis=1)
    names = [str(k) for k in range(sites + empty)]
    return Recording.from_arrays(t=hour * HOUR_US, site=site, present=present, sites=names)


@pytest.mark.parametrize("step", ["event", "pane"])
@pytest.mark.parametrize("watch", WATCHES)
def test_violations_to_an_order_of_magnitude(watch: str, step: str) -> None:
    plan = parse_watch(f"CREATE WATCH w AS {WATCHES[watch]}")
    recording = _recording([statistic.name for statistic in plan.statistics])
    predicted = predict(plan, recording, step=step)
    report = replay_recording(plan, recording, step=step).report
    assert report.violations > 10
    assert report.violations / 10 < predicted.violations < 10 * report.violations
    assert predicted.coordinator_low / 10 < report.messages["total"] < 10 * predicted.coordinator_high
    assert predicted.pane_shipping == report.pane_shipping["messages"]
    assert f"about {predicted.violations:,.0f} violations" in predicted.text()


def test_an_empty_site_does_not_hide_the_others() -> None:
    plan = parse_watch(f"CREATE WATCH w AS {WATCHES['rows']}")
    names = [statistic.name for statistic in plan.statistics]
    full, more = (predict(plan, _recording(names, empty=empty)).violations for empty in (0, 1))
    assert full > 20
    assert more == pytest.approx(full)


def test_less_than_two_windows_to_compare() -> None:
    plan = parse_watch(f"CREATE WATCH w AS {WATCHES['rows']}")
    names = [statistic.name for statistic in plan.statistics]
    assert np.isfinite(predict(plan, _recording(names, hours=2)).violations)
    assert np.isfinite(predict(plan, _recording(names, hours=1)).violations)
