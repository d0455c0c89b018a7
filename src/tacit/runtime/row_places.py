"""Where rows begin in a log in which a row may be several entries (GROUP BY EACH)."""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import IntArray

__all__ = ["RowPlaces"]


class RowPlaces:
    """The places of the rows from number ``first`` on, which rise; older rows are forgotten.

    >>> places = RowPlaces()
    >>> places.append(np.array([0, 3, 4]))  # the first row has three entries, the second one
    >>> places.rows_before(np.array([0, 3, 4, 6])).tolist(), places.of(np.array([1, 3]), 6).tolist()
    ([0, 1, 2, 3], [3, 6])
    >>> places.drop_before(3)
    >>> places.first, places.rows_before(np.array([4, 6])).tolist()
    (1, [2, 3])
    """

    def __init__(self, first: int = 0) -> None:
        self.first = first
        self._begin = self._end = 0  # of what is held in the array
        self._at: IntArray = np.empty(0, dtype=np.int64)

    def append(self, places: IntArray) -> None:
        """Further rows."""
        held = self._end - self._begin
        if self._end + len(places) > len(self._at):
            grown = np.empty(max(64, 2 * (held + len(places))), dtype=np.int64)
            grown[:held] = self._at[self._begin : self._end]
            self._at, self._begin, self._end = grown, 0, held
        self._at[self._end : self._end + len(places)] = places
        self._end += len(places)

    def rows_before(self, places: IntArray) -> IntArray:
        """The number of the first row that does not begin before each place: so many rows do."""
        return np.asarray(self.first + np.searchsorted(self._held, places, side="left"), dtype=np.int64)

    def of(self, rows: IntArray, end: int) -> IntArray:
        """Where each row begins; the row after the last one at ``end``, and one that is forgotten at the first held."""
        at = np.append(self._held, end)
        return np.asarray(at[np.clip(rows - self.first, 0, len(at) - 1)], dtype=np.int64)

    def drop_before(self, place: int) -> None:
        """Forget the rows that begin before a place."""
        gone = int(np.searchsorted(self._held, place, side="left"))
        self._begin += gone
        self.first += gone

    @property
    def _held(self) -> IntArray:
        return self._at[self._begin : self._end]
