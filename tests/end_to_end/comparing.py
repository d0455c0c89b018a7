"""A watch's live story beside a replay's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison, Track
from tacit.recording.replay import Replay
from tacit.vocabulary.calendar import iso_time
from tacit.vocabulary.keys import group_label
from tests.end_to_end.feeding import BASE_S
from tests.end_to_end.judging import Said, Told, Watch

__all__ = ["alerts_follow_from_answers", "alerts_told", "answers_of_replay", "same_as_replay"]


def alerts_told(alerts: list[dict[str, Any]], until: str) -> list[tuple[Any, ...]]:
    """Alerts as both kinds of documents have them, in one order."""
    early = [each for each in alerts if each["at"] <= until]
    return sorted((each["at"], _label(each.get("group")), each.get("side"), each["value"]) for each in early)


def answers_of_replay(watch: Watch, replay: Replay) -> dict[int, dict[str, Said]]:
    """What a replay answered: by pane in which something changed, the side and value of every group that did."""
    goal, physical = replay.physical.goal, replay.physical
    expression = goal.expression if isinstance(goal, Comparison | Track) else physical.outputs[0][1]
    found: dict[int, dict[str, Said]] = {}
    for change in replay.outcome.changes:
        values = np.asarray(value(expression, change.estimates * physical.scale)).tolist()
        pane = -1 if change.update < 0 else int(replay.updates.time[change.update]) // watch.pane_us - 1
        now = found.setdefault(pane, {})
        for group, side, number in zip(change.groups.tolist(), change.sides.tolist(), values, strict=True):
            now[str(group)] = (side, number)
    return found


def same_as_replay(
    watch: Watch,
    told: Told,
    report: dict[str, Any],
    replay: Replay,
    groups: Sequence[str] | None,
    steps: int,
    *,
    rounding: float = 0.0,
) -> None:
    """The same alerts, and the same side and value of every group at every pane, as far as all rows are in.

    A group that was never spoken of has the answer of no rows, as at the replay's start. Values of data that are no
    whole numbers may differ by ``rounding``, relatively: they are summed in another order.
    """
    end_us = (BASE_S + steps) * 1_000_000 // watch.pane_us * watch.pane_us
    until = iso_time(end_us)
    raised, expected = alerts_told(told.alerts, until), alerts_told(report["alerts"], until)
    assert [each[:3] for each in raised] == [each[:3] for each in expected], watch.name
    for mine, theirs in zip(raised, expected, strict=True):
        assert _near(mine[3], theirs[3], rounding), (watch.name, mine, theirs)
    names = groups or [""]
    changes = answers_of_replay(watch, replay)
    start = {names[int(group)]: said for group, said in changes.pop(-1, {}).items()}
    assert set(start) == set(names)
    now = dict(start)
    for pane in range(min(told.answers), end_us // watch.pane_us):
        now |= {names[int(group)]: said for group, said in changes.get(pane, {}).items()}
        live = {**start, **told.answers[pane]}
        assert set(live) == set(now), (watch.name, pane)
        for name, (side, number) in live.items():
            assert (side, True) == (now[name][0], _near(number, now[name][1], rounding)), (watch.name, pane, name)


def alerts_follow_from_answers(watch: Watch, told: Told) -> None:
    """An alert for each change of a condition or of a tracked value, where it changed, and none beside.

    Those of panes that were settled without a site count where the settled pane says the same; what they have said
    wrongly is corrected.
    """
    expected = []
    before: dict[str, Said] = {}
    for pane, answers in sorted(told.answers.items()):
        for group, (side, number) in answers.items():
            old = before.get(group, (0, None))
            if (number != old[1]) if watch.threshold is None else ((side == 1) != (old[0] == 1)):
                expected.append((pane, group if watch.grouped else "", number))
        before = answers
    raised = [((alert["pane"], _label(alert["group"]), alert["value"]), alert) for alert in told.alerts]
    found = [each for each, alert in raised if not (alert["state"] == "stale" or alert.get("correction"))]
    provisional = [each for each, alert in raised if alert["state"] == "stale"]
    told_at = {each[:2] for each in provisional} if watch.threshold is not None else set(provisional)
    beside = [each for each in found if each not in expected]
    lost = [each for each in expected if each not in found and each not in told_at and each[:2] not in told_at]
    assert (beside, lost) == ([], []), watch.name
    assert len(found) == len(set(found)), watch.name


def _label(group: list[Any] | str | None) -> str:
    """A group of either kind of document."""
    return group_label(group) if isinstance(group, list) else group or ""


def _near(one: float | None, other: float | None, rounding: float) -> bool:
    one, other = (None if each is None or not np.isfinite(each) else each for each in (one, other))
    if one is None or other is None:
        return one is other
    return abs(one - other) <= rounding * max(abs(one), abs(other))
