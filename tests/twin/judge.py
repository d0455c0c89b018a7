"""Is what a report says true? Every step is walked again, with every value computed from the rows of the windows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from tests.twin.meaning import Compare, Condition, Grouping, Track, Values, Watch
from tests.twin.order import EPOCH, Ordered
from tests.twin.windows import Step, steps_of

ROUNDING = 1e-9  # relative: what double precision may cost a value that is tracked or reported

Truth = list[tuple[Step, dict[str | None, Values]]]  # at every step the values of every group that there is by then


def truth_of(watch: Watch, data: Ordered, step: str) -> Truth:
    """The values at every step. A group by key exists from its first row on, a member of a list from the start."""
    kept = [i for i, row in enumerate(data.rows) if watch.where(row)]
    grouping = watch.grouping
    groups: list[Any] = [None]
    if grouping is not None:
        groups = list(dict.fromkeys(member for i in kept for member in grouping.members(data.rows[i])))
    held: dict[int, list[int]] = {}
    now: dict[str | None, Values] = {}
    truth: Truth = []
    for moment in steps_of(data, kept, watch.window, step):
        moved = {i for site, rows in moment.changed.items() for i in {*rows} ^ {*held.get(site, ())}}
        held |= moment.changed
        rows = [data.rows[i] for window in held.values() for i in window]
        for group in groups:
            if grouping is None or grouping.each:
                now[_label(grouping, group)] = watch.values(rows, group)
            elif any(grouping.of(data.rows[i]) == group for i in moved):
                mine = [row for row in rows if grouping.of(row) == group]
                now[_label(grouping, group)] = watch.values(mine, group)
        truth.append((moment, dict(now)))
    return truth


def complaints(watch: Watch, truth: Truth, report: Any) -> list[str]:
    """What is wrong with a report, in words; nothing when all of it is true."""
    found = list(_wrong_alerts(watch, truth, report))
    if found:
        return found
    goal = watch.goal
    by_group: dict[str | None, dict[int | None, Any]] = {}
    for alert in report.alerts:
        by_group.setdefault(alert.group, {})[_step_of(watch, truth, report, alert)] = alert
    crossings, error = 0, 0.0
    for group in dict.fromkeys(name for _, values in truth for name in values):
        alerts = by_group.get(group, {})
        if isinstance(goal, Track):
            wrong, crossed, farthest = _walk_track(goal, truth, group, alerts)
        else:
            wrong, crossed, farthest = _walk_condition(goal, truth, group, alerts)
        found += [f"{group or 'the watch'} at {iso(truth[k][0].time_us)}, step {k}: {text}" for k, text in wrong]
        crossings += crossed
        error = max(error, farthest)
    if (report.missed, report.spurious) != (0, 0):
        found.append(f"the observer saw {report.missed} missed and {report.spurious} spurious")
    if not isinstance(goal, Track) and crossings != report.crossings:
        found.append(f"{crossings} crossings, reported {report.crossings}")
    if isinstance(goal, Track | Compare):
        unit = abs(goal.threshold if isinstance(goal, Compare) else goal.within)
        if not math.isclose(error, report.max_error, rel_tol=1e-6, abs_tol=ROUNDING * unit):
            found.append(f"the farthest error was {error}, reported {report.max_error}")
    elif report.max_error > _widest_margin(goal) + ROUNDING:
        found.append(f"an error of {report.max_error}, beyond every margin, and yet nothing missed")
    return found


def _walk_condition(
    goal: Condition, truth: Truth, group: str | None, alerts: dict[int | None, Any]
) -> tuple[list[tuple[int, str]], int, float]:
    """What was wrongly said, how often the truth changed sides, and how far it was on the other side."""
    wrong, crossings, error = [], 0, 0.0
    said = held = False
    for k, (_, groups) in enumerate(truth):
        if k in alerts:
            said = alerts[k].side in _met_sides(goal)
        if group not in groups:
            continue
        values = groups[group]
        holds = goal.holds(values)
        crossings += holds != held
        held = holds
        if said and not goal.holds(values, 1):
            wrong.append((k, f"said met, and it is not: {values}"))
        if not said and goal.holds(values, -1):
            wrong.append((k, f"said not met, and it is: {values}"))
        if isinstance(goal, Compare) and not math.isnan(goal.excess(values)):
            error = max(error, -goal.excess(values) if said else goal.excess(values))
    return wrong, crossings, error


def _walk_track(
    goal: Track, truth: Truth, group: str | None, alerts: dict[int | None, Any]
) -> tuple[list[tuple[int, str]], int, float]:
    """The same of a value that is tracked; the error of a percentage is in percent."""
    wrong, error, said = [], 0.0, goal.start
    for k, (_, groups) in enumerate(truth):
        if k in alerts:
            said = math.nan if alerts[k].value is None else alerts[k].value
        if group not in groups:
            continue
        value = groups[group][goal.value]
        if math.isnan(value) and math.isnan(said):
            continue
        off = abs(value - said)
        allowed = goal.within / 100 * abs(value) if goal.percent else goal.within
        if not off <= allowed * (1 + ROUNDING) + ROUNDING * abs(value):
            wrong.append((k, f"said {said}, and it is {value}"))
        elif not goal.percent:
            error = max(error, off)
        elif value != 0:
            error = max(error, 100 * off / abs(value))
    return wrong, 0, error


def _wrong_alerts(watch: Watch, truth: Truth, report: Any) -> Iterator[str]:
    """Alerts of no group, or at an instant that is no step."""
    groups = truth[-1][1]
    for alert in report.alerts:
        if alert.group not in groups:
            yield f"an alert of the group {alert.group}, which does not exist"
        if _step_of(watch, truth, report, alert) is None:
            yield f"an alert at {alert.at}, which is not the time of its step"


def _step_of(watch: Watch, truth: Truth, report: Any, alert: Any) -> int | None:
    """The step of an alert. Panes of time have one step at an instant, everything else may have several."""
    if report.step == "pane" and watch.window.every_us:
        return next((k for k, (step, _) in enumerate(truth) if iso(step.time_us) == alert.at), None)
    there = 0 <= alert.update < len(truth) and iso(truth[alert.update][0].time_us) == alert.at
    return alert.update if there else None


def _met_sides(goal: Condition) -> tuple[str, ...]:
    if isinstance(goal, Compare):
        return ("above",) if goal.sign in (">", ">=") else ("below",)
    return ("met",)


def _widest_margin(goal: Condition) -> float:
    return goal.margin if isinstance(goal, Compare) else max(map(_widest_margin, goal.parts))


def _label(grouping: Grouping | None, group: Any) -> str | None:
    if grouping is None:
        return None
    return ", ".join(
        "NULL" if part is None else str(part) for part in (group if isinstance(group, tuple) else (group,))
    )


def iso(time_us: int) -> str:
    """An instant as a report writes it."""
    return (EPOCH + timedelta(microseconds=time_us)).isoformat() + "Z"
