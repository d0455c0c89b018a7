"""Rankings among peers (TOPiCo): what is sent, how far peers are from the truth, and how old their lists are.

The log is like the World Cup's at the paper's rates: 29 sites, 4,000 documents, Zipf 1.0, about 3,000 events a minute,
4,500 at the peak. Unless varied, k = 20, the window is 15 s and the period 5 s, as in the paper, whose mean Kendall
distance is 0.24. Its Figures 6 and 7 are the costs, 8 to 10 the distances and delays.

Baselines: broadcasting *everything*, where each peer sends all counts of its window every period, and broadcasting
every *event* when it comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import COLOURS, Workbench, figure, parser, save, show
from benchmarks.topk_data import requests
from tacit.language import parse_watch
from tacit.protocols.topico import Candidates, Peer, kendall_distance, ranked
from tacit.recording.stream import Recording
from tacit.recording.topico_replay import replay_topico
from tacit.vocabulary import FloatArray

DESCRIPTION = "rankings among peers: entries sent and Kendall distance to the truth, by window and period"
WINDOWS, PERIODS, RATES = (5, 15, 30, 60, 120, 300), (1, 2, 5, 10, 15), (3_000, 4_500)
WINDOW, PERIOD, GOSSIP = 15, 5, 3
SITES, DOCUMENTS, K = 29, 4_000, 20
DISTANCE_MOST = 0.24
LOOKS, AGES, WATCHED = 5, 30, 4  # looks in each period; how many looks back a list may be from; peers looked at
SHOWN = 180  # seconds of the log in the picture
COLUMNS = (
    "window", "period", "a minute", "how", "messages", "entries", "most", "of everything", "of events",
    "kB/s a site", "busiest", "Kendall mean", "worst",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Found:
    """One replay: entries of every message, bytes a second that each site sends, and distances."""

    window: int
    period: int
    rate: int
    gossip: int
    messages: int
    entries: FloatArray
    everything: float  # entries sent, of all that peers had
    events: float  # entries sent, of those that broadcasting every event would send
    upload: FloatArray
    mean: float
    worst: float

    @property
    def row(self) -> tuple[object, ...]:
        """As the table shows it."""
        return (
            f"{self.window} s", f"{self.period} s", self.rate, _how(self.gossip), self.messages,
            float(self.entries.mean()), int(self.entries.max()), self.everything, self.events,
            float(np.median(self.upload)) / 1e3, float(self.upload.max()) / 1e3, self.mean, self.worst,
        )  # fmt: skip


def main(arguments: list[str]) -> int:
    """Print a row for each window and period; 1 when the mean distance at the paper's parameters is above its own."""
    options = parser("topico", DESCRIPTION)
    options.add_argument("--minutes", type=int, help="how long the log is")
    chosen = options.parse_args(arguments)
    minutes = chosen.minutes or (3 if chosen.quick else 15)
    logs = {
        rate: requests(minutes * rate, servers=SITES, documents=DOCUMENTS, zipf=1.0, span_us=minutes * 60_000_000)
        for rate in RATES
    }
    with Workbench(chosen) as bench:
        cases = dict.fromkeys([*((window, PERIOD) for window in WINDOWS), *((WINDOW, period) for period in PERIODS)])
        found = {(*case, rate): _replay(logs[rate], *case, rate) for rate in RATES for case in cases}
        gossiped = _replay(logs[RATES[0]], WINDOW, PERIOD, RATES[0], gossip=GOSSIP)
        title = f"{minutes} minutes, {SITES} sites, {DOCUMENTS:,} documents, k = {K}"
        show(title, COLUMNS, [each.row for each in (*found.values(), gossiped)])
        _draw_cost(bench.out, found)
        followed = {_how(gossip): _follow(logs[RATES[0]], gossip) for gossip in (0, GOSSIP)}
        show(
            f"how old lists are, in periods of {PERIOD} s, at {WATCHED} peers (paper: half below one)",
            ("how", "below one", "median", "90 %", "as a true list was", "Kendall mean"),
            [(how, f"{np.mean(each.delay < 1):.0%}", float(np.median(each.delay)), float(np.quantile(each.delay, 0.9)),
              f"{np.mean(each.nearest == 0):.0%}", float(each.distance.mean())) for how, each in followed.items()],
        )  # fmt: skip
        _draw_quality(bench.out, found, followed)
    distance = found[WINDOW, PERIOD, RATES[0]].mean
    if distance > DISTANCE_MOST:
        print(f"bar missed: the mean distance is {distance:.3f}, at most {DISTANCE_MOST} is asked for")
    return int(distance > DISTANCE_MOST)


