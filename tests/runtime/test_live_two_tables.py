"""Inner products of two tables, live: what is said is what ``replay --step pane`` says of both recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.language.recorded import live_plan, recorded_plans, side_plans
from tacit.recording.sides import join_sides
from tacit.recording.sketch_replay import replay_sketch
from tacit.recording.stream import Recording
from tests.runtime.live import Live, RecordedBatch, batches_of
from tests.runtime.recordings import recorded
from tests.runtime.stories import BatchFaults, play_by_batch, settle_until
from tests.tiers import parametrize_in_tiers

SITES = ("s0", "s1", "s2")
PRODUCT = "CREATE WATCH w AS SELECT INNER_PRODUCT(a.k, b.k) AS p FROM a, b {} TRACK p WITHIN 25 PERCENT SKETCH EPSILON 0.05 DELTA 0.01"  # noqa: E501
WINDOWS = (
    "WINDOW LAST 60 SECONDS EVERY 5 SECONDS", "WINDOW SINCE START OF MINUTE EVERY 5 SECONDS", "", "WHERE b.y > 2",
)  # fmt: skip
SECOND = 1_000_000


class Tables:
    """Random rows of tables a and b, each with its own times, at sites that have both or one of them."""

    def __init__(self, seed: int, *, b_from: int = 0, b_until: int = 400, seconds: int = 400) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.sentence = PRODUCT.format(WINDOWS[seed % len(WINDOWS)])
        self.plan = parse_watch(self.sentence)
        self.tables = dict.fromkeys(SITES, ("a", "b"))
        if seed % 2:
            self.tables["s1"] = ("a",)
            self.tables["s2"] = ("b",) if seed % 3 else ("a", "b")
        self.live_rows: dict[str, Recording] = {}
        told = []
        sides = zip(side_plans(self.plan), recorded_plans(self.plan), strict=True)
        for table, (side, record) in zip(("a", "b"), sides, strict=True):
            assert side.table == record.table == table
            begin, end = (0, seconds) if table == "a" else (b_from, b_until)
            n = int(rng.integers(40, 800))
            t = np.sort(rng.integers(begin, end, n)).astype(np.int64) * SECOND
            columns = {
                "k": [f"k{each}" if each else None for each in (rng.zipf(1.6, n) + np.arange(n) // 300) % 13],
                "y": rng.integers(1, 9, n).tolist(),
            }
            have = [at for at, name in enumerate(SITES) if table in self.tables[name]]
            owners = np.array(have)[rng.integers(0, len(have), n)].astype(np.int32)
            self.live_rows[table] = recorded(live_plan(side), t, owners, columns, SITES)
            told.append(recorded(record, t, owners, columns, SITES))
        self.recording = join_sides(*told)
        pane = int(self.plan.window.every.duration_us or 1)
        self.end = (max(int(each.t[-1]) for each in self.live_rows.values()) // pane + 1) * pane

    def queue(self, name: str, table: str) -> list[RecordedBatch]:
        cuts = np.sort(self.rng.integers(0, 300, int(self.rng.integers(8)))).tolist()
        return batches_of(self.live_rows[table], SITES.index(name), cuts, self.end)


class Story:
    """Both tables live, in batches of any size and order."""

    def __init__(
        self, rows: Tables, folder: Path, *, crashes: bool = False, delays_us: dict | None = None, idle: str = ""
    ) -> None:  # fmt: skip
        self.rows = rows
        rng = rows.rng
        self.live = live = Live(
            folder, SITES, "a", {"k": "string", "y": "bigint"}, tables=rows.tables, delays_us=delays_us
        )
        live.ask(rows.sentence)
        self.pane = pane = live.coordinator.watches[1].pane_us
        queues = {(name, table): rows.queue(name, table) for name, tables in rows.tables.items() for table in tables}
        for (_, table), queue in queues.items():
            if table == idle:
                queue.pop()  # nobody says how far its time has come
            elif delays_us:
                queue[-1].max_time += delays_us.get(table, 0)
        play_by_batch(live, queues, rng, BatchFaults(crash=0.15 if crashes else 0.0, of_coordinator=0.4, cut=0.2))
        assert settle_until(live, rows.end // pane - 1, rounds=60, idle=(idle,) if idle else ())

    def says_what_a_replay_says(self) -> None:
        replayed = replay_sketch(self.rows.plan, self.rows.recording, step="pane", verify=True).report
        assert (replayed.missed, replayed.spurious) == (0, 0)
        assert [(a["at"], a["value"]) for a in self.live.alerts] == [(a.at, a.value) for a in replayed.alerts]

    def wrong(self) -> list[str]:
        """Every pane at which what was stored as valid is beyond its promise and what sketches err by."""
        plan, recording, store, found = self.rows.plan, self.rows.recording, self.live.store, []
        spans = store.all("SELECT first, last, state FROM spans ORDER BY first")
        assert any(state in ("valid", "filling") for _, _, state in spans)
        changes = store.all("SELECT pane, value FROM changes ORDER BY pane")
        for first, last, state in spans:
            for pane in range(first, last + 1) if state in ("valid", "filling") else ():
                until, begin = (pane + 1) * self.pane, 0
                if plan.window.kind == "time":
                    begin = until - int(plan.window.duration_us or 0)
                elif plan.window.kind == "since":
                    begin = (until - 1) // (60 * SECOND) * 60 * SECOND
                inside, second = (recording.t >= begin) & (recording.t < until), recording.present[:, 0] > 0.5
                one, two = (np.bincount(recording.group[inside & side], minlength=64) for side in (~second, second))
                truth, slop = float((one * two).sum()), plan.goal.accuracy.epsilon * float(one.sum()) * float(two.sum())
                said = float(next((value for at, value in reversed(changes) if at <= pane), 0.0))
                if abs(said - truth) > plan.goal.within * (truth + slop) + slop:
                    found.append(f"pane {pane}: said {said}, is {truth}")
        return found


@parametrize_in_tiers("seed", range(8), in_test=2)
def test_live_is_replay(seed: int, tmp_path: Path) -> None:
    story = Story(Tables(seed), tmp_path)
    story.says_what_a_replay_says()
    assert story.wrong() == []


@parametrize_in_tiers("seed", range(20, 24), in_test=1)
def test_tables_whose_times_hardly_overlap(seed: int, tmp_path: Path) -> None:
    story = Story(Tables(seed, b_from=370, b_until=700), tmp_path)
    story.says_what_a_replay_says()
    assert story.wrong() == []


@parametrize_in_tiers("seed", range(30, 34), in_test=1)
def test_tables_whose_rows_may_be_late_by_more_and_less(seed: int, tmp_path: Path) -> None:
    story = Story(Tables(seed), tmp_path, delays_us={"b": 90 * SECOND, "a": 10 * SECOND})
    story.says_what_a_replay_says()


@parametrize_in_tiers("seed", range(40, 44), in_test=1)
def test_a_table_that_is_idle(seed: int, tmp_path: Path) -> None:
    """It goes by the other one."""
    story = Story(Tables(seed, b_until=100), tmp_path, idle="b")
    story.says_what_a_replay_says()
    assert story.wrong() == []


@parametrize_in_tiers("seed", range(100, 112), in_test=2)
def test_after_crashes_every_answer_is_right(seed: int, tmp_path: Path) -> None:
    story = Story(Tables(seed), tmp_path, crashes=True)
    assert story.wrong() == []
    ids = [alert["id"] for alert in story.live.alerts]
    assert len(ids) == len(set(ids))


def batch_of(table: str, rows: list[tuple[int, str]], until: int) -> RecordedBatch:
    sides = side_plans(parse_watch(PRODUCT.format("WINDOW LAST 100 SECONDS EVERY 1 SECOND")))
    plan = live_plan(next(side for side in sides if side.table == table))
    t = np.array([second * SECOND for second, _ in rows], dtype=np.int64)
    columns = {"k": [key for _, key in rows], "y": [5] * len(rows)}
    recording = recorded(plan, t, np.zeros(len(rows), dtype=np.int32), columns, ("s",))
    return RecordedBatch(recording, np.arange(len(rows)), until * SECOND)


@pytest.mark.parametrize("clock", ["wall", "event"])
def test_a_table_that_never_has_a_row(clock: str, tmp_path: Path) -> None:
    live = Live(tmp_path, (), "a", {"k": "string", "y": "bigint"})
    live.names, live.clock = ("s0", "s1"), clock
    live.tables, live.batches = {"s0": ("a", "b"), "s1": ("a", "b")}, {"s0": 0, "s1": 0}
    for name in live.names:
        live.start_site(name)
    live.ask(PRODUCT.format("WINDOW LAST 100 SECONDS EVERY 1 SECOND"))
    for second in range(0, 300, 20):
        live.wall_us = (second + 20) * SECOND
        for name in live.names:
            live.batch(name, batch_of("a", [(second, "k"), (second + 7, "l")], second + 20))
        live.settle(3, idle=("b",))
    live.settle(10, idle=("b",))
    watch = live.coordinator.watches[1]
    assert watch.settlement is not None
    assert watch.settlement.settled == 299
    # On an event clock rows of any time may still come, so what is said without them is not called valid.
    assert (watch.shown_state, watch.said[""].value) == ("valid" if clock == "wall" else "stale", 0.0)


@pytest.mark.middle
def test_a_table_that_is_always_far_behind_the_other(tmp_path: Path) -> None:
    """By more panes than a site has arrays of."""
    late = 3_000
    live = Live(tmp_path, (), "a", {"k": "string", "y": "bigint"}, delays_us={"b": late * SECOND})
    live.names, live.clock = ("s0",), "wall"
    live.tables, live.batches = {"s0": ("a", "b")}, {"s0": 0}
    live.start_site("s0")
    live.ask(PRODUCT.format("WINDOW LAST 100 SECONDS EVERY 1 SECOND"))
    for second in range(10_000, 20_000, 500):
        live.wall_us = (second + 500) * SECOND
        rows = [(each, "k") for each in range(second, second + 500, 10)]
        for table in ("a", "b"):
            live.batch("s0", batch_of(table, rows, second + 500), table)
            live.pump(0.01)
        live.settle(3)
    watch = live.coordinator.watches[1]
    assert watch.settlement is not None
    assert watch.settlement.settled >= 20_000 - late - 10
    assert watch.said[""].value == pytest.approx(100.0, rel=0.3)


@pytest.mark.parametrize("clock", ["wall", "event"])
def test_a_watch_begins_when_there_is_a_site_for_each_table(clock: str, tmp_path: Path) -> None:
    """Nobody has table b, and nothing is said; then a site comes that has it."""
    live = Live(tmp_path, (), "a", {"k": "string", "y": "bigint"})
    live.names, live.clock = ("s0",), clock
    live.tables, live.batches = {"s0": ("a",), "s1": ("b",)}, {"s0": 0, "s1": 0}
    live.start_site("s0")
    live.ask(PRODUCT.format("WINDOW LAST 100 SECONDS EVERY 1 SECOND"))
    for second in range(0, 1_000, 20):
        live.wall_us = (second + 20) * SECOND
        live.batch("s0", batch_of("a", [(second, "k")], second + 20), "a")
        live.settle(3)
        if second == 300:
            (shown,) = live.ask("SHOW WATCH w")
            assert (shown["watch"]["state"], shown["watch"]["answer"]) == ("filling", [])
            assert shown["watch"]["problems"] == {"coordinator": "no site has a table named b yet"}
            live.names = ("s0", "s1")
            live.start_site("s1")
        elif second > 300:
            live.batch("s1", batch_of("b", [(second, "k")], second + 20), "b")
            live.settle(3)
    (shown,) = live.ask("SHOW WATCH w")
    assert shown["watch"]["problems"] == {}
    assert shown["watch"]["state"] == "valid"
    assert shown["watch"]["answer"][0]["value"] == pytest.approx(25.0, rel=0.3)
