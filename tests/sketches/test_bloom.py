"""A Bloom filter finds all keys that were put in, and hardly any other."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches._kernels_hash import hash_word, mix
from tacit.sketches.bloom import BloomFilter
from tacit.sketches.serial import Writer, seal
from tacit.vocabulary import DataError, LineageMismatch, OptionError
from tests.sketches.chance import assert_rare

key_lists = st.one_of(st.lists(st.integers(-(2**63), 2**64 - 1)), st.lists(st.text(max_size=6)))


@given(keys=key_lists, seed=st.integers(-3, 3), hashes=st.integers(1, 5))
def test_what_was_put_in_is_found(keys, seed, hashes):
    seen = BloomFilter(bits=128, hashes=hashes, seed=seed)
    seen.update_many(keys)
    assert seen.contains_many(keys).all()
    assert all(key in seen for key in keys)
    assert seen.lower_bound() <= len(set(keys))


@given(words=st.lists(st.integers(0, 2**64 - 1)), seed=st.integers(-3, 3))
def test_its_bits_are_those_of_its_twin(words, seed):
    seen = BloomFilter(bits=192, hashes=4, seed=seed)
    seen.update_words(np.array(words, dtype=np.uint64))
    expected = set()
    for word in words:
        state = int(hash_word(np.uint64(word), np.uint64(seed % 2**64)))
        for k in range(1, 5):
            mixed = int(mix(np.uint64((state + k * 0x9E3779B97F4A7C15) % 2**64)))
            expected.add((mixed >> 32) * 192 >> 32)
    kept = {64 * k + bit for k, word in enumerate(seen._field.tolist()) for bit in range(64) if word >> bit & 1}
    assert kept == expected


@pytest.mark.parametrize("share", [0.5, 0.1, 0.01, 0.001])
@pytest.mark.parametrize("capacity", [1, 10, 300])
@pytest.mark.parametrize("step", [1, 1 << 32])
def test_a_full_filter_finds_others_as_rarely_as_promised(capacity, share, step):
    """Each seed gives one trial: one key that is not there, asked of a filter that has all the keys it is made for."""
    keys = np.arange(1, capacity + 1) * step
    found = 0
    for seed in range(3000):
        seen = BloomFilter.for_capacity(capacity, share, seed=seed)
        seen.update_many(keys)
        found += seen.contains(0)
    assert_rare(found, 3000, share)


@pytest.mark.parametrize("capacity", [1, 2, 5, 50, 400])
@pytest.mark.parametrize("share", [0.9, 0.3, 0.05, 0.01, 1e-5])
def test_the_size_is_enough_for_random_bits(capacity, share):
    """The exact rate of false positives: E[(set bits / all bits)^hashes], counted choice by choice."""
    seen = BloomFilter.for_capacity(capacity, share)
    chances = np.zeros(min(seen.bits, seen.hashes * capacity) + 1)
    chances[0] = 1.0
    filled = np.arange(len(chances)) / seen.bits
    for _ in range(seen.hashes * capacity):
        moved = chances * (1 - filled)
        chances = chances * filled
        chances[1:] += moved[:-1]
    assert float(chances @ filled**seen.hashes) <= share * (1 + 1e-9)


@pytest.mark.parametrize("distinct", [0, 1, 100, 1000, 3000])
def test_the_number_of_distinct_keys_is_estimated(distinct):
    above = 0
    for seed in range(200):
        seen = BloomFilter.for_capacity(1000, 0.01, seed=seed)
        seen.update_many(np.repeat(np.arange(distinct), 2))
        assert seen.lower_bound() <= distinct
        assert seen.estimate() == pytest.approx(distinct, rel=0.12, abs=0.5)
        above += seen.upper_bound(0.1) < distinct
    assert_rare(above, 200, 0.1)


def test_a_filter_of_too_many_keys_finds_everything_and_says_so():
    seen = BloomFilter(bits=64, hashes=3)
    seen.update_many(range(1000))
    assert seen.estimate() == seen.upper_bound() == math.inf
    assert seen.false_positive == 1.0
    assert seen.contains_many(range(2000, 2100)).all()


@pytest.mark.middle
@given(parts=st.lists(st.lists(st.integers(0, 1000), max_size=10), min_size=1, max_size=4))
def test_a_merge_is_the_filter_of_all(parts):
    filters, whole = [BloomFilter(bits=128, hashes=3) for _ in parts], BloomFilter(bits=128, hashes=3)
    for seen, part in zip(filters, parts, strict=True):
        seen.update_many(part)
        whole.update_many(part)
    assert BloomFilter.merge_all(filters).to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("change", [{"bits": 192}, {"hashes": 4}, {"seed": 1}])
def test_another_lineage_is_refused_by_name(change):
    shape = {"bits": 128, "hashes": 3, "seed": 0}
    (name,) = change
    with pytest.raises(LineageMismatch, match=rf"differ in {name} \({shape[name]} and {change[name]}\)"):
        BloomFilter(**shape).merge(BloomFilter(**shape | change))


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"bits": 100, "hashes": 3}, "a multiple of 64, and 100 is none"),
        ({"bits": 0, "hashes": 3}, "bits of a sketch is a whole number of 64 to"),
        ({"bits": 64, "hashes": 0}, "hashes of a sketch is a whole number of 1 to 64"),
    ],
)
def test_a_wrong_shape_is_refused(options, why):
    with pytest.raises(OptionError, match=why):
        BloomFilter(**options)


@pytest.mark.parametrize(("capacity", "share"), [(0, 0.01), (1.5, 0.01), (10, 0.0), (10, 1.0)])
def test_a_wrong_capacity_is_refused(capacity, share):
    with pytest.raises(OptionError, match=r"of a sketch is"):
        BloomFilter.for_capacity(capacity, share)


@pytest.mark.parametrize("fields", [(128, 3, 8), (64, 0, 8), (64, 65, 8), (60, 3, 8), (0, 3, 0), (-64, 3, 8)])
def test_bytes_that_contradict_themselves_are_refused(fields):
    bits, hashes, size = fields
    writer = Writer()
    writer.integers(bits, hashes, 0)
    writer.raw(bytes(size))
    with pytest.raises(DataError, match="damaged"):
        BloomFilter.from_bytes(seal(3, writer))
