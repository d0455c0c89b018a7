"""The comparison that made a condition begin to hold, or cease to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.deciding import deciding, holds
from tacit.functions.expressions import Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition, comparisons
from tacit.functions.truth import met

A, B, C = (Comparison(Variable(number), ">", 0.0) for number in range(3))
NONE = np.nan
values = st.lists(st.sampled_from([-1.0, 1.0, NONE]), min_size=3, max_size=3)
CONDITIONS = [A, AnyOf((A, B)), AllOf((A, B)), AnyOf((A, AllOf((B, C)))), AllOf((AnyOf((A, B)), C))]


@pytest.mark.parametrize(
    ("condition", "before", "now", "named"),
    [
        (AnyOf((A, B)), [-1, -1], [-1, 1], 1),  # begins to hold: the one that has become true
        (AnyOf((A, B)), [-1, -1], [1, 1], 0),  # both: the first
        (AnyOf((A, B)), [-1, 1], [-1, -1], 1),  # ceases: the one that was true last
        (AnyOf((A, B)), [-1, 1], [-1, NONE], 1),
        (AllOf((A, B)), [1, -1], [1, 1], 1),  # the last that was missing
        (AllOf((A, B)), [1, 1], [1, -1], 1),  # the first that fails
        (AllOf((A, B)), [1, -1], [1, -1], 1),  # nothing has changed: one that explains the answer
        (AnyOf((A, AllOf((B, C)))), [-1, 1, -1], [-1, 1, 1], 2),
        (AllOf((AnyOf((A, B)), C)), [-1, 1, 1], [-1, -1, 1], 1),
    ],
)
def test_the_one_that_changed_is_named(condition: Condition, before: list, now: list, named: int) -> None:
    assert deciding(condition, before, now) == named


@given(st.sampled_from(CONDITIONS), values, values)
def test_what_is_named_explains_the_answer(condition: Condition, before: list, now: list) -> None:
    """It is true where the condition holds and not true where it fails; it has turned, if the condition has."""
    of = comparisons(condition)
    at = deciding(condition, before[: len(of)], now[: len(of)])
    held, holding = (bool(met(condition, np.array([each]))[0]) for each in (before, now))
    assert holds(of[at], now[at]) == holding
    if held != holding:
        assert holds(of[at], before[at]) == held
