"""Starts of calendar periods, in UTC: where windows SINCE … begin anew, in a replay and live."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from tacit.vocabulary.arrays import IntArray

__all__ = ["first_pane", "iso_time", "period_start"]

DAY_US = 86_400_000_000
FIXED_UNITS_US = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": DAY_US}


def period_start(times: IntArray, unit: str, *, next_one: bool = False) -> IntArray:
    """The start of the calendar period that holds each instant, or of the next one.

    >>> bool(period_start(np.array([DAY_US]), "week")[0] == -3 * DAY_US)  # 1970 began on a Thursday
    True
    """
    step = 1 if next_one else 0
    if unit in FIXED_UNITS_US:
        us = FIXED_UNITS_US[unit]
        return np.asarray((times // us + step) * us, dtype=np.int64)
    if unit == "week":  # weeks start on Monday; 1970-01-01 was a Thursday
        week, monday = 7 * DAY_US, 4 * DAY_US
        return np.asarray(((times - monday) // week + step) * week + monday, dtype=np.int64)
    code = {"month": "M", "year": "Y"}[unit]
    starts = times.astype("datetime64[us]").astype(f"datetime64[{code}]") + step
    return np.asarray(starts.astype("datetime64[us]").astype(np.int64))


def first_pane(pane: int, every_us: int, unit: str) -> int:
    """The pane that a period begins in: the one that this pane, of ``every_us`` each, ends in.

    >>> [first_pane(pane, 5_000_000, "minute") for pane in (11, 12, 13)]
    [0, 12, 12]
    """
    return int(period_start(np.array([(pane + 1) * every_us - 1]), unit)[0]) // every_us


def iso_time(time_us: int) -> str:
    """An instant as text.

    >>> iso_time(1_000_000)
    '1970-01-01T00:00:01Z'
    """
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=int(time_us))
    except OverflowError:
        return f"{time_us / 1e6:.6f} s"
    return moment.isoformat().replace("+00:00", "Z")
