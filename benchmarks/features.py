"""The seed's experiments (section 6): which words tell the topic, watched at all sites at once by information gain.

Both algorithms beside each other: the decentralised one, which the seed measures, and the coordinator's. Three words of
contrasting course are chosen by script, as in its Figure 4: one whose gain declines, one that is steady, one that peaks
half-way. Then messages against the threshold (Figure 5), the number of sites (6), the error margin and the window (7),
and the number of words watched at once (8), each with the cost of sending every document. Tables and plots are saved.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from benchmarks.common import Workbench, figure, parser, save, show
from tacit.functions.evaluate import value
from tacit.functions.goals import Comparison
from tacit.language.plan import WatchPlan
from tacit.recording.replay import replay_recording
from tacit.recording.stream import Recording
from tacit.recording.subset import draw_groups, first_sites, take_groups
from tacit.recording.vary import Length, changed_plan

DESCRIPTION = "the seed's feature-selection experiments, decentralised and coordinator, with plots"
SITES, MOST_SITES, WINDOW, CHECKPOINTS = 10, 40, 500, 60
PROTOCOLS = ("broadcast", "coordinator")
WATCH = """CREATE WATCH words AS
SELECT term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain FROM news
WINDOW LAST 500 ROWS GROUP BY EACH(terms) AS term ALERT WHEN gain > 0.005"""


@dataclass(frozen=True, slots=True)
class Course:
    """One chosen word: its group, its name, its gain at the checkpoints, and the threshold that costs most."""

    group: int
    name: str
    gains: np.ndarray

    @property
    def adverse(self) -> float:
        """A threshold its gain keeps crossing: the median of its course."""
        return float(np.median(self.gains))


def main(arguments: list[str]) -> int:
    """Run all experiments; everything is saved under --out."""
    chosen = parser("features", DESCRIPTION).parse_args(arguments)
    with Workbench(chosen) as bench:
        plan, recording = bench.recording(WATCH, "news")
        _, many = bench.recording(WATCH, "news", site=f"round_robin:{MOST_SITES}")
        bench.close_spark()
        window = WINDOW if len(recording) >= 10_000 else 100
        plan = changed_plan(plan, "window", Length(window, True, str(window)))
        where, gains = _gains(recording, plan, window * SITES)
        words = _words(bench, recording)
        courses = _contrasting(gains, words)
        _plot_courses(bench, where, courses)
        few = chosen.quick
        _against_threshold(bench, plan, recording, courses, 4 if few else 10)
        _against_sites(bench, plan, many, courses, (5, 20) if few else (2, 5, 10, 20, 40))
        _against_margin(bench, plan, recording, courses, (0.0, 0.2) if few else (0.0, 0.05, 0.1, 0.2, 0.3, 0.5))
        _against_window(bench, plan, recording, courses, window, (1.0,) if few else (0.4, 0.6, 1.0, 1.5, 2.0))
        counts = (1, 10, 100) if few else (1, 10, 100, 300, 1_000, 3_000)
        _against_count(bench, plan, recording, tuple(c for c in counts if c <= len(recording.groups or ())))
    return 0


def _gains(recording: Recording, plan: WatchPlan, span: int) -> tuple[np.ndarray, np.ndarray]:
    """The gain of every word over the last ``span`` documents, at some checkpoints: (documents, (c, words))."""
    assert isinstance(plan.goal, Comparison)
    assert recording.absent is not None
    assert recording.member is not None
    assert recording.member_ptr is not None
    groups = len(recording.groups or ())
    where = np.linspace(span, len(recording), CHECKPOINTS).astype(int)
    out = np.empty((len(where), groups))
    for k, end in enumerate(where.tolist()):
        rows = slice(max(0, end - span), end)
        table = np.tile(recording.absent[rows].sum(axis=0), (groups, 1))
        first, last = recording.member_ptr[rows.start], recording.member_ptr[end]
        owner = np.repeat(np.arange(rows.start, end), np.diff(recording.member_ptr[rows.start : end + 1]))
        np.add.at(table, recording.member[first:last], (recording.present - recording.absent)[owner])
        out[k] = value(plan.goal.expression, table)
    return where, out


def _words(bench: Workbench, recording: Recording) -> list[str]:
    """What each group is called: its word where a vocabulary is at hand, else its number."""
    names = list(recording.groups or ())
    file = None if bench.options.data_dir is None else Path(bench.options.data_dir) / "reuters21578_vocabulary.parquet"
    if bench.real("news") is None or file is None or not file.exists():
        return [f"term {name}" for name in names]
    vocabulary = pq.read_table(file).to_pydict()
    spelled = dict(zip(map(str, vocabulary["term"]), vocabulary["word"], strict=True))
    return [spelled.get(name, name) for name in names]


def _contrasting(gains: np.ndarray, words: Sequence[str]) -> list[Course]:
    """The most declining, the steadiest strong, and the most peaked word."""
    third = len(gains) // 3
    early, middle, late = gains[:third].mean(axis=0), gains[third:-third].mean(axis=0), gains[-third:].mean(axis=0)
    mean, spread = gains.mean(axis=0), gains.std(axis=0)
    strong = mean > np.quantile(mean, 0.97)
    declining = int(np.argmax(np.where(strong & (middle < early), early - late, -np.inf)))
    steady = int(np.argmin(np.where(strong, spread / mean, np.inf)))
    peaking = int(np.argmax(np.where(mean > np.quantile(mean, 0.9), middle - np.maximum(early, late), -np.inf)))
    return [Course(g, words[g], gains[:, g]) for g in dict.fromkeys((declining, steady, peaking))]


def _messages(plan: WatchPlan, recording: Recording, protocol: str) -> tuple[int, int, int]:
    """(broadcasts or violations, messages, documents)."""
    report = replay_recording(plan, recording, protocol=protocol).report
    return report.violations, int(report.messages["total"]), report.updates


def _plot_courses(bench: Workbench, where: np.ndarray, courses: Sequence[Course]) -> None:
    made, axes = figure(width=7.0)
    for course in courses:
        axes[0, 0].plot(where, course.gains, label=course.name)
    axes[0, 0].set(xlabel="documents seen", ylabel="information gain, bits", title="Three contrasting words")
    axes[0, 0].legend()
    save(made, bench.out, "features_courses")
    rows = [(c.name, c.gains[0], float(c.gains.max()), c.gains[-1], c.adverse) for c in courses]
    show(f"{bench.kind('news')}: chosen words", ("word", "first gain", "largest", "last", "adverse threshold"), rows)


def _against_threshold(bench: Workbench, plan: WatchPlan, recording: Recording, courses: list[Course], n: int) -> None:
    rows = []
    for course in courses:
        one = take_groups(recording, [course.group])
        for threshold in np.geomspace(max(1e-4, course.gains.min() / 2), course.gains.max() * 1.5, n).tolist():
            for protocol in PROTOCOLS:
                changed = changed_plan(plan, "threshold", threshold)
                rows.append((course.name, threshold, protocol, *_messages(changed, one, protocol)))
    _finish(bench, "threshold", "threshold, bits", rows, log=True)


def _against_sites(
    bench: Workbench, plan: WatchPlan, recording: Recording, courses: list[Course], counts: Iterable[int]
) -> None:
    """The stream is dealt to the most sites first; n sites are the first n of them, as in the seed."""
    rows = []
    for sites in counts:
        some = first_sites(recording, sites)
        for course in courses:
            one = take_groups(some, [course.group])
            for protocol in PROTOCOLS:
                changed = changed_plan(plan, "threshold", course.adverse)
                changed = changed_plan(changed, "window", Length(200, True, "200"))
                rows.append((course.name, sites, protocol, *_messages(changed, one, protocol)))
    _finish(bench, "sites", "sites", rows)


def _against_margin(
    bench: Workbench, plan: WatchPlan, recording: Recording, courses: list[Course], shares: Iterable[float]
) -> None:
    rows = []
    for share in shares:
        for course in courses:
            one = take_groups(recording, [course.group])
            changed = changed_plan(plan, "threshold", course.adverse)
            changed = changed_plan(changed, "margin", share * course.adverse)
            rows += [(course.name, 100 * share, p, *_messages(changed, one, p)) for p in PROTOCOLS]
    _finish(bench, "margin", "error margin, percent of the threshold", rows)


def _against_window(
    bench: Workbench, plan: WatchPlan, recording: Recording, courses: list[Course], base: int, factors: Iterable[float]
) -> None:
    rows = []
    for factor in factors:
        size = int(base * factor)
        for course in courses:
            one = take_groups(recording, [course.group])
            changed = changed_plan(plan, "threshold", course.adverse)
            changed = changed_plan(changed, "window", Length(size, True, str(size)))
            rows += [(course.name, size, p, *_messages(changed, one, p)) for p in PROTOCOLS]
    _finish(bench, "window", "window of each site, documents", rows)


def _against_count(bench: Workbench, plan: WatchPlan, recording: Recording, counts: Iterable[int]) -> None:
    rows = []
    for count in counts:
        some = draw_groups(recording, count, seed=1)
        rows += [("words drawn at random", count, p, *_messages(plan, some, p)) for p in PROTOCOLS]
    _finish(bench, "count", "words watched at once", rows, log=True)


def _finish(bench: Workbench, name: str, label: str, rows: list[tuple[Any, ...]], *, log: bool = False) -> None:
    """Save the table and the plot: one panel per protocol, one line per word, and the naive cost."""
    columns = ("word", label, "protocol", "violations", "messages", "documents")
    bench.out.mkdir(parents=True, exist_ok=True)
    with (bench.out / f"features_{name}.csv").open("w", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    show(f"messages against {label}", columns, rows)
    made, axes = figure(columns=2)
    for axis, protocol in zip(axes[0], PROTOCOLS, strict=True):
        mine = [row for row in rows if row[2] == protocol]
        for word in dict.fromkeys(row[0] for row in mine):
            points = sorted((row[1], row[4]) for row in mine if row[0] == word)
            axis.plot(*zip(*points, strict=True), marker="o", markersize=3, label=word)
        naive = sorted({(row[1], row[5]) for row in mine})
        axis.plot(*zip(*naive, strict=True), color="#000000", linestyle="--", label="every document")
        axis.set(xlabel=label, ylabel="messages", yscale="log", title=protocol)
        if log:
            axis.set_xscale("log")
    axes[0, 1].legend(fontsize="small")
    save(made, bench.out, f"features_{name}")
