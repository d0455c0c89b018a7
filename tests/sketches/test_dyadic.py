"""Ranges, ranks, quantiles and heavy prefixes: exact where all is exact, and as good as promised elsewhere."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches import DyadicEcm, SlidingWindow
from tacit.sketches.count_min import CountMin
from tacit.sketches.dyadic import DyadicCountMin
from tacit.sketches.ranges import nodes_of, share_of
from tacit.sketches.serial import Writer, seal
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.chance import assert_rare

streams = st.lists(st.tuples(st.integers(0, 63), st.integers(0, 9)), max_size=40)
small = st.fixed_dictionaries(
    {"width": st.integers(1, 12), "depth": st.integers(1, 3), "bits": st.just(6), "seed": st.integers(-3, 3)}
)


def exact(stream, bits=6):
    """A sketch with a cell for each key, and the truth."""
    sketch, truth = DyadicCountMin(width=2**bits, depth=1, bits=bits), Counter()
    sketch.update_many([key for key, _ in stream], [count for _, count in stream])
    for key, count in stream:
        truth[key] += count
    assert sketch.epsilon == 0.0 == sketch.delta
    return sketch, truth


@given(lo=st.integers(0, 255), hi=st.integers(0, 255), heights=st.integers(0, 8))
def test_nodes_make_up_their_range(lo, hi, heights):
    lo, hi = min(lo, hi), max(lo, hi)
    nodes, (start, stop) = nodes_of(lo, hi, heights)
    parts = [range(prefix << height, (prefix + 1) << height) for height, prefix in nodes]
    parts.append(range(start << heights, stop << heights))
    assert sorted(key for part in parts for key in part) == list(range(lo, hi + 1))
    assert max(Counter(height for height, _ in nodes).values(), default=0) <= 2


@given(stream=streams, lo=st.integers(0, 63), hi=st.integers(0, 63), shape=small)
def test_ranges_never_under_count(stream, lo, hi, shape):
    lo, hi = min(lo, hi), max(lo, hi)
    sketch, truth = DyadicCountMin(**shape), exact(stream)[1]
    for key, count in stream:
        sketch.update(key, count)
    inside = sum(count for key, count in truth.items() if lo <= key <= hi)
    assert inside <= sketch.range_count(lo, hi) <= sketch.total == sum(truth.values())
    assert sketch.range_count(0, 63) == sketch.total
    assert truth[lo] <= sketch.estimate(lo) == sketch.upper_bound(lo)
    assert sketch.lower_bound(lo) <= sketch.estimate(lo)


@given(stream=streams, lo=st.integers(0, 63), hi=st.integers(0, 63), phi=st.floats(0, 1))
def test_where_all_is_exact_answers_are(stream, lo, hi, phi):
    lo, hi = min(lo, hi), max(lo, hi)
    sketch, truth = exact(stream)
    assert sketch.range_count(lo, hi) == sum(count for key, count in truth.items() if lo <= key <= hi)
    assert sketch.rank(hi) == sum(count for key, count in truth.items() if key <= hi)
    assert sketch.estimate_many(range(64)).tolist() == [truth[key] for key in range(64)]
    if sketch.total:
        ordered = sorted(truth.elements())
        assert sketch.quantile(phi) == ordered[max(1, math.ceil(phi * len(ordered))) - 1]
        assert all(sketch.lower_bound(key) == count for key, count in truth.items())


@pytest.mark.parametrize("share", [0.07, 0.14, 0.28, 0.29, 0.55, 0.57, 0.58])
def test_a_key_with_just_its_share_is_heavy(share):
    """0.07 * 100 is 7.000000000000001, and a key that came 7 times in 100 was missing."""
    times = round(100 * share)
    sketch, _ = exact([(5, times), *((key, 1) for key in range(6, 6 + min(50, 100 - times)))])
    sketch.update(63, 100 - sketch.total)
    assert 5 in sketch.heavy_hitters(share)
    assert (5, 6) in sketch.hierarchical_heavy_hitters(share)
    assert sketch.quantile(share) == 5
    windowed = DyadicEcm.for_query(0.05, 0.1, bits=6, window=SlidingWindow(10))
    for key, count in ((5, times), (63, 100 - times)):
        windowed.update(key, 1, count)
    assert 5 in windowed.heavy_hitters(share)
    assert (5, 6) in windowed.hierarchical_heavy_hitters(share)
    assert windowed.quantile(share) == 5


@given(stream=streams, share=st.floats(0.01, 1))
def test_where_all_is_exact_heavy_hitters_are(stream, share):
    sketch, truth = exact(stream)
    heavy = {key: count for key, count in truth.items() if count and count >= share_of(share, sketch.total)}
    assert sketch.heavy_hitters(share) == heavy
    assert list(sketch.heavy_hitters(share).values()) == sorted(heavy.values(), reverse=True)


@given(stream=streams, share=st.floats(0.01, 1))
def test_where_all_is_exact_hierarchical_heavy_hitters_are(stream, share):
    """By the definition: from the keys up, what is not yet claimed by a heavy prefix below."""
    sketch, left = exact(stream)
    expected, total = {}, sketch.total
    for length in range(6, -1, -1):
        for prefix in range(2**length):
            inside = [key for key in left if key >> (6 - length) == prefix]
            unclaimed = sum(left[key] for key in inside)
            if unclaimed and unclaimed >= share_of(share, total):
                expected[prefix, length] = unclaimed
                for key in inside:
                    left[key] = 0
    assert sketch.hierarchical_heavy_hitters(share) == expected


@given(stream=streams, share=st.floats(0.3, 1), shape=small)
def test_no_heavy_hitter_is_missed(stream, share, shape):
    sketch, truth = DyadicCountMin(**shape | {"width": 12}), exact(stream)[1]
    sketch.update_many([key for key, _ in stream], [count for _, count in stream])
    found = sketch.heavy_hitters(share)
    for key, count in truth.items():
        if count and count >= share * sketch.total:
            assert found[key] >= count


@pytest.fixture(scope="module")
def stream():
    """Keys of 32 bits in clusters, most of them few."""
    rng = np.random.default_rng(4)
    return np.sort((rng.zipf(1.2, 4000) * 40_503 * rng.integers(1, 4, 4000)) % 2**32)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.2), (0.3, 0.05), (0.3, 0.002)])
def test_more_than_epsilon_is_as_rare_as_promised(stream, epsilon, delta):
    lo, hi, beyond, astray = 12_345, 2**31 + 98_765, 0, 0
    inside = int(((stream >= lo) & (stream <= hi)).sum())
    for seed in range(150):
        sketch = DyadicCountMin.for_error(epsilon, delta, seed=seed)
        assert 0 < sketch.heights < 32
        sketch.update_many(stream)
        count = sketch.range_count(lo, hi)
        assert count >= inside
        beyond += count > inside + epsilon * len(stream)
        middle = sketch.quantile(0.5)
        assert np.searchsorted(stream, middle, side="left") < 0.5 * len(stream)
        astray += np.searchsorted(stream, middle, side="right") < (0.5 - epsilon / 2) * len(stream)
    assert_rare(beyond, 150, delta)
    assert_rare(astray, 150, min(1.0, sketch.heights * sketch.delta))


def test_light_keys_are_hardly_ever_heavy_hitters(stream):
    truth, wrong = Counter(stream.tolist()), 0
    for seed in range(50):
        sketch = DyadicCountMin(width=200, depth=4, seed=seed)
        sketch.update_many(stream)
        found = sketch.heavy_hitters(0.05)
        wrong += any(truth[key] < (0.05 - sketch.epsilon) * len(stream) for key in found)
        assert {key for key, count in truth.items() if count >= 0.05 * len(stream)} <= set(found)
        for (prefix, bits), count in sketch.hierarchical_heavy_hitters(0.05).items():
            inside = int((stream >> (32 - bits) == prefix).sum())
            assert 0.05 * len(stream) <= count <= inside + 0.2 * len(stream)
    assert wrong <= 5


def test_keys_of_64_bits_and_of_one():
    wide = DyadicCountMin(width=64, depth=2, bits=64)
    wide.update_many([0, 2**64 - 1, 2**63], [1, 2, 3])
    wide.update_words(np.array([5], dtype=np.uint64))
    assert wide.range_count(0, 2**64 - 1) == 7 == wide.rank(2**64 - 1)
    assert wide.range_count(2**63, 2**64 - 1) >= 5
    assert wide.quantile(1.0) == 2**64 - 1
    assert wide.heavy_hitters(0.4) == {2**63: 3}
    narrow = DyadicCountMin.for_error(0.5, 0.5, bits=1)
    narrow.update_many(np.array([True, False, True]))
    assert (narrow.estimate(1), narrow.rank(0), narrow.quantile(0.5)) == (2, 1, 1)


def test_the_lowest_sketch_is_a_count_min():
    dyadic, plain = DyadicCountMin(width=9, depth=3, bits=32, seed=5), CountMin(width=9, depth=3, seed=5)
    for sketch in (dyadic, plain):
        sketch.update_many(range(500))
    assert dyadic.estimate_many(range(600)).tolist() == plain.estimate_many(range(600)).tolist()


@given(parts=st.lists(streams, min_size=1, max_size=4), shape=small)
def test_a_merge_is_the_sketch_of_all(parts, shape):
    sketches, whole = [DyadicCountMin(**shape) for _ in parts], DyadicCountMin(**shape)
    for sketch, part in zip(sketches, parts, strict=True):
        for target in (sketch, whole):
            target.update_many([key for key, _ in part], [count for _, count in part])
    assert DyadicCountMin.merge_all(sketches).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("change", [{"width": 6}, {"depth": 3}, {"bits": 9}, {"seed": 1}])
def test_another_lineage_is_refused_by_name(change):
    shape = {"width": 5, "depth": 2, "bits": 8, "seed": 0}
    (name,) = change
    with pytest.raises(LineageMismatch, match=rf"differ in {name} \({shape[name]} and {change[name]}\)"):
        DyadicCountMin(**shape).merge(DyadicCountMin(**shape | change))


def test_what_cannot_be_asked_is_refused():
    sketch = DyadicCountMin(width=20, depth=2, bits=8)
    with pytest.raises(DataError, match="has no quantiles"):
        sketch.quantile(0.5)
    sketch.update(7, 2**62)
    for lo, hi in [(-1, 3), (4, 3), (0, 256)]:
        with pytest.raises(DataError, match="a range of this sketch"):
            sketch.range_count(lo, hi)
    for share in (0, 1.5, float("nan")):
        with pytest.raises(OptionError, match="a share of the total is above 0"):
            sketch.heavy_hitters(share)
    with pytest.raises(OptionError, match=r"is not above 0\.136"):
        sketch.heavy_hitters(0.1)
    with pytest.raises(OptionError, match="a share of 0 to 1"):
        sketch.quantile(1.5)
    with pytest.raises(MergeError, match="merge fewer"):
        sketch.merge(sketch)
    for bits in (0, 65, 2.5):
        with pytest.raises(OptionError, match="bits of a sketch is a whole number of 1 to 64"):
            DyadicCountMin.for_error(0.1, 0.1, bits=bits)
    with pytest.raises(OptionError, match="too many; allow a larger error"):
        DyadicCountMin(width=2**22, depth=3, bits=64)


@pytest.mark.parametrize("keys", [[256], [-1], np.array([-1]), np.array([256]), ["a"], [1.5], np.array([1.5]), "ab"])
def test_what_is_no_key_is_refused(keys):
    sketch = DyadicCountMin(width=20, depth=2, bits=8)
    with pytest.raises(DataError, match=r"are whole numbers of 0 to 2\^8 - 1|several keys are a list"):
        sketch.update_many(keys)
    assert sketch.total == 0


@pytest.mark.parametrize(
    ("shape", "top", "cells"),
    [
        ((4, 1, 2, 0, 3), [1, 2, 0, 1], []),
        ((4, 1, 2, 0, 3), [1, 2], []),
        ((4, 1, 3, 0, 3), [1, 2, 0, 0], [1, 1, 1, 1]),
        ((4, 1, 3, 0, 3), [1, 2, 0, 0], []),
        ((0, 1, 3, 0, 0), [0], [0, 0, 0]),
        ((4, 1, 65, 0, 0), [0], []),
        ((4, 1, 2, 0, -3), [1, 2, 0, 0], []),
    ],
)
def test_bytes_that_contradict_themselves_are_refused(shape, top, cells):
    writer = Writer()
    writer.integers(*shape)
    writer.words(np.array(top, dtype=np.uint64))
    writer.words(np.array(cells, dtype=np.uint64))
    with pytest.raises(DataError, match="damaged"):
        DyadicCountMin.from_bytes(seal(2, writer))
