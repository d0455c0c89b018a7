"""Rows to watch: small, but with everything that can be awkward about rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType

import numpy as np
import pyarrow as pa

from tests.twin.order import Row

ROWS = 200


@dataclass(frozen=True, slots=True)
class Source:
    """A table and how it is replayed."""

    table: pa.Table
    site: str = "s"
    time: str = "ts"


def seconds(
    seed: int, *, scale: float = 1.0, shift: float = 0.0, odd: Mapping[int, float] = MappingProxyType({})
) -> pa.Table:
    """Rows a few seconds apart, many at one instant, in no order.

    Sites: a, b and c; d starts late; one has a single row; gone has rows with u = -1 only, so that a watch of u >= 0
    leaves it empty. One row has no site and one no time. x has NULL and NaN, y NULL, g NULL, lst is NULL or has NULL
    members at times; k is constant. ``odd`` gives some rows another x.
    """
    rng = np.random.default_rng(seed)
    rows: list[Row] = []
    now = 0
    for k in range(ROWS):
        now += int(rng.choice([0, 0, 1, 2, 7]))
        plain = (float(rng.normal()) + 1.5 * math.sin(k / 25)) * scale + shift
        x = math.nan if rng.random() < 0.05 else plain
        rows.append(
            {
                "ts": now,
                "s": str(rng.choice(["a", "b", "c"] + ["d"] * (k > ROWS // 2))),
                "x": None if rng.random() < 0.1 else x,
                "y": None if rng.random() < 0.05 else float(0.5 * rng.normal() + math.cos(k / 40)),
                "z": float(abs(rng.normal())) + 0.1,
                "k": 3.0,
                "g": None if rng.random() < 0.1 else str(rng.choice(["p", "q", "r"])),
                "u": int(rng.integers(0, 100)),
                "lst": None if rng.random() < 0.05 else _members(rng),
            }
        )
    for k, value in odd.items():
        rows[k]["x"] = value
    rows[ROWS // 3]["s"] = "one"
    for k in range(10, 45, 7):
        rows[k] |= {"s": "gone", "u": -1}
    rows[5]["s"], rows[8]["ts"] = None, None
    return _table([rows[k] for k in rng.permutation(ROWS)], pa.int64())


def new_year(seed: int) -> pa.Table:
    """Rows an hour or so apart, with timestamps, from the end of 2012 into a new week, month and year."""
    rng = np.random.default_rng(seed)
    rows, now = [], datetime(2012, 12, 28, 21, 30)
    for k in range(ROWS):
        now += timedelta(seconds=int(rng.choice([0, 600, 1800, 3600, 7200])))
        rows.append(
            {
                "ts": now,
                "s": "a string of more than thirty-two bytes, so that the hash takes its long way"
                if k % 2
                else "short",
                "x": None if rng.random() < 0.1 else float(rng.normal() + 2 * math.sin(k / 20)),
                "y": float(rng.normal()),
                "z": float(abs(rng.normal())) + 0.1,
                "k": -0.0,
                "g": str(rng.choice(["p", "q", "r"])),
                "u": int(rng.integers(0, 100)),
                "lst": _members(rng),
            }
        )
    return _table([rows[k] for k in rng.permutation(ROWS)], pa.timestamp("us"))


def sources() -> dict[str, Source]:
    """All data, by name."""
    outliers = {25 + 35 * k: 1e17 * (1 + k / 10) for k in range(5)}
    return {
        "ordinary": Source(seconds(1)),
        "huge": Source(seconds(2, scale=1e10, shift=1e12)),
        "tiny": Source(seconds(3, scale=1e-9, shift=-3e-9)),
        "shifted": Source(seconds(4, scale=1e-3, shift=1e6)),
        "outliers": Source(seconds(5, odd=outliers)),
        "sentinels": Source(seconds(6, odd={50: -9.99e20, 120: -9.99e20})),
        "new year in turn": Source(new_year(7), site="round_robin:4"),
        "new year by hash": Source(new_year(8), site="hash:g:7"),
    }


def _members(rng: np.random.Generator) -> list[int | None]:
    return [None if rng.random() < 0.05 else int(m) for m in rng.integers(0, 5, size=rng.integers(0, 4))]


def _table(rows: list[Row], time: pa.DataType) -> pa.Table:
    kinds = {"ts": time, "s": pa.string(), "g": pa.string(), "u": pa.int64(), "lst": pa.list_(pa.int64())}
    return pa.Table.from_pylist(rows, pa.schema([(name, kinds.get(name, pa.float64())) for name in rows[0]]))
