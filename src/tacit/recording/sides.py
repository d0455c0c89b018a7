"""Recordings of the two sides of an inner product, as one; and which data is whose.

A watch on two tables gets its data as ``table=path``; a watch on one as before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.language.plan import WatchPlan
from tacit.recording.stream import Recording, load
from tacit.vocabulary.errors import OptionError

__all__ = ["data_of_tables", "join_sides", "load_recorded", "part_folders"]

_NAMED = re.compile(r"(\w+)=(.+)", re.DOTALL)


def part_folders(place: Path, parts: int) -> tuple[Path, ...]:
    """Where the recordings of a watch are: in its folder, or one below it for each side."""
    return (place,) if parts == 1 else tuple(place / f"side-{number}" for number in range(parts))


def load_recorded(place: Path) -> Recording:
    """The recording in a folder, of one table or of two sides."""
    parts = part_folders(place, 2)
    return join_sides(load(parts[0]), load(parts[1])) if parts[0].is_dir() else load(place)


def join_sides(first: Recording, second: Recording) -> Recording:
    """Both recordings in one order of time; the contribution of a row is the number of its side, 0 or 1.

    >>> one = Recording.from_arrays(t=[0, 5], site=[0, 0], present=[1.0, 1.0], group=[0, 1], groups=["a", "b"])
    >>> two = Recording.from_arrays(t=[3], site=[0], present=[1.0], group=[0], groups=["b"], sites=["1"])
    >>> both = join_sides(one, two)
    >>> both.t, both.present[:, 0], [both.groups[g] for g in both.group], both.sites
    (array([0, 3, 5]), array([0., 1., 0.]), ['a', 'b', 'b'], ('0', '1'))
    """
    parts = (first, second)
    sites = tuple(dict.fromkeys(name for part in parts for name in part.sites))
    keys = tuple(dict.fromkeys(key for part in parts for key in part.keys or ()))
    names = dict(pair for part in parts for pair in zip(part.keys or (), part.groups or (), strict=True))
    site_at, key_at = ({name: at for at, name in enumerate(each)} for each in (sites, keys))
    t = np.concatenate([part.t for part in parts])
    order = np.argsort(t, kind="stable")
    site = [np.array([site_at[name] for name in part.sites], dtype=np.int32)[part.site] for part in parts]
    group = [np.array([key_at[key] for key in part.keys or ()], dtype=np.int32)[part.group] for part in parts]
    side = np.repeat([0.0, 1.0], [len(part.t) for part in parts])
    left_out = {name: sum(part.left_out.get(name, 0) for part in parts) for name in first.left_out}
    return replace(
        first,
        t=t[order],
        site=np.concatenate(site)[order],
        present=side[order][:, None],
        group=np.concatenate(group)[order],
        sites=sites,
        groups=tuple(names[key] for key in keys),
        keys=keys,
        statistics=("side",),
        rows=first.rows + second.rows,
        kept=first.kept + second.kept,
        left_out=left_out,
        key=None,
        centred=None,
    )


def data_of_tables(plan: WatchPlan, data: Any) -> dict[str, Any]:
    """The data of each table of the watch.

    >>> from types import SimpleNamespace
    >>> def plan_of(*tables):
    ...     return SimpleNamespace(name="w", table=tables[0], tables=tables)
    >>> data_of_tables(plan_of("one"), ["a.parquet"])
    {'one': ['a.parquet']}
    >>> data_of_tables(plan_of("one", "two"), ["one=a.parquet", "two=b.parquet", "two=c.parquet"])
    {'one': ['a.parquet'], 'two': ['b.parquet', 'c.parquet']}
    >>> data_of_tables(plan_of("one", "two"), ["a.parquet"])
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: w reads one and two; say whose data it is: --data one=PATH --data two=PATH
    """
    if isinstance(data, Mapping):
        found = dict(data)
    else:
        listed = data if isinstance(data, (list, tuple)) else [data]
        named = [_NAMED.fullmatch(each) if isinstance(each, str) else None for each in listed]
        if not any(each is not None and each[1] in plan.tables for each in named):
            found = {plan.table: data}
        else:
            found = {}
            for each, whole in zip(named, listed, strict=True):
                if each is None or each[1] not in plan.tables:
                    raise OptionError(f"{whole}: {plan.name} reads {' and '.join(plan.tables)}; write TABLE=PATH")
                found.setdefault(each[1], []).append(each[2])
    if set(found) != set(plan.tables):
        options = " ".join(f"--data {table}=PATH" for table in plan.tables)
        raise OptionError(f"{plan.name} reads {' and '.join(plan.tables)}; say whose data it is: {options}")
    return found
