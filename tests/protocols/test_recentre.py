"""Recentring: the answer is within its error after every step, whatever the streams do, and quiet ones cost nothing."""

from __future__ import annotations

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from tacit.functions.evaluate import value
from tacit.functions.expressions import Expression, Unary, Variable
from tacit.functions.goals import Track
from tacit.functions.tracking import FOLLOW, STAY, TrackZones
from tacit.protocols.recentre import Recentring, Roamers

X, Y = Variable(0), Variable(1)
FUNCTIONS: dict[str, Expression] = {
    "product": X * Y,
    "variance": Y - X * X,
    "rosenbrock": (1.0 - X) ** 2 + 100.0 * (Y - X * X) ** 2,
    "bump": Unary("exp", -8.0 * (X * X + Y * Y)),
    "network": Unary("tanh", 1.5 * X - Y) * 0.7 + Unary("tanh", Unary("tanh", Y) - 2.0 * X),
}


class Story:
    """Sites and their coordinator; every step is judged."""

    def __init__(
        self,
        f: Expression,
        within: float,
        start: np.ndarray,
        kinds: tuple[str, ...] = (FOLLOW, STAY),
        *,
        lopsided: bool = False,
    ) -> None:
        self.f, self.within = f, within
        self.hub = Recentring(TrackZones(Track(f, within), start.shape[1], kinds=kinds, lopsided=lopsided), start)
        self.sites = Roamers(start)
        self.messages = 2 * len(start)
        self.tell()

    def tell(self) -> None:
        assert self.hub.scales.mean() <= 1.0  # or the mean of moves could be outside of the zone
        self.sites.told(self.hub.zone, self.hub.scales.copy())

    def step(self, number: int, vectors: np.ndarray) -> int:
        """One step of all sites; how many reports it took."""
        rows = self.sites.look(vectors)
        before = self.hub.reports
        for _ in range(3 * len(vectors)):
            for k in rows.tolist():
                self.hub.take(k, self.sites.centres[k])
                self.messages += 1
            if self.hub.settle(number) is None:
                self.judge(vectors)
                return self.hub.reports - before
            self.messages += len(vectors)
            self.tell()
            rows = self.sites.recheck(vectors)
        raise AssertionError("the step does not end")

    def judge(self, vectors: np.ndarray) -> None:
        truth = float(value(self.f, vectors.mean(axis=0)[None])[0])
        assert abs(self.hub.answer - truth) <= self.within * (1.0 + 1e-9) + 1e-9 * abs(truth)
        np.testing.assert_array_equal(self.sites.centres, self.hub.centres)


def streams(kind: str, dice: np.random.Generator, sites: int, steps: int) -> np.ndarray:
    base = dice.normal(size=(sites, 2)) * 0.5
    size = dice.uniform(0.01, 0.3, (sites, 1))
    noise = dice.normal(size=(steps, sites, 2)) * size
    if kind == "wander":
        return np.asarray(base + np.cumsum(noise, axis=0) * 0.3)
    if kind == "swing":
        return np.asarray(base + noise)
    if kind == "drift":
        return np.asarray(base + np.linspace(0, 1, steps)[:, None, None] * dice.normal(size=2) + 0.1 * noise)
    jumps = (dice.random((steps, sites, 1)) < 0.02) * dice.normal(size=(steps, sites, 2)) * 3.0
    return np.asarray(base + np.cumsum(jumps, axis=0))


@pytest.mark.middle
@settings(max_examples=12, deadline=None)
@given(
    name=st.sampled_from(sorted(FUNCTIONS)),
    kind=st.sampled_from(["wander", "swing", "drift", "jump"]),
    zones=st.sampled_from([(FOLLOW, STAY), (FOLLOW,), (STAY,)]),
    seed=st.integers(0, 10**6),
)
def test_every_answer_is_within_its_error(name: str, kind: str, zones: tuple[str, ...], seed: int) -> None:
    dice = np.random.default_rng(seed)
    vectors = streams(kind, dice, sites=int(dice.integers(1, 8)), steps=60)
    within, lopsided = float(10.0 ** dice.uniform(-2, 0.5)), bool(dice.random() < 0.5)
    story = Story(FUNCTIONS[name], within, vectors[0], zones, lopsided=lopsided)
    for number, each in enumerate(vectors[1:], 1):
        story.step(number, each)


def test_who_does_not_move_says_nothing() -> None:
    start = np.random.default_rng(1).normal(size=(5, 2))
    story = Story(FUNCTIONS["product"], 0.1, start)
    for number in range(1, 30):
        assert story.step(number, start) == 0
    assert story.messages == 10


@pytest.mark.parametrize(("kind", "share"), [("wander", 0.6), ("swing", 0.35)])
def test_it_costs_less_than_sending_all(kind: str, share: float) -> None:
    """Also where sites swing about their means: centres stay there, so vectors come back into their zones."""
    dice = np.random.default_rng(3)
    vectors = streams(kind, dice, sites=10, steps=400)
    story = Story(FUNCTIONS["variance"], 0.25, vectors[0])
    for number, each in enumerate(vectors[1:], 1):
        story.step(number, each)
    assert story.messages < share * 400 * 10
