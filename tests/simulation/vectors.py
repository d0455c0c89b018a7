"""Run one schedule of a watch of vectors with all checkers."""

from __future__ import annotations

from tacit.transport import Simulation
from tests.simulation.checkers import ConvexityChecker, valid_again, wrong_answers
from tests.simulation.schedules import Schedule

__all__ = ["judge_vector"]


def judge_vector(schedule: Schedule) -> tuple[Simulation, list[str]]:
    """The run, and what was wrong with it."""
    simulation = schedule.simulation()
    convexity = ConvexityChecker(schedule.watch)
    simulation.observers.append(convexity)
    simulation.run()
    wrong = wrong_answers(schedule.watch, simulation.settlement.published) + convexity.broken
    late = valid_again(simulation, schedule.faults.end, schedule.timing.lease + 5.0)
    if late is not None:
        wrong.append(late)
    if convexity.checked == 0:
        wrong.append("convexity was never checked")
    return simulation, wrong
