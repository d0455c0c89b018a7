"""The measure of a live watch: the same however its first rows are spread over sites."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.statistics import shifted
from tacit.language import parse_watch
from tacit.language.shape import SAMPLE, measure_of, protocol_for, shape_of, units_of, vector_form
from tacit.wire.control import Sample

SPREAD = parse_watch("CREATE WATCH w AS SELECT STDDEV(x) AS s FROM t WINDOW LAST 1 HOUR TRACK s WITHIN 5")
RATIO = parse_watch("CREATE WATCH w AS SELECT AVG(x) / AVG(y) AS r FROM t WINDOW LAST 1 HOUR ALERT WHEN r > 2")


def sample_of(values: np.ndarray, keys: np.ndarray, at: float) -> Sample:
    """Rows of SPREAD as a site whose own centre is ``at`` sends them."""
    around = values - at
    table = np.stack([np.ones_like(values), around, around * around], axis=1)
    order = np.argsort(keys)
    return Sample(keys[order], table[order], np.array([at]), values[order, None])


@given(st.lists(st.integers(-500, 500), min_size=1, max_size=150), st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_measure_does_not_depend_on_the_sites(values, sites, dice):
    rows = np.array(values, dtype=float)
    keys = np.array([dice.getrandbits(60) for _ in values], dtype=np.int64)
    where = np.array([dice.randrange(sites) for _ in values])
    whole = measure_of(SPREAD, [sample_of(rows, keys, 0.0)])
    parts = [
        sample_of(rows[where == site], keys[where == site], float(dice.randrange(-90, 90))) for site in range(sites)
    ]
    spread = measure_of(SPREAD, parts)
    assert spread.centres.tolist() == whole.centres.tolist()
    assert spread.units.tolist() == whole.units.tolist()
    assert whole.centres[0] in values
    least = rows[np.argsort(keys)][:SAMPLE]
    assert whole.centres[0] == np.median(least[: min(7, len(least) - (len(least) + 1) % 2)])


def test_nothing_measured_is_no_error():
    measure = measure_of(SPREAD, [])
    assert (measure.centres.tolist(), measure.units.tolist()) == ([0.0], [1.0, 1.0, 1.0])


def test_a_count_that_does_not_vary_has_a_small_unit():
    """So that its ball is flat there: without NULLs a ratio of means costs what a ratio of sums does."""
    rows = np.stack([np.arange(40.0), np.ones(40), 3.0 + np.arange(40.0), np.ones(40)], axis=1)
    measure = measure_of(RATIO, [Sample(np.arange(40), rows, np.empty(0), np.empty((40, 0)))])
    assert measure.units.tolist() == [16.0, 1 / 16, 16.0, 1 / 16]


def test_units_are_not_set_by_rows_that_are_far_out():
    usual = np.linspace(0, 1, 63)
    assert units_of(np.append(usual, 1e20)[None, :])[0] <= 1024.0


def test_a_mean_is_weighted_by_the_rows_that_have_a_value():
    plan = parse_watch("CREATE WATCH w AS SELECT AVG(x) AS m FROM t ALERT WHEN m > 1")
    form = vector_form(plan)
    assert (form.kept, form.weights) == ((0,), (1,))
    measure = measure_of(plan, [])
    shape = shape_of(plan, measure)
    vectors, weights = shape.vectors(np.array([[6.0, 3.0, 4.0]]))  # sum, count, and the rows of any value
    assert (vectors.tolist(), weights.tolist()) == ([[6.0]], [3.0])


@pytest.mark.parametrize("aggregate", ["VAR_POP(x)", "CORR(x, y)", "COVAR_SAMP(x, y)", "REGR_SLOPE(y, x)"])
def test_every_centred_statistic_can_be_shifted(aggregate):
    plan = parse_watch(f"CREATE WATCH w AS SELECT {aggregate} AS v FROM t TRACK v WITHIN 1")
    centred = {k for k, each in enumerate(plan.statistics) if "centre" in each.name}
    assert {shift.statistic for shift in plan.shifts} == centred
    zeros = np.zeros(len(plan.statistics))
    assert not shifted(zeros, plan.shifts, np.zeros(len(plan.centres)), np.ones(len(plan.centres))).any()


@pytest.mark.parametrize("values", [[1e308, -1e308], [np.inf, 1.0], [1e-320, 3e-320], [1.7e308], [np.nan, 1e300]])
def test_units_are_numbers_whatever_is_measured(values):
    (unit,) = units_of(np.array([values]))
    assert 0 < unit < np.inf
    assert 0 < unit**4 < np.inf


def test_what_has_too_many_statistics_to_recentre_is_balanced():
    few, many = (" + ".join(f"AVG(x{k})" for k in range(count)) for count in (24, 25))  # a sum and a count each
    for total, kept_by in ((few, "recentre"), (many, "coordinator")):
        plan = parse_watch(f"CREATE WATCH w AS SELECT {total} AS s FROM t WINDOW LAST 1 HOUR TRACK s WITHIN 5")
        assert {protocol_for(plan, asked) for asked in ("auto", "recentre")} == {kept_by}
