"""Events per second of a site, against the same Structured Streaming job with no tacit in it.

Both read the same folder of Parquet files, one file a batch, as fast as they can, in the same Spark, in turns. The site
is a real one: a coordinator in another process over gRPC, its state saved with every batch. The plain job has a
``foreachBatch`` that sums by pane (and region), written by hand, and fetches the sums as Arrow: it keeps no windows,
saves nothing but Spark's own checkpoint, and talks to nobody.

With ten watches there are two plain jobs. *One groupBy per watch* is what one writes who adds a watch at a time (the
batch is kept in memory while it is read ten times). *Merged by hand* is the best that can be written: one groupBy per
set of keys, conditions inside the sums, each sum once. The bar of 0.6 is held against the merged one.

A rate is rows over seconds from the end of the third batch to the end of the last: the first batches start things
(files are listed, code is compiled, a site draws a sample).
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import parser, show
from tacit.runtime.config import load_config
from tacit.runtime.link_thread import LinkThread
from tacit.runtime.site_runner import SiteRunner, SparkHost
from tacit.vocabulary import MachineError

DESCRIPTION = "events per second of a site with 1 and 10 watches against a plain Structured Streaming job"

BARS = {1: 0.85, 10: 0.6}
WARM = 3  # batches before the clock starts
PANE_S = 10
PANES_A_FILE = 6
REGIONS = 20
KEYS = ("ts", "region")

# name, GROUP BY, WHERE, statistic, alert. None is ever near its threshold.
_ONE = [("one", "", "", "AVG(temp) AS x", "x > 1000")]
_TEN = [
    ("w0", "", "", "AVG(temp) AS x", "x > 1000"),
    ("w1", "", "", "AVG(load) AS x", "x > 1000"),
    ("w2", "", "", "SUM(power) AS x", "x > 1e15"),
    ("w3", "", "failed", "COUNT(*) AS x", "x > 1e12"),
    ("w4", "", "load > 50", "AVG(temp) AS x", "x > 1000"),
    ("w5", "", "", "SUM(power) / SUM(load) AS x", "x > 1000"),
    ("w6", "region", "", "AVG(temp) AS x", "x > 1000"),
    ("w7", "region", "", "AVG(load) AS x", "x > 1000"),
    ("w8", "region", "failed", "COUNT(*) AS x", "x > 1e12"),
    ("w9", "region", "", "SUM(power) AS x", "x > 1e15"),
]
_SUMS = {  # the same sums by hand: what each watch adds up
    "w0": ("sum(temp)", "count(temp)"),
    "one": ("sum(temp)", "count(temp)"),
    "w1": ("sum(load)", "count(load)"),
    "w2": ("sum(power)",),
    "w3": ("count_if(failed)",),
    "w4": ("sum(CASE WHEN load > 50 THEN temp END)", "count(CASE WHEN load > 50 THEN temp END)"),
    "w5": ("sum(power)", "sum(load)"),
    "w6": ("sum(temp)", "count(temp)"),
    "w7": ("sum(load)", "count(load)"),
    "w8": ("count_if(failed)",),
    "w9": ("sum(power)",),
}
Watches = Sequence[tuple[str, str, str, str, str]]


@dataclass(slots=True)
class Run:
    """One run: when each batch ended, and how many rows all had."""

    ends: list[float]
    rows_a_batch: int

    @property
    def rate(self) -> float:
        return self.rows_a_batch * (len(self.ends) - WARM) / (self.ends[-1] - self.ends[WARM - 1])


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when a bar is missed (a quick run only prints)."""
    options = parser("site_throughput", DESCRIPTION)
    options.add_argument("--rows", type=int, default=300_000, help="rows of a batch")
    options.add_argument("--batches", type=int, help="batches of a run (default 15, quick 6)")
    options.add_argument("--runs", type=int, help="interleaved runs of each (default 5, quick 1)")
    options.add_argument("--watches", type=int, nargs="*", default=[1, 10], choices=[1, 10])
    chosen = options.parse_args(arguments)
    batches = chosen.batches or (6 if chosen.quick else 15)
    runs = chosen.runs or (1 if chosen.quick else 5)
    folder = Path(tempfile.mkdtemp(prefix="tacit-throughput-"))
    host: SparkHost | None = None
    links = LinkThread()
    fine = True
    try:
        (folder / "tacit.toml").write_text(_configuration(0, folder), encoding="utf-8")
        host = SparkHost(load_config(folder / "tacit.toml").spark)
        _write(host.session(), folder / "data", chosen.rows, batches)
        bench = _Bench(host, links, folder, chosen.rows, batches)
        for count in chosen.watches:
            fine &= bench.compare(count, runs)
    finally:
        links.stop()
        if host is not None:
            host.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0 if fine or chosen.quick else 1


