"""Rankings without loss: every pane is valid and right, and what arrives when does not matter."""

from __future__ import annotations

from tacit.transport import Faults, RankingSimulation
from tacit.vocabulary import Answer, State
from tests.simulation.checkers import valid_share
from tests.simulation.rankings import PANES, InvariantChecker, ranking_of, wrong_rankings
from tests.simulation.test_faultless import SLOW
from tests.tiers import parametrize_in_tiers


def run(seed: int, faults: Faults) -> tuple[RankingSimulation, InvariantChecker]:
    """A run of this seed's ranking with all sites there from the start."""
    simulation, checker = ranking_of(seed, churn=False).simulation(faults), InvariantChecker()
    simulation.observers.append(checker)
    simulation.run()
    return simulation, checker


def by_pane(simulation: RankingSimulation) -> dict[int, Answer]:
    """The answer to every pane that was published."""
    return {
        pane: answer
        for answer in simulation.settlement.published
        for pane in range(answer.pane if answer.first is None else answer.first, answer.pane + 1)
    }


@parametrize_in_tiers("seed", range(40), in_test=10)
def test_a_ranking_is_valid_and_right(seed):
    schedule = ranking_of(seed, churn=False)
    simulation, checker = run(seed, Faults())
    assert wrong_rankings(schedule, simulation.settlement.published) == []
    assert checker.broken == []
    assert checker.checked > PANES / 3
    assert valid_share(simulation, PANES) >= 0.99


@parametrize_in_tiers("seed", range(40), in_test=4)
def test_delay_reordering_and_doubles_change_no_answer(seed):
    """Pane by pane the same sets and scores, as far as the slower run got."""
    quick, slow = by_pane(run(seed, Faults())[0]), by_pane(run(seed, SLOW)[0])
    assert sorted(quick) == list(range(PANES))
    assert len(slow) > PANES / 4
    for pane, answer in slow.items():
        assert answer.state is quick[pane].state is State.VALID
        assert (answer.roster, answer.lists) == (quick[pane].roster, quick[pane].lists)
