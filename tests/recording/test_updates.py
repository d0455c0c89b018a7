"""Windows as ranges of rows, against the obvious definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.language.plan import Every, Window
from tacit.recording.stream import Recording
from tacit.recording.updates import updates_of

SECOND = 1_000_000
DAY = 86_400 * SECOND


def recording(times: list[int], sites: list[int], n: int) -> Recording:
    order = np.argsort(times, kind="stable")
    return Recording.from_arrays(
        t=np.array(times, dtype=np.int64)[order],
        site=np.array(sites, dtype=np.int32)[order],
        present=np.ones((len(times), 1)),
        sites=tuple(map(str, range(n))),
    )


streams = st.integers(1, 40).flatmap(
    lambda size: st.tuples(
        st.lists(st.integers(0, 60).map(lambda s: s * SECOND), min_size=size, max_size=size),
        st.lists(st.integers(0, 2), min_size=size, max_size=size),
    )
)


def window_rows(rec: Recording, order: np.ndarray, lo: int, hi: int) -> set[int]:
    return set(order[lo:hi].tolist())


@settings(max_examples=60, deadline=None)
@given(streams, st.integers(1, 20))
def test_time_windows_hold_exactly_the_rows_of_the_last_duration(stream, length):
    rec = recording(*stream, 3)
    updates = updates_of(rec, Window("time", Every(duration_us=SECOND), duration_us=length * SECOND), step="event")
    order, _ = rec.by_site
    current: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    arrivals = 0
    assert (np.diff(updates.time) >= 0).all()
    for i in range(len(updates.site)):
        site, now = int(updates.site[i]), int(updates.time[i])
        before = current[site]
        current[site] = window_rows(rec, order, int(updates.lo[i]), int(updates.hi[i]))
        came = current[site] - before
        arrivals += len(came)
        if came:  # after an arrival everyone holds (now - W, now], up to the arrivals that are still to come now
            seen = range(max(came) + 1)
            for s, rows in current.items():
                wanted = {r for r in seen if rec.site[r] == s and now - length * SECOND < rec.t[r] <= now}
                assert rows == wanted
    assert arrivals == len(rec.t)


@settings(max_examples=40, deadline=None)
@given(streams, st.integers(1, 7))
def test_row_windows_hold_the_last_rows_of_their_site(stream, size):
    rec = recording(*stream, 3)
    updates = updates_of(rec, Window("rows", Every(rows=1), rows=size), step="event")
    order, _ = rec.by_site
    assert len(updates.site) == len(rec.t)
    for i in range(len(updates.site)):
        mine = [r for r in range(i + 1) if rec.site[r] == updates.site[i]]
        assert window_rows(rec, order, int(updates.lo[i]), int(updates.hi[i])) == set(mine[-size:])


@settings(max_examples=40, deadline=None)
@given(streams, st.integers(1, 6), st.integers(1, 4))
def test_panes_end_with_the_rows_of_whole_panes(stream, panes, pane_s):
    rec = recording(*stream, 3)
    pane_us = pane_s * SECOND
    window = Window("time", Every(duration_us=pane_us), duration_us=panes * pane_us)
    updates = updates_of(rec, window, step="pane")
    order, _ = rec.by_site
    held = {s: set() for s in range(3)}
    at = 0
    first, last = rec.t.min() // pane_us, rec.t.max() // pane_us
    for pane in range(int(first), int(last) + 1):
        end = (pane + 1) * pane_us
        while at < len(updates.site) and updates.time[at] == end:
            held[int(updates.site[at])] = window_rows(rec, order, int(updates.lo[at]), int(updates.hi[at]))
            at += 1
            if updates.last[at - 1]:
                break
        for site in range(3):
            wanted = {r for r in range(len(rec.t)) if rec.site[r] == site and end - panes * pane_us <= rec.t[r] < end}
            assert held[site] == wanted
    assert at == len(updates.site)
    assert updates.panes == last - first + 1


@pytest.mark.parametrize(("unit", "boundary"), [("day", DAY), ("hour", 3600 * SECOND), ("minute", 60 * SECOND)])
def test_calendar_windows_restart_at_their_boundary(unit, boundary):
    times = [boundary - 2 * SECOND, boundary - SECOND, boundary + SECOND, boundary + 2 * SECOND]
    rec = recording(times, [0, 1, 1, 0], 2)
    updates = updates_of(rec, Window("since", Every(duration_us=SECOND), unit=unit), step="event")
    sizes = [
        (int(t), int(s), int(h - lo))
        for t, s, lo, h in zip(updates.time, updates.site, updates.lo, updates.hi, strict=True)
    ]
    assert sizes == [
        (times[0], 0, 1), (times[1], 1, 1), (boundary, 0, 0), (boundary, 1, 0), (times[2], 1, 1), (times[3], 0, 1),
    ]  # fmt: skip


def test_months_and_weeks_start_where_the_calendar_says():
    march = int(np.datetime64("2013-03-01", "us").astype(np.int64))
    monday = int(np.datetime64("2013-03-04", "us").astype(np.int64))
    for unit, boundary in (("month", march), ("week", monday)):
        rec = recording([boundary - 1, boundary], [0, 1], 2)
        updates = updates_of(rec, Window("since", Every(duration_us=SECOND), unit=unit), step="event")
        assert updates.time.tolist() == [boundary - 1, boundary, boundary]
        assert (updates.hi - updates.lo).tolist() == [1, 0, 1]


def test_rows_close_panes_at_their_own_site():
    rec = recording([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 0], 2)
    updates = updates_of(rec, Window("rows", Every(rows=2), rows=2), step="pane")
    assert updates.site.tolist() == [0, 1, 0]
    assert (updates.hi - updates.lo).tolist() == [2, 2, 2]


def test_everything_can_be_looked_at_by_rows():
    rec = recording([0, 1, 2, 3, 4, 5], [0, 0, 0, 1, 1, 0], 2)
    updates = updates_of(rec, Window("all", Every(rows=2)), step="pane")
    assert updates.site.tolist() == [0, 1, 0]
    assert (updates.hi - updates.lo).tolist() == [2, 2, 4]
