"""Convex zones in kernels: drifts that are inside have right answers together, and rows say what the zones say."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.convex import ZoneMaker
from tacit.functions.expressions import Expression, Unary, Variable
from tacit.functions.goals import Comparison, Goal, Track
from tacit.functions.monitor import Monitor
from tacit.functions.questions import ask_condition
from tacit.functions.shapes import Feasible
from tacit.functions.tables import STATE_CONVEX
from tacit.functions.truth import may_say_met, may_say_not_met, tracking_error
from tacit.functions.zone_rows import ZONE_KINDS, ZoneRows
from tacit.vocabulary.answers import MET, UNKNOWN

N, S, Q = Variable(0), Variable(1), Variable(2)
VARIANCE = Q / N - (S / N) ** 2
EXPRESSIONS: dict[str, Expression] = {
    "sum": S - 2.0 * Q,
    "ratio": S / Q,
    "mean": S / N,
    "variance": VARIANCE,
    "deviation": Unary("sqrt", VARIANCE),
    "product": S * Q - N,
    "wave": Unary("sin", S / N) + Q * 0.1,
}


def right(goal: Goal, monitor: Monitor, answer: int, estimate: np.ndarray, points: np.ndarray) -> np.ndarray:
    x = points * monitor.scale
    if isinstance(goal, Track):
        return (
            np.array([tracking_error(goal, x[k : k + 1], monitor.tracked(estimate))[0] for k in range(len(x))])
            <= 1 + 1e-9
        )
    wider = Comparison(goal.expression, goal.operator, goal.threshold, goal.margin + 1e-9)
    return may_say_met(wider, x) if answer == MET else may_say_not_met(wider, x)


@settings(max_examples=200, deadline=None)
@given(
    name=st.sampled_from(sorted(EXPRESSIONS)), zone=st.sampled_from([k for k in ZONE_KINDS if k != "ball"]),
    track=st.booleans(), seed=st.integers(0, 10**6),
)  # fmt: skip
def test_the_mean_of_drifts_that_are_inside_has_a_right_answer(name: str, zone: str, track: bool, seed: int) -> None:
    dice = np.random.default_rng(seed)
    scale = 10.0 ** dice.uniform(-3, 3, 3)
    estimate = dice.uniform(0.2, 3.0, (1, 3)) / scale
    here = float(Monitor(Track(EXPRESSIONS[name], 1.0), [], 3).tracked(estimate * scale)[0])
    if np.isnan(here):
        return
    threshold = here + float(dice.normal()) * 0.4
    goal: Goal = Comparison(EXPRESSIONS[name], str(dice.choice([">", "<="])), threshold, float(dice.choice([0, 0.1])))
    if track:
        goal = Track(EXPRESSIONS[name], float(10.0 ** dice.uniform(-2, 0.5)))
    monitor = Monitor(goal, [], 3, nonnegative=[True, False, True], scale=scale, zone=zone)
    zones = monitor.zones(1)
    spread = dice.uniform(0.01, 1.0, 3) / scale if dice.random() < 0.7 else None
    monitor.refresh(zones, np.array([0]), estimate, spread)
    if zones.answer[0] == UNKNOWN:
        return
    ways = dice.normal(size=(200, 3)) / scale * 10.0 ** dice.uniform(-2, 1, (200, 1))
    drifts = estimate + ways
    inside = drifts[monitor.inside(zones, np.zeros(200, dtype=np.int64), drifts)]
    if zones.radius[0] > 0.0:  # whatever is within the safe radius is inside
        near = ways / np.linalg.norm(ways, axis=1, keepdims=True) * min(zones.radius[0], 1e6) * 0.999999
        safe = estimate + near
        assert monitor.inside(zones, np.zeros(200, dtype=np.int64), safe).all()
        inside = np.concatenate([inside, safe])
    if not len(inside):
        return
    shares = dice.dirichlet(np.ones(3), 150)
    means = np.einsum("kn,knd->kd", shares, inside[dice.integers(0, len(inside), (150, 3))])
    means = means[(means[:, [0, 2]] >= 0.0).all(axis=1)]  # global vectors are as they are known to be
    if len(means):
        assert right(goal, monitor, int(zones.answer[0]), estimate, means).all()


def test_rows_say_what_zones_say() -> None:
    dice = np.random.default_rng(4)
    known = Feasible((True, False, True))
    scale = np.array([2.0, 0.5, 10.0])
    goal = Comparison(VARIANCE, ">", 0.3)
    maker = ZoneMaker(ask_condition(goal, True, known), 3, known)
    monitor = Monitor(goal, [], 3, nonnegative=known.nonnegative, scale=scale, zone="curvature")
    zones, point = monitor.zones(1), np.array([4.0, 2.0, 6.0])
    monitor.refresh(zones, np.array([0]), (point / scale)[None])
    assert zones.state[0, monitor.tables.nodes[0, STATE_CONVEX]] > 0
    zone = maker.best(point, (0.0, 0.0), ZoneRows("curvature", {1: maker}, scale)._ways * scale)
    assert zone is not None
    points = point + dice.normal(size=(2000, 3)) * [2.0, 2.0, 4.0]
    found = monitor.inside(zones, np.zeros(2000, dtype=np.int64), points / scale)
    assert (found == zone.contains(points)).mean() > 0.999  # but for rounding at the very edge
    assert 0.05 < found.mean() < 0.95


@pytest.mark.parametrize(
    ("name", "operator", "kind"), [("ratio", ">", "halfspace"), ("sum", "<=", "halfspace"), ("variance", ">", "ball")]
)
def test_kinds_are_what_they_are_called(name: str, operator: str, kind: str) -> None:
    """A ratio is the side of a plane; a variance above a threshold is neither a plane nor, with N varying, convex."""
    point = np.array([4.0, 2.0, 6.0])
    here = float(Monitor(Track(EXPRESSIONS[name], 1.0), [], 3).tracked(point[None])[0])
    goal = Comparison(EXPRESSIONS[name], operator, here - 0.1 if operator == ">" else here + 0.1)
    monitor = Monitor(goal, [], 3, nonnegative=[True] * 3, zone="halfspace")
    zones = monitor.zones(1)
    monitor.refresh(zones, np.array([0]), point[None])
    assert (zones.state[0, monitor.tables.nodes[0, STATE_CONVEX]] > 0) == (kind == "halfspace")
