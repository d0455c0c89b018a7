"""One coordinator and a thousand sites: how long resolutions take, its memory and processor, and how all this grows.

The coordinator is ``python -m tacit coordinator`` with its store on disk. The sites are light ones, in other processes
(``light_watches.py``), each with its own gRPC connection: the protocol's own machines without Spark, windows, stores.
There are ten watches ``SUM(x) > threshold`` with panes of a second. All sites close a pane within ``SPREAD_S`` of each
other (Spark's triggers are aligned to the clock, too) and send one frame with all heartbeats.

Each second, and for each watch, one site in twenty drifts beyond its share (so a thousand sites violate 500 times a
second), and one in twenty falls far below, so that there is room; the sum of all stays far from the threshold. Every
``CROSS_S`` seconds one site's jump carries the sum of one watch over the threshold, for one pane: asking does not help
then, and two full synchronisations or more follow, which all violations of those panes share (less than 1% of all).

The violations of a watch's pane are resolved together. A resolution is timed at the site, from sending the report to
having the new zone; it includes waiting for the last site to close that pane. Then everything stands still, and what
flows is heartbeats alone.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import parser, show
from benchmarks.light_sites import run_sites
from benchmarks.light_watches import Figures, LightSite, LightWatch
from tacit.vocabulary import MachineError

DESCRIPTION = "one coordinator with up to 1,000 gRPC sites and 10 watches: resolutions, memory, processor"

WATCHES = 10
PROCESSES = 2
SPREAD_S = 0.2
UP, DOWN = 1.1, -3.0  # where drifting sites go, in shares
OFTEN = 0.05
CROSS_S = 60
FAR = 5.0  # how far a crossing goes, in distances of the estimate from the threshold: others have drifted down
WAIT_BAR_S, MEMORY_BAR_MB = 1.0, 1_000
_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Load:
    """What one process of sites does."""

    address: str
    first: int
    sites: int
    everyone: int
    busy_s: float
    quiet_s: float
    cross_s: int


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when a bar is missed (a quick run only prints)."""
    options = parser("many_sites", DESCRIPTION)
    options.add_argument("--sites", type=int, nargs="*", help="how many sites (default 50 200 1000, quick 50)")
    options.add_argument("--seconds", type=float, help="how long violations are counted (default 65, quick 8)")
    options.add_argument("--cross-every", type=int, default=CROSS_S, metavar="S", help="seconds between crossings")
    chosen = options.parse_args(arguments)
    seconds = chosen.seconds or (8.0 if chosen.quick else 65.0)
    rows = [
        _measure(count, seconds, chosen.cross_every)
        for count in chosen.sites or ([50] if chosen.quick else [50, 200, 1000])
    ]
    show(
        f"{WATCHES} watches, {seconds:g} s; load of the machine {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores",
        ("sites", "violations/s", "full syncs", "p50 s", "p99 s", "worst s", "MB", "CPU", "quiet CPU", "quiet kB/s in",
         "quiet kB/s out"),
        rows,
    )  # fmt: skip
    fine = rows[-1][4] < WAIT_BAR_S and rows[-1][6] < MEMORY_BAR_MB
    print(f"  p99 under {WAIT_BAR_S:g} s and memory under {MEMORY_BAR_MB} MB: {'held' if fine else 'MISSED'}")
    print("  full syncs: share of the violations that ended in one. CPU: cores of the coordinator, sites not counted")
    return 0 if fine or chosen.quick else 1


