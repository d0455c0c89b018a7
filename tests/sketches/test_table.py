"""Rows in which each key has its own cell, and tables that hash independently."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.sketches._kernels_append import places
from tacit.sketches.table import hashed, identity


@pytest.mark.parametrize("bits", [0, 1, 3, 12])
def test_each_key_has_its_own_cell(bits):
    keys = np.arange(2**bits, dtype=np.uint64)
    found = np.empty((1, 2**bits), dtype=np.int64)
    places(keys, identity(bits), np.uint64(2**bits), found)
    assert found[0].tolist() == keys.tolist()


def test_tables_of_one_seed_share_no_words():
    words = np.concatenate([hashed(7, 3, number) for number in range(4)])
    assert len(np.unique(words)) == words.size
    assert np.array_equal(hashed(7, 3), words[:3])
