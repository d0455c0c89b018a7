"""WINDOW and EVERY."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.language import Every, Window, parse_watch
from tacit.language.windows import UNITS_US

SECOND = 1_000_000
MINUTE, HOUR, DAY = 60 * SECOND, 3600 * SECOND, 86_400 * SECOND


def window(text: str) -> Window:
    return parse_watch(f"CREATE WATCH w AS SELECT AVG(x) AS a FROM t {text} ALERT WHEN a > 1").window


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", Window("all", Every(duration_us=MINUTE))),
        ("EVERY 5 SECONDS", Window("all", Every(duration_us=5 * SECOND))),
        ("WINDOW ALL EVERY 100 ROWS", Window("all", Every(rows=100))),
        ("WINDOW LAST 1000 ROWS", Window("rows", Every(rows=10), rows=1000)),
        ("WINDOW LAST 50 ROWS", Window("rows", Every(rows=1), rows=50)),
        ("WINDOW LAST 1 ROW", Window("rows", Every(rows=1), rows=1)),
        ("WINDOW LAST 1e3 ROWS EVERY 1000 ROWS", Window("rows", Every(rows=1000), rows=1000)),
        ("WINDOW LAST 500 ROWS EVERY 10 SECONDS", Window("rows", Every(duration_us=10 * SECOND), rows=500)),
        ("WINDOW LAST 24 HOURS", Window("time", Every(duration_us=864 * SECOND), duration_us=24 * HOUR)),
        ("window last 1.5 hours every hour", Window("time", Every(duration_us=HOUR), duration_us=90 * MINUTE)),
        ("WINDOW LAST 30 SECONDS", Window("time", Every(duration_us=SECOND), duration_us=30 * SECOND)),
        ("WINDOW LAST 500 MILLISECONDS", Window("time", Every(duration_us=500_000), duration_us=500_000)),
        ("WINDOW LAST WEEK EVERY DAY", Window("time", Every(duration_us=DAY), duration_us=7 * DAY)),
        ("WINDOW LAST 7 MICROSECONDS EVERY 7 MICROSECOND", Window("time", Every(duration_us=7), duration_us=7)),
        ("WINDOW SINCE MIDNIGHT", Window("since", Every(duration_us=MINUTE), unit="day")),
        ("WINDOW SINCE START OF MINUTE EVERY 1 SECOND", Window("since", Every(duration_us=SECOND), unit="minute")),
        *(
            (f"WINDOW SINCE START OF {unit.upper()}", Window("since", Every(duration_us=MINUTE), unit=unit))
            for unit in ("minute", "hour", "day", "week", "month", "year")
        ),
    ],
)  # fmt: skip
def test_window(text: str, expected: Window) -> None:
    assert window(text) == expected


@given(st.integers(1, 10_000), st.sampled_from(sorted(UNITS_US)))
def test_the_default_step_divides_the_window(number: int, unit: str) -> None:
    found = window(f"WINDOW LAST {number} {unit}S")
    assert found.duration_us == number * UNITS_US[unit]
    step = found.every.duration_us
    assert step is not None
    assert found.duration_us % step == 0
    assert found.duration_us // step <= 100
    assert step >= min(SECOND, found.duration_us)
