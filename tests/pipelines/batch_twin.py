"""A batch in plain Python: rows are tuples, sums are loops, and Spark's hash is written out from its definition."""

from __future__ import annotations

import json
import math
import struct
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

import numpy as np

from tacit.language.plan import WatchPlan
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows

__all__ = ["Expression", "Row", "Said", "xxhash64"]

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


@dataclass(frozen=True)
class Row:
    """One row of the table: ``t`` is its time in microseconds."""

    t: int | None
    k: str | None
    b: bool | None
    x: float | None
    n: int | None


Expression = Callable[[Row], float | int | bool | str | None]


@dataclass(frozen=True)
class Said:
    """A watch twice: as a plan for Spark, and as Python for the twin."""

    plan: WatchPlan
    where: Expression | None
    keys: tuple[Expression, ...]
    values: tuple[Callable[[Row, tuple[float, ...]], float], ...]
    centres: tuple[Expression, ...]

    def counts(self, row: Row) -> bool:
        return row.t is not None and (self.where is None or self.where(row) is True)

    def key(self, row: Row) -> str:
        return json.dumps([_text(key(row)) for key in self.keys], separators=(",", ":")) if self.keys else ""

    def pane_deltas(self, rows: list[Row], centres: tuple[float, ...], sub_us: int) -> PaneDeltas:
        found: dict[tuple[int, str], list[list[float]]] = defaultdict(list)
        for row in filter(self.counts, rows):
            found[row.t // sub_us, self.key(row)].append([value(row, centres) for value in self.values])  # type: ignore[operator]
        keys = tuple(sorted({key for _, key in found})) if self.keys else ("",)
        places = sorted((sub, keys.index(key)) for sub, key in found)
        lists = [found[sub, keys[group]] for sub, group in places]
        return PaneDeltas(
            np.array([sub for sub, _ in places], dtype=np.int64),
            np.array([group for _, group in places], dtype=np.int64),
            np.array([len(each) for each in lists], dtype=np.int64),
            np.array([[math.fsum(column) for column in zip(*each, strict=True)] for each in lists]).reshape(
                len(lists), len(self.values)
            ),
            keys,
        )

    def row_block(self, rows: list[Row], centres: tuple[float, ...]) -> RowBlock:
        kept = list(filter(self.counts, rows))
        keys = tuple(sorted({self.key(row) for row in kept})) if self.keys else ("",)
        listed = sorted(
            (row.t, row_hash(row), [value(row, centres) for value in self.values], keys.index(self.key(row)))
            for row in kept
        )
        return RowBlock(
            np.array([each[0] for each in listed], dtype=np.int64),
            np.array([each[1] for each in listed], dtype=np.int64),
            np.array([each[3] for each in listed], dtype=np.int64),
            np.array([each[2] for each in listed]).reshape(len(listed), len(self.values)),
            keys,
        )

    def sample(self, rows: list[Row], centres: tuple[float, ...], lo: int, hi: int, count: int) -> SampleRows:
        zero = (0.0,) * len(self.centres)
        found = []
        for row in filter(self.counts, rows):
            if lo <= row.t < hi:  # type: ignore[operator]
                at = [_double(each(row)) for each in self.centres]
                parts = [float(value(row, zero)) for value in self.values]
                key = xxhash64(row.t, *parts, *(None if math.isnan(each) else each for each in at))
                found.append((key, [value(row, centres) for value in self.values], at))
        found = sorted(found, key=lambda each: each[0])[:count]
        return SampleRows(
            np.array([each[0] for each in found], dtype=np.int64),
            np.array([each[1] for each in found]).reshape(len(found), len(self.values)),
            np.array([each[2] for each in found]).reshape(len(found), len(self.centres)),
        )

    def draw_centres(self, rows: list[Row]) -> tuple[float | None, ...]:
        drawn: list[float | None] = []
        for centre in self.centres:
            kept = [(row, _double(centre(row))) for row in rows if self.counts(row)]
            kept = [(row, value) for row, value in kept if math.isfinite(value)]
            least = (
                [min((xxhash64(row_hash(row), row.t, Int(k)), v) for row, v in kept) for k in range(7)] if kept else []
            )
            drawn.append(median(value for _, value in least) if kept else None)
        return tuple(drawn)


class Int(int):
    """A whole number of 32 bits: Spark hashes it in another way than one of 64."""


def row_hash(row: Row) -> int:
    """All columns but the time, by the order of their names."""
    return xxhash64(row.b, row.k, row.n, row.x)


def xxhash64(*values: float | int | bool | str | None) -> int:
    """Spark's: each value is hashed with the hash before it as the seed; NULL changes nothing."""
    seed = 42
    for value in values:
        if value is None:
            continue
        if isinstance(value, (bool, Int)):
            seed = _hash_bytes(struct.pack("<i", int(value)), seed)
        elif isinstance(value, str):
            seed = _hash_bytes(value.encode(), seed)
        elif isinstance(value, float):
            canonical = 0.0 if value == 0 else value
            seed = _hash_bytes(struct.pack("<d", canonical), seed)
        else:
            seed = _hash_bytes(struct.pack("<q", value), seed)
    return seed - (1 << 64) if seed >> 63 else seed


def _hash_bytes(data: bytes, seed: int) -> int:
    assert len(data) < 32
    code = (seed + P5 + len(data)) & MASK
    while len(data) >= 8:
        code ^= _rotate(int.from_bytes(data[:8], "little") * P2, 31) * P1 & MASK
        code, data = (_rotate(code, 27) * P1 + P4) & MASK, data[8:]
    if len(data) >= 4:
        code ^= int.from_bytes(data[:4], "little") * P1 & MASK
        code, data = (_rotate(code, 23) * P2 + P3) & MASK, data[4:]
    for byte in data:
        code = _rotate(code ^ byte * P5 & MASK, 11) * P1 & MASK
    code = (code ^ code >> 33) * P2 & MASK
    code = (code ^ code >> 29) * P3 & MASK
    return code ^ code >> 32


def _rotate(value: int, bits: int) -> int:
    value &= MASK
    return (value << bits | value >> 64 - bits) & MASK


def _double(value: object) -> float:
    return math.nan if value is None else float(value)  # type: ignore[arg-type]


def _text(value: float | int | bool | str | None) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else repr(value + 0.0)
    return str(value)
