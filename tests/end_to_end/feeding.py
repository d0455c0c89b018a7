"""Rows from a seed, fed to the sites' folders step by step: one small file per site and second of event time."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["BASE_S", "LATE_STEPS", "LATE_TABLE", "SCHEMA", "TABLES", "Feeder", "Row", "rows_of_step"]

BASE_S = 1_767_225_600  # 2026-01-01, UTC
SCHEMA = "ts TIMESTAMP, site STRING, device STRING, v BIGINT, w BIGINT"
TABLES = f"""[tables.readings]
source = "files"
path = "data/{{site}}"
format = "parquet"
schema = "{SCHEMA}"
time = "ts"
watermark = "0 seconds"
clock = "event"
idle_seconds = 600
trigger_seconds = 1
"""
LATE_STEPS = 3
LATE_TABLE = (
    TABLES.replace("[tables.readings]", "[tables.late]")
    .replace('"data/', '"late/')
    .replace('"0 seconds"', f'"{LATE_STEPS} seconds"')
)
PERIOD = 48  # steps in which the heat comes and goes
_ARROW = pa.schema(
    [("ts", pa.timestamp("us", tz="UTC")), ("site", pa.string()), ("device", pa.string()), ("v", pa.int64()),
     ("w", pa.int64())]
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Row:
    """A row as all tests know it; the time in microseconds since 1970."""

    t: int
    site: str
    device: str
    v: int
    w: int


def rows_of_step(
    seed: int, sites: Sequence[str], site: str, step: int, *, rows: int = 5, ties: bool = False
) -> list[Row]:
    """The rows of a site in one second. Integers, so that every sum is exact; no two at the same time unless wanted."""
    place = list(sites).index(site)
    dice = np.random.default_rng([seed, place, step])
    hot = (step + 5 * place) % PERIOD >= PERIOD // 2
    offsets = np.sort(dice.choice(1_000_000 // (8 * len(sites)), rows, replace=ties))
    if ties:
        offsets = offsets // 20_000 * 20_000
    found = []
    for offset in offsets.tolist():
        device = f"d{dice.integers(4)}"
        v = int(dice.integers(30, 50)) + (30 if hot else 0) + 4 * place
        w = int(dice.integers(0, 100)) + (40 if device == "d2" and hot else 0)
        t = (BASE_S + step) * 1_000_000 + (offset * 8 if ties else (offset * len(sites) + place) * 8)
        found.append(Row(t, site, device, v, w))
    return found


class Feeder:
    """Feeds all sites at one pace until it is told to finish; keeps what it fed."""

    def __init__(
        self,
        folder: Path,
        sites: Sequence[str],
        *,
        seed: int,
        pause_s: float,
        ties: bool = False,
        rows: int = 5,
        late: bool = False,
    ) -> None:
        """``late`` feeds the same rows to a second table as well, each up to LATE_STEPS steps after its time."""
        self.folder, self.sites, self.seed, self.pause_s, self.ties = folder, tuple(sites), seed, pause_s, ties
        self.per_step, self.late = rows, late
        self._held: dict[str, list[list[Row]]] = {site: [] for site in self.sites}  # by the steps until they come
        self.rows: list[Row] = []
        self.steps = 0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._failure: BaseException | None = None
        (folder / "coming").mkdir(exist_ok=True)
        for site in self.sites if late else ():
            (folder / "late" / site).mkdir(parents=True)

    def start(self) -> None:
        """Feed from now on."""
        self._thread.start()

    def step(self) -> None:
        """Feed one second of event time to every site."""
        for site in self.sites:
            rows = rows_of_step(self.seed, self.sites, site, self.steps, rows=self.per_step, ties=self.ties)
            self._put(site, f"{self.steps:06d}", rows)
            if self.late:
                self._put_late(site, rows)
            self.rows += rows
        self.steps += 1

    def finish(self) -> int:
        """Feed no more; a last row per site, a while later, closes everything before it. The step of those rows."""
        self.end()
        if self._failure is not None:
            raise self._failure
        last = self.steps + 4 - self.steps % 4
        for site in self.sites:
            end = Row((BASE_S + last) * 1_000_000 + 1, site, "d0", 40, 0)
            self._put(site, "end", [end])
            if self.late:
                rows = [row for held in self._held[site] for row in held]
                self._put(site, "end", [*rows, replace(end, t=end.t + LATE_STEPS * 1_000_000)], "late")
        return last

    def put_too_late(self) -> int:
        """A row per site whose time has long passed, for the second table: how many."""
        for site in self.sites:
            self._put(site, "too-late", [Row(BASE_S * 1_000_000 + 7, site, "d0", 10_000, 10_000)], "late")
        return len(self.sites)

    def end(self) -> None:
        """Feed no more."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join()

    def write_all(self, path: Path) -> None:
        """Everything that was fed, the last rows apart, in one file."""
        pq.write_table(_table(self.rows), path)

    def _run(self) -> None:
        try:
            while not self._end.wait(self.pause_s):
                self.step()
        except BaseException as error:
            self._failure = error

    def _put_late(self, site: str, rows: Sequence[Row]) -> None:
        held = self._held[site]
        dice = np.random.default_rng([self.seed, self.sites.index(site), self.steps, 1])
        held += [[] for _ in range(LATE_STEPS - len(held))]
        for row, delay in zip(rows, dice.integers(0, LATE_STEPS, len(rows)).tolist(), strict=True):
            held[delay].append(row)
        self._put(site, f"{self.steps:06d}", held.pop(0), "late")

    def _put(self, site: str, name: str, rows: Sequence[Row], table: str = "data") -> None:
        coming = self.folder / "coming" / f"{table}-{site}-{name}.parquet"
        pq.write_table(_table(rows), coming)
        os.rename(coming, self.folder / table / site / f"{name}.parquet")


def _table(rows: Sequence[Row]) -> pa.Table:
    columns = [[getattr(row, name) for row in rows] for name in ("t", "site", "device", "v", "w")]
    return pa.table([pa.array(column, type=field.type) for column, field in zip(columns, _ARROW, strict=True)], _ARROW)
