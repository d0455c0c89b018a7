"""Ranges, quantiles and heavy prefixes over a window, against a list of all arrivals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.sketches import DyadicEcm, SlidingWindow
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.chance import assert_rare

counters = pytest.mark.parametrize("counter", ["histogram", "wave"])
WINDOW = SlidingWindow(400)


def made(counter="histogram", epsilon=0.3, delta=0.2, bits=12, **options):
    return DyadicEcm.for_query(epsilon, delta, bits=bits, window=WINDOW, counter=counter, **options)


def arrivals(seed, rows=1200, bits=12):
    """Keys in clusters, some of them often."""
    rng = np.random.default_rng(seed)
    often = rng.integers(0, 2**bits, 5)[rng.integers(0, 5, rows)]
    keys = np.where(rng.random(rows) < 0.4, often, rng.integers(0, 2**bits, rows) // 3)
    return keys, np.sort(rng.integers(0, 700, rows))


@counters
def test_ranges_ranks_and_quantiles_fail_as_rarely_as_promised(counter):
    seeds, (keys, times) = 80, arrivals(1)
    failed = np.zeros((3, 2), dtype=int)
    for seed in range(seeds):
        sketch = made(counter, seed=seed)
        assert sketch.heights > 2
        sketch.update_many(keys, times)
        for place, length in enumerate((400, 60)):
            inside = np.sort(keys[times > sketch.now - length])
            lo, hi = 301, 1830
            truth = int(((inside >= lo) & (inside <= hi)).sum())
            failed[0, place] += abs(sketch.range_count(lo, hi, length) - truth) > 0.3 * len(inside)
            failed[1, place] += abs(sketch.rank(777, length) - int((inside <= 777).sum())) > 0.3 * len(inside)
            found, allowed = sketch.quantile(0.6, length), 0.45
            below, upto = int((inside < found).sum()), int((inside <= found).sum())
            failed[2, place] += not (0.6 - allowed) * len(inside) <= upto or not below <= (0.6 + allowed) * len(inside)
    for count in failed[:2].ravel():
        assert_rare(int(count), seeds, 0.2)
    for count in failed[2]:
        assert_rare(int(count), seeds, 0.9)


@counters
@pytest.mark.parametrize("bits", [1, 5])
@settings(max_examples=25)
@given(rows=st.lists(st.tuples(st.integers(0, 31), st.sampled_from([0, 1, 30]), st.integers(0, 3)), max_size=60))
def test_where_every_key_has_its_cell_only_time_is_uncertain(counter, bits, rows):
    sketch = made(counter, epsilon=0.05, delta=0.01, bits=bits)
    assert sketch.heights == 0
    rows = [(key % 2**bits, gap, count) for key, gap, count in rows]
    times = np.cumsum([gap for _, gap, _ in rows]) if rows else []
    sketch.update_many([key for key, _, _ in rows], times, [count for _, _, count in rows])
    inside = [(key, count) for (key, _, count), time in zip(rows, times, strict=True) if time > sketch.now - 400]
    total = sum(count for _, count in inside)
    for lo, hi in ((0, 2**bits - 1), (1, 1), (0, 2 ** (bits - 1))):
        truth = sum(count for key, count in inside if lo <= key <= hi)
        assert abs(sketch.range_count(lo, hi) - truth) <= 0.025 * truth
    for key in range(2**bits):
        truth = sum(count for each, count in inside if each == key)
        assert sketch.lower_bound(key) <= truth <= sketch.upper_bound(key)
        if total and truth >= 0.3 * total:
            assert key in sketch.heavy_hitters(0.3)


@counters
@settings(max_examples=30)
@given(seed=st.integers(0, 2**32), length=st.sampled_from([400, 80, 7]), parts=st.sampled_from([1, 3]))
def test_no_heavy_key_is_missing(counter, seed, length, parts):
    keys, times = arrivals(seed)
    sketches = [made(counter, epsilon=0.2, seed=seed) for _ in range(parts)]
    for part, sketch in enumerate(sketches):
        sketch.update_many(keys[part::parts], times[part::parts])
    sketch = DyadicEcm.merge_all(sketches) if parts > 1 else sketches[0]
    inside = keys[times > sketch.now - length]
    found = sketch.heavy_hitters(0.06, length)
    for key in np.unique(keys):
        if (inside == key).sum() >= 0.06 * len(inside) and len(inside):
            assert int(key) in found
    assert list(found.values()) == sorted(found.values(), reverse=True)
    prefixes = sketch.hierarchical_heavy_hitters(0.5, length)
    assert all(0 <= prefix < 2**bits for prefix, bits in prefixes)


def test_a_heavy_prefix_is_found_without_its_heavy_parts():
    sketch = made(epsilon=0.1, delta=0.01, bits=16)
    keys = [5] * 300 + list(range(512, 1024)) + [40_000] * 10
    sketch.update_many(keys, np.arange(len(keys)) // 10)
    found = sketch.hierarchical_heavy_hitters(0.25)
    assert found[5, 16] == pytest.approx(300, rel=0.1)
    assert found[2, 8] == pytest.approx(256, rel=0.1)
    assert found[3, 8] == pytest.approx(256, rel=0.1)
    assert len(found) == 3


@counters
def test_merged_written_and_read_it_answers_for_all(counter):
    keys, times = arrivals(7)
    whole, parts = made(counter, levels=1), [made(counter, levels=1) for _ in range(4)]
    whole.update_many(keys, times)
    for part, sketch in enumerate(parts):
        sketch.update_many(keys[part::4], times[part::4])
    merged = DyadicEcm.merge_all(parts)
    again = DyadicEcm.from_bytes(merged.to_bytes())
    assert (merged.levels, again.levels, again.to_bytes() == merged.to_bytes()) == (1, 1, True)
    for lo, hi in ((0, 4095), (17, 3000), (100, 100)):
        assert merged.range_count(lo, hi, 99) == again.range_count(lo, hi, 99)
        assert abs(merged.range_count(lo, hi) - whole.range_count(lo, hi)) <= 0.3 * whole.total()
    assert merged.error <= 0.3 + 1e-9
    assert merged.total() == pytest.approx(int((times > merged.now - 400).sum()), rel=0.15)
    assert merged.quantile(0.5) == again.quantile(0.5)


def test_rows_and_what_is_refused():
    sketch = DyadicEcm.for_query(0.2, 0.1, bits=8, window=SlidingWindow(3, by="rows"))
    sketch.update_many([1, 1, 200, 3])
    assert (sketch.range_count(0, 10), sketch.total(), sketch.quantile(0), sketch.quantile(1)) == (2, 3, 1, 200)
    with pytest.raises(MergeError):
        sketch.merge(sketch)
    with pytest.raises(LineageMismatch, match="bits"):
        made().merge(made(bits=13))
    empty = made()
    assert empty.range_count(0, 4095) == empty.total() == 0
    assert empty.heavy_hitters(0.2) == empty.hierarchical_heavy_hitters(0.2) == {}
    with pytest.raises(DataError, match="no quantiles"):
        empty.quantile(0.5)
    for lo, hi in ((-1, 3), (5, 4), (0, 4096)):
        with pytest.raises(DataError):
            empty.range_count(lo, hi)
    with pytest.raises(DataError):
        empty.update(4096, 1)
    with pytest.raises(OptionError):
        empty.quantile(1.5)
    with pytest.raises(OptionError, match="share"):
        empty.heavy_hitters(0.0001)
    for bits in (0, 33):
        with pytest.raises(OptionError, match="bits"):
            made(bits=bits)
    with pytest.raises(OptionError, match="neither"):
        made("random_wave")
