"""How thresholds are divided: sums that hold, and no allowance that is broken at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.shares import UNTOLD, Terms, above, below, defaults
from tacit.vocabulary import ProtocolError

counts = st.lists(st.integers(0, 10**9), min_size=1, max_size=8).map(lambda values: np.array(values, dtype=np.float64))


@settings(max_examples=500, deadline=None)
@given(counts, st.floats(0, 1e9))
def test_keys_outside(values, left):
    budget = values.sum() + left
    found = above(values, budget)
    assert found.sum() <= budget * (1 + 1e-15)
    assert (found >= values).all()


@settings(max_examples=500, deadline=None)
@given(counts, st.floats(0, 1))
def test_keys_inside(values, share):
    budget = values.sum() * share
    found = below(values, budget)
    assert found.sum() >= budget * (1 - 1e-12) - 1e-9
    assert (found <= values).all()


@settings(max_examples=500, deadline=None)
@given(st.lists(st.floats(0, 100), min_size=1, max_size=8), st.floats(1, 1e6))
def test_defaults(floors, budget):
    floors = np.array(floors)
    if floors.sum() > budget * (1 - 1e-9):
        with pytest.raises(ProtocolError, match="remember too few"):
            defaults(floors, budget)
        return
    found = defaults(floors, budget)
    assert found.sum() <= budget
    assert (found >= floors).all()


def test_terms():
    assert (Terms(100.0, 10.0).most, Terms(100.0, 10.0).least) == (110.0, 90.0)


def _candidates() -> Candidates:
    places = {"a": [0, 2], "b": [1, 3], "c": [0, 3]}
    return Candidates(lambda keys: np.array([places[key] for key in keys]), most=2.0 * UNTOLD)


def test_candidates_are_compared_with_their_allowances():
    known, cells = _candidates(), np.array([9.0, 4.0, 7.0, 5.0])
    known.note(["a", "b", "a"])
    assert known.keys == ["a", "b"]
    assert known.counts(cells).tolist() == [7.0, 4.0]
    assert known.counts_of(["c"], cells).tolist() == [5.0]
    known.tell_default(6.0)
    assert [known.keys[at] for at in known.beyond(cells)] == ["a"]
    known.tell(["a", "b"], np.array([8.0, 5.0]), np.array([False, True]), np.array([True, True]))
    assert [known.keys[at] for at in known.beyond(cells)] == ["b"]  # which is inside, and has less than it should
    known.tell(["b"], np.array([0.0]), np.array([False]), np.array([False]))
    assert len(known.beyond(cells)) == 0


def test_names_are_forgotten_when_no_pane_needs_them():
    known = _candidates()
    known.note(["a", "b"])
    old, new = np.array([9.0, 0.0, 9.0, 0.0]), np.zeros(4)
    for _ in range(64):
        known.tidy([old, new])
    assert known.keys == ["a"]
    for _ in range(64):
        known.tidy([new])
    assert known.keys == []


def test_a_site_that_is_allowed_less_than_it_remembers_says_so():
    known = _candidates()
    known.tell_default(1.0)
    assert known.short
    known.tell_default(64.0)
    assert not known.short
    assert known.floor == 4.0


def test_sites_that_were_each_alone_once_still_fit_together():
    sites = [_candidates() for _ in range(500)]
    for site in sites:
        site.tell_default(2.0 * UNTOLD)
    found = defaults(np.array([site.floor for site in sites]), 2.0 * UNTOLD)
    assert found.sum() <= 2.0 * UNTOLD
    for site, allowed in zip(sites, found.tolist(), strict=True):
        site.tell_default(allowed)
        assert not site.short
