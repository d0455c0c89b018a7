"""Watches on sketches: Figure 8 of the seed's paper (self-join sizes), and frequent items.

A self-join size is tracked within theta by 2 to 256 sites whose ECM-sketches have epsilon = delta = 0.15, over a window
of 2,000,000 s that is looked at a hundred times as it passes. Both zones: *norms*, the seed's, and *products*, ours.
The streams are a million keys by Zipf's law, five windows long, steady and drifting, each arrival at any site; and the
World Cup's requests, by client at 8 sites, in two hours, every minute. All is counted from the first arrival on, also
while the window fills (the paper's figures begin after that; what comes after the first window is told beside it).

Bytes are compared with forwarding every arrival, one message of our wire for each. The error is what the answer is off
by, as a share of the square of the window's arrivals, at every step; it has the sketch's epsilon and theta in it. The
*first phase* asks some sites for a few numbers, the *second* all sites for their sketches. Frequent items: the keys of
more than 1 % of a window's arrivals, margin a tenth of that, epsilon = 0.005, delta = 0.01; every step is judged.

The bars: 5 % of the bytes up to 32 sites, half at 256; an error below theta; nothing wrong at more than delta of the
steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.sketch_data import WINDOW, Stream, drifting, recording_of, steady
from benchmarks.sketch_error import log_axis
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.recording.run import record
from tacit.recording.sketch_replay import SketchReplay, replay_sketch
from tacit.recording.stream import Recording

DESCRIPTION = "watches on sketches: self-join sizes by sites and theta, and frequent items; bytes against forwarding"
SITES = (2, 4, 8, 16, 32, 64, 128, 256)
THETAS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
THETA = EPSILON = DELTA = 0.15
ZONES = {"auto": "products", "norms": "norms"}
FIXED_SITES, FINE_SITES, CUP_SITES = 16, 32, 8
COUNTED_SITES = (4, 32, 256)
PARTS = ("sites", "theta", "panes", "epsilon", "requests", "frequent")
ROWS, BAR_ROWS = 20_000_000, 10_000_000  # bars are for streams of at least so many arrivals
SHARES = {32: 0.05, 256: 0.5}
COLUMNS = (
    "zone", "sites", "theta", "of forwarding", "after a window", "messages", "reports", "phase 1", "phase 2",
    "mean error", "most", "wrong", "said / true",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Watched:
    """What is kept of a replay."""

    zone: str
    sites: int
    theta: float
    share: float
    after: float | None
    mean: float
    row: tuple[object, ...]


def main(arguments: Sequence[str]) -> int:
    """Print the tables and save Figure 8; 1 when a bar is missed."""
    options = parser("sketch_watches", DESCRIPTION)
    options.add_argument("--rows", type=int, help="arrivals of a generated stream")
    options.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, metavar="PART", help=", ".join(PARTS))
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (200_000 if chosen.quick else ROWS)
    bars = _Bars(rows)
    sites, thetas = (SITES[1::3], THETAS[::2]) if chosen.quick else (SITES, THETAS)
    by_sites: list[tuple[str, list[_Watched]]] = []
    by_theta: list[tuple[str, list[_Watched]]] = []
    with Workbench(chosen) as bench:
        for make in (steady, drifting):
            if set(chosen.only) == {"requests"}:
                break
            stream = make(rows)
            if "sites" in chosen.only:
                by_sites.append((stream.name, _table(stream, "by sites", [(n, THETA) for n in sites], bars)))
            if "theta" in chosen.only:
                by_theta.append((stream.name, _table(stream, "by theta", [(FIXED_SITES, t) for t in thetas], bars)))
            if "panes" in chosen.only:
                _table(stream, "panes of 1/1000", [(FINE_SITES, THETA)], bars, every=WINDOW.length // 1000)
            if "epsilon" in chosen.only:
                for epsilon in (0.05, 0.01):
                    _table(stream, "a finer sketch", [(FIXED_SITES, THETA)], bars, epsilon=epsilon)
            if "frequent" in chosen.only:
                _frequent(stream.title, _counted(stream, COUNTED_SITES[: 1 if chosen.quick else None]), bars)
        if "requests" in chosen.only or "frequent" in chosen.only:
            _requests(bench, chosen.only, bars)
        if by_sites and by_theta:
            _figure8(bench, by_sites, by_theta)
    return 0 if bars.held else 1


class _Bars:
    """Says which bars are missed."""

    def __init__(self, rows: int) -> None:
        self.rows, self.held = rows, True

    def share(self, what: str, sites: int, share: float) -> None:
        """Of forwarding every arrival."""
        most = min((bar for upto, bar in SHARES.items() if sites <= upto), default=1.0)
        if self.rows >= BAR_ROWS and share > most:
            self._missed(f"{what}: {share:.1%} of forwarding, more than {most:.0%}")

    def error(self, what: str, error: float, theta: float) -> None:
        """The average of a watch."""
        if error >= theta:
            self._missed(f"{what}: an error of {error:.3f}, not below theta")

    def wrong(self, what: str, wrong: int, steps: int, delta: float) -> None:
        """Steps at which what is said is beyond its promise."""
        if wrong > delta * steps:
            self._missed(f"{what}: wrong at {wrong} of {steps} steps")

    def _missed(self, text: str) -> None:
        print(f"bar missed: {text}")
        self.held = False


def _sentence(theta: float, epsilon: float, key: str, window: str) -> WatchPlan:
    return parse_watch(
        f"CREATE WATCH f AS SELECT SELF_JOIN_SIZE({key}) AS f2 FROM s WINDOW {window}"
        f" TRACK f2 WITHIN {100 * theta:g} PERCENT SKETCH EPSILON {epsilon} DELTA {DELTA}"
    )


def _table(
    stream: Stream,
    title: str,
    cases: Iterable[tuple[int, float]],
    bars: _Bars,
    *,
    epsilon: float = EPSILON,
    every: int = WINDOW.length // 100,
) -> list[_Watched]:
    """Replay the cases with both zones, and once more only the first window: the rest is what comes after."""
    found: list[_Watched] = []
    whole = begin = recording_of(stream, 1, until=0)
    kept = 0
    for sites, theta in cases:
        if sites != kept:
            kept, whole, begin = sites, recording_of(stream, sites), recording_of(stream, sites, until=WINDOW.length)
        plan = _sentence(theta, epsilon, "k", f"LAST {WINDOW.length} SECONDS EVERY {every} SECONDS")
        for zone in ZONES:
            first = replay_sketch(plan, begin, step="pane", zone=zone) if theta == THETA else None
            replay = replay_sketch(plan, whole, step="pane", zone=zone, verify=True)
            made = _watched(replay, whole, plan, theta, first)
            what = f"{stream.name}, {title}, {made.zone}, {sites} sites"
            bars.share(what, sites, made.share)
            bars.error(what, made.mean, theta)
            bars.wrong(what, int(replay.report.missed or 0), replay.updates.steps, DELTA)
            found.append(made)
    show(f"self-join of {stream.title}; {title}, epsilon = {epsilon}", COLUMNS, [each.row for each in found])
    return found


def _watched(
    replay: SketchReplay, recording: Recording, plan: WatchPlan, theta: float, first: SketchReplay | None
) -> _Watched:
    report, verdict = replay.report, replay.verdict
    assert verdict is not None
    share, after = report.bytes / report.centralised["bytes"], None
    if first is not None:
        forwarded = report.centralised["bytes"] - first.report.centralised["bytes"]
        after = (report.bytes - first.report.bytes) / forwarded
    end = int(replay.updates.time[-1]) - int(plan.window.duration_us or 0)
    assert recording.group is not None
    counts = np.bincount(recording.group[np.searchsorted(recording.t, end) :]).astype(np.float64)
    said = replay.outcome.said[-1].value / float((counts**2).sum())
    zone = report.zone or ""
    row = (
        zone, len(recording.sites), theta, f"{share:.3%}", None if after is None else f"{after:.3%}",
        int(report.messages["total"]), report.violations, replay.outcome.balanced, report.full_syncs,
        verdict.mean_error, verdict.max_error, verdict.missed, said,
    )  # fmt: skip
    return _Watched(zone, len(recording.sites), theta, share, after, verdict.mean_error, row)


def _counted(stream: Stream, sites: Iterable[int]) -> Iterable[tuple[Recording, WatchPlan]]:
    threshold = len(stream) * WINDOW.length // int(stream.times[-1] + 1) // 100
    window = f"LAST {WINDOW.length} SECONDS EVERY {WINDOW.length // 100} SECONDS"
    for each in sites:
        yield recording_of(stream, each), _frequent_sentence("k", threshold, window)


def _frequent_sentence(key: str, threshold: int, window: str) -> WatchPlan:
    return parse_watch(
        f"CREATE WATCH f AS SELECT {key}, COUNT(*) AS n FROM s WINDOW {window} GROUP BY {key}"
        f" HAVING COUNT(*) > {threshold} MARGIN {max(1, threshold // 10)} SKETCH EPSILON 0.005 DELTA 0.01"
    )


def _frequent(title: str, cases: Iterable[tuple[Recording, WatchPlan]], bars: _Bars) -> None:
    rows: list[tuple[object, ...]] = []
    for recording, plan in cases:
        replay = replay_sketch(plan, recording, step="pane", verify=True)
        report, verdict = replay.report, replay.verdict
        assert verdict is not None
        what = f"frequent items of {title}, {len(recording.sites)} sites"
        bars.wrong(what, verdict.missed + verdict.spurious, replay.updates.steps, 0.01)
        total, forwarded = int(report.messages["total"]), int(report.centralised["messages"])
        rows.append(
            (
                len(recording.sites), total, f"{total / forwarded:.4%}",
                f"{report.bytes / report.centralised['bytes']:.4%}", report.violations, report.full_syncs,
                len(replay.outcome.said[-1].keys), len(report.alerts), verdict.missed, verdict.spurious,
                replay.updates.steps,
            )
        )  # fmt: skip
    show(
        f"frequent items of {title}",
        (
            "sites", "messages", "of forwarding", "of its bytes", "reports", "all asked", "frequent at the end",
            "told", "missed", "spurious", "steps",
        ),
        rows,
    )  # fmt: skip


def _requests(bench: Workbench, parts: Iterable[str], bars: _Bars) -> None:
    """The World Cup's requests, where they are."""
    folder = bench.options.data_dir
    path = Path(folder or "") / "worldcup98_sample.parquet"
    if folder is None or not path.exists():
        return
    window, site = "LAST 2 HOURS EVERY 1 MINUTE", f"hash:client:{CUP_SITES}"
    if "requests" in parts:
        recording, _ = record(bench.spark, _sentence(THETA, EPSILON, "url", window), path, site=site, time="ts")
        found = []
        for theta in THETAS:
            for zone in ZONES:
                plan = _sentence(theta, EPSILON, "url", window)
                replay = replay_sketch(plan, recording, step="pane", zone=zone, verify=True)
                found.append(_watched(replay, recording, plan, theta, None))
                what = f"World Cup, {found[-1].zone}, theta = {theta}"
                bars.error(what, found[-1].mean, theta)
                bars.wrong(what, int(replay.report.missed or 0), replay.updates.steps, DELTA)
        show(f"self-join of the World Cup's {len(recording):,} requests by url", COLUMNS, [each.row for each in found])
    if "frequent" in parts:
        plan = _frequent_sentence("url", 170, window)  # of some 17,000 in two hours
        recording, _ = record(bench.spark, plan, path, site=site, time="ts")
        _frequent(f"the World Cup's {len(recording):,} requests by url", [(recording, plan)], bars)


