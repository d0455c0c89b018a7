"""Rows that a watch cannot be computed of are the problem of that watch at that site, and of nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.vocabulary import DataError, InputError, MachineError
from tests.runtime.light import COLUMNS, rows
from tests.runtime.live import Live, RecordedBatch

SITES = ("north", "south")
FINE = "CREATE WATCH fine AS SELECT SUM(x) AS s FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
BAD = FINE.replace("WATCH fine", "WATCH bad").replace("10 SECONDS", "8 SECONDS")
ROWS = FINE.replace("WATCH fine", "WATCH bad").replace("10 SECONDS", "8 ROWS")


class Dividing(RecordedBatch):
    """Rows of which the watch ``bad`` cannot be computed."""

    def __init__(self, batch: RecordedBatch, where: str = "pane_outcomes") -> None:
        super().__init__(batch._recording, batch._at, batch.max_time)
        self._where = where

    def _check(self, plan, where: str) -> None:
        if plan.name == "bad" and where == self._where:
            raise DataError("a row divides by zero")

    def pane_outcomes(self, wanted):
        found: list = super().pane_outcomes(wanted)
        for place, (plan, _, _) in enumerate(wanted):
            try:
                self._check(plan, "pane_outcomes")
            except InputError as error:
                found[place] = error
        return found

    def row_block(self, plan, centres):
        self._check(plan, "row_block")
        return super().row_block(plan, centres)

    def sample(self, plan, centres, lo_us, hi_us, count):
        self._check(plan, "sample")
        return super().sample(plan, centres, lo_us, hi_us, count)


@pytest.fixture
def live(tmp_path: Path) -> Live:
    return Live(tmp_path, SITES, "d", COLUMNS)


def feed(live: Live, seconds: range) -> None:
    for name in SITES:
        live.batch(name, rows(FINE, seconds, 5))
    live.settle(12)


def shown(live: Live, name: str) -> dict:
    return live.ask(f"SHOW WATCH {name}")[0]["watch"]


@pytest.mark.parametrize(("sentence", "where"), [(BAD, "pane_outcomes"), (ROWS, "row_block")])
def test_a_bad_row_stops_one_watch_at_one_site(live: Live, sentence: str, where: str) -> None:
    live.ask(FINE)
    live.ask(sentence)
    feed(live, range(100, 130))
    live.batch("north", rows(FINE, range(130, 140), 5))
    live.batch("south", Dividing(rows(FINE, range(130, 140), 5), where))
    live.settle(12)
    feed(live, range(140, 150))
    live.settle(20)
    assert (shown(live, "fine")["state"], shown(live, "fine")["problems"]) == ("valid", {})
    assert shown(live, "fine")["pane"] == 148
    bad = shown(live, "bad")
    assert (bad["state"], bad["problems"]) == ("stale", {"south": "a row divides by zero"})
    assert [each["site"] for each in bad["stale"]] == ["south"]
    live.crash_coordinator()
    live.settle(2)
    assert shown(live, "bad")["problems"] == {"south": "a row divides by zero"}
    # After a new start the site keeps it again, from then on.
    live.crash_site("south")
    feed(live, range(150, 152))
    feed(live, range(152, 154))
    assert (shown(live, "bad")["state"], shown(live, "bad")["problems"]) == ("filling", {})
    feed(live, range(154, 180))
    assert (shown(live, "bad")["state"], shown(live, "bad")["answer"][0]["value"]) == ("valid", pytest.approx(80))


def test_a_bad_row_in_a_site_s_first_pane(live: Live) -> None:
    live.ask(FINE)
    live.ask(BAD)
    live.batch("north", rows(FINE, range(100, 130), 5))
    live.batch("south", Dividing(rows(FINE, range(100, 130), 5), "sample"))
    live.settle(12)
    assert shown(live, "fine")["state"] == "valid"
    bad = shown(live, "bad")
    assert (bad["sites"], bad["problems"]) == (["north"], {"south": "a row divides by zero"})


def test_a_batch_that_cannot_be_read_is_nobody_s_problem(live: Live) -> None:
    live.ask(FINE)
    feed(live, range(100, 130))

    class Damaged(RecordedBatch):
        def pane_outcomes(self, wanted):
            return [DataError("a file is damaged") for _ in wanted]

        @property
        def rows(self) -> int:
            raise DataError("a file is damaged")

        @rows.setter
        def rows(self, value: int) -> None: ...

    batch = rows(FINE, range(130, 140), 5)
    with pytest.raises(DataError, match="a file is damaged"):
        live.batch("south", Damaged(batch._recording, batch._at))
    assert live.agents["south"].problems == {}


def test_history_that_cannot_be_read_is_the_problem_of_that_watch(live: Live) -> None:
    def history(lo_us: int, hi_us: int, through: int | None) -> RecordedBatch:
        raise DataError("the history is damaged")

    live.ask(FINE)
    feed(live, range(100, 130))
    live.agents["south"].tables["d"].history = history
    live.ask(BAD)
    feed(live, range(130, 140))
    assert shown(live, "bad")["problems"] == {"south": "the history is damaged"}
    assert shown(live, "fine")["state"] == "valid"


def test_what_the_machine_cannot_do_is_raised(live: Live) -> None:
    def history(lo_us: int, hi_us: int, through: int | None) -> RecordedBatch:
        raise MachineError("Spark's Java process has ended")

    live.ask(FINE)
    feed(live, range(100, 130))
    live.agents["south"].tables["d"].history = history
    live.ask(BAD)
    with pytest.raises(MachineError):
        live.batch("south", rows(FINE, range(130, 140), 5))
    assert live.agents["south"].problems == {}


def test_sums_that_overflow_are_the_problem_of_one_watch_at_one_site(live: Live) -> None:
    live.ask(FINE)
    live.ask(BAD)
    feed(live, range(100, 120))
    for first in range(120, 150, 10):
        seconds = range(first, first + 10)
        live.batch("north", rows(FINE, seconds, 5))
        live.batch("south", Split(rows(BAD, seconds, 1.7e308), rows(FINE, seconds, 5)))
        live.settle(12)
    assert (shown(live, "fine")["state"], shown(live, "fine")["problems"]) == ("valid", {})
    bad = shown(live, "bad")
    assert (bad["state"], [each["site"] for each in bad["stale"]]) == ("stale", ["south"])
    assert bad["problems"] == {
        "south": "watch bad, table d, the pane that ends at 1970-01-01T00:02:01Z: sum(x) over the window is beyond"
        " 1e+150, too large to be computed with; divide the values by a power of ten, or leave such rows out with WHERE"
    }
    live.crash_coordinator()  # whoever asks anew hears the same
    live.settle(4)
    assert shown(live, "bad")["problems"] == bad["problems"]


class Split(RecordedBatch):
    """Rows as the watch ``bad`` sees them, and as others do."""

    def __init__(self, bad: RecordedBatch, others: RecordedBatch) -> None:
        super().__init__(bad._recording, bad._at, bad.max_time)
        self._others = others

    def draw_centres(self, plan):
        return super().draw_centres(plan) if plan.name == "bad" else self._others.draw_centres(plan)

    def pane_outcomes(self, wanted):
        return [
            (
                RecordedBatch.pane_outcomes(self, [each])
                if each[0].name == "bad"
                else self._others.pane_outcomes([each])
            )[0]
            for each in wanted
        ]

    def sample(self, plan, centres, lo_us, hi_us, count):
        if plan.name != "bad":
            return self._others.sample(plan, centres, lo_us, hi_us, count)
        return super().sample(plan, centres, lo_us, hi_us, count)


def test_a_message_that_no_stream_takes_is_the_problem_of_its_watch(live: Live) -> None:
    by_k = (
        "CREATE WATCH bad AS SELECT k, AVG(x) AS m FROM d WINDOW LAST 8 SECONDS EVERY 1 SECOND GROUP BY k"
        " TRACK m WITHIN 0.5"
    )
    keys = [f"k{number:03d}" for number in range(500)]
    live.message_bytes = 6_000  # 500 groups take more than 8,000, their names 3,000
    live.crash_site("south")
    live.ask(by_k)
    for first in range(100, 130, 10):
        for name in SITES:
            live.batch(name, rows(by_k, range(first, first + 10), 5, keys))
        live.settle(12)
    bad = shown(live, "bad")
    assert (bad["state"], list(bad["problems"])) == ("stale", ["south"])
    assert "is larger than a stream takes (6,000 bytes); group by something coarser" in bad["problems"]["south"]
    live.ask("DROP WATCH bad")
    live.ask(FINE)  # the site is there and well
    for first in range(130, 150, 10):
        feed(live, range(first, first + 10))
    assert (shown(live, "fine")["state"], shown(live, "fine")["problems"]) == ("valid", {})
