"""Windows over a recording, as one list of updates in global order.

A site's window is a contiguous range of its own rows in time order, so an update is three numbers: which site, and the
range ``lo:hi`` that its window covers from now on. Arrivals move ``hi``, expirations move ``lo``. Rows are laid out
site by site ("site-major"), so that a range is a slice. Every window and both steps come down to this:

- step "event": each arrival is a step, and each instant at which rows of a site expire is one (before the arrivals of
  that instant). Time windows cover (t - W, t]; calendar windows restart at their boundary.
- step "pane": the ranges at the ends of panes; the updates of all sites at one pane form one step. Time panes are
  [pP, (p+1)P) since 1970 UTC, and the window at the end b of a pane is [b - W, b). Panes of rows are each site's own.

Nothing is replayed after the last event.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.language.plan import Window
from tacit.recording._kernels import merge
from tacit.recording.stream import Recording
from tacit.vocabulary import BoolArray, IntArray
from tacit.vocabulary.calendar import period_start

__all__ = ["Updates", "pane_messages", "updates_of"]


@dataclass(frozen=True, slots=True)
class Updates:
    """The steps of a replay: update i sets the window of ``site[i]`` to rows ``lo[i]:hi[i]``, site-major."""

    site: IntArray
    lo: IntArray
    hi: IntArray
    time: IntArray  # microseconds at which it takes effect
    last: BoolArray  # the last update of its step
    panes: int  # how many panes the recording spans

    def first(self, count: int, most: int) -> Updates:
        """The first ``count`` updates, but no more than ``most``, up to the end of a step."""
        ends = np.flatnonzero(self.last[: min(count, most)])
        end = int(ends[-1]) + 1 if len(ends) else len(self.last)
        return replace(
            self, site=self.site[:end], lo=self.lo[:end], hi=self.hi[:end], time=self.time[:end], last=self.last[:end]
        )

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return int(np.count_nonzero(self.last))


def updates_of(recording: Recording, window: Window, *, step: str) -> Updates:
    """All updates of the window over the recording."""
    order, start = recording.by_site
    times = recording.t[order]
    if step == "event":
        return _by_event(recording, window, order, start, times)
    return _by_pane(recording, window, order, start, times)


def _by_event(recording: Recording, window: Window, order: IntArray, start: IntArray, times: IntArray) -> Updates:
    n = len(order)
    position = np.empty(n, dtype=np.int64)
    position[order] = np.arange(n)
    site = recording.site.astype(np.int64)
    hi = position + 1
    if window.kind == "rows":
        lo = np.maximum(start[site], hi - int(window.rows or 0))
    else:
        lo = np.empty(n, dtype=np.int64)
        for s in range(len(recording.sites)):
            rows = slice(start[s], start[s + 1])
            mine = times[rows]
            lo[order[rows]] = start[s] + _first_inside(window, mine, mine)
    columns = (recording.t, site, lo, hi)
    leaving = _expirations(recording, window, start, times)
    if leaving is not None:
        both = np.empty((4, len(leaving[0]) + n), dtype=np.int64)
        merge(*leaving, *columns, both)  # expirations first
        columns = (both[0], both[1], both[2], both[3])
    time, sites, los, his = columns
    return Updates(sites, los, his, time, np.ones(len(time), dtype=np.bool_), _pane_count(window, recording.t))


def _expirations(
    recording: Recording, window: Window, start: IntArray, times: IntArray
) -> tuple[IntArray, IntArray, IntArray, IntArray] | None:
    """(time, site, lo, hi) of every instant at which rows of a site leave its window, in order of time and site."""
    if window.kind in ("rows", "all") or len(times) == 0:
        return None
    parts: list[tuple[IntArray, ...]] = []
    end = int(recording.t[-1])
    for s in range(len(recording.sites)):
        mine = times[start[s] : start[s + 1]]
        instants = _leaves_at(window, mine)  # never falls, as times do not
        instants = instants[: np.searchsorted(instants, end, side="right")]
        instants = _distinct(instants)
        lo = start[s] + _first_inside(window, mine, instants)
        hi = start[s] + np.searchsorted(mine, instants, side="left")
        parts.append((instants, np.full(len(instants), s, dtype=np.int64), lo, hi))
    time, site, lo, hi = (np.concatenate(column) for column in zip(*parts, strict=True))
    at = np.argsort(time, kind="stable")
    return time[at], site[at], lo[at], hi[at]


def _first_inside(window: Window, times: IntArray, now: IntArray) -> IntArray:
    """How many of a site's rows are before the window at each instant ``now`` (event step)."""
    if window.kind == "all":
        return np.zeros(len(now), dtype=np.int64)
    if window.kind == "time":
        return np.searchsorted(times, now - int(window.duration_us or 0), side="right").astype(np.int64)
    return np.searchsorted(times, period_start(now, window.unit or "day"), side="left").astype(np.int64)


