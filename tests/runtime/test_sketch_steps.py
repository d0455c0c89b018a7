"""One sketch for watches with different steps: each reads its own panes off it, and what it says is right."""

from __future__ import annotations

import json
from collections import Counter
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from tacit.functions.goals import Frequent, InnerProduct, Quantile
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.language.recorded import live_plan
from tacit.protocols.gauges.making import shape_of
from tacit.runtime.sketch_data import SketchData
from tests.runtime.live import Live, RecordedBatch, batches_of
from tests.runtime.recordings import recorded
from tests.runtime.stories import BatchFaults, play_by_batch
from tests.runtime.test_live_sketch import Batch
from tests.runtime.test_sketch_joining import SHORT, Joined, data_of
from tests.runtime.test_sketch_stories import SQUARES, Told
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2")
COLUMNS = {"k": "string", "j": "string", "x": "bigint"}
GOALS = (
    "SELECT k, COUNT(*) AS n FROM d {} GROUP BY k HAVING COUNT(*) > 20 MARGIN 4 SKETCH EPSILON {}",
    "SELECT k, COUNT(*) AS n FROM d {} GROUP BY k HAVING COUNT(*) > 6 SKETCH EPSILON {}",
    "SELECT SELF_JOIN_SIZE(k) AS f FROM d {} TRACK f WITHIN 20 PERCENT SKETCH EPSILON {} DELTA 0.05",
    "SELECT INNER_PRODUCT(k, j) AS p FROM d {} TRACK p WITHIN 25 PERCENT SKETCH EPSILON {} DELTA 0.05",
    "SELECT QUANTILE(x, 0.8) AS q FROM d {} TRACK q WITHIN 5 PERCENT SKETCH EPSILON {}",
)
WINDOWS = (
    "WINDOW LAST 60 SECONDS EVERY 5 SECONDS", "WINDOW LAST 60 SECONDS EVERY 15 SECONDS",
    "WINDOW LAST 90 SECONDS EVERY 30 SECONDS", "WINDOW LAST 40 SECONDS EVERY 4 SECONDS",
    "WINDOW SINCE START OF MINUTE EVERY 10 SECONDS", "WINDOW SINCE START OF MINUTE EVERY 20 SECONDS",
    "WINDOW ALL EVERY 12 SECONDS", "WINDOW ALL EVERY 3 SECONDS",
)  # fmt: skip
S = 1_000_000