def _how(gossip: int) -> str:
    return f"gossip to {gossip}" if gossip else "broadcast"


def _replay(recording: Recording, window: int, period: int, rate: int, *, gossip: int = 0) -> Found:
    plan = parse_watch(
        f"CREATE WATCH w AS SELECT url, COUNT(*) AS n FROM t WINDOW LAST {window} SECONDS EVERY {period} SECONDS"
        f" GROUP BY url ORDER BY n DESC LIMIT {K} USING topico"
    )
    replay = replay_topico(plan, recording, gossip=gossip, seed=1, verify=True)
    report, quality = replay.report, replay.report.quality or {}
    entries = np.array(replay.outcome.entries, dtype=np.float64)
    bytes_sent = np.zeros(SITES)
    for each in replay.outcome.ledger.as_dict()["entries"]:
        bytes_sent[each["source"]] += each["bytes"]
    return Found(
        window, period, rate, gossip, report.messages["total"], entries,
        float(entries.sum()) / (quality["entries_of_everything"] * (SITES - 1)),
        float(entries.sum()) / (len(recording) * (SITES - 1)), bytes_sent / (report.panes * period),
        quality["kendall_mean"], quality["kendall_max"],
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Followed:
    """Every look at every watched peer: when, the distance to the truth, the age of the true list that is nearest to
    the peer's, in periods, and how near that one is."""

    at: FloatArray
    distance: FloatArray
    delay: FloatArray
    nearest: FloatArray


def _follow(recording: Recording, gossip: int) -> Followed:
    """Peers by themselves, without the replay: a second opinion on distances, and how old lists are."""
    window_us, period_us = WINDOW * 1_000_000, PERIOD * 1_000_000
    peers = [Peer(site, K, expiry=-(-window_us // period_us)) for site in range(SITES)]
    watched, dice = np.linspace(0, SITES - 1, WATCHED).astype(int).tolist(), np.random.default_rng(1)
    heard: list[dict[int, int]] = [{} for _ in peers]
    truths: list[tuple[str, ...]] = []
    looks = []
    for pane in range(int(recording.t[-1]) // period_us + 1):
        end = (pane + 1) * period_us
        said = [peer.disseminate(pane, _counts(recording, end, window_us, peer.site)) for peer in peers]
        for source, target, news in _carried(peers, said, heard, gossip, dice):
            if source != target:
                for each in news:
                    peers[target].receive(each)
        for look in range(LOOKS):
            now = end + look * period_us // LOOKS
            truths.append(tuple(key for key, _ in ranked(_counts(recording, now, window_us, None), K)))
            known: dict[tuple[str, ...], tuple[float, int, float]] = {}
            for site in watched:
                mine = tuple(key for key, _ in peers[site].answer)
                if mine not in known:
                    ages = [kendall_distance(truth, mine) for truth in truths[: -AGES - 1 : -1]]
                    known[mine] = (ages[0], int(np.argmin(ages)), min(ages))
                looks.append((now / 1e6, *known[mine]))
    at, distance, delay, nearest = np.array(looks).T
    return Followed(at, distance, delay / LOOKS, nearest)


def _carried(
    peers: Sequence[Peer], said: Sequence[Candidates], heard: list[dict[int, int]], gossip: int,
    dice: np.random.Generator,
) -> Iterator[tuple[int, int, list[Candidates]]]:  # fmt: skip
    """(source, target, what) of a period; news are as of its start."""
    if not gossip:
        yield from ((each.site, peer.site, [each]) for each in said for peer in peers)
        return
    bundles = []
    for peer in peers:
        news = [each for each in peer.known if heard[peer.site].get(each.site, -1) < each.pane]
        heard[peer.site].update({each.site: each.pane for each in news})
        others = np.delete(np.arange(len(peers)), peer.site)
        bundles += [(peer.site, int(target), news) for target in dice.choice(others, size=gossip, replace=False)]
    yield from bundles


def _counts(recording: Recording, end: int, window_us: int, site: int | None) -> dict[str, float]:
    """The counts of [end - window, end), of one site or of all."""
    assert recording.group is not None
    assert recording.keys is not None
    lo, hi = np.searchsorted(recording.t, [end - window_us, end])
    group = recording.group[lo:hi] if site is None else recording.group[lo:hi][recording.site[lo:hi] == site]
    objects, counts = np.unique(group, return_counts=True)
    return {recording.keys[each]: float(count) for each, count in zip(objects, counts, strict=True)}


Cases = dict[tuple[int, int, int], Found]


def _sweeps(found: Cases, rate: int) -> tuple[tuple[str, list[int], list[Found]], ...]:
    return (
        (f"window, seconds (period {PERIOD} s)", [*WINDOWS], [found[each, PERIOD, rate] for each in WINDOWS]),
        (f"period, seconds (window {WINDOW} s)", [*PERIODS], [found[WINDOW, each, rate] for each in PERIODS]),
    )


def _ticks(axes: Any, label: str, at: list[int]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(at, [str(each) for each in at])
    axes.set_xticks([], minor=True)
    axes.set_xlabel(label)


def _draw_cost(out: Path, found: Cases) -> None:
    """Figures 6 and 7: the share of everything that is sent, entries of a message, and what sites upload."""
    chart, grid = figure(3, 2, width=4.4, height=3.2)
    for number, rate in enumerate(RATES):
        for row, (label, at, those) in zip(grid, _sweeps(found, rate), strict=True):
            colour, name = COLOURS[number], f"{rate:,} events a minute"
            row[0].plot(at, [each.everything for each in those], ("o-", "s--")[number], color=colour, label=name)
            if number == 0:
                shares = [0, 25, 50, 75, 100]
                least, low, middle, high, most = np.array([np.percentile(each.entries, shares) for each in those]).T
                row[1].fill_between(at, least, most, color=colour, alpha=0.15, linewidth=0, label="all")
                row[1].fill_between(at, low, high, color=colour, alpha=0.35, linewidth=0, label="half of them")
                row[1].plot(at, middle, "o-", color=colour, label="median")
                row[1].axhline(K, color="#777777", linestyle=":", label=f"k = {K}")
            row[2].plot(at, [np.median(each.upload) / 1e3 for each in those], "o-", color=colour, label=name)
            row[2].plot(
                at, [each.upload.max() / 1e3 for each in those], "s--", color=colour, label=f"{name}, busiest site"
            )
            for axes in row:
                _ticks(axes, label, at)
            row[0].set_ylabel("entries sent, of everything")
            row[1].set_ylabel(f"entries of a message ({RATES[0]:,} a minute)")
            row[2].set_ylabel("a site sends, kB a second")
    for axes in grid.flat:
        axes.set_ylim(bottom=0)
    for axes in grid[0]:
        axes.legend(fontsize=7)
    save(chart, out, "topico_cost")


def _draw_quality(out: Path, found: Cases, followed: dict[str, Followed]) -> None:
    """Figures 8 to 10: distances to the truth by window, by period and along the log, and how old lists are."""
    chart, grid = figure(2, 2)
    for number, rate in enumerate(RATES):
        for axes, (label, at, those) in zip(grid[0], _sweeps(found, rate), strict=True):
            name = f"{rate:,} events a minute"
            axes.plot(at, [each.mean for each in those], "o-", color=COLOURS[number], label=f"{name}, mean")
            axes.plot(at, [each.worst for each in those], "s:", color=COLOURS[number], label=f"{name}, worst")
            _ticks(axes, label, at)
    along, ages = grid[1]
    for number, (how, each) in enumerate(followed.items()):
        colour = COLOURS[number]
        along.plot(each.at.reshape(-1, WATCHED), each.distance.reshape(-1, WATCHED), color=colour, linewidth=0.6)
        along.plot([], [], color=colour, label=f"{how}, {WATCHED} peers")
        ages.step(np.sort(each.delay), np.linspace(0, 1, len(each.delay)), where="post", color=colour, label=how)
    along.set_xlim(0, SHOWN)
    along.set_xlabel(f"seconds (the first {SHOWN})")
    for axes in (*grid[0], along):
        axes.axhline(DISTANCE_MOST, color="#777777", linestyle="--", label=f"the paper's mean ({WINDOW} s, {PERIOD} s)")
        axes.set_ylabel("Kendall distance to the truth")
        axes.set_ylim(bottom=0)
        axes.legend(fontsize=7)
    ages.axvline(1, color="#777777", linestyle="--", label="one period")
    ages.set_xlabel(f"age of the true list nearest to a peer's, periods of {PERIOD} s")
    ages.set_ylabel("share of looks")
    ages.legend(fontsize=7)
    save(chart, out, "topico_quality")