def _leaves_at(window: Window, times: IntArray) -> IntArray:
    if window.kind == "time":
        return times + int(window.duration_us or 0)
    return period_start(times, window.unit or "day", next_one=True)


def pane_messages(recording: Recording, window: Window) -> int:
    """How many pairs of a site and a pane there are whose rows changed: the updates of the pane step."""
    if window.every.rows is not None:
        return int((np.bincount(recording.site) // window.every.rows).sum())
    order, start = recording.by_site
    return sum(len(part[0]) for part in _pane_parts(recording, window, start, recording.t[order]))


def _by_pane(recording: Recording, window: Window, order: IntArray, start: IntArray, times: IntArray) -> Updates:
    if window.every.rows is not None:
        return _by_row_pane(recording, window, start, times)
    pane_us = int(window.every.duration_us or 1)
    parts = _pane_parts(recording, window, start, times)
    pane, site, lo, hi = (np.concatenate(column) for column in zip(*parts, strict=True))
    at = np.argsort(pane, kind="stable")  # by pane, then by site: the parts are in order of sites
    pane, site, lo, hi = pane[at], site[at], lo[at], hi[at]
    last = np.concatenate([pane[1:] != pane[:-1], [True]]) if len(pane) else np.empty(0, dtype=np.bool_)
    return Updates(site, lo, hi, (pane + 1) * pane_us, last, _pane_count(window, recording.t))


def _pane_parts(
    recording: Recording, window: Window, start: IntArray, times: IntArray
) -> list[tuple[IntArray, IntArray, IntArray, IntArray]]:
    """(pane, site, lo, hi) of each site's panes, in order, that change its window."""
    pane_us = int(window.every.duration_us or 1)
    parts: list[tuple[IntArray, IntArray, IntArray, IntArray]] = []
    last_pane = int(recording.t.max()) // pane_us if len(times) else -1
    for s in range(len(recording.sites)):
        mine = times[start[s] : start[s + 1]]
        panes = _distinct(mine // pane_us)
        if window.kind in ("time", "since"):
            gone = _distinct(_leaves_at(window, mine) // pane_us)
            panes = _distinct(np.sort(np.concatenate([panes, gone]), kind="stable"))  # two runs: one merge
        panes = panes[: np.searchsorted(panes, last_pane, side="right")]
        end = (panes + 1) * pane_us
        hi = np.searchsorted(mine, end, side="left")
        if window.kind == "rows":
            lo = np.maximum(0, hi - int(window.rows or 0))
        elif window.kind == "time":
            lo = np.searchsorted(mine, end - int(window.duration_us or 0), side="left")
        elif window.kind == "since":
            lo = np.searchsorted(mine, period_start(end - 1, window.unit or "day"), side="left")
        else:
            lo = np.zeros_like(hi)
        changed = np.concatenate([[True], (hi[1:] != hi[:-1]) | (lo[1:] != lo[:-1])]) if len(hi) else np.empty(0, bool)
        where = np.full(int(changed.sum()), s, dtype=np.int64)
        parts.append((panes[changed], where, start[s] + lo[changed], start[s] + hi[changed]))
    return parts


def _distinct(rising: IntArray) -> IntArray:
    """The distinct values of an array that never falls."""
    return rising[np.append(True, rising[1:] != rising[:-1])] if len(rising) else rising


def _by_row_pane(recording: Recording, window: Window, start: IntArray, times: IntArray) -> Updates:
    """A site closes a pane with every ``every.rows``-th of its own rows."""
    k = int(window.every.rows or 1)
    sites = recording.site.astype(np.int64)
    order = np.argsort(sites, kind="stable")
    rank = np.empty(len(sites), dtype=np.int64)
    rank[order] = np.arange(len(sites)) - start[sites[order]]
    closes = np.flatnonzero((rank + 1) % k == 0)
    site = sites[closes]
    hi = start[site] + rank[closes] + 1
    lo = start[site] if window.rows is None else np.maximum(start[site], hi - window.rows)  # None: everything counts
    return Updates(site, lo, hi, recording.t[closes], np.ones(len(closes), dtype=np.bool_), len(closes))


def _pane_count(window: Window, t: IntArray) -> int:
    if len(t) == 0:
        return 0
    if window.every.duration_us is not None:
        return int(t.max() // window.every.duration_us - t.min() // window.every.duration_us + 1)
    return len(t) // int(window.every.rows or 1)
