"""The set is valid within epsilon after every step, whatever the scores do, and both invariants hold."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.leeway import Policy
from tests.protocols.topk.fair import Fair


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_counts_that_come_and_go(data: st.DataObject) -> None:
    sites = data.draw(st.integers(1, 5), "sites")
    reserve = data.draw(st.sampled_from([None, 0.0, 0.5, 1.0]), "reserve")
    shares = data.draw(st.sampled_from(["auto", "even", "proportional"]), "shares")
    rules = Rules(
        data.draw(st.integers(1, 4), "k"), float(data.draw(st.integers(0, 4), "epsilon")), 1.0, Policy(reserve, shares),
        ranked=data.draw(st.sampled_from([np.inf, 3.0, 10.0]), "ranked"),
    )  # fmt: skip
    fair = Fair(rules, sites, relief=data.draw(st.integers(0, 3), "relief"))
    held: list[tuple[int, str]] = []
    seed = data.draw(st.integers(0, 2**32), "seed")
    dice = np.random.default_rng(seed)
    objects = data.draw(st.integers(1, 12), "objects")
    for _ in range(data.draw(st.integers(1, 60), "steps")):
        for _ in range(int(dice.integers(1, 4))):
            if held and dice.random() < 0.45:
                site, key = held.pop(int(dice.integers(len(held))))
                fair.update(site, key, -1.0, -1)
            else:
                site, key = int(dice.integers(sites)), f'["o{int(objects * dice.random() ** 2)}"]'
                held.append((site, key))
                fair.update(site, key, 1.0, 1)
        fair.settle()
        if dice.random() < 0.05:
            fair.search()


@pytest.mark.middle
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 2**32), sites=st.integers(1, 5), k=st.integers(1, 4), epsilon=st.sampled_from([0.0, 0.7, 10.0]),
    smallest=st.booleans(),
)  # fmt: skip
def test_scores_of_any_sign(seed: int, sites: int, k: int, epsilon: float, smallest: bool) -> None:
    dice = np.random.default_rng(seed)
    fair = Fair(Rules(k, epsilon, 0.0, closed=smallest), sites, relief=2)
    held: list[tuple[int, str, float]] = []
    for _ in range(40):
        if held and dice.random() < 0.4:
            site, key, score = held.pop(int(dice.integers(len(held))))
            fair.update(site, key, -score, -1)
        else:
            score = -float(dice.exponential(3)) if smallest else float(dice.normal(0.5, 3))
            site, key = int(dice.integers(sites)), f'["o{int(dice.integers(8))}"]'
            held.append((site, key, score))
            fair.update(site, key, score, 1)
        fair.settle()


@pytest.mark.parametrize("smallest", [False, True])
def test_lists_are_kept_side_by_side(smallest: bool) -> None:
    dice = np.random.default_rng(3)
    fair = Fair(Rules(2, 0.0, 1.0, closed=smallest), 4)
    for _ in range(400):
        for _ in range(int(dice.integers(1, 6))):
            name = f"list {int(dice.integers(3))}"
            key = f'["o{int(8 * dice.random() ** 2)}"]'
            fair.update(int(dice.integers(4)), key, -1.0 if smallest else 1.0, 1, name)
        fair.settle()
    assert all(len(fair.ranker.members(f"list {k}")) == 2 for k in range(3))
