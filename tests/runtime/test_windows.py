"""A keeper of windows against the plain definition, with late rows, restarts and settled panes in any order."""

from __future__ import annotations

import random
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language.plan import Every, Window
from tacit.runtime import window_keeper as module
from tacit.runtime.windows import Change, WindowKeeper, restore_keeper, window_keeper
from tacit.vocabulary.batches import PaneDeltas
from tacit.vocabulary.errors import ProtocolError, SentenceError
from tests.runtime.window_twin import Row, Twin, pane_deltas, row_block

SECOND = 1_000_000
DAY = 86_400 * SECOND
D = 2


def _us(text: str) -> int:
    return int(np.datetime64(text, "us").astype(np.int64))


@dataclass(frozen=True)
class Case:
    """A window, and the times at which things happen: origin + k ticks."""

    window: Window
    tick_us: int
    origin_us: int


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from(["time", "time", "since", "since", "all", "rows", "rows by rows", "all by rows"]))
    origin = draw(st.sampled_from([0, -40 * SECOND, _us("2013-02-20")]))
    tick = SECOND // 2
    every = Every(duration_us=draw(st.integers(1, 7)) * tick)
    if kind == "time":
        length = draw(st.integers(every.duration_us // tick, 40)) * tick
        return Case(Window("time", every, duration_us=length), tick, origin)
    if kind == "since":
        unit, step, tick, origin = draw(
            st.sampled_from(
                [
                    ("minute", 7 * SECOND, 3 * SECOND, 30 * SECOND),
                    ("minute", 60 * SECOND, 20 * SECOND, 0),
                    ("minute", 45 * SECOND, 11 * SECOND, -100 * SECOND),
                    ("hour", 420 * SECOND, 100 * SECOND, _us("2013-02-20")),
                    ("day", DAY // 48, DAY // 96, _us("2013-02-20")),
                    ("day", DAY // 24 * 7, DAY // 12, _us("2013-02-20")),
                    ("week", 2 * DAY, DAY // 2, _us("2013-02-20")),
                    ("month", 31 * DAY, 5 * DAY, _us("2012-12-20")),
                    ("month", DAY, DAY // 3, _us("2013-02-20")),
                    ("year", 50 * DAY, 21 * DAY, _us("2011-02-20")),
                ]
            )
        )
        return Case(Window("since", Every(duration_us=step), unit=unit), tick, origin)
    rows = draw(st.integers(1, 12))
    if kind == "all":
        return Case(Window("all", every), tick, origin)
    if kind == "rows":
        return Case(Window("rows", every, rows=rows), tick, origin)
    if kind == "rows by rows":
        return Case(Window("rows", Every(rows=draw(st.integers(1, rows))), rows=rows), tick, origin)
    return Case(Window("all", Every(rows=draw(st.integers(1, 5)))), tick, origin)


class Lab:
    """A keeper and its twin, told the same things."""

    def __init__(self, case: Case, whole: bool, dice: random.Random) -> None:
        self.case, self.whole, self.dice = case, whole, dice
        self.alphabet = dice.choice(["a", "abcü"])
        self.twin = Twin(case.window)
        self.keeper: WindowKeeper = window_keeper(case.window, D)
        self.disk: dict[str, bytes] = {}
        self.settled: int | None = None
        self.begin: int | None = None
        self.now = 10

    def deltas(self, rows: list[Row]):
        if self.keeper.sub_us is None:
            return row_block(rows, D)
        return pane_deltas(rows, self.keeper.sub_us, D)

    def rows(self, low: int, high: int) -> list[Row]:
        return [self.row(self.dice.randint(low, high)) for _ in range(self.dice.choice([0, 1, 3, 12]))]

    def row(self, k: int) -> Row:
        dice = self.dice
        t = self.case.origin_us + k * self.case.tick_us + dice.choice([0, 0, 1, -1])
        values = tuple(float(dice.randint(-9, 9)) if self.whole else dice.uniform(-1e6, 1e6) / 3 for _ in range(D))
        return Row(t, dice.getrandbits(60) - 2**59, dice.choice(self.alphabet), values)

    def add(self) -> None:
        rows = self.rows(self.now - 8, self.now + 6)
        counted, late = self.twin.add(rows)
        known = set(self.keeper.keys)
        added = self.keeper.add(self.deltas(rows))
        assert (added.rows, added.late) == (counted, late)
        assert added.new_groups == tuple(key for key in self.keeper.keys if key not in known)

    def close(self) -> None:
        self.now += self.dice.randint(0, 6)
        watermark = self.case.origin_us + self.now * self.case.tick_us
        panes = self.twin.close_through(watermark)
        closing = self.keeper.close_through(watermark)
        assert list(closing) == panes
        if self.begin is None:
            self.begin = closing.start

    def start(self) -> None:
        if self.settled is not None or self.twin.backfilled:
            return
        pane = (self.case.origin_us + self.now * self.case.tick_us) // self.twin.pane_us + self.dice.randint(-3, 1)
        if self.twin.start_us is not None and pane * self.twin.pane_us < self.twin.start_us:
            return
        self.twin.start(pane * self.twin.pane_us)
        self.keeper.start(pane * self.twin.pane_us)
        self.begin = pane

    def backfill(self) -> None:
        start = self.twin.start_us
        if start is None or self.twin.closed != start // self.twin.pane_us - 1:
            return
        rows = [row for row in self.rows(self.now - 40, self.now + 2) if row.t < start]
        self.twin.history += rows
        self.twin.backfilled = True
        self.keeper.backfill(self.deltas(rows), start)

    def settle(self) -> None:
        if self.twin.closed is None:
            return
        pane = self.twin.closed - self.dice.randint(-2, 6)
        self.settled = pane if self.settled is None else max(self.settled, pane)
        self.keeper.settle(pane)

    def ask(self) -> None:
        panes = self.askable()
        if self.dice.random() < 0.5:
            panes = self.dice.sample(panes[-9:], len(panes[-9:]))
        for pane in panes:
            self.check(pane)

    def save(self) -> None:
        changes = self.keeper.changes()
        if self.dice.randint(0, 3):  # else the transaction failed
            self.commit(changes)

    def commit(self, changes: list[Change]) -> None:
        for change in changes:
            self.disk.pop(change.key, None)
            if change.blob is not None:
                self.disk[change.key] = change.blob
        self.keeper.saved()
        self.on_disk = (deepcopy(self.twin), self.settled, self.begin)

    def crash(self) -> None:
        """What was not saved is lost."""
        if self.disk:
            self.keeper = restore_keeper(self.case.window, D, self.disk)
            twin, self.settled, self.begin = self.on_disk
            self.twin = deepcopy(twin)

    def restart(self) -> None:
        self.commit(self.keeper.changes())
        assert self.keeper.changes() == []
        new = restore_keeper(self.case.window, D, self.disk)
        assert new.changes() == []
        assert new.keys[:] == self.keeper.keys[:]
        for pane in self.askable()[:: self.dice.choice([1, -1])]:
            (new_sums, new_changed), (sums, changed) = new.vector(pane), self.keeper.vector(pane)
            assert new_sums.tobytes() == sums.tobytes()
            assert new_changed == changed
        self.keeper = new

    def askable(self) -> list[int]:
        if self.twin.closed is None or self.begin is None:
            return []
        oldest = min(max(self.begin, self.settled if self.settled is not None else self.begin), self.twin.closed + 1)
        return list(range(oldest, self.twin.closed + 1))

    def check(self, pane: int) -> None:
        sums, changed = self.keeper.vector(pane)
        wanted = self.twin.sums(pane)
        lo, hi = self.twin.bounds(pane)
        assert sums.shape == (len(self.keeper.keys), D)
        for number, key in enumerate(self.keeper.keys):
            if key not in wanted:
                assert (sums[number] == 0.0).all()
            elif self.whole:
                assert sums[number].tolist() == wanted[key].tolist()
            else:
                np.testing.assert_allclose(sums[number], wanted[key], rtol=1e-9, atol=1e-9 * 1e6)
        assert set(wanted) <= set(self.keeper.keys)
        assert changed == (self.twin.bounds(pane) != self.twin.bounds(pane - 1))
        assert self.keeper.rows_in(pane) == hi - lo

    def check_state(self) -> None:
        twin, keeper = self.twin, self.keeper
        assert keeper.closed == twin.closed
        assert keeper.first == twin.first
        assert keeper.open_from_us == (None if twin.closed is None else (twin.closed + 1) * twin.pane_us)
        assert keeper.full_from() == twin.full_from()
        askable = self.askable()
        if askable:
            assert keeper.oldest == askable[0]
            for pane in (askable[0] - 1, askable[-1] + 1):
                with pytest.raises(ProtocolError, match=f"{askable[0]} to {askable[-1]}"):
                    keeper.vector(pane)


def tell(case: Case, whole: bool, dice: random.Random) -> None:
    lab = Lab(case, whole, dice)
    deeds = ["add"] * 6 + ["close"] * 6 + ["ask"] * 3 + ["settle"] * 3 + ["save"] * 2 + ["restart", "crash"]
    if dice.random() < 0.5:
        lab.start()
        if dice.random() < 0.7:
            lab.backfill()
            lab.backfill()
        deeds += ["start"] * dice.choice([0, 0, 1])
    for deed in dice.choices(deeds, k=dice.choice([10, 100])):
        getattr(lab, deed)()
        lab.check_state()
    lab.ask()


@pytest.mark.middle
@settings(max_examples=400, deadline=None)
@given(cases(), st.booleans(), st.sampled_from([1, 4, 64]), st.integers(0, 2**32))
def test_a_keeper_says_what_the_definition_says(case, whole, forget, seed):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_FORGET", forget)  # often enough for so few rows
        tell(case, whole, random.Random(seed))


def deltas_of(times: list[int], keeper: WindowKeeper):
    rows = [Row(t, t, "", (1.0, float(index))) for index, t in enumerate(times)]
    return row_block(rows, D) if keeper.sub_us is None else pane_deltas(rows, keeper.sub_us, D)


MINUTE = Window("time", Every(duration_us=10 * SECOND), duration_us=60 * SECOND)
LAST_3 = Window("rows", Every(duration_us=10 * SECOND), rows=3)


@pytest.mark.parametrize(
    ("window", "sub_us"),
    [
        (MINUTE, 10 * SECOND),
        (Window("time", Every(duration_us=7 * SECOND), duration_us=60 * SECOND), SECOND),
        (Window("since", Every(duration_us=90 * SECOND), unit="minute"), 30 * SECOND),
        (Window("since", Every(duration_us=5 * DAY), unit="month"), DAY),
        (Window("all", Every(duration_us=7 * SECOND)), 7 * SECOND),
        (LAST_3, None),
        (Window("all", Every(rows=7)), None),
    ],
)
def test_a_keeper_asks_for_sub_panes_at_which_its_windows_can_begin(window, sub_us):
    keeper = window_keeper(window, D)
    assert keeper.sub_us == sub_us
    assert keeper.pane_us == (window.every.duration_us or SECOND)


def test_a_window_of_too_many_sub_panes_is_refused_with_a_step_that_fits():
    odd = Window("time", Every(duration_us=10 * SECOND + 1), duration_us=60 * SECOND)
    with pytest.raises(SentenceError, match=r"60,000,000.*write EVERY 12 SECONDS"):
        window_keeper(odd, D)
    tiny = Window("time", Every(duration_us=1), duration_us=3 * SECOND)
    with pytest.raises(SentenceError, match="write EVERY 3 MICROSECONDS"):
        window_keeper(tiny, D)


def test_a_window_is_full_when_its_rows_can_all_have_been_seen():
    started, first_row, filled = (window_keeper(MINUTE, D) for _ in range(3))
    started.start(600 * SECOND)
    assert started.full_from() == 65  # [600 s, 660 s) is all known
    assert first_row.full_from() is None
    first_row.add(deltas_of([605 * SECOND], first_row))
    assert first_row.full_from() == 66  # data may have begun at 605 s
    filled.start(600 * SECOND)
    filled.backfill(deltas_of([555 * SECOND], filled), 600 * SECOND)
    assert filled.full_from() == 60
    assert list(filled.close_through(620 * SECOND)) == [60, 61]
    assert filled.vector(60)[0].tolist() == [[1.0, 0.0]]
    assert [filled.vector(pane)[1] for pane in (60, 61)] == [False, True]  # the row of 555 s leaves in pane 61


def test_rows_before_the_start_are_neither_counted_nor_late():
    keeper = window_keeper(MINUTE, D)
    keeper.start(600 * SECOND)
    added = keeper.add(deltas_of([599 * SECOND, 600 * SECOND, 615 * SECOND], keeper))
    assert (added.rows, added.late) == (2, 0)
    keeper.close_through(610 * SECOND)
    added = keeper.add(deltas_of([599 * SECOND, 609 * SECOND, 610 * SECOND], keeper))
    assert (added.rows, added.late) == (1, 1)


def test_groups_that_are_known_beforehand_have_vectors_before_their_first_row():
    keeper = window_keeper(MINUTE, D, keys=("",))
    keeper.start(0)
    keeper.close_through(10 * SECOND)
    sums, changed = keeper.vector(0)
    assert sums.tolist() == [[0.0, 0.0]]
    assert not changed


def test_a_vector_cannot_be_written_to():
    keeper = window_keeper(MINUTE, D, keys=("",))
    keeper.start(0)
    keeper.close_through(10 * SECOND)
    with pytest.raises(ValueError, match="read-only"):
        keeper.vector(0)[0][:] = 1.0


def test_a_start_inside_a_pane_and_history_that_ends_elsewhere_are_refused():
    keeper = window_keeper(MINUTE, D)
    with pytest.raises(ProtocolError, match="begins with a pane"):
        keeper.start(5)
    keeper.start(600 * SECOND)
    with pytest.raises(ProtocolError, match="history ends where"):
        keeper.backfill(deltas_of([1], keeper), 590 * SECOND)
    keeper.close_through(610 * SECOND)
    with pytest.raises(ProtocolError, match="before the first pane"):
        keeper.backfill(deltas_of([1], keeper), 600 * SECOND)


def rows_of(window: Window, pane: int) -> range:
    """The rows of a window at the end of a pane of 10 s, when each pane has two."""
    rows = range(2 * (pane + 1))
    if window.kind == "since":
        return rows[pane - pane % 360 << 1 :]
    return rows[-12:] if window.kind == "time" else rows[-(window.rows or len(rows)) :]


@pytest.mark.parametrize(
    "window",
    [
        MINUTE,
        LAST_3,
        Window("since", Every(duration_us=10 * SECOND), unit="hour"),
        Window("all", Every(duration_us=10 * SECOND)),
    ],
)
def test_what_is_settled_is_forgotten(window):
    keeper = window_keeper(window, D)
    disk: dict[str, bytes] = {}
    keeper.start(0)
    most = 0
    for pane in range(2000):
        keeper.add(deltas_of([pane * 10 * SECOND + second * SECOND for second in (1, 5)], keeper))
        keeper.close_through((pane + 1) * 10 * SECOND)
        keeper.settle(pane)
        sums, changed = keeper.vector(pane)
        assert (sums[0, 0], changed) == (len(rows_of(window, pane)), True)
        for change in keeper.changes():
            if change.blob is None:
                del disk[change.key]
            else:
                disk[change.key] = change.blob
        keeper.saved()
        most = max(most, len(disk))
    assert most < 200
    restored = restore_keeper(window, D, disk)
    assert restored.vector(1999)[0][0, 0] == len(rows_of(window, 1999))
    assert restored.vector(1999)[0].tobytes() == keeper.vector(1999)[0].tobytes()


@pytest.mark.parametrize("window", [MINUTE, LAST_3, Window("all", Every(duration_us=10 * SECOND))])
def test_garbled_state_is_noticed(window):
    keeper = window_keeper(window, D)
    keeper.start(0)
    for pane in range(100):
        keeper.add(deltas_of([pane * 10 * SECOND], keeper))
        keeper.close_through((pane + 1) * 10 * SECOND)
    keeper.settle(90)
    saved = {change.key: change.blob for change in keeper.changes() if change.blob is not None}
    assert restore_keeper(window, D, saved).closed == 99
    for key, blob in saved.items():
        for wrong in (b"", blob[:-1], b"\x07" + blob[1:], blob[:-1] + bytes([blob[-1] ^ 1]), blob[:3]):
            with pytest.raises(ProtocolError, match="saved"):
                restore_keeper(window, D, {**saved, key: wrong})
    for key in ("meta", "keys/0"):
        with pytest.raises(ProtocolError, match="saved"):
            restore_keeper(window, D, {other: blob for other, blob in saved.items() if other != key})
    with pytest.raises(ProtocolError, match="another watch"):
        restore_keeper(window, D + 1, saved)


def test_no_rows_lie_between_equal_places_before_the_front() -> None:
    """Of folded windows the places are before what is held; what is uninitialised there must not be summed."""
    keeper = window_keeper(Window("all", Every(duration_us=1_000_000)), 1, sparse=True)
    for second in range(200):
        one = np.ones(1, dtype=np.int64)
        keeper.add(PaneDeltas(np.array([second]), np.array([0]), one, np.ones((1, 1)), ('["k"]',)))
        keeper.close_through((second + 1) * 1_000_000)
        groups, moved = keeper.step(second)
        assert (groups.tolist(), moved) == ([0], 1)
        keeper.settle(second)
