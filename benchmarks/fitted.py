"""Zones fitted to each site in the protocol itself: local violations and messages against balls and common zones.

Generated sites are long in different directions (seed 001, figures 1 and 2): the global mean must stay in a square.
Real ones are Beijing's stations: SO2 against NO2 with NO2 bounded (figure 5), and a sum. Every answer is judged.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from benchmarks.common import Workbench, parser, show
from tacit.language import WatchPlan, parse_watch
from tacit.recording.replay import replay_recording
from tacit.recording.run import record
from tacit.recording.stream import Recording

DESCRIPTION = "zones fitted to each site, in replay: local violations and messages against balls and common zones"
GENERATED = {"half side 2": 2.0, "half side 1.5": 1.5}
HOURLY = "SUM(so2) / SUM(no2) AS r, SUM(no2) AS s FROM t WINDOW LAST {} EVERY 1 HOUR ALERT WHEN {}"
REAL = {
    "SO2 / NO2 > 1.5 or NO2 > 180, 1 hour": HOURLY.format("1 HOUR", "r > 1.5 OR s > 2160"),
    "SO2 / NO2 > 0.97 or NO2 > 104, 24 hours": HOURLY.format("24 HOURS", "r > 0.97 OR s > 30000"),
    "NO2 > 69, 24 hours": "SUM(no2) AS s FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN s > 20000",
}
ZONES = ("ball", "auto", "fitted")
BAR = 2.0  # times fewer violations than balls where sites differ


def main(arguments: list[str]) -> int:
    """Print the table; 1 when an answer was wrong, or fitting gains less than its bar where sites differ."""
    options = parser("fitted", DESCRIPTION)
    options.add_argument("--sites", type=int, default=10, help="generated sites")
    options.add_argument("--panes", type=int, default=3_000, help="panes of generated data")
    chosen = options.parse_args(arguments)
    rows, held = [], True
    with Workbench(chosen) as bench:
        panes = 600 if chosen.quick else chosen.panes
        for name, half in GENERATED.items():
            plan = parse_watch(_square(half))
            data = _generated(chosen.sites, panes)
            recording, _ = record(bench.spark, plan, bench.spark.createDataFrame(data), site="site", time="t")
            found = _row(f"{chosen.sites} generated sites, {name}", plan, recording)
            held = held and found[-1] == 0 and (chosen.quick or found[-2] >= BAR)
            rows.append(found)
        for name, text in REAL.items():
            found = _row(name, *bench.recording(f"CREATE WATCH w AS SELECT {text}", "air"))
            held = held and found[-1] == 0
            rows.append(found)
    columns = [f"{what} {zone}" for what in ("out,", "sent,") for zone in ZONES]
    show("zones fitted to each site", ("watch", *columns, "out ball / fitted", "wrong"), rows)
    return 0 if held else 1


def _row(name: str, plan: WatchPlan, recording: Recording) -> tuple[object, ...]:
    reports = [replay_recording(plan, recording, step="pane", zone=zone, verify=True).report for zone in ZONES]
    violations = [each.violations for each in reports]
    wrong = sum((each.missed or 0) + (each.spurious or 0) for each in reports)
    messages = [int(each.messages["total"]) for each in reports]
    return (name, *violations, *messages, violations[0] / max(1, violations[-1]), wrong)


def _square(half: float) -> str:
    sides = f"a > {half} OR a < -{half} OR b > {half} OR b < -{half}"
    return (
        "CREATE WATCH w AS SELECT SUM(x) AS a, SUM(y) AS b FROM t WINDOW LAST 1 SECOND EVERY 1 SECOND "
        f"ALERT WHEN {sides}"
    )


def _generated(sites: int, panes: int) -> pd.DataFrame:
    """A reading of each site each second, long in a direction of its own, around a mean of its own."""
    dice = np.random.default_rng(1)
    angles = np.arange(sites) * np.pi / sites
    along = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    across = np.stack([-along[:, 1], along[:, 0]], axis=1)
    means = dice.normal(0.0, 1.5, (sites, 2))
    means -= means.mean(axis=0)
    length, width = dice.normal(size=(2, panes, sites, 1))
    points = (means + 1.2 * length * along + 0.15 * width * across) / sites
    seconds, names = np.repeat(np.arange(panes), sites), np.tile([f"s{k:02}" for k in range(sites)], panes)
    return pd.DataFrame(
        {"t": seconds.astype(float), "site": names, "x": points[..., 0].ravel(), "y": points[..., 1].ravel()}
    )
