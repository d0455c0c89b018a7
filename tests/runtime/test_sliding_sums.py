"""Sums over sliding windows: the recursion is the definition, to the bit, in whatever order windows are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.runtime import sliding_sums
from tacit.runtime.entry_log import EntryLog
from tacit.runtime.sliding_sums import SlidingSums

D = 3


def log_of(rng: np.random.Generator, size: int, groups: int) -> EntryLog:
    log = EntryLog(D)
    for start in range(0, size, 100):
        n = min(100, size - start)
        log.append(
            np.arange(start, start + n), rng.integers(0, groups, n), np.ones(n, np.int64), rng.normal(size=(n, D))
        )
    return log


def by_hand(log: EntryLog, lo: int, cut: int, hi: int, groups: int) -> np.ndarray:
    before, after = np.zeros((groups, D)), np.zeros((groups, D))
    group, values = log.entries(lo, hi)
    for i in range(cut - lo - 1, -1, -1):
        before[group[i]] += values[i]
    for i in range(cut - lo, hi - lo):
        after[group[i]] += values[i]
    return before + after


@pytest.mark.parametrize("marks", [1 << 21, 60])
@pytest.mark.parametrize(("length", "hop", "groups"), [(50, 1, 1), (50, 1, 7), (333, 3, 5), (300, 50, 2), (64, 64, 3)])
def test_totals_are_those_of_the_recursion_to_the_bit(monkeypatch, marks, length, hop, groups):
    monkeypatch.setattr(sliding_sums, "_MARK_NUMBERS", marks)
    rng = np.random.default_rng(length)
    log = log_of(rng, 1000, groups)
    windows = [(hi - length, hi // length * length, hi) for hi in range(length, 1001, hop)]
    wanted = [by_hand(log, *window, groups).tobytes() for window in windows]
    sums = SlidingSums(log, D)
    for order in (range(len(windows)), range(len(windows) - 1, -1, -1), rng.permutation(len(windows))):
        for i in order:
            assert sums.total(*windows[i], groups).tobytes() == wanted[i]
        fresh = SlidingSums(log, D)
        i = int(rng.integers(len(windows)))
        assert fresh.total(*windows[i], groups).tobytes() == wanted[i]


def test_what_was_folded_goes_on_as_if_it_were_there():
    rng = np.random.default_rng(3)
    log, twin = log_of(rng, 500, 4), log_of(np.random.default_rng(3), 500, 4)
    sums, plain = SlidingSums(log, D), SlidingSums(twin, D)
    for fold in (100, 101, 300):
        sums.fold(0, fold, 4)
        for hi in (fold, fold + 1, 500, fold + 7):
            assert sums.total(0, 0, hi, 4).tobytes() == plain.total(0, 0, hi, 4).tobytes()


def test_a_log_forgets_and_goes_on():
    log = EntryLog(1)
    for i in range(10_000):
        log.append(np.array([i]), np.array([i % 3]), np.array([1]), np.array([[float(i)]]))
        log.drop_before(i - 10)
    assert (log.front, log.end) == (9989, 10_000)
    assert log.at(9989, 10_000).tolist() == list(range(9989, 10_000))
    assert log.find(np.array([0, 9995, 20_000])).tolist() == [9989, 9995, 10_000]
    assert len(log._at) < 5000
