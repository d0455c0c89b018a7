"""Rankings among peers (TOPiCo): what is sent, and how far every peer is from the truth, by window and period.

The log is like the World Cup's at the paper's rates: 29 sites, about 3,000 events a minute, 4,000 documents, Zipf 1.0.
The paper's figure for the mean Kendall distance is 0.24 (k = 20, window 15 s, period 5 s).
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.topk_data import requests
from tacit.language import parse_watch
from tacit.recording.topico_replay import replay_topico

DESCRIPTION = "rankings among peers: entries sent and Kendall distance to the truth, by window and period"
WINDOWS, PERIODS = (10, 15, 60), (1, 5, 10)
EVENTS_A_MINUTE, SITES, DOCUMENTS = 3_000, 29, 4_000
DISTANCE_MOST = 0.24


def main(arguments: list[str]) -> int:
    """Print a row for each window and period; 1 when the mean distance at the paper's parameters is above its own."""
    options = parser("topico", DESCRIPTION)
    options.add_argument("--minutes", type=int, help="how long the log is")
    chosen = options.parse_args(arguments)
    minutes = chosen.minutes or (3 if chosen.quick else 30)
    recording = requests(
        minutes * EVENTS_A_MINUTE, servers=SITES, documents=DOCUMENTS, zipf=1.0, span_us=minutes * 60_000_000
    )
    rows, held = [], True
    with Workbench(chosen) as bench:
        chart, grid = figure()
        axes = grid[0, 0]
        for number, window in enumerate(WINDOWS):
            found = []
            for period in PERIODS:
                for gossip in (0, 3) if (window, period) == (15, 5) else (0,):
                    plan = parse_watch(
                        f"CREATE WATCH w AS SELECT url, COUNT(*) AS n FROM t WINDOW LAST {window} SECONDS"
                        f" EVERY {period} SECONDS GROUP BY url ORDER BY n DESC LIMIT 20 USING topico"
                    )
                    report = replay_topico(plan, recording, gossip=gossip, seed=1, verify=True).report
                    quality, entries = report.quality or {}, report.entries or {}
                    rows.append(
                        (
                            f"{window} s", f"{period} s", f"gossip to {gossip}" if gossip else "broadcast",
                            report.messages["total"], entries["mean"], entries["max"],
                            quality["entries_sent"] / quality["entries_of_everything"],
                            entries["mean"] * report.messages["total"] / (report.centralised["messages"] * (SITES - 1)),
                            quality["kendall_mean"], quality["kendall_max"],
                        )
                    )  # fmt: skip
                    if not gossip:
                        found.append(quality["kendall_mean"])
                        held = held and ((window, period) != (15, 5) or found[-1] <= DISTANCE_MOST)
            axes.plot(np.array(PERIODS), found, "o-", color=COLOURS[number], label=f"window {window} s")
        axes.axhline(DISTANCE_MOST, color="#777777", linestyle="--", label="the paper's mean (15 s, 5 s)")
        axes.set_xlabel("period, seconds")
        axes.set_ylabel("mean Kendall distance to the truth")
        axes.legend()
        save(chart, bench.out, "topico")
    columns = (
        "window", "period", "how", "messages", "entries a message", "most", "of all that peers have",
        "of broadcasting events", "Kendall mean", "worst",
    )  # fmt: skip
    show(f"{minutes} minutes, {SITES} sites, {len(recording):,} events", columns, rows)
    return 0 if held else 1
