"""Rates of ECM-sketches: updates, point queries, merges and bytes, against a Count-Min without a window.

All on one core, in one process, in turns, medians of five: a plain Numba Count-Min of the same shape and with the same
hash (the fastest that a sketch without windows can be), ECM-sketches over exponential histograms and over deterministic
waves, and, where it is installed, the Count-Min of the library ``datasketches``, an item at a time, as its Python takes
them. Keys are drawn by Zipf's law (exponent 1) from a million; times never go back.

The bars: updates over histograms at 0.3 of the plain Count-Min, over waves at 0.45; both 8 times ``datasketches``; five
million point queries a second; a merge of two sketches in a millisecond; 40 KB as bytes with epsilon = delta = 0.15 and
a window of 2,000,000 s (the seed's paper has 22 KB). Warmed kernels are measured: each runs once before.
What memory merging takes is measured beside, without a bar.
"""

from __future__ import annotations

import statistics
import tracemalloc
from collections.abc import Callable, Sequence
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.common import parser, show
from tacit._jit import leaf
from tacit.sketches._kernels_hash import cell_of
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.hashing import row_words
from tacit.sketches.parameters import Counter, split
from tacit.sketches.window import SlidingWindow
from tacit.vocabulary import IntArray, WordArray

DESCRIPTION = "ECM-sketches: updates, queries, merges and bytes against a plain Count-Min and datasketches"

WINDOW = SlidingWindow(2_000_000)
DISTINCT = 1_000_000
TURNS = 5
MANY = 16
COUNTERS: tuple[Counter, ...] = ("histogram", "wave")
BARS = {"histogram": 0.3, "wave": 0.45}
TIMES_DATASKETCHES, QUERIES_PER_S, MERGE_MS, BYTES = 8.0, 5e6, 1.0, 40_000


@leaf()
def _count_min(keys, words, width, cells):  # type: ignore[no-untyped-def]
    """The baseline: one addition for each row."""
    for i in range(len(keys)):
        base = np.uint64(0)
        for row in range(len(words)):
            cells[base + cell_of(keys[i], words[row, 0], words[row, 1], words[row, 2], width)] += 1
            base += width


def main(arguments: Sequence[str]) -> int:
    """Print the rates; 1 when a bar is not held (a quick run holds none)."""
    options = parser("sketch_rates", DESCRIPTION).parse_args(arguments)
    rows = 1_000_000 if options.quick else 10_000_000
    keys, times = arrivals(rows)
    held = [_updates(keys, times), _queries(keys, times), _merges(keys, times), _bytes(keys, times)]
    _memory(keys, times)
    return 0 if options.quick or all(held) else 1


def arrivals(rows: int) -> tuple[WordArray, IntArray]:
    """Keys by Zipf's law and times over the window."""
    dice = np.random.default_rng(1)
    shares = np.cumsum(1 / np.arange(1, DISTINCT + 1))
    keys = np.searchsorted(shares, dice.random(rows) * shares[-1]).astype(np.uint64)
    return keys, np.sort(dice.integers(0, WINDOW.length, rows))


def _updates(keys: WordArray, times: IntArray) -> bool:
    shape = split(0.1, 0.1)
    words = row_words(0, shape.depth)

    def plain() -> None:
        cells = np.zeros(shape.depth * shape.width, dtype=np.int64)
        _count_min(keys, words, np.uint64(shape.width), cells)

    def ecm(counter: Counter) -> Callable[[], None]:
        return lambda: made(counter).update_words(keys, times)

    def made(counter: Counter) -> EcmSketch:
        return EcmSketch(window=WINDOW, shape=shape, counter=counter)

    tried = {"plain Count-Min": plain} | {f"ECM, {counter}": ecm(counter) for counter in COUNTERS}
    items = min(len(keys), 500_000)
    theirs = _datasketches(shape.depth, shape.width, keys[:items])
    if theirs is not None:
        tried["datasketches, item by item"] = theirs
    seconds = _in_turns(tried)
    rates = {name: (items if "item" in name else len(keys)) / took for name, took in seconds.items()}
    base = rates["plain Count-Min"]
    other = rates.get("datasketches, item by item")
    show(
        f"updates: epsilon = delta = 0.1, {shape.depth} x {shape.width} cells, {len(keys):,} arrivals",
        ("sketch", "million a second", "of the plain Count-Min", "bar", "times datasketches", "bar"),
        [
            (
                name, rate / 1e6, rate / base, _bar(name), None if other is None else rate / other,
                TIMES_DATASKETCHES if _bar(name) else None,
            )
            for name, rate in rates.items()
        ],
    )  # fmt: skip
    if other is None:
        print("datasketches is not installed: pip install --target FOLDER --no-deps datasketches, PYTHONPATH=FOLDER")
    names = [f"ECM, {counter}" for counter in COUNTERS]
    enough = all(rates[name] >= BARS[counter] * base for name, counter in zip(names, COUNTERS, strict=True))
    return enough and (other is None or all(rates[name] >= TIMES_DATASKETCHES * other for name in names))


