"""Quantiles of long windows: what a site reads, keeps and writes for each pane, in digests of digests.

A day of seconds and all of 100,000 seconds, with few and with many rows in each, epsilon = 0.01. Beside it what one
digest for each pane takes to be read. The error is that of the array that a site sends, against all values.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from time import perf_counter

import numpy as np

from benchmarks.common import parser, show
from tacit.sketches.digest_stations import DigestStation, GrowingDigests, SlidingDigests
from tacit.sketches.quantiles import digest, ranked
from tacit.vocabulary import FloatArray

DESCRIPTION = "quantiles: digests of a day of seconds, and of everything"

POINTS = 100
DAY = 86_400


def main(arguments: Sequence[str]) -> int:
    """Print the table; 1 when an error is beyond epsilon."""
    options = parser("sketch_digests", DESCRIPTION).parse_args(arguments)
    panes, day = (20_000, DAY // 5) if options.quick else (100_000, DAY)
    made = [
        _measured(name, station, panes, rows, length)
        for rows in (5, 300)
        for name, station, length in (
            (f"last {day:,}", SlidingDigests(day, POINTS), day),
            ("all", GrowingDigests(POINTS), panes),
        )
    ]
    columns = ("window", "panes", "rows", "values kept", "digests read", "read, ms", "one by one, ms")
    show("epsilon = 0.01", (*columns, "pieces a pane", "bytes a pane", "error"), made)
    return 0 if all(float(row[-1]) <= 1 / POINTS for row in made) else 1


def _measured(name: str, station: DigestStation, panes: int, rows: int, length: int) -> tuple[str | float, ...]:
    values = np.random.default_rng(1).lognormal(3.0, 1.0, (panes, rows)) + np.arange(panes)[:, None] / panes
    pieces = written = 0
    reads: list[float] = []
    for pane in range(panes):
        station.take(values[pane], pane)
        if pane % 500 == 499:
            begin = perf_counter()
            station.array(None, pane)
            reads.append(perf_counter() - begin)
        for piece in station.changes().values():
            pieces += piece is not None
            written += 0 if piece is None else 16 * len(piece[0])
    window = values[panes - length :]
    singles = [digest(each, np.ones(rows), POINTS) for each in window]
    begin = perf_counter()
    ranked(singles, POINTS)
    once = perf_counter() - begin
    read = statistics.median(reads[len(reads) // 2 :])
    parts = len(station._window(None, panes - 1))
    error = _error(station.array(None, panes - 1)[1:], np.sort(window.ravel()))
    return (
        name, panes, rows, station.size, parts, read * 1e3, once * 1e3, pieces / panes, round(written / panes), error,
    )  # fmt: skip


def _error(points: FloatArray, values: FloatArray) -> float:
    """The largest difference of shares at or below a value: between two points it is at one of them."""
    at = np.sort(points)
    most = np.searchsorted(values, at, side="right") / len(values)
    fewer = np.searchsorted(values, at, side="left") / len(values)
    here = np.arange(len(at)) / len(at)
    return float(max(np.abs(fewer - here).max(), np.abs(most - here - 1 / len(at)).max()))