def _measure(count: int, seconds: float, cross_s: int) -> tuple[Any, ...]:
    folder = Path(tempfile.mkdtemp(prefix="tacit-many-"))
    (folder / "tacit.toml").write_text(_configuration(count), encoding="utf-8")
    sentences = [
        f"CREATE WATCH w{k} AS SELECT SUM(x + {k}) AS total FROM readings WINDOW LAST 1 SECOND EVERY 1 SECOND"
        f" ALERT WHEN total > {2 * count};"
        for k in range(WATCHES)
    ]
    (folder / "watches.sql").write_text("\n".join(sentences), encoding="utf-8")
    command = [sys.executable, "-m", "tacit", "coordinator", "--quiet", str(folder / "tacit.toml")]
    coordinator = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    loads: list[tuple[Any, Connection]] = []
    try:
        assert coordinator.stdout is not None
        said = coordinator.stdout.readline()
        address = said.split("listening on ")[1].split(",")[0]
        print(f"  {count} sites, coordinator {coordinator.pid}", flush=True)
        each = -(-count // PROCESSES)
        context = multiprocessing.get_context("spawn")
        for first in range(0, count, each):
            here, there = context.Pipe()
            load = Load(address, first, min(each, count - first), count, seconds, max(5.0, seconds / 3), cross_s)
            process = context.Process(target=_run_load, args=(load, there), daemon=True)
            process.start()
            loads.append((process, here))
        return _watch_over(count, seconds, coordinator, address, [here for _, here in loads])
    finally:
        for process, here in loads:
            here.close()
            process.join(20)
            if process.is_alive():
                process.terminate()
        coordinator.terminate()
        coordinator.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _watch_over(
    count: int, seconds: float, coordinator: subprocess.Popen[str], address: str, loads: list[Connection]
) -> tuple[Any, ...]:
    began = time.monotonic()
    _await_valid(address, coordinator)
    print(f"  valid after {time.monotonic() - began:.0f} s", flush=True)
    _tell(loads, "busy")
    time.sleep(3.0)
    _tell(loads, "count")
    cpu, since = _cpu_s(coordinator.pid), time.monotonic()
    time.sleep(seconds)
    busy = (_cpu_s(coordinator.pid) - cpu) / (time.monotonic() - since)
    found: list[Figures] = _ask(loads, "quiet")
    time.sleep(3.0)
    _tell(loads, "count")
    cpu, since = _cpu_s(coordinator.pid), time.monotonic()
    time.sleep(max(5.0, seconds / 3))
    passed = time.monotonic() - since
    quiet = (_cpu_s(coordinator.pid) - cpu) / passed
    idle: list[Figures] = _ask(loads, "end")
    waits = np.concatenate([np.array(each.waits) for each in found])
    if not len(waits):
        raise MachineError(f"none of {sum(each.reports for each in found)} violations was resolved")
    return (
        count, len(waits) / seconds, sum(each.renewed for each in found) / len(waits),
        *np.quantile(waits, [0.5, 0.99, 1.0]).tolist(), _peak_mb(coordinator.pid), busy, quiet,
        sum(each.bytes_out for each in idle) / passed / 1000, sum(each.bytes_in for each in idle) / passed / 1000,
    )  # fmt: skip


def _tell(loads: list[Connection], word: str) -> None:
    for each in loads:
        each.send(word)


def _ask(loads: list[Connection], word: str) -> list[Figures]:
    _tell(loads, word)
    return [each.recv() for each in loads]


def _await_valid(address: str, coordinator: subprocess.Popen[str]) -> None:
    from tacit.transport.grpc_client import ask

    end = time.monotonic() + 180
    while time.monotonic() < end:
        time.sleep(1.0)
        rows = ask(address, {"status": True})["watches"]
        if all(row["state"] == "valid" for row in rows):
            return
        if coordinator.poll() is not None:
            raise MachineError("the coordinator ended")
    raise MachineError(f"the watches did not become valid: {[(row['watch'], row['state']) for row in rows]}")


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _peak_mb(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) // 1000
    return 0


def _configuration(count: int) -> str:
    sites = "\n".join(f"[sites.s{number:04}]" for number in range(count))
    return f"""[coordinator]
listen = "127.0.0.1:0"
gather_seconds = 300
watches = ["watches.sql"]
[tables.readings]
source = "rate"
select = ["timestamp AS ts", "CAST(value AS DOUBLE) AS x"]
time = "ts"
{sites}
"""


# The side of the load


def _run_load(load: Load, pipe: Connection) -> None:
    asyncio.run(_Load(load, pipe).run())


class _Load:
    """The sites of one process."""

    def __init__(self, load: Load, pipe: Connection) -> None:
        self.load, self.pipe = load, pipe
        self.figures = Figures()
        names = [f"s{load.first + number:04}" for number in range(load.sites)]
        self.sites = {name: LightSite(name, self.figures) for name in names}
        self.first = names[0]
        self.rng = np.random.default_rng(load.first)
        self.busy = False
        self.jump: tuple[LightWatch, float] | None = None
        self.stop = asyncio.Event()

    async def run(self) -> None:
        """Until the word "end", or until the other side is gone."""
        links = asyncio.create_task(run_sites(self.load.address, self.sites, self.stop, per_second=200))
        panes = asyncio.create_task(self._panes())
        try:
            while (word := await asyncio.to_thread(self._word)) != "end":
                self._heed(word)
            self.pipe.send(self._taken())
        finally:
            panes.cancel()
            self.stop.set()
            await links

    def _word(self) -> str:
        try:
            return str(self.pipe.recv())
        except (EOFError, OSError):
            return "end"

    def _heed(self, word: str) -> None:
        if word == "busy":
            self.busy = True
        elif word == "count":
            self.figures.counting = True
        elif word == "quiet":
            self.busy = False
            self.pipe.send(self._taken())

    def _taken(self) -> Figures:
        """What was found so far; the sites go on with fresh figures."""
        found, self.figures = self.figures, Figures()
        for site in self.sites.values():
            site.figures = self.figures
        return found

    async def _panes(self) -> None:
        """Each second every site closes the pane that has just ended, one after the other over the spread."""
        everyone = list(self.sites.values())
        while True:
            pane = _pane_now()
            await asyncio.sleep(pane + 1 - time.time())
            begin = time.time()
            order = self.rng.permutation(len(everyone))
            if self.load.first == 0:
                self._cross(pane, everyone[0])
            for place, number in enumerate(order):
                everyone[number].close_pane(pane, self._look)
                ahead = begin + SPREAD_S * place / len(everyone) - time.time()
                if ahead > 0 or place % 16 == 0:
                    await asyncio.sleep(max(0.0, ahead))

    def _cross(self, pane: int, site: LightSite) -> None:
        """Now and then the sum of one watch crosses, by the jump of one site, and goes back with the next pane."""
        if self.jump is not None:
            watch, far = self.jump
            watch.value -= far
            self.jump = None
        elif self.busy and pane % self.load.cross_s == 0:
            watch = list(site.watches.values())[pane // self.load.cross_s % len(site.watches)]
            if watch.machine.version and watch.since is None:
                far = FAR * watch.share(2.0 * self.load.everyone) * self.load.everyone
                watch.value += far
                self.jump = (watch, far)

    def _look(self, site: LightSite) -> None:
        """Where this site's sums go next."""
        if not self.busy or (self.jump is not None and site is self.sites[self.first]):
            return
        dice = self.rng.random(len(site.watches))
        for roll, watch in zip(dice, site.watches.values(), strict=True):
            machine = watch.machine
            if roll > 2 * OFTEN or machine.version == 0 or watch.since is not None or machine.silent < machine.closed:
                continue
            share = watch.share(2.0 * self.load.everyone)
            watch.place((UP if roll < OFTEN else DOWN) * share)


def _pane_now() -> int:
    return int(time.time())
