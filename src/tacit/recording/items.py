"""The independent items a window is made of, for predictions: rows, or panes where windows go by time.

Panes make windows by time fit the same model: a window is N panes, idle ones are zeros, and the varying number of rows
is part of a pane's variance. Members of GROUP BY EACH stay rows, because a row counts in every group.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.language.plan import Window
from tacit.protocols._kernels import PER_KEY, PER_MEMBER
from tacit.recording.physical import Physical
from tacit.recording.stream import Recording
from tacit.vocabulary import FloatArray, IntArray

__all__ = ["Items", "Walk", "items_of"]

_STRIDES_MAX = 2_000  # looked at
_ITEMS_MAX = 2_000_000  # sites times panes; panes are joined until they fit
_UNITS_US = {
    "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000, "week": 7 * 86_400_000_000,
    "month": 30 * 86_400_000_000, "year": 365 * 86_400_000_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """A site's window before and after each of K strides (n, K, width)."""

    before: FloatArray
    after: FloatArray
    changes: IntArray  # (n, K): items that came or left; one that starts again leaves all at once
    items: int  # in a stride
    each: float  # how many strides of the recording each of these stands for


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Power sums of n sites' items per group, over all items of a site; ``width`` counts the weight, if any."""

    per_window: float  # N
    period: float | None  # items after which a window that grows starts again, inf if never; None: it slides
    phase: float  # items from such a start to the first one
    count: IntArray  # (n,) items of each site
    total: FloatArray  # (n, G, width)
    square: FloatArray  # (n, G, width): of each column
    cross: FloatArray  # (n, G, width): of each column with the last
    low: FloatArray  # (G, width): the least and the greatest item
    high: FloatArray
    site: IntArray  # the items themselves that are not 0, for a watch without groups: site, place, sums
    place: IntArray
    sums: FloatArray

    def walk(self) -> Walk | None:
        """How the window of a watch without groups moved, in short strides; None when there are not two to compare.

        The strides are short because a window moves evenly over short times: the square of one long move would count
        as many exits as a walk at random makes that gets as far.
        """
        longest = int(self.count.max(initial=0))
        length = longest if self.period == np.inf else max(1, round(self.period or self.per_window))
        stride = max(1, min(length // 8, longest // 256))
        places = longest // stride
        if places < 2:
            return None
        step = np.unique(np.linspace(1, places - 1, min(places - 1, _STRIDES_MAX)).astype(np.int64))
        (lo, hi), (lo_after, hi_after) = (self._edges(at * stride, length) for at in (step, step + 1))
        total = np.concatenate([np.zeros((1, self.sums.shape[1])), np.cumsum(self.sums, axis=0)])
        came, left = hi_after - hi, lo_after - lo
        changes = came + (left if self.period is None else np.minimum(left, 1))
        return Walk(total[hi] - total[lo], total[hi_after] - total[lo_after], changes, stride, (places - 1) / len(step))

    def _edges(self, end: IntArray, length: int) -> tuple[IntArray, IntArray]:
        """The items that are not 0 of each site's window (n, K) when so many items have passed, as ranges."""
        until = np.minimum(end, self.count[:, None])  # a site without more rows stays as it is
        if self.period is None:
            since = np.maximum(0, until - length)
        elif self.period == np.inf:
            since = np.zeros_like(until)
        else:
            began = (end - 1 + self.phase) // length * length - self.phase
            since = np.minimum(np.maximum(0, np.ceil(began)).astype(np.int64), until)
        across = int(self.count.max(initial=0)) + 1
        site = np.arange(len(self.count))[:, None] * across
        key = self.site * across + self.place
        return np.searchsorted(key, site + since), np.searchsorted(key, site + until)


def items_of(physical: Physical, recording: Recording, window: Window) -> Items:
    """The items of a watch over a recording, added up."""
    order, start = recording.by_site
    site = recording.site[order].astype(np.int64)
    rows_of = np.diff(start)
    period, phase = np.inf if window.kind == "all" else None, 0.0
    if window.kind == "rows" or physical.mode == PER_MEMBER or len(order) == 0:
        place = np.arange(len(order)) - start[site]
        count = rows_of.astype(np.int64)
        span = _seconds_of(window, recording) if window.kind != "rows" else None
        length = float(recording.t[-1] - recording.t[0] + 1) if len(order) else 1.0
        per_window = float(window.rows or 1) if span is None else max(1.0, float(rows_of.mean()) * span / length)
    else:
        span = _seconds_of(window, recording)
        item = int(window.every.duration_us or max(1, span // 100))
        length = int(recording.t[-1] - recording.t[0]) + 1
        while length // item * len(rows_of) > _ITEMS_MAX and 2 * item <= span:
            item *= 2
        place = (recording.t[order] - recording.t[0]) // item
        count = np.full(len(rows_of), int(place.max()) + 1, dtype=np.int64)
        per_window = max(1.0, span / item)
        if window.kind == "since":
            period, phase = 2.0 * span / item, float(int(recording.t[0]) % (2 * span)) / item
    per_window = min(per_window, float(count.max(initial=1)))
    if physical.mode == PER_MEMBER:
        return _by_member(physical, site, per_window, count)
    group = physical.group if physical.mode == PER_KEY else np.zeros(len(order), dtype=np.int64)
    return replace(_by_key(physical, site, place, group, per_window, count), period=period, phase=phase)


def _seconds_of(window: Window, recording: Recording) -> int:
    """How long the window is, in microseconds; one that grows counts as half its longest."""
    if window.kind == "time":
        return int(window.duration_us or 1)
    if window.kind == "since":
        return _UNITS_US[window.unit or "day"] // 2
    return max(1, int(recording.t[-1] - recording.t[0]) // 2) if len(recording.t) else 1


def _by_key(
    physical: Physical, site: IntArray, place: IntArray, group: IntArray, per_window: float, count: IntArray
) -> Items:
    n, groups, width = physical.sites, physical.groups, physical.rows.shape[1]
    key = (site * (int(place.max(initial=0)) + 1) + place) * groups + group
    unique, inverse = np.unique(key, return_inverse=True)
    sums: FloatArray = np.stack(
        [np.bincount(inverse, physical.rows[:, j], len(unique)).astype(np.float64) for j in range(width)], axis=1
    )
    where = unique // groups
    across = int(place.max(initial=0)) + 1
    item_site: IntArray = np.asarray(where // across, dtype=np.int64)
    item_place: IntArray = np.asarray(where % across, dtype=np.int64)
    at = (item_site, unique % groups)
    total, square, cross = (np.zeros((n, groups, width)) for _ in range(3))
    np.add.at(total, at, sums)
    np.add.at(square, at, sums * sums)
    np.add.at(cross, at, sums * sums[:, -1:])
    low, high = _range(at[1], sums, groups)
    idle = np.bincount(at[1], minlength=groups) < count.sum()
    low[idle], high[idle] = np.minimum(low[idle], 0.0), np.maximum(high[idle], 0.0)
    return Items(per_window, None, 0.0, count, total, square, cross, low, high, item_site, item_place, sums)


def _by_member(physical: Physical, site: IntArray, per_window: float, count: IntArray) -> Items:
    """Every row counts in every group: once as absent, corrected where the row has the member."""
    n, groups = physical.sites, physical.groups
    row = np.repeat(np.arange(len(site)), np.diff(physical.pointer))
    at = (site[row], physical.member)
    has = physical.rows + physical.shared  # what a row adds to a group whose member it has
    out = []
    for absent, present in (
        (physical.shared, has),
        (physical.shared**2, has**2),
        (physical.shared * physical.shared[:, -1:], has * has[:, -1:]),
    ):
        base = np.zeros((n, absent.shape[1]))
        np.add.at(base, site, absent)
        full = np.repeat(base[:, None, :], groups, axis=1)
        np.add.at(full, at, (present - absent)[row])
        out.append(full)
    low, high = _range(physical.member, has[row], groups)
    if len(physical.shared):
        low, high = np.minimum(low, physical.shared.min(axis=0)), np.maximum(high, physical.shared.max(axis=0))
    none = np.empty(0, dtype=np.int64)
    return Items(
        per_window, None, 0.0, count, out[0], out[1], out[2], low, high, none, none, np.empty((0, has.shape[1]))
    )


def _range(group: IntArray, values: FloatArray, groups: int) -> tuple[FloatArray, FloatArray]:
    low, high = np.full((groups, values.shape[1]), np.inf), np.full((groups, values.shape[1]), -np.inf)
    np.minimum.at(low, group, values)
    np.maximum.at(high, group, values)
    empty = np.bincount(group, minlength=groups) == 0
    low[empty] = high[empty] = 0.0
    return low, high
