"""Recordings without Spark: SQLite computes what Spark would, as a plan's expressions are plain SQL."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.recording.stream import Recording
from tacit.vocabulary.keys import key_label

__all__ = ["recorded"]


def recorded(
    plan: WatchPlan, t_us: np.ndarray, site: np.ndarray, columns: Mapping[str, Sequence[Any]], sites: Sequence[str]
) -> Recording:
    """What ``plan`` takes from rows that are in the order of time."""
    centres = [float(k + 1) for k in range(len(plan.centres))]  # any will do
    marks = [f"{centre}D" for centre in centres]
    texts = [each.present.format(*marks) for each in plan.statistics]
    grouping = plan.grouping
    lists: Sequence[Sequence[str]] = ()
    if isinstance(grouping, ByMember):  # of a column of lists, which SQLite has not
        lists = columns[grouping.expression]
        columns = {name: column for name, column in columns.items() if name != grouping.expression}
        texts += [each.absent.format(*marks) for each in plan.statistics]
    keys = grouping.expressions if isinstance(grouping, ByKey) else ()
    found = _computed(columns, [plan.where or "1 = 1", *keys, *texts, *plan.centres])
    kept = np.array([bool(row[0]) for row in found], dtype=np.bool_)
    found = [row for row, keep in zip(found, kept, strict=True) if keep]
    groups = group = members = absent = key_texts = None
    if isinstance(grouping, ByMember):
        lists = [each for each, keep in zip(lists, kept, strict=True) if keep]
        groups = sorted({name for each in lists for name in each})
        members = [[groups.index(name) for name in each] for each in lists]
    elif grouping is not None:
        texts_of = [json.dumps([None if part is None else str(part) for part in row[1 : 1 + len(keys)]],
                               separators=(",", ":")) for row in found]  # fmt: skip
        key_texts = sorted(set(texts_of), key=key_label)
        groups = [key_label(text) for text in key_texts]
        group = [key_texts.index(text) for text in texts_of]
    d, first = len(plan.statistics), 1 + len(keys)
    width = len(texts) + len(plan.centres)
    numbers = np.array([row[first:] for row in found], dtype=np.float64).reshape(len(found), width)
    if members is not None:
        absent = numbers[:, d : 2 * d]
    recording = Recording.from_arrays(
        t_us[kept], site[kept], numbers[:, :d], absent=absent, group=group, members=members, sites=sites,
        groups=groups, centres=centres, statistics=[each.name for each in plan.statistics],
    )  # fmt: skip
    mixed = np.arange(len(found), dtype=np.int64) * np.int64(0x9E3779B97F4A7C15 - (1 << 64))  # keys like hashes
    names = recording.keys if key_texts is None else tuple(key_texts)
    return replace(recording, key=mixed, centred=numbers[:, len(texts) :], keys=names)


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