def _figure8(
    bench: Workbench, by_sites: list[tuple[str, list[_Watched]]], by_theta: list[tuple[str, list[_Watched]]]
) -> None:  # fmt: skip
    chart, grid = figure(3)
    cost, error, theta = grid[0]
    colours = iter(COLOURS)
    for (name, watched), (_, tuned) in zip(by_sites, by_theta, strict=True):
        for zone in ZONES.values():
            colour, label = next(colours), f"{name}: {zone}"
            line = [each for each in watched if each.zone == zone]
            sites = [each.sites for each in line]
            cost.plot(sites, [each.share for each in line], "o-", color=colour, label=label)
            cost.plot(sites, [each.after for each in line], "x:", color=colour)
            error.plot(sites, [each.mean for each in line], "o-", color=colour)
            line = [each for each in tuned if each.zone == zone]
            theta.plot([each.theta for each in line], [each.share for each in line], "o-", color=colour)
    error.axhline(THETA, color="#777777", linestyle="--")
    error.text(SITES[0], THETA, "theta", va="bottom", fontsize=8)
    error.set(ylim=(0.0, 1.1 * THETA), ylabel="average error")
    for axes in (cost, error):
        _sites_axis(axes)
    cost.set_title("bytes of forwarding (dotted: after the first window)", fontsize=9, loc="left")
    error.set_title(f"theta = epsilon = delta = {THETA}", fontsize=9, loc="left")
    theta.set_title(f"{FIXED_SITES} sites", fontsize=9, loc="left")
    theta.set_xlabel("theta")
    log_axis(cost, "y", "share of forwarding", "{x:g}")
    cost.set_ylim(bottom=0.3 * min(each.share for _, watched in by_sites for each in watched))  # nothing has no place
    log_axis(theta, "y", "share of forwarding", "{x:g}")
    chart.legend(*cost.get_legend_handles_labels(), loc="outside lower center", ncols=4)
    save(chart, bench.out, "sketch_figure8")


def _sites_axis(axes: Any) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xticks(SITES, [str(each) for each in SITES])
    axes.set_xlabel("sites")
