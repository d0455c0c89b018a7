"""Exponential histograms and deterministic waves against their slow twins: the same answers, whatever happens."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.sketches import DeterministicWave, ExponentialHistogram, SlidingWindow, merged_error
from tacit.sketches import histogram_cells as histograms
from tacit.sketches import wave_cells as waves
from tacit.vocabulary import DataError, MergeError, OptionError
from tests.sketches.twins import EagerHistogram, ExactWindow, SlowWave, events
from tests.tiers import parametrize_in_tiers

KINDS = [(ExponentialHistogram, EagerHistogram), (DeterministicWave, SlowWave)]
EPSILONS = [0.9, 0.5, 0.34, 0.2, 0.1, 0.05]
kinds = pytest.mark.parametrize(("kind", "twin"), KINDS, ids=["histogram", "wave"])
alone = pytest.mark.parametrize("kind", [kind for kind, _ in KINDS], ids=["histogram", "wave"])


@pytest.fixture(params=["large buffers", "small buffers"], autouse=True)
def _buffers(request, monkeypatch):
    """Sketches of many cells have small buffers; both must do."""
    if request.param == "small buffers":
        monkeypatch.setattr(histograms, "_MANY_CELLS", 0)
        monkeypatch.setattr(waves, "_MANY_CELLS", 0)


@st.composite
def rows(draw, most=40):
    """Blocks of arrivals, each (times, counts or none): bursts, pauses, late ones, now and then very many at once."""
    now, blocks = draw(st.integers(-50, 50)), []
    gaps = st.sampled_from([0, 0, 0, 1, 1, 2, 7, 60, 400])
    for _ in range(draw(st.integers(1, 6))):
        times = []
        for gap in draw(st.lists(gaps, min_size=1, max_size=most)):
            now += gap
            times.append(now - draw(st.sampled_from([0, 0, 0, 0, 5])))
        counts = st.lists(st.sampled_from([0, 1, 1, 2, 30, 200, 700]), min_size=len(times), max_size=len(times))
        blocks.append((times, draw(st.one_of(st.none(), counts))))
    return blocks


def feed(sketch, twin, block):
    times, counts = block
    sketch.update_many(times, counts)
    for at, time in enumerate(times):
        twin.update(time, 1 if counts is None else counts[at])


def questions(window, now):
    lengths = {1, 2, 3, 5, 13, 50, 200, window}
    return [(length, at) for length in lengths if length <= window for at in (now, now + 4, now + 350)]


@kinds
@parametrize_in_tiers("epsilon", EPSILONS, in_test=2)
@settings(max_examples=40)
@given(blocks=rows(), window=st.sampled_from([1, 30, 500, 10**9]))
def test_answers_are_those_of_the_twin(kind, twin, epsilon, blocks, window):
    sketch, slow = kind(window=SlidingWindow(window), epsilon=epsilon), twin(epsilon)
    for block in blocks:
        feed(sketch, slow, block)
        for length, now in questions(window, sketch.now):
            truth, (low, high) = slow.after(now - length), slow.bounds(now - length)
            assert (sketch.lower_bound(length, now=now), sketch.upper_bound(length, now=now)) == (low, high)
            assert sketch.estimate(length, now=now) == (low + high) / 2
            assert low <= truth <= high
            assert abs((low + high) / 2 - truth) <= epsilon * truth * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", EPSILONS)
@settings(max_examples=20)
@given(counts=st.lists(st.integers(0, 90), max_size=30))
def test_the_invariant_holds_after_every_arrival(epsilon, counts):
    slow = EagerHistogram(epsilon)
    for time, count in enumerate(counts):
        slow.update(time, count)
        slow.check_invariant(epsilon)


@pytest.mark.middle
@kinds
@pytest.mark.parametrize("epsilon", [0.5, 0.1])
@settings(max_examples=40)
@given(parts=st.lists(rows(most=25), min_size=2, max_size=4), later=rows(), window=st.sampled_from([30, 500, 10**9]))
def test_a_merge_counts_half_of_each_bucket_at_each_end(kind, twin, epsilon, parts, later, window):
    sketches, expected = [], []
    for blocks in parts:
        sketch, slow = kind(window=SlidingWindow(window), epsilon=epsilon), twin(epsilon)
        for block in blocks:
            feed(sketch, slow, block)
        sketches.append(sketch)
        expected += events(slow)
    merged, again = kind.merge_all(sketches), twin(epsilon)
    for time, count in sorted(expected):
        if time > merged.now - window:
            again.update(time, count)
    again.settle()
    again.latest = merged.now
    for block in [([merged.now], None), *later]:
        for length, now in questions(window, merged.now):
            low, high = again.bounds(now - length)
            assert merged.estimate(length, now=now) == (low + high) / 2
        merged = kind.from_bytes(merged.to_bytes())
        feed(merged, again, block)


@st.composite
def trees(draw, streams):
    """How some streams are merged: pairs and threes of what is there, until one is left."""
    left, steps = streams, []
    while left > 1:
        size = draw(st.integers(2, min(3, left)))
        steps.append((draw(st.integers(0, left - size)), size))
        left -= size - 1
    return steps


@pytest.mark.middle
@alone
@pytest.mark.parametrize("epsilon", [0.9, 0.5, 0.15])
@settings(max_examples=60)
@given(data=st.data(), window=st.sampled_from([100, 10**9]))
def test_merged_over_any_tree_the_error_is_what_is_said(kind, epsilon, data, window):
    count = data.draw(st.integers(2, 6))
    sketches, exact = [], ExactWindow()
    for _ in range(count):
        sketch = kind(window=SlidingWindow(window), epsilon=epsilon)
        gaps = data.draw(st.lists(st.sampled_from([0, 0, 1, 1, 3, 40]), max_size=120))
        times = np.cumsum([data.draw(st.integers(0, 60)), *gaps])
        sketch.update_many(times)
        sketches.append(sketch)
        exact.times += times.tolist()
    exact.times.sort()
    for place, size in data.draw(trees(count)):
        sketches[place : place + size] = [kind.merge_all(sketches[place : place + size])]
    (merged,) = sketches
    assert merged.error == pytest.approx(merged_error(epsilon, merged.levels))
    for length, now in questions(window, merged.now):
        truth = exact.after(now - length)
        assert abs(merged.estimate(length, now=now) - truth) <= merged.error * truth + 1e-9
        assert merged.lower_bound(length, now=now) <= truth <= merged.upper_bound(length, now=now)


@pytest.mark.middle
@alone
@pytest.mark.parametrize(("epsilon", "most"), [(0.05, 0.01), (0.1, 0.025), (0.3, 0.15)])
@pytest.mark.parametrize("ticks", [600, 10**6])
def test_merging_up_a_tree_of_256_sites_takes_no_side(kind, epsilon, most, ticks):
    """What is lost or gained over eight levels is small against what may be, also with coarse times."""
    sites, window, off = 256, SlidingWindow(ticks), []
    lengths = np.unique(np.geomspace(ticks / 50, 0.9 * ticks, 150).astype(np.int64)).tolist()
    for seed in range(4):
        rng = np.random.default_rng(seed)
        times = np.sort(rng.integers(0, 2 * ticks, 40_000 + 20_000 * seed))
        owner, now = rng.integers(0, sites, len(times)), int(times[-1])
        level = [kind(window=window, epsilon=epsilon) for _ in range(sites)]
        for site, sketch in enumerate(level):
            sketch.update_many(times[owner == site])
            sketch.advance(now)
        while len(level) > 1:
            level = [one.merge(two) for one, two in zip(level[::2], level[1::2], strict=True)]
        for length in lengths:
            truth = len(times) - int(np.searchsorted(times, now - length, side="right"))
            off.append(level[0].estimate(length) / truth - 1)
            assert level[0].lower_bound(length) <= truth <= level[0].upper_bound(length)
    assert abs(np.mean(off)) < most
    assert np.mean(np.abs(off)) < 0.6 * epsilon


@kinds
@pytest.mark.parametrize("epsilon", [0.5, 0.1])
@settings(max_examples=40)
@given(
    bits=st.lists(st.lists(st.sampled_from([0, 0, 1, 1, 3, 100]), max_size=150), max_size=4),
    window=st.sampled_from([1, 20, 10**6]),
)
def test_a_window_by_rows_counts_each_row(kind, twin, epsilon, bits, window):
    sketch, slow = kind(window=SlidingWindow(window, by="rows"), epsilon=epsilon), twin(epsilon)
    row = 0
    for block in bits:
        sketch.update_many(counts=block)
        for bit in block:
            row += 1
            slow.update(row, bit)
        assert sketch.now == row
        for length, now in questions(window, row):
            low, high = slow.bounds(now - length)
            assert (sketch.lower_bound(length, now=now), sketch.upper_bound(length, now=now)) == (low, high)


@alone
def test_windows_by_rows_are_not_merged(kind):
    one, two = (kind(window=SlidingWindow(9, by="rows"), epsilon=0.1) for _ in range(2))
    with pytest.raises(MergeError, match="windows by time"):
        one.merge(two)
    with pytest.raises(OptionError, match="leave the times out"):
        one.update(3)


@alone
def test_a_huge_count_is_counted_at_once(kind):
    sketch = kind(window=SlidingWindow(100), epsilon=0.1)
    for time in range(200):
        sketch.update(time, 10**9 + time)
    truth = sum(10**9 + time for time in range(100, 200))
    assert abs(sketch.estimate() - truth) <= 0.1 * truth
    assert sketch.lower_bound(7) <= sum(10**9 + time for time in range(193, 200)) <= sketch.upper_bound(7)
    assert sketch.nbytes < 60_000
    with pytest.raises(DataError, match="up to 2\\^60"):
        sketch.update(300, 2**60)
    assert sketch.now == 199


@alone
def test_a_year_of_arrivals_with_a_window_of_an_hour_keeps_its_memory(kind):
    sketch, year = kind(window=SlidingWindow(3600), epsilon=0.1), 365 * 24 * 3600
    rng, sizes = np.random.default_rng(5), []
    for day in range(0, year, 24 * 3600):
        times = np.sort(rng.integers(day, day + 24 * 3600, 20_000))
        sketch.update_many(times)
        truth = int((times > sketch.now - 3600).sum())
        assert abs(sketch.estimate() - truth) <= 0.1 * truth
        sizes.append((sketch.nbytes, len(sketch.to_bytes())))
    memory, written = (np.array(each) for each in zip(*sizes, strict=True))
    assert memory[-1] == memory[3]
    assert written[-100:].max() < 1.2 * written[:100].max()


@alone
def test_many_arrivals_one_after_the_other_and_then_silence(kind):
    sketch = kind(window=SlidingWindow(1000), epsilon=0.1)
    sketch.update_many(np.arange(1_000_000))
    assert sketch.estimate() == pytest.approx(1000, rel=0.1)
    sketch.advance(1_000_500)
    assert sketch.estimate() == pytest.approx(499, rel=0.1)
    sketch.advance(2_000_000)
    assert sketch.estimate() == sketch.upper_bound() == 0
    sketch.update(2_000_000)
    assert sketch.estimate() == 1


@alone
def test_late_arrivals_are_counted_at_the_latest_time(kind):
    sketch = kind(window=SlidingWindow(10), epsilon=0.1)
    sketch.update_many([100, 40, 100, 99, 104])
    assert (sketch.now, sketch.late, sketch.estimate(), sketch.estimate(4)) == (104, 2, 5, 1)
    sketch.advance(103)
    assert sketch.now == 104


@alone
def test_times_and_counts_that_are_none_change_nothing(kind):
    sketch = kind(window=SlidingWindow(10), epsilon=0.1)
    sketch.update_many([1, 2, 3])
    before = sketch.to_bytes()
    for times, counts in (([2**60 + 1], None), ([5, -(2**60) - 1], None), ([2.5], None), ([7], [-1]), ([7, 8], [1])):
        with pytest.raises(DataError):
            sketch.update_many(times, counts)
    with pytest.raises(DataError):
        sketch.advance(2**60 + 1)
    for options in ({"now": 2}, {"length": 0}, {"length": 11}):
        with pytest.raises(OptionError):
            sketch.estimate(**options)
    with pytest.raises(OptionError, match="needs"):
        sketch.update_many()
    assert sketch.to_bytes() == before
    sketch.update_many([2**60])
    assert sketch.estimate() == 1


@kinds
@settings(max_examples=30)
@given(blocks=rows(), window=st.sampled_from([30, 500, 10**9]), cuts=st.lists(st.integers(0, 300), max_size=6))
def test_bytes_say_what_came_and_not_how(kind, twin, blocks, window, cuts):
    """Handed over at once, in pieces, or with a journey as bytes between any two pieces."""
    times = [time for block in blocks for time in block[0]]
    counts = [1 if block[1] is None else block[1][at] for block in blocks for at in range(len(block[0]))]
    whole, pieces, travelled = (kind(window=SlidingWindow(window), epsilon=0.2) for _ in range(3))
    whole.update_many(times, counts)
    edges = [0, *sorted(min(cut, len(times)) for cut in cuts), len(times)]
    for lo, hi in pairwise(edges):
        pieces.update_many(times[lo:hi], counts[lo:hi])
        travelled.update_many(times[lo:hi], counts[lo:hi])
        travelled = kind.from_bytes(travelled.to_bytes())
    assert whole.to_bytes() == pieces.to_bytes() == travelled.to_bytes()


@alone
@pytest.mark.parametrize("epsilon", [0.05, 0.9])
def test_merged_one_by_one_a_thousand_times_bounds_still_hold(kind, epsilon):
    """Who merges so loses all that was promised, but gets no wrong promise and no error."""
    whole = kind(window=SlidingWindow(100), epsilon=epsilon)
    for number in range(1000):
        other = kind(window=SlidingWindow(100), epsilon=epsilon)
        other.update_many([number, number])
        whole = whole.merge(other)
    assert whole.levels == 1000
    assert kind.merge_all([whole]).to_bytes() == whole.to_bytes()
    for length in (1, 10, 100):
        assert whole.lower_bound(length) <= 2 * length <= whole.upper_bound(length)
    assert whole.error > 1e20
    assert kind.from_bytes(whole.to_bytes()).error == whole.error
    assert whole.upper_bound(now=5000) == 0