def _queries(keys: WordArray, times: IntArray) -> bool:
    sketches = {counter: EcmSketch.for_query(0.1, 0.1, window=WINDOW, counter=counter) for counter in COUNTERS}
    for sketch in sketches.values():
        sketch.update_words(keys, times)
    asked = np.random.default_rng(2).integers(0, DISTINCT, 1_000_000)
    lengths = {"whole window": None, "a tenth of it": WINDOW.length // 10}
    tried = {
        f"{counter}, {name}": (lambda sketch=sketch, length=length: sketch.estimate_many(asked, length))
        for counter, sketch in sketches.items()
        for name, length in lengths.items()
    }
    singles = {
        f"{counter}, all cells": (lambda sketch=sketch: [sketch.cells(1000 * k + 1) for k in range(1000)])
        for counter, sketch in sketches.items()
    }
    rates = {name: len(asked) / took for name, took in _in_turns(tried).items()}
    cells = {name: took * 1e3 for name, took in _in_turns(singles).items()}  # of 1000
    show(
        "point queries of a million keys, and the Count-Min array of a range",
        ("what", "million a second", "microseconds"),
        [(name, rate / 1e6, None) for name, rate in rates.items()] + [(name, None, us) for name, us in cells.items()],
    )
    return min(rates.values()) >= QUERIES_PER_S


def _merges(keys: WordArray, times: IntArray) -> bool:
    half, rows, taken = len(keys) // 2, [], []
    for counter in COUNTERS:
        parts = [EcmSketch.for_query(0.1, 0.1, window=WINDOW, counter=counter) for _ in range(8)]
        for number, part in enumerate(parts):
            part.update_words(np.roll(keys, half * number // 8), times)
        pair = {counter: lambda parts=parts: parts[0].merge(parts[1])}
        many = {counter: lambda parts=parts: EcmSketch.merge_all(parts)}
        two, eight = (_in_turns(each)[counter] * 1e3 for each in (pair, many))
        rows.append((counter, two, eight, parts[0].nbytes))
        taken.append(two)
    show(f"merges of sketches of {len(keys):,} arrivals", ("counter", "two, ms", "eight, ms", "bytes in memory"), rows)
    return max(taken) <= MERGE_MS


def _bytes(keys: WordArray, times: IntArray) -> bool:
    rows, sizes = [], []
    for counter in COUNTERS:
        sketch = EcmSketch.for_query(0.15, 0.15, window=WINDOW, counter=counter)
        sketch.update_words(keys, times)
        data = sketch.to_bytes()
        sizes.append(len(data))
        tried = {"to": sketch.to_bytes, "from": lambda data=data: EcmSketch.from_bytes(data)}
        seconds = _in_turns(tried)
        rows.append((counter, len(data), seconds["to"] * 1e3, seconds["from"] * 1e3))
    show("as bytes: epsilon = delta = 0.15", ("counter", "bytes", "to_bytes, ms", "from_bytes, ms"), rows)
    return max(sizes) <= BYTES


def _memory(keys: WordArray, times: IntArray) -> None:
    """What it takes to merge many sketches that are bytes: each saw every sixteenth arrival."""
    rows = []
    for counter in COUNTERS:
        data = []
        for number in range(MANY):
            part = EcmSketch.for_query(0.01, 0.01, window=WINDOW, counter=counter, levels=1)
            part.update_words(keys[number::MANY].copy(), times[number::MANY].copy())
            data.append(part.to_bytes())
        one = _peak(lambda data=data: EcmSketch.from_bytes(data[0]))
        open_at_once = _peak(lambda data=data: EcmSketch.merge_all([EcmSketch.from_bytes(each) for each in data]))
        after_another = _peak(lambda data=data: EcmSketch.merge_all(map(EcmSketch.from_bytes, data)))
        rows.append((counter, sum(map(len, data)), part.nbytes, one, open_at_once, after_another))
    show(
        f"bytes of memory at most to merge {MANY} sketches that are bytes: epsilon = delta = 0.01",
        ("counter", "bytes of all", "one, as it was fed", "to open one", "all open", "one after the other"),
        rows,
    )


def _peak(run: Callable[[], Any]) -> int:
    """The most memory that was taken at once meanwhile."""
    tracemalloc.start()
    run()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def _bar(name: str) -> float | None:
    return BARS.get(name.removeprefix("ECM, "))


def _in_turns(tried: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """The median seconds of each, all in turns; the first turn only warms up."""
    took: dict[str, list[float]] = {name: [] for name in tried}
    for _ in range(1 + TURNS):
        for name, run in tried.items():
            begin = perf_counter()
            run()
            took[name].append(perf_counter() - begin)
    return {name: statistics.median(seconds[1:]) for name, seconds in took.items()}


def _datasketches(depth: int, width: int, keys: WordArray) -> Callable[[], None] | None:
    try:
        library: Any = import_module("datasketches")
    except ImportError:
        return None
    items = keys.tolist()

    def update() -> None:
        sketch = library.count_min_sketch(depth, width)
        for item in items:
            sketch.update(item)

    return update
