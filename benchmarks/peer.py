"""What tacit sends on AutoMon's own streams, against AutoMon's recorded message counts.

Each stream is a table with a row for every site and round, and what is tracked is a sentence over it, as a user would
write it: ``TRACK f(SUM(x0) / COUNT(*), ...) WITHIN e`` over the last row of each site. ``tacit.replay`` runs it by
panes of one round, with the protocol and the zones that a live coordinator takes, and judges every answer. Rounds are
as in the peer's runs: every site is updated once, violations are resolved at the end of the round, and answers are
judged then; a refresh counts as one message for every site. Without the recorded streams, streams of the same functions
are made up, and there are no counts of the peer to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

import tacit
from benchmarks.common import Workbench, parser, show
from benchmarks.peer_methods import periodic, sampled
from benchmarks.peer_sentences import AVERAGES, SUMS, sentence_of
from benchmarks.peer_streams import PeerStream, bump, generated, recorded
from tacit.vocabulary import OptionError

DESCRIPTION = "tracking any function: messages of tacit.replay against AutoMon's on its own streams"
MEAN_AIM, WORST_AIM = 0.45, 0.9  # what better zones should reach; a run does not fail because they are not there yet


@dataclass(frozen=True)
class Row:
    """What a method needed on a stream."""

    method: str
    messages: int
    bytes: int | None = None
    refreshes: int | None = None
    error: float | None = None  # the largest, in bounds
    wrong: int = 0
    ours: bool = False


Method = Callable[[Workbench, PeerStream], Row]


def main(arguments: list[str]) -> int:
    """Print the tables; 1 when an answer of the product was wrong."""
    options = parser("peer", DESCRIPTION)
    options.add_argument("--only", action="append", help="one of the streams; repeat it for more")
    options.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS), help="what to compare")
    options.add_argument("--rounds", type=int, help="so many rounds of every stream (default: all of it)")
    chosen = options.parse_args(arguments)
    with Workbench(chosen) as bench:
        streams = _streams(chosen.data_dir, chosen.rounds, chosen.quick, chosen.only)
        found = {stream.name: _run(bench, stream, chosen.methods) for stream in streams}
    _totals(streams, found)
    broken = [name for name, rows in found.items() for row in rows if row.ours and row.wrong]
    for name in broken:
        print(f"  the promise is broken on {name}")
    return 1 if broken else 0


def _streams(data_dir: str | None, rounds: int | None, quick: bool, only: list[str] | None) -> list[PeerStream]:
    folder = None if data_dir is None else Path(data_dir) / "peer"
    if rounds is not None and rounds < 2:
        raise OptionError("--rounds must be at least 2")
    if folder is not None and folder.is_dir():
        streams = recorded(folder, min(rounds or 300, 300) if quick else rounds)
    else:
        print("  no recorded streams: streams are made up, and there are no counts of AutoMon to compare with")
        streams = generated(rounds or (100 if quick else 1_000))
    streams.append(bump(min(rounds or 400, 100 if quick else 400)))
    if only:
        missing = set(only) - {stream.name for stream in streams}
        if missing:
            names = ", ".join(stream.name for stream in streams)
            raise OptionError(f"there is no stream named {sorted(missing)[0]!r}; there are {names}")
        streams = [stream for stream in streams if stream.name in only]
    return streams


def _product(bench: Workbench, stream: PeerStream) -> Row:
    """As a live coordinator keeps it: protocol and zones by themselves."""
    return _replayed(bench, stream, "tacit", {})


def _averages(bench: Workbench, stream: PeerStream) -> Row:
    """The same, with AVG(x) for SUM(x) / COUNT(*): as many counts as there are averages."""
    return _replayed(bench, stream, "tacit, AVG", {}, AVERAGES)


def _known(bench: Workbench, stream: PeerStream) -> Row:
    """The same, written by someone who knows how many sites there are, and that each has a row: no count is kept."""
    return _replayed(bench, stream, "tacit, SUM / n", {}, f"(SUM({{}}) / {stream.vectors.shape[1]})")


def _balls(bench: Workbench, stream: PeerStream) -> Row:
    """Balanced, with balls: how everything was kept at first."""
    return _replayed(bench, stream, "tacit, balls", {"protocol": "coordinator", "zone": "ball"})


def _replayed(bench: Workbench, stream: PeerStream, method: str, how: dict[str, str], mean: str = SUMS) -> Row:
    report = tacit.replay(
        sentence_of(stream, mean),
        _table(stream),
        site="site",
        time="at",
        step="pane",
        verify=True,
        spark=bench.spark,
        **how,
    )
    wrong = int(report.missed or 0) + int(report.spurious or 0)
    error = float(report.max_error or 0.0) / stream.within
    name = f"{method} ({report.protocol}; {report.zone})"
    return Row(name, report.messages["total"], report.bytes, report.full_syncs, error, wrong, ours=True)


def _sampled(bench: Workbench, stream: PeerStream) -> Row:
    result = sampled(stream)
    error = max(result.errors) / stream.within
    return Row(
        "curvature searched", result.messages, result.bytes, result.refreshes, error, result.breaches(stream.within)
    )


def _periodic(bench: Workbench, stream: PeerStream) -> Row:
    result = periodic(stream)
    error = max(result.errors, default=0.0) / stream.within
    return Row("every so many rounds, chosen in hindsight", result.messages, result.bytes, result.refreshes, error)


METHODS: dict[str, Method] = {
    "tacit": _product, "averages": _averages, "known": _known, "balls": _balls, "sampled": _sampled,
    "periodic": _periodic,
}  # fmt: skip


def _table(stream: PeerStream) -> pa.Table:
    """A row for every round and site; a round is a second."""
    rounds, n, d = stream.vectors.shape
    columns = {f"x{k}": stream.vectors[:, :, k].ravel() for k in range(d)}
    return pa.table(
        {
            "at": np.repeat(np.arange(rounds, dtype=np.int64), n),
            "site": pa.array([f"s{k:03d}" for k in range(n)] * rounds),
            **columns,
        }
    )


def _run(bench: Workbench, stream: PeerStream, methods: list[str]) -> list[Row]:
    found = [METHODS[name](bench, stream) for name in methods]
    rounds, n, d = stream.vectors.shape
    rows = [
        (
            row.method, row.messages, row.messages / (rounds * n),
            "" if stream.automon is None else row.messages / stream.automon,
            row.bytes, row.refreshes, row.error, row.wrong,
        )
        for row in found
    ]  # fmt: skip
    if stream.automon is not None:
        rows.append(("AutoMon, recorded", stream.automon, stream.automon / (rounds * n), 1.0, None, None, None, 0))
    show(
        f"{stream.name}: {n} sites, d = {d}, {rounds} rounds, within {stream.within:g}",
        ("method", "messages", "of all", "of AutoMon's", "bytes", "refreshes", "largest error / bound", "wrong"),
        rows,
    )
    return found


def _totals(streams: list[PeerStream], found: dict[str, list[Row]]) -> None:
    compared = [
        found[stream.name][0].messages / stream.automon
        for stream in streams
        if stream.automon and found[stream.name] and found[stream.name][0].method.startswith("tacit (")
    ]
    if compared:
        mean, worst = math.exp(float(np.log(compared).mean())), max(compared)
        print(f"  tacit / AutoMon: geometric mean {mean:.3f} (aim {MEAN_AIM}), worst {worst:.3f} (aim {WORST_AIM})")
