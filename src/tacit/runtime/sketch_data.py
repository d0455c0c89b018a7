"""What a live site keeps for its watches on sketches: one sketch of a key for all of them, fed pane by pane.

Watches that count the same key of the same rows share this, whatever they promise, however long their windows are, and
with any step that is a whole number of its panes: a *station* (kept_stations.py) is made for the strictest accuracy and
the longest window that was asked for when it was made, and every watch reads its own shape, window and panes off it
(sketch_views.py). (Digests of values serve windows of time alike; watches since a start, or on all rows, have their
own.) A watch that asks for more than any station has gets a new one, which begins empty, unless no row came yet; when
it has the rows of all windows, everybody reads it, and stations that nobody reads go. Rows without a value are counted
apart: frequent keys count them, the others do not.

Rows are summed by pane and key until their pane is closed; then they are in the sketch, and nothing else is kept of
them. What is saved with every batch is the sketches that changed, the open panes, and the names of frequent keys. After
a start the site holds its arrays of the last closed pane only: whoever needs an older one asks everyone anew. (Of a
pane of a watch that is longer than those of the sketch this array is saved too: the sketch has read on.)
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from tacit.functions.goals import Frequent, Quantile, SketchGoal
from tacit.language.plan import Every, WatchPlan, Window
from tacit.language.recorded import live_plan
from tacit.protocols.gauges.making import SEED, shape_of
from tacit.runtime.blobs import Change, Pieces, pack_record, unpack_record
from tacit.runtime.kept_stations import KeptStations, panes_of
from tacit.runtime.pane_windows import PaneKeeper
from tacit.runtime.sketch_names import SketchNames, note, tidy
from tacit.runtime.sketch_views import View, ViewPanes, last_of, pack_last
from tacit.runtime.watch_data import WatchData, data_key
from tacit.sketches.digest_stations import DigestStation
from tacit.sketches.hashing import fingerprints
from tacit.sketches.parameters import Shape
from tacit.vocabulary import FloatArray, IntArray, WordArray
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tacit.vocabulary.calendar import first_pane, period_start
from tacit.wire.control import Counts

__all__ = ["SketchData", "by_panes"]

_LAST = "last/"


class _Panes(PaneKeeper):
    """Windows of one pane: what is in it can be had once it is closed, and is forgotten when it is settled."""

    def __init__(self, every: Every, dimension: int) -> None:
        super().__init__(Window("time", every, duration_us=every.duration_us), dimension, sparse=True)

    def contents(self, pane: int) -> tuple[IntArray, FloatArray]:
        """The groups of a closed pane, and the sums of each; the last is how many rows it has."""
        lo, _, hi = self._range(pane)
        group, sums = self._log.entries(lo, hi)
        return group.copy(), sums

    def with_rows(self, first: int, end: int) -> list[int]:
        """The closed panes from ``first`` and before ``end`` that have rows."""
        panes = np.unique(self._log.at(self._log.front, self._log.end))
        found: list[int] = panes[(panes >= first) & (panes < end)].tolist()
        return found


class SketchData(WatchData):
    """Stations of a key, and the views of the watches on it; ``plan`` has the step that they are fed by."""

    keeper: _Panes

    def __init__(self, plan: WatchPlan, saved: dict[str, bytes] | None = None) -> None:
        self._digests = isinstance(plan.goal, Quantile)
        self._pane_us = int(plan.window.every.duration_us or 1)
        self._stations = KeptStations(self._pane_us)
        self._saves, self._dirty = Pieces(), False  # is there something that is not among them?
        self._views: dict[int, View] = {}
        self._names = SketchNames()
        self._last: dict[int, bytes] = {}  # arrays as they were saved, by the numbers of watches
        self._words: WordArray = np.zeros(0, dtype=np.uint64)  # by group
        self._values: FloatArray = np.zeros(0)
        self._fed: int | None = None
        super().__init__(plan, saved, kept=live_plan(plan))

    def _make_keeper(self) -> _Panes:
        return _Panes(self.kept.window.every, len(self.kept.statistics) + 1)

    # Views

    def counts_what(self, plan: WatchPlan) -> bool:
        """Does a watch count the same key of the same rows?"""
        return data_key(by_panes(plan, self._pane_us)) == self.key

    def has_all_of(self, plan: WatchPlan) -> bool:
        """Has it what a watch needs, so that nothing is to be made for it? Its step must be a whole number of panes."""
        goal = plan.goal
        assert isinstance(goal, SketchGoal)
        return self._stations.serving(goal, _shape_for(goal), plan.window) is not None

    def is_read_by(self, number: int) -> bool:
        """Does this watch read it?"""
        return number in self._views

    @property
    def untouched(self) -> bool:
        """Has no row come yet, and none is being read?"""
        return self.waiting and not self.handed and self._fed is None and self.keeper.first is None

    def panes_for(self, number: int) -> ViewPanes:
        """Where this is, in the panes of a watch."""
        return ViewPanes(self.keeper, self._views[number])

    def settle(self, number: int, pane: int) -> None:
        """Arrays of a watch before this pane of it are not asked for any more."""
        self._views[number].settled = pane

    def move_to(self, other: SketchData) -> None:
        """Everything that watches have here; no row has come."""
        for number, view in self._views.items():
            joined = other.join(number, view.plan)
            joined.candidates, joined.tended = view.candidates, view.tended
        other.bases.update(self.bases)

    def join(self, number: int, plan: WatchPlan, was: int | None = None) -> View:
        """A watch comes to read: it gets a station that has all it needs, or a new one.

        ``was`` is the number that it had before it was altered, paused or resumed.
        """
        if number in self._views and self._views[number].plan.text == plan.text:
            self._views[number].tended = False
            return self._views[number]
        goal = plan.goal
        assert isinstance(goal, SketchGoal)
        shape = _shape_for(goal)
        station = self._stations.serving(goal, shape, plan.window)
        if station is None:
            station = self._add_station(goal, shape, plan.window)
        every = int(plan.window.every.duration_us or 1)
        view = View(plan, station, self._stations.begun[station], shape, every // self._pane_us)
        before = None if was is None else self._views.get(was)
        if isinstance(goal, Frequent):
            view.candidates = self._names.candidates(number, view, before, self._next)
        self._views[number] = view
        self._dirty = True
        self._find_last(number, view, before)
        return view

    def _find_last(self, number: int, view: View, before: View | None) -> None:
        """The array of the last pane that is over: read, or what was saved of it, or what it had under another number.

        If there is none, the watch begins with its next pane.
        """
        saved = self._last.pop(number, None)
        if self._fed is None:
            return
        if view.ends(self._fed):
            view.arrays[view.pane(self._fed)] = self._array(view, self._fed)
        elif saved is not None and (last := last_of(view, f"{_LAST}{number}", saved)) is not None:
            view.arrays[last[0]] = last[1]
        elif before is not None and view.reads_like(before):
            view.arrays.update(before.arrays)
            if view.arrays:
                self._save_last(number, view)

    def view(self, number: int) -> View:
        """How this watch reads."""
        return self._views[number]

    def leave(self, numbers: Sequence[int]) -> None:
        """Only these watches are left; stations that none of them reads go."""
        for number in [each for each in (*self._views, *self._names, *self._last) if each not in numbers]:
            self._views.pop(number, None)
            self._names.forget(number, self._saves)
            self._last.pop(number, None)
            self._saves.delete(f"{_LAST}{number}")
        if self._views:
            self._dirty |= self._stations.keep_only({view.station for view in self._views.values()}, self._saves)

    def _add_station(self, goal: SketchGoal, shape: Shape | None, window: Window) -> int:
        """One for the strictest accuracy and the longest window of all that read, this one included.

        Where it has missed no row all read it from now on, and there is no other.
        """
        views = list(self._views.values())
        shapes = [each for each in (shape, *(view.shape for view in views)) if each is not None]
        alike = [view for view in views if not self._digests or view.plan.goal == goal]
        windows = [window, *(view.plan.window for view in alike)]
        added = self._stations.add(goal, shapes, windows, self._next)
        if self._next is None:
            for view in views:
                if self._stations.serves(added, _goal_of(view), view.shape, view.plan.window):
                    view.station = added
            self._stations.keep_only({added, *(view.station for view in views)}, self._saves)
        return added

    @property
    def _next(self) -> int | None:
        """The first pane that a watch that comes now sees from its first row on; None: it has missed none."""
        if self._fed is not None:
            return self._fed + 1
        return self.keeper.started_at if self.keeper.backfilled else None

    # Panes

    @property
    def history_us(self) -> int | None:
        """The longest of the windows that are read; None: all there is."""
        windows = [view.plan.window for view in self._views.values()]
        if any(window.kind != "time" for window in windows):
            return None
        return max((int(window.duration_us or 0) for window in windows), default=0)

    def to_close(self, closing: range, most: int) -> list[int]:
        """A sketch must have all rows, also those of panes that nobody looks at any more."""
        panes = {*self.keeper.with_rows(closing.start, closing.stop), *closing[-1:]}
        for each in {view.each for view in self._views.values()}:
            panes.update(range(closing.start + -(closing.start + 1) % each, closing.stop, each)[-most:])
        return sorted(panes)

    def close(self, pane: int) -> None:
        """A pane was closed: what is in it goes into the stations, and every view whose pane ends reads its array."""
        group, sums = self.keeper.contents(pane)
        self.panes += bool(len(group))
        self._learn_keys()
        self._put(pane, group, sums, np.rint(sums[:, -1]).astype(np.int64), self._words, self._values)
        self._fed, self._dirty = pane, True
        for number, view in self._views.items():
            looks = view.candidates is not None and len(group) > 0
            if not looks and not view.ends(pane):
                continue
            array = self._array(view, pane)
            if looks:
                note(view, array, group, self._words, self.keeper.keys)
            if view.ends(pane):
                view.put(view.pane(pane), array)
                self._ended(number, view, pane)

    def _ended(self, number: int, view: View, pane: int) -> None:
        """A pane of a watch is over with this one."""
        tidy(view, pane)
        if view.each > 1:
            self._save_last(number, view)
        newest = max(self._stations)
        if view.station != newest and self._has_next_window(newest, view, pane):
            view.station = newest  # and its windows stay as full as they were

    def _has_next_window(self, station: int, view: View, pane: int) -> bool:
        """Has a station all rows of the window of a view at its next pane, and is it good enough for it?"""
        window, begun = view.plan.window, self._stations.begun[station]
        if not self._stations.serves(station, _goal_of(view), view.shape, window):
            return False
        length = self._length_at(window, pane + view.each)
        return begun is None or (length is not None and pane + view.each + 1 - length >= begun)

    def _save_last(self, number: int, view: View) -> None:
        self._saves.put(f"{_LAST}{number}", partial(pack_last, view, max(view.arrays)))

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int, reach_us: int | None = None) -> None:
        """History before the start; a watch that came while it was read may want more than there is of it."""
        assert isinstance(deltas, PaneDeltas)
        self.keeper.backfill(self._with_rows(deltas), until_us)
        panes = deltas.sub * self.keeper.sub_us // self._pane_us
        words = fingerprints(list(deltas.keys), seed=SEED) if not self._digests else np.zeros(0, dtype=np.uint64)
        values = _numbers(deltas.keys) if self._digests else np.zeros(0)
        self._know_from(None if reach_us is None else -((reach_us - until_us) // self._pane_us))
        for pane in np.unique(panes[panes < until_us // self._pane_us]).tolist():
            here = panes == pane
            self._put(pane, deltas.group[here], deltas.sums[here], deltas.rows[here], words, values)
        self._dirty = True
        for view in self._views.values():
            if view.candidates is not None and view.shape is not None and len(deltas.keys):
                cells = self._array(view, until_us // self._pane_us - 1)
                many = view.candidates.counts_of(deltas.keys, cells) >= view.candidates.floor
                view.candidates.note([deltas.keys[at] for at in np.flatnonzero(many).tolist()])

    def _know_from(self, pane: int | None) -> None:
        """History begins with this pane; None: with the first row."""
        for at in self._stations:
            self._stations.begun[at] = pane
        for view in self._views.values():
            view.since = pane

    def _put(
        self, pane: int, group: IntArray, sums: FloatArray, rows: IntArray, words: WordArray, values: FloatArray
    ) -> None:  # fmt: skip
        """So many rows of each group, into every station; by key the second sum says which have no value."""
        self._stations.put(pane, group, rows, None if self._digests else sums[:, 1], words, values)

    def _array(self, view: View, pane: int) -> FloatArray:
        """What a view's station says of its window as of the last pane."""
        station, length = self._stations[view.station], self._length_at(view.plan.window, pane)
        if isinstance(station, DigestStation):
            return station.array(length, pane)
        assert view.shape is not None
        apart = isinstance(view.plan.goal, Frequent)
        return station.cells(view.shape.depth, view.shape.width, length, pane, apart=apart)

    def _length_at(self, window: Window, pane: int) -> int | None:
        """How many panes the window at the end of a pane has; None: all."""
        if window.kind == "time":
            return panes_of(window, self._pane_us)
        if window.kind != "since":
            return None
        return pane + 1 - first_pane(pane, self._pane_us, window.unit or "day")

    def _learn_keys(self) -> None:
        known, keys = len(self._values if self._digests else self._words), self.keeper.keys
        if len(keys) > known:
            fresh = list(keys[known:])
            if self._digests:
                self._values = np.append(self._values, _numbers(fresh))
            else:
                self._words = np.append(self._words, fingerprints(fresh, seed=SEED))

    def drop_groups(self) -> bool:
        """Keys of which no row is open go; sketches have no names, so no machine has to begin anew."""
        if self.keeper.drop_groups():
            self._words, self._values = self._words[:0], self._values[:0]
        return False

    def counts_of(self, number: int) -> Counts:
        """What was counted since this watch came; its window is full when its station has had all of it."""
        counts = super().counts_of(number)
        view = self._views.get(number)
        if view is None:
            return counts
        full, window = self.keeper.full_from(view.plan.window), view.plan.window
        if full is not None and view.since is not None:
            full = max(full, view.since if window.kind == "all" else self._full_after(window, view.since))
        if full is not None and view.named is not None:  # of all rows it is never known which keys had many of them
            full = None if window.kind == "all" else max(full, self._full_after(window, view.named))
        whole = None if full is None else view.from_pane(full)
        return Counts(counts.events, counts.panes, counts.late, whole, counts.no_time)

    def _full_after(self, window: Window, since: int) -> int:
        """The first pane whose window lies in the panes from this one on."""
        if window.kind == "time":
            return since + panes_of(window, self._pane_us) - 1
        boundary = period_start(np.array([since * self._pane_us - 1]), window.unit or "day", next_one=True)
        return int(boundary[0]) // self._pane_us

    # What is saved

    def changes(self) -> list[Change]:
        """What is to be saved: the stations that changed, and names."""
        changes = super().changes()
        if self._dirty:
            head = {
                "fed": self._fed,
                "stations": self._stations.listed(),
            }
            self._saves.put("stations", partial(pack_record, head))
            self._stations.save(self._saves)
            self._names.save(self._views, self._saves)
            self._dirty = False
        return changes + self._saves.changes()

    def saved(self) -> None:
        """What ``changes`` gave last is on disk."""
        super().saved()
        self._saves.saved()

    def _restore(self, saved: dict[str, bytes]) -> None:
        super()._restore(saved)
        if "stations" not in saved:
            return
        head = unpack_record("stations", saved["stations"])
        self._fed = head["fed"]
        self._stations.restore(head["stations"], saved, self._saves)
        self._names.restore(saved, dict(head.get("names", ())))
        for key in saved:
            if key.startswith(_LAST):
                self._last[int(key.removeprefix(_LAST))] = saved[key]
        if self._fed is not None:
            self.keeper.settle(self._fed)


def by_panes(plan: WatchPlan, pane_us: int) -> WatchPlan:
    """The plan with panes of this length."""
    return replace(plan, window=replace(plan.window, every=Every(duration_us=pane_us)))


def _goal_of(view: View) -> SketchGoal:
    assert isinstance(view.plan.goal, SketchGoal)
    return view.plan.goal


def _shape_for(goal: SketchGoal) -> Shape | None:
    return None if isinstance(goal, Quantile) else shape_of(goal)


def _numbers(keys: Sequence[str]) -> FloatArray:
    """The values that are the keys of groups."""
    return np.array([float(json.loads(key)[0]) for key in keys], dtype=np.float64)
