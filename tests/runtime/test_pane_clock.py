"""The watermark of a table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.runtime.pane_clock import AHEAD_US, TableClock
from tacit.vocabulary.errors import OptionError, ProtocolError


def test_the_watermark_follows_the_newest_row():
    clock = TableClock(delay_us=5)
    assert clock.watermark(now_us=1000) is None
    clock.saw(None)
    clock.saw(100)
    assert clock.watermark(now_us=1000) == 95
    clock.saw(90)
    assert clock.watermark(now_us=1000) == 95


def test_an_idle_table_goes_by_the_wall_clock_or_borrows_the_time_of_other_sites():
    wall, event = TableClock(5, "wall", 10), TableClock(5, "event", 10)
    for clock in (wall, event):
        clock.saw(100)
        assert clock.watermark(200, idle_since_us=191) == 95  # not idle long enough
        assert clock.borrowed(200, idle_since_us=191, elsewhere_us=150) is None
    assert (wall.watermark(200, 190), wall.borrowed(200, 190, 250)) == (195, None)
    assert (event.watermark(200, 190), event.borrowed(200, 190, 150)) == (95, 150)
    assert event.borrowed(200, 190, None) is event.borrowed(200, 190, 90) is None
    assert TableClock(5, "event", 10).watermark(200, idle_since_us=0) is None
    assert TableClock(5, "event", 10).borrowed(200, 0, 150) == 150
    assert TableClock(5, "wall", 10).watermark(200, idle_since_us=0) == 195


def test_rows_ahead_of_now_do_not_move_the_wall_clock_beyond_now():
    clock = TableClock(5, "wall", 10)
    clock.saw(10**15)
    assert clock.watermark(now_us=1000) == 995
    assert clock.watermark(now_us=2000) == 1995
    assert (clock.seen(1000), clock.is_ahead(10**15, 1000)) == (1000 + AHEAD_US, True)
    clock = TableClock(5, "event", 10)
    clock.saw(10**15)
    assert (clock.watermark(now_us=1000), clock.seen(1000)) == (10**15 - 5, 10**15)


def test_no_time_is_borrowed_beyond_now_and_none_is_kept():
    clock = TableClock(5, "event", 10)
    clock.saw(100)
    assert clock.borrowed(now_us=1000, idle_since_us=0, elsewhere_us=10**15) == 1000
    assert clock.watermark(now_us=1000) == 95
    disk = {change.key: change.blob for change in clock.changes()}
    clock = TableClock(5, "event", 10)
    clock.restore(disk)
    assert clock.watermark(now_us=1000) == 95


@given(
    st.sampled_from(["wall", "event"]),
    st.lists(st.tuples(*[st.none() | st.integers(-50, 50)] * 2, st.integers(-50, 50)), max_size=20),
)
def test_it_never_goes_back_and_what_its_own_rows_said_survives_restarts(mode, story):
    clock, disk = TableClock(3, mode, 2), {}
    reached = None
    for max_time, idle_since, now in story:
        clock.saw(max_time)
        for _ in range(2):
            watermark = clock.watermark(now, idle_since)
            assert reached is None or (watermark is not None and watermark >= reached)
            reached = watermark
        disk.update({change.key: change.blob for change in clock.changes()})
        clock.saved()
        assert clock.changes() == []
        newest, clock = clock.max_time, TableClock(3, mode, 2)
        clock.restore(disk)
        again = clock.watermark(-(10**6))
        assert clock.max_time == newest
        assert again == reached
        reached = again


def test_what_cannot_be_is_refused():
    with pytest.raises(OptionError, match="not by 'sundial'"):
        TableClock(0, "sundial")
    with pytest.raises(OptionError, match="not below 0"):
        TableClock(-1)
    with pytest.raises(ProtocolError, match="garbled"):
        TableClock(0).restore({"clock": b"\x01abcdefg"})
