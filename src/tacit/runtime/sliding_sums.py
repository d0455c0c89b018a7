"""Sums over windows that slide along a log, without ever subtracting.

A window lo:hi is cut in two at a place that depends only on where the window lies (for windows of N equal pieces: at a
multiple of N, of which each window holds exactly one). What lies after the cut only grows while windows move on, so it
is added up forwards; what lies before it only shrinks, so it is added up backwards from the cut, once, and the sums on
the way are kept. Each window is then one addition:

    total(lo, hi) = suffix(lo, cut) + prefix(cut, hi)        suffix(i, cut) = suffix(i + 1, cut) + entry i

Both recursions go entry by entry, so the bits of a total do not depend on which totals were asked for before, nor on a
restart. Of the sums on the way only some are kept (*marks*): about a root of them, and between two of
those again.
"""

from __future__ import annotations

from math import isqrt

import numpy as np

from tacit.runtime.entry_log import EntryLog
from tacit.vocabulary import FloatArray

__all__ = ["SlidingSums"]

_MARK_NUMBERS = 1 << 21  # at most so many numbers in the marks of a level: 16 MB


class SlidingSums:
    """Totals over a log. ``base`` is what a prefix holds already where it begins before the log's front."""

    def __init__(self, log: EntryLog, dimension: int) -> None:
        self.log, self.dimension = log, dimension
        self.base: FloatArray = np.zeros(0)
        self._cut = self._hi = -1
        self._prefix: FloatArray = np.zeros(0)
        self._coarse = _Marks(-1, 1, self.base)
        self._fine = _Marks(-1, 1, self.base)
        self._lo = -1  # where the last window began
        self._columns = np.arange(dimension)

    def total(self, lo: int, cut: int, hi: int, groups: int) -> FloatArray:
        """The sums (groups, d) of the entries lo:hi, with lo <= cut <= hi."""
        size = groups * self.dimension
        after = self._after(cut, hi, size)
        if lo == cut:
            total = after.copy()
        else:
            before = self._before(lo, cut, size)
            total = after + (before if len(before) == size else _widened(before, size))
        total = total.reshape(groups, self.dimension)
        total.flags.writeable = False
        return total

    def fold(self, cut: int, hi: int, groups: int) -> None:
        """The entries before ``hi`` go; prefixes from ``cut`` go on from their sum."""
        self.base = self._after(cut, hi, groups * self.dimension).copy()
        self.log.drop_before(hi)

    def _after(self, cut: int, hi: int, size: int) -> FloatArray:
        if cut != self._cut or hi < self._hi or self._hi < self.log.front:
            self._cut, self._hi = cut, max(cut, self.log.front)
            self._prefix = _widened(self.base, size) if cut < self.log.front else np.zeros(size)
        elif len(self._prefix) < size:
            self._prefix = _widened(self._prefix, size)
        if self._hi < hi:
            self._add(self._prefix, self._hi, hi, 1)
            self._hi = hi
        return self._prefix

    def _before(self, lo: int, cut: int, size: int) -> FloatArray:
        """suffix(lo, cut), from the marks above lo."""
        root = isqrt(cut - lo) + 1
        if cut != self._coarse.top or cut - lo > 4 * root * self._coarse.step:
            self._coarse = _Marks(cut, -(-(cut - lo) // min(root, _marks_of(size))), np.zeros(size))
        near, at_near = self._mark(self._coarse, lo)
        if near > lo:
            near, at_near = self._nearer(near, at_near, lo, size)
        self._lo = lo
        if near == lo:
            return at_near
        sums = at_near.copy()
        self._add(sums, lo, near, -1)
        return sums

    def _nearer(self, top: int, at_top: FloatArray, lo: int, size: int) -> tuple[int, FloatArray]:
        """A mark between two coarse ones; they are made as far apart as windows move, once a second window is there."""
        if self._fine.sums[0] is not at_top:
            hop = lo - self._lo
            if hop <= 0 or self._lo <= top - self._coarse.step:
                return top, at_top
            self._fine = _Marks(top, max(hop, -(-self._coarse.step // _marks_of(size))), at_top)
        return self._mark(self._fine, lo)

    def _mark(self, marks: _Marks, lo: int) -> tuple[int, FloatArray]:
        """The nearest mark that is not below lo; marks are made downwards until there is one."""
        wanted = (marks.top - lo) // marks.step
        for _ in range(len(marks.sums), wanted + 1):
            at = marks.top - len(marks.sums) * marks.step
            sums = marks.sums[-1].copy()
            self._add(sums, at, at + marks.step, -1)
            marks.sums.append(sums)
        return marks.top - wanted * marks.step, marks.sums[wanted]

    def _add(self, sums: FloatArray, lo: int, hi: int, step: int) -> None:
        """Add the entries lo:hi, one after the other, forwards or backwards."""
        group, values = self.log.entries(lo, hi)
        d = self.dimension
        if hi - lo == 1:
            start = int(group[0]) * d
            sums[start : start + d] += values[0]
            return
        places = (group[::step, None] * d + self._columns).ravel()
        np.add.at(sums, places, values[::step].ravel())


class _Marks:
    """Suffix sums at top, top - step, top - 2 step, …"""

    __slots__ = ("step", "sums", "top")

    def __init__(self, top: int, step: int, at_top: FloatArray) -> None:
        self.top, self.step, self.sums = top, step, [at_top]


def _marks_of(size: int) -> int:
    return max(8, _MARK_NUMBERS // max(size, 1))


def _widened(sums: FloatArray, size: int) -> FloatArray:
    """A copy with zeros for groups that came later."""
    wide = np.zeros(size)
    wide[: len(sums)] = sums
    return wide
