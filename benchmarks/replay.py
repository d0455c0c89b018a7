"""How fast silence is, and how fast a whole replay is, beside plain-Python and NumPy twins of the same run.

Silence: windows slide and every update is checked, on one core, once windows are full and nobody violates. The twins do
the same with the same safe radius: ``python`` update by update with floats and lists, ``numpy`` for all updates of a
site at once with cumulative sums. The whole replay is the ratio watch on air quality, beside ``benchmarks.twin``.
Runs are interleaved and the median of five is shown, so that a busy moment of the machine hits all alike.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from functools import partial
from statistics import median

import numpy as np

from benchmarks.common import Workbench, parser, show
from benchmarks.streams import CASES, SITES, WINDOW, Case, recording_of
from benchmarks.twin import Ratio, Twin
from tacit.recording.engine import Engine
from tacit.recording.physical import Physical, physical_plan
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording
from tacit.recording.updates import updates_of
from tacit.vocabulary import FloatArray

DESCRIPTION = "updates per second in silence, and a whole replay, against plain-Python and NumPy twins"
RUNS = 5
WATCH = """CREATE WATCH pollution AS SELECT AVG(so2) / AVG(no2) AS ratio FROM air
WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN ratio > 0.5"""
WHOLE_BAR = 20.0
LOUD_MAX = 1e-3  # resolutions per update that still count as silence


def main(arguments: list[str]) -> int:
    """Print both tables; 1 when a bar is missed."""
    options = parser("replay", DESCRIPTION)
    options.add_argument("--rows", type=int, help="updates per silent run")
    options.add_argument("--only", choices=["silence", "whole"], help="one of the two tables")
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (600_000 if chosen.quick else 3_000_000)
    failed = False
    if chosen.only != "whole":
        failed |= not _silence(rows)
    if chosen.only != "silence":
        with Workbench(chosen) as bench:
            failed |= not _whole(bench)
    return int(failed)


def _silence(rows: int) -> bool:
    table, ok = [], True
    for case in CASES:
        size = max(rows // 10, 200_000) if case.grouped else rows
        recording = recording_of(case, size)
        physical = physical_plan(case.plan(), recording)
        engine = _Silent(case, recording, physical)
        engine.run()
        runs: list[tuple[Callable[[], float], list[float]]] = [(engine.run, [])]
        if not case.grouped:
            site = physical.rows[: size // SITES]
            some = site[: max(3 * WINDOW, len(site) // 20)]
            runs += [
                (partial(_numpy_rate, physical, site), []),
                (partial(_python_rate, physical, some), []),
            ]
        for _ in range(RUNS):
            for measure, rates in runs:
                rates.append(measure() / 1e6)
        ours, *twins = [median(rates) for _, rates in runs]
        met = case.bar_millions is None or ours >= case.bar_millions
        ok &= met
        numpy, python = twins if twins else (None, None)
        groups = physical.groups
        table.append((
            case.name, ours, case.bar_millions, "yes" if met else "NO", numpy, python,
            ours / numpy if numpy else None, ours / python if python else None, ours * groups if groups > 1 else None,
        ))  # fmt: skip
    show(
        f"million updates/s while silent: {SITES} sites, windows of {WINDOW:,} rows, one core, median of {RUNS}",
        ("watch", "kernel", "bar", "met", "numpy", "python", "x numpy", "x python", "group checks"),
        table,
    )
    return ok


class _Silent:
    """Replays and times the part after the windows are full; that part must be silent."""

    def __init__(self, case: Case, recording: Recording, physical: Physical) -> None:
        self.case, self.physical = case, physical
        self.updates = updates_of(recording, case.plan().window, step="event")
        self.warm = int(1.5 * SITES * WINDOW)

    def run(self) -> float:
        """Updates per second."""
        ticks: list[tuple[int, float]] = []

        def progress(done: int, _: int) -> None:
            if done >= self.warm:
                ticks.append((done, time.perf_counter()))

        outcome = Engine(self.physical, self.updates).run(progress)
        (first, begin), (last, end) = ticks[0], ticks[-1]
        spoke = int((np.concatenate(outcome.talks)[:, 0] > first).sum())
        if spoke > (last - first) * LOUD_MAX:
            raise RuntimeError(f"{self.case.name} is not silent after {first:,} updates")
        return (last - first) / (end - begin)


def _start(physical: Physical, rows: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """The first full window as anchor, the estimate there, and its safe radius."""
    d = physical.dimension
    anchor = rows[:WINDOW].sum(axis=0)
    estimate = anchor[:d] / anchor[d] if physical.weighted else anchor[:d] * physical.sites
    zones = physical.monitor.zones(1)
    physical.monitor.refresh(zones, np.array([0]), estimate[None])
    return anchor, estimate, float(zones.radius[0])


def _numpy_rate(physical: Physical, rows: FloatArray) -> float:
    anchor, estimate, radius = _start(physical, rows)
    d = physical.dimension
    begin = time.perf_counter()
    sums = np.cumsum(rows, axis=0)
    windows = sums[WINDOW:] - sums[:-WINDOW]
    mass = windows[:, :d] - anchor[:d]
    if physical.weighted:
        mass -= (windows[:, d:] - anchor[d]) * estimate
        outside = np.einsum("ij,ij->i", mass, mass) > (radius * windows[:, d]) ** 2
    else:
        outside = np.einsum("ij,ij->i", mass, mass) * physical.sites**2 > radius**2
    seconds = time.perf_counter() - begin
    if outside.mean() > 0.5:
        raise RuntimeError("the twin's stream is not silent")
    return len(windows) / seconds


def _python_rate(physical: Physical, rows: FloatArray) -> float:
    start, middle, radius = _start(physical, rows)
    d, width = physical.dimension, rows.shape[1]
    anchor, estimate, values = start.tolist(), middle.tolist(), rows.tolist()
    weighted, spread = physical.weighted, float(physical.sites)
    outside = 0
    begin = time.perf_counter()
    window = deque(values[:WINDOW])
    sums = list(anchor)
    for row in values[WINDOW:]:
        old = window.popleft()
        window.append(row)
        for j in range(width):
            sums[j] += row[j] - old[j]
        square = 0.0
        change = sums[d] - anchor[d] if weighted else 0.0
        for j in range(d):
            moved = sums[j] - anchor[j]
            if weighted:
                moved -= change * estimate[j]
            square += moved * moved
        limit = radius * sums[d] if weighted else radius / spread
        if square > limit * limit:
            outside += 1
    seconds = time.perf_counter() - begin
    return (len(values) - WINDOW) / seconds


def _whole(bench: Workbench) -> bool:
    plan, recording = bench.recording(WATCH, "air")
    bench.close_spark()
    physical = physical_plan(plan, recording)
    scale = tuple(physical.scale.tolist())
    units = (recording.present / physical.scale).tolist()
    times, sites = recording.t.tolist(), recording.site.tolist()
    replay_recording(plan, recording)  # compiled kernels are loaded now
    ours, theirs = [], []
    runs = 3 if bench.options.quick else RUNS
    for _ in range(runs):
        begin = time.perf_counter()
        finished = replay_recording(plan, recording)
        middle = time.perf_counter()
        twin = Twin(Ratio(0.5, scale), len(recording.sites), int(plan.window.duration_us or 0))
        said = twin.run(zip(times, sites, units, strict=True))
        ours.append(middle - begin)
        theirs.append(time.perf_counter() - middle)
    report = finished.report
    same = dict(said) == {kind: count for kind, count in report.messages["by_kind"].items() if count}
    times_faster = median(their / our for our, their in zip(ours, theirs, strict=True))
    events = len(recording)
    show(
        f"whole replay, ratio watch on {bench.kind('air')}: {events:,} events, {len(recording.sites)} sites, "
        f"median of {runs} interleaved runs",
        ("who", "seconds", "million events/s", "messages", "violations", "full syncs"),
        [
            (
                "tacit",
                median(ours),
                events / median(ours) / 1e6,
                report.messages["total"],
                report.violations,
                report.full_syncs,
            ),
            (
                "plain Python",
                median(theirs),
                events / median(theirs) / 1e6,
                sum(said.values()),
                twin.violations,
                twin.full_syncs,
            ),
        ],
    )
    central, panes = report.centralised["messages"], report.pane_shipping["messages"]
    print(
        f"tacit is {times_faster:.1f} times as fast as its plain-Python twin (bar: {WHOLE_BAR:g}); messages are "
        f"{'equal' if same else 'NOT EQUAL'}; {report.messages['total'] / central:.2f} of a message per event, "
        f"{report.messages['total'] / panes:.2f} of shipping panes"
    )
    return times_faster >= WHOLE_BAR and same


if __name__ == "__main__":
    import sys

    raise SystemExit(main(sys.argv[1:]))
