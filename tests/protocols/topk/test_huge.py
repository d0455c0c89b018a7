"""Scores that were huge and became small: adjustments of then would round the scores of now away."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.protocols.topk.bout import Rules
from tacit.transport import Faults, RankingSimulation, SimulatedNetwork, Timing
from tacit.vocabulary import State

SITES, PANES, FALL = 2, 14, 7


@pytest.mark.parametrize("size", [1e12, 1e16, 1e17])
@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("seed", range(8))
def test_a_list_is_right_when_its_scores_have_fallen(seed: int, largest: bool, size: float) -> None:
    dice = np.random.default_rng(seed)
    sign = 1.0 if largest else -1.0
    scores = []
    for pane in range(PANES):
        high = size if pane < FALL else 30.0
        scores.append(
            [
                {("", f'["{name}"]'): (sign * float(dice.integers(1, int(high))), 1) for name in "abcdef"}
                for _ in range(SITES)
            ]
        )
    rules = Rules(2, quantum=1.0, closed=not largest)
    simulation = RankingSimulation(rules, scores, SimulatedNetwork(seed, Faults()), timing=Timing(lease=60.0))
    simulation.run()
    judged = 0
    for _, answer in simulation.published:
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1):
            if pane < FALL or answer.state is not State.VALID or answer.lists is None:
                continue
            judged += 1
            total = {key: sum(held[key][0] for held in scores[pane]) for key in scores[pane][0]}
            said = {("", key) for key in answer.lists[""]}
            assert len(said) == 2
            assert min(total[key] for key in said) >= max(total[key] for key in total if key not in said)
    assert judged
