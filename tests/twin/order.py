"""The total order of rows and the sites they belong to, as docs/REPLAY.md tells it, in plain Python.

Rows are ordered by their time and then by a hash of their other columns, which is Spark's ``xxhash64``: columns in the
order of their names, each hashed with the hash so far as its seed, a NULL leaving it as it is.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

Row = dict[str, Any]

EPOCH = datetime(1970, 1, 1)
SPARK_SEED = 42
_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


@dataclass(frozen=True, slots=True)
class Ordered:
    """The rows that have a time and a site, in total order; ``site[i]`` is the number of the site of row i."""

    rows: list[Row]
    time_us: list[int]
    site: list[int]
    sites: int


def in_order(rows: list[Row], *, site: str, time: str) -> Ordered:
    """Put rows in total order and give them to sites, by ``COLUMN``, ``hash:COLUMN:N`` or ``round_robin:N``."""
    kind, _, rest = site.partition(":")
    column = rest.rpartition(":")[0] if kind == "hash" else site if not rest else None
    known = [row for row in rows if row[time] is not None and (column is None or row[column] is not None)]
    keyed = [(micros(row[time]), row_hash(row, without=time), row) for row in known]
    keyed.sort(key=lambda entry: entry[:2])
    ordered = [row for _, _, row in keyed]
    if column is None:
        count = int(rest)
        numbers = [place % count for place in range(len(ordered))]
    elif kind == "hash":
        count = int(rest.rpartition(":")[2])
        numbers = [signed(hash_value(row[column], SPARK_SEED)) % count for row in ordered]
    else:
        names = sorted({str(row[column]) for row in ordered})
        count = len(names)
        numbers = [names.index(str(row[column])) for row in ordered]
    return Ordered(ordered, [time_us for time_us, _, _ in keyed], numbers, count)


def micros(moment: datetime | float) -> int:
    """Microseconds since 1970 of a timestamp in UTC, or of a number of seconds."""
    if isinstance(moment, datetime):
        return (moment - EPOCH) // timedelta(microseconds=1)
    return round(moment * 1_000_000)


def row_hash(row: Row, *, without: str) -> int:
    """Spark's hash of a row's columns but one, as a signed number of 64 bits."""
    seed = SPARK_SEED
    for name in sorted(row):
        if name != without:
            seed = hash_value(row[name], seed)
    return signed(seed)


def hash_value(value: Any, seed: int) -> int:
    """Spark's hash of one value: whole numbers as bigint, fractions as double, lists member by member."""
    if value is None:
        return seed
    if isinstance(value, list):
        for member in value:
            seed = hash_value(member, seed)
        return seed
    if isinstance(value, str):
        return xxhash64(value.encode(), seed)
    if isinstance(value, float):
        one_nan_one_zero = math.nan if math.isnan(value) else value + 0.0
        return xxhash64(struct.pack("<d", one_nan_one_zero), seed)
    return xxhash64(struct.pack("<q", value), seed)


def signed(number: int) -> int:
    """An unsigned number of 64 bits as Java reads it.

    >>> signed(2**64 - 1)
    -1
    """
    return number - (1 << 64) if number >= 1 << 63 else number


def xxhash64(data: bytes, seed: int) -> int:
    """XXH64 as its specification writes it: https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md

    >>> hex(xxhash64(b"", 0))
    '0xef46db3751d8e999'
    """
    place, size = 0, len(data)
    if size >= 32:
        lanes = [(seed + _P1 + _P2) & _MASK, (seed + _P2) & _MASK, seed, (seed - _P1) & _MASK]
        while place <= size - 32:
            for k in range(4):
                lanes[k] = _round(lanes[k], struct.unpack_from("<Q", data, place)[0])
                place += 8
        mixed = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _MASK
        for lane in lanes:
            mixed = ((mixed ^ _round(0, lane)) * _P1 + _P4) & _MASK
    else:
        mixed = (seed + _P5) & _MASK
    mixed = (mixed + size) & _MASK
    while place <= size - 8:
        mixed ^= _round(0, struct.unpack_from("<Q", data, place)[0])
        mixed = (_rotate(mixed, 27) * _P1 + _P4) & _MASK
        place += 8
    if place <= size - 4:
        mixed ^= struct.unpack_from("<I", data, place)[0] * _P1 & _MASK
        mixed = (_rotate(mixed, 23) * _P2 + _P3) & _MASK
        place += 4
    for byte in data[place:]:
        mixed ^= byte * _P5 & _MASK
        mixed = _rotate(mixed, 11) * _P1 & _MASK
    mixed = (mixed ^ mixed >> 33) * _P2 & _MASK
    mixed = (mixed ^ mixed >> 29) * _P3 & _MASK
    return mixed ^ mixed >> 32


def _rotate(number: int, by: int) -> int:
    return (number << by | number >> (64 - by)) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK, 31) * _P1 & _MASK
