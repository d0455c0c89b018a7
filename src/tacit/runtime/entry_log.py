"""What closed panes hold of a site's rows: entries in order, each with a position that never changes.

An entry is a row of a row window, or what a group's rows of a piece of a pane add up to. A window is a range of
positions, as in ``recording/updates.py``. Entries are appended when panes close and dropped when no window needs them.
"""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import FloatArray, IntArray
from tacit.vocabulary.arrays import AnyArray

__all__ = ["EntryLog"]


class EntryLog:
    """Columns ``at`` (never falls: a time, or a number of a piece of time), ``group``, ``rows`` and ``values``."""

    def __init__(self, dimension: int, front: int = 0) -> None:
        self.front = self.end = front  # positions of the first entry that is held, and after the last one
        self._shift = front  # the position of the arrays' first place
        self._at = np.empty(0, dtype=np.int64)
        self._group = np.empty(0, dtype=np.int32)  # there may be tens of millions of entries
        self._rows = np.empty(0, dtype=np.int32)
        self._values = np.empty((0, dimension))

    def append(self, at: IntArray, group: IntArray, rows: IntArray, values: FloatArray) -> None:
        """Further entries, none before the last one."""
        end = self.end + len(at)
        if end - self._shift > len(self._at):
            self._make_room(end - self.front)
        where = slice(self.end - self._shift, end - self._shift)
        self._at[where], self._group[where], self._rows[where], self._values[where] = at, group, rows, values
        self.end = end

    def drop_before(self, position: int) -> None:
        """Forget the entries before a position."""
        self.front = max(self.front, min(position, self.end))
        if self.front - self._shift > 1024 and 4 * (self.end - self.front) < len(self._at):
            self._make_room(self.end - self.front)

    def find(self, at: IntArray) -> IntArray:
        """The position of the first held entry that is not before each ``at``."""
        held = self._at[self.front - self._shift : self.end - self._shift]
        return np.asarray(self.front + np.searchsorted(held, at, side="left"), dtype=np.int64)

    def at(self, lo: int, hi: int) -> IntArray:
        """``at`` of the entries lo:hi."""
        return self._at[lo - self._shift : hi - self._shift]

    def entries(self, lo: int, hi: int) -> tuple[AnyArray, FloatArray]:
        """Groups and values of the entries lo:hi."""
        where = slice(lo - self._shift, hi - self._shift)
        return self._group[where], self._values[where]

    def rows(self, lo: int, hi: int) -> AnyArray:
        """How many rows each of the entries lo:hi stands for."""
        return self._rows[lo - self._shift : hi - self._shift]

    def renumber(self, numbers: IntArray) -> None:
        """Groups have other numbers now: ``numbers`` has the new one of each old one."""
        held = slice(self.front - self._shift, self.end - self._shift)
        self._group = self._group.copy()  # whoever looks at the old ones goes on seeing them
        self._group[held] = numbers[self._group[held]]

    def _make_room(self, entries: int) -> None:
        """For so many entries, and half as many that will come."""
        capacity = entries + max(entries // 2, 64)
        held = slice(self.front - self._shift, self.end - self._shift)
        size = self.end - self.front
        for name in ("_at", "_group", "_rows", "_values"):
            old = getattr(self, name)
            new = np.empty((capacity, *old.shape[1:]), dtype=old.dtype)
            new[:size] = old[held]
            setattr(self, name, new)
        self._shift = self.front
