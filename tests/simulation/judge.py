"""Run one schedule with all checkers; the verdict names the seed."""

from __future__ import annotations

from tacit.transport import Simulation
from tests.simulation.checkers import ConvexityChecker, valid_again, wrong_answers
from tests.simulation.schedules import Schedule, schedule_of

__all__ = ["judge", "judge_many"]


def judge(schedule: Schedule) -> tuple[Simulation, list[str]]:
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


def judge_many(first: int, count: int) -> None:
    """Judge the schedules of seeds in a row; fail with the story of each that went wrong."""
    failures = []
    for seed in range(first, first + count):
        schedule = schedule_of(seed)
        try:
            _, wrong = judge(schedule)
        except Exception as error:
            raise AssertionError(f"{schedule}: {error!r}; see python -m tests.simulation.story {seed}") from error
        if wrong:
            failures.append(f"{schedule}\n  " + "\n  ".join(wrong[:5]))
    hint = "see python -m tests.simulation.story SEED"
    assert not failures, f"{len(failures)} of {count} schedules went wrong; {hint}\n" + "\n".join(failures)
