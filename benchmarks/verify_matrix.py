"""Every answer judged, in every combination: functions, margins, windows, protocols, steps and numbers of sites.

On air quality and web requests (real data where it is given). A row is one replay with the omniscient observer walking
along; the benchmark fails unless nothing was missed and nothing spurious anywhere.
"""

from __future__ import annotations

import csv
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.common import Workbench, parser, show
from tacit.recording.replay import replay_recording
from tacit.recording.subset import first_rows

DESCRIPTION = "missed and spurious answers over all kinds of watches, all protocols, both steps, 12 and 100 sites"


@dataclass(frozen=True, slots=True)
class Watch:
    """A watch with and without margin; ``{margin}`` stands after each comparison."""

    name: str
    source: str
    select: str
    alert: str
    margins: tuple[str, str]


WATCHES = (
    Watch("AVG ratio", "air", "AVG(so2) / AVG(no2) AS f", "f > 0.5 {margin}", ("", "MARGIN 0.02")),
    Watch("STDDEV", "air", "STDDEV(pm25) AS f", "f > 60 {margin}", ("", "MARGIN 5")),
    Watch("CORR", "air", "CORR(pm25, pm10) AS f", "f > 0.85 {margin}", ("", "MARGIN 0.03")),
    Watch(
        "quadratic", "air", "AVG(pm25) AS a, AVG(so2) AS b, AVG(no2) AS c",
        "a * a / 100 + b * b - c * b / 2 > 80 {margin}", ("", "MARGIN 20"),
    ),
    Watch("COUNT", "web", "COUNT(*) AS f", "f > 900 {margin}", ("", "MARGIN 90")),
    Watch("SUM", "web", "SUM(bytes) AS f", "f > 4000000 {margin}", ("", "MARGIN 400000")),
    Watch(
        "OR", "air", "AVG(so2) / AVG(no2) AS r, AVG(no2) AS n", "r > 0.5 {margin} OR n > 80 {margin}",
        ("", "MARGIN 0.02"),
    ),
    Watch(
        "OR, requests", "web", "AVG(bytes) AS size, COUNT(*) AS n", "size > 6000 {margin} OR n > 2000 {margin}",
        ("", "MARGIN 50"),
    ),
)  # fmt: skip
WINDOWS = {
    "air": ("LAST 24 HOURS EVERY 1 HOUR", "LAST 48 ROWS EVERY 4 ROWS"),
    "web": ("LAST 15 MINUTES EVERY 1 MINUTE", "LAST 200 ROWS EVERY 10 ROWS"),
}
SITES = {"air": {12: "station", 100: "hash:pres:100"}, "web": {12: "hash:client:12", 100: "hash:client:100"}}
WAYS = ("coordinator", "broadcast", "recentre", "fitted")
COLUMNS = (
    "watch", "margin", "window", "sites", "way", "step", "crossings", "missed", "spurious",
    "messages", "of events", "of panes", "seconds",
)  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print the table and save it; 1 unless every answer of every replay was right."""
    options = parser("verify_matrix", DESCRIPTION)
    options.add_argument("--sites", type=int, choices=(12, 100), help="only this many sites")
    options.add_argument("--rows", type=int, help="only the first rows of each recording")
    options.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS, help="how violations are resolved")
    options.add_argument("--only", metavar="NAME", help="only watches whose name starts so")
    chosen = options.parse_args(arguments)
    rows: list[tuple[object, ...]] = []
    with Workbench(chosen) as bench:
        for watch in WATCHES:
            if chosen.only and not watch.name.startswith(chosen.only):
                continue
            for sites in (12, 100) if chosen.sites is None else (chosen.sites,):
                rows += _replays(bench, watch, sites, chosen.rows or (20_000 if chosen.quick else None), chosen.ways)
        bench.out.mkdir(parents=True, exist_ok=True)
        with (bench.out / "verify_matrix.csv").open("w", newline="") as file:
            csv.writer(file).writerows([COLUMNS, *rows])
    show("every answer judged by the observer", COLUMNS, rows)
    wrong = sum(int(str(row[7])) + int(str(row[8])) for row in rows)
    print(f"{len(rows)} replays, {wrong} wrong answers")
    return int(wrong > 0)


def _replays(
    bench: Workbench, watch: Watch, sites: int, limit: int | None, ways: Sequence[str]
) -> list[tuple[object, ...]]:
    out = []
    for window, margin in itertools.product(WINDOWS[watch.source], watch.margins):
        alert = watch.alert.format(margin=margin)
        sentence = f"CREATE WATCH w AS SELECT {watch.select} FROM t WINDOW {window} ALERT WHEN {alert}"
        plan, recording = bench.recording(sentence, watch.source, site=SITES[watch.source][sites])
        part = recording if limit is None else first_rows(recording, limit)
        for way, step in itertools.product(ways, ("event", "pane")):
            protocol, zone = ("coordinator", way) if way == "fitted" else (way, "auto")
            report = replay_recording(plan, part, protocol=protocol, zone=zone, step=step, verify=True).report
            total = int(report.messages["total"])
            row = (
                watch.name, margin or "none", window, sites, way, step, report.crossings, report.missed,
                report.spurious, total, total / report.centralised["messages"],
                total / report.pane_shipping["messages"], report.seconds["replay"],
            )  # fmt: skip
            print(*row, sep="\t", flush=True)
            out.append(row)
    return out
