"""Alerts tell the answer: whoever listens to them alone knows it at every step."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording

WATCH = "CREATE WATCH w AS SELECT g, SUM(x) AS s FROM t WINDOW LAST 4 ROWS EVERY {every} {group} ALERT WHEN s {goal}"


def _replay(goal: str, x: list[float], *, every: str = "1 ROWS", step: str = "event", group: list[int] | None = None):
    by = "" if group is None else "GROUP BY g"
    plan = parse_watch(WATCH.format(goal=goal, every=every, group=by).replace("g, " if group is None else "\n", ""))
    k = np.arange(len(x))
    recording = Recording.from_arrays(
        t=k * 1_000_000, site=k % 2, present=np.array(x)[:, None], group=group,
        groups=None if group is None else ("p", "q"),
    )  # fmt: skip
    return replay_recording(plan, recording, step=step, verify=True).report


@pytest.mark.parametrize("protocol_step", ["event", "pane"])
def test_what_holds_of_no_rows_is_said_with_the_first_row(protocol_step: str) -> None:
    report = _replay("< 5", [1.0, 1.0, 9.0, 0.0, -9.0, 0.0], every="1 SECOND", step=protocol_step)
    assert [(alert.update, alert.side) for alert in report.alerts] == [(0, "below"), (2, "above"), (4, "below")]
    assert len(report.alerts) == report.crossings


def test_what_the_first_row_ends_was_never_said() -> None:
    report = _replay("<= 0", [1.0, 1.0, -9.0])
    assert [(alert.update, alert.side) for alert in report.alerts] == [(2, "below")]
    assert report.crossings == 1


def test_each_group_has_its_own_first_row() -> None:
    report = _replay("< 5", [1.0, 1.0, 9.0, 0.0, 7.0], group=[0, 0, 0, 1, 1])
    found = [(alert.update, alert.side, alert.group) for alert in report.alerts]
    assert found == [(0, "below", "p"), (2, "above", "p"), (3, "below", "q"), (4, "above", "q")]
    assert len(found) == report.crossings


@pytest.mark.parametrize("step", ["event", "pane"])
def test_a_member_is_spoken_of_from_its_first_row_on(step: str) -> None:
    """More than 2 rows lack every member from the third on, the last member too, which is told with its first row."""
    window = "WINDOW LAST 9 SECONDS EVERY 1 SECOND GROUP BY EACH(l) AS m"
    plan = parse_watch(f"CREATE WATCH w AS SELECT m, COUNT_IF(NOT PRESENT) AS a FROM t {window} ALERT WHEN a > 2.5")
    k = np.arange(7)
    recording = Recording.from_arrays(
        t=k * 1_000_000, site=k % 2, present=np.zeros((7, 1)), absent=np.ones((7, 1)),
        members=[[0], [], [], [], [], [1], []], groups=("p", "q"),
    )  # fmt: skip
    report = replay_recording(plan, recording, step=step, verify=True).report
    assert [(alert.group, alert.update, alert.side, alert.value) for alert in report.alerts] == [
        ("p", 3, "above", 3.0),
        ("q", 5, "above", 3.0),
    ]
    assert (report.missed, report.spurious) == (0, 0)


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
def test_a_tracked_value_of_a_member_is_told_with_its_first_row(protocol: str) -> None:
    window = "WINDOW LAST 9 SECONDS EVERY 1 SECOND GROUP BY EACH(l) AS m"
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT m, SUM(x) FILTER (WHERE NOT PRESENT) AS a FROM t {window} TRACK a WITHIN 1.5"
    )
    k = np.arange(6)
    recording = Recording.from_arrays(
        t=k * 1_000_000, site=k % 2, present=np.zeros((6, 1)), absent=np.full((6, 1), 2.0),
        members=[[], [], [], [0], [], []], groups=("p",),
    )  # fmt: skip
    report = replay_recording(plan, recording, step="pane", protocol=protocol, verify=True).report
    assert [(alert.update, alert.value) for alert in report.alerts] == [(3, 6.0), (4, 8.0), (5, 10.0)]
