"""The kernel's resolutions are the machine's: same messages, same bytes, same answers."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tacit.functions.goals import Goal
from tacit.language.plan import ByKey
from tacit.recording.engine import Engine, Outcome
from tacit.recording.physical import physical_plan
from tacit.recording.updates import updates_of
from tacit.vocabulary import FloatArray

from .test_replay_is_right import GOALS, WINDOWS, member_watch, plan_of, stream


@pytest.mark.parametrize(
    ("goal", "step", "groups", "sites"),
    [
        *product(["count", "mean", "ratio", "deviation", "track"], ["event", "pane"], [0, 4], [5]),
        *product(["mean", "track"], ["pane"], [0, 4], [60]),  # where many are asked at once
    ],
)
def test_kernel_and_machine_agree(goal: str, step: str, groups: int, sites: int) -> None:
    recording = stream(11, 400 if sites < 10 else 700, sites, whole=False, groups=groups)
    wanted: Goal = GOALS[goal]
    plan = plan_of(wanted, WINDOWS["time"], ByKey(("k",), ("k",)) if groups else None)
    updates = updates_of(recording, plan.window, step=step)
    outcomes = []
    for by_hand in (False, True):
        engine = Engine(physical_plan(plan, recording), updates, by_hand=by_hand)
        outcomes.append(engine.run())
    fast, slow = outcomes
    assert sites == 5 or fast.ledger.by_kind()["request"] > 20 * fast.full_syncs > 0
    assert fast.ledger.by_kind() == slow.ledger.by_kind()
    assert fast.ledger.bytes_by_kind() == slow.ledger.bytes_by_kind()
    assert fast.ledger.as_dict() == slow.ledger.as_dict()
    assert _talks(fast) == _talks(slow)
    assert fast.violations == slow.violations
    assert fast.full_syncs == slow.full_syncs
    said, wanted_said = (_said(outcome) for outcome in (fast, slow))
    if goal == "track":
        assert len(said) == len(wanted_said)
    else:  # kernels do not tell of a new estimate with the same answer
        said, wanted_said = _turns(said), _turns(wanted_said)
    for a, b in zip(said, wanted_said, strict=True):
        assert a[:3] == b[:3]
        np.testing.assert_allclose(a[3], b[3], rtol=1e-12)


@pytest.mark.parametrize("groups", [0, 3])
def test_broadcasts_counted_in_bulk_are_those_sent(groups: int) -> None:
    recording = stream(12, 400, 5, whole=False, groups=groups)
    plan = plan_of(GOALS["ratio"], WINDOWS["time"], ByKey(("k",), ("k",)) if groups else None)
    updates = updates_of(recording, plan.window, step="event")
    fast, slow = (
        Engine(physical_plan(plan, recording), updates, protocol="broadcast", by_hand=by).run() for by in (False, True)
    )
    assert fast.ledger.count(kind="broadcast") > 100
    assert fast.ledger.as_dict() == slow.ledger.as_dict()
    assert _talks(fast) == _talks(slow)
    assert fast.violations == slow.violations


def _talks(outcome: Outcome) -> list[list[int]]:
    """[update, messages] of every resolution."""
    return sorted(np.concatenate(outcome.talks).tolist())


def _said(outcome: Outcome) -> list[tuple[int, int, int, FloatArray]]:
    """(update, group, side, estimate) of every change."""
    return [
        (change.update, int(group), int(side), estimate)
        for change in outcome.changes
        for group, side, estimate in zip(change.groups, change.sides, change.estimates, strict=True)
    ]


def _turns(said: list[tuple[int, int, int, FloatArray]]) -> list[tuple[int, int, int, FloatArray]]:
    """Only those at which a group's side is another one than before."""
    last: dict[int, int] = {}
    turns = []
    for row in said:
        if last.get(row[1]) != row[2]:
            turns.append(row)
        last[row[1]] = row[2]
    return turns


def test_kernel_and_machine_agree_on_members_of_lists() -> None:
    recording, plan = member_watch()
    updates = updates_of(recording, plan.window, step="event")
    fast, slow = (Engine(physical_plan(plan, recording), updates, by_hand=by).run() for by in (False, True))
    assert fast.ledger.as_dict() == slow.ledger.as_dict()
    assert _talks(fast) == _talks(slow)
    assert (fast.violations, fast.full_syncs) == (slow.violations, slow.full_syncs)
    assert slow.violations > len(_talks(slow))  # several groups in one resolution


@pytest.mark.parametrize("goal", ["count", "mean", "sum"])
def test_rows_lie_as_kernels_read_them(goal: str) -> None:
    """Another layout would be compiled anew, and read more slowly."""
    physical = physical_plan(plan_of(GOALS[goal], WINDOWS["rows"]), stream(1, 50, 3, whole=True))
    assert physical.rows.flags.c_contiguous
