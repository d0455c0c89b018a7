"""What a sweep may vary, and what each value does to a watch and to a recording."""

from __future__ import annotations

import contextlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.language import parse_watch
from tacit.language.plan import Every
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


@pytest.mark.parametrize(
    ("window", "length", "every"),
    [
        ("LAST 100 ROWS EVERY 7 ROWS", "7", Every(rows=7)),
        ("LAST 100 ROWS EVERY 7 ROWS", "5000", Every(rows=7)),
        ("LAST 100 ROWS EVERY 30 SECONDS", "5", Every(duration_us=30_000_000)),
        ("LAST 100 ROWS EVERY 30 SECONDS", "1min", Every(duration_us=30_000_000)),
        ("LAST 1 DAY EVERY 1 HOUR", "50", Every(duration_us=3_600_000_000)),
        ("LAST 10000 ROWS", "200", Every(rows=100)),
        ("LAST 10000 ROWS", "50", Every(rows=1)),
        ("LAST 10000 ROWS", "7s", Every(duration_us=1_000_000)),
        ("LAST 1 DAY", "7s", Every(duration_us=1_000_000)),
        ("SINCE MIDNIGHT", "20s", Every(duration_us=1_000_000)),
        ("SINCE MIDNIGHT EVERY 5 SECONDS", "20s", Every(duration_us=5_000_000)),
    ],
)
def test_another_window_keeps_the_step_where_it_fits(window: str, length: str, every: Every) -> None:
    plan = parse_watch(WATCH.replace("LAST 100 ROWS", window))
    (value,) = read_variation(f"window={length}").values
    assert changed_plan(plan, "window", value).window.every == every


@pytest.mark.parametrize(
    ("window", "length", "words"),
    [
        ("LAST 100 ROWS EVERY 7 ROWS", "6", "6 has no room for the step of w, EVERY 7 ROWS"),
        ("LAST 100 ROWS EVERY 7 ROWS", "1h", "1h has no room for the step of w, EVERY 7 ROWS"),
        ("LAST 1 DAY EVERY 1 HOUR", "59min", "59min has no room for the step of w, EVERY 1h"),
    ],
)
def test_a_written_step_is_never_changed(window: str, length: str, words: str) -> None:
    plan = parse_watch(WATCH.replace("LAST 100 ROWS", window))
    (value,) = read_variation(f"window={length}").values
    with pytest.raises(OptionError, match=words):
        changed_plan(plan, "window", value)


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
