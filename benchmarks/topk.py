"""Rankings: messages by policy and by error, against caching (seed 002, Figures 3 and 4), message sizes, and speed.

Queries, as in the seed: popular documents since midnight over a generated log (27 servers, 20,000 documents, Zipf 0.9,
a daily rhythm, popularity that drifts), the least loaded of eight servers in 15 minutes, and the destinations of most
packets in 15 minutes. Real requests and packets beside them where there are some (--data-dir). Every step is judged.

Baselines: *caching*, where a site sends a score anew when it has moved by more than within / (2 sites), and sending
every event. An event that leaves a window is a change to caching, but nobody needs to send it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from matplotlib.ticker import LogLocator, NullLocator

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.topk_data import packets, requests, server_loads
from tacit.language import parse_watch
from tacit.language.plan import WatchPlan
from tacit.protocols.topk.leeway import Policy
from tacit.recording.report import Report
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
QUERIES = ("documents", "servers", "packets", "requests")
PARTS = (*QUERIES, "policies", "speed")
RESERVES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9)
SERVER_ROWS, PACKET_ROWS, POLICY_ROWS = 7_000_000, 800_000, 200_000
FULL_ROWS = 10_000_000  # bars on the number of messages are for logs of at least this length
RECENT_ROWS = 40_000  # of the real requests: a list that churns at 27 sites is slow work
SECONDS_MOST, RATE_LEAST, TIMES_LEAST, ENTRIES_MOST = 60.0, 50e6, 10.0, 2.0
MEDIUM = 1e-2  # of the largest score: up to here an error counts as small or medium
COLUMNS = (
    "within", "messages", "caching", "fewer than caching", "than events", "violations", "all asked",
    "objects", "most", "over k + 3", "truth changed", "wrong", "seconds",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Query:
    """A watch, what it runs over, and the errors to allow. ``large`` is the one that Figure 3 shows beside 0."""

    name: str
    title: str
    text: str
    recording: Recording
    errors: tuple[float, ...]
    large: float
    k: int = 20
    fewer: float = 0.0  # than caching, while the error is small or medium: a bar
    largest: float = np.inf

    def plan(self, within: float) -> WatchPlan:
        """The watch with this error."""
        return parse_watch(f"CREATE WATCH w AS {self.text}" + (f" WITHIN {within:.0f}" if within else ""))


def main(arguments: list[str]) -> int:
    """Print the tables and save Figures 3 and 4; 1 when an answer was wrong or a bar is missed."""
    options = parser("topk", DESCRIPTION)
    options.add_argument("--rows", type=int, help="requests of the generated log (the seed's log has 52 million)")
    options.add_argument("--only", choices=PARTS, nargs="+", default=PARTS, metavar="PART", help=", ".join(PARTS))
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (500_000 if chosen.quick else FULL_ROWS)
    held = True
    with Workbench(chosen) as bench:
        wanted = [name for name in QUERIES if name in chosen.only]
        for figure_name, of in (("topk_figure4", _generated), ("topk_figure4_real", _real)):
            held = _figure4(bench, figure_name, of(bench, wanted, rows)) and held
        if "policies" in chosen.only:
            few = min(rows // 10, POLICY_ROWS)
            held = _figure3(bench, "topk_figure3", _generated(bench, QUERIES, few)) and held
            held = _figure3(bench, "topk_figure3_real", _real(bench, ["packets"], few)) and held
        if "speed" in chosen.only:
            held = _speed(rows) and held
    return 0 if held else 1


def _documents(rows: int) -> Query:
    recording = requests(rows)
    largest = float(np.bincount(recording.group).max())  # type: ignore[arg-type]
    errors = dict.fromkeys((0.0, *(float(round(largest * 10.0**share)) for share in range(-5, 0))))
    title = f"popular documents since midnight, {rows:,} requests, 27 servers"
    return Query(
        "documents", title, DOCUMENTS, recording, tuple(errors), round(0.1 * largest),
        fewer=TIMES_LEAST if rows >= FULL_ROWS else 0.0, largest=largest,
    )  # fmt: skip


def _generated(bench: Workbench, wanted: Iterable[str], rows: int) -> Iterator[Query]:
    """The three queries of the seed, one at a time: the first log is large."""
    if "documents" in wanted:
        yield _documents(rows)
    if "servers" in wanted:
        count = min(rows, SERVER_ROWS)
        mean = count / (8 * 96)  # a server's requests in 15 minutes
        errors = dict.fromkeys((0.0, *(float(round(mean * share)) for share in (0.001, 0.01, 0.03, 0.1, 0.3))))
        title = f"least loaded of 8 servers in 15 minutes, {count:,} requests"
        yield Query("servers", title, SERVERS, server_loads(count), tuple(errors), round(0.1 * mean), k=1)
    if "packets" in wanted:
        count = min(rows, PACKET_ROWS)
        errors = dict.fromkeys((0.0, *(float(round(count * share)) for share in (1e-5, 1e-4, 3e-4, 1e-3, 3e-3))))
        title = f"most packets in 15 minutes, {count:,} packets in an hour, 4 sites"
        yield Query("packets", title, PACKETS, packets(count), tuple(errors), round(1e-3 * count))


def _real(bench: Workbench, wanted: Iterable[str], rows: int) -> Iterator[Query]:
    """Real packets and requests, as far as there are some."""
    cases = (
        ("packets", "udp", "lbl_udp.parquet", PACKETS, "hash:src:4", "t", "most UDP packets in 15 minutes, 4 sites"),
        (
            "packets", "tcp", "lbl_tcp_synfin.parquet", PACKETS, "hash:src:4", "t",
            "most TCP starts and ends in 15 minutes, 4 sites",
        ),
        (
            "requests", "since_midnight", "worldcup98_sample.parquet", DOCUMENTS, "hash:client:27", "ts",
            "World Cup sample since midnight, 27 sites",
        ),
        (
            "requests", "recent", "worldcup98_sample.parquet", RECENT, "hash:client:27", "ts",
            "World Cup sample, 15 minutes, 27 sites",
        ),
    )  # fmt: skip
    for part, name, file, text, site, moment, title in cases:
        path = Path(bench.options.data_dir or "") / file
        if part in wanted and bench.options.data_dir and path.exists():
            recording, _ = record(bench.spark, parse_watch(f"CREATE WATCH w AS {text}"), path, site=site, time=moment)
            recording = _first(recording, RECENT_ROWS) if name == "recent" else recording
            yield Query(
                name, f"{title}, {len(recording):,} events", text, recording, (0.0, 1.0, 5.0, 20.0, 100.0), 20.0
            )


def _first(recording: Recording, rows: int) -> Recording:
    assert recording.group is not None
    return replace(
        recording, t=recording.t[:rows].copy(), site=recording.site[:rows].copy(),
        present=recording.present[:rows].copy(), group=recording.group[:rows].copy(), rows=rows, kept=rows, key=None,
    )  # fmt: skip


def _figure4(bench: Workbench, name: str, queries: Iterator[Query]) -> bool:
    """Messages against the error allowed, beside caching and sending every event."""
    panels, held = [], True
    for query in queries:
        replays = []
        for within in query.errors:
            # Only figures are kept: a large log leaves no room for two replays.
            replays.append(_Seen(within, replay_topk(query.plan(within), query.recording, verify=True), query))
        show(f"{query.title}; k = {query.k}", COLUMNS, [each.row for each in replays])
        for each in replays:
            held = each.holds() and held
        panels.append((query.title, query.errors, replays))
    if panels:
        chart, cells = _panels(len(panels))
        for axes, (title, errors, replays) in zip(cells, panels, strict=True):
            axes.set_title(title, fontsize=9, loc="left")
            axes.plot(errors, [each.messages for each in replays], "o-", color=COLOURS[0], label="tacit")
            axes.plot(errors, [each.caching for each in replays], "s--", color=COLOURS[1], label="caching")
            axes.axhline(replays[0].events, color="#777777", linestyle=":", label="every event")
            axes.set_xscale("symlog", linthresh=errors[1], linscale=0.5)
            _messages_axis(axes)
            axes.set_xticks(errors, [f"{each:,.0f}" for each in errors])
            axes.set_xticks([], minor=True)
            axes.set_xlabel("error allowed (0, then logarithmic)")
            axes.set_xlim(-0.25 * errors[1], 1.4 * errors[-1])
        chart.legend(*cells[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
        save(chart, bench.out, name)
    return held


def _times(ratio: float) -> float | int:
    return round(ratio) if ratio >= 100 else ratio


def _wrong(report: Report) -> int:
    return int(report.missed or 0) + int(report.spurious or 0)


class _Seen:
    """What is kept of a replay: a row of the table, and what bars speak of."""

    def __init__(self, within: float, replay: TopkReplay, query: Query) -> None:
        report, entries = replay.report, np.array(replay.outcome.entries)
        self.within, self._name, self._k = within, query.name, query.k
        self._fewer_least = query.fewer if within <= MEDIUM * query.largest else 0.0
        self.messages, self.events = int(report.messages["total"]), int(report.centralised["messages"])
        self.caching = int((report.caching or {})["messages"])
        self._wrong = _wrong(report)
        self._mean, self._seconds = float(entries.mean()), report.seconds["replay"]
        self._updates = len(replay.updates.site)
        self.row = (
            f"{within:,.0f}", self.messages, self.caching, _times(self._fewer),
            _times(self.events / max(1, self.messages)), report.violations, report.full_syncs, self._mean,
            int(entries.max()),
            f"{np.mean(entries > query.k + 3):.1%}", report.crossings, self._wrong, self._seconds,
        )  # fmt: skip

    @property
    def _fewer(self) -> float:
        return self.caching / max(1, self.messages)

    def holds(self) -> bool:
        """Are all bars kept? Says which are not."""
        seconds = self._seconds * 10e6 / self._updates
        missed = [
            text
            for text, bad in (
                (f"{self._wrong} wrong", self._wrong > 0),
                (f"{self._mean:.1f} objects a message", self._mean > self._k + ENTRIES_MOST),
                (f"only {self._fewer:.1f} times fewer than caching", self._fewer < self._fewer_least),
                (f"{seconds:.0f} s for ten million updates", self._updates >= 10e6 and seconds > SECONDS_MOST),
            )
            if bad
        ]
        for each in missed:
            print(f"bar missed: {self._name} within {self.within:,.0f}: {each}")
        return not missed


def _panels(count: int) -> tuple[Any, list[Any]]:
    columns = min(count, 3) if count != 4 else 2
    chart, grid = figure(columns, -(-count // columns))
    for spare in grid.flat[count:]:
        spare.set_visible(False)
    return chart, list(grid.flat[:count])


def _messages_axis(axes: Any) -> None:
    axes.set_yscale("log")
    low, high = axes.get_ylim()
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 100 * low else (1.0,)))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylabel("messages")


def _figure3(bench: Workbench, name: str, queries: Iterator[Query]) -> bool:
    """Messages by what the coordinator keeps in reserve (F_0), and by how sites share the rest."""
    panels, held = [], True
    for query in queries:
        table, curves = [], []
        for within in (0.0, query.large):
            found: dict[str, list[int]] = {}
            policies = {shares: [Policy(each, shares) for each in RESERVES] for shares in ("even", "proportional")}
            for shares, those in {**policies, "chosen": [Policy()]}.items():
                reports = [
                    replay_topk(query.plan(within), query.recording, policy=policy, verify=True).report
                    for policy in those
                ]
                wrong = sum(map(_wrong, reports))
                held = held and not wrong
                found[shares] = [report.messages["total"] for report in reports]
            best = min(found["even"] + found["proportional"])
            for shares in policies:
                table.append((f"{within:,.0f}", shares, *found[shares], "", ""))
            chosen = found["chosen"][0]
            table.append((f"{within:,.0f}", "chosen by itself", *[""] * len(RESERVES), chosen, chosen / best))
            curves.append((within, found))
        columns = ("within", "shares", *(f"F_0 = {each:g}" for each in RESERVES), "chosen", "against the best")
        show(f"{query.title}; 0 wrong" if held else f"{query.title}; WRONG ANSWERS", columns, table)
        panels.append((query.title, curves))
    if panels:
        chart, cells = _panels(len(panels))
        for axes, (title, curves) in zip(cells, panels, strict=True):
            axes.set_title(
                f"{title}\nwithin {' and '.join(f'{each:,.0f}' for each, _ in curves)}", fontsize=9, loc="left"
            )
            for number, (colour, (_, found)) in enumerate(zip(COLOURS, curves, strict=False)):
                error = ("no error", "some error")[number]
                for shares, style in (("even", "o-"), ("proportional", "s--")):
                    axes.plot(RESERVES, found[shares], style, color=colour, label=f"{error}, {shares}")
                axes.axhline(found["chosen"][0], color=colour, linestyle=":", label=f"{error}, as chosen by itself")
            _messages_axis(axes)
            axes.set_xlabel("kept by the coordinator (F_0)")
        chart.legend(*cells[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(cells), fontsize=8)
        save(chart, bench.out, name)
    return held


def _speed(rows: int) -> bool:
    """Updates per second of a site that is nearly silent, beside a scan of all objects at every update."""
    recording = requests(min(rows, 5_000_000), servers=1)
    plan = parse_watch(f"CREATE WATCH w AS {DOCUMENTS} WITHIN 1000000000")
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
        [(rate / 1e6, scan / 1e6, _times(rate / scan), RATE_LEAST / 1e6)],
    )  # fmt: skip
    return rate >= RATE_LEAST
