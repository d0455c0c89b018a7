"""The windows of one watch at one site, live: what every kind of window has in common.

Rows come in batches, in any order; the watermark closes panes; the sums of a window at the end of a closed pane are
asked for until that pane is settled. As in a replay with ``--step pane`` (``recording/updates.py``) a window is a range
lo:hi of a site's rows in order, so pane p changed when its range is not that of pane p - 1.

Under GROUP BY EACH (``template``) a row is an entry of group 0, which counts it, and one of each group whose member it
has, which count none.

What a batch changed is handed over as pieces to be saved in one transaction (``changes``, then ``saved``). A keeper
that is restored from them gives the same sums, to the bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tacit.language.plan import SECOND_US, Window
from tacit.protocols.topk.key_table import KeyTable
from tacit.runtime.blobs import Change, Pieces, pack_record, unpack_record
from tacit.runtime.entry_log import EntryLog
from tacit.runtime.folded import drop_base, put_base, restored_base
from tacit.runtime.group_numbers import GroupNumbers
from tacit.runtime.sliding_sums import SlidingSums
from tacit.runtime.sparse_sums import SparseSums
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tacit.vocabulary.calendar import period_start

__all__ = ["CROWDED", "FAR", "Added", "WindowKeeper"]

_AHEAD = 256  # ranges of so many panes are looked up at once
CROWDED = 1 << 16
FAR = 1 << 61  # a pane after all
_FORGET = 64  # entries are forgotten by so many: a piece of state is written for it


@dataclass(frozen=True, slots=True)
class Added:
    """What became of a batch: rows that count, rows that came too late, and the groups seen for the first time."""

    rows: int
    late: int
    new_groups: tuple[str, ...]


class WindowKeeper(ABC):
    """Panes, late rows and window sums. Times are microseconds since 1970, UTC.

    A ``sparse`` keeper says what changes from pane to pane (``step``), others the sums of all groups (``vector``).
    """

    sub_us: int | None = None  # the length of sub-panes for ``PaneDeltas``; None: ``RowBlock`` is taken

    def __init__(
        self, window: Window, dimension: int, keys: Sequence[str] = (), *, template: bool = False, sparse: bool = False
    ) -> None:
        self.window, self.dimension, self.template, self.sparse = window, dimension, template, sparse
        self.pane_us: int = window.every.duration_us or SECOND_US
        self.first: int | None = None
        self.closed: int | None = None
        self.due_us: int | None = None  # how far the table's time had come before the batch
        self._start_us: int | None = None
        self._begin: int | None = None  # the first pane that can be asked for
        self._settled: int | None = None
        self._bare = False  # panes had passed by the clock before there was any row
        self._backfilled = False
        self._groups = GroupNumbers(keys)
        self._found: list[tuple[int, int, int]] = []  # ranges that were looked up
        self._found_from = 0  # and the pane of the first of them
        self._folded: int | None = None  # panes before this one are in the base
        self._base_cut = self._base_rows = 0
        self._sums: SlidingSums | SparseSums
        self._again: SlidingSums | None = None
        self._new_log(0)
        self._pieces = Pieces()
        self._meta: dict[str, Any] = {}  # as it was handed over last
        self._crowded = CROWDED  # groups at which it is worth a look whether some can go

    # What the kinds of windows differ in

    @abstractmethod
    def add(self, deltas: Any) -> Added:
        """Rows of a batch. Rows of closed panes are late: they are counted and dropped."""

    @abstractmethod
    def _add_history(self, deltas: Any, until_us: int) -> None: ...

    @abstractmethod
    def _take_in(self, end_us: int) -> None:
        """Move what is before ``end_us`` into the log."""

    @abstractmethod
    def _drop_open_before(self, from_us: int) -> None: ...

    @abstractmethod
    def _ranges(self, panes: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """lo, cut and hi of these panes' windows in the log."""

    @abstractmethod
    def _changes_after(self, pane: int, lo: int, cut: int, hi: int) -> int:
        """The first pane after this one at which its range lo, cut, hi may be another, for all rows that are closed."""

    @property
    @abstractmethod
    def first_open(self) -> int | None:
        """The pane of the first row that is not closed."""

    @property
    @abstractmethod
    def _open_bytes(self) -> int:
        """What rows of open panes take up."""

    @abstractmethod
    def _dropped(self, lo: int, hi: int) -> None:
        """The entries lo:hi of the log are about to go: their saved pieces may go, too."""

    @abstractmethod
    def _restore_rows(self, saved: Mapping[str, bytes], meta: Mapping[str, Any]) -> None: ...

    def _more_meta(self) -> dict[str, Any]:
        return {}

    @property
    def keys(self) -> KeyTable:
        """The groups seen so far; a group's number is its place here."""
        return self._groups.keys

    # The clock of panes

    @property
    def open_from_us(self) -> int | None:
        """Rows before this are late (or, before the start, not counted at all); None: no row is late yet."""
        return None if self.closed is None else (self.closed + 1) * self.pane_us

    @property
    def late_before_us(self) -> int | None:
        """Rows before this are late: in panes that are closed, or that the table's own rows would have closed.

        A pane that is held back (pacing.py) takes no more rows than one that is not: what is late must not depend on
        how fast panes pass.
        """
        if self.closed is None or self.due_us is None:
            return self.open_from_us
        return max((self.closed + 1) * self.pane_us, self.due_us // self.pane_us * self.pane_us)

    @property
    def oldest(self) -> int | None:
        """The oldest pane whose vector can be given; closed + 1 if there is none, None before the first close."""
        if self._begin is None or self.closed is None:
            return None
        return min(max(self._begin, self._settled if self._settled is not None else self._begin), self.closed + 1)

    @property
    def begin(self) -> int | None:
        """The first pane that could ever be asked for: that of the first row, or of the start."""
        return self._begin

    @property
    def started_at(self) -> int | None:
        """The pane that the watch was started at; None when it has had the table's rows from the first on."""
        if self._start_us is None:
            return None
        return self._begin if self._backfilled else self._start_us // self.pane_us

    @property
    def start_us(self) -> int | None:
        """Where it was started; None when it has had the table's rows from the first on."""
        return self._start_us

    @property
    def backfilled(self) -> bool:
        """Did history come before the start?"""
        return self._backfilled

    def number(self, key: str) -> int:
        """The local number of a group, which gets one if it has none."""
        return self._groups.number([key])[0]

    def start(self, from_us: int) -> None:
        """Begin at the start of a pane: earlier rows do not count, and are not late either."""
        if from_us % self.pane_us:
            raise ProtocolError(
                f"a watch begins with a pane, and {from_us} is inside one of {self.pane_us} microseconds"
            )
        if self._settled is not None or self._backfilled or (self._start_us is not None and from_us < self._start_us):
            raise ProtocolError(
                "a watch cannot begin before its start, nor after its history came or a pane was settled"
            )
        pane = from_us // self.pane_us
        self._start_us, self._begin = from_us, pane
        self._drop_open_before(from_us)
        self.closed = pane - 1 if self.closed is None else max(self.closed, pane - 1)
        if self._has_closed:
            self._take_in((self.closed + 1) * self.pane_us)

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int) -> None:
        """History before the start, in one or more parts, before the first pane is closed: windows are full at once."""
        if self._start_us is None or until_us != self._start_us or self.closed != until_us // self.pane_us - 1:
            raise ProtocolError("history ends where the watch starts, and comes before the first pane is closed")
        self._backfilled = True
        self._add_history(deltas, until_us)

    def begin_before_start(self) -> None:
        """All history is here: the window at the start is known, and the pane that it ends can be asked for.

        On a quiet stream no other one may come for long.
        """
        assert self._backfilled
        assert self._start_us is not None
        self._begin = self.closed
        self._take_in(self._start_us)
        if self._log.end > self._log.front and self.closed is not None:
            self.first = self.closed if self.first is None else min(self.first, self.closed)

    def close_through(self, watermark_us: int) -> range:
        """The panes that this watermark closes, in order."""
        new = watermark_us // self.pane_us - 1
        if self.closed is None:
            self._begin = min(self.first, new + 1) if self.first is not None else new + 1
            self._bare = self.first is None
            closing = range(self._begin, new + 1)
        elif new <= self.closed:
            return range(self.closed + 1, self.closed + 1)
        else:
            closing = range(self.closed + 1, new + 1)
        self.closed = new
        self._take_in((new + 1) * self.pane_us)
        self._forget()
        return closing

    # Windows of closed panes

    def vector(self, pane: int) -> tuple[FloatArray, bool]:
        """The window's sums (groups, d) at the end of a pane, not to be written to; and whether its rows changed."""
        assert isinstance(self._sums, SlidingSums)
        lo, cut, hi = self._range(pane)
        before = self._found[pane - 1 - self._found_from]
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks sees to it
            sums = self._sums.total(lo, cut, hi, len(self.keys))
        return sums, lo != before[0] or hi != before[2]

    def vector_again(self, pane: int) -> FloatArray:
        """The sums of ``vector`` at an older pane, to the bit: added up beside those of the newest, which stay."""
        if self._again is None:
            self._again = SlidingSums(self._log, self.dimension)
        self._again.base = self._sums.base
        lo, cut, hi = self._range(pane)
        with np.errstate(over="ignore", invalid="ignore"):
            return self._again.total(lo, cut, hi, len(self.keys))

    def same_until(self, pane: int) -> int:
        """The last closed pane through which windows stay as they are at this one, added up alike to the bit."""
        assert self.closed is not None
        return max(pane, min(self.closed, self._changes_after(pane, *self._range(pane)) - 1))

    @property
    def quiet_through(self) -> int | None:
        """The last pane, closed or not, through which windows stay as they are at the last that is closed."""
        if self.closed is None or not self._has_closed or self.oldest is None or self.oldest > self.closed:
            return None
        changes = self._changes_after(self.closed, *self._range(self.closed))
        first_open = self.first_open
        return (changes if first_open is None else min(changes, first_open)) - 1

    @property
    def nbytes(self) -> int:
        """What the rows of panes that are not settled for good take up in memory, and much the same on disk."""
        entry = 24 + 8 * self.dimension
        unsettled = self._log.end - self._log.front
        if self.oldest is not None and self.closed is not None and self._has_closed:
            begin = self.oldest - 1 if self.oldest > self.closed else self.oldest
            unsettled = self._log.end - max(self._log.front, self._look_up(begin)[2])
        return unsettled * entry + self._open_bytes

    def step(self, pane: int) -> tuple[IntArray, int]:
        """Move ``sums`` to the window of a pane: the groups that may have changed, and the rows that came or went."""
        lo, cut, hi = self._range(pane)
        begin, _, end = self.sums.window
        moved = self.rows_in(pane)
        if 0 <= begin <= lo and end <= hi:
            moved = self._rows_between(begin, min(lo, end)) + self._rows_between(max(lo, end), hi)
        return self.sums.move(lo, cut, hi, len(self.keys)), moved

    def totals_at(self, pane: int) -> FloatArray:
        """The sums (groups, d) of a sparse keeper at any pane that can be given; costs as much as there are groups."""
        fresh = SparseSums(self._log, self.dimension)
        fresh.base = self.sums.base
        fresh.move(*self._range(pane), len(self.keys))
        return fresh.totals

    @property
    def sums(self) -> SparseSums:
        """The sums of a sparse keeper, at the pane that they were last moved to."""
        assert isinstance(self._sums, SparseSums)
        return self._sums

    def rows_in(self, pane: int) -> int:
        """How many rows are in the window at the end of a pane."""
        lo, _, hi = self._range(pane)
        return self._rows_between(lo, hi)

    def full_from(self, window: Window | None = None) -> int | None:
        """The first pane whose window is full: all of it lies after the start, or holds as many rows as it may.

        Another window of the same panes may be asked about.
        """
        window = self.window if window is None else window
        if self._start_us is not None:
            begin, known_us = self._start_us // self.pane_us, self._start_us
        elif self._bare and self._begin is not None:  # all rows that ever came are known
            begin, known_us = self._begin, self._begin * self.pane_us
        elif self.first is not None:  # data may have begun inside the pane of the first row
            begin, known_us = self.first, (self.first + 1) * self.pane_us
        else:
            return None
        if self._backfilled:
            return self._begin
        if window.kind == "all":
            return begin
        if window.kind == "time":
            return -(-(known_us + int(window.duration_us or 0)) // self.pane_us) - 1
        boundary = period_start(np.array([known_us - 1]), window.unit or "day", next_one=True)
        return int(boundary[0]) // self.pane_us

    def settle(self, pane: int) -> None:
        """No pane before this one will be asked for any more."""
        self._settled = pane if self._settled is None else max(self._settled, pane)
        self._forget()

    def _range(self, pane: int) -> tuple[int, int, int]:
        oldest, closed = self.oldest, self.closed
        if oldest is None or closed is None or not oldest <= pane <= closed:
            held = "none" if oldest is None or closed is None or oldest > closed else f"{oldest} to {closed}"
            raise ProtocolError(f"the window at pane {pane} cannot be given; panes that can: {held}")
        return self._look_up(pane)

    def _look_up(self, pane: int) -> tuple[int, int, int]:
        """The range of a pane; that of the pane before is then known, too."""
        assert self.closed is not None
        first, last = pane - 1, min(self.closed, pane + _AHEAD)
        end = self._found_from + len(self._found)
        if self._found_from <= first and first < end <= pane and len(self._found) < 4 * _AHEAD:
            first = end
        elif not (self._found_from <= first and pane < end):
            self._found, self._found_from = [], first
        else:
            return self._found[pane - self._found_from]
        lo, cut, hi = self._ranges(np.arange(first, last + 1))
        self._found += zip(lo.tolist(), cut.tolist(), hi.tolist(), strict=True)
        return self._found[pane - self._found_from]

    def _rows_between(self, lo: int, hi: int) -> int:
        front = self._log.front
        folded = self._base_rows if lo < min(hi, front) else 0
        return folded + int(self._log.rows(max(lo, front), max(hi, front)).sum())

    @property
    def _has_closed(self) -> bool:
        """Whether a pane was closed since the start; before, history may come, and the log is empty."""
        return self.closed is not None and self._begin is not None and self.closed >= self._begin

    @property
    def _running(self) -> bool:
        """Whether windows grow from a start that stays, so that their oldest rows can be folded into one sum."""
        return self.window.kind in ("since", "all")

    def _forget(self) -> None:
        oldest = self.oldest
        if oldest is None or self._settled is None or not self._has_closed:
            return
        if self._folded is not None and oldest <= self._folded:
            return
        lo, cut, hi = self._look_up(oldest - 1)
        gone = hi if self._running else lo
        if gone - self._log.front < max(_FORGET, len(self.keys) // 4 if self._running else 0):
            return
        self._dropped(self._log.front, gone)
        if self._running:
            self._base_rows, self._base_cut, self._folded = self._rows_between(lo, hi), lo, oldest
            self._sums.fold(cut, hi, len(self.keys))
            self._save_base()
        else:
            self._log.drop_before(gone)

    def drop_groups(self) -> bool:
        """Forget the groups of which no row is left, if they are more than half of very many; True if it was so.

        All others have new numbers then, and ``sums`` begin anew.
        """
        if not self.sparse or len(self.keys) < self._crowded:
            return False
        used = self._groups_in_use()
        self._crowded = max(CROWDED, 2 * int(np.count_nonzero(used)))
        if self._crowded > len(self.keys):
            return False
        before, base = len(self.keys), self._sums.base.reshape(-1, self.dimension)
        numbers = self._groups.keep(used, self._pieces)
        self._renumber(numbers)
        self._sums = SparseSums(self._log, self.dimension)
        self._sums.base = base[used[: len(base)]].ravel()
        if self._folded is not None:
            drop_base(self._pieces, before)
            self._save_base()
        return True

    def _groups_in_use(self) -> BoolArray:
        """Those of which the log, or what was folded, has anything; windows add their open panes."""
        used = np.zeros(len(self.keys), dtype=np.bool_)
        used[self._log.entries(self._log.front, self._log.end)[0]] = True
        base = self._sums.base.reshape(-1, self.dimension)
        used[: len(base)] |= (base != 0.0).any(axis=1)
        return used

    def _renumber(self, numbers: IntArray) -> None:
        self._log.renumber(numbers)

    def _save_base(self) -> None:
        put_base(self._pieces, lambda: self._sums.base, self.dimension)

    def _new_log(self, front: int) -> None:
        self._log = EntryLog(self.dimension, front)
        self._sums = (SparseSums if self.sparse else SlidingSums)(self._log, self.dimension)
        self._again = None
        self._found, self._found_from = [], 0

    # Rows

    def _sort_out(self, times: IntArray, rows: IntArray | None = None) -> tuple[BoolArray, int]:
        """Which of these times count, and how many rows are late."""
        open_from = self.late_before_us
        if open_from is None:
            return np.ones(len(times), dtype=np.bool_), 0
        fresh = times >= open_from
        late = ~fresh if self._start_us is None else ~fresh & (times >= self._start_us)
        return fresh, int(np.count_nonzero(late) if rows is None else rows[late].sum())

    def _counted(self, group: IntArray, keys: Sequence[str], rows: IntArray) -> IntArray:
        """How many rows each entry stands for; ``group`` is an index into ``keys``."""
        if not self.template:
            return rows
        first = keys.index(self.keys[0]) if self.keys[0] in keys else -1
        return np.where(group == first, rows, 0)

    def _saw(self, times: IntArray) -> None:
        if len(times):
            pane = int(times.min()) // self.pane_us
            self.first = pane if self.first is None else min(self.first, pane)

    # What is saved

    def changes(self) -> list[Change]:
        """What is to be written since the last ``saved``, in one transaction."""
        self._groups.hand_over(self._pieces)
        meta = self._meta_now()
        if meta != self._meta:
            self._pieces.put("meta", partial(pack_record, meta))
            self._meta = meta
        return self._pieces.changes()

    def saved(self) -> None:
        """What ``changes`` gave last is on disk."""
        self._pieces.saved()
        self._groups.saved()

    def _meta_now(self) -> dict[str, Any]:
        return {
            "window": self._signature(),
            "first": self.first,
            "closed": self.closed,
            "start_us": self._start_us,
            "begin": self._begin,
            "settled": self._settled,
            "bare": self._bare,
            "backfilled": self._backfilled,
            "folded": self._folded,
            "base_rows": self._base_rows,
            **self._more_meta(),
        }

    def _signature(self) -> list[Any]:
        w = self.window
        return [w.kind, w.rows, w.duration_us, w.unit, w.every.rows, w.every.duration_us, self.dimension]

    def restore(self, saved: Mapping[str, bytes]) -> None:
        """Become the keeper that was saved (of a new one; see ``restore_keeper``)."""
        if "meta" not in saved:
            raise ProtocolError("the saved windows of a watch have no head; delete this site's state and start again")
        meta = unpack_record("meta", saved["meta"])
        if meta.get("window") != self._signature():
            raise ProtocolError(
                "the saved windows are those of another watch; delete this site's state and start again"
            )
        self._groups = GroupNumbers.restored(saved)
        self.first, self.closed, self._start_us = meta["first"], meta["closed"], meta["start_us"]
        self._begin, self._settled, self._backfilled = meta["begin"], meta["settled"], meta["backfilled"]
        self._folded, self._base_rows, self._bare = meta["folded"], meta["base_rows"], meta.get("bare", False)
        self._new_log(int(meta.get("front", self._base_rows > 0)))
        if self._folded is not None:
            self._sums.base = restored_base(saved, self.dimension)
        self._restore_rows(saved, meta)
        if self._has_closed and self.open_from_us is not None:
            self._take_in(self.open_from_us)
        self._pieces = Pieces()
        self._meta = meta
