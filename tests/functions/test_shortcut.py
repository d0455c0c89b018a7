"""The shortcut's hopeless cases are those that the long way refuses too; kernels move answers as refresh does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.functions._kernels import NOT_MOVED, _radius, _walk, move
from tacit.functions._kernels_shortcut import quick_hopeless
from tacit.functions.expressions import Expression, Variable
from tacit.functions.goals import Comparison
from tacit.functions.monitor import Monitor
from tacit.functions.tables import STATE_SHORTCUT


def _quadratic(rng: np.random.Generator, d: int) -> Expression:
    tree: Expression = Variable(0) * Variable(d - 1)
    for i in range(d):
        for j in range(i + 1):
            tree = tree + float(rng.normal()) * Variable(i) * Variable(j)
        tree = tree + float(rng.normal()) * Variable(i)
    return tree


@pytest.mark.middle
@settings(deadline=None)  # kernels may have to be compiled
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 5), above=st.booleans())
def test_what_is_hopeless_is_refused_by_the_long_way_too(seed: int, d: int, above: bool) -> None:
    rng = np.random.default_rng(seed)
    monitor = Monitor(Comparison(_quadratic(rng, d), ">" if above else "<=", float(rng.normal())), [], d)
    zones = monitor.zones(1)
    monitor.refresh(zones, np.array([0]), rng.normal(size=(1, d)))
    tables = monitor.tables
    for length in rng.uniform(0.5, 6.0, 40):
        way = rng.normal(size=d)
        drift = zones.estimate[0] + way * (length * zones.radius[0] / np.linalg.norm(way))
        radius = _radius(zones.estimate, 0, drift)
        at = tables.nodes[0, STATE_SHORTCUT]
        if quick_hopeless(zones.state, at, zones.estimate, 0, drift, radius, zones.work):
            assert not _walk(tables, zones, 0, drift, radius, 200, 6, zones.trail)
            assert length > 1.0


def test_most_refusals_are_hopeless() -> None:
    monitor = Monitor(Comparison(Variable(0) * Variable(1), ">", 1.0), [], 2)
    zones = monitor.zones(1)
    monitor.refresh(zones, np.array([0]), np.array([[0.5, 0.5]]))
    at = monitor.tables.nodes[0, STATE_SHORTCUT]
    drifts = np.random.default_rng(3).normal(0.5, 1.0, (500, 2))
    refused = drifts[~monitor.inside(zones, np.zeros(500, dtype=np.int64), drifts)]
    seen = [
        quick_hopeless(zones.state, at, zones.estimate, 0, u, _radius(zones.estimate, 0, u), zones.work)
        for u in refused
    ]
    assert len(refused) > 100
    assert np.mean(seen) > 0.8


@settings(deadline=None)  # kernels may have to be compiled
@given(seed=st.integers(0, 2**32 - 1), d=st.integers(2, 4))
def test_a_moved_estimate_is_a_refreshed_one(seed: int, d: int) -> None:
    """Answer, radius and shortcut are those that ``Monitor.refresh`` would have made."""
    rng = np.random.default_rng(seed)
    tree = Variable(0) / Variable(d - 1) if seed % 2 else _quadratic(rng, d)
    monitor = Monitor(Comparison(tree, ">", float(rng.normal())), [], d)
    assert monitor.plain
    moved, fresh = monitor.zones(1), monitor.zones(1)
    monitor.refresh(moved, np.array([0]), rng.normal(size=(1, d)))
    for _ in range(10):
        point = rng.normal(size=d)
        before = moved.answer[0]
        how = move(monitor.tables, moved, 0, point)
        monitor.refresh(fresh, np.array([0]), point[None])
        assert how != NOT_MOVED
        assert moved.answer[0] == fresh.answer[0] == (before if how == 1 else 1 - before)
        radii = (min(float(zones.radius[0]), 1e5) for zones in (moved, fresh))  # the search ends somewhere beyond
        np.testing.assert_allclose(*radii, rtol=0.02)
        np.testing.assert_array_equal(moved.estimate, fresh.estimate)