class Story:
    """Random watches on the same columns that come, change and go while rows, crashes and cuts come."""

    def __init__(
        self, seed: int, folder: Path, *, crashes: bool = True, later: bool = True, goals=GOALS, seconds: int = 400
    ) -> None:
        self.dice = dice = np.random.default_rng(seed)
        n = int(dice.integers(100, 1500))
        self.t = np.sort(dice.integers(0, seconds, n)).astype(np.int64) * S
        self.columns = {
            "k": [f"k{each}" if each else None for each in (dice.zipf(1.5, n) + np.arange(n) // 400) % 17],
            "j": [f"k{each}" if each else None for each in (dice.zipf(1.7, n) + 1) % 17],
            "x": (dice.integers(0, 200, n) + np.arange(n) // 20).tolist(),
        }
        owners = dice.choice(len(SITES), n, p=dice.dirichlet(np.ones(len(SITES)))).astype(np.int32)
        self.plans: dict[int, WatchPlan] = {}
        sentences = [self._sentence(f"w{each}", goals) for each in range(int(dice.integers(2, 6)))]
        first = 1 + int(dice.integers(len(sentences))) if later else len(sentences)
        self.live = live = Live(folder, SITES, "d", COLUMNS)
        for sentence in sentences[:first]:
            self._ask(sentence)
        self.early = {plan.name for plan in self.plans.values()}
        self.waiting = sentences[first:]
        sides = [live_plan(parse_watch(f"CREATE WATCH w AS {GOALS[goal].format('', 0.1)}")) for goal in (2, 4)]
        other = live_plan(
            parse_watch("CREATE WATCH w AS SELECT SELF_JOIN_SIZE(j) AS f FROM d TRACK f WITHIN 9 PERCENT")
        )
        rows = {side.grouping: recorded(side, self.t, owners, self.columns, SITES) for side in (*sides, other)}
        end = (seconds // 60 + 1) * 60 * S
        queues: dict[str, list[Batch]] = {}
        for k, name in enumerate(SITES):
            cuts = np.sort(dice.integers(0, n // 2 + 1, int(dice.integers(3, 12)))).tolist()
            parts: list[tuple[RecordedBatch, ...]] = list(
                zip(*(batches_of(each, k, cuts, end) for each in rows.values()), strict=True)
            )
            queues[name] = [Batch(dict(zip(rows, some, strict=True))) for some in parts]
        faults = BatchFaults(crash=0.1 if crashes else 0.0, cut=0.1)
        play_by_batch(live, queues, dice, faults, keep=1, between=self._change if later else lambda: None)
        for name in SITES:  # whoever came late begins with the last batch
            live.batch(name, queues[name].pop())
        for _ in range(60):
            live.wall_us += 10 * S  # what nobody answered is said again
            live.settle(10)
            if all(self._done(watch, end) for watch in live.coordinator.watches.values()):
                break
        else:
            raise AssertionError([(w.plan.text, w.shown_state, w.answered) for w in live.coordinator.watches.values()])

    def _sentence(self, name: str, goals) -> str:
        goal, window = (str(self.dice.choice(some)) for some in (goals, WINDOWS))
        return f"CREATE WATCH {name} AS {goal.format(window, self.dice.choice([0.05, 0.1, 0.3]))}"

    def _ask(self, sentence: str) -> None:
        self.live.ask(sentence)
        for number, watch in self.live.coordinator.watches.items():
            self.plans[number] = watch.plan

    def _change(self) -> None:
        if self.dice.random() >= 0.3:
            return
        names = [watch.plan.name for watch in self.live.coordinator.watches.values()]
        what = str(self.dice.choice(["new", "new", "pause", "alter"]))
        if what == "new" and self.waiting:
            self._ask(self.waiting.pop())
        elif what == "pause":
            name = str(self.dice.choice(names))
            paused = self.live.coordinator.find(name).status != "running"
            self._ask(f"{'RESUME' if paused else 'PAUSE'} WATCH {name}")
        elif what == "alter":
            watch = self.live.coordinator.find(str(self.dice.choice(names)))
            if isinstance(watch.plan.goal, Frequent) and watch.status == "running":
                self._ask(f"ALTER WATCH {watch.plan.name} SET THRESHOLD {int(self.dice.integers(6, 40))}")

    def _done(self, watch, end: int) -> bool:
        if watch.status != "running":
            return True
        if watch.settlement is None:  # no row came since it is there
            return len(watch.offers) == len(SITES) and all(each.first is None for each in watch.offers.values())
        last = end // watch.pane_us - 1
        starts = [panes.started_at for panes in self._panes_of(watch.plan.name)]
        return watch.settlement.settled == last or any(each is not None and each > last for each in starts)

    def _panes_of(self, name: str):
        """Where the sites are with a watch; one that began after the last row never comes to a pane."""
        watches = [watch for agent in self.live.agents.values() for watch in agent.watches.values()]
        return [panes for watch in watches if watch.plan.name == name for panes in watch.panes]

    def data(self, site: str = "s0") -> list[SketchData]:
        return [each for each in self.live.agents[site]._book.data.values() if isinstance(each, SketchData)]

    def wrong(self, states=("valid",)) -> list[str]:
        """Every pane at which what was stored as valid is beyond its promise and what sketches err by."""
        found, store = [], self.live.store
        of = "lineage IN (SELECT lineage FROM watches WHERE number = ?)"
        self.judged = 0
        for number, plan in self.plans.items():
            if plan.window.kind == "all" and plan.name not in self.early:  # it is of all rows since it came
                continue
            lists = [
                (p, dict(json.loads(m)))
                for p, m in store.all(f"SELECT pane, members FROM rankings WHERE {of} ORDER BY pane", (number,))
            ]
            changes = store.all(f"SELECT pane, value FROM changes WHERE {of} ORDER BY pane", (number,))
            # The last pane of a watch that was altered is answered anew, by what the watch is now.
            later = [each for each, other in self.plans.items() if each > number and other.name == plan.name]
            anew = {
                pane
                for each in later
                for first, last in store.all("SELECT first, last FROM spans WHERE watch = ?", (each,))
                for pane in range(first, last + 1)
            }
            for first, last, state in store.all("SELECT first, last, state FROM spans WHERE watch = ?", (number,)):
                for pane in sorted({*range(first, last + 1)} - anew) if state in states else ():
                    self.judged += 1
                    rows = self._rows_at(plan, pane)
                    if isinstance(plan.goal, Frequent):
                        why = self._wrong_keys(plan.goal, rows, next((m for p, m in reversed(lists) if p <= pane), {}))
                    else:
                        why = self._wrong_value(plan, rows, next((v for p, v in reversed(changes) if p <= pane), None))
                    found += [f"{plan.text}: pane {pane}: {each}" for each in why]
        return found

    def _rows_at(self, plan: WatchPlan, pane: int) -> np.ndarray:
        window = plan.window
        until = (pane + 1) * int(window.every.duration_us or 1)
        begin = 0
        if window.kind == "time":
            begin = until - int(window.duration_us or 0)
        elif window.kind == "since":
            begin = (until - 1) // (60 * S) * 60 * S
        return np.flatnonzero((self.t >= begin) & (self.t < until))

    def _wrong_keys(self, goal: Frequent, rows: np.ndarray, said: dict[str, float]) -> list[str]:
        counts = Counter(json.dumps([self.columns["k"][row]]) for row in rows.tolist())
        low, high = goal.threshold - goal.margin, goal.threshold + goal.margin
        slop = goal.accuracy.epsilon * len(rows)
        inside = [f"{key} inside with {counts[key]}" for key in said if counts[key] < low - slop]
        return inside + [
            f"{key} outside with {count}" for key, count in counts.items() if key not in said and count > high + slop
        ]

    def _wrong_value(self, plan: WatchPlan, rows: np.ndarray, said: float | None) -> list[str]:
        goal = plan.goal
        if isinstance(goal, Quantile):
            values, off = np.array(self.columns["x"])[rows], goal.within + goal.accuracy.epsilon + 1e-9
            if not len(rows) or said is None:
                return [] if not len(rows) and said is None else [f"said {said} of {len(rows)} rows"]
            low, high = (values < said).mean(), (values <= said).mean()
            return [] if low - off <= goal.phi <= high + off else [f"said {said}, whose rank is {low} to {high}"]
        said = said or 0.0
        names = ("k", "j") if isinstance(goal, InnerProduct) else ("k", "k")
        one, other = (
            Counter(v for row in rows.tolist() if (v := self.columns[name][row]) is not None) for name in names
        )
        truth = float(sum(count * other[key] for key, count in one.items()))
        slop = goal.accuracy.epsilon * one.total() * other.total()
        return [] if abs(said - truth) <= goal.within * (truth + slop) + slop else [f"said {said}, is {truth}"]


HOURS = (
    "CREATE WATCH a AS SELECT SELF_JOIN_SIZE(k) AS f FROM d WINDOW LAST 1 HOUR TRACK f WITHIN 9 PERCENT",
    "CREATE WATCH b AS SELECT SELF_JOIN_SIZE(k) AS f FROM d WINDOW LAST 2 HOURS TRACK f WITHIN 5 PERCENT SKETCH EPSILON 0.02",  # noqa: E501
    "CREATE WATCH c AS SELECT k FROM d WINDOW LAST 1 DAY GROUP BY k HAVING COUNT(*) > 60 SKETCH EPSILON 0.05 DELTA 0.001",  # noqa: E501
)  # fmt: skip


@parametrize_in_tiers("order", list(permutations(range(3))), in_test=1)
def test_watches_on_a_column_have_one_sketch_of_the_strictest_accuracy_and_the_longest_window(order, tmp_path: Path):
    """Without EVERY: a step is a hundredth of the window."""
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    for each in order:
        live.ask(HOURS[each])
    for minute in range(0, 60 * 26, 20):
        live.rows(HOURS[0], [(60 * minute, "z"), (60 * minute + 1, f"k{minute % 7}")], 60 * minute + 1200)
    ((data,),) = [agent._book.data.values() for agent in live.agents.values()]
    assert data.keeper.pane_us == 36 * S
    (station,) = data._stations
    shape = data._stations[station].shape
    assert data._stations[station].window.length * data.keeper.pane_us == 86_400 * S
    plans = [parse_watch(each) for each in HOURS]
    assert shape.epsilon_cells <= min(shape_of(plan.goal).epsilon_cells for plan in plans)
    assert shape.depth == max(shape_of(plan.goal).depth for plan in plans)
    for name, value in (("a", 12.0), ("b", 50.0)):
        watch = live.coordinator.find(name)
        assert watch.shown_state == "valid"
        assert watch.said[""].value == pytest.approx(value, rel=0.25)
    assert set(live.coordinator.find("c").said[""]) == {'["z"]'}


OFTEN = "CREATE WATCH {} AS SELECT k FROM d WINDOW LAST 2 MINUTES EVERY {} SECONDS GROUP BY k HAVING COUNT(*) > 12 SKETCH EPSILON 0.05"  # noqa: E501


@pytest.mark.parametrize("kill", [(65,), (65, 80), (85, 110), (114,)])
def test_a_site_that_is_killed_within_a_long_pane_knows_what_came_in_it_and_the_pane_before(kill, tmp_path: Path):
    """A key that had its rows in one second, long before the pane ends; and the last pane can be asked for."""
    live = Told(tmp_path, ("s0", "s1"), "d", {"k": "string"})
    short, long = OFTEN.format("short", 5), OFTEN.format("long", 60)
    for sentence in (short, long):
        live.ask(sentence)
    for second in range(0, 130, 5):
        rows = [(second, "z")] + [(second, "heavy")] * (20 if second == 60 else 0)
        live.rows(short, rows, second + 5)
        if any(second < each <= second + 5 for each in kill):
            live.crash_site("s0")
            live.crash_site("s1")
            assert data_of(live).array(2, 0) is not None
    data = data_of(live)
    assert [data.view(each).each for each in (1, 2)] == [1, 12]
    assert set(live.coordinator.find("long").said[""]) == {'["heavy"]', '["z"]'}
    assert {pane for (pane,) in live.store.all("SELECT last FROM spans WHERE watch = 2")} == {1}


def test_an_altered_watch_has_the_last_array_of_its_long_pane(tmp_path: Path):
    live = Told(tmp_path, ("s0",), "d", {"k": "string"})
    for sentence in (OFTEN.format("short", 5), OFTEN.format("long", 60)):
        live.ask(sentence)
    for second in range(0, 90, 5):
        live.rows(OFTEN.format("short", 5), [(second, "z")], second + 5)
    live.ask("ALTER WATCH long SET THRESHOLD 9")
    live.settle(3)
    number = max(live.coordinator.watches)
    assert data_of(live).array(number, 0) is not None
    live.rows(OFTEN.format("short", 5), [(90, "z")], 95)
    live.crash_site("s0")
    assert data_of(live).array(number, 0) is not None
    for second in range(95, 130, 5):
        live.rows(OFTEN.format("short", 5), [(second, "z")], second + 5)
    assert set(live.coordinator.watches[number].said[""]) == {'["z"]'}


def test_digests_are_shared_where_one_has_all_that_another_needs(tmp_path: Path):
    """Of shorter panes they would be larger together than apart."""
    text = "CREATE WATCH {} AS SELECT QUANTILE(x, 0.5) AS q FROM d WINDOW LAST {} TRACK q WITHIN 5 PERCENT"
    live = Live(tmp_path, ("s0",), "d", {"x": "bigint"})
    for name, window in (("a", "60 SECONDS EVERY 1 SECOND"), ("b", "30 SECONDS EVERY 5 SECONDS"),
                         ("c", "1 HOUR EVERY 60 SECONDS"), ("d", "1 HOUR EVERY 60 SECONDS")):  # fmt: skip
        live.ask(text.format(name, window))
    live.settle(3)
    read = [
        {number: view.each for number, view in each._views.items()} for each in live.agents["s0"]._book.data.values()
    ]
    assert read == [{1: 1, 2: 5}, {3: 1, 4: 1}]


@pytest.mark.parametrize("every", [1, 5])
def test_where_there_is_history_another_step_has_a_sketch_of_its_own_that_is_full_at_once(every: int, tmp_path: Path):
    """With the same step it fills up with the rows to come."""
    live = Joined(tmp_path)
    live.ask(SHORT)
    live.feed(range(101, 111))
    live.ask(SQUARES.format("b", f"WINDOW LAST 40 SECONDS EVERY {every} SECONDS", 0.05))
    live.feed(range(111, 122))
    assert live.states(2) == ({"filling"} if every == 1 else {"valid"})
    assert len(live.agents["s0"]._book.data) == (1 if every == 1 else 2)


@parametrize_in_tiers("seed", range(3), in_test=1)
def test_what_comes_first_is_read_from_one_sketch(seed: int, tmp_path: Path) -> None:
    """Watches on a column that are there before its rows: one sketch, though they came in any order."""
    story = Story(seed, tmp_path, crashes=False, later=False, goals=GOALS[:3])
    assert story.wrong(("valid", "filling")) == []
    assert story.judged
    assert [len(each._stations) for each in story.data()] == [1]


@parametrize_in_tiers("seed", [0, 1, 2, 3, 5, 6], in_test=2)
def test_whatever_happens_what_is_called_valid_is_right(seed: int, tmp_path: Path) -> None:
    story = Story(100 + seed, tmp_path)
    assert story.wrong() == []
    assert story.judged


@pytest.mark.middle
@pytest.mark.parametrize("seed", [5, 8])
def test_watches_that_come_at_any_time_of_a_recording_begin(seed: int, tmp_path: Path) -> None:
    """Sites are at different times of it when they hear of a watch, and within panes of it."""
    story = Story(5_000 + seed, tmp_path, seconds=3_000)
    assert story.wrong() == []
    assert story.judged


@pytest.mark.long
@pytest.mark.parametrize("first", range(10_000, 12_000, 100))
def test_many_stories(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + 100):
        (tmp_path / str(seed)).mkdir()
        assert Story(seed, tmp_path / str(seed), seconds=400 if seed % 4 else 3_000).wrong() == [], seed
