"""Windows by rows at a live site: LAST n ROWS, and any window that steps EVERY k ROWS.

Rows are in order of (time, hash). Rows of open panes wait; when a pane closes, its rows get their numbers, and the
window at its end is the last n rows so far, or, with EVERY k ROWS, those up to the last multiple of k. A window of n
rows is cut at the multiple of n inside it. What steps by rows is looked at by the clock, in panes of a second.

Under GROUP BY EACH a row is several entries of the log, that of group 0 first (``row_places.py``).
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tacit.language.plan import Window
from tacit.runtime.blobs import pack_arrays, unpack_arrays
from tacit.runtime.row_places import RowPlaces
from tacit.runtime.window_keeper import FAR, Added, WindowKeeper
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError
from tacit.vocabulary.batches import RowBlock

__all__ = ["RowKeeper"]

Block = tuple[IntArray, IntArray, IntArray, FloatArray]  # time, hash, group, values


class RowKeeper(WindowKeeper):
    """Windows of rows, kept row by row."""

    def __init__(
        self, window: Window, dimension: int, keys: Sequence[str] = (), *, template: bool = False, sparse: bool = False
    ) -> None:
        super().__init__(window, dimension, keys, template=template, sparse=sparse)
        self._open: list[Block] = []
        self._blocks: list[tuple[int, int]] = []  # of every saved block: its last time and its number, as a heap
        self._next_block = 0
        self._history = 0
        self._full: int | None = None

    def add(self, deltas: RowBlock) -> Added:
        """Rows of a batch. Rows of closed panes are late: they are counted and dropped."""
        rows = self._counted(deltas.group, deltas.keys, np.ones_like(deltas.group))
        fresh, late = self._sort_out(deltas.t, rows)
        self._saw(deltas.t[fresh])
        return Added(int(rows[fresh].sum()), late, self._keep(deltas, fresh))

    def full_from(self, window: Window | None = None) -> int | None:
        """The first pane at whose end the window holds all the rows it may; of everything, the start."""
        return super().full_from() if self.window.kind == "all" else self._full

    def _add_history(self, deltas: RowBlock, until_us: int) -> None:
        wanted = deltas.t < until_us
        self._keep(deltas, wanted)
        rows = self._counted(deltas.group, deltas.keys, np.ones_like(deltas.group))
        self._history += int(rows[wanted].sum())
        if self._history >= self._rows_when_full():
            self._full = until_us // self.pane_us

    def _keep(self, deltas: RowBlock, which: BoolArray) -> tuple[str, ...]:
        group, new = self._groups.local(deltas.group[which], deltas.keys)
        self._keep_block((deltas.t[which], deltas.hash[which], group, deltas.values[which]))
        return new

    def _keep_block(self, block: Block) -> None:
        if len(block[0]):
            self._open.append(block)
            self._pieces.put(f"rows/{self._next_block}", partial(pack_arrays, block[:3], block[3]))
            heapq.heappush(self._blocks, (int(block[0].max()), self._next_block))
            self._next_block += 1

    def _take_in(self, end_us: int) -> None:
        if not any((block[0] < end_us).any() for block in self._open):
            return
        block = _joined(self._open)
        rest, (t, _, group, values) = _split(block, end_us)
        self._open = [rest] if len(rest[0]) else []
        rows = (group == 0).astype(np.int64) if self.template else np.ones(len(t), dtype=np.int64)
        if self.template:
            self._places.append(self._log.end + np.flatnonzero(rows))
        self._log.append(t, group, rows, values)
        full = self._rows_when_full()
        if self._full is None and self.window.kind == "rows" and self._row_at(np.array([self._log.end]))[0] >= full:
            place = int(self._place_of(np.array([full - 1]))[0])
            self._full = int(self._log.at(place, place + 1)[0]) // self.pane_us

    def _rows_when_full(self) -> int:
        rows, step = int(self.window.rows or 0), self.window.every.rows or 1
        return -(-rows // step) * step

    def _drop_open_before(self, from_us: int) -> None:
        """Begin anew with the rows that stay, and save them anew: a saved block may hold rows from both sides."""
        lo, hi = self._log.front, self._log.end
        group, values = self._log.entries(lo, hi)
        in_order = np.arange(hi - lo)  # as good as their hashes: rows of one time are all closed or all open
        blocks = [(self._log.at(lo, hi), in_order, group, values), *self._open]
        for _, number in self._blocks:
            self._pieces.delete(f"rows/{number}")
        self._open, self._blocks, self._full, self.first = [], [], None, None
        self._new_log(0)
        for block in blocks:
            stays = block[0] >= from_us
            self._keep_block((block[0][stays], block[1][stays], block[2][stays], block[3][stays]))
            self._saw(block[0][stays])

    def _ranges(self, panes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        hi = self._row_at(self._log.find((panes + 1) * self.pane_us))
        if self.window.every.rows is not None:
            hi = hi // self.window.every.rows * self.window.every.rows
        if self.window.kind == "all":
            lo = np.zeros_like(hi)
            return lo, lo, self._place_of(hi)
        rows = int(self.window.rows or 1)
        return self._place_of(np.maximum(hi - rows, 0)), self._place_of(hi // rows * rows), self._place_of(hi)

    def _row_at(self, places: IntArray) -> IntArray:
        """How many rows there are before these places of the log, since the first one."""
        return self._places.rows_before(places) if self.template else places

    def _place_of(self, rows: IntArray) -> IntArray:
        """Where in the log these rows begin, by their numbers."""
        return self._places.of(rows, self._log.end) if self.template else rows

    def _new_log(self, front: int) -> None:
        super()._new_log(front)
        self._places = RowPlaces()

    def _changes_after(self, pane: int, lo: int, cut: int, hi: int) -> int:
        """Only a row that comes lets another one leave."""
        last = int(self._log.find(np.array([(pane + 1) * self.pane_us]))[0])
        return int(self._log.at(last, last + 1)[0]) // self.pane_us if last < self._log.end else FAR

    @property
    def first_open(self) -> int | None:
        """The pane of the first row that is not closed."""
        return min((int(block[0].min()) // self.pane_us for block in self._open), default=None)

    @property
    def _open_bytes(self) -> int:
        return sum(sum(column.nbytes for column in block) for block in self._open)

    def _dropped(self, lo: int, hi: int) -> None:
        stays_us = int(self._log.at(hi, hi + 1)[0]) if hi < self._log.end else (self.open_from_us or 0)
        while self._blocks and self._blocks[0][0] < stays_us:
            self._pieces.delete(f"rows/{heapq.heappop(self._blocks)[1]}")
        if self.template:
            self._places.drop_before(hi)

    def _more_meta(self) -> dict[str, Any]:
        return {
            "next_block": self._next_block,
            "history": self._history,
            "full": self._full,
            "front": self._log.front,
            "end": self._log.end,
            **({"front_row": self._places.first} if self.template else {}),
        }

    def drop_groups(self) -> bool:
        """Windows of rows hold few groups, and keep their keys."""
        return False

    def _restore_rows(self, saved: Mapping[str, bytes], meta: Mapping[str, Any]) -> None:
        self._next_block, self._history, self._full = meta["next_block"], meta["history"], meta["full"]
        self._places = RowPlaces(meta.get("front_row", 0))
        for number in sorted(int(key.removeprefix("rows/")) for key in saved if key.startswith("rows/")):
            (t, hashes, group), values = unpack_arrays(f"rows/{number}", saved[f"rows/{number}"], 3, self.dimension)
            self._groups.check(group)
            self._open.append((t, hashes, group, values))
            heapq.heappush(self._blocks, (int(t.max()), number))
        if self._has_closed and self._open:  # rows that were forgotten may still be in blocks with others
            rest, closed = _split(_joined(self._open), self.open_from_us or 0)
            first = len(closed[0]) - (meta["end"] - meta["front"])
            self._open = [rest, (closed[0][first:], closed[1][first:], closed[2][first:], closed[3][first:])]
        held = sum(len(block[0]) for block in self._open)
        if held < meta["end"] - meta["front"]:
            raise ProtocolError("saved rows of a watch are missing; delete this site's state and start again")


def _joined(blocks: Sequence[Block]) -> Block:
    t, hashes, group, values = (np.concatenate(column) for column in zip(*blocks, strict=True))
    return t, hashes, group, values


def _split(block: Block, end_us: int) -> tuple[Block, Block]:
    """The rows from a time on; and those before it, in order of (time, hash), rows alike in both as they came."""
    t, hashes, group, values = block
    rest = t >= end_us
    before = np.flatnonzero(~rest)
    before = before[np.lexsort((hashes[before], t[before]))]
    return (t[rest], hashes[rest], group[rest], values[rest]), (
        t[before],
        hashes[before],
        group[before],
        values[before],
    )
