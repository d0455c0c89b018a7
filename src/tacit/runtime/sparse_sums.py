"""Sums over windows that slide along a log, for millions of groups: told as changes from window to window.

The totals are those of ``SlidingSums``, to the bit,

    total(lo, hi) = suffix(lo, cut) + prefix(cut, hi)        suffix(i, cut) = suffix(i + 1, cut) + entry i

but a move of the window costs only the entries that enter or leave it. Those that enter are added to the prefix. Those
that leave are not subtracted: when the suffix is added up, backwards from the cut, what a group's sum was *before* each
entry is kept beside it, and is the group's suffix again when that entry has left.

When the cut changes or a window lies before the last one, everything is added up anew from the log, and the groups that
changed are found by comparing. Of a window without a suffix (SINCE a start, ALL) there are only prefixes.
"""

from __future__ import annotations

import numpy as np

from tacit.protocols._kernels_keys import add_backwards, add_forwards, take_back
from tacit.runtime.entry_log import EntryLog
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["SparseSums"]

_AT_ONCE = 1 << 18  # groups are compared by so many: what that takes is small beside the sums


class SparseSums:
    """Totals over a log. ``base`` is what a prefix holds already where it begins before the log's front.

    >>> log = EntryLog(1)
    >>> rows, values = np.ones(4, dtype=np.int64), np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> log.append(np.arange(4), np.array([0, 1, 0, 2]), rows, values)
    >>> sums = SparseSums(log, 1)
    >>> sums.move(0, 2, 3, groups=3), sums.totals.ravel()
    (array([0, 1]), array([4., 2., 0.]))
    >>> sums.move(1, 2, 4, groups=3), sums.take(np.array([2, 0])).ravel()
    (array([0, 2]), array([4., 3.]))
    """

    def __init__(self, log: EntryLog, dimension: int) -> None:
        self.log, self.dimension = log, dimension
        self.base: FloatArray = np.zeros(0)
        self._groups = 0
        self._lo = self._cut = self._hi = -1
        self._prefix = self._none = np.zeros((0, dimension))
        self._suffix: FloatArray | None = None  # of windows that begin before their cut
        self._before = self._none  # what the suffix of its group was before each entry from here to the cut:
        self._before_from = 0

    def move(self, lo: int, cut: int, hi: int, groups: int) -> IntArray:
        """Go to the window lo:hi with lo <= cut <= hi; the groups whose totals may have changed, rising."""
        self._widen(groups)
        changed = self._slide(lo, hi) if self._goes_on(lo, cut, hi) else self._begin(lo, cut, hi)
        self._lo, self._cut, self._hi = lo, cut, hi
        if lo == cut:
            self._suffix, self._before = None, self._none
        return changed

    @property
    def window(self) -> tuple[int, int, int]:
        """lo, cut and hi of the window that it was last moved to; -1 before."""
        return self._lo, self._cut, self._hi

    def take(self, groups: IntArray) -> FloatArray:
        """The totals (len(groups), d) of these groups."""
        return self._total(groups)

    @property
    def totals(self) -> FloatArray:
        """The totals (groups, d) of all groups, as a copy."""
        return self._total(np.s_[: self._groups]).copy()

    @property
    def nbytes(self) -> int:
        """The size of all sums, with the room that is not in use yet."""
        suffix = 0 if self._suffix is None else self._suffix.nbytes
        return self._prefix.nbytes + suffix + self._before.nbytes + self.base.nbytes

    def fold(self, cut: int, hi: int, groups: int) -> None:
        """The entries before ``hi`` go; prefixes from ``cut`` go on from their sum. The window stays where it is."""
        known = self.base.reshape(-1, self.dimension)
        sums = known if len(known) >= groups else _widened(known, groups)
        if cut >= self.log.front:  # they begin after all that was folded
            sums[:] = 0.0
        add_forwards(*self._entries(max(cut, self.log.front), hi, len(sums)), sums)
        self.base = sums.ravel()
        self.log.drop_before(hi)

    def _goes_on(self, lo: int, cut: int, hi: int) -> bool:
        """Are all the entries that enter or leave still there, and is nothing else to be done?"""
        front = self.log.front
        known = self._hi >= front and (lo == self._lo or self._lo >= front)
        return cut == self._cut and lo >= self._lo and hi >= self._hi and known

    def _slide(self, lo: int, hi: int) -> IntArray:
        left, _ = self._entries(self._lo, lo)
        came, values = self._entries(self._hi, hi)
        if self._suffix is not None:
            take_back(left, self._before, self._lo - self._before_from, self._suffix)
        add_forwards(came, values, self._prefix)
        return np.unique(np.concatenate([left, came])).astype(np.int64)

    def _begin(self, lo: int, cut: int, hi: int) -> IntArray:
        """Add up anew; the groups whose totals are not what they were, bit by bit."""
        self._entries(max(lo, self.log.front) if lo == cut else lo, hi)  # nothing is lost if one is wrong
        old = self._prefix
        if self._suffix is not None:
            with np.errstate(over="ignore", invalid="ignore"):
                old += self._suffix
        self._suffix, self._before = None, self._none  # before there are new ones
        self._prefix = np.zeros(old.shape)  # not zeros_like: pages that nobody writes to take no memory
        self._add_prefix(self._prefix, cut, hi)
        if lo < cut:
            group, values = self._entries(lo, cut)
            self._suffix, self._before, self._before_from = np.zeros(old.shape), np.empty(values.shape), lo
            add_backwards(group, values, self._suffix, self._before)
        return self._differing(old)

    def _differing(self, old: FloatArray) -> IntArray:
        found = [np.empty(0, dtype=np.int64)]
        for first in range(0, self._groups, _AT_ONCE):
            some = np.s_[first : min(first + _AT_ONCE, self._groups)]
            differs = self._total(some).view(np.int64) != old[some].view(np.int64)
            found.append(first + np.flatnonzero(differs.any(axis=1)))
        return np.concatenate(found)

    def _total(self, which: IntArray | slice) -> FloatArray:
        """The totals of some groups; not to be written to."""
        after = self._prefix[which]
        if self._suffix is None:
            return after
        with np.errstate(over="ignore", invalid="ignore"):  # whoever asks sees to it
            return np.asarray(after + self._suffix[which])

    def _add_prefix(self, sums: FloatArray, cut: int, hi: int) -> None:
        """prefix(cut, hi), into sums that are 0."""
        if cut < self.log.front:
            base = self.base.reshape(-1, self.dimension)
            sums[: len(base)] = base
        add_forwards(*self._entries(max(cut, self.log.front), hi, len(sums)), sums)

    def _entries(self, lo: int, hi: int, groups: int | None = None) -> tuple[IntArray, FloatArray]:
        """Groups and values of entries; kernels do not look whether there are sums of these groups."""
        if lo < min(hi, self.log.front):
            raise IndexError(f"the entries {lo}:{hi} are wanted, and those before {self.log.front} are gone")
        group, values = self.log.entries(lo, hi)
        groups = self._groups if groups is None else groups
        if len(group) and not 0 <= group.min() <= group.max() < groups:
            raise IndexError(f"there are entries of groups {group.min()} to {group.max()}, and {groups} groups")
        return group, values

    def _widen(self, groups: int) -> None:
        """Zeros for groups that came later, with room for a few more."""
        self._groups = max(self._groups, groups)
        if self._groups > len(self._prefix):
            room = self._groups + self._groups // 4 if len(self._prefix) else self._groups
            self._prefix = _widened(self._prefix, room)
            if self._suffix is not None:
                self._suffix = _widened(self._suffix, room)


def _widened(sums: FloatArray, groups: int) -> FloatArray:
    wide = np.zeros((groups, sums.shape[1]))
    wide[: len(sums)] = sums
    return wide
