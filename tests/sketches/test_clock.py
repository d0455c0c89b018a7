"""The time of a sketch: late arrivals, jumps, rows, and times that are none."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.sketches.clock import Clock
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import DataError, OptionError

whole = st.one_of(st.integers(-20, 20), st.sampled_from([-LONGEST, LONGEST]))


@given(blocks=st.lists(st.lists(whole, max_size=8), max_size=5))
def test_times_never_go_back_and_none_is_lost(blocks):
    clock, latest, late = Clock(SlidingWindow(5)), -LONGEST, 0
    for block in blocks:
        taken, often = clock.take(len(block), block)
        expected = []
        for time in block:
            late += time < latest
            latest = max(latest, time)
            expected.append(latest)
        assert (taken.tolist(), often, clock.now, clock.late) == (expected, None, latest, late)
    assert clock.seen == sum(map(len, blocks))


@given(times=st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=6), order=st.booleans())
def test_a_time_that_is_none_is_found_wherever_it_is(times, order):
    clock = Clock(SlidingWindow(5))
    given = np.array(sorted(times) if order else times)
    if abs(given.astype(float)).max() > LONGEST:
        with pytest.raises(DataError, match="2\\^60"):
            clock.take(len(given), given)
        assert (clock.now, clock.seen) == (-LONGEST, 0)
    elif max(map(abs, times)) <= LONGEST:
        clock.take(len(given), given)
        assert clock.now == max(times)


def test_times_that_wrap_around_are_found():
    """Each step is positive in 64 bits, and the first and the last are fine."""
    wrapping = np.array([0, 2**62, 2**63 - 1, -(2**63), -(2**62), 0])
    with pytest.raises(DataError):
        Clock(SlidingWindow(5)).take(6, wrapping)


def test_rows_number_themselves():
    clock = Clock(SlidingWindow(5, by="rows"))
    assert clock.take(3, None)[0].tolist() == [1, 2, 3]
    assert clock.take(2, None, [7, 0])[1].tolist() == [7, 0]
    assert (clock.now, clock.seen, clock.start_of(None, None)) == (5, 10, 0)
    with pytest.raises(OptionError):
        clock.take(1, [4])


def test_counts_are_whole_not_negative_and_not_too_many():
    clock = Clock(SlidingWindow(5))
    for counts in ([-1], [0.5], [2**60 + 1], [1, 1], [[1], [2, 3]], np.array(1)):
        with pytest.raises(DataError):
            clock.take(1, [1], counts)
    with pytest.raises(DataError):
        clock.take(3, [1, 2, 3], [2**60, 2**60, 2**60])
    with pytest.raises(DataError):
        clock.take(1, [1], np.array([2**63], dtype=np.uint64))
    assert (clock.now, clock.seen) == (-LONGEST, 0)
    clock.take(1, [1], [2**60])
    with pytest.raises(DataError):
        clock.take(1, [1])


def test_clocks_of_several_streams_become_one():
    one, two = Clock(SlidingWindow(5)), Clock(SlidingWindow(5))
    one.take(3, [5, 4, 6])
    two.take(2, [9, 1])
    both = one.merged([two])
    assert (both.now, both.late, both.seen, both.horizon) == (9, 2, 5, 4)
