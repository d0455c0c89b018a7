"""Sums told as changes: after every move they are those of ``SlidingSums`` to the bit, and no change is left out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.runtime import sparse_sums
from tacit.runtime.entry_log import EntryLog
from tacit.runtime.sliding_sums import SlidingSums
from tacit.runtime.sparse_sums import SparseSums

D = 2
SEEDS = st.integers(0, 2**32 - 1)
VALUES = np.array([0.0, -0.0, 1.0, -1.0, 0.1, 1e-300, 1e300, 1.5e308, -1.5e308])  # sums may be infinite, then nan


class Bench:
    """Two logs with the same entries, and both kinds of sums of them."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.log, self._twin_log = EntryLog(D), EntryLog(D)
        self.sums, self._twin = SparseSums(self.log, D), SlidingSums(self._twin_log, D)
        self.groups = 1
        self._told = np.zeros((0, D))
        self._last = (-1, -1, -1)

    def grow(self, at: int) -> None:
        """Some entries, with groups that were not there before."""
        n = int(self.rng.choice([0, 1, 3, 8]))
        self.groups += int(self.rng.integers(0, 3))
        group = self.rng.integers(0, self.groups, n)
        wild = self.rng.random((n, D)) < 0.1
        values = np.where(wild, self.rng.choice(VALUES, (n, D)), self.rng.normal(size=(n, D)))
        for log in (self.log, self._twin_log):
            log.append(np.full(n, at), group, np.ones(n, np.int64), values)

    def drop_before(self, position: int) -> None:
        self.log.drop_before(position)
        self._twin_log.drop_before(position)

    def fold(self, cut: int, hi: int) -> None:
        self.sums.fold(cut, hi, self.groups)
        with np.errstate(over="ignore", invalid="ignore"):
            self._twin.fold(cut, hi, self.groups)
        assert self.sums.base.tobytes() == self._twin.base.tobytes()

    def check(self, lo: int, cut: int, hi: int) -> None:
        """Move there."""
        touched = self._touched(lo, cut, hi)
        changed = self.sums.move(lo, cut, hi, self.groups)
        with np.errstate(over="ignore", invalid="ignore"):
            wanted = self._twin.total(lo, cut, hi, self.groups)
        assert self.sums.totals.tobytes() == wanted.tobytes()
        some = self.rng.integers(0, self.groups, 5)
        assert self.sums.take(some).tobytes() == wanted[some].tobytes()
        before = np.zeros_like(wanted)
        before[: len(self._told)] = self._told
        differ = np.flatnonzero((before.view(np.int64) != wanted.view(np.int64)).any(axis=1))
        assert np.array_equal(changed, np.unique(changed))
        assert np.isin(differ, changed).all()
        if touched is not None:  # it slid: nothing is told but what entered or left
            assert np.isin(changed, touched).all()
        self._told, self._last = wanted, (lo, cut, hi)

    def _touched(self, lo: int, cut: int, hi: int) -> np.ndarray | None:
        was_lo, was_cut, was_hi = self._last
        gone = was_hi < self.log.front or (lo != was_lo and was_lo < self.log.front)
        if cut != was_cut or lo < was_lo or hi < was_hi or gone:
            return None
        return np.concatenate([self.log.entries(was_lo, lo)[0], self.log.entries(was_hi, hi)[0]])


def find(log: EntryLog, at: int) -> int:
    return int(log.find(np.array([at]))[0])


@given(seed=SEEDS, pieces=st.integers(1, 9), per_pane=st.integers(1, 2), skips=st.booleans())
def test_windows_of_time(seed, pieces, per_pane, skips):
    bench = Bench(seed)
    for pane in range(30):
        for piece in range(pane * per_pane, (pane + 1) * per_pane):
            bench.grow(piece)
        if skips and bench.rng.random() < 0.3:
            continue
        end = (pane + 1) * per_pane
        lo, cut, hi = (find(bench.log, at) for at in (end - pieces, end // pieces * pieces, end))
        if bench.rng.random() < 0.3:  # the window before this one may have begun before what is left
            bench.drop_before(lo)
        bench.check(lo, cut, hi)
        if bench.rng.random() < 0.3:
            bench.drop_before(int(bench.rng.integers(bench.log.front, lo + 1)))


@given(seed=SEEDS, rows=st.integers(1, 25), step=st.integers(1, 4))
def test_windows_of_rows(seed, rows, step):
    bench = Bench(seed)
    for at in range(40):
        bench.grow(at)
        hi = bench.log.end // step * step
        lo, cut = max(hi - rows, 0), hi // rows * rows
        bench.check(lo, cut, hi)
        if bench.rng.random() < 0.3:
            bench.drop_before(lo)


@given(seed=SEEDS, period=st.integers(2, 40), skips=st.booleans())
def test_windows_since_a_start_whose_oldest_entries_are_folded(seed, period, skips):
    bench = Bench(seed)
    cut, ends = 0, [0]
    for at in range(40):
        bench.grow(at)
        if at % period == 0 and at:
            cut, ends = bench.log.end, [bench.log.end]
        ends.append(bench.log.end)
        if not skips or bench.rng.random() < 0.5:  # what is folded may go beyond the last window that was asked for
            bench.check(cut, cut, ends[-1])
        assert bench.sums._suffix is None
        if bench.rng.random() < 0.2:
            bench.fold(cut, max(bench.log.front, int(bench.rng.choice(ends))))


@given(seed=SEEDS)
def test_windows_in_any_order(seed):
    bench = Bench(seed)
    for at in range(20):
        bench.grow(at)
    for _ in range(30):
        lo, cut, hi = np.sort(bench.rng.integers(0, bench.log.end + 1, 3)).tolist()
        bench.check(lo, cut, hi)
        bench.check(int(bench.rng.integers(lo, cut + 1)), cut, int(bench.rng.integers(hi, bench.log.end + 1)))


def test_groups_are_compared_in_parts(monkeypatch):
    monkeypatch.setattr(sparse_sums, "_AT_ONCE", 3)
    bench = Bench(5)
    for at in range(60):
        bench.grow(at)
        hi = bench.log.end
        bench.check(max(hi - 10, 0), hi // 10 * 10, hi)


def test_a_window_without_a_suffix_takes_no_memory_for_one():
    log = EntryLog(D)
    log.append(np.arange(10), np.arange(10), np.ones(10, np.int64), np.ones((10, D)))
    sums = SparseSums(log, D)
    sums.move(0, 0, 10, 1000)
    assert sums.nbytes == 1000 * D * 8
    sums.move(0, 5, 10, 1000)
    assert sums.nbytes == 2 * 1000 * D * 8 + 5 * D * 8
    sums.move(5, 5, 10, 1000)
    assert sums.nbytes == 1000 * D * 8


def test_an_entry_without_a_sum_is_an_error_and_nothing_changes():
    log = EntryLog(1)
    log.append(np.arange(4), np.array([0, 1, 2, 3]), np.ones(4, np.int64), np.ones((4, 1)))
    sums = SparseSums(log, 1)
    sums.move(0, 1, 2, 2)
    for window in ((0, 1, 4), (1, 2, 4)):
        with pytest.raises(IndexError, match=r"groups [12] to 3, and 3 groups"):
            sums.move(*window, 3)
        assert sums.totals.ravel().tolist() == [1.0, 1.0, 0.0]
    log.drop_before(2)
    with pytest.raises(IndexError, match="those before 2 are gone"):
        sums.move(1, 2, 4, 4)
    assert sums.move(2, 2, 4, 4).tolist() == [0, 1, 2, 3]
