"""Watches over sketches without loss: every pane is valid and right, and what arrives when does not matter."""

from __future__ import annotations

import pytest

from tacit.transport import Faults
from tacit.vocabulary import State
from tests.simulation.checkers import valid_share
from tests.simulation.sketches import PANES, frequent_of, gauge_of
from tests.simulation.test_faultless import SLOW
from tests.tiers import parametrize_in_tiers

KINDS = [gauge_of, frequent_of]


@pytest.mark.parametrize("make", KINDS)
@parametrize_in_tiers("seed", range(30), in_test=6)
def test_without_faults_nearly_every_pane_is_valid(make, seed):
    schedule = make(seed, churn=False)
    simulation = schedule.simulation(Faults())
    simulation.run()
    assert schedule.wrong(simulation.settlement.published) == []
    assert valid_share(simulation, PANES) >= 0.99


def by_pane(simulation):
    return {
        pane: answer
        for answer in simulation.settlement.published
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1)
    }


@pytest.mark.parametrize("make", KINDS)
@parametrize_in_tiers("seed", range(30), in_test=4)
def test_delay_reordering_and_doubles_change_no_answer(make, seed):
    quick, slow = make(seed, churn=False).simulation(Faults()), make(seed, churn=False).simulation(SLOW)
    quick.run()
    slow.run()
    first, second = by_pane(quick), by_pane(slow)
    assert sorted(first) == list(range(PANES))
    assert len(second) > PANES / 4
    for pane, answer in second.items():
        assert answer.state is first[pane].state is State.VALID
        assert answer.roster == first[pane].roster
        assert answer.lists == first[pane].lists
        assert (answer.estimates == first[pane].estimates).all()
