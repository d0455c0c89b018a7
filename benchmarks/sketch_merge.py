"""Merging ECM-sketches up a tree: Figures 6 and 7 and Table 4 of the seed's paper.

A stream is divided at random among 2 to 256 sites, the leaves of a balanced binary tree. Every node sends its sketch to
its parent, which merges the two that it gets; the root answers. Beside it our better way: every site sends its sketch
to the root, which merges all at once (``merge_all``), one level of error in place of up to eight. The error is that of
``sketch_error``, the average over all queries, against that of one sketch of the same parameters that saw all arrivals
(the *inflation* is their ratio); bytes are those of every sketch that was sent. Parameters are for sketches that are
never merged, as in the paper, so what is measured is what merging adds. An error of point queries is mostly keys that
share a cell, which merging does not change; what it does to the counters shows in the *total* of all keys, in the
longest range that does not cover the stream.

The bar: at 256 sites the average error of the tree is less than 1.2 times the centralised one. (Randomized waves merge
without loss, and are measured with at most a million arrivals and 64 sites.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.sketch_data import WINDOW, Stream, Tally, ask, real_streams, steady
from benchmarks.sketch_error import DELTA, EPSILONS, log_axis
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.parameters import Counter, Query
from tacit.vocabulary import IntArray

DESCRIPTION = "merging ECM-sketches up a tree of 2 to 256 sites: what it adds to the error, and the bytes it takes"
SITES = (2, 4, 8, 16, 32, 64, 128, 256)
EPSILON, FIXED_SITES = 0.15, 16
TABLE = (0.1, 0.2)
INFLATION_MOST = 1.2
ROWS, FEW_ROWS, HASHES = 20_000_000, 1_000_000, 5
RANDOM_SITES_MOST = 64
KINDS: tuple[tuple[str, Query, Counter], ...] = (
    ("point queries", "point", "histogram"),
    ("self-joins", "inner_product", "histogram"),
    ("point, randomized waves", "point", "random_wave"),
)


@dataclass(slots=True)
class _Merged:
    """What merging gave: the errors of the one sketch, of the tree's root and of all merged at once, and bytes."""

    kind: str
    epsilon: float
    sites: int
    alone: Tally = field(default_factory=Tally)
    tree: Tally = field(default_factory=Tally)
    once: Tally = field(default_factory=Tally)
    tree_bytes: list[int] = field(default_factory=list)
    once_bytes: list[int] = field(default_factory=list)
    tree_total: list[float] = field(default_factory=list)  # what all keys have together, off by this share
    once_total: list[float] = field(default_factory=list)

    @property
    def inflation(self) -> float:
        """Of the average error, by the tree."""
        return self.tree.mean / self.alone.mean if self.alone.mean else 1.0

    @property
    def row(self) -> tuple[object, ...]:
        """Of the table."""
        return (
            self.kind, self.epsilon, self.sites, self.alone.mean, self.tree.mean, f"{self.inflation:.3f}",
            f"{self.once.mean / self.alone.mean if self.alone.mean else 1.0:.3f}", f"{np.mean(self.tree_total):+.1%}",
            f"{np.mean(self.once_total):+.1%}", self.tree.worst,
            f"{self.tree.above / max(1, self.tree.queries):.2%}", round(np.mean(self.tree_bytes)),
            round(np.mean(self.once_bytes)),
        )  # fmt: skip


