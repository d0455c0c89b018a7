"""Windows at a site as lists of rows: every row is kept, and each window is told anew from its definition."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from tacit.language.plan import Window
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tests.twin.windows import period_start_us

SECOND = 1_000_000


@dataclass(frozen=True)
class Row:
    t: int
    hash: int
    key: str
    values: tuple[float, ...]


@dataclass
class Twin:
    """What a keeper must say."""

    window: Window
    rows: list[Row] = field(default_factory=list)  # that count
    history: list[Row] = field(default_factory=list)
    start_us: int | None = None
    backfilled: bool = False
    closed: int | None = None
    bare_from: int | None = None  # the first pane after those that passed before there was any row

    @property
    def pane_us(self) -> int:
        return self.window.every.duration_us or SECOND

    def add(self, rows: list[Row]) -> tuple[int, int]:
        """How many count and how many are late."""
        counted = late = 0
        for row in rows:
            if self.start_us is not None and row.t < self.start_us:
                continue
            if self.closed is not None and row.t // self.pane_us <= self.closed:
                late += 1
                continue
            counted += 1
            self.rows.append(row)
        return counted, late

    def start(self, from_us: int) -> None:
        self.start_us = from_us
        self.rows = [row for row in self.rows if row.t >= from_us]
        pane = from_us // self.pane_us
        self.closed = pane - 1 if self.closed is None else max(self.closed, pane - 1)

    def close_through(self, watermark_us: int) -> list[int]:
        new = watermark_us // self.pane_us - 1
        first = self.first if self.first is not None else new + 1
        begin = self.closed + 1 if self.closed is not None else first
        if self.closed is None and self.first is None:
            self.bare_from = new + 1
        if self.closed is None or new > self.closed:
            self.closed = new
            return list(range(begin, new + 1))
        return []

    @property
    def first(self) -> int | None:
        return min((row.t // self.pane_us for row in self.rows), default=None)

    def bounds(self, pane: int) -> tuple[int, int]:
        """How many rows in order are before the window and before its end."""
        ordered = self.ordered
        end_us = (pane + 1) * self.pane_us
        hi = sum(row.t < end_us for row in ordered)
        if self.window.every.rows is not None:
            hi -= hi % self.window.every.rows
        if self.window.kind == "all":
            return 0, hi
        if self.window.kind == "rows":
            return max(0, hi - self.window.rows), hi
        begin_us = self.begin_us(pane)
        return sum(row.t < begin_us for row in ordered), hi

    def begin_us(self, pane: int) -> int:
        end_us = (pane + 1) * self.pane_us
        if self.window.kind == "time":
            return end_us - self.window.duration_us
        return period_start_us(end_us - 1, self.window.unit)

    @property
    def ordered(self) -> list[Row]:
        return sorted(self.history + self.rows, key=lambda row: (row.t, row.hash))

    def sums(self, pane: int) -> dict[str, np.ndarray]:
        lo, hi = self.bounds(pane)
        sums: dict[str, np.ndarray] = {}
        for row in self.ordered[lo:hi]:
            sums[row.key] = sums.get(row.key, 0.0) + np.array(row.values)
        return sums

    def full_from(self) -> int | None:
        if self.window.kind == "rows":
            if self.backfilled and self.bounds(self.start_us // self.pane_us - 1)[1] >= self.window.rows:
                return self.start_us // self.pane_us
            panes = sorted({row.t // self.pane_us for row in self.rows})
            full = (pane for pane in panes if pane <= self.closed and self.bounds(pane)[1] >= self.window.rows)
            return None if self.closed is None else next(full, None)
        if self.start_us is not None:
            pane, known_us = self.start_us // self.pane_us, self.start_us
        elif self.bare_from is not None:
            pane, known_us = self.bare_from, self.bare_from * self.pane_us
        elif self.first is not None:
            pane, known_us = self.first, (self.first + 1) * self.pane_us
        else:
            return None
        if self.window.kind == "all" or self.backfilled:
            return pane
        while self.begin_us(pane) < known_us:
            pane += 1
        return pane


def pane_deltas(rows: list[Row], sub_us: int, d: int) -> PaneDeltas:
    """What Spark makes of a batch: sums by sub-pane and group, in no order."""
    keys = sorted({row.key for row in rows}, reverse=True)
    cells: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        cells.setdefault((row.t // sub_us, keys.index(row.key)), []).append(row)
    return PaneDeltas(
        sub=np.array([sub for sub, _ in cells], dtype=np.int64),
        group=np.array([group for _, group in cells], dtype=np.int64),
        rows=np.array([len(cell) for cell in cells.values()], dtype=np.int64),
        sums=np.array([np.sum([row.values for row in cell], axis=0) for cell in cells.values()]).reshape(len(cells), d),
        keys=tuple(keys),
    )


def row_block(rows: list[Row], d: int) -> RowBlock:
    """What Spark makes of a batch for a window of rows."""
    rows = sorted(rows, key=lambda row: (row.t, row.hash))
    keys = sorted({row.key for row in rows}, reverse=True)
    return RowBlock(
        t=np.array([row.t for row in rows], dtype=np.int64),
        hash=np.array([row.hash for row in rows], dtype=np.int64),
        group=np.array([keys.index(row.key) for row in rows], dtype=np.int64),
        values=np.array([row.values for row in rows]).reshape(len(rows), d),
        keys=tuple(keys),
    )
