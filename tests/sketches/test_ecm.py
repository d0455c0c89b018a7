"""ECM-sketches: what is certain always holds, what is likely fails as rarely as promised."""

from __future__ import annotations

from collections import Counter as Tally

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.sketches import EcmSketch, ExponentialHistogram, Shape, SlidingWindow, split
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.chance import assert_rare

counters = pytest.mark.parametrize("counter", ["histogram", "wave"])
WINDOW = SlidingWindow(500)


def zipf(rng, rows, distinct=300):
    """Keys of which few come often."""
    shares = np.cumsum(1 / np.arange(1, distinct + 1))
    return np.searchsorted(shares, rng.random(rows) * shares[-1]).astype(np.int64)


def made(counter="histogram", seed=0, **options):
    return EcmSketch.for_query(**{"epsilon": 0.2, "delta": 0.1, "window": WINDOW} | options, counter=counter, seed=seed)


@counters
@pytest.mark.parametrize("query", ["point", "inner_product"])
def test_answers_fail_as_rarely_as_promised(counter, query):
    """Over many seeds: point queries of rare and frequent keys, and inner products, over several ranges."""
    seeds, ranges = 300, (500, 120, 20)
    rng = np.random.default_rng(3)
    streams = [(zipf(rng, 1500), np.sort(rng.integers(0, 900, 1500))) for _ in range(2)]
    asked = np.array([0, 1, 5, 40, 299, 1000])
    failures, points = np.zeros(len(ranges), dtype=int), np.zeros((len(ranges), len(asked)), dtype=int)
    for seed in range(seeds):
        sketches = [made(counter, seed, query=query) for _ in streams]
        for sketch, (keys, times) in zip(sketches, streams, strict=True):
            sketch.update_many(keys, times)
        now = max(sketch.now for sketch in sketches)
        for place, length in enumerate(ranges):
            tallies = [Tally(keys[times > now - length].tolist()) for keys, times in streams]
            totals = [tally.total() for tally in tallies]
            if query == "point":
                truth = np.array([tallies[0][key] for key in asked.tolist()])
                off = np.abs(sketches[0].estimate_many(asked, length, now=now) - truth)
                points[place] += off > 0.2 * totals[0]
            else:
                product = sum(count * tallies[1][key] for key, count in tallies[0].items())
                off = abs(sketches[0].inner_product(sketches[1], length) - product)
                failures[place] += off > 0.2 * totals[0] * totals[1]
    for failed in (*failures, *points.ravel()):
        assert_rare(int(failed), seeds, 0.1)


@counters
def test_a_merge_of_many_errs_as_it_says(counter):
    """Eight streams at one level, and in pairs over three levels: sketches that were made for them."""
    rng, seeds = np.random.default_rng(4), 60
    streams = [(zipf(rng, 400), np.sort(rng.integers(0, 900, 400))) for _ in range(8)]
    every, when = (np.concatenate(each) for each in zip(*streams, strict=True))
    failed = Tally()
    for seed in range(seeds):
        for levels in (1, 3):
            parts = [made(counter, seed, levels=levels) for _ in streams]
            for part, (keys, times) in zip(parts, streams, strict=True):
                part.update_many(keys, times)
            while len(parts) > 1:
                size = 2 if levels == 3 else 8
                parts = [EcmSketch.merge_all(parts[k : k + size]) for k in range(0, len(parts), size)]
            (whole,) = parts
            assert whole.levels == levels
            assert whole.point_error <= 0.2 + 1e-9
            for length in (500, 60):
                inside = every[when > whole.now - length]
                for key in (0, 3, 50):
                    off = abs(whole.estimate(key, length) - (inside == key).sum())
                    failed[levels, length, key] += off > 0.2 * len(inside)
                assert whole.total(length) == pytest.approx(len(inside), rel=0.2)
    for count in failed.values():
        assert_rare(count, seeds, 0.1)


@counters
@settings(max_examples=40)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from([0, 0, 1, 5, 90]), st.sampled_from([0, 1, 1, 3, 250]))),
    length=st.integers(1, 500),
    seed=st.integers(-(2**63), 2**63 - 1),
)
def test_upper_bounds_hold_and_the_cells_are_the_windows(counter, rows, length, seed):
    sketch = made(counter, seed)
    times = np.cumsum([gap for _, gap, _ in rows]) if rows else []
    sketch.update_many([key for key, _, _ in rows], times, [count for _, _, count in rows])
    inside = [(key, count) for (key, _, count), time in zip(rows, times, strict=True) if time > sketch.now - length]
    total = sum(count for _, count in inside)
    cells = sketch.cells(length)
    assert cells.shape == (sketch.shape.depth, sketch.shape.width)
    assert abs(cells.sum(axis=1) - total).max() <= 0.2 * total + 1e-9
    assert abs(sketch.total(length) - total) <= 0.2 * total + 1e-9
    for key in range(10):
        truth = sum(count for each, count in inside if each == key)
        assert truth <= sketch.upper_bound(key, length)
        assert sketch.estimate(key, length) >= (1 - 0.2) * truth - 1e-9
        assert sketch.lower_bound(key, length) <= sketch.estimate(key, length) <= sketch.upper_bound(key, length)
        assert sketch.estimate_many(np.full(200, key), length).tolist() == [sketch.estimate(key, length)] * 200
    assert sketch.self_join_size(length) == sketch.inner_product(sketch, length)