def main(arguments: Sequence[str]) -> int:
    """Print the tables and save Figures 6 and 7; 1 when merging adds too much error."""
    options = parser("sketch_merge", DESCRIPTION)
    options.add_argument("--rows", type=int, help="arrivals of the generated stream")
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (300_000 if chosen.quick else ROWS)
    found: list[tuple[Stream, list[_Merged]]] = []
    with Workbench(chosen) as bench:
        for stream in _streams(chosen.data_dir, rows, chosen.quick):
            merged = [each for kind in KINDS for each in _measure(stream, kind)]
            show(
                f"{stream.title}; delta = {DELTA}, {stream.hashes} hashes",
                (
                    "query", "epsilon", "sites", "one sketch", "tree", "inflation", "at once", "total", "at once",
                    "most", "above", "tree, bytes", "at once",
                ),
                [each.row for each in merged],
            )  # fmt: skip
            found.append((stream, merged))
        _table4(found)
        _figure6(bench, found)
        _figure7(bench, found)
    missed = [each for stream, merged in found for each in merged if not _holds(stream, each)]
    return 1 if missed else 0


def _streams(folder: str | None, rows: int, quick: bool) -> Iterator[Stream]:
    yield from real_streams(folder, hashes=1 if quick else HASHES)
    yield steady(rows)


def _measure(stream: Stream, kind: tuple[str, Query, Counter]) -> Iterator[_Merged]:
    """All numbers of sites with one epsilon, and all epsilons with one number of sites."""
    name, query, counter = kind
    if counter == "random_wave" and len(stream) > FEW_ROWS:
        stream = stream.thinned(FEW_ROWS)
    cases = [(EPSILON, sites) for sites in SITES if counter == "histogram" or sites <= RANDOM_SITES_MOST]
    cases += [(epsilon, FIXED_SITES) for epsilon in EPSILONS if epsilon != EPSILON]
    made = {case: _Merged(name, *case) for case in cases}
    for seed in range(stream.hashes):
        for sites in dict.fromkeys(sites for _, sites in cases):
            order, starts = _divided(len(stream), sites, seed)
            words, times = stream.arrivals[order], stream.times[order]
            for epsilon in (epsilon for epsilon, among in cases if among == sites):
                found, options = made[epsilon, sites], {"query": query, "counter": counter, "seed": seed}
                alone = EcmSketch.for_query(epsilon, DELTA, window=WINDOW, **options)  # type: ignore[arg-type]
                alone.update_words(stream.arrivals, stream.times)
                leaves = []
                for site in range(sites):
                    leaf = EcmSketch.for_query(
                        epsilon, DELTA, window=WINDOW, source=site, **options,  # type: ignore[arg-type]
                    )  # fmt: skip
                    leaf.update_words(words[starts[site] : starts[site + 1]], times[starts[site] : starts[site + 1]])
                    leaf.advance(int(stream.times[-1]))
                    leaves.append(leaf)
                found.once_bytes.append(sum(len(leaf.to_bytes()) for leaf in leaves))
                root, moved = _tree(leaves)
                found.tree_bytes.append(moved)
                once = EcmSketch.merge_all(leaves)
                for sketch, tally in ((alone, found.alone), (root, found.tree), (once, found.once)):
                    ask(sketch, stream, query, epsilon, tally)
                part = stream.part
                for sketch, totals in ((root, found.tree_total), (once, found.once_total)):
                    totals.append(sketch.total(part.length) / part.total - 1.0)
    yield from made.values()


def _divided(rows: int, sites: int, seed: int) -> tuple[IntArray, IntArray]:
    """The arrivals site by site, in order, and where each site begins."""
    owner = np.random.default_rng(100 + seed).integers(0, sites, rows, dtype=np.uint16)
    return np.argsort(owner, kind="stable"), np.append(0, np.cumsum(np.bincount(owner, minlength=sites)))


def _tree(level: list[EcmSketch]) -> tuple[EcmSketch, int]:
    """The root, and the bytes of all sketches that were sent to it and below it."""
    moved = 0
    while len(level) > 1:
        moved += sum(len(each.to_bytes()) for each in level)
        level = [one.merge(two) for one, two in zip(level[::2], level[1::2], strict=True)]
    return level[0], moved


def _holds(stream: Stream, merged: _Merged) -> bool:
    if merged.sites < SITES[-1] or merged.inflation < INFLATION_MOST:
        return True
    print(f"bar missed: {stream.name}, {merged.kind}, {merged.sites} sites: {merged.inflation:.2f} times the error")
    return False


