"""The error of ECM-sketches against their size: Figure 5 of the seed's paper.

Over exponential histograms, deterministic waves and randomized waves, with epsilon from 0.05 to 0.3 and delta = 0.15. A
stream is counted whole; then, for the last 10, 100, ... ticks, every key that came is asked for (the error as a share
of the arrivals of the range), and the self-join size (of the square of them; not of randomized waves, which promise
nothing there). A sketch is made as small as the query allows, so the two queries have sketches of their own. Sizes are
those of ``to_bytes``. Short streams are measured with several hashes.

The bars: at most a share delta of the queries errs by more than epsilon, and 40 KB with epsilon = delta = 0.15, a
window of 2,000,000 s and ten million arrivals over a million keys within it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.sketch_data import WINDOW, Stream, Tally, arrivals_of, ask, real_streams, steady
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.parameters import Counter, Query

DESCRIPTION = "ECM-sketches: the error of point and self-join queries against bytes, by window counter"
EPSILONS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
DELTA = 0.15
COUNTERS: tuple[Counter, ...] = ("histogram", "wave", "random_wave")
QUERIES: tuple[Query, ...] = ("point", "inner_product")
NAMES = {"histogram": "histograms", "wave": "waves", "random_wave": "randomized waves"}
ASKED = {"point": "point queries", "inner_product": "self-joins"}
BYTES_MOST = 40_000
ROWS, FEW_ROWS, BAR_ROWS = 100_000_000, 10_000_000, 10_000_000
HASHES, FEW_HASHES = 10, 2


@dataclass(frozen=True, slots=True)
class _Point:
    """A point of the figure."""

    counter: Counter
    query: Query
    epsilon: float
    bytes: float
    tally: Tally

    @property
    def share(self) -> float:
        """Of the queries that err by more than epsilon."""
        return self.tally.above / max(1, self.tally.queries)


def main(arguments: Sequence[str]) -> int:
    """Print the tables and save Figure 5; 1 when more queries err than may, or a sketch is too large."""
    options = parser("sketch_error", DESCRIPTION)
    options.add_argument("--rows", type=int, help="arrivals of the generated stream")
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (1_000_000 if chosen.quick else ROWS)
    few = min(rows, 300_000 if chosen.quick else FEW_ROWS)
    held, panels = True, []
    with Workbench(chosen) as bench:
        for stream in _streams(chosen.data_dir, rows, chosen.quick):
            points = [point for counter in COUNTERS for point in _measure(stream, counter, few)]
            kind = f" ({few / 1e6:g} million for randomized waves)" if len(stream) > few else ""
            show(
                f"{stream.title}{kind}; delta = {DELTA}, {stream.hashes} hashes, ranges up to"
                f" {stream.ranges[-1].length:,} ticks",
                ("query", "counter", "epsilon", "bytes", "mean error", "most", "queries", "above epsilon", "at most"),
                [
                    (
                        ASKED[each.query], NAMES[each.counter], each.epsilon, round(each.bytes), each.tally.mean,
                        each.tally.worst, each.tally.queries, f"{each.share:.2%}", f"{DELTA:.0%}",
                    )
                    for each in points
                ],
            )  # fmt: skip
            for each in points:
                held = _within(each, stream) and held
            panels.append((stream.title, points))
        _figure5(bench, panels)
        held = _small(chosen.quick) and held
    return 0 if held else 1


def _streams(folder: str | None, rows: int, quick: bool) -> Iterator[Stream]:
    yield from real_streams(folder, hashes=2 if quick else HASHES)
    yield steady(rows, hashes=FEW_HASHES)


def _measure(stream: Stream, counter: Counter, few: int) -> Iterator[_Point]:
    """All epsilons and both queries, with every hash."""
    if counter == "random_wave" and len(stream) > few:
        stream = stream.thinned(few)
    for query in QUERIES[: 1 if counter == "random_wave" else 2]:
        for epsilon in EPSILONS:
            tally, sizes = Tally(), []
            for seed in range(stream.hashes):
                sketch = EcmSketch.for_query(epsilon, DELTA, window=WINDOW, query=query, counter=counter, seed=seed)
                sketch.update_words(stream.arrivals, stream.times)
                sizes.append(len(sketch.to_bytes()))
                ask(sketch, stream, query, epsilon, tally)
            yield _Point(counter, query, epsilon, float(np.mean(sizes)), tally)


def _within(point: _Point, stream: Stream) -> bool:
    if point.share <= DELTA:
        return True
    print(f"bar missed: {stream.name}, {NAMES[point.counter]}: {point.share:.1%} of the {ASKED[point.query]} err by")
    print(f"    more than {point.epsilon}")
    return False


def _small(quick: bool) -> bool:
    """The size of one sketch of a window's arrivals."""
    keys, times = arrivals_of(BAR_ROWS // 10 if quick else BAR_ROWS, span=WINDOW.length)
    sizes = {}
    for counter in COUNTERS:
        sketch = EcmSketch.for_query(0.15, 0.15, window=WINDOW, counter=counter)
        sketch.update_words(keys.astype(np.uint64), times)
        sizes[NAMES[counter]] = len(sketch.to_bytes())
    show(
        f"bytes: epsilon = delta = 0.15, {len(keys):,} arrivals over a million keys in the window",
        ("counter", "bytes", "bar", "the seed's paper (World Cup)"),
        [
            (name, size, BYTES_MOST if name == "histograms" else None, paper)
            for (name, size), paper in zip(sizes.items(), ("22 KB", "50 KB", "48.8 MB"), strict=True)
        ],
    )
    return sizes["histograms"] <= BYTES_MOST


def _figure5(bench: Workbench, panels: list[tuple[str, list[_Point]]]) -> None:
    chart, grid = figure(len(panels), 2)
    for column, (title, points) in enumerate(panels):
        for row, query in enumerate(QUERIES):
            axes = grid[row][column]
            axes.set_title(f"{title}: {ASKED[query]}", fontsize=9, loc="left")
            for colour, counter in zip(COLOURS, COUNTERS, strict=False):
                _line(axes, [each for each in points if (each.counter, each.query) == (counter, query)], colour)
            log_axis(axes, "x", "bytes", "{x:,.0f}")
            log_axis(axes, "y", "error (at first and last: epsilon)", "{x:g}")
    handles, labels = grid[0][0].get_legend_handles_labels()
    chart.legend(handles, labels, loc="outside lower center", ncols=3)
    save(chart, bench.out, "sketch_figure5")


def _line(axes: Any, points: list[_Point], colour: str) -> None:
    if not points:
        return
    name, sizes = NAMES[points[0].counter], [each.bytes for each in points]
    means, worst = [each.tally.mean for each in points], [each.tally.worst for each in points]
    axes.plot(sizes, means, "o-", color=colour, label=f"{name}, mean")
    axes.plot(sizes, worst, "s:", color=colour, label=f"{name}, most", markersize=4)
    for each in (points[0], points[-1]):
        at, below = (each.bytes, each.tally.mean), points[0].counter == "histogram"
        axes.annotate(
            f"{each.epsilon:g}", at, textcoords="offset points", xytext=(-8 if below else 4, -12 if below else 4),
            fontsize=7, color=colour,
        )  # fmt: skip


def log_axis(axes: Any, which: str, label: str, form: str) -> None:
    """A logarithmic axis with few enough ticks to be read."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set(**{f"{which}scale": "log", f"{which}label": label})
    low, high = axes.get_xlim() if which == "x" else axes.get_ylim()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(form)