@counters
def test_a_row_of_one_cell_is_one_counter(counter):
    """Where no two keys can be apart, a cell is the counter of all arrivals."""
    sketch = EcmSketch(window=WINDOW, shape=Shape(0.99, 0.1, 0.5, 0.0), counter=counter)
    one = EcmSketch(window=WINDOW, shape=Shape(0.99, 0.1, 0.5, 0.0), counter=counter, seed=1)
    times = np.sort(np.random.default_rng(1).integers(0, 2000, 5000))
    sketch.update_many(np.arange(5000), times)
    one.update_many(np.zeros(5000, dtype=int), times)
    assert one.shape.depth == 1
    if counter == "histogram":
        histogram = ExponentialHistogram(window=WINDOW, epsilon=0.1)
        histogram.update_many(times)
        assert one.estimate(0, 300) == histogram.estimate(300)
    assert sketch.total(300) == pytest.approx(int((times > sketch.now - 300).sum()), rel=0.1)


@counters
def test_rows_are_numbered_by_the_sketch(counter):
    sketch = made(counter, window=SlidingWindow(4, by="rows"))
    sketch.update_many(["a", "b", "a", "c", "a"], counts=[9, 1, 1, 1, 2])
    assert (sketch.now, sketch.estimate("a"), sketch.estimate("b"), sketch.estimate("a", 1)) == (5, 3, 1, 2)
    sketch.update("b")
    assert (sketch.estimate("b"), sketch.total()) == (1, 5)
    with pytest.raises(OptionError, match="leave the times out"):
        sketch.update("b", 7)
    with pytest.raises(MergeError, match="windows by time"):
        sketch.merge(made(counter, window=SlidingWindow(4, by="rows")))


@counters
def test_a_huge_count_and_words_that_are_known(counter):
    sketch = made(counter)
    sketch.update("tea", 1, 10**9)
    sketch.update_many(["tea", "milk"], [2, 3], [10**9, 10**6])
    assert sketch.estimate("tea") == pytest.approx(2 * 10**9, rel=0.2)
    assert sketch.total() == pytest.approx(2 * 10**9 + 10**6, rel=0.2)
    same, words = made(counter), np.array([7, 8, 7], dtype=np.uint64)
    same.update_words(words, [1, 2, 3])
    words.flags.writeable = False
    same.update_words(words[::1], [4, 5, 6])
    other = made(counter)
    other.update_many([7, 8, 7, 7, 8, 7], [1, 2, 3, 4, 5, 6])
    assert same.to_bytes() == other.to_bytes()


def test_what_differs_is_named():
    with pytest.raises(LineageMismatch, match="seed"):
        made(seed=1).merge(made(seed=2))
    with pytest.raises(LineageMismatch, match="window"):
        made().merge(made(window=SlidingWindow(501)))
    with pytest.raises(LineageMismatch, match="counter"):
        made().inner_product(made("wave"))
    with pytest.raises(OptionError, match="none of them"):
        EcmSketch(window=WINDOW, shape=split(0.1, 0.1), counter="abacus")
    with pytest.raises(OptionError):
        EcmSketch(window=WINDOW, shape=Shape(0.1, 1e-8, 0.1, 0.0))


def test_nothing_is_changed_by_what_is_wrong():
    sketch = made()
    sketch.update("tea", 5)
    before = sketch.to_bytes()
    for keys, times, counts in (
        (["tea"], [1.5], None),
        (["tea"], [6], [-1]),
        (["tea", 3], [6, 7], None),
        (["tea"], [6, 7], None),
    ):
        with pytest.raises(DataError):
            sketch.update_many(keys, times, counts)
    with pytest.raises(OptionError):
        sketch.update("tea")
    assert sketch.to_bytes() == before


@counters
def test_a_sketch_of_long_streams_is_small_as_bytes(counter):
    sketch = EcmSketch.for_query(0.15, 0.15, window=SlidingWindow(2_000_000), counter=counter)
    rng = np.random.default_rng(1)
    sketch.update_many(zipf(rng, 1_000_000, 100_000), np.sort(rng.integers(0, 2_000_000, 1_000_000)))
    data = sketch.to_bytes()
    assert len(data) < 15_000
    again = EcmSketch.from_bytes(data)
    assert again.to_bytes() == data
    assert np.array_equal(again.cells(12_345), sketch.cells(12_345))
