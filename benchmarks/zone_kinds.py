"""Messages by kind of zone: balls with the best balancing policy against convex zones, on thresholds near and far.

Thresholds are percentiles of what the watched value has been, so that it crosses often, seldom and hardly ever.
"""

from __future__ import annotations

import numpy as np

from benchmarks.common import Workbench, parser, show
from tacit.functions.evaluate import value
from tacit.protocols.policies import POLICIES
from tacit.recording.replay import Replay, replay_recording

DESCRIPTION = "messages by kind of zone: balls, half-spaces, convex regions, curvature zones, and the best of them"
WATCHES = {
    "ratio": "AVG(so2) / AVG(no2)",
    "standard deviation": "STDDEV(pm25)",
    "correlation": "CORR(pm25, no2)",
}
PERCENTILES = (50, 90, 99)
KINDS = ("halfspace", "region", "curvature", "auto")
WORSE_MOST = 1.05


def main(arguments: list[str]) -> int:
    """Print a table per watch; 1 when an answer was wrong, or auto needs more than balls by more than 5 %."""
    options = parser("zone_kinds", DESCRIPTION)
    options.add_argument("--step", choices=("pane", "event"), default="pane", help="check by panes, or by events")
    options.add_argument("--only", choices=sorted(WATCHES), help="one of the watches")
    chosen = options.parse_args(arguments)
    held = True
    with Workbench(chosen) as bench:
        for name, expression in WATCHES.items():
            if chosen.only in (None, name):
                held = _watch(bench, name, expression, chosen.step) and held
    return 0 if held else 1


def _watch(bench: Workbench, name: str, expression: str, step: str) -> bool:
    rows, held = [], True
    for percentile, threshold in zip(PERCENTILES, _thresholds(bench, expression), strict=True):
        plan, recording = bench.recording(_sentence(expression, f"ALERT WHEN f > {threshold!r}"), "air")

        def replay(zone: str, policy: str = "lru", plan=plan, recording=recording) -> Replay:  # type: ignore[no-untyped-def]
            return replay_recording(plan, recording, step=step, zone=zone, policy=policy, verify=True)

        balls = {policy: replay("ball", policy).report for policy in POLICIES}
        zones = {kind: replay(kind).report for kind in KINDS}
        best = min(balls, key=lambda policy: int(balls[policy].messages["total"]))
        fewest, auto = (int(each.messages["total"]) for each in (balls[best], zones["auto"]))
        wrong = sum(
            (each.missed or 0) + (each.spurious or 0) for each in (*balls.values(), *zones.values())
        )  # fmt: skip
        held = held and wrong == 0 and auto <= WORSE_MOST * fewest
        rows.append(
            (
                f"{percentile} %: {threshold:.3g}", f"{fewest:,} ({best})",
                *(int(zones[kind].messages["total"]) for kind in KINDS), auto / fewest,
                zones["auto"].pane_shipping["messages"], wrong,
            )
        )  # fmt: skip
    columns = ("threshold", "balls, best policy", *KINDS, "auto / balls", "shipping panes", "wrong")
    show(f"{name}, by {step}s", columns, rows)
    return held


def _sentence(expression: str, promise: str) -> str:
    return f"CREATE WATCH w AS SELECT {expression} AS f FROM t WINDOW LAST 24 HOURS EVERY 1 HOUR {promise}"


def _thresholds(bench: Workbench, expression: str) -> list[float]:
    """Percentiles of the value at the ends of all panes, from a replay that follows it closely."""
    plan, recording = bench.recording(_sentence(expression, "TRACK f WITHIN 0.0001 PERCENT"), "air")
    replay = replay_recording(plan, recording, step="pane", zone="ball", protocol="broadcast")
    estimates = np.concatenate([change.estimates for change in replay.outcome.changes]) * replay.physical.scale
    seen = value(replay.physical.outputs[0][1], estimates)
    return [float(f"{each:.6g}") for each in np.nanpercentile(seen, PERCENTILES)]
