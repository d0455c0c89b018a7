"""Sketches merged one after the other: as all at once, with few of them open."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from tacit.sketches import DyadicEcm, EcmSketch, SlidingWindow, gathering

WINDOW = SlidingWindow(1000)


def parts_of(make, count=9, rows=3000):
    """Sketches of streams that end at different times: the latest is in the middle, one has expired, one is empty."""
    made = []
    for number in range(count):
        rng, sketch = np.random.default_rng(number), make(number)
        end = {count // 2: 5000, 1: 900}.get(number, 4200 + 90 * number)
        times = np.sort(rng.integers(end - 2500, end + 1, rows))
        sketch.update_many((rng.zipf(1.3, rows) % 200).tolist(), times)
        made.append(sketch)
    return [*made, make(count)]


MAKERS = {
    "histogram": lambda _: EcmSketch.for_query(0.1, 0.1, window=WINDOW),
    "wave": lambda _: EcmSketch.for_query(0.1, 0.1, window=WINDOW, counter="wave"),
    "random_wave": lambda source: EcmSketch.for_query(0.3, 0.2, window=WINDOW, counter="random_wave", source=source),
    "dyadic": lambda _: DyadicEcm.for_query(0.5, 0.2, bits=8, window=WINDOW),
}


@pytest.mark.parametrize("cells_at_once", [1, 7, 16, 10**6])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_any_number_of_cells_at_once_gives_the_same_bytes(make, cells_at_once, monkeypatch):
    monkeypatch.setattr(gathering, "_CELLS_AT_ONCE", cells_at_once)
    parts = parts_of(make)
    kind, data = type(parts[0]), [part.to_bytes() for part in parts]
    together = kind.merge_all(parts)
    for order in (data, data[::-1], data[5:] + data[:5]):
        assert kind.merge_all(map(kind.from_bytes, order)).to_bytes() == together.to_bytes()


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_no_more_than_two_are_open_at_a_time(make):
    parts = parts_of(make)
    kind, data = type(parts[0]), [part.to_bytes() for part in parts]
    alive: weakref.WeakSet[object] = weakref.WeakSet()

    def opened():
        for each in data:
            assert len(alive) <= 1
            sketch = kind.from_bytes(each)
            alive.add(sketch)
            yield sketch
            del sketch

    assert kind.merge_all(opened()).to_bytes() == kind.merge_all(parts).to_bytes()


def test_what_was_read_takes_little_memory_until_it_goes_on():
    sketch = EcmSketch.for_query(0.02, 0.1, window=WINDOW)
    sketch.update_many(np.arange(200_000) % 977, np.arange(200_000) // 200)
    other = EcmSketch.from_bytes(sketch.to_bytes())
    assert other.nbytes < sketch.nbytes / 2
    assert (other.cells(300) == sketch.cells(300)).all()
    for each in (sketch, other):
        each.update_many(np.arange(50_000) % 977, 1000 + np.arange(50_000) // 200)
    assert other.to_bytes() == sketch.to_bytes()
    assert (other.cells(300) == sketch.cells(300)).all()
