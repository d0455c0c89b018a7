"""Convex zones: the answer is right all over them, means of their points stay in them, the estimate is in them."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.convex import ZoneMaker
from tacit.functions.evaluate import value
from tacit.functions.expressions import ChiSquare, Constant, Expression, InformationGain, Unary, Variable
from tacit.functions.goals import AllOf, AnyOf, Comparison, Condition
from tacit.functions.questions import ask, ask_condition
from tacit.functions.roaming import Costs
from tacit.functions.shapes import All, Feasible, Question
from tacit.functions.splitting import best_split

A, B, C, D = (Variable(k) for k in range(4))
FEASIBLE = Feasible((True,) * 4)
ROOT = Unary("sqrt", A / D - (B / D) ** 2)
FUNCTIONS: dict[str, Expression] = {
    "sum": A + 2.0 * B - C,
    "ratio": A / (B + C),
    "difference of means": A / B - C / D,
    "standard deviation": ROOT,
    "correlation": Unary("unit", (D * C - A * B) / Unary("sqrt", (D * A + 1.0) * (D * B + 1.0))),
    "cosine": Unary("unit", (A * C + B * D) / (Unary("sqrt", A * A + B * B) * Unary("sqrt", C * C + D * D))),
    "gain": InformationGain(A, B, C, D),
    "chi square": ChiSquare(A, B, C, D),
    "entropy": -(Unary("xlogx", A) + Unary("xlogx", B) + Unary("xlogx", C)),
    "wave": Unary("sin", A) * B + Unary("tanh", C - D),
    "far": Unary("abs", A - B) + Constant(0.5) * C,
}


def boxes(dice: np.random.Generator) -> list[np.ndarray]:
    return [size * dice.uniform(0.3, 1.0, 4) for size in (0.05, 0.3, 1.0)]


@settings(max_examples=200, deadline=None)
@given(name=st.sampled_from(sorted(FUNCTIONS)), operator=st.sampled_from([">", "<="]), seed=st.integers(0, 10**6))
def test_on_a_zone_the_answer_of_a_condition_is_right(name: str, operator: str, seed: int) -> None:
    dice = np.random.default_rng(seed)
    at = dice.uniform(0.1, 3.0, 4)
    here = value(FUNCTIONS[name], at[None])[0]
    if np.isnan(here):
        return
    threshold = float(here + dice.normal() * 0.3 * (abs(here) + 0.1))
    condition: Condition = Comparison(FUNCTIONS[name], operator, threshold, float(dice.choice([0.0, 0.05])))
    if dice.random() < 0.3:
        other = Comparison(A + B, ">", float(dice.uniform(0, 6)))
        condition = (AllOf if dice.random() < 0.5 else AnyOf)((condition, other))

    def met(points: np.ndarray, extra: float) -> np.ndarray:
        def one(c: Condition) -> np.ndarray:
            if isinstance(c, Comparison):
                f = value(c.expression, points)
                room = extra * c.margin + 1e-9 * (1.0 + np.abs(f))
                return f > c.threshold - room if c.operator == ">" else f <= c.threshold + room
            parts = [one(each) for each in c.parts]
            return np.all(parts, axis=0) if isinstance(c, AllOf) else np.any(parts, axis=0)

        return one(condition)

    def not_met(points: np.ndarray) -> np.ndarray:
        def one(c: Condition) -> np.ndarray:
            if isinstance(c, Comparison):
                f = value(c.expression, points)
                room = c.margin + 1e-9 * (1.0 + np.abs(f))
                return np.isnan(f) | (f <= c.threshold + room if c.operator == ">" else f > c.threshold - room)
            parts = [one(each) for each in c.parts]
            return np.any(parts, axis=0) if isinstance(c, AllOf) else np.all(parts, axis=0)

        return one(condition)

    side = bool(met(at[None], 0.0)[0])
    maker = ZoneMaker(ask_condition(condition, side, FEASIBLE), 4, FEASIBLE)
    zone = maker.best(at, (0.0, 0.0), np.eye(4), boxes(dice))
    if zone is None:
        return
    assert zone.contains(at[None])[0]
    ways = dice.normal(size=(80, 4))
    ends = at + np.minimum(zone.distances(ways), 20.0)[:, None] * ways * 0.999
    ends = ends[zone.contains(ends) & (ends >= 0.0).all(axis=1)]  # vectors are known to be >= 0
    if not len(ends):
        return
    mixed = np.einsum("kn,knd->kd", dice.dirichlet(np.ones(4), 60), ends[dice.integers(0, len(ends), (60, 4))])
    mixed = at + (mixed - at) * (1.0 - 1e-9)
    assert zone.contains(mixed).all()
    points = np.concatenate([ends, mixed])
    assert (met(points, 1.0) if side else not_met(points)).all()


@pytest.mark.middle
@settings(max_examples=80, deadline=None)
@given(name=st.sampled_from(sorted(FUNCTIONS)), seed=st.integers(0, 10**6))
def test_a_tracked_value_stays_between_its_bounds(name: str, seed: int) -> None:
    dice = np.random.default_rng(seed)
    at = dice.uniform(0.1, 3.0, 4)
    f = FUNCTIONS[name]
    here = float(value(f, at[None])[0])
    if np.isnan(here):
        return
    low, high = Question(True, False, False, 0, None), Question(False, False, False, 1, None)
    maker = ZoneMaker(All((ask(f, low, FEASIBLE), ask(f, high, FEASIBLE))), 4, FEASIBLE)
    within = float(10.0 ** dice.uniform(-2, 0.3))
    costs = Costs(refreshes=float(10.0 ** dice.uniform(-3, 1)), messages=8.0)
    above = float(dice.uniform(0.1, 1.9))
    bounds = [(here - (2.0 - above) * within, here + above * within), (here - within, here + within)]
    zone = best_split(maker, at, bounds, dice.normal(size=(6, 4)), costs, boxes(dice), int(dice.choice([1, 8])))
    if zone is None:
        return
    assert zone.covers(at)
    assert zone.high - zone.low <= 2.0 * within * (1.0 + 1e-12)
    estimate = at + dice.normal(size=4) * 0.3 * zone.reach * dice.random()
    if not zone.covers(estimate) or (estimate < 0.0).any():
        return
    assert zone.gone(estimate) <= 1.0 + 1e-6
    ways = dice.normal(size=(60, 4))
    moves = np.minimum(zone.distances(ways), 20.0)[:, None] * ways * 0.999
    points = estimate + moves[zone.contains(moves)]
    points = points[(points >= 0.0).all(axis=1)]
    truth = value(f, points)
    assert not np.isnan(truth).any()
    assert (truth >= zone.low - 1e-9 * (1.0 + abs(here))).all()
    assert (truth <= zone.high + 1e-9 * (1.0 + abs(here))).all()


def test_boxes_do_not_make_a_zone_dearer_whose_parts_need_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A chi-square has dozens of forms. Beside a function that needs boxes, each is worked out once, not per box."""
    asked: list[int] = []
    made = ZoneMaker._recipe
    monkeypatch.setattr(ZoneMaker, "_recipe", lambda self, q, *rest: (asked.append(id(q)), made(self, q, *rest))[1])
    condition = AllOf((Comparison(FUNCTIONS["chi square"], "<", 9.0), Comparison(FUNCTIONS["wave"], "<", 9.0)))
    maker = ZoneMaker(ask_condition(condition, True, FEASIBLE), 4, FEASIBLE)
    for point in (np.array([1.0, 0.4, 0.7, 1.3]), np.array([0.9, 0.5, 0.8, 1.1])):
        asked.clear()
        assert maker.best(point, (0.0, 0.0), np.eye(4), [np.full(4, 2.0**-k) for k in range(8)]) is not None
        assert len(asked) == len(set(asked)) > 30


