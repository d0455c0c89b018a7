"""Watches on sketches live: what they say is what ``replay --step pane`` says; after crashes all is right as well."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.functions.goals import Frequent, InnerProduct, Quantile, SelfJoin
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.language.recorded import live_plan, recorded_plans, side_plans
from tacit.recording.sides import join_sides
from tacit.recording.sketch_replay import replay_sketch
from tests.runtime.live import Live, RecordedBatch, batches_of, label
from tests.runtime.recordings import recorded
from tests.runtime.stories import BatchFaults, play_by_batch, settle_until
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2", "s3")
COLUMNS = {"k": "string", "j": "string", "x": "bigint", "y": "bigint"}
GOALS = {
    "frequent": "SELECT k, COUNT(*) AS n FROM d {window} GROUP BY k HAVING COUNT(*) > 20 MARGIN 4 SKETCH EPSILON 0.05",
    "where": "SELECT k, COUNT(*) AS n FROM d WHERE y > 2 {window} GROUP BY k HAVING COUNT(*) > 5 SKETCH EPSILON 0.1",
    "self_join": "SELECT SELF_JOIN_SIZE(k) AS f FROM d {window} TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.2 DELTA 0.2",
    "product": "SELECT INNER_PRODUCT(k, j) AS p FROM d {window} TRACK p WITHIN 25 PERCENT SKETCH EPSILON 0.3 DELTA 0.2",
    "quantile": "SELECT QUANTILE(x, 0.8) AS q FROM d {window} TRACK q WITHIN 5 PERCENT SKETCH EPSILON 0.05",
}
MANY = {  # rows in a pane: of few values, and of more than a digest has
    "alike": "SELECT QUANTILE(x - x % 20, 0.8) AS q FROM d {window} TRACK q WITHIN 3 PERCENT SKETCH EPSILON 0.05",
    "many": "SELECT QUANTILE(x % 997, 0.8) AS q FROM d {window} TRACK q WITHIN 3 PERCENT SKETCH EPSILON 0.2",
}
WINDOWS = (
    "WINDOW LAST 60 SECONDS EVERY 5 SECONDS", "WINDOW LAST 90 SECONDS EVERY 6 SECONDS",
    "WINDOW SINCE START OF MINUTE EVERY 5 SECONDS", "",
)  # fmt: skip


class Batch:
    """The same rows by each of the keys that a watch counts."""

    def __init__(self, by_key: dict[Any, RecordedBatch]) -> None:
        self._by_key = by_key
        first = next(iter(by_key.values()))
        self.rows, self.no_time, self.max_time = first.rows, first.no_time, first.max_time

    def pane_outcomes(self, wanted):
        return [self._by_key[each[0].grouping].pane_outcomes([each])[0] for each in wanted]


class Story:
    """One random recording of a watch on sketches, live."""

    def __init__(
        self, seed: int, folder: Path, goal: str, *, crashes: bool, seconds: int = 400, rows: int | None = None
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        window = WINDOWS[int(rng.integers(len(WINDOWS)))]
        self.sentence = f"CREATE WATCH w AS {(GOALS | MANY)[goal].format(window=window)}"
        self.plan: WatchPlan = parse_watch(self.sentence)
        n = int(rng.integers(50, 1500)) if rows is None else rows
        t = np.sort(rng.integers(0, seconds, n)).astype(np.int64) * 1_000_000
        columns = {
            "k": [f"k{each}" if each else None for each in (rng.zipf(1.5, n) + np.arange(n) // 400) % 17],
            "j": [f"k{each}" if each else None for each in (rng.zipf(1.7, n) + 1) % 17],
            "x": (rng.integers(0, 200, n) + np.arange(n) // 20).tolist(),
            "y": rng.integers(1, 9, n).tolist(),
        }
        owners = rng.choice(len(SITES), n, p=rng.dirichlet(np.ones(len(SITES)))).astype(np.int32)
        parts = [recorded(each, t, owners, columns, SITES) for each in recorded_plans(self.plan)]
        self.recording = parts[0] if len(parts) == 1 else join_sides(*parts)
        rows = [recorded(live_plan(side), t, owners, columns, SITES) for side in side_plans(self.plan)]
        self.live = live = Live(folder, SITES, "d", COLUMNS)
        live.ask(self.sentence)
        self.pane = pane = live.coordinator.watches[1].pane_us
        end = (int(rows[0].t[-1]) // pane + 1) * pane
        queues = {}
        for k, name in enumerate(SITES):
            cuts = np.sort(rng.integers(0, n // 2 + 1, int(rng.integers(12)))).tolist()
            batches = zip(*(batches_of(each, k, cuts, end) for each in rows), strict=True)
            keys = [live_plan(side).grouping for side in side_plans(self.plan)]
            queues[name] = [Batch(dict(zip(keys, some, strict=True))) for some in batches]
        play_by_batch(live, queues, rng, BatchFaults(crash=0.1 if crashes else 0.0, cut=0.2))
        assert settle_until(live, end // pane - 1, rounds=seconds // 10)

    def rows_at(self, pane: int) -> np.ndarray:
        """The rows of the window at the end of a pane."""
        window, t, until = self.plan.window, self.recording.t, (pane + 1) * self.pane
        begin = 0
        if window.kind == "time":
            begin = until - int(window.duration_us or 0)
        elif window.kind == "since":
            begin = (until - 1) // 60_000_000 * 60_000_000
        return np.flatnonzero((t >= begin) & (t < until))

    def wrong(self) -> list[str]:
        """Every pane at which what was stored as valid is beyond its promise and what sketches err by."""
        goal, store, found = self.plan.goal, self.live.store, []
        spans = store.all("SELECT first, last, state FROM spans ORDER BY first")
        assert any(state in ("valid", "filling") for _, _, state in spans)
        changes = store.all("SELECT pane, value FROM changes ORDER BY pane")
        lists = [(p, dict(json.loads(m))) for p, m in store.all("SELECT pane, members FROM rankings ORDER BY pane")]
        for first, last, state in spans:
            for pane in range(first, last + 1) if state in ("valid", "filling") else ():
                rows = self.rows_at(pane)
                if isinstance(goal, Frequent):
                    said = next((m for p, m in reversed(lists) if p <= pane), {})
                    why = self._wrong_keys(goal, rows, said)
                else:
                    nothing = None if isinstance(goal, Quantile) else 0.0
                    value = next((v for p, v in reversed(changes) if p <= pane), nothing)
                    why = self._wrong_value(rows, np.nan if value is None else float(value))
                found += [f"pane {pane}: {each}" for each in why]
        return found

    def _wrong_keys(self, goal: Frequent, rows: np.ndarray, said: dict[str, float]) -> list[str]:
        keys, group = self.recording.keys, self.recording.group
        counts = Counter(keys[each] for each in group[rows].tolist())
        slop = goal.accuracy.epsilon * len(rows)
        wrong = [
            f"{key} inside with {counts[key]}" for key in said if counts[key] < goal.threshold - goal.margin - slop
        ]
        return wrong + [
            f"{key} outside with {count}"
            for key, count in counts.items()
            if key not in said and count > goal.threshold + goal.margin + slop
        ]

    def _wrong_value(self, rows: np.ndarray, said: float) -> list[str]:
        goal = self.plan.goal
        if isinstance(goal, SelfJoin | InnerProduct):
            counts = [np.bincount(self.recording.group[rows], minlength=64)] * 2
            if isinstance(goal, InnerProduct):
                second = self.recording.present[rows, 0] > 0.5
                counts = [np.bincount(self.recording.group[rows[side]], minlength=64) for side in (~second, second)]
            truth = float((counts[0] * counts[1]).sum())
            slop = goal.accuracy.epsilon * float(counts[0].sum()) * float(counts[1].sum())
            return [] if abs(said - truth) <= goal.within * (truth + slop) + slop else [f"said {said}, is {truth}"]
        assert isinstance(goal, Quantile)
        values, off = self.recording.present[rows, 0], goal.within + goal.accuracy.epsilon + 1e-9
        if not len(values) or np.isnan(said):
            return [] if not len(values) and np.isnan(said) else [f"said {said} of {len(values)} rows"]
        low, high = (values < said).mean(), (values <= said).mean()
        return [] if low - off <= goal.phi <= high + off else [f"said {said}, whose rank is {low} to {high}"]


CASES = [(goal, seed) for seed in range(4) for goal in GOALS]
IN_TIERS = parametrize_in_tiers("goal, seed", CASES, in_test=len(GOALS))


@IN_TIERS
def test_live_is_replay(goal: str, seed: int, tmp_path: Path) -> None:
    """Whatever the batches, their order and links that break: the same alerts."""
    story = Story(seed, tmp_path, goal, crashes=False)
    _says_what_a_replay_says(story)


@parametrize_in_tiers("goal, seed", [(goal, seed) for seed in range(4) for goal in MANY], in_test=len(MANY))
def test_so_many_rows_that_digests_leave_values_out(seed: int, goal: str, tmp_path: Path) -> None:
    """Values that are alike come as one to a live site, and one by one in a replay."""
    _says_what_a_replay_says(Story(seed, tmp_path, goal, crashes=False, rows=30_000))


@parametrize_in_tiers("window", ["", "WINDOW LAST 30 MINUTES EVERY 10 SECONDS"], in_test=1)
def test_so_many_panes_that_digests_are_of_digests(
    window: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    monkeypatch.setitem(globals(), "WINDOWS", (window,))
    _says_what_a_replay_says(Story(5, tmp_path, "many", crashes=False, seconds=4_000, rows=8_000))


def _says_what_a_replay_says(story: Story) -> None:
    assert story.wrong() == []
    replayed = replay_sketch(story.plan, story.recording, step="pane", verify=True).report
    assert (replayed.missed, replayed.spurious) == (0, 0)
    if isinstance(story.plan.goal, Frequent):
        mine = [(a["at"], sorted(map(label, a["entered"])), sorted(map(label, a["left"]))) for a in story.live.alerts]
        theirs = [(a.at, sorted(a.entered), sorted(a.left)) for a in replayed.alerts]
    else:
        mine = [(a["at"], a["value"]) for a in story.live.alerts]
        theirs = [(a.at, a.value) for a in replayed.alerts]
    assert mine == theirs


@IN_TIERS
def test_after_crashes_every_answer_is_right(goal: str, seed: int, tmp_path: Path) -> None:
    story = Story(100 + seed, tmp_path, goal, crashes=True)
    assert story.wrong() == []
    ids = [alert["id"] for alert in story.live.alerts]
    assert len(ids) == len(set(ids))


@pytest.mark.middle
@pytest.mark.parametrize("seed", [1, 4])
def test_sites_that_are_killed_find_a_pane_that_all_know(seed: int, tmp_path: Path) -> None:
    """Thousands of panes of a recording: who is killed knows its last one only, and may be far ahead of others."""
    story = Story(seed, tmp_path, "frequent", crashes=True, seconds=12_000, rows=4_000)
    assert story.wrong() == []


def test_a_quantile_of_no_rows_has_no_value(tmp_path: Path) -> None:
    """The window is empty for a minute; the coordinator is killed meanwhile."""
    sentence = "CREATE WATCH w AS SELECT QUANTILE(x, 0.5) AS q FROM d WINDOW LAST 20 SECONDS EVERY 5 SECONDS TRACK q WITHIN 40 PERCENT"  # noqa: E501
    plan = live_plan(parse_watch(sentence))
    t = np.concatenate([np.arange(30), np.arange(100, 130)]).astype(np.int64) * 1_000_000
    rows = recorded(plan, t, np.zeros(60, dtype=np.int32), {"x": [7] * 60}, ("s0",))
    live = Live(tmp_path, ("s0",), "d", {"x": "bigint"})
    live.ask(sentence)
    for first, end, until in ((0, 30, 90), (30, 60, 130)):
        live.batch("s0", RecordedBatch(rows, np.arange(first, end), until * 1_000_000))
        live.settle(10)
        if first == 0:
            (shown,) = live.ask("SHOW WATCH w")
            assert (shown["watch"]["state"], shown["watch"]["answer"]) == ("valid", [{"value": None}])
            live.crash_coordinator()
            live.settle(3)
    assert [alert["value"] for alert in live.alerts] == [7.0, None, 7.0]
    (shown,) = live.ask("SHOW WATCH w")
    assert shown["watch"]["answer"] == [{"value": 7.0}]
