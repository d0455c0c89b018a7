"""Rankings: messages against caching, by error and by policy (seed 002, Figures 3 and 4), message sizes, and speed.

Queries, as in the seed: popular documents since midnight over a generated log (27 servers, 20,000 documents, Zipf 0.9,
a daily rhythm, popularity that drifts), the least loaded of eight servers in 15 minutes, and the destinations of most
packets in 15 minutes. Real requests and packets where there are some (--data-dir).
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.topk_data import requests, server_loads
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.protocols.topk.leeway import Policy
from tacit.recording.run import record
from tacit.recording.stream import Recording
from tacit.recording.topk_arrays import topk_rows
from tacit.recording.topk_engine import TopkEngine
from tacit.recording.topk_replay import TopkReplay, replay_topk
from tacit.recording.updates import updates_of

DESCRIPTION = "rankings: messages by error and by policy, against caching; message sizes; updates per second"
DOCUMENTS = "SELECT url, COUNT(*) AS n FROM t WINDOW SINCE MIDNIGHT GROUP BY url ORDER BY n DESC LIMIT 20"
RECENT = "SELECT url, COUNT(*) AS n FROM t WINDOW LAST 15 MINUTES GROUP BY url ORDER BY n DESC LIMIT 20"
SERVERS = "SELECT server, COUNT(*) AS n FROM t WINDOW LAST 15 MINUTES GROUP BY server ORDER BY n LIMIT 1"
PACKETS = "SELECT dst, COUNT(*) AS n FROM t WINDOW LAST 15 MINUTES GROUP BY dst ORDER BY n DESC LIMIT 20"
PARTS = ("documents", "servers", "packets", "requests", "policies", "speed")
RESERVES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
SECONDS_MOST, RATE_LEAST, TIMES_LEAST = 60.0, 50e6, 10.0


def main(arguments: list[str]) -> int:
    """Print the tables; 1 when an answer was wrong or a bar is missed."""
    options = parser("topk", DESCRIPTION)
    options.add_argument("--rows", type=int, help="requests of the generated log (the seed's log has 52 million)")
    options.add_argument("--only", choices=PARTS, help="one of the parts")
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (500_000 if chosen.quick else 10_000_000)
    held = True
    with Workbench(chosen) as bench:
        for part in PARTS:
            if chosen.only in (None, part):
                held = globals()[f"_{part}"](bench, rows) and held
    return 0 if held else 1


def _plan(text: str, within: float = 0.0) -> WatchPlan:
    return parse_watch(f"CREATE WATCH w AS {text}" + (f" WITHIN {within:g}" if within else ""))


def _row(within: float, replay: TopkReplay) -> tuple[object, ...]:
    report = replay.report
    caching = report.caching["messages"] if report.caching else 0
    entries = report.entries or {}
    return (
        f"{within:g}", report.messages["total"], caching, caching / max(1, report.messages["total"]),
        report.violations, report.full_syncs, entries["mean"], entries["max"], report.crossings, report.missed,
        report.seconds["replay"],
    )  # fmt: skip


COLUMNS = (
    "within", "messages", "caching", "times fewer", "violations", "all asked", "objects a message", "most",
    "truth changed", "wrong", "seconds",
)  # fmt: skip


def _against_caching(
    bench: Workbench, title: str, name: str, text: str, recording: Recording, errors: tuple[float, ...], k: int
) -> bool:
    rows, held, replays = [], True, []
    for within in errors:
        replay = replay_topk(_plan(text, within), recording, verify=True)
        replays.append(replay)
        rows.append(_row(within, replay))
        held = held and not (replay.report.missed or replay.report.spurious)
        held = held and (replay.report.entries or {})["mean"] <= k + 2
    show(title, COLUMNS, rows)
    chart, grid = figure()
    axes = grid[0, 0]
    axes.set_title(title, fontsize=9, loc="left")
    at = np.arange(len(errors))
    axes.plot(at, [each.report.messages["total"] for each in replays], "o-", color=COLOURS[0], label="tacit")
    axes.plot(
        at, [(each.report.caching or {})["messages"] for each in replays], "s--", color=COLOURS[1], label="caching"
    )
    axes.set_yscale("log")
    axes.set_xticks(at, [f"{each:g}" for each in errors])
    axes.set_xlabel("error allowed")
    axes.set_ylabel("messages")
    axes.legend()
    save(chart, bench.out, f"topk_{name}")
    return held


def _documents(bench: Workbench, rows: int) -> bool:
    recording = requests(rows)
    largest = float(np.bincount(recording.group).max())  # type: ignore[arg-type]
    errors = (0.0, *(float(round(largest * share)) for share in (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)))
    title = f"popular documents since midnight, {rows:,} requests to 27 servers"
    return _against_caching(bench, title, "documents", DOCUMENTS, recording, tuple(dict.fromkeys(errors)), 20)


def _servers(bench: Workbench, rows: int) -> bool:
    rows = min(rows, 7_000_000)
    title = f"least loaded of 8 servers, 15 minutes, {rows:,} requests"
    return _against_caching(bench, title, "servers", SERVERS, server_loads(rows), (0.0, 10.0, 100.0, 1000.0), 1)


def _real(bench: Workbench, file: str, text: str, site: str, moment: str) -> Recording | None:
    if bench.options.data_dir is None or not (Path(bench.options.data_dir) / file).exists():
        return None
    recording, _ = record(bench.spark, _plan(text), Path(bench.options.data_dir) / file, site=site, time=moment)
    return recording


def _packets(bench: Workbench, rows: int) -> bool:
    held = True
    for file in ("lbl_udp.parquet", "lbl_tcp_synfin.parquet"):
        recording = _real(bench, file, PACKETS, "hash:src:4", "t")
        if recording is not None:
            title = f"most packets, 15 minutes, {file}, 4 sites"
            held = (
                _against_caching(bench, title, file.split(".")[0], PACKETS, recording, (0.0, 5.0, 20.0, 100.0), 20)
                and held
            )
    return held


def _requests(bench: Workbench, rows: int) -> bool:
    held = True
    for name, text in (("since_midnight", DOCUMENTS), ("recent", RECENT)):
        recording = _real(bench, "worldcup98_sample.parquet", text, "hash:client:27", "ts")
        if recording is not None:
            title = f"popular documents, {name.replace('_', ' ')}, a sample of the World Cup's requests, 27 sites"
            held = _against_caching(bench, title, name, text, recording, (0.0, 5.0, 20.0, 100.0), 20) and held
    return held


def _policies(bench: Workbench, rows: int) -> bool:
    """Figure 3: what the coordinator keeps in reserve, and how sites share the rest."""
    rows = min(rows, 200_000)
    cases = (
        ("documents", DOCUMENTS, requests(rows), (0.0, 100.0)),
        ("servers", SERVERS, server_loads(rows), (0.0, 50.0)),
    )
    for name, text, recording, errors in cases:
        table = []
        chart, grid = figure()
        axes = grid[0, 0]
        axes.set_title(f"{name}, {rows:,} requests", fontsize=9, loc="left")
        for number, within in enumerate(errors):
            for shares in ("even", "proportional"):
                found = [
                    replay_topk(_plan(text, within), recording, policy=Policy(reserve, shares)) for reserve in RESERVES
                ]
                messages = [each.report.messages["total"] for each in found]
                table.append((f"{within:g}", shares, *messages))
                style = "o-" if shares == "even" else "s--"
                axes.plot(RESERVES, messages, style, color=COLOURS[number], label=f"within {within:g}, {shares}")
            auto = replay_topk(_plan(text, within), recording).report.messages["total"]
            table.append((f"{within:g}", "chosen", auto, *[""] * (len(RESERVES) - 1)))
        axes.set_yscale("log")
        axes.set_xlabel("kept by the coordinator (F_0)")
        axes.set_ylabel("messages")
        axes.legend()
        save(chart, bench.out, f"topk_policies_{name}")
        show(f"{name}, {rows:,} requests", ("within", "shares", *(f"F_0 = {each:g}" for each in RESERVES)), table)
    return True


def _speed(bench: Workbench, rows: int) -> bool:
    """Updates per second of sites that are nearly silent, beside a scan of all objects at every update."""
    recording = requests(min(rows, 5_000_000), servers=1)
    plan = _plan(DOCUMENTS, 1e9)
    updates = updates_of(recording, plan.window, step="event")
    ranking = topk_rows(plan, recording)
    TopkEngine(ranking, updates.first(10_000, 10_000)).run()
    seconds = []
    for _ in range(5):
        engine = TopkEngine(ranking, updates)
        begin = time.perf_counter()
        violations = engine.run().violations
        seconds.append(time.perf_counter() - begin)
    rate = len(updates.site) / median(seconds)
    few, values = 300, np.zeros(len(ranking.keys))
    begin = time.perf_counter()
    for row in range(few):
        values[ranking.object[row]] += 1.0
        inside = np.argpartition(-values, 20)[:20]
        values[inside].min()
    scan = few / (time.perf_counter() - begin)
    show(
        f"one site, {len(ranking.keys):,} objects, {len(updates.site):,} updates, {violations} violations",
        ("million updates a second", "scan at every update", "ratio", "bar"),
        [(rate / 1e6, scan / 1e6, rate / scan, RATE_LEAST / 1e6)],
    )  # fmt: skip
    return rate >= RATE_LEAST
