"""The algebra of collected vectors, weights and slacks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.protocols.books import Books, estimate_of
from tacit.protocols.messages import Rows
from tacit.vocabulary import ProtocolError
from tests.protocols.watches import rows

values = st.floats(-1e6, 1e6)
counts = st.integers(0, 100)


@given(st.lists(st.tuples(values, counts, values, counts), min_size=1, max_size=5))
def test_drift_masses_add_up_to_what_changed(sites):
    """Convexity with weights: W e plus all drift masses is the total of the sums."""
    books = Books(len(sites), 1, 1, weighted=True)
    for site, (old, old_weight, _, _) in enumerate(sites):
        books.collect(site, rows(old if old_weight else 0.0, weights=[old_weight]))
    estimate = books.estimates(np.array([0]))
    held = [rows(new, weights=[weight]) for _, _, new, weight in sites]
    masses = sum(books.drift_mass(site, mine, estimate)[0, 0] for site, mine in enumerate(held))
    if np.isfinite(estimate[0, 0]):
        total_weight = sum(mine.weights[0] for mine in held)
        total = sum(mine.sums[0, 0] for mine in held)
        size = 1e6 * len(sites) + abs(estimate[0, 0]) * 100 * len(sites)
        assert abs(total_weight * estimate[0, 0] + masses - total) <= 1e-12 * size


@given(st.integers(1, 20), st.integers(1, 4), st.integers(0, 1000))
def test_every_process_computes_the_same_estimate_to_the_bit(sites, groups, seed):
    """One group alone or among others, in any layout of memory: the same bits."""
    sums = np.random.default_rng(seed).normal(size=(sites, groups, 2))
    whole = estimate_of(sums, None)
    for group in range(groups):
        alone = estimate_of(np.stack([site[[group]] for site in sums]), None)
        assert alone.tobytes() == whole[[group]].tobytes()
    assert estimate_of(np.asfortranarray(sums), None).tobytes() == whole.tobytes()


@pytest.mark.parametrize(
    "wrong",
    [
        rows(1, groups=[2]),
        rows(1, 2, groups=[1, 0]),
        rows(1, 2, groups=[1, 1]),
        Rows(np.array([0]), np.zeros((1, 2)), np.empty(0)),
        rows(1, weights=[1]),
        rows(float("nan")),
        Rows(np.empty(0, dtype=np.int64), np.zeros((0, 1)), np.empty(0)),
    ],
)
def test_rows_that_do_not_fit_the_watch_are_refused(wrong):
    with pytest.raises(ProtocolError):
        Books(1, 2, 1).check(wrong)


def test_rows_that_fit_are_accepted():
    Books(1, 2, 1).check(rows(1, 2))
    Books(1, 2, 1, weighted=True).check(rows(1, groups=[1], weights=[0]))