class _Bench:
    def __init__(self, host: SparkHost, links: LinkThread, folder: Path, rows: int, batches: int) -> None:
        self.host, self.links, self.folder, self.rows, self.batches = host, links, folder, rows, batches
        self.number = 0

    def compare(self, count: int, runs: int) -> bool:
        watches = _ONE if count == 1 else _TEN
        ways: dict[str, Callable[[], Run]] = {"merged by hand": lambda: self.plain(_merged(watches), keep=False)}
        if count > 1:
            ways["one groupBy per watch"] = lambda: self.plain(_apart(watches), keep=True)
        ways["site"] = lambda: self.site(watches)
        for way in ways.values():  # once for nothing: the JVM compiles
            way()
        rates: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(runs):
            for name, way in ways.items():
                rates[name].append(way().rate)
        middle = {name: statistics.median(each) for name, each in rates.items()}
        rows = [
            (name, int(middle[name]), int(min(rates[name])), int(max(rates[name])), middle["site"] / middle[name])
            for name in ways
        ]
        show(
            f"{count} watch{'es' if count > 1 else ''}, {self.batches} batches of {self.rows:,} rows, {runs} runs",
            ("job", "events/s, median", "least", "most", "site / job"), rows,
        )  # fmt: skip
        ratio = middle["site"] / middle["merged by hand"]
        print(f"  ratio {ratio:.2f}, bar {BARS[count]}: {'held' if ratio >= BARS[count] else 'MISSED'}")
        print(f"  load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
        return ratio >= BARS[count]

    def plain(self, aggregations: Sequence[tuple[list[str], list[str]]], *, keep: bool) -> Run:
        """The job without tacit: (keys, sums) of each aggregation."""
        from tacit.pipelines.session import session_beside

        self.number += 1
        spark = session_beside(self.host.session())
        ends: list[float] = []

        def take(frame: Any, number: int) -> None:
            if keep:
                frame = frame.persist()
            for keys, sums in aggregations:
                frame.groupBy(*map(_column, keys)).agg(*map(_column, sums)).toArrow()
            if keep:
                frame.unpersist()
            ends.append(time.perf_counter())

        source = spark.readStream.schema(spark.read.parquet(str(self.folder / "data")).schema)
        frame = source.option("maxFilesPerTrigger", 1).parquet(str(self.folder / "data"))
        place = str(self.folder / f"plain{self.number}")
        query = frame.writeStream.foreachBatch(take).option("checkpointLocation", place)
        running = query.trigger(processingTime="0 seconds").start()
        try:
            _until(lambda: len(ends) == self.batches or not running.isActive)
        finally:
            running.stop()
        return self._run(ends)

    def site(self, watches: Watches) -> Run:
        """The site: reads the same files, and keeps these watches with a coordinator."""
        self.number += 1
        place = self.folder / f"site{self.number}"
        place.mkdir()
        (place / "watches.sql").write_text("\n".join(map(_sentence, watches)), encoding="utf-8")
        (place / "tacit.toml").write_text(_configuration(0, self.folder), encoding="utf-8")
        command = [sys.executable, "-m", "tacit", "coordinator", "--quiet", str(place / "tacit.toml")]
        coordinator = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        runner: _TimedRunner | None = None
        try:
            assert coordinator.stdout is not None
            said = coordinator.stdout.readline()
            port = int(said.split("listening on ")[1].split(",")[0].rpartition(":")[2])
            (place / "tacit.toml").write_text(_configuration(port, self.folder), encoding="utf-8")
            runner = _TimedRunner("here", load_config(place / "tacit.toml"), self.host, self.links)
            runner.start()
            _until(lambda: self._look_after(runner) == self.batches)
            _check(f"127.0.0.1:{port}", watches)
        finally:
            if runner is not None:
                runner.stop()
            coordinator.terminate()
            coordinator.wait(20)
        return self._run(runner.ends)

    def _look_after(self, runner: _TimedRunner | None) -> int:
        assert runner is not None
        if not runner._reading:  # not later: is_active and the like are questions to Java
            runner.mind()
        if runner.failure is not None:
            raise runner.failure
        return len(runner.ends)

    def _run(self, ends: list[float]) -> Run:
        if len(ends) != self.batches:
            raise MachineError(f"a query ended after {len(ends)} of {self.batches} batches")
        return Run(ends, self.rows)


class _TimedRunner(SiteRunner):
    """A site that notes when its batches ended."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.ends: list[float] = []

    def _take(self, name: str, number: int, batch: Any) -> None:
        super()._take(name, number, batch)
        self.ends.append(time.perf_counter())


def _check(address: str, watches: Watches) -> None:
    """The watches must have been at work: most of them valid, on panes near the end."""
    from tacit.transport.grpc_client import ask

    time.sleep(1.0)
    rows = ask(address, {"status": True})["watches"]
    states = [row["state"] for row in rows]
    if len(rows) != len(watches) or any(state not in ("valid", "filling") for state in states):
        raise MachineError(f"the watches are not at work: {rows}")


def _until(done: Callable[[], bool], seconds: float = 600.0) -> None:
    end = time.monotonic() + seconds
    while not done():
        if time.monotonic() > end:
            raise MachineError(f"nothing came to an end within {seconds:g} seconds")
        time.sleep(0.05)


def _column(text: str) -> Any:
    from pyspark.sql import functions as sf

    return sf.expr(text)


def _keys(group: str) -> list[str]:
    pane = f"floor(unix_micros(ts) / {PANE_S * 1_000_000}L) AS pane"
    return [pane, group] if group else [pane]


def _apart(watches: Watches) -> list[tuple[list[str], list[str]]]:
    return [(_keys(group), [*_SUMS[name], "count(*)"]) for name, group, _, _, _ in watches]


def _merged(watches: Watches) -> list[tuple[list[str], list[str]]]:
    groups = dict.fromkeys(watch[1] for watch in watches)
    return [
        (_keys(group), list(dict.fromkeys(["count(*)", *(s for w in watches if w[1] == group for s in _SUMS[w[0]])])))
        for group in groups
    ]


def _sentence(watch: tuple[str, str, str, str, str]) -> str:
    name, group, where, what, alert = watch
    return (
        f"CREATE WATCH {name} AS SELECT {f'{group}, ' if group else ''}{what} FROM readings"
        f"{f' WHERE {where}' if where else ''} WINDOW LAST 1 MINUTE EVERY {PANE_S} SECONDS"
        f"{f' GROUP BY {group}' if group else ''} ALERT WHEN {alert};"
    )


def _write(spark: Any, folder: Path, rows: int, batches: int) -> None:
    """A file per batch; times rise from file to file."""
    from pyspark.sql import functions as sf

    span = PANES_A_FILE * PANE_S / rows
    dice = "pmod(xxhash64(id, '%s'), 10000) / 10000D"
    for number in range(batches):
        frame = spark.range(number * rows, (number + 1) * rows, numPartitions=1).select(
            sf.expr(f"timestamp_micros(1700000000000000L + CAST(id * {span * 1e6}D AS BIGINT)) AS ts"),
            sf.expr(f"concat('region ', pmod(xxhash64(id, 'r'), {REGIONS})) AS region"),
            sf.expr(f"20D + 10D * {dice % 'temp'} AS temp"),
            sf.expr(f"100D * {dice % 'load'} AS load"),
            sf.expr(f"5D * {dice % 'power'} AS power"),
            sf.expr(f"{dice % 'failed'} < 0.02D AS failed"),
        )
        frame.write.parquet(str(folder.parent / "part"), mode="overwrite")
        (part,) = (folder.parent / "part").glob("*.parquet")
        folder.mkdir(exist_ok=True)
        target = folder / f"{number:04}.parquet"
        part.rename(target)
        os.utime(target, (1_700_000_000 + number, 1_700_000_000 + number))  # Spark takes the oldest first


def _configuration(port: int, folder: Path) -> str:
    return f"""[coordinator]
listen = "127.0.0.1:{port}"
watches = ["watches.sql"]
[tables.readings]
source = "files"
path = "{folder / "data"}"
max_files_per_trigger = 1
time = "ts"
watermark = "1 second"
clock = "event"
trigger_seconds = 0.001
[sites.here]
"""
