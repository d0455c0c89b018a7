"""One sketch for all watches on a key; watches on sketches that are altered, paused, explained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.language.recorded import live_plan
from tacit.runtime.sketch_data import SketchData
from tacit.runtime.watch_data import data_key
from tacit.vocabulary import SentenceError
from tests.runtime.live import Live, batches_of, label
from tests.runtime.recordings import recorded
from tests.runtime.test_live_sketch import Batch

SITES = ("s0", "s1")
COLUMNS = {"k": "string", "x": "bigint", "y": "bigint"}
LOOSE = "CREATE WATCH loose AS SELECT SELF_JOIN_SIZE(k) AS f FROM d WINDOW LAST 60 SECONDS EVERY 5 SECONDS TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.3 DELTA 0.3"  # noqa: E501
STRICT = "CREATE WATCH strict AS SELECT SELF_JOIN_SIZE(k) AS f FROM d WINDOW LAST 90 SECONDS EVERY 5 SECONDS TRACK f WITHIN 10 PERCENT SKETCH EPSILON 0.1 DELTA 0.05"  # noqa: E501
OFTEN = "CREATE WATCH often AS SELECT k, COUNT(*) AS n FROM d WINDOW LAST 60 SECONDS EVERY 5 SECONDS GROUP BY k HAVING COUNT(*) > 20 MARGIN 3 SKETCH EPSILON 0.1 DELTA 0.1"  # noqa: E501


class Site:
    """A live pair of sites that are fed the same kind of rows for as long as one likes."""

    def __init__(self, folder: Path, *sentences: str) -> None:
        rng = np.random.default_rng(5)
        n = 4_000
        self.t = np.sort(rng.integers(0, 1_000, n)).astype(np.int64) * 1_000_000
        columns = {
            "k": [f"k{each}" if each != 2 else None for each in rng.zipf(1.6, n) % 11],
            "x": [1] * n,
            "y": [1] * n,
        }
        owners = rng.integers(0, 2, n).astype(np.int32)
        plan = parse_watch(sentences[0])
        self.rows = recorded(live_plan(plan), self.t, owners, columns, SITES)
        self.grouping = live_plan(plan).grouping
        self.live = Live(folder, SITES, "d", COLUMNS)
        for sentence in sentences:
            self.live.ask(sentence)
        self.fed = 0

    def feed(self, until_s: int) -> None:
        """Rows until this second, in batches of a few, and what follows from them."""
        queues = []
        for site, name in enumerate(SITES):
            mine = np.flatnonzero(self.rows.site == site)
            part = mine[(self.t[mine] >= self.fed * 1_000_000) & (self.t[mine] < until_s * 1_000_000)]
            some = batches_of(self.rows, site, [], until_s * 1_000_000)
            for batch in some[:1]:
                batch._at, batch.rows = part, len(part)
                batch.max_time = until_s * 1_000_000
                queues.append((name, Batch({self.grouping: batch})))
        self.fed = until_s
        for name, batch in queues:
            self.live.batch(name, batch)
            self.live.pump(0.01)
        self.live.settle(10)

    def watch(self, name: str):
        return self.live.coordinator.find(name)

    def data(self, name: str) -> SketchData:
        agent = self.live.agents["s0"]
        return next(each.data for each in agent.watches.values() if each.plan.name == name)

    def truth(self, at_s: int, window_s: int) -> np.ndarray:
        inside = (self.t < at_s * 1_000_000) & (self.t >= (at_s - window_s) * 1_000_000)
        return np.bincount(self.rows.group[inside], minlength=11)

    def truth_of_values(self, at_s: int, window_s: int) -> np.ndarray:
        """Without the rows that have no value."""
        return np.delete(self.truth(at_s, window_s), self.rows.keys.index("[null]"))


def test_watches_on_the_same_key_share_what_they_count():
    loose, strict, often = (parse_watch(each) for each in (LOOSE, STRICT, OFTEN))
    assert data_key(loose) == data_key(strict) == data_key(often)
    other = parse_watch(LOOSE.replace("EVERY 5", "EVERY 6"))
    assert data_key(other) != data_key(loose)


def test_the_strictest_serves_all(tmp_path: Path) -> None:
    site = Site(tmp_path, STRICT, LOOSE)
    site.feed(400)
    data = site.data("loose")
    assert data is site.data("strict")
    assert len(data._stations) == 1
    for name, window, within, epsilon in (("loose", 60, 0.2, 0.3), ("strict", 90, 0.1, 0.1)):
        watch = site.watch(name)
        assert watch.shown_state == "valid"
        counts = site.truth_of_values((watch.answered.pane + 1) * 5, window)
        truth, slop = float((counts**2).sum()), epsilon * float(counts.sum()) ** 2
        assert abs(watch.said[""].value - truth) <= within * (truth + slop) + slop


def test_rows_without_a_value_count_for_those_who_count_them(tmp_path: Path) -> None:
    """One sketch for frequent keys, which list NULL, and for a self-join, which leaves it out; after a crash, too."""
    exact = "SKETCH EPSILON 0.01 DELTA 0.01"
    often = OFTEN.split("SKETCH")[0].replace("> 20 MARGIN 3", "> 8 MARGIN 1") + exact
    joined = STRICT.split("SKETCH")[0].replace("LAST 90", "LAST 60").replace("10 PERCENT", "2 PERCENT") + exact
    site = Site(tmp_path, joined, often)
    for until, crash in ((300, False), (400, True), (500, False)):
        site.feed(until)
        if crash:
            site.live.crash_site("s0")
            site.live.link("s0")
            continue
        data = site.data("often")
        assert data is site.data("strict")
        assert len(data._stations) == 1
        watch = site.watch("often")
        assert watch.shown_state == "valid"
        counts = dict(zip(site.rows.keys, site.truth((watch.answered.pane + 1) * 5, 60).tolist(), strict=True))
        rows = sum(counts.values())
        inside = watch.said[""]
        assert counts["[null]"] > 9 + 0.01 * rows
        for key, count in counts.items():
            assert key in inside if count > 9 + 0.01 * rows else key not in inside or count >= 7 - 0.01 * rows
        watch = site.watch("strict")
        values = site.truth_of_values((watch.answered.pane + 1) * 5, 60)
        truth, slop = float((values**2).sum()), 0.01 * float(values.sum()) ** 2
        allowed = 0.02 * (truth + slop) + slop
        assert abs(watch.said[""].value - truth) <= allowed
        assert counts["[null]"] ** 2 > allowed  # which would be seen


def test_a_stricter_watch_that_comes_later_fills_a_sketch_that_all_read_when_it_is_full(tmp_path: Path) -> None:
    site = Site(tmp_path, LOOSE)
    site.feed(300)
    assert site.watch("loose").shown_state == "valid"
    site.live.ask(STRICT)
    site.feed(340)
    assert len(site.data("strict")._stations) == 2
    assert site.watch("strict").shown_state == "filling"
    site.feed(500)
    assert site.watch("strict").shown_state == "valid"
    site.feed(505)
    data = site.data("loose")
    assert data is site.data("strict")
    assert len(data._stations) == 1  # now that it has the rows of both windows
    assert site.live.store.all("SELECT state FROM spans WHERE watch = 1") == [("filling",), ("valid",)]
    site.live.ask("DROP WATCH loose")
    site.feed(540)
    assert len(site.data("strict")._stations) == 1


def test_frequent_keys_are_altered(tmp_path: Path) -> None:
    site = Site(tmp_path, OFTEN)
    site.feed(300)

    def right(threshold: float) -> None:
        watch = site.watch("often")
        counts = site.truth((watch.answered.pane + 1) * 5, 60)
        slop = 3 + 0.1 * counts.sum()
        for number, key in enumerate(site.rows.keys):
            if key in watch.said.get("", {}):
                assert counts[number] >= threshold - slop
            else:
                assert counts[number] <= threshold + slop

    right(20)
    site.live.ask("ALTER WATCH often SET THRESHOLD 60")
    site.feed(330)
    right(60)
    site.live.ask("ALTER WATCH often SET THRESHOLD 4")
    site.feed(360)
    assert site.watch("often").shown_state == "filling"  # of keys with few rows no names were kept
    site.feed(500)
    assert site.watch("often").shown_state == "valid"
    right(4)
    site.live.ask("PAUSE WATCH often")
    site.feed(520)
    site.live.ask("RESUME WATCH often")
    site.feed(600)
    right(4)


def test_it_is_explained_and_shown(tmp_path: Path) -> None:
    site = Site(tmp_path, OFTEN, STRICT)
    site.feed(200)
    (text,) = site.live.ask("EXPLAIN WATCH often")
    assert "lists now" in text["text"]
    (text,) = site.live.ask("EXPLAIN WATCH strict")
    assert "everyone was asked" in text["text"]
    (shown,) = site.live.ask("SHOW WATCH often")
    assert "k1" in {label(row["object"]) for row in shown["watch"]["answer"]}
    (shown,) = site.live.ask("SHOW WATCH strict")
    assert shown["watch"]["answer"][0]["value"] > 0


def test_live_windows_of_rows_and_of_odd_panes_are_refused(tmp_path: Path) -> None:
    site = Site(tmp_path, OFTEN)
    with pytest.raises(SentenceError, match="whole panes"):
        site.live.ask(OFTEN.replace("often", "odd").replace("EVERY 5 SECONDS", "EVERY 7 SECONDS"))
    with pytest.raises(SentenceError, match="windows are of time"):
        site.live.ask(OFTEN.replace("often", "rows").replace("LAST 60 SECONDS EVERY 5 SECONDS", "LAST 100 ROWS"))