def _table4(found: list[tuple[Stream, list[_Merged]]]) -> None:
    rows = []
    for epsilon in TABLE:
        for stream, merged in found:
            cells: list[object] = [epsilon, stream.title]
            for kind, _, _ in KINDS:
                at = [each for each in merged if (each.kind, each.epsilon, each.sites) == (kind, epsilon, FIXED_SITES)]
                cells += [f"{at[0].alone.mean:.4f} : {at[0].tree.mean:.4f}", f"{at[0].inflation:.3f}"]
            rows.append(cells)
    columns = ["epsilon", "stream"]
    for kind in ("point", "self-join", "randomized"):
        columns += [f"{kind}, one : tree", "inflation"]
    show(f"Table 4: {FIXED_SITES} sites, average errors and inflation", columns, rows)


def _figure6(bench: Workbench, found: list[tuple[Stream, list[_Merged]]]) -> None:
    chart, grid = figure(len(found))
    for axes, (stream, merged) in zip(grid[0], found, strict=True):
        axes.set_title(f"{stream.title}, {FIXED_SITES} sites", fontsize=9, loc="left")
        for colour, (kind, _, _) in zip(COLOURS, KINDS, strict=False):
            line = sorted((each for each in merged if each.kind == kind and each.sites == FIXED_SITES), key=_epsilon)
            sizes, means = [float(np.mean(each.tree_bytes)) for each in line], [each.tree.mean for each in line]
            axes.plot(sizes, means, "o-", color=colour, label=kind)
            for at in (0, -1):
                axes.annotate(
                    f"{line[at].epsilon:g}", (sizes[at], means[at]), textcoords="offset points", xytext=(4, 4),
                    fontsize=7, color=colour,
                )  # fmt: skip
        log_axis(axes, "x", "bytes sent in the tree", "{x:,.0f}")
        log_axis(axes, "y", "average error", "{x:g}")
    chart.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    save(chart, bench.out, "sketch_figure6")


def _figure7(bench: Workbench, found: list[tuple[Stream, list[_Merged]]]) -> None:
    chart, grid = figure(len(found), 2)
    for column, (stream, merged) in enumerate(found):
        above, below = grid[0][column], grid[1][column]
        above.set_title(f"{stream.title}, epsilon = {EPSILON}", fontsize=9, loc="left")
        for colour, (kind, _, _) in zip(COLOURS, KINDS, strict=False):
            line = sorted((each for each in merged if each.kind == kind and each.epsilon == EPSILON), key=_sites)
            sites = [each.sites for each in line]
            above.plot(sites, [each.tree.mean for each in line], "o-", color=colour, label=f"{kind}: tree")
            above.plot(sites, [each.once.mean for each in line], "x--", color=colour, label=f"{kind}: at once")
            above.plot(sites, [each.alone.mean for each in line], ":", color=colour, label=f"{kind}: one sketch")
            below.plot(sites, [float(np.mean(each.tree_bytes)) for each in line], "o-", color=colour)
            below.plot(sites, [float(np.mean(each.once_bytes)) for each in line], "x--", color=colour)
        above.set_ylim(
            0.0, 1.1 * max(max(each.tree.mean, each.alone.mean) for each in merged if each.epsilon == EPSILON)
        )
        above.set_ylabel("average error")
        log_axis(below, "y", "bytes sent", "{x:,.0f}")
        for axes in (above, below):
            axes.set_xscale("log", base=2)
            axes.set_xticks(SITES, [str(each) for each in SITES])
            axes.set_xlabel("sites")
    chart.legend(*grid[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=3, fontsize=8)
    save(chart, bench.out, "sketch_figure7")


def _epsilon(merged: _Merged) -> float:
    return merged.epsilon


def _sites(merged: _Merged) -> int:
    return merged.sites
