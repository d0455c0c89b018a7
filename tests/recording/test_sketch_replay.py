"""Replays of watches on sketches: judged at every step, in every window, by event and by pane."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.run import check_fit
from tacit.recording.settings import Settings
from tacit.recording.sides import join_sides
from tacit.recording.sketch_replay import SketchReplay, replay_sketch
from tacit.recording.stream import Recording
from tacit.vocabulary import OptionError
from tests.tiers import parametrize_in_tiers

WINDOWS = {
    "time": "WINDOW LAST 100 SECONDS EVERY 5 SECONDS",
    "rows": "WINDOW LAST 120 ROWS EVERY 10 SECONDS",
    "since": "WINDOW SINCE START OF MINUTE EVERY 5 SECONDS",
    "all": "WINDOW ALL EVERY 10 SECONDS",
}
GOALS = {
    "frequent": "SELECT k, COUNT(*) AS n FROM d {w} GROUP BY k HAVING COUNT(*) > 30 MARGIN 5 SKETCH EPSILON 0.05",
    "self_join": "SELECT SELF_JOIN_SIZE(k) AS f FROM d {w} TRACK f WITHIN 15 PERCENT SKETCH EPSILON 0.1 DELTA 0.1",
    "product": "SELECT INNER_PRODUCT(k, j) AS p FROM d {w} TRACK p WITHIN 15 PERCENT SKETCH EPSILON 0.1 DELTA 0.1",
    "quantile": "SELECT QUANTILE(x, 0.9) AS q FROM d {w} TRACK q WITHIN 3 PERCENT SKETCH EPSILON 0.02",
}


def plan_of(goal: str, window: str):
    text = GOALS[goal].format(w=WINDOWS[window] if window != "all" else "")
    return parse_watch(f"CREATE WATCH w AS {text}")


def stream(seed: int, goal: str, *, rows: int = 1_500, sites: int = 5) -> Recording:
    """Rows whose keys and values drift."""
    rng = np.random.default_rng(seed)
    t = np.sort(rng.integers(0, 600, rows)) * 1_000_000
    site = rng.choice(sites, rows, p=rng.dirichlet(np.ones(sites)))
    names = [f"k{each}" for each in range(60)]
    if goal == "quantile":
        values = rng.lognormal(3.0, 1.0, rows) + np.arange(rows) / 10
        return Recording.from_arrays(t=t, site=site, present=values, sites=[f"s{k}" for k in range(sites)])

    def side(skew: float) -> Recording:
        keys = (rng.zipf(skew, rows) + np.arange(rows) // 300) % 60
        owners = [f"s{k}" for k in range(sites)]
        return Recording.from_arrays(t=t, site=site, present=np.ones(rows), group=keys, groups=names, sites=owners)

    return join_sides(side(1.5), side(1.8)) if goal == "product" else side(1.5)


def replayed(goal: str, window: str, seed: int, step: str, **options: str) -> SketchReplay:
    recording = stream(seed, goal, rows=1_500 if step == "pane" else 600)
    return replay_sketch(plan_of(goal, window), recording, step=step, verify=True, **options)


CASES = [(goal, window) for goal in GOALS for window in WINDOWS if (goal, window) != ("product", "rows")]


@parametrize_in_tiers("seed", range(3), in_test=1)
@pytest.mark.parametrize(("goal", "window"), CASES)
def test_every_step_is_right(goal, window, seed):
    for step in ("pane", "event"):
        report = replayed(goal, window, seed, step).report
        assert (report.missed, report.spurious) == (0, 0), step


@pytest.mark.parametrize("seed", range(3))
def test_both_zones_of_a_self_join_are_right(seed):
    reports = {zone: replayed("self_join", "time", seed, "pane", zone=zone).report for zone in ("auto", "norms")}
    assert all((report.missed, report.spurious) == (0, 0) for report in reports.values())
    assert {report.zone for report in reports.values()} == {"products", "norms"}


def test_frequent_keys_enter_and_leave():
    replay = replayed("frequent", "time", 1, "pane")
    entered = [key for alert in replay.report.alerts for key in alert.entered]
    left = [key for alert in replay.report.alerts for key in alert.left]
    assert entered
    assert set(left) <= set(entered)
    assert replay.report.as_dict()["alerts"][0].keys() == {"at", "entered", "left"}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("step", ["pane", "event"])
def test_crossings_of_frequent_keys_are_counted_at_the_ends_of_steps(step, seed):
    recording = stream(seed, "frequent", rows=600)
    t, length, pane = recording.t, 100_000_000, 5_000_000
    if step == "pane":
        ends = np.arange(pane, t.max() + pane + 1, pane) - 1
    else:
        ends = np.unique(np.append(t, t + length))
        ends = ends[ends <= t.max()]
    crossings, before = 0, np.zeros(60, dtype=bool)
    for end in ends:
        age = end - t
        now = np.bincount(recording.group[(age >= 0) & (age < length)], minlength=60) > 30
        crossings, before = crossings + np.count_nonzero(now != before), now
    report = replay_sketch(plan_of("frequent", "time"), recording, step=step, verify=True).report
    assert report.crossings > 2
    assert 0 <= report.crossings - crossings <= (0 if step == "pane" else 4)  # rows of one moment are several events


def test_one_site_and_sites_without_rows():
    recording = Recording.from_arrays(
        t=np.arange(200) * 1_000_000, site=np.zeros(200, dtype=int), present=np.ones(200), group=np.arange(200) % 7,
        groups=[str(k) for k in range(7)], sites=["a", "b", "c"],
    )  # fmt: skip
    for goal in ("frequent", "self_join"):
        report = replay_sketch(plan_of(goal, "time"), recording, step="pane", verify=True).report
        assert (report.missed, report.spurious) == (0, 0)


@pytest.mark.parametrize("share", [0.01, 0.99])
def test_the_first_row_is_told_even_where_any_value_would_do(share):
    """0, said before there are rows, is below all: with 5 percent around a share of 0.01 it was never wrong."""
    text = f"SELECT QUANTILE(x, {share}) AS q FROM d WINDOW LAST 100 SECONDS EVERY 10 SECONDS TRACK q WITHIN 5 PERCENT"
    recording = Recording.from_arrays(t=np.arange(50) * 1_000_000, site=np.arange(50) % 2, present=np.arange(50) + 70.0)
    told = replay_sketch(parse_watch(f"CREATE WATCH w AS {text}"), recording, step="pane", verify=True).report
    assert told.missed == 0
    assert told.alerts
    assert 70 <= told.alerts[0].value < 120


@pytest.mark.parametrize("step", ["pane", "event"])
def test_a_quantile_of_no_rows_has_no_value(step):
    """Rows, none for longer than the window, rows again: NULL is told in between, as of an average."""
    text = "SELECT QUANTILE(x, 0.5) AS q FROM d WINDOW LAST 20 SECONDS EVERY 5 SECONDS TRACK q WITHIN 40 PERCENT"
    seconds = np.concatenate([np.arange(30), np.arange(100, 130)])
    recording = Recording.from_arrays(t=seconds * 1_000_000, site=seconds % 3, present=np.full(60, 7.0))
    replay = replay_sketch(parse_watch(f"CREATE WATCH w AS {text}"), recording, step=step, verify=True)
    assert replay.report.missed == replay.report.spurious == 0
    assert [alert.as_dict()["value"] for alert in replay.report.alerts] == [7.0, None, 7.0]


def test_rows_of_two_sides_are_not_counted_together():
    with pytest.raises(OptionError, match="windows are of time"):
        check_fit(plan_of("product", "rows"), Settings())


def test_a_sketch_knows_whole_panes():
    odd = parse_watch(f"CREATE WATCH w AS {GOALS['self_join'].format(w='WINDOW LAST 10 SECONDS EVERY 6 SECONDS')}")
    with pytest.raises(OptionError, match="whole panes"):
        check_fit(odd, Settings(step="pane"))
    check_fit(odd, Settings())
