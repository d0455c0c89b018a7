"""Randomized waves count windows by a sample: exactly as their twin does, and as well as they promise."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, chisquare

from tacit.sketches._kernels_hash import hash_word, mix
from tacit.sketches._kernels_random_wave import _draw, _heads
from tacit.sketches.random_wave_cells import capacity_of
from tacit.sketches.randomized_wave import RandomizedWave
from tacit.sketches.serial import Writer, seal
from tacit.sketches.window import SlidingWindow
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.chance import assert_rare

# With such an error a level keeps 14 arrivals only, so that short streams show all that can happen.
COARSE = {"epsilon": 0.9, "delta": 0.5}
arrivals = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 16)), max_size=60)
sources = st.integers(-(2**63), 2**63 - 1)


def level_of(seed: int, source: int, number: int) -> int:
    base = int(hash_word(np.uint64(source % 2**64), np.uint64(seed % 2**64)))
    word = int(mix(np.uint64((base + number * 0x9E3779B97F4A7C15) % 2**64)))
    return (word & -word).bit_length() - 1


class Twin:
    """All arrivals with their levels, and the answer by its definition."""

    def __init__(self, capacity: int) -> None:
        self.capacity, self.kept = capacity, []

    def add(self, seed: int, source: int, stamps: list[int]) -> None:
        self.kept += [(time, level_of(seed, source, number)) for number, time in enumerate(stamps)]

    def estimate(self, start: int) -> float:
        inside = [level for time, level in self.kept if time > start]
        full = [level for level in set(inside) if inside.count(level) > self.capacity]
        finest = max(full, default=-1) + 1
        return float(sum(level >= finest for level in inside) << finest)


def stamps_of(stream, origin=0):
    """Times from steps, and the arrivals one by one."""
    times = (origin + np.cumsum([step for step, _ in stream], dtype=np.int64)).tolist()
    counts = [count for _, count in stream]
    return times, counts, [time for time, count in zip(times, counts, strict=True) for _ in range(count)]


@given(stream=arrivals, seed=sources, source=sources, length=st.integers(1, 40), origin=st.integers(-(2**50), 2**50))
def test_it_answers_as_its_twin(stream, seed, source, length, origin):
    wave = RandomizedWave(window=SlidingWindow(40), seed=seed, source=source, **COARSE)
    assert wave.capacity == 13
    times, counts, each = stamps_of(stream, origin)
    wave.update_many(times, counts)
    twin = Twin(wave.capacity)
    twin.add(seed, source, each)
    now = max(times, default=-(2**60))
    assert wave.now == now
    assert wave.estimate(length) == twin.estimate(now - length)
    assert wave.estimate() == twin.estimate(now - 40)
    assert wave.estimate(length, now=now + 7) == twin.estimate(now + 7 - length)


@given(parts=st.lists(arrivals, min_size=1, max_size=4), length=st.integers(1, 40), later=arrivals)
def test_a_merge_answers_as_the_twin_of_all_and_goes_on(parts, length, later):
    waves, twin = [], Twin(13)
    for source, stream in enumerate(parts):
        wave = RandomizedWave(window=SlidingWindow(40), seed=3, source=source, **COARSE)
        times, counts, each = stamps_of(stream)
        wave.update_many(times, counts)
        twin.add(3, source, each)
        waves.append(wave)
    now = max(wave.now for wave in waves)
    kept = [wave.to_bytes() for wave in waves]
    merged, backwards = RandomizedWave.merge_all(waves), RandomizedWave.merge_all(waves[::-1])
    assert merged.estimate(length) == twin.estimate(now - length)
    assert merged.to_bytes() == backwards.to_bytes()
    assert [wave.to_bytes() for wave in waves] == kept
    before = sum(count for stream in parts for _, count in stream)
    times, counts, each = stamps_of(later, max(now, 0))
    merged.update_many(times, counts)
    twin.kept += [(time, level_of(3, merged.source, before + number)) for number, time in enumerate(each)]
    now = merged.now
    assert merged.estimate(length) == twin.estimate(now - length)


@given(stream=arrivals, later=arrivals)
def test_bytes_forget_what_is_old_and_go_on_the_same(stream, later):
    wave = RandomizedWave(window=SlidingWindow(20), source=5, **COARSE)
    times, counts, _ = stamps_of(stream)
    wave.update_many(times, counts)
    again = RandomizedWave.from_bytes(wave.to_bytes())
    assert again.to_bytes() == wave.to_bytes()
    assert pickle.loads(pickle.dumps(wave)).to_bytes() == wave.to_bytes()
    times, counts, _ = stamps_of(later, max(wave.now, 0))
    for target in (wave, again):
        target.update_many(times, counts)
    assert again.to_bytes() == wave.to_bytes()
    wave.advance(wave.now + 20) if wave.now > 0 else None
    assert wave.estimate() == 0 or wave.now <= 0


@given(bits=st.lists(st.integers(0, 1), max_size=200), length=st.integers(1, 30))
def test_rows_are_counted_by_their_number(bits, length):
    wave = RandomizedWave(window=SlidingWindow(30, by="rows"), seed=9, source=4, **COARSE)
    wave.update_many(counts=bits)
    twin = Twin(wave.capacity)
    twin.add(9, 4, [row + 1 for row, bit in enumerate(bits) if bit])
    assert wave.now == len(bits)
    assert wave.estimate(length) == twin.estimate(len(bits) - length)


def test_late_arrivals_count_at_the_latest_time():
    wave = RandomizedWave(window=SlidingWindow(10), epsilon=0.1, delta=0.1)
    wave.update_many([5, 3, 9, 8, 9])
    assert (wave.late, wave.now, wave.estimate(1), wave.estimate(5)) == (2, 9, 3.0, 5.0)
    wave.update(4)
    assert (wave.late, wave.estimate(1)) == (3, 4.0)
    assert wave.merge(RandomizedWave(window=SlidingWindow(10), epsilon=0.1, delta=0.1, source=1)).late == 3


@pytest.mark.middle
@pytest.mark.parametrize("epsilon", [0.1, 0.3, 0.9])
@pytest.mark.parametrize("delta", [0.3, 0.05])
@pytest.mark.parametrize("fill", [0.9, 1.5, 2.1, 3.9, 20.0])
def test_more_than_epsilon_is_as_rare_as_promised(epsilon, delta, fill):
    """One query, at several fillings of the rings, over many seeds; also with the stream in three parts."""
    capacity = capacity_of(epsilon, delta)
    inside, trials, beyond, apart, outside = int(fill * capacity) + 1, 300, 0, 0, 0
    times = np.concatenate([np.zeros(inside // 2, dtype=np.int64), np.arange(1, inside + 1)])
    for seed in range(trials):
        options = {"window": SlidingWindow(10**6), "epsilon": epsilon, "delta": delta, "seed": seed}
        wave = RandomizedWave(**options)
        wave.update_many(times)
        beyond += abs(wave.estimate(inside) - inside) > epsilon * inside
        outside += not wave.lower_bound(inside) <= inside <= wave.upper_bound(inside)
        parts = [RandomizedWave(**options, source=source) for source in range(3)]
        for source, part in enumerate(parts):
            part.update_many(times[source::3])
        apart += abs(RandomizedWave.merge_all(parts).estimate(inside) - inside) > epsilon * inside
    for failures in (beyond, outside, apart):
        assert_rare(failures, trials, delta)


@pytest.mark.parametrize("count", [17, 1000, 10**6, 10**9, 2**59])
def test_large_counts_are_as_good(count):
    trials, beyond = 400, 0
    for seed in range(trials):
        wave = RandomizedWave(window=SlidingWindow(10), epsilon=0.3, delta=0.1, seed=seed)
        wave.update(5, count)
        wave.update(6, count // 3)
        truth = count + count // 3
        beyond += abs(wave.estimate() - truth) > 0.3 * truth
    assert_rare(beyond, trials, 0.1)


@pytest.mark.parametrize("coins", [1, 63, 64, 65, 1000, 2**16])
def test_coins_are_fair(coins):
    drawn = np.array([int(_heads(np.uint64(coins), np.uint64(mix(np.uint64(seed))))) for seed in range(2000)])
    edges = np.unique(binom.ppf(np.linspace(0, 1, 11)[1:-1], coins, 0.5))
    cells = np.diff(np.concatenate([[0.0], binom.cdf(edges, coins, 0.5), [1.0]]))
    seen = np.bincount(np.searchsorted(edges, drawn), minlength=len(cells))
    assert chisquare(seen[cells > 0], 2000 * cells[cells > 0]).pvalue > 1e-6


@pytest.mark.parametrize("coins", [2**16 + 1, 10**9, 2**60])
def test_many_coins_are_fair(coins):
    drawn = [int(_heads(np.uint64(coins), np.uint64(mix(np.uint64(seed))))) for seed in range(4000)]
    apart = np.array([(2 * heads - coins) / math.sqrt(coins) for heads in drawn])
    assert abs(apart.mean()) < 5 / math.sqrt(4000)
    assert abs(apart.std() - 1) < 5 / math.sqrt(8000)


@given(count=st.integers(1, 2**60), number=st.integers(0, 2**60), base=st.integers(0, 2**64 - 1))
def test_levels_add_up_to_the_count(count, number, base):
    drawn = np.full(64, 7, dtype=np.int64)
    top = _draw(np.uint64(base), np.uint64(number), count, drawn)
    assert sum(drawn[: top + 1].tolist()) == count
    assert drawn[top] > 0
    assert (drawn[: top + 1] >= 0).all()


def test_the_largest_and_the_longest():
    wave = RandomizedWave(window=SlidingWindow(2**60), epsilon=0.5, delta=0.5)
    wave.update_many([-(2**60), 0, 2**60])
    assert (wave.estimate(), wave.estimate(1)) == (1.0, 1.0)
    wave.update(2**60, 2**60 - 3)
    with pytest.raises(DataError, match="counts up to 2\\^60 arrivals"):
        wave.update(2**60)
    with pytest.raises(DataError, match="between -2\\^60 and 2\\^60"):
        wave.update(2**60 + 1, 0)


def test_a_stream_far_longer_than_its_window_keeps_little():
    wave = RandomizedWave(window=SlidingWindow(100), epsilon=0.2, delta=0.1)
    for block in range(30):
        wave.update_many(np.arange(block * 10_000, (block + 1) * 10_000))
    assert wave.estimate() == 100.0
    assert len(wave.to_bytes()) < 400


def wave_of(**change):
    return RandomizedWave(**{"window": SlidingWindow(10), "epsilon": 0.1, "delta": 0.1} | change)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("window", {"window": SlidingWindow(11)}),
        ("epsilon", {"epsilon": 0.2}),
        ("delta", {"delta": 0.2}),
        ("seed", {"seed": 1}),
    ],
)
def test_another_lineage_is_refused_by_name(name, change):
    with pytest.raises(LineageMismatch, match=f"differ in {name}"):
        wave_of().merge(wave_of(**change))


def test_what_cannot_be_merged_is_refused():
    rows = wave_of(window=SlidingWindow(10, by="rows"))
    with pytest.raises(MergeError, match="which rows of one stream came before which of another is not kept"):
        rows.merge(rows)
    one, other = wave_of(source=3), wave_of(source=3)
    one.update(1)
    assert one.merge(other).source == 3
    other.update(2)
    with pytest.raises(MergeError, match="with the source 3 drew the same levels"):
        one.merge(other)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"epsilon": 1.0}, "epsilon of a sketch is between 0 and 1"),
        ({"epsilon": 1e-9}, "at least 0.0001"),
        ({"epsilon": 1e-4}, "allow a larger error"),
        ({"delta": 0.0}, "delta of a sketch is between 0 and 1"),
        ({"source": 2**63}, "a seed is a whole number of 64 bits"),
    ],
)
def test_wrong_options_are_refused(options, why):
    with pytest.raises(OptionError, match=why):
        wave_of(**options)


def test_wrong_updates_and_questions_are_refused():
    wave, rows = wave_of(), wave_of(window=SlidingWindow(10, by="rows"))
    with pytest.raises(OptionError, match="needs the time"):
        wave.update()
    with pytest.raises(OptionError, match="times"):
        rows.update(3)
    with pytest.raises(DataError, match="whole numbers"):
        wave.update(1.5)
    with pytest.raises(DataError, match="0 or more"):
        wave.update(1, -1)
    with pytest.raises(DataError, match="one for each row"):
        wave.update_many([1, 2], [1])
    assert wave.to_bytes() == wave_of().to_bytes()
    wave.update(5)
    for wrong in ({"now": 4}, {"length": 0}, {"length": 11}):
        with pytest.raises(OptionError):
            wave.estimate(**wrong)
    wave.advance(4)
    assert wave.now == 5


def sealed(header=(10, 0, 0), shares=(0.9, 0.5), clock=(7, 0, 3), cells=(0, 0, 3, 2), sizes=(2, 1), gaps=(1, 4, 10)):
    writer = Writer()
    writer.integers(*header)
    writer.floats(*shares)
    writer.integers(*clock, *cells)
    writer.words(np.array(sizes, dtype=np.uint64))
    writer.words(np.array(gaps, dtype=np.uint64))
    return seal(6, writer)


def test_good_bytes_are_read():
    wave = RandomizedWave.from_bytes(sealed())
    assert (wave.estimate(), wave.estimate(1), wave.now) == (3.0, 1.0, 7)
    assert wave.to_bytes() == sealed()


@pytest.mark.parametrize(
    "change",
    [
        {"header": (0, 0, 0)},
        {"header": (10, 2, 0)},
        {"header": (10, 1, 0), "clock": (-1, 0, 3)},
        {"clock": (2**61, 0, 3)},
        {"clock": (7, -1, 3)},
        {"clock": (7, 0, 4)},
        {"shares": (0.0, 0.5)},
        {"shares": (1e-300, 0.5)},
        {"shares": (float("nan"), 0.5)},
        {"shares": (0.001, 1e-300)},
        {"cells": (0, 0, 2, 2), "clock": (7, 0, 2)},
        {"cells": (0, 0, -1, 2)},
        {"cells": (0, 0, 3, 65)},
        {"sizes": (2,)},
        {"sizes": (3, 1)},
        {"sizes": (15, 0), "gaps": (1, *(0,) * 14), "cells": (0, 0, 99, 2), "clock": (7, 0, 99)},
        {"gaps": (0, 4, 10)},
        {"gaps": (1, 10, 10)},
        {"gaps": (1, 2**64 - 1, 10)},
        {"gaps": (1, 4, 11)},
    ],
)
def test_bytes_that_contradict_themselves_are_refused(change):
    with pytest.raises(DataError, match="damaged"):
        RandomizedWave.from_bytes(sealed(**change))
