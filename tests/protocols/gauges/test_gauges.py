"""Gauges against the values themselves: as long as their mean is within the limits, what was said is right."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.gauges.gauge import told
from tacit.protocols.gauges.inner_product import InnerProductGauge
from tacit.protocols.gauges.quantile import QuantileGauge
from tacit.protocols.gauges.self_join import SelfJoinNorms, SelfJoinProducts
from tacit.vocabulary import OptionError, ProtocolError

KINDS = [SelfJoinNorms, SelfJoinProducts, InnerProductGauge]
SLOP = 1.0 + 1e-9


@st.composite
def moves(draw):
    """A gauge, what sites had at a sounding, and what they have now."""
    kind = draw(st.sampled_from(KINDS))
    depth, width, sites = draw(st.integers(1, 3)), draw(st.integers(2, 6)), draw(st.integers(1, 5))
    gauge = kind(depth, width, draw(st.sampled_from([0.01, 0.1, 0.5, 0.9])), draw(st.sampled_from([0.0, 0.05])))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scale = draw(st.sampled_from([1.0, 100.0, 1e9]))
    before = np.floor(rng.exponential(scale, (sites, gauge.size)) * rng.integers(0, 2, (sites, gauge.size)))
    change = rng.normal(0.0, draw(st.sampled_from([0.001, 0.02, 0.3])), before.shape) * scale
    now = np.maximum(0.0, before + change * rng.integers(0, 2, before.shape))
    return gauge, before, now


@settings(max_examples=600, deadline=None)
@given(moves())
def test_while_the_mean_of_gauges_is_within_the_limits_the_value_is_right(case):
    gauge, before, now = case
    bearing = gauge.bearing(before)
    assert bearing.value == gauge.value(before)
    gauges = np.stack([gauge.read(bearing, one, other) for one, other in zip(now, before, strict=True)])
    if (gauges.mean(axis=0) <= bearing.limits).all():
        truth = gauge.value(now)
        assert abs(bearing.value - truth) <= gauge.tolerance(now) * SLOP


@settings(max_examples=200, deadline=None)
@given(moves())
def test_nothing_has_changed_right_after_a_sounding(case):
    gauge, before, _ = case
    bearing = gauge.bearing(before)
    for array in before:
        assert (gauge.read(bearing, array, array) <= bearing.limits).all()


@settings(max_examples=200, deadline=None)
@given(moves())
def test_gauges_are_convex(case):
    """The gauge of the mean is at most the mean of the gauges: what a zone needs."""
    gauge, before, now = case
    bearing = gauge.bearing(before)
    many = np.stack([gauge.read(bearing, one, other) for one, other in zip(now, before, strict=True)])
    of_mean = gauge.read(bearing, now.mean(axis=0), before.mean(axis=0))
    room = 1e-9 * (1.0 + np.abs(many).max() + np.abs(before).max() ** 2)
    assert (of_mean <= many.mean(axis=0) + room).all()


def test_products_are_silent_where_norms_speak():
    """What goes up at one site and down at another is no news to products."""
    before = np.array([[400.0, 100.0, 100.0, 100.0]] * 2)
    now = before + np.array([[30.0, -30.0, 30.0, -30.0], [-30.0, 30.0, -30.0, 30.0]])
    products, norms = SelfJoinProducts(1, 4, 0.1), SelfJoinNorms(1, 4, 0.1)
    fits = {}
    for gauge in (products, norms):
        bearing = gauge.bearing(before)
        gauges = np.stack([gauge.read(bearing, one, other) for one, other in zip(now, before, strict=True)])
        fits[gauge] = bool((gauges.mean(axis=0) <= bearing.limits).all())
    assert fits == {products: True, norms: False}


@st.composite
def rows_of_sites(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    points, sites = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    gauge = QuantileGauge(draw(st.sampled_from([0.1, 0.5, 0.99])), draw(st.sampled_from([0.01, 0.1, 0.3])), points)

    def some():
        values = np.sort(rng.integers(0, draw(st.sampled_from([3, 1000])), (sites, points)), axis=1)
        rows = rng.integers(0, draw(st.sampled_from([1, 50, 50])), (sites, 1))
        return np.concatenate([rows, values * (rows > 0)], axis=1).astype(np.float64)

    return gauge, some(), some()


@settings(max_examples=400, deadline=None)
@given(rows_of_sites())
def test_ranks_are_right_while_gauges_say_so(case):
    gauge, before, now = case
    bearing = gauge.bearing(before)
    gauges = np.stack([gauge.read(bearing, one, other) for one, other in zip(now, before, strict=True)])
    if not (gauges.mean(axis=0) <= bearing.limits).all():
        return
    assert np.isnan(bearing.value) == (before[:, 0].sum() == 0) == (now[:, 0].sum() == 0)
    if before[:, 0].sum() > 0:
        fewer = gauge.rank(now, np.nextafter(bearing.value, -np.inf))
        assert fewer - gauge.within - 1e-9 <= gauge.phi <= gauge.rank(now, bearing.value) + gauge.within + 1e-9


def test_what_does_not_fit_is_refused():
    with pytest.raises(OptionError, match=r"between 0 and 1, not within 1\.5"):
        SelfJoinProducts(1, 2, 1.5)
    with pytest.raises(ProtocolError, match="does not fit the watch"):
        told(SelfJoinNorms(1, 2, 0.1), np.zeros(3))
    with pytest.raises(ProtocolError, match="does not fit the watch"):
        told(SelfJoinNorms(1, 2, 0.1), np.array([np.nan, 0.0, 0.0, 0.0]))
