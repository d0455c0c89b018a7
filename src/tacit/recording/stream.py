"""A prepared recording in memory: the events that pass WHERE, in total order, as arrays for kernels.

The files come from ``tacit.pipelines.prepare`` and are read through Arrow; there is no Spark here. Arrays own their
memory and are writable, because Numba compiles a second version of every kernel for read-only ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.vocabulary.errors import DataError

__all__ = ["Recording", "load"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Recording:
    """N events of d contributions each.

    ``t`` never falls. A grouped recording has either ``group`` (each event's one group) or ``member_ptr`` and
    ``member``: event k has the members ``member[member_ptr[k]:member_ptr[k + 1]]``, and adds ``present[k]`` to their
    groups and ``absent[k]`` to every other.
    """

    t: Longs  # (N,) microseconds since 1970, UTC
    site: Ints  # (N,) index into sites
    present: Floats  # (N, d)
    sites: tuple[str, ...]
    statistics: tuple[str, ...]
    absent: Floats | None = None  # (N, d)
    group: Ints | None = None  # (N,) index into groups
    member_ptr: Longs | None = None  # (N + 1,)
    member: Ints | None = None
    groups: tuple[str, ...] | None = None
    keys: tuple[str, ...] | None = None  # of GROUP BY: the keys of each group as one text, a JSON array
    centres: tuple[float, ...] = ()
    rows: int = 0  # rows with a time and a site
    kept: int = 0  # of these, rows that pass WHERE: N
    left_out: Mapping[str, int] = field(default_factory=dict)
    key: Longs | None = None  # (N,) rows with the least keys are sampled
    centred: Floats | None = None  # (N, k) values of the expressions that are centred; nan: none

    @property
    def dimension(self) -> int:
        """d, the number of statistics."""
        return int(self.present.shape[1])

    @cached_property
    def by_site(self) -> tuple[Longs, Longs]:
        """The permutation that puts rows site by site, and where each site starts (n + 1 offsets)."""
        site = self.site if len(self.sites) > 1 << 16 else self.site.astype(np.uint16)  # sorted by radix
        counts = np.bincount(self.site, minlength=len(self.sites))
        return np.argsort(site, kind="stable").astype(np.int64), np.append(0, np.cumsum(counts)).astype(np.int64)

    def __len__(self) -> int:
        return len(self.t)

    @classmethod
    def from_arrays(
        cls,
        t: npt.ArrayLike,
        site: npt.ArrayLike,
        present: npt.ArrayLike,
        *,
        absent: npt.ArrayLike | None = None,
        group: npt.ArrayLike | None = None,
        members: Sequence[Sequence[int]] | None = None,
        sites: Sequence[str] | None = None,
        groups: Sequence[str] | None = None,
        statistics: Sequence[str] | None = None,
        centres: Sequence[float] = (),
    ) -> Recording:
        """A recording from plain arrays, for tests and for data that never saw a file.

        >>> small = Recording.from_arrays(t=[0, 5, 5], site=[0, 1, 0], present=[[1.0], [2.0], [3.0]])
        >>> len(small), small.dimension, small.sites
        (3, 1, ('0', '1'))
        """
        times = np.array(t, np.int64)
        owners = np.array(site, np.int32)
        values = np.array(present, np.float64)
        values = values[:, None] if values.ndim == 1 else values
        lists = None if members is None else [np.unique(np.asarray(each, np.int32)) for each in members]
        keys = None if group is None else np.array(group, np.int32)
        member = None if lists is None else np.concatenate([np.empty(0, np.int32), *lists]).astype(np.int32)
        if groups is None and (keys is not None or member is not None):
            used = keys if keys is not None else member
            assert used is not None
            groups = [str(index) for index in range(int(used.max(initial=-1)) + 1)]
        if absent is None and lists is not None:
            absent = np.zeros(values.shape)
        recording = cls(
            t=times,
            site=owners,
            present=values,
            absent=None if absent is None else np.array(absent, np.float64).reshape(values.shape),
            group=keys,
            member_ptr=None if lists is None else np.cumsum([0, *map(len, lists)], dtype=np.int64),
            member=member,
            sites=tuple(sites) if sites is not None else _numbered(int(owners.max(initial=-1)) + 1),
            groups=None if groups is None else tuple(groups),
            keys=None if groups is None else tuple(json.dumps([name], ensure_ascii=False) for name in groups),
            statistics=tuple(statistics) if statistics is not None else _numbered(values.shape[1]),
            centres=tuple(centres),
            rows=len(times),
            kept=len(times),
            left_out={"no_time": 0, "no_site": 0},
        )
        recording.check()
        return recording

    def check(self) -> None:
        """DataError unless the arrays fit together, times never fall and every index has a name."""
        n = len(self.t)
        if self.site.shape != (n,) or len(self.present) != n or (self.group is not None and self.group.shape != (n,)):
            raise DataError("the arrays of the recording have different lengths")
        if self.present.shape[1] != len(self.statistics):
            raise DataError("the recording has other contributions than it has statistics")
        if (np.diff(self.t) < 0).any():
            raise DataError("the recording's events are not in the order of time")
        for what, indices, names in (
            ("site", self.site, self.sites),
            ("group", self.group, self.groups),
            ("group", self.member, self.groups),
        ):
            if indices is not None and len(indices) and not 0 <= indices.min() <= indices.max() < len(names or ()):
                raise DataError(f"an event of the recording has a {what} without a name")
        if (self.member_ptr is None) != (self.member is None) or (self.member_ptr is None) != (self.absent is None):
            raise DataError("a recording by members needs absent contributions, and only such a recording has them")
        if not (np.isfinite(self.present).all() and (self.absent is None or np.isfinite(self.absent).all())):
            raise DataError("a contribution of the recording is not finite")


def load(folder: Path | str) -> Recording:
    """Read a prepared recording: WHERE applied, and round robin counted before it."""
    folder = Path(folder)
    try:
        meta: dict[str, Any] = json.loads((folder / "meta.json").read_text(encoding="utf-8"))
        parts = sorted((folder / "events").glob("part-*.parquet"))
        table = pa.concat_tables([pq.read_table(part) for part in parts])
    except (OSError, ValueError, pa.ArrowException):
        raise DataError(f"{folder} is not a prepared recording") from None
    if table.num_rows != meta["rows"]:
        raise DataError(f"{folder} has {table.num_rows:,} of its {meta['rows']:,} rows; prepare it again")
    if meta["site_rule"]["kind"] == "round_robin":
        turns = np.arange(table.num_rows, dtype=np.int64) % int(meta["site_rule"]["count"])
        table = table.append_column("site", pa.array(turns, pa.int32()))
    if meta["kept"] != meta["rows"]:
        table = table.filter(table.column("keep"))
    dimension = len(meta["statistics"])
    by_member = meta["grouping"] == "member"
    member_ptr, member = _lists(table.column("members")) if by_member else (None, None)
    recording = Recording(
        t=_owned(table.column("t"), np.int64),
        site=_owned(table.column("site"), np.int32),
        present=_matrix(table, "p", dimension),
        absent=_matrix(table, "a", dimension) if by_member else None,
        group=_owned(table.column("grp"), np.int32) if meta["grouping"] == "key" else None,
        member_ptr=member_ptr,
        member=member,
        sites=tuple(meta["sites"]),
        groups=None if meta["groups"] is None else tuple(meta["groups"]),
        keys=None if meta["keys"] is None else tuple(meta["keys"]),
        statistics=tuple(meta["statistics"]),
        centres=tuple(meta["centres"]),
        rows=int(meta["rows"]),
        kept=int(meta["kept"]),
        left_out=dict(meta["left_out"]),
        key=_owned(table.column("key"), np.int64),
        centred=_matrix(table, "c", len(meta["centres"])),
    )
    recording.check()
    return recording


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(str(index) for index in range(count))


def _owned(column: pa.ChunkedArray, kind: type) -> Any:
    return np.array(column.to_numpy(), dtype=kind)


def _matrix(table: pa.Table, letter: str, dimension: int) -> Floats:
    values = np.empty((table.num_rows, dimension))
    for index in range(dimension):
        values[:, index] = table.column(f"{letter}{index}").to_numpy()
    return values


def _lists(column: pa.ChunkedArray) -> tuple[Longs, Ints]:
    """Offsets and values of a column of lists that holds no NULL."""
    values = [np.empty(0, np.int32)]
    lengths = [np.zeros(1, np.int64)]
    for chunk in column.chunks:
        values.append(chunk.flatten().to_numpy(zero_copy_only=False))
        lengths.append(np.diff(chunk.offsets.to_numpy()).astype(np.int64))
    return np.cumsum(np.concatenate(lengths)), np.concatenate(values).astype(np.int32)
