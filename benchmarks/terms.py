"""All terms of the news at once: one information gain watch per term, every answer judged.

8,848 groups on the real data, 10 sites, windows of 500 documents. More than half of the terms have an empty cell in
their table, so bounds must use the feasible set.
"""

from __future__ import annotations

import resource

from benchmarks.common import Workbench, parser, show
from tacit.recording.replay import replay_recording

DESCRIPTION = "every term of the news watched by information gain at once, with the observer"
MEMORY_BAR_GB = 4.0
WATCH = """CREATE WATCH words AS
SELECT term, INFORMATION_GAIN(array_contains(topics, 'earn'), PRESENT) AS gain FROM news
WINDOW LAST 500 ROWS GROUP BY EACH(terms) AS term ALERT WHEN gain > {threshold} {margin}"""


def main(arguments: list[str]) -> int:
    """Print the table; 1 when an answer was wrong or memory passed its bar."""
    options = parser("terms", DESCRIPTION)
    options.add_argument("--threshold", type=float, default=0.005)
    options.add_argument("--margin", type=float, default=0.0)
    options.add_argument("--protocol", default="coordinator", choices=("coordinator", "broadcast"))
    options.add_argument("--step", default="event", choices=("event", "pane"))
    chosen = options.parse_args(arguments)
    margin = f"MARGIN {chosen.margin}" if chosen.margin else ""
    with Workbench(chosen) as bench:
        plan, recording = bench.recording(WATCH.format(threshold=chosen.threshold, margin=margin), "news")
        bench.close_spark()
        report = replay_recording(plan, recording, protocol=chosen.protocol, step=chosen.step, verify=True).report
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        rows = [
            ("terms", report.groups), ("documents", report.updates), ("sites", report.sites),
            ("missed", report.missed), ("spurious", report.spurious), ("crossings", report.crossings),
            ("alerts", len(report.alerts)), ("messages", int(report.messages["total"])),
            ("messages / documents", int(report.messages["total"]) / report.centralised["messages"]),
            ("messages / pane shipping", int(report.messages["total"]) / report.pane_shipping["messages"]),
            ("bytes / documents shipped", report.bytes / report.centralised["bytes"]),
            ("seconds, replay", report.seconds["replay"]), ("peak memory, GB", memory),
        ]  # fmt: skip
        show(f"{bench.kind('news')}: all terms at once, {chosen.protocol}", ("what", "figure"), rows)
    return int(bool(report.missed or report.spurious) or memory > MEMORY_BAR_GB)
