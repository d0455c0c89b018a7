"""What a site saves of the stations that its watches on sketches read: as they were after some panes."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.language import parse_watch
from tacit.protocols.gauges.making import shape_of
from tacit.runtime.blobs import Pieces
from tacit.runtime.kept_stations import KeptStations
from tacit.runtime.sketch_data import SketchData
from tacit.runtime.sketch_past import UNFED, SketchPast

QUANTILE = "CREATE WATCH w AS SELECT QUANTILE(x, 0.5) AS q FROM d {} TRACK q WITHIN 5 PERCENT SKETCH EPSILON 0.2"
SQUARES = "CREATE WATCH w AS SELECT SELF_JOIN_SIZE(k) AS f FROM d {} TRACK f WITHIN 10 PERCENT SKETCH EPSILON 0.3"
PANE = 60_000_000
WINDOWS = ("", "WINDOW SINCE START OF HOUR EVERY 1 MINUTE", "WINDOW LAST 5 HOURS EVERY 1 MINUTE")


def kept(sentence: str) -> tuple[KeptStations, int]:
    plan, stations = parse_watch(sentence), KeptStations(PANE)
    shapes = [] if "QUANTILE" in sentence else [shape_of(plan.goal)]
    return stations, stations.add(plan.goal, shapes, [plan.window], None)


def put(stations: KeptStations, pane: int, rng: np.random.Generator, apart: float = 0.0) -> None:
    group, rows = np.arange(50), rng.integers(1, 5, 50)
    stations.put(pane, group, rows, np.full(50, apart), np.arange(50, dtype=np.uint64), rng.random(50))


@pytest.mark.parametrize("sentence", [QUANTILE, SQUARES])
@pytest.mark.parametrize("window", WINDOWS)
def test_stations_that_are_restored_go_on_alike(window, sentence):
    stations, _ = kept(sentence.format(window))
    again = stations
    for pane in range(700):
        if pane % 97 == 96:
            again = KeptStations.restored(PANE, stations.listed(), stations.blobs())
        for each in {id(stations): stations, id(again): again}.values():
            put(each, pane, np.random.default_rng(pane), apart=float(pane % 50 == 7))
        assert pane % 10 or again.blobs() == stations.blobs()


def test_digests_of_an_earlier_release_begin_anew():
    assert list(KeptStations.restored(PANE, [[0, None, True]], {"station/0": b"anything"})) == []


def test_stations_that_an_earlier_release_saved_go_on():
    """It saved them as they were after the last pane."""
    stations, _ = kept(SQUARES.format(WINDOWS[2]))
    put(stations, 5, np.random.default_rng(4))
    past, saves = SketchPast(PANE, lambda after, until, stations: None), Pieces()
    past.take_over(5, stations.listed(), stations.blobs(), saves)
    assert past.newest(5).blobs() == stations.blobs()
    written = {each.key: each.blob for each in saves.changes()}
    assert written == {"station/0": None, "mark/5/station/0": stations.blobs()["station/0"]}


def test_marks_go_when_their_panes_are_settled_and_leave_nothing_behind():
    stations, _ = kept(SQUARES.format(WINDOWS[2]))
    rng, disk = np.random.default_rng(4), {}
    contents = {pane: rng.integers(0, 1 << 30) for pane in range(100)}

    def feed(after: int, until: int, stations: KeptStations) -> None:
        for pane in range(max(after + 1, 0), until + 1):
            put(stations, pane, np.random.default_rng(contents[pane]))

    past, saves, wanted = SketchPast(PANE, feed), Pieces(), {}
    past.mark(UNFED, stations, saves)
    for pane in contents:
        feed(pane - 1, pane, stations)
        wanted[pane] = stations.blobs()
        past.came(1 << 18)
        if past.due:
            past.mark(pane, stations, saves)
        past.forget(pane - 20, saves)
        disk.update({each.key: each.blob for each in saves.changes()})
        disk = {key: blob for key, blob in disk.items() if blob is not None}
        saves.saved()
        again = SketchPast(PANE, feed)
        again.restore(past.listed(), disk)
        for older in (pane, max(pane - 20, 0), pane):
            assert again.stations(older).blobs() == past.stations(older).blobs() == wanted[older]
    assert len({key.split("/")[1] for key in disk}) <= 8


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
    mark = f"mark/{UNFED}/station/0"
    first = {each.key for each in data.changes()}
    again = {each.key for each in data.changes()}
    assert {"stations", mark} <= first & again
    data.saved()
    assert not {"stations", mark} & {each.key for each in data.changes()}
