"""Keys become the same 64 bits everywhere, and cells collide no more often than promised, whatever the keys are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches._kernels_hash import cell_of, hash_bytes, hash_word, mix
from tacit.sketches.hashing import fingerprint, fingerprints, hash_ranges, row_words
from tacit.vocabulary import DataError, OptionError
from tests.sketches.chance import assert_rare

MASK = 2**64 - 1
P1, P2, P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P4, P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def turn(x: int, bits: int) -> int:
    return ((x << bits) | (x >> (64 - bits))) & MASK


def xxh64(data: bytes, seed: int) -> int:
    """XXH64 as its specification says it, slowly."""

    def step(lane: int, word: int) -> int:
        return turn((lane + word * P2) & MASK, 31) * P1 & MASK

    rest = data
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while len(rest) >= 32:
            lanes = [step(lane, int.from_bytes(rest[8 * k : 8 * k + 8], "little")) for k, lane in enumerate(lanes)]
            rest = rest[32:]
        mixed = sum(turn(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18), strict=True)) & MASK
        for lane in lanes:
            mixed = ((mixed ^ step(0, lane)) * P1 + P4) & MASK
    else:
        mixed = (seed + P5) & MASK
    mixed = (mixed + len(data)) & MASK
    while len(rest) >= 8:
        mixed = (turn(mixed ^ step(0, int.from_bytes(rest[:8], "little")), 27) * P1 + P4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        mixed = (turn(mixed ^ (int.from_bytes(rest[:4], "little") * P1 & MASK), 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        mixed = turn(mixed ^ (byte * P5 & MASK), 11) * P1 & MASK
    mixed = (mixed ^ (mixed >> 33)) * P2 & MASK
    mixed = (mixed ^ (mixed >> 29)) * P3 & MASK
    return mixed ^ (mixed >> 32)


def compiled(data: bytes, seed: int) -> int:
    return int(hash_bytes(np.frombuffer(data, dtype=np.uint8), 0, len(data), np.uint64(seed)))


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        (b"", 0xEF46DB3751D8E999),
        (b"a", 0xD24EC4F1A98C6E5B),
        (b"abc", 0x44BC2CF5AD770999),
        (b"Nobody inspects the spammish repetition", 0xFBCEA83C8A378BF1),
    ],
)
def test_known_vectors(text, hashed):
    assert compiled(text, 0) == hashed == xxh64(text, 0)


@given(data=st.binary(max_size=150), seed=st.integers(0, MASK))
def test_bytes_of_any_length_are_hashed_as_the_specification_says(data, seed):
    assert compiled(data, seed) == xxh64(data, seed)


@given(word=st.integers(0, MASK), seed=st.integers(0, MASK))
def test_a_word_is_hashed_as_its_eight_bytes(word, seed):
    assert int(hash_word(np.uint64(word), np.uint64(seed))) == xxh64(word.to_bytes(8, "little"), seed)


@given(keys=st.lists(st.text(max_size=40), max_size=20), seed=st.integers(-(2**63), 2**63 - 1))
def test_texts_are_hashed_as_spark_does(keys, seed):
    """Spark's xxhash64(seed, text) starts with 42 and hands the hash of each column on as the seed of the next."""
    chained = xxh64((seed % 2**64).to_bytes(8, "little"), 42)
    assert fingerprints(keys, seed=seed).tolist() == [xxh64(key.encode(), chained) for key in keys]
    assert [fingerprint(key.encode(), seed=seed) for key in keys] == fingerprints(keys, seed=seed).tolist()


@given(keys=st.lists(st.binary(max_size=40), max_size=20))
def test_ranges_of_bytes_are_hashed_as_their_keys(keys):
    starts = np.cumsum([0, *map(len, keys)])
    ranges = hash_ranges(np.frombuffer(b"".join(keys), dtype=np.uint8), starts, seed=3)
    assert ranges.tolist() == fingerprints(keys, seed=3).tolist()


@given(keys=st.lists(st.integers(-(2**63), 2**64 - 1)))
def test_whole_numbers_are_their_own_bits(keys):
    assert fingerprints(keys, seed=1).tolist() == [key % 2**64 for key in keys]


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, np.uint64, np.bool_])
def test_arrays_of_whole_numbers_are_as_their_lists(kind):
    keys = np.array([0, 1, 1, 0]).astype(kind)
    if np.issubdtype(kind, np.signedinteger):
        keys = -keys
    assert fingerprints(keys, seed=1).tolist() == fingerprints(keys.tolist(), seed=1).tolist()


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ([1.5], "1.5 is a float"),
        (["a", 1], "several kinds"),
        ([1, "a"], "several kinds"),
        ([np.int64(1), "a"], "several kinds"),
        ([None], "None is a NoneType"),
        (np.array([1.5]), "is a float"),
        (np.zeros((2, 2), dtype=np.int64), "one after the other"),
        ([2**64], "at most 64 bits"),
        ("so2", "several keys are a list"),
        (b"so2", "several keys are a list"),
        (["\ud800"], "UTF-8"),
    ],
)
def test_what_is_no_key_is_refused(keys, why):
    with pytest.raises(DataError, match=why):
        fingerprints(keys, seed=0)


@pytest.mark.parametrize("seed", [2**63, -(2**63) - 1, 1.5, "a"])
def test_what_is_no_seed_is_refused(seed):
    with pytest.raises(OptionError, match="a seed is a whole number of 64 bits"):
        fingerprint("a", seed=seed)


@given(seed=st.integers(-(2**63), 2**63 - 1), rows=st.integers(0, 20))
def test_row_words_are_splitmix64(seed, rows):
    expected = [int(mix(np.uint64((seed + 0x9E3779B97F4A7C15 * k) % 2**64))) for k in range(1, 3 * rows + 1)]
    assert row_words(seed, rows).ravel().tolist() == expected


def collides(one: int, other: int, width: int, seeds: range) -> int:
    count = 0
    for seed in seeds:
        (row,) = row_words(seed, 1)
        cells = [int(cell_of(np.uint64(key), *row, np.uint64(width))) for key in (one, other)]
        assert all(0 <= cell < width for cell in cells)
        count += cells[0] == cells[1]
    return count


@pytest.mark.parametrize("width", [1, 3, 30, 1024])
@pytest.mark.parametrize(
    ("one", "other"),
    [(0, 1), (0, 1 << 63), (1 << 32, 2 << 32), (1, 1 << 32), (7, 7 + (1 << 32)), (2**64 - 1, 2**63 - 1), (5, 5 << 8)],
)
def test_adversarial_keys_share_a_cell_no_more_often_than_promised(one, other, width):
    """Keys that a weaker hash (the key times an odd word, say) would bring together far too often."""
    assert_rare(collides(one, other, width, range(2000)), 2000, 1 / width)


@pytest.mark.parametrize("step", [1, 1 << 16, 1 << 32, (1 << 32) + 1, 0x9E3779B97F4A7C15])
def test_rows_of_keys_with_a_pattern_fill_cells_evenly_on_average(step):
    """Pairwise: over many seeds, the number of pairs that share a cell has the mean that random cells give."""
    keys = [np.uint64(k * step % 2**64) for k in range(64)]
    shared = []
    for seed in range(400):
        (row,) = row_words(seed, 1)
        cells = np.bincount([int(cell_of(key, *row, np.uint64(16))) for key in keys], minlength=16)
        shared.append((cells * (cells - 1)).sum() / 2)
    promised = 64 * 63 / 2 / 16
    assert abs(np.mean(shared) - promised) < 5 * np.std(shared) / np.sqrt(len(shared)) + 1e-9
