"""The families of schedules: what a seed stands for in each, and how its run is judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.transport.stage import Stage
from tests.simulation.rankings import judge_ranking, ranking_of
from tests.simulation.schedules import schedule_of
from tests.simulation.sketches import frequent_of, gauge_of, judge_sketch
from tests.simulation.topico import judge_topico, topico_of
from tests.simulation.vectors import judge_vector

__all__ = ["FAMILIES", "Family", "judge_many", "verdict"]


@dataclass(frozen=True)
class Family:
    """One kind of watch under random schedules of faults."""

    name: str
    schedule_of: Callable[[int], Any]
    judge: Callable[[Any], tuple[Stage, list[str]]]


FAMILIES = {
    family.name: family
    for family in (
        Family("vector", schedule_of, judge_vector),
        Family("ranking", ranking_of, judge_ranking),
        Family("gauge", gauge_of, judge_sketch),
        Family("frequent", frequent_of, judge_sketch),
        Family("topico", topico_of, judge_topico),
    )
}


def verdict(family: str, seed: int) -> str | None:
    """Return what went wrong in the run of this seed, and how to see it again; None when nothing did."""
    schedule = FAMILIES[family].schedule_of(seed)
    try:
        _, wrong = FAMILIES[family].judge(schedule)
    except Exception as error:  # whatever it is, it is this seed's verdict
        wrong = [repr(error)]
    if not wrong:
        return None
    hint = f"see python -m tests.simulation.story {seed} --family {family}"
    return f"{family} {schedule}\n  " + "\n  ".join([*wrong[:5], hint])


def judge_many(family: str, first: int, count: int) -> None:
    """Judge the schedules of seeds in a row; fail with the story of each that went wrong."""
    failures = [why for seed in range(first, first + count) if (why := verdict(family, seed)) is not None]
    assert not failures, f"{len(failures)} of {count} schedules went wrong\n" + "\n".join(failures)
