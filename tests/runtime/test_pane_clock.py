"""The watermark of a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.runtime.pane_clock import TableClock
from tacit.vocabulary.errors import OptionError, ProtocolError


def test_the_watermark_follows_the_newest_row():
    clock = TableClock(delay_us=5)
    assert clock.watermark(now_us=1000) is None
    clock.saw(None)
    clock.saw(100)
    assert clock.watermark(now_us=1000) == 95
    clock.saw(90)
    assert clock.watermark(now_us=1000) == 95


def test_an_idle_table_goes_by_the_wall_clock_or_by_the_other_sites():
    wall, event = TableClock(5, "wall", 10), TableClock(5, "event", 10)
    for clock in (wall, event):
        clock.saw(100)
        assert clock.watermark(200, idle_since_us=191, elsewhere_us=150) == 95  # not idle long enough
    assert wall.watermark(200, idle_since_us=190, elsewhere_us=150) == 195
    assert event.watermark(200, idle_since_us=190, elsewhere_us=150) == 150
    assert event.watermark(200, idle_since_us=190, elsewhere_us=None) == 150
    assert TableClock(5, "event", 10).watermark(200, idle_since_us=0) is None
    assert TableClock(5, "wall", 10).watermark(200, idle_since_us=0) == 195


@given(
    st.sampled_from(["wall", "event"]),
    st.lists(st.tuples(*[st.none() | st.integers(-50, 50)] * 3, st.integers(-50, 50)), max_size=20),
)
def test_it_never_goes_back_and_survives_restarts(mode, story):
    clock, disk = TableClock(3, mode, 2), {}
    reached = None
    for max_time, idle_since, elsewhere, now in story:
        clock.saw(max_time)
        watermark = clock.watermark(now, idle_since, elsewhere)
        assert reached is None or (watermark is not None and watermark >= reached)
        reached = watermark
        disk.update({change.key: change.blob for change in clock.changes()})
        clock.saved()
        assert clock.changes() == []
        newest, clock = clock.max_time, TableClock(3, mode, 2)
        clock.restore(disk)
        assert (clock.max_time, clock.watermark(-(10**6))) == (newest, reached)


def test_what_cannot_be_is_refused():
    with pytest.raises(OptionError, match="not by 'sundial'"):
        TableClock(0, "sundial")
    with pytest.raises(OptionError, match="not below 0"):
        TableClock(-1)
    with pytest.raises(ProtocolError, match="garbled"):
        TableClock(0).restore({"clock": b"\x01abcdefg"})
