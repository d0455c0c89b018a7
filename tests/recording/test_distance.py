"""How far answers were off, for one comparison and for several."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.functions.expressions import Expression, Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition
from tacit.functions.truth import may_say_met, may_say_not_met
from tacit.language import parse_watch
from tacit.recording.distance import distance
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording


def off(goal: Condition, met: bool, *values: float) -> float:
    def value_of(tree: Expression) -> np.ndarray:
        assert isinstance(tree, Variable)
        return np.array([values[tree.index]])

    return float(distance(goal, met, value_of, lambda tree: 0.0)[0][0])


ABOVE = Comparison(Variable(0), ">", 10.0, 2.0)
BELOW = Comparison(Variable(1), "<", 1.0, 0.5)


@pytest.mark.parametrize(
    ("goal", "met", "values", "error"),
    [
        (ABOVE, True, (9.0,), 1.0),
        (ABOVE, True, (11.0,), 0.0),
        (ABOVE, False, (11.5,), 1.5),
        (BELOW, True, (0.0, 1.25), 0.25),
        (AllOf((ABOVE, BELOW)), True, (9.0, 1.25), 1.0),
        (AllOf((ABOVE, BELOW)), True, (11.0, 1.25), 0.25),
        (AllOf((ABOVE, BELOW)), False, (11.0, 0.75), 0.25),
        (AllOf((ABOVE, BELOW)), False, (11.0, 2.0), 0.0),
        (AllOf((ABOVE, BELOW)), False, (99.0, 0.75), 0.25),  # the first is far beyond its margin: it carries nothing
        (AnyOf((ABOVE, BELOW)), True, (9.0, 1.75), 1.0),  # the second is nearer, but beyond its margin
        (AnyOf((ABOVE, BELOW)), True, (9.0, 0.0), 0.0),
        (AnyOf((ABOVE, BELOW)), False, (11.0, 0.75), 1.0),
        (AnyOf((ABOVE, BELOW)), True, (math.nan, 1.25), 0.25),
        (AllOf((ABOVE, BELOW)), False, (math.nan, 0.0), 0.0),
        (AnyOf((ABOVE, BELOW)), True, (0.0, 9.0), 8.0),  # a wrong answer: none is within its margin, the nearest counts
        (AnyOf((AllOf((ABOVE, BELOW)), Comparison(Variable(0), "<", 0.0))), False, (11.0, 0.75), 0.25),
    ],
)
def test_by_hand(goal: Condition, met: bool, values: tuple[float, ...], error: float) -> None:
    assert off(goal, met, *values) == error


conditions = st.recursive(
    st.builds(
        Comparison, st.integers(0, 2).map(Variable), st.sampled_from((">", ">=", "<", "<=")), st.integers(-3, 3),
        st.integers(0, 2),
    ),
    lambda parts: st.builds(
        lambda kind, some: kind(tuple(some)), st.sampled_from((AllOf, AnyOf)), st.lists(parts, min_size=2, max_size=3)
    ),
    max_leaves=6,
)  # fmt: skip


def margins(goal: Condition) -> list[float]:
    return [goal.margin] if isinstance(goal, Comparison) else [each for part in goal.parts for each in margins(part)]


@given(conditions, st.lists(st.integers(-6, 6), min_size=3, max_size=3))
def test_a_right_answer_is_off_by_no_more_than_a_margin(goal: Condition, values: list[int]) -> None:
    vector = np.array([values], dtype=np.float64)
    for met, may_say in ((True, may_say_met), (False, may_say_not_met)):
        if may_say(goal, vector)[0]:
            assert off(goal, met, *map(float, values)) <= max(margins(goal))


def test_a_replay_with_or_says_how_far_it_was_off() -> None:
    rng = np.random.default_rng(3)
    wave = 5 + np.sin(np.arange(3_000) / 100)
    plan = parse_watch(
        "CREATE WATCH w AS SELECT SUM(x) / 40 AS a, SUM(y) / 40 AS b FROM t WINDOW LAST 10 ROWS "
        "ALERT WHEN a > 5.5 MARGIN 0.3 OR b > 90 MARGIN 1"
    )
    values = np.stack([wave + rng.normal(0, 0.2, 3_000), rng.normal(0, 1, 3_000)], axis=1)
    recording = Recording.from_arrays(t=np.arange(3_000) * 1_000_000, site=np.arange(3_000) % 4, present=values)
    report = replay_recording(plan, recording, verify=True).report
    assert (report.missed, report.spurious) == (0, 0)
    assert report.max_error is not None
    assert 0 < report.max_error <= 0.3
