"""A table of keys is a list and a dict, whatever the keys are and however badly they are hashed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.protocols._kernels_keys import _hash
from tacit.protocols.topk import key_table
from tacit.protocols.topk.key_table import KeyTable

ALL = (1 << 64) - 1
MASKS = st.sampled_from([ALL, 0, 1, 0b1010, 0xFF << 56])  # with few bits, nearly all keys collide
KEYS = st.one_of(
    st.sampled_from(["", "a", "b", "\0", "\0\0", "a\0", "é", "\ud800", "\udc00", "\ud800\udc00", "\U00010000"]),
    st.text(st.characters(exclude_categories=()), max_size=20),  # halves of surrogate pairs, too
    st.integers(0, 50).map(lambda number: f'["client-{number}"]'),
)
BLOCKS = st.lists(st.lists(KEYS, max_size=40), max_size=8)


def filled(blocks: list[list[str]], mask: int = ALL) -> tuple[KeyTable, dict[str, int]]:
    """A table, and the dict that it is to be."""
    table, twin = KeyTable(mask=mask), dict[str, int]()
    for block in blocks:
        wanted = [twin.setdefault(key, len(twin)) for key in block]
        assert table.number(block).tolist() == wanted
    return table, twin


def check(table: KeyTable, twin: dict[str, int]) -> None:
    """The table holds the keys of the dict, in order, and no others."""
    assert len(table) == len(twin) <= 0.6 * len(table._slots)
    assert list(table) == table[:] == list(twin)
    assert [table.find(key) for key in twin] == list(range(len(twin)))
    assert [table[number] for number in range(len(table))] == list(twin)


@given(blocks=BLOCKS, others=st.lists(KEYS), mask=MASKS)
def test_it_is_a_dict(blocks, others, mask):
    table, twin = filled(blocks, mask)
    check(table, twin)
    for key in others:
        assert table.find(key) == twin.get(key, -1)
        assert (key in table) == (key in twin)


@given(blocks=BLOCKS, data=st.data(), mask=MASKS)
def test_what_is_kept_goes_on_as_a_table(blocks, data, mask):
    table, twin = filled(blocks, mask)
    which = data.draw(st.lists(st.booleans(), min_size=len(twin), max_size=len(twin)))
    less, numbers = table.kept(np.array(which, dtype=np.bool_))
    left = [key for key, stays in zip(twin, which, strict=True) if stays]
    there = {key: number for number, key in enumerate(left)}
    check(less, there)
    assert numbers.tolist() == [there.get(key, -1) for key in twin]
    check(table, twin)
    again = data.draw(st.lists(KEYS, max_size=40))
    assert less.number(again).tolist() == [there.setdefault(key, len(there)) for key in again]
    check(less, there)


@given(keys=st.lists(KEYS), which=st.slices(30))
def test_slices_are_those_of_a_list(keys, which):
    table, twin = filled([keys])
    assert table[which] == list(twin)[which]


def test_many_keys():
    blocks = [
        [f"client-{number % 70_001}" for number in range(start, start + 10_000)] for start in range(0, 90_000, 5000)
    ]
    table, twin = filled(blocks)
    check(table, twin)
    assert len(table) == 70_001


def test_a_place_that_is_not_there_is_an_error():
    table = KeyTable(["a", "b"])
    assert table[np.int64(1)] == "b"
    for number in (-1, 2, np.int64(-1)):
        with pytest.raises(IndexError, match="there are 2"):
            table[number]
    assert 3 not in table
    with pytest.raises(ValueError, match="there are 2 keys, and 3 answers"):
        table.kept(np.ones(3, dtype=np.bool_))


def test_very_long_keys():
    long = "x" * 1_000_000
    table, twin = filled([[long, long + "y", "y" + long], [long + "é", long]])
    check(table, twin)


def test_starts_are_wider_where_there_are_many_bytes(monkeypatch):
    monkeypatch.setattr(key_table, "_NARROW", 500)
    blocks = [[f"é{number}" for number in range(start, start + 30)] for start in range(0, 300, 20)]
    table, twin = filled(blocks)
    assert table._starts.dtype == np.int64
    check(table, twin)
    less, _ = table.kept(np.arange(len(table)) < 10)
    assert less._starts.dtype == np.uint32
    check(less, {key: number for key, number in twin.items() if number < 10})


def test_hashes_of_keys_alike_are_spread():
    texts = [np.frombuffer(f"{number}".encode(), dtype=np.uint8) for number in range(1 << 14)]
    hashes = np.array([_hash(text, 0, len(text)) for text in texts], dtype=np.uint64)
    assert len(np.unique(hashes)) == len(hashes)
    for shift in (0, 20, 50):  # of n things thrown into n boxes, 1 - 1/e of the boxes get any
        boxes = len(np.unique((hashes >> np.uint64(shift)) % np.uint64(1 << 14)))
        assert abs(boxes / len(hashes) - 0.632) < 0.02
