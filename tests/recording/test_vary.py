"""What a sweep may vary, and what each value does to a watch and to a recording."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.language import parse_watch
from tacit.recording.settings import Settings
from tacit.recording.stream import Recording
from tacit.recording.subset import draw_groups, first_sites
from tacit.recording.sweep import jobs_of
from tacit.recording.vary import Length, changed_plan, read_variation
from tacit.vocabulary.errors import OptionError

WATCH = "CREATE WATCH w AS SELECT AVG(x) AS m FROM t WINDOW LAST 100 ROWS ALERT WHEN m > 10 MARGIN 1"


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("threshold=0.1:0.9:9", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)),
        ("margin=0,0.01,0.02", (0.0, 0.01, 0.02)),
        ("sites=2:12:6", (2, 4, 6, 8, 10, 12)),
        ("groups=10,100,1000", (10, 100, 1000)),
        ("protocol=coordinator, broadcast", ("coordinator", "broadcast")),
        ("window=100,1h", (Length(100, True, "100"), Length(3_600_000_000, False, "1h"))),
        ("window=1h:3h:3", tuple(Length(k * 3_600_000_000, False, f"{k}h") for k in (1, 2, 3))),
        ("window=90 seconds", (Length(90_000_000, False, "90 seconds"),)),
        ("threshold=2,2,3", (2.0, 3.0)),
    ],
)
def test_values_are_read(text: str, values: tuple[object, ...]) -> None:
    assert read_variation(text).values == values


@given(st.text(max_size=30))
def test_any_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(OptionError):
        assert read_variation(text).values


def test_a_window_keeps_the_rest_of_the_watch() -> None:
    plan = parse_watch(WATCH)
    hours = changed_plan(plan, "window", Length(7_200_000_000, False, "2h"))
    assert (hours.window.kind, hours.window.duration_us) == ("time", 7_200_000_000)
    assert hours.goal == plan.goal
    longer = changed_plan(plan, "window", Length(5_000, True, "5000"))
    assert (longer.window.rows, longer.window.every) == (5_000, plan.window.every)
    assert changed_plan(plan, "threshold", 3.0).goal.threshold == 3.0


def test_one_job_for_every_combination() -> None:
    variations = [read_variation("threshold=1,2"), read_variation("protocol=threshold,decentralised")]
    jobs = jobs_of(parse_watch(WATCH), variations, Settings(), Path())
    assert [(job.plan.goal.threshold, job.settings.protocol) for job in jobs] == [
        (1.0, "coordinator"), (1.0, "broadcast"), (2.0, "coordinator"), (2.0, "broadcast"),
    ]  # fmt: skip
    assert jobs[1].name == "threshold=1.0, protocol=decentralised"


def test_the_first_sites_keep_their_rows() -> None:
    whole = Recording.from_arrays(
        t=np.arange(9), site=np.arange(9) % 3, present=np.arange(9.0)[:, None], members=[[k % 4] for k in range(9)]
    )
    part = first_sites(whole, 2)
    assert part.sites == ("0", "1")
    assert part.present.ravel().tolist() == [0.0, 1.0, 3.0, 4.0, 6.0, 7.0]
    assert part.member is not None
    assert part.member.tolist() == [0, 1, 3, 0, 2, 3]
    part.check()


def test_a_larger_draw_of_groups_contains_a_smaller_one() -> None:
    keyed = Recording.from_arrays(
        t=np.arange(20), site=np.arange(20) % 2, present=np.ones((20, 1)), group=np.arange(20) % 10
    )
    few, more = draw_groups(keyed, 3, seed=5), draw_groups(keyed, 6, seed=5)
    assert few.groups is not None
    assert more.groups is not None
    assert set(few.groups) < set(more.groups)
    assert (len(few), len(more)) == (6, 12)
    few.check()


def test_members_that_were_not_drawn_leave_their_rows_behind() -> None:
    whole = Recording.from_arrays(
        t=np.arange(6),
        site=np.arange(6) % 2,
        present=np.ones((6, 1)),
        members=[[0, 1, 2], [1], [2, 3], [], [0, 3], [3]],
    )
    part = draw_groups(whole, 2, seed=1)
    assert len(part) == 6
    assert part.groups is not None
    assert part.member is not None
    kept = {int(name) for name in part.groups}
    names = [int(part.groups[m]) for m in part.member.tolist()]
    assert names == [m for row in [[0, 1, 2], [1], [2, 3], [], [0, 3], [3]] for m in row if m in kept]
    part.check()
