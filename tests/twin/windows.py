"""Windows as lists of rows: which rows count at which step, as docs/REPLAY.md tells it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tests.twin.order import EPOCH, Ordered, micros

SECOND_US = 1_000_000
HOUR_S = 3600
DAY_US = 86_400 * SECOND_US
_FIXED_US = {"minute": 60 * SECOND_US, "hour": 3600 * SECOND_US, "day": DAY_US, "week": 7 * DAY_US}

Change = dict[int, list[int]]  # of every site whose window changed: the rows that are in it now


@dataclass(frozen=True, slots=True)
class Window:
    """What a WINDOW clause says. A pane is ``every_rows`` rows of a site, or else ``every_us`` of time."""

    kind: str  # "rows", "time", "since" or "all"
    rows: int = 0
    length_us: int = 0
    unit: str = ""
    every_rows: int = 0
    every_us: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """An instant at which the watch is checked, and what changed there."""

    time_us: int
    changed: Change


def last_rows(rows: int, every: int = 1) -> Window:
    """LAST n ROWS EVERY m ROWS."""
    return Window("rows", rows=rows, every_rows=every)


def last_rows_by_time(rows: int, every_s: int) -> Window:
    """LAST n ROWS EVERY m SECONDS."""
    return Window("rows", rows=rows, every_us=every_s * SECOND_US)


def last_seconds(length_s: int, every_s: int) -> Window:
    """LAST n SECONDS EVERY m SECONDS."""
    return Window("time", length_us=length_s * SECOND_US, every_us=every_s * SECOND_US)


def since(unit: str, every_s: int) -> Window:
    """SINCE START OF unit EVERY m SECONDS; without EVERY m is 60."""
    return Window("since", unit=unit, every_us=every_s * SECOND_US)


def everything(every_s: int = 60) -> Window:
    """ALL, or no window."""
    return Window("all", every_us=every_s * SECOND_US)


def steps_of(data: Ordered, kept: list[int], window: Window, step: str) -> list[Step]:
    """All steps of a replay over the rows ``kept``; ``step`` is event or pane."""
    if step == "event":
        return _events(data, kept, window)
    return _panes_of_rows(data, kept, window) if window.every_rows else _panes_of_time(data, kept, window)


def _events(data: Ordered, kept: list[int], window: Window) -> list[Step]:
    """A step per arrival; at each instant at which rows of a site grow too old a step of that site, before arrivals."""
    last_us = data.time_us[kept[-1]]
    leaving = {(_leaves_us(data.time_us[row], window), data.site[row]) for row in kept}
    moments = [(time_us, 0, site, -1) for time_us, site in leaving if time_us is not None and time_us <= last_us]
    moments += [(data.time_us[row], 1, place, row) for place, row in enumerate(kept)]
    held: list[list[int]] = [[] for _ in range(data.sites)]
    steps = []
    for time_us, arrives, site, row in sorted(moments):
        if arrives:
            site = data.site[row]
            held[site].append(row)
        held[site] = _cut(data, held[site], window, _oldest_at(time_us, window))
        steps.append(Step(time_us, {site: list(held[site])}))
    return steps


def _panes_of_rows(data: Ordered, kept: list[int], window: Window) -> list[Step]:
    """A step at every n-th row of a site."""
    held: list[list[int]] = [[] for _ in range(data.sites)]
    steps = []
    for row in kept:
        site = data.site[row]
        held[site].append(row)
        if len(held[site]) % window.every_rows == 0:
            steps.append(Step(data.time_us[row], {site: held[site][-window.rows :]}))
    return steps


def _panes_of_time(data: Ordered, kept: list[int], window: Window) -> list[Step]:
    """A step at the end of every pane in which the window of some site changed."""
    pane_us = window.every_us
    rows_of = [[row for row in kept if data.site[row] == site] for site in range(data.sites)]
    before: list[list[int]] = [[] for _ in range(data.sites)]
    steps = []
    for pane in range(data.time_us[kept[0]] // pane_us, data.time_us[kept[-1]] // pane_us + 1):
        end_us = (pane + 1) * pane_us
        changed: Change = {}
        for site, rows in enumerate(rows_of):
            so_far = [row for row in rows if data.time_us[row] < end_us]
            now = _cut(data, so_far, window, _oldest_at(end_us - 1, window))
            if now != before[site]:
                changed[site] = before[site] = now
        if changed:
            steps.append(Step(end_us, changed))
    return steps


def _cut(data: Ordered, rows: list[int], window: Window, oldest_us: int | None) -> list[int]:
    if window.kind == "rows":
        return rows[-window.rows :]
    return rows if oldest_us is None else [row for row in rows if data.time_us[row] >= oldest_us]


def _oldest_at(now_us: int, window: Window) -> int | None:
    """The earliest time that is in a window of time whose last microsecond is now."""
    if window.kind == "time":
        return now_us - window.length_us + 1
    return period_start_us(now_us, window.unit) if window.kind == "since" else None


def _leaves_us(time_us: int, window: Window) -> int | None:
    """When a row of this time stops to count; None for windows that are not of time."""
    if window.kind == "time":
        return time_us + window.length_us
    return next_period_us(time_us, window.unit) if window.kind == "since" else None


def period_start_us(time_us: int, unit: str) -> int:
    """The start of the minute, hour, day, week (Monday), month or year that holds an instant.

    >>> period_start_us(DAY_US, "week") == -3 * DAY_US  # 1970 began on a Thursday
    True
    """
    moment = EPOCH + timedelta(microseconds=time_us)
    if unit in ("minute", "hour"):
        return time_us - time_us % _FIXED_US[unit]
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0)
    if unit == "week":
        day -= timedelta(days=day.weekday())
    if unit in ("month", "year"):
        day = day.replace(day=1)
    if unit == "year":
        day = day.replace(month=1)
    return micros(day)


def next_period_us(time_us: int, unit: str) -> int:
    """The start of the period after the one that holds an instant."""
    start_us = period_start_us(time_us, unit)
    if unit in _FIXED_US:
        return start_us + _FIXED_US[unit]
    return period_start_us(start_us + (32 if unit == "month" else 367) * DAY_US, unit)
