"""Count-Min never under-counts, rarely over-counts by more than it says, and merges without loss."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches._kernels_hash import cell_of
from tacit.sketches.count_min import CountMin
from tacit.sketches.hashing import fingerprint, row_words
from tacit.sketches.serial import Writer, seal
from tacit.vocabulary import DataError, LineageMismatch, MergeError, OptionError
from tests.sketches.chance import assert_rare

keys = st.one_of(st.integers(-(2**63), 2**64 - 1), st.integers(0, 8))
streams = st.lists(st.tuples(keys, st.integers(0, 100)), max_size=40)
shapes = st.fixed_dictionaries({"width": st.integers(1, 12), "depth": st.integers(1, 4), "seed": st.integers(-5, 5)})


class Twin:
    """Count-Min in plain Python."""

    def __init__(self, width: int, depth: int, seed: int, conservative: bool) -> None:
        self.width, self.conservative, self.seed = width, conservative, seed
        self.rows, self.table = row_words(seed, depth), [[0] * width for _ in range(depth)]

    def places(self, key):
        word = np.uint64(fingerprint(key, seed=self.seed))
        cells = [int(cell_of(word, *row, np.uint64(self.width))) for row in self.rows]
        return list(zip(self.table, cells, strict=True))

    def update(self, key, count):
        raised = self.estimate(key) + count
        for line, cell in self.places(key):
            line[cell] = max(line[cell], raised) if self.conservative else line[cell] + count

    def estimate(self, key):
        return min(line[cell] for line, cell in self.places(key))


@given(stream=streams, shape=shapes, conservative=st.booleans())
def test_it_is_what_its_twin_is(stream, shape, conservative):
    sketch, twin = CountMin(**shape, conservative=conservative), Twin(**shape, conservative=conservative)
    sketch.update_many([key for key, _ in stream], [count for _, count in stream])
    for key, count in stream:
        twin.update(key, count)
    assert sketch.cells.tolist() == twin.table
    assert sketch.total == sum(count for _, count in stream)
    assert [sketch.estimate(key) for key, _ in stream] == [twin.estimate(key) for key, _ in stream]


@given(stream=streams, shape=shapes, conservative=st.booleans())
def test_it_never_under_counts_nor_counts_more_than_there_is(stream, shape, conservative):
    sketch, truth = CountMin(**shape, conservative=conservative), Counter()
    for key, count in stream:
        sketch.update(key, count)
        truth[key % 2**64] += count
    for key, count in truth.items():
        assert count <= sketch.estimate(key) == sketch.upper_bound(key) <= sketch.total
        assert sketch.lower_bound(key) <= sketch.estimate(key)


@given(stream=streams, shape=shapes)
def test_conservative_over_counts_no_more_than_plain(stream, shape):
    plain, conservative = CountMin(**shape), CountMin(**shape, conservative=True)
    for sketch in (plain, conservative):
        sketch.update_many([key for key, _ in stream], [count for _, count in stream])
    assert (conservative.cells <= plain.cells).all()


@pytest.mark.parametrize("conservative", [False, True])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 0.1), (0.02, 0.3)])
def test_more_than_epsilon_is_as_rare_as_promised(epsilon, delta, conservative):
    """One key among many of skewed counts, over many seeds; each seed is one trial."""
    rng = np.random.default_rng(1)
    others, counts = np.arange(1, 400), rng.zipf(1.5, 399).clip(max=1000)
    beyond, below = 0, 0
    for seed in range(600):
        sketch = CountMin.for_error(epsilon, delta, seed=seed, conservative=conservative)
        sketch.update_many(others, counts)
        sketch.update(0, 40)
        beyond += sketch.estimate(0) - 40 > epsilon * sketch.total
        below += sketch.lower_bound(0) > 40
    assert_rare(beyond, 600, delta)
    assert_rare(below, 600, delta)


def test_an_inner_product_is_as_good_as_promised():
    rng = np.random.default_rng(2)
    left, right = (rng.zipf(1.3, 200).clip(max=300) for _ in range(2))
    truth, beyond = int(np.dot(left, right)), 0
    for seed in range(400):
        one, other = (CountMin.for_error(0.05, 0.2, seed=seed) for _ in range(2))
        one.update_many(np.arange(200), left)
        other.update_many(np.arange(200), right)
        product = one.inner_product(other)
        assert product >= truth
        beyond += product - truth > 0.05 * one.total * other.total
        assert one.self_join_size() >= int(np.dot(left, left))
    assert_rare(beyond, 400, 0.2)


@given(stream=streams, shape=shapes)
def test_inner_products_are_exact_sums_of_cells_however_large(stream, shape):
    sketch = CountMin(**shape)
    sketch.update_many([key for key, _ in stream], [count << 52 for _, count in stream])
    assert sketch.self_join_size() == min(sum(cell**2 for cell in row) for row in sketch.cells.tolist())


@given(parts=st.lists(streams, min_size=1, max_size=4), shape=shapes)
def test_a_merge_of_plain_sketches_is_the_sketch_of_all(parts, shape):
    sketches, whole = [CountMin(**shape) for _ in parts], CountMin(**shape)
    for sketch, part in zip(sketches, parts, strict=True):
        for target in (sketch, whole):
            target.update_many([key for key, _ in part], [count for _, count in part])
    assert CountMin.merge_all(sketches).to_bytes() == whole.to_bytes()


def test_a_large_batch_is_counted_as_its_parts():
    words = np.random.default_rng(3).integers(0, 50, 10_001).astype(np.uint64)
    for conservative in (False, True):
        whole, parts = (CountMin(width=7, depth=5, conservative=conservative) for _ in range(2))
        whole.update_words(words)
        for part in np.array_split(words, 7):
            parts.update_words(part, np.ones(len(part), dtype=np.int64))
        assert whole.to_bytes() == parts.to_bytes()


def test_a_conservative_sketch_has_no_inner_product():
    sketch = CountMin(width=3, depth=2, conservative=True)
    with pytest.raises(OptionError, match="conservative=False"):
        sketch.self_join_size()


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"width": 0, "depth": 1}, "width of a sketch is a whole number of 1 to"),
        ({"width": 2.5, "depth": 1}, "2.5 is not"),
        ({"width": 1, "depth": 65}, "depth of a sketch is a whole number of 1 to 64"),
        ({"width": 2**27, "depth": 3}, "larger than 2\\^28 cells"),
        ({"width": 3, "depth": 3, "seed": 2**63}, "a seed is a whole number of 64 bits"),
    ],
)
def test_a_wrong_shape_is_refused(options, why):
    with pytest.raises(OptionError, match=why):
        CountMin(**options)


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ([1], "one count for each of 2 keys"),
        ([1, -1], "counts are 0 or more, and -1 is given"),
        ([1, 0.5], "counts are whole numbers"),
        ([[1], [2, 3]], "counts are whole numbers, and lists are given"),
        ([2**63 - 1, 1], "counts up to 2\\^63 - 1"),
        (np.array([2**64 - 1, 2**64 - 1], dtype=np.uint64), "counts up to 2\\^63 - 1"),
    ],
)
def test_wrong_counts_are_refused_and_change_nothing(counts, why):
    sketch = CountMin(width=5, depth=2)
    before = sketch.to_bytes()
    with pytest.raises(DataError, match=why):
        sketch.update_many([1, 2], counts)
    assert sketch.to_bytes() == before


@pytest.mark.parametrize("change", [{"width": 6}, {"depth": 3}, {"seed": 1}, {"conservative": True}])
def test_another_lineage_is_refused_by_name(change):
    shape = {"width": 5, "depth": 2, "seed": 0, "conservative": False}
    (name,) = change
    with pytest.raises(LineageMismatch, match=rf"differ in {name} \({shape[name]} and {change[name]}\)"):
        CountMin(**shape).merge(CountMin(**shape | change))


def test_a_merge_that_would_overflow_is_refused():
    sketch = CountMin(width=5, depth=2)
    sketch.update("a", 2**62)
    with pytest.raises(MergeError, match="merge fewer"):
        sketch.merge(sketch)
    with pytest.raises(OptionError, match="at least one"):
        CountMin.merge_all([])


def sealed(width, depth, seed, conservative, total, cells):
    writer = Writer()
    writer.integers(width, depth, seed, conservative, total)
    writer.words(np.array(cells, dtype=np.uint64))
    return seal(1, writer)


@pytest.mark.parametrize(
    "fields",
    [
        (2, 2, 0, 0, 3, [1, 2, 3]),
        (2, 2, 0, 0, 3, [1, 2, 3, 1]),
        (2, 2, 0, 0, -3, [1, 2, 3, 0]),
        (2, 2, 0, 2, 3, [1, 2, 3, 0]),
        (2, 2, 0, 1, 2, [1, 2, 3, 0]),
        (0, 0, 0, 0, 0, []),
        (1, 65, 0, 0, 0, [0] * 65),
        (-2, -2, 0, 0, 3, [1, 2, 3, 0]),
        (2, 1, 0, 0, 0, [2**63, 2**63]),
    ],
)
def test_bytes_that_contradict_themselves_are_refused(fields):
    with pytest.raises(DataError, match="damaged"):
        CountMin.from_bytes(sealed(*fields))
    assert CountMin.from_bytes(sealed(2, 2, 0, 0, 3, [1, 2, 3, 0])).total == 3


def test_cells_are_seen_but_not_written():
    with pytest.raises(ValueError, match="read-only"):
        CountMin(width=2, depth=2).cells[0, 0] = 1


def test_error_and_probability_are_those_of_the_shape():
    sketch = CountMin.for_error(0.01, 0.001)
    assert (sketch.width, sketch.depth) == (math.ceil(math.e / 0.01), math.ceil(math.log(1000)))
    assert sketch.epsilon <= 0.01
    assert sketch.delta <= 0.001
