"""In which order should balancing ask sites? Messages per policy, beside both baselines.

``random`` is the seed's order and the baseline of the ratios: the mean of several seeds.
"""

from __future__ import annotations

from statistics import mean

from benchmarks.common import Workbench, parser, show
from tacit.protocols.policies import POLICIES
from tacit.recording.replay import replay_recording

DESCRIPTION = "messages by balancing policy: random, least recently used, most opposite"
WATCHES = {
    "AVG ratio": ("air", "SELECT AVG(so2) / AVG(no2) AS f FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN f > 0.5"),
    "AVG ratio, margin": (
        "air",
        "SELECT AVG(so2) / AVG(no2) AS f FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR ALERT WHEN f > 0.5 MARGIN 0.02",
    ),
    "STDDEV": ("air", "SELECT STDDEV(pm25) AS f FROM t WINDOW LAST 1000 ROWS ALERT WHEN f > 80 MARGIN 2"),
    "tracked AVG": ("air", "SELECT AVG(pm25) AS f FROM t WINDOW LAST 7 DAYS EVERY 1 HOUR TRACK f WITHIN 10"),
    "COUNT": (
        "web",
        "SELECT COUNT(*) AS f FROM t WINDOW LAST 15 MINUTES EVERY 1 MINUTE ALERT WHEN f > 2000 MARGIN 100",
    ),
}
BAR = "AVG ratio"


def main(arguments: list[str]) -> int:
    """Print a table per step; 1 unless the least recently used order beats the random one on the ratio watch."""
    options = parser("policies", DESCRIPTION)
    options.add_argument("--seeds", type=int, default=5, help="how many random orders are averaged")
    chosen = options.parse_args(arguments)
    beaten = True
    with Workbench(chosen) as bench:
        for step in ("event", "pane"):
            rows = []
            for name, (source, select) in WATCHES.items():
                plan, recording = bench.recording(f"CREATE WATCH w AS {select}", source)
                counts = {}
                for policy in POLICIES:
                    seeds = range(chosen.seeds if policy == "random" else 1)
                    reports = [
                        replay_recording(plan, recording, policy=policy, step=step, seed=s).report for s in seeds
                    ]
                    counts[policy] = mean(int(report.messages["total"]) for report in reports)
                last = reports[-1]
                baseline = counts["random"]
                found = [value for p in ("lru", "opposite") for value in (round(counts[p]), counts[p] / baseline)]
                shipped = (last.centralised["messages"], last.pane_shipping["messages"])
                rows.append((name, *shipped, round(baseline), *found))
                if name == BAR and step == "event":
                    beaten = counts["lru"] < baseline
            columns = (
                "watch", "every event", "every pane", "random", "lru", "lru / random", "opposite", "opposite / random",
            )  # fmt: skip
            show(f"messages, --step {step}, {bench.kind('air')} and {bench.kind('web')}", columns, rows)
    return int(not beaten)
