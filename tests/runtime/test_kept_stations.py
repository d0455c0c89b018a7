"""What a site saves of the stations that its watches on sketches read: what changed, and nothing of those that went."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.protocols.gauges.making import shape_of
from tacit.runtime.blobs import Pieces
from tacit.runtime.kept_stations import KeptStations
from tacit.runtime.sketch_data import SketchData

QUANTILE = "CREATE WATCH w AS SELECT QUANTILE(x, 0.5) AS q FROM d {} TRACK q WITHIN 5 PERCENT SKETCH EPSILON 0.2"
SQUARES = "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(k) AS f FROM d {} TRACK f WITHIN 10 PERCENT SKETCH EPSILON 0.3"
PANE = 60_000_000
WINDOWS = ("", "WINDOW SINCE START OF HOUR EVERY 1 MINUTE", "WINDOW LAST 5 HOURS EVERY 1 MINUTE")


class Disk:
    """What is saved, and how many bytes were written."""

    def __init__(self) -> None:
        self.pieces: dict[str, bytes] = {}
        self.written = 0

    def save(self, changes) -> None:
        for change in changes:
            if change.blob is None:
                self.pieces.pop(change.key, None)
            else:
                self.pieces[change.key] = change.blob
                self.written += len(change.blob)


def kept(sentence: str) -> tuple[KeptStations, int]:
    plan, stations = parse_watch(sentence), KeptStations(PANE)
    shapes = [] if "QUANTILE" in sentence else [shape_of(plan.goal)]
    return stations, stations.add(plan.goal, shapes, [plan.window], None)


def put(stations: KeptStations, pane: int, rng: np.random.Generator, apart: float = 0.0) -> None:
    group, rows = np.arange(50), rng.integers(1, 5, 50)
    stations.put(pane, group, rows, np.full(50, apart), np.arange(50, dtype=np.uint64), rng.random(50))


@pytest.mark.parametrize("window", WINDOWS)
def test_of_digests_only_those_that_came_are_written(window):
    stations, number = kept(QUANTILE.format(window))
    pieces, disk, rng = Pieces(), Disk(), np.random.default_rng(4)
    most = 0
    for pane in range(2_000):
        put(stations, pane, rng)
        before = stations[number].array(None, pane)
        disk.written = 0
        stations.save(pieces)
        if pane % 5:  # otherwise the save fails, and what was handed over comes again
            disk.save(pieces.changes())
            pieces.saved()
        if pane % 300 == 299:
            again, dropped = KeptStations(PANE), Pieces()
            again.restore(stations.listed(), disk.pieces, dropped)
            assert again[number].array(None, pane).tolist() == before.tolist()
            assert dropped.changes() == []
        most = max(most, disk.written)
    assert most < 10_000  # a digest has at most 640 bytes, and one of level 2
    assert len(disk.pieces) < 400


def test_a_station_that_goes_leaves_nothing_behind():
    """The next one gets its number, and must not get what was kept apart in it."""
    stations, number = kept(SQUARES.format(""))
    pieces, disk, rng = Pieces(), Disk(), np.random.default_rng(4)
    put(stations, 0, rng, apart=1.0)
    stations.save(pieces)
    disk.save(pieces.changes())
    pieces.saved()
    assert len(disk.pieces) == 2
    assert stations.keep_only((), pieces)
    plan = parse_watch(SQUARES.format(""))
    assert stations.add(plan.goal, [shape_of(plan.goal)], [plan.window], None) == number
    stations.save(pieces)
    disk.save(pieces.changes())
    again = KeptStations(PANE)
    again.restore(stations.listed(), disk.pieces, Pieces())
    assert again[number].apart is None
    assert len(disk.pieces) == 1


def test_sketches_are_written_when_rows_came():
    stations, _ = kept(SQUARES.format(""))
    pieces, rng = Pieces(), np.random.default_rng(4)
    for pane, rows in enumerate((True, True, False, True)):
        if rows:
            put(stations, pane, rng)
        stations.save(pieces)
        assert bool(pieces.changes()) == rows
        pieces.saved()


def test_digests_of_an_earlier_release_begin_anew():
    stations, pieces = KeptStations(PANE), Pieces()
    stations.restore([[0, None, True]], {"station/0": b"anything"}, pieces)
    assert list(stations) == []
    assert [(each.key, each.blob) for each in pieces.changes()] == [("station/0", None)]


@pytest.mark.parametrize("one", WINDOWS)
@pytest.mark.parametrize("other", WINDOWS)
def test_digests_serve_the_windows_that_they_are_made_for(one, other):
    data = SketchData(parse_watch(QUANTILE.format(one)))
    first = data.join(1, parse_watch(QUANTILE.format(one)))
    second = data.join(2, parse_watch(QUANTILE.format(other)))
    shorter = data.join(3, parse_watch(QUANTILE.format("WINDOW LAST 2 HOURS EVERY 1 MINUTE")))
    assert (first.station == second.station) == (one == other)
    assert (shorter.station == first.station) == (one == WINDOWS[2])


def test_what_a_failed_save_had_is_saved_with_the_next():
    plan = parse_watch(SQUARES.format("WINDOW LAST 5 HOURS EVERY 1 MINUTE"))
    data = SketchData(plan)
    data.join(1, plan)
    first = {each.key for each in data.changes()}
    again = {each.key for each in data.changes()}
    assert {"stations", "station/0"} <= first & again
    data.saved()
    assert not {"stations", "station/0"} & {each.key for each in data.changes()}
