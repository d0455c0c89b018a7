"""Sums around some centres become sums around others, exactly for whole numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.statistics import Shift, shifted

# count, sum x, sum y, sum xx, sum xy, sum yy: each x less its centre, each y less its own
SHIFTS = (
    Shift(1, (0,), 0),
    Shift(2, (1,), 0),
    Shift(3, (0, 0), 0, (1, 1)),
    Shift(4, (0, 1), 0, (1, 2)),
    Shift(5, (1, 1), 0, (2, 2)),
)
whole = st.integers(-1000, 1000)


def sums(rows: list[tuple[int, int]], centres: np.ndarray) -> np.ndarray:
    x, y = (np.array([row[k] for row in rows], dtype=float) - centres[k] for k in (0, 1))
    return np.array([len(rows), x.sum(), y.sum(), (x * x).sum(), (x * y).sum(), (y * y).sum()])


@given(st.lists(st.tuples(whole, whole), max_size=20), st.tuples(whole, whole), st.tuples(whole, whole))
def test_shifting_is_summing_around_other_centres(rows, before, after):
    a, b = np.array(before, dtype=float), np.array(after, dtype=float)
    assert shifted(sums(rows, a), SHIFTS, a, b).tolist() == sums(rows, b).tolist()


@given(st.lists(st.tuples(whole, whole), min_size=1, max_size=9), st.tuples(whole, whole))
def test_many_vectors_are_shifted_at_once(rows, centre):
    c = np.array(centre, dtype=float)
    table = np.stack([sums([row], np.zeros(2)) for row in rows])
    assert shifted(table, SHIFTS, np.zeros(2), c).tolist() == [sums([row], c).tolist() for row in rows]
