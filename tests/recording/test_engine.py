"""The kernel's resolutions are the machine's: same messages, same bytes, same answers."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.functions.goals import Goal
from tacit.language.plan import ByKey
from tacit.recording.engine import Engine
from tacit.recording.physical import physical_plan
from tacit.recording.updates import updates_of

from .test_replay_is_right import GOALS, WINDOWS, member_watch, plan_of, stream


@pytest.mark.parametrize("groups", [0, 4])
@pytest.mark.parametrize("step", ["event", "pane"])
@pytest.mark.parametrize("goal", ["count", "mean", "ratio", "deviation", "track"])
def test_kernel_and_machine_agree(goal: str, step: str, groups: int) -> None:
    recording = stream(11, 400, 5, whole=False, groups=groups)
    wanted: Goal = GOALS[goal]
    plan = plan_of(wanted, WINDOWS["time"], ByKey(("k",), ("k",)) if groups else None)
    updates = updates_of(recording, plan.window, step=step)
    outcomes = []
    for by_hand in (False, True):
        engine = Engine(physical_plan(plan, recording), updates, by_hand=by_hand)
        outcomes.append(engine.run())
    fast, slow = outcomes
    assert fast.ledger.by_kind() == slow.ledger.by_kind()
    assert fast.ledger.bytes_by_kind() == slow.ledger.bytes_by_kind()
    assert fast.ledger.as_dict() == slow.ledger.as_dict()
    assert sorted(fast.message_at) == sorted(slow.message_at)
    assert fast.violations == slow.violations
    assert fast.full_syncs == slow.full_syncs
    assert len(fast.changes) == len(slow.changes)
    for a, b in zip(fast.changes, slow.changes, strict=True):
        assert a.update == b.update
        np.testing.assert_array_equal(a.sides, b.sides)
        np.testing.assert_allclose(a.estimates, b.estimates, rtol=1e-12)


def test_kernel_and_machine_agree_on_members_of_lists() -> None:
    recording, plan = member_watch()
    updates = updates_of(recording, plan.window, step="event")
    fast, slow = (Engine(physical_plan(plan, recording), updates, by_hand=by).run() for by in (False, True))
    assert fast.ledger.as_dict() == slow.ledger.as_dict()
    assert sorted(fast.message_at) == sorted(slow.message_at)
    assert (fast.violations, fast.full_syncs) == (slow.violations, slow.full_syncs)
    assert slow.violations > len(slow.message_at)  # several groups in one resolution
