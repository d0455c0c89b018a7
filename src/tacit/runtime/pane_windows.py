"""Windows of time at a live site: LAST duration, SINCE a calendar start, ALL.

Batches come as sums by sub-pane and group. Windows begin and end at two places of a pane only: at its end, and where
windows begin inside it (a time window that is not a whole number of panes, a calendar start). So a pane is kept in at
most two *pieces*, numbered along time. A time window is always the same number N of pieces; it is cut at the multiple
of N inside it. A window since a start, or of everything, is added up from its start on, and what lies before the
settled pane is folded into one sum.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from functools import partial
from math import gcd
from typing import Any

import numpy as np

from tacit.language.plan import Window
from tacit.runtime.blobs import pack_arrays, unpack_arrays
from tacit.runtime.pane_length import check_pieces
from tacit.runtime.window_keeper import FAR, Added, WindowKeeper
from tacit.vocabulary import BoolArray, FloatArray, IntArray
from tacit.vocabulary.batches import PaneDeltas
from tacit.vocabulary.calendar import DAY_US, FIXED_UNITS_US, period_start

__all__ = ["PaneKeeper"]

_PIECE = 600  # bytes of a piece beside what is in it

Piece = tuple[IntArray, IntArray, FloatArray]  # groups, rising; how many rows of each; their sums


class PaneKeeper(WindowKeeper):
    """Windows of time, of sums by sub-pane."""

    sub_us: int

    def __init__(
        self, window: Window, dimension: int, keys: Sequence[str] = (), *, template: bool = False, sparse: bool = False
    ) -> None:
        super().__init__(window, dimension, keys, template=template, sparse=sparse)
        self.sub_us = _sub_us(window, self.pane_us)
        length = int(window.duration_us or 0)
        rest = length % self.pane_us if window.kind == "time" else 0
        self._cut_us = self.pane_us - rest if rest else 0  # where in a pane time windows begin
        self._per_pane = 2 if rest or window.kind == "since" else 1
        self._pieces_in = self._per_pane * (length // self.pane_us) + (1 if rest else 0)
        self._open: dict[int, Piece] = {}  # pieces of panes that are not closed
        self._order: list[int] = []  # their numbers, as a heap
        self._open_entries = 0

    def add(self, deltas: PaneDeltas) -> Added:
        """Sums of a batch. Rows of closed panes are late: they are counted and dropped."""
        times = deltas.sub * self.sub_us
        rows = self._counted(deltas.group, deltas.keys, deltas.rows)
        fresh, late = self._sort_out(times, rows)
        fresh &= deltas.rows > 0
        self._saw(times[fresh])
        new = self._keep(deltas, rows, fresh)
        return Added(int(rows[fresh].sum()), late, new)

    def _add_history(self, deltas: PaneDeltas, until_us: int) -> None:
        times = deltas.sub * self.sub_us
        wanted = (times < until_us) & (deltas.rows > 0)
        if self.window.kind == "time":
            wanted &= times >= until_us - int(self.window.duration_us or 0)
        elif self.window.kind == "since":
            wanted &= times >= period_start(np.array([until_us - 1]), self.window.unit or "day")[0]
        self._keep(deltas, self._counted(deltas.group, deltas.keys, deltas.rows), wanted)

    def _keep(self, deltas: PaneDeltas, counted: IntArray, which: BoolArray) -> tuple[str, ...]:
        if not which.any():
            return ()
        group, new = self._groups.local(deltas.group[which], deltas.keys)
        sub, rows, sums = deltas.sub[which], counted[which], deltas.sums[which]
        piece = self._piece(sub * self.sub_us)
        order = np.lexsort((sub, group, piece))
        piece, group, rows, sums = _added_up(piece[order], group[order], rows[order], sums[order])
        starts = np.flatnonzero(np.append(True, piece[1:] != piece[:-1]))
        ends = np.append(starts[1:], len(piece))
        for number, lo, hi in zip(piece[starts].tolist(), starts.tolist(), ends.tolist(), strict=True):
            entries = (group[lo:hi], rows[lo:hi], sums[lo:hi])
            old = self._open.get(number)
            if old is None:
                heapq.heappush(self._order, number)
            else:
                entries = _merged(old, entries)
                self._open_entries -= len(old[0])
            self._open_entries += len(entries[0])
            self._open[number] = entries
            self._pieces.put(f"sub/{number}", partial(pack_arrays, entries[:2], entries[2]))
        return new

    def _piece(self, times: IntArray) -> IntArray:
        """The number of the piece that holds each time."""
        pane = times // self.pane_us
        if self._per_pane == 1:
            return pane
        if self.window.kind == "time":
            return np.asarray(2 * pane + (times - pane * self.pane_us >= self._cut_us))
        panes, where = np.unique(pane, return_inverse=True)
        last_start = period_start((panes + 1) * self.pane_us - 1, self.window.unit or "day")
        return np.asarray(2 * pane + (times >= last_start[where]))

    def _take_in(self, end_us: int) -> None:
        end = end_us // self.pane_us * self._per_pane
        closing = []
        while self._order and self._order[0] < end:
            closing.append(heapq.heappop(self._order))
        if closing:
            pieces = [self._open.pop(number) for number in closing]
            at = np.repeat(np.array(closing), [len(piece[0]) for piece in pieces])
            group, rows, sums = (np.concatenate(column) for column in zip(*pieces, strict=True))
            self._open_entries -= len(group)
            self._log.append(at, group, rows, sums)

    def _drop_open_before(self, from_us: int) -> None:
        lo, hi = self._log.front, self._log.end
        end = from_us // self.pane_us * self._per_pane
        at, (group, sums), rows = self._log.at(lo, hi), self._log.entries(lo, hi), self._log.rows(lo, hi)
        stay = at >= end
        self._dropped(lo, lo + int(np.count_nonzero(~stay)))
        self._new_log(0)
        self._log.append(at[stay], group[stay], rows[stay], sums[stay])
        for number in [number for number in self._open if number < end]:
            self._open_entries -= len(self._open.pop(number)[0])
            self._pieces.delete(f"sub/{number}")
        self._order = sorted(self._open)
        numbers = [*self._order[:1], *at[stay].tolist()[:1]]
        self.first = min(numbers) // self._per_pane if numbers else None

    def _ranges(self, panes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        end = (panes + 1) * self._per_pane
        count = len(panes)
        if self.window.kind == "time":
            found = self._log.find(
                np.concatenate([end - self._pieces_in, end // self._pieces_in * self._pieces_in, end])
            )
            lo, cut, hi = found[:count], found[count : 2 * count], found[2 * count :]
            return lo, cut, hi
        if self.window.kind == "all":
            lo = np.zeros(count, dtype=np.int64)
            return lo, lo, self._log.find(end)
        home = period_start((panes + 1) * self.pane_us - 1, self.window.unit or "day") // self.pane_us
        found = self._log.find(np.concatenate([2 * home + 1, end]))
        lo = found[:count]
        if self._folded is not None:
            lo = np.where(home < self._folded, self._base_cut, lo)
        return lo, lo, found[count:]

    def _changes_after(self, pane: int, lo: int, cut: int, hi: int) -> int:
        log, per_pane = self._log, self._per_pane
        comes = int(log.at(hi, hi + 1)[0]) // per_pane if hi < log.end else FAR
        if lo >= hi or self.window.kind == "all":  # what is empty stays so
            return comes
        if self.window.kind == "since":
            instant = np.array([(pane + 1) * self.pane_us - 1])
            starts = int(period_start(instant, self.window.unit or "day", next_one=True)[0])
            return min(comes, starts // self.pane_us)
        leaves = (int(log.at(lo, lo + 1)[0]) + self._pieces_in) // per_pane
        turns = ((pane + 1) * per_pane // self._pieces_in + 1) * self._pieces_in
        return min(comes, leaves, -(-turns // per_pane) - 1)

    @property
    def first_open(self) -> int | None:
        """The pane of the first row that is not closed."""
        return self._order[0] // self._per_pane if self._order else None

    @property
    def _open_bytes(self) -> int:
        return len(self._open) * _PIECE + self._open_entries * (16 + 8 * self.dimension)

    def _dropped(self, lo: int, hi: int) -> None:
        for number in np.unique(self._log.at(lo, hi)).tolist():
            self._pieces.delete(f"sub/{number}")

    def _groups_in_use(self) -> BoolArray:
        used = super()._groups_in_use()
        for group, _, _ in self._open.values():
            used[group] = True
        return used

    def _renumber(self, numbers: IntArray) -> None:
        """Pieces are saved anew, with the new numbers."""
        super()._renumber(numbers)
        lo, hi = self._log.front, self._log.end
        at, (group, sums), rows = self._log.at(lo, hi), self._log.entries(lo, hi), self._log.rows(lo, hi)
        cuts = np.flatnonzero(np.diff(at)) + 1
        for begin, end in zip([0, *cuts.tolist()], [*cuts.tolist(), len(at)], strict=True):
            if begin < end:
                entries = (group[begin:end].copy(), rows[begin:end].copy())
                name = f"sub/{int(at[begin])}"
                self._pieces.put(name, partial(pack_arrays, entries, sums[begin:end].copy()))
        for number, (groups, counted, added) in self._open.items():
            self._open[number] = (numbers[groups], counted, added)
            self._pieces.put(f"sub/{number}", partial(pack_arrays, self._open[number][:2], added))

    def _restore_rows(self, saved: Mapping[str, bytes], meta: Mapping[str, Any]) -> None:
        for number in sorted(int(key.removeprefix("sub/")) for key in saved if key.startswith("sub/")):
            (group, rows), sums = unpack_arrays(f"sub/{number}", saved[f"sub/{number}"], 2, self.dimension)
            self._groups.check(group)
            self._open[number] = (group, rows, sums)
            self._open_entries += len(group)
            self._order.append(number)


def _merged(old: Piece, new: Piece) -> Piece:
    """One entry per group; what was there first is added first."""
    group, rows, sums = (np.concatenate(column) for column in zip(old, new, strict=True))
    order = np.argsort(group, kind="stable")
    _, group, rows, sums = _added_up(np.zeros_like(group), group[order], rows[order], sums[order])
    return group, rows, sums


def _added_up(
    piece: IntArray, group: IntArray, rows: IntArray, sums: FloatArray
) -> tuple[IntArray, IntArray, IntArray, FloatArray]:
    """Neighbours of the same piece and group as one entry."""
    starts = np.flatnonzero(np.append(True, (piece[1:] != piece[:-1]) | (group[1:] != group[:-1])))
    if len(starts) == len(group):
        return piece, group, rows, sums
    return piece[starts], group[starts], np.add.reduceat(rows, starts), np.add.reduceat(sums, starts, axis=0)


def _sub_us(window: Window, pane_us: int) -> int:
    """g: panes and windows begin and end at its multiples."""
    if window.kind == "all":
        return pane_us
    if window.kind == "since":  # starts of weeks, months and years are starts of days
        return gcd(pane_us, FIXED_UNITS_US.get(window.unit or "day", DAY_US))
    length = int(window.duration_us or 0)
    check_pieces(window)
    return gcd(pane_us, length)
