"""The readings of ``tacit demo``: a file of rows for each site and second, as time passes."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["SCHEMA", "DemoRows"]

SCHEMA = "ts TIMESTAMP, device STRING, temp DOUBLE, load DOUBLE, failed BOOLEAN"
ROWS = 100  # a second, at each site
DEVICES = 8
PERIOD_S, HOT_S = 40, 16  # how often the heat comes, and how long it stays; any 40 seconds have two crossings


class DemoRows:
    """Writes rows into the folders of the sites until it is ended. The heat of all sites comes and goes."""

    def __init__(self, folder: Path, sites: Sequence[str]) -> None:
        self._folders = {site: folder / site for site in sites}
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tacit-demo-rows", daemon=True)
        for path in self._folders.values():
            path.mkdir(parents=True, exist_ok=True)

    def start(self) -> None:
        """Write from now on."""
        self._thread.start()

    def stop(self) -> None:
        """Write no more."""
        self._end.set()
        self._thread.join()

    def _run(self) -> None:
        second = 0
        while not self._end.wait(max(0.0, 1.0 - time.time() % 1.0)):
            # The rows of the second that has just passed: however busy the machine is, none is written late.
            begin_us = (time.time_ns() // 1_000_000_000 - 1) * 1_000_000
            for place, path in enumerate(self._folders.values()):
                name = f"{begin_us // 1_000_000}-{second:06d}.parquet"
                part = path / f".{name}.part"
                pq.write_table(rows_of(place, begin_us), part)
                part.rename(path / name)
            second += 1


def rows_of(place: int, begin_us: int) -> pa.Table:
    """The rows of a site, by its place among the sites, in the second that begins then.

    >>> table = rows_of(1, 0)
    >>> table.num_rows, table.column_names
    (100, ['ts', 'device', 'temp', 'load', 'failed'])
    """
    dice = np.random.default_rng([place, begin_us])
    clock_s = begin_us / 1e6
    hot = clock_s % PERIOD_S < HOT_S
    number = np.arange(ROWS)
    device = number % DEVICES
    temp = 20.0 + place / 4.0 + 4.0 * (dice.random(ROWS) - 0.5) + (16.0 if hot else 0.0)
    load = 50.0 + 2.0 * math.sin(clock_s / 20.0 + place) + 6.0 * (dice.random(ROWS) - 0.5)
    chance = np.where(device == 3, 0.6 if hot else 0.02, 0.02)
    return pa.table(
        {
            "ts": pa.array(begin_us + number * (1_000_000 // ROWS) + place, pa.timestamp("us", tz="UTC")),
            "device": [f"d{each}" for each in device.tolist()],
            "temp": temp,
            "load": load,
            "failed": dice.random(ROWS) < chance,
        }
    )
