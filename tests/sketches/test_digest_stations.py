"""Digests of spans of ticks: ranks against those of all values, whatever ticks hold; what is kept, and how long."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.sketches.digest_stations import FAN, LEVELS, DigestStation, GrowingDigests, SlidingDigests
from tacit.sketches.quantiles import digest

SLOP = 1e-9


class Stream:
    """Ticks, some without rows, some with very many; values that drift, repeat or jump."""

    def __init__(self, seed: int, ticks: int) -> None:
        rng = np.random.default_rng(seed)
        busy = float(rng.choice([0.05, 0.5, 1.0]))
        most, spread = int(rng.choice([2, 30, 400])), int(rng.choice([3, 50, 100_000]))
        drift = float(rng.choice([-1.0, 0.0, 0.1, 5.0]))
        heavy = set(rng.integers(0, ticks, 3).tolist())
        self.values = []
        for tick in range(ticks):
            many = 0 if rng.random() > busy else int(rng.integers(1, most + 1)) * (50 if tick in heavy else 1)
            self.values.append(np.floor(rng.integers(0, spread, many) + drift * tick))

    def window(self, begin: int, end: int) -> np.ndarray:
        return np.concatenate([np.empty(0), *self.values[max(begin, 0) : end]])


def rank_error(array: np.ndarray, values: np.ndarray) -> float:
    """The largest difference of shares, at most and below every value that there is."""
    assert array[0] == pytest.approx(len(values), rel=1e-9)
    if not len(values):
        return 0.0
    at = np.unique(np.append(values, array[1:]))
    points = np.sort(array[1:])
    values = np.sort(values)
    return max(
        float(
            np.abs(
                np.searchsorted(points, at, side) / len(points) - np.searchsorted(values, at, side) / len(values)
            ).max()
        )
        for side in ("left", "right")
    )


@given(st.lists(st.tuples(st.integers(-20, 20), st.integers(1, 9)), max_size=60), st.integers(1, 12))
def test_a_digest_knows_ranks_to_half_of_what_a_value_stands_for(rows, points):
    values = np.array([value for value, _ in rows], dtype=np.float64)
    weights = np.array([weight for _, weight in rows], dtype=np.float64)
    kept, weighs = digest(values, weights, points)
    assert len(kept) <= points
    assert weighs.sum() == pytest.approx(weights.sum())
    off = weights.sum() / (2 * points) if len(set(values.tolist())) > points else 0.0
    for at in range(-21, 22):
        for there, here in ((values <= at, kept <= at), (values < at, kept < at)):
            assert abs(weights[there].sum() - weighs[here].sum()) <= off + SLOP


@pytest.mark.middle
@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([1, 5, 16, 40, 257, 1000, 5000]))
def test_windows_that_slide_have_ranks_within_epsilon(seed, points, length):
    stream = Stream(seed, 1_200)
    station, rng = SlidingDigests(length, points), np.random.default_rng(seed)
    looks = set(rng.integers(0, 1_200, 25).tolist())
    for tick, values in enumerate(stream.values):
        station.take(values, tick)
        if tick in looks:
            for shorter in (length, max(1, length // 3)):
                error = rank_error(station.array(shorter, tick), stream.window(tick + 1 - shorter, tick + 1))
                assert error <= 1 / points + SLOP


@pytest.mark.middle
@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(1, 40), st.sampled_from([None, 1, 7, 100, 600]))
def test_windows_that_grow_have_ranks_within_epsilon(seed, points, period):
    stream = Stream(seed, 1_200)
    begins = None if period is None else (lambda tick: tick // period * period)
    station, rng = GrowingDigests(points, begins), np.random.default_rng(seed)
    looks = set(rng.integers(0, 1_200, 25).tolist())
    for tick, values in enumerate(stream.values):
        station.take(values, tick)
        if tick in looks:
            begin = 0 if begins is None else begins(tick)
            assert rank_error(station.array(None, tick), stream.window(begin, tick + 1)) <= 1 / points + SLOP


@pytest.mark.middle
@pytest.mark.parametrize("made", [lambda: SlidingDigests(15_000, 4), lambda: GrowingDigests(4)])
def test_ranks_of_very_many_ticks(made):
    """Ticks that are all digested: every level loses what it may."""
    rng, station, ticks, rows = np.random.default_rng(3), made(), 20_000, 40
    values = np.floor(rng.normal(0.0, 1e6, (ticks, rows)) + 300.0 * np.arange(ticks)[:, None])
    for tick in range(ticks):
        station.take(values[tick], tick)
        if tick % 4_999 == 4_998 or tick == ticks - 1:
            begin = max(0, tick + 1 - 15_000) if isinstance(station, SlidingDigests) else 0
            array = station.array(None, tick)
            assert rank_error(array, values[begin : tick + 1].ravel()) <= 1 / 4 + SLOP
    assert station.size < 20_000 * 4 * 2.3


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([0, 1, 300, 700]), st.booleans())
def test_what_is_read_follows_from_what_came_alone(seed, restart, often):
    """Not from when it was read, from how the rows of a tick lay, from a restart, or from what else is kept."""
    stream, rng = Stream(seed, 800), np.random.default_rng(seed)
    for make in (
        lambda: SlidingDigests(300, 7),
        lambda: GrowingDigests(7),
        lambda: GrowingDigests(7, lambda t: t // 90),
    ):
        plain, other = make(), make()
        longer = SlidingDigests(2_000, 7)
        disk: dict = {}
        for tick, values in enumerate(stream.values):
            plain.take(values, tick)
            some, counts = np.unique(rng.permutation(values), return_counts=True)
            other.take_counts(some, counts.astype(np.float64), tick)
            longer.take(values, tick)
            if often:
                other.array(None, tick)
                save(other, disk)
            if tick == restart:
                save(other, disk)
                other = make()
                other.restore(disk)
            if tick % 97 == 3:
                read = plain.array(None, tick)
                assert read.tolist() == other.array(None, tick).tolist()
                if isinstance(plain, SlidingDigests):
                    assert read.tolist() == longer.array(300, tick).tolist()
        save(other, disk)
        again = make()
        again.restore(disk)
        assert again.array(None, 800).tolist() == other.array(None, 800).tolist()
        assert again.size == other.size


def save(station: DigestStation, disk: dict) -> int:
    """As a site does; how many digests came."""
    came = station.kept.keys() - disk.keys()
    disk.clear()
    disk.update(station.kept)
    return len(came)


@pytest.mark.middle
def test_all_rows_take_bounded_room_and_few_pieces():
    """A hundred thousand ticks, each of more values than a digest has."""
    points, station, disk = 3, GrowingDigests(3), {}
    rng, most, written, ticks = np.random.default_rng(1), 0, 0, 100_000
    for tick in range(ticks):
        station.take(rng.random(LEVELS * points + 1), tick)
        written += save(station, disk)
        most = max(most, station.size) if tick % 16 == 15 or tick % 4096 > 4080 else most
    levels = int(np.ceil(np.log(ticks) / np.log(FAN)))
    assert most <= (FAN - 1) * levels * LEVELS * points
    assert len(disk) <= (FAN - 1) * levels
    assert written <= ticks * FAN / (FAN - 1) + 1  # of 16 pieces one is written again


def test_a_window_that_slides_keeps_no_more_than_it_needs():
    points, length, station, disk, written = 2, 1_000, SlidingDigests(1_000, 2), {}, 0
    rng = np.random.default_rng(1)
    for tick in range(6_000):
        station.take(rng.random(200), tick)
        station.array(None, tick)
        written += save(station, disk)
        assert station.size <= 2.3 * length * points + 40 * points
    assert written <= 6_000 * FAN / (FAN - 1) + 1
    assert len(disk) == sum(len(level) for level in station._levels)
    assert len(station._window(None, 5_999)) <= 2 * (FAN - 1) * len(station._sizes)
    station.array(None, 10**9)
    assert station.size == 0


def test_ticks_before_1970_and_far_apart():
    for station in (SlidingDigests(10**6, 5), GrowingDigests(5)):
        ticks = [-(10**12), -1_000_001, -1_000_000, -17, -16, -1, 0, 5, 900_000]
        for tick in ticks:
            station.take(np.array([float(tick)]), tick)
        rows = station.array(None, 900_000)[0]
        assert rows == (6 if isinstance(station, SlidingDigests) else len(ticks))