def test_a_plain_zone_is_found_where_a_larger_one_keeps_an_expression() -> None:
    condition = AnyOf((Comparison(FUNCTIONS["entropy"], ">", 0.1), Comparison(A + B, ">", 1.02)))
    maker = ZoneMaker(ask_condition(condition, True, FEASIBLE), 4, FEASIBLE)
    at, moves = np.array([0.31, 0.72, 0.3, 1.0]), -np.eye(4)[:2]
    largest, plain = maker.best(at, (0.0, 0.0), moves), maker.best(at, (0.0, 0.0), moves, plain=True)
    assert largest is not None
    assert plain is not None
    assert any(part.kept is not None for part in largest.parts)
    assert all(part.kept is None for part in plain.parts)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"far"}))
def test_parts_are_judged_together_as_they_are_one_by_one(name: str) -> None:
    dice = np.random.default_rng(3)
    at = np.array([1.0, 0.4, 0.7, 1.3])
    here = float(value(FUNCTIONS[name], at[None])[0])
    asked = ask_condition(Comparison(FUNCTIONS[name], ">", here - 0.1), True, FEASIBLE)
    zone = ZoneMaker(asked, 4, FEASIBLE).best(at, (0.0, 0.0), np.eye(4), [np.full(4, w) for w in (0.01, 0.1, 0.3)])
    assert zone is not None
    points = at + dice.normal(size=(400, 4)) * np.exp(dice.uniform(-4, 1, (400, 1)))
    inside = ((points >= zone.low) & (points <= zone.high)).all(axis=1)
    one_by_one = np.all([part.values(points) > 0.0 for part in zone.parts], axis=0) & inside
    assert zone.contains(points).tolist() == one_by_one.tolist()
    assert inside.any()


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - {"far"}))
def test_there_is_a_zone_for_everything_that_is_smooth(name: str) -> None:
    at = np.array([1.0, 0.4, 0.7, 1.3])
    f = FUNCTIONS[name]
    here = float(value(f, at[None])[0])
    for side in (True, False):
        asked = ask_condition(Comparison(f, ">", here - 0.1 if side else here + 0.1), side, FEASIBLE)
        zone = ZoneMaker(asked, 4, FEASIBLE).best(at, (0.0, 0.0), np.eye(4), [np.full(4, w) for w in (0.01, 0.1, 0.3)])
        assert zone is not None
        assert zone.distances(np.eye(4)).min() > 1e-3


def test_alternatives_are_never_mixed() -> None:
    """x > 1 or y > 1: a point of one and a point of the other have a mean that is in neither."""
    asked = ask_condition(AnyOf((Comparison(A, ">", 1.0), Comparison(B, ">", 1.0))), True, FEASIBLE)
    zone = ZoneMaker(asked, 4, FEASIBLE).best(np.array([3.0, 2.0, 0.0, 0.0]), (0.0, 0.0), np.eye(4))
    assert zone is not None
    assert not zone.contains(np.array([[3.0, 0.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]])).all()


def test_where_the_estimate_is_on_the_wrong_side_there_is_none() -> None:
    asked = ask_condition(Comparison(A / B, ">", 2.0), True, FEASIBLE)
    assert ZoneMaker(asked, 4, FEASIBLE).best(np.ones(4), (0.0, 0.0), np.eye(4)) is None
