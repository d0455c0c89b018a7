"""Watches of every kind over one table, and rows that give each of them something to say.

Each step is a second of rows: plain ones, whose heat comes and goes, and steady ones, whose counts stand still for a
while and then change places, because a TOPiCo list is promised to be right only where counts stand still.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["SCHEMA", "sentences", "steps_table", "write_rows"]

SCHEMA = "ts TIMESTAMP, kind STRING, device STRING, other STRING, v BIGINT, w BIGINT, tags ARRAY<STRING>"
_ARROW = pa.schema(
    [
        ("ts", pa.timestamp("us", tz="UTC")), ("kind", pa.string()), ("device", pa.string()), ("other", pa.string()),
        ("v", pa.int64()), ("w", pa.int64()), ("tags", pa.list_(pa.string())),
    ]
)  # fmt: skip
_PLAIN = 6  # rows of a site and step
_PERIOD = 48  # steps in which the heat comes and goes
_STILL = 24  # steps in which the counts of the steady rows stand still
_SECOND = 1_000_000

_WATCHES = {
    "threshold": "SELECT AVG(v) AS mean FROM {t} WINDOW LAST 8 SECONDS EVERY 1 SECOND ALERT WHEN mean > 58 MARGIN 2",
    "tracked": "SELECT STDDEV(v) AS s FROM {t} WINDOW LAST 10 SECONDS EVERY 1 SECOND TRACK s WITHIN 2",
    "by_key": "SELECT device, COUNT_IF(w > 60) AS n FROM {t} WINDOW LAST 8 SECONDS EVERY 1 SECOND GROUP BY device"
    " ALERT WHEN n > 12 MARGIN 2",
    "by_member": "SELECT tag, COUNT_IF(PRESENT AND w > 50) AS n FROM {t} WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " GROUP BY EACH(tags) AS tag ALERT WHEN n > 15 MARGIN 2",
    "last_rows": "SELECT AVG(v) AS mean FROM {t} WHERE kind = 'plain' WINDOW LAST 30 ROWS EVERY 2 SECONDS"
    " TRACK mean WITHIN 3",
    "ranking": "SELECT device, COUNT_IF(w > 60) AS n FROM {t} WHERE kind = 'plain' WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " GROUP BY device ORDER BY n DESC LIMIT 2 WITHIN 2",
    "topico": "SELECT device, COUNT(*) AS n FROM {t} WHERE kind = 'steady' WINDOW LAST 6 SECONDS EVERY 1 SECOND"
    " GROUP BY device ORDER BY n DESC LIMIT 1 USING topico",
    "having": "SELECT device, COUNT(*) AS n FROM {t} WHERE w > 60 WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " GROUP BY device HAVING COUNT(*) > 12 MARGIN 2 SKETCH EPSILON 0.02 DELTA 0.01",
    "self_join": "SELECT SELF_JOIN_SIZE(device) AS f FROM {t} WHERE kind = 'plain' WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.05 DELTA 0.01",
    "inner_product": "SELECT INNER_PRODUCT(device, other) AS f FROM {t} WINDOW LAST 8 SECONDS EVERY 1 SECOND"
    " TRACK f WITHIN 20 PERCENT SKETCH EPSILON 0.05 DELTA 0.01",
    "quantile": "SELECT QUANTILE(v, 0.9) AS q FROM {t} WINDOW LAST 8 SECONDS EVERY 1 SECOND TRACK q WITHIN 3 PERCENT"
    " SKETCH EPSILON 0.02",
}


def sentences(table: str) -> str:
    """A watch of every kind over a table; their names begin with that of the table."""
    return "".join(f"CREATE WATCH {table}_{name} AS {text.format(t=table)};\n" for name, text in _WATCHES.items())


def steps_table(seed: int, place: int, steps: Sequence[int], begins_us: Sequence[int]) -> pa.Table:
    """The rows of a site (by its ``place`` among the sites) in these steps, each of which begins at its time."""
    rows = [row for step, begin_us in zip(steps, begins_us, strict=True) for row in _rows(seed, place, step, begin_us)]
    return pa.Table.from_pylist(rows, _ARROW)


def _rows(seed: int, place: int, step: int, begin_us: int) -> list[dict[str, object]]:
    dice = np.random.default_rng([seed, place, step])
    hot = (step + 5 * place) % _PERIOD >= _PERIOD // 2
    found: list[dict[str, object]] = []
    for offset in np.sort(dice.choice(_SECOND // 16, _PLAIN, replace=False)).tolist():
        device = f"d{dice.integers(4)}"
        found.append(
            {
                "ts": begin_us + 16 * offset + place,  # no two rows of the system at one time
                "kind": "plain",
                "device": device,
                "other": f"d{dice.integers(6)}",
                "v": int(dice.integers(30, 50)) + (30 if hot else 0) + 4 * place,
                "w": int(dice.integers(0, 100)) + (40 if device == "d2" and hot else 0),
                "tags": [f"t{tag}" for tag in sorted(set(dice.integers(0, 3, 2).tolist()))],
            }
        )
    turn = step // _STILL
    for at in range(6):
        name = f"s{(turn + (0 if at < 3 else 1 if at < 5 else 2)) % 3}"
        found.append(
            {"ts": begin_us + 100_000 * at + 8 + place, "kind": "steady", "device": name, "tags": []}
        )  # fmt: skip
    return sorted(found, key=lambda row: int(str(row["ts"])))


def write_rows(folder: Path, site: str, name: str, rows: pa.Table) -> None:
    """Put a file into a site's folder when it is whole."""
    coming = folder.parent / "coming"
    coming.mkdir(exist_ok=True)
    (folder / site).mkdir(parents=True, exist_ok=True)
    part = coming / f"{folder.name}-{site}-{name}.parquet"
    pq.write_table(rows, part)
    os.rename(part, folder / site / f"{name}.parquet")
