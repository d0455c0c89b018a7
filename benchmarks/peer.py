"""Our zones on AutoMon's own streams, against its recorded message counts, our balls and zones that are not proved.

Rounds as in the peer's runs: every site is updated once, violations are resolved at the end of the round, and answers
are judged then. A refresh counts as one message for every site. Without the recorded streams, streams of the same
functions are made up, and there are no counts of the peer to compare with.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.common import Workbench, parser, show
from benchmarks.peer_methods import Result, balls, periodic, recentring, sampled
from benchmarks.peer_streams import PeerStream, bump, generated, recorded
from tacit.vocabulary import OptionError

DESCRIPTION = "tracking any function: messages against AutoMon's on its own streams, with proved zones"
METHODS: dict[str, Callable[[PeerStream], Result]] = {
    "zones": recentring, "balls": balls, "sampled": sampled, "periodic": periodic,
}  # fmt: skip
MEAN_BAR, WORST_BAR, BALLS_BAR = 0.45, 0.9, 0.4


def main(arguments: list[str]) -> int:
    """Print the tables; 1 when a bar is missed."""
    options = parser("peer", DESCRIPTION)
    options.add_argument("--only", action="append", help="one of the streams; repeat it for more")
    options.add_argument("--methods", nargs="+", choices=sorted(METHODS), default=list(METHODS), help="what to compare")
    options.add_argument("--rounds", type=int, help="so many rounds of every stream (default: all of it)")
    chosen = options.parse_args(arguments)
    with Workbench(chosen):
        streams = _streams(chosen.data_dir, chosen.rounds, chosen.quick, chosen.only)
        found = {stream.name: _run(stream, chosen.methods) for stream in streams}
    _totals(streams, found)
    return 0 if _judged(streams, found) else 1


def _streams(data_dir: str | None, rounds: int | None, quick: bool, only: list[str] | None) -> list[PeerStream]:
    folder = None if data_dir is None else Path(data_dir) / "peer"
    if rounds is not None and rounds < 2:
        raise OptionError("--rounds must be at least 2")
    if folder is not None and folder.is_dir():
        streams = recorded(folder, min(rounds or 300, 300) if quick else rounds)
    else:
        print("  no recorded streams: streams are made up, and there are no counts of AutoMon to compare with")
        streams = generated(rounds or (300 if quick else 1_000))
    streams.append(bump(min(rounds or 400, 400)))
    if only:
        missing = set(only) - {stream.name for stream in streams}
        if missing:
            names = ", ".join(stream.name for stream in streams)
            raise OptionError(f"there is no stream named {sorted(missing)[0]!r}; there are {names}")
        streams = [stream for stream in streams if stream.name in only]
    return streams


def _run(stream: PeerStream, methods: list[str]) -> dict[str, Result]:
    results = {name: METHODS[name](stream) for name in methods}
    rounds, n, d = stream.vectors.shape
    rows = [
        (
            name, result.messages, result.messages / (rounds * n),
            "" if stream.automon is None else result.messages / stream.automon,
            result.bytes, result.refreshes, max(result.errors) / stream.within, result.breaches(stream.within),
        )
        for name, result in results.items()
    ]  # fmt: skip
    if stream.automon is not None:
        rows.append(("AutoMon, recorded", stream.automon, stream.automon / (rounds * n), 1.0, "", "", "", ""))
    show(
        f"{stream.name}: {n} sites, d = {d}, {rounds} rounds, within {stream.within:g}",
        ("method", "messages", "of all", "of AutoMon's", "bytes", "refreshes", "largest error / bound", "breaches"),
        rows,
    )
    return results


def _totals(streams: list[PeerStream], found: dict[str, dict[str, Result]]) -> None:
    ratios = [found[s.name]["zones"].messages / s.automon for s in streams if s.automon and "zones" in found[s.name]]
    if ratios:
        mean, worst = _mean(ratios), max(ratios)
        print(f"  zones / AutoMon: geometric mean {mean:.3f} (bar {MEAN_BAR}), worst {worst:.3f} (bar {WORST_BAR})")
    if all({"zones", "balls"} <= set(each) for each in found.values()):
        ours, before = (sum(each[name].messages for each in found.values()) for name in ("zones", "balls"))
        print(f"  zones / balls, all streams together: {ours:,} / {before:,} = {ours / before:.3f} (bar {BALLS_BAR})")


def _judged(streams: list[PeerStream], found: dict[str, dict[str, Result]]) -> bool:
    held = True
    for stream in streams:
        for name in ("zones", "balls"):
            if name in found[stream.name] and found[stream.name][name].breaches(stream.within):
                print(f"  {name} broke their promise on {stream.name}")
                held = False
    ratios = [found[s.name]["zones"].messages / s.automon for s in streams if s.automon and "zones" in found[s.name]]
    if len(ratios) >= 7 and (_mean(ratios) > MEAN_BAR or max(ratios) > WORST_BAR):
        print("  bar missed: messages against AutoMon's")
        held = False
    if len(ratios) >= 7 and all("balls" in each for each in found.values()):
        ours, before = (sum(each[name].messages for each in found.values()) for name in ("zones", "balls"))
        if ours > BALLS_BAR * before:
            print("  bar missed: messages against balls")
            held = False
    return held


def _mean(ratios: list[float]) -> float:
    return math.exp(float(np.log(ratios).mean()))
