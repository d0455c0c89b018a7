"""Recordings without Spark: SQLite computes what Spark would, as a plan's expressions are plain SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.language.plan import ByKey, WatchPlan
from tacit.recording.stream import Recording

__all__ = ["recorded"]


def recorded(
    plan: WatchPlan, t_us: np.ndarray, site: np.ndarray, columns: Mapping[str, Sequence[Any]], sites: Sequence[str]
) -> Recording:
    """What ``plan`` takes from rows that are in the order of time."""
    centres = [float(k + 1) for k in range(len(plan.centres))]  # any will do
    texts = [each.present.format(*(f"{centre}D" for centre in centres)) for each in plan.statistics]
    grouping = plan.grouping
    assert grouping is None or isinstance(grouping, ByKey)
    keys = () if grouping is None else grouping.expressions
    found = _computed(columns, [plan.where or "1 = 1", *keys, *texts, *plan.centres])
    kept = np.array([bool(row[0]) for row in found])
    found = [row for row, keep in zip(found, kept, strict=True) if keep]
    groups = group = None
    if grouping is not None:
        labels = [", ".join("NULL" if part is None else str(part) for part in row[1 : 1 + len(keys)]) for row in found]
        groups = sorted(set(labels))
        group = [groups.index(label) for label in labels]
    d, first = len(texts), 1 + len(keys)
    numbers = np.array([row[first:] for row in found], dtype=np.float64).reshape(len(found), d + len(plan.centres))
    recording = Recording.from_arrays(
        t_us[kept], site[kept], numbers[:, :d], group=group, sites=sites, groups=groups, centres=centres,
        statistics=[each.name for each in plan.statistics],
    )  # fmt: skip
    mixed = np.arange(len(found), dtype=np.int64) * np.int64(0x9E3779B97F4A7C15 - (1 << 64))  # keys like hashes
    return replace(recording, key=mixed, centred=numbers[:, d:])


def _computed(columns: Mapping[str, Sequence[Any]], texts: Sequence[str]) -> list[tuple[Any, ...]]:
    database = sqlite3.connect(":memory:")
    database.create_function("isnan", 1, lambda value: value is not None and value != value)
    database.execute(f"CREATE TABLE rows ({', '.join(columns)})")
    marks = ", ".join("?" * len(columns))
    database.executemany(f"INSERT INTO rows VALUES ({marks})", zip(*columns.values(), strict=True))
    wanted = ", ".join(_in_sqlite(text) for text in texts)
    rows = database.execute(f"SELECT {wanted} FROM rows ORDER BY rowid").fetchall()
    database.close()
    return rows


def _in_sqlite(text: str) -> str:
    import re

    return re.sub(r"(\d)D\b", r"\1.0", text).replace(".0.0", ".0")
