"""What a live site keeps for its watches on sketches: one sketch of a key for all of them, fed pane by pane.

Watches that count the same key of the same rows share this, whatever they promise, however long their windows are, and
with any step that is a whole number of its panes: a *station* (kept_stations.py) is made for the strictest accuracy and
the longest window that was asked for when it was made, and every watch reads its own shape, window and panes off it
(sketch_views.py). (Digests of values serve windows of time alike; watches since a start, or on all rows, have their
own.) A watch that asks for more than any station has gets a new one, which begins empty, unless no row came yet; when
it has the rows of all windows, everybody reads it, and stations that nobody reads go. Rows without a value are counted
apart: frequent keys count them, the others do not.

Rows are summed by pane and key until their pane is closed; then they are in the sketch. Those of panes that are not
settled for good stay beside it, with the sketch as it was before them (sketch_past.py): so an array that is not in
memory, or that a start has lost, is made again, the same to the bit. What is saved with every batch is the rows that
came, by pane, and the names of frequent keys.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, Quantile, SketchGoal
from tacit.language.plan import Every, WatchPlan, Window
from tacit.language.recorded import live_plan
from tacit.protocols.gauges.making import SEED, shape_of
from tacit.runtime.blobs import Change, Pieces, pack_record, unpack_record
from tacit.runtime.kept_stations import KeptStations, panes_of
from tacit.runtime.pane_windows import PaneKeeper
from tacit.runtime.sketch_names import SketchNames, note, seen_in, tidy
from tacit.runtime.sketch_past import UNFED, SketchPast
from tacit.runtime.sketch_views import View, ViewPanes
from tacit.runtime.watch_data import WatchData, data_key
from tacit.runtime.window_keeper import FAR
from tacit.sketches.digest_stations import DigestStation
from tacit.sketches.hashing import fingerprints
from tacit.sketches.parameters import Shape
from tacit.vocabulary import FloatArray, IntArray, WordArray
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tacit.vocabulary.calendar import first_pane, period_start
from tacit.wire.control import Counts

__all__ = ["SketchData", "by_panes"]


class _Panes(PaneKeeper):
    """Windows of one pane: what is in it can be had once it is closed, and is forgotten when it is settled."""

    def __init__(self, every: Every, dimension: int) -> None:
        super().__init__(Window("time", every, duration_us=every.duration_us), dimension, sparse=True)
        self._listed: tuple[tuple[int, int], IntArray] | None = None

    def contents(self, pane: int) -> tuple[IntArray, FloatArray]:
        """The groups of a closed pane, and the sums of each; the last is how many rows it has."""
        lo, _, hi = self._range(pane)
        group, sums = self._log.entries(lo, hi)
        return group.copy(), sums

    def panes_with_rows(self) -> IntArray:
        """The closed panes that have rows, of those that are not forgotten."""
        place = self._log.front, self._log.end
        if self._listed is None or self._listed[0] != place:
            self._listed = place, np.unique(self._log.at(*place))
        return self._listed[1]


class SketchData(WatchData):
    """Stations of a key, and the views of the watches on it; ``plan`` has the step that they are fed by."""

    keeper: _Panes

    def __init__(self, plan: WatchPlan, saved: dict[str, bytes] | None = None) -> None:
        self._digests = isinstance(plan.goal, Quantile)
        self._pane_us = int(plan.window.every.duration_us or 1)
        self._stations = KeptStations(self._pane_us)
        self._past = SketchPast(self._pane_us, self._feed)
        self._saves, self._dirty = Pieces(), False  # is there something that is not among them?
        self._rows_before: int | None = None  # the newest pane with rows of those whose contents are gone
        self._views: dict[int, View] = {}
        self._names = SketchNames()
        self._read: dict[int, list[Any]] = {}  # how watches read that have not come yet, by their numbers
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
        return ViewPanes(self.keeper, self._views[number], self._oldest_of)

    def _oldest_of(self, view: View) -> int | None:
        """The oldest pane of a watch of which an array can be had; that after the last, if there is none."""
        if self.keeper.closed is None or self.keeper.begin is None:
            return None
        known = [each for each in (self._past.oldest, view.made) if each is not None and each != UNFED]
        closed = view.pane(self.keeper.closed)
        oldest = -(-(max(known) + 1) // view.each) - 1 if known else view.from_pane(self.keeper.begin)
        return min(oldest, closed + 1)

    def settle(self, number: int, pane: int) -> None:
        """Arrays of a watch before this pane of it are not asked for any more."""
        self._views[number].settle(pane)

    def trim(self) -> None:
        """Forget what is not needed for the panes that may still be asked for."""
        ends = [None if view.settled is None else (view.settled + 1) * view.each - 1 for view in self._views.values()]
        if ends and None not in ends and self._past.forget(min(end for end in ends if end is not None), self._saves):
            self._forget_contents()

    def drop_oldest(self) -> bool:
        """There is no room for all panes that are not settled for good: the oldest go."""
        if self._fed is None or not self._past.forget_oldest(self._fed, self._stations, self._saves):
            return False
        self._forget_contents()
        for view in self._views.values():
            view.forget(self._oldest_of(view) or 0)
        return True

    def _forget_contents(self) -> None:
        oldest = self._past.oldest
        assert oldest is not None
        self._rows_before = self._rows_around(oldest)[0]
        self.keeper.settle(oldest + 1)
        self._dirty = True

    @property
    def nbytes(self) -> int:
        """What the panes that are not settled for good take up."""
        return super().nbytes + self._past.nbytes

    def move_to(self, other: SketchData) -> None:
        """Everything that watches have here; no row has come."""
        for number, view in self._views.items():
            joined = other.join(number, view.plan)
            joined.candidates, joined.tended = view.candidates, view.tended
        other.bases.update(self.bases)

    def rejoin(self, other: SketchData) -> None:
        """Those who read this read another one, as after a start."""
        for number, view in self._views.items():
            other.join(number, view.plan)

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
        known = list(self._stations)
        station = self._stations.serving(goal, shape, plan.window)
        if station is None:
            station = self._add_station(goal, shape, plan.window)
        every = int(plan.window.every.duration_us or 1)
        read = self._read.pop(number, None)
        made = None if station in known else self._fed
        view = View(
            plan, [(None, station)], self._stations.begun[station], shape, every // self._pane_us, made=made
        )  # fmt: skip
        before = None if was is None else self._views.get(was)
        if before is not None and before.station == station:
            view.made = before.made
            view.stations = list(before.stations) if before.shape == shape else view.stations
        if read is not None and read[0] == view.mark and read[3][-1][1] in self._stations:
            view.since, view.made, view.stations = read[1], read[2], [(since, each) for since, each in read[3]]
        if isinstance(goal, Frequent):
            view.candidates = self._names.candidates(number, view, before, self._next)
        self._views[number] = view
        self._dirty = True
        return view

    def view(self, number: int) -> View:
        """How this watch reads."""
        return self._views[number]

    def leave(self, numbers: Sequence[int]) -> None:
        """Only these watches are left; stations that none of them reads go."""
        gone = [each for each in (*self._views, *self._names, *self._read) if each not in numbers]
        for number in gone:
            self._views.pop(number, None)
            self._names.forget(number, self._saves)
            self._read.pop(number, None)
        self._dirty |= bool(gone)
        if self._views and self._stations.keep_only({view.station for view in self._views.values()}):
            self._mark()

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
                    view.reads(added, None)
            self._stations.keep_only({added, *(view.station for view in views)})
        self._mark()
        return added

    def _mark(self) -> None:
        """Save the stations as they are now."""
        self._past.mark(UNFED if self._fed is None else self._fed, self._stations, self._saves)
        self._dirty = True

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

    def runs(self, closing: range) -> Iterator[tuple[int, int]]:
        """These panes, those in a row together in which no watch's array changes."""
        pane = closing.start
        while pane < closing.stop:
            last = max(pane, min(self._same_through(pane), closing.stop - 1))
            yield pane, last
            pane = last + 1

    @property
    def quiet_through(self) -> int | None:
        """The last pane, closed or not, through which all arrays stay as they are at the last that is closed."""
        if self._fed is None or self._fed != self.keeper.closed:
            return None
        through, first_open = self._same_through(self._fed), self.keeper.first_open
        return through if first_open is None else min(through, first_open - 1)

    def _same_through(self, pane: int) -> int:
        """The last pane through which all arrays stay as at this one, as far as rows are closed."""
        newest, coming = self._rows_around(pane)
        changes = [self._changes_after(view.plan.window, pane, newest) for view in self._views.values()]
        return min([coming, *changes]) - 1

    def same_until(self, number: int, pane: int) -> int:
        """The last closed pane of a watch through which its array stays as it is at this one."""
        view = self._views[number]
        end = (pane + 1) * view.each - 1
        newest, coming = self._rows_around(end)
        changes = min(coming, self._changes_after(view.plan.window, end, newest))
        assert self.keeper.closed is not None
        return max(pane, view.pane(min(self.keeper.closed, changes - 1)))

    def _rows_around(self, pane: int) -> tuple[int | None, int]:
        """The newest pane with rows up to this one, and the next one of those that are closed."""
        panes = self.keeper.panes_with_rows()
        at = int(np.searchsorted(panes, pane, side="right"))
        return int(panes[at - 1]) if at else self._rows_before, int(panes[at]) if at < len(panes) else FAR

    def _changes_after(self, window: Window, pane: int, newest: int | None) -> int:
        """The first pane after this one at which an array may be another, if no row comes."""
        length = self._length_at(window, pane)
        if length is None or newest is None or newest + length <= pane:  # nothing leaves
            return FAR
        if window.kind == "time":
            return pane + 1
        instant = np.array([(pane + 1) * self._pane_us - 1])
        return int(period_start(instant, window.unit or "day", next_one=True)[0]) // self._pane_us

    def close(self, first: int, last: int) -> None:
        """Panes were closed: what is in them goes into the stations, and every view whose pane ends reads its array.

        Only the first of them has rows, and arrays are the same at all.
        """
        group, sums = self.keeper.contents(first)
        if len(group):
            self.panes += 1
            self._learn_keys()
            self._stations.put(first, *self._counted(group, sums))
            self._past.came(sums.nbytes + 16 * len(group))
        self._fed, self._dirty = last, True
        for view in self._views.values():
            looks = view.candidates is not None and len(group) > 0
            ended = view.pane(last)
            begins = -(-(first + 1) // view.each) - 1  # the first pane of the watch that ends with one of these
            if not looks and begins > ended:
                continue
            array = self._array(view, self._stations, first)
            if looks:
                note(view, array, group, self._words, self.keeper.keys)
            if begins <= ended:
                view.put(begins, array)
                self._ended(view, (ended + 1) * view.each - 1)

    def _ended(self, view: View, pane: int) -> None:
        """A pane of a watch is over with this one."""
        tidy(view, pane)
        newest = max(self._stations)
        if view.station != newest and self._has_next_window(newest, view, pane):
            view.reads(newest, pane + 1)  # and its windows stay as full as they were

    def _feed(self, after: int, until: int, stations: KeptStations) -> None:
        """Put the contents of the panes after one and up to another into stations."""
        self._learn_keys()
        panes = self.keeper.panes_with_rows()
        for pane in panes[(panes > after) & (panes <= until)].tolist():
            stations.put(pane, *self._counted(*self.keeper.contents(pane)))

    def _counted(
        self, group: IntArray, sums: FloatArray
    ) -> tuple[IntArray, IntArray, FloatArray | None, WordArray, FloatArray]:  # fmt: skip
        """How many rows of each group there are, for stations; by key the second sum says which have no value."""
        rows = np.rint(sums[:, -1]).astype(np.int64)
        return group, rows, None if self._digests else sums[:, 1], self._words, self._values

    def array(self, number: int, pane: int) -> FloatArray | None:
        """What a watch has at a pane of its own, nothing before the first row; None if that is not known any more."""
        view, begin = self._views[number], self.panes_for(number).begin
        found = view.arrays.get(pane)
        if found is not None:
            return found
        if begin is None or pane < begin:
            return np.zeros(view.size)
        oldest, end = self._oldest_of(view), (pane + 1) * view.each - 1
        if oldest is None or pane < oldest or self._fed is None or end > self._fed:
            return None
        return self._array(view, self._past.stations(end), end)

    def names_at(self, number: int, pane: int) -> Sequence[str]:
        """The keys that came in a pane of a watch and have enough rows in its window."""
        view = self._views[number]
        if pane in view.seen or view.candidates is None:
            return view.seen.get(pane, ())
        found: dict[str, None] = {}
        panes = self.keeper.panes_with_rows()
        for each in panes[(panes >= pane * view.each) & (panes < (pane + 1) * view.each)].tolist():
            group = self.keeper.contents(each)[0]
            array = self._array(view, self._past.stations(each), each)
            found.update(dict.fromkeys(seen_in(view, array, group, self._words, self.keeper.keys)))
        return tuple(found)

    def _has_next_window(self, station: int, view: View, pane: int) -> bool:
        """Has a station all rows of the window of a view at its next pane, and is it good enough for it?"""
        window, begun = view.plan.window, self._stations.begun[station]
        if not self._stations.serves(station, _goal_of(view), view.shape, window):
            return False
        length = self._length_at(window, pane + view.each)
        return begun is None or (length is not None and pane + view.each + 1 - length >= begun)

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int, reach_us: int | None = None) -> None:
        """History before the start; a watch that came while it was read may want more than there is of it."""
        assert isinstance(deltas, PaneDeltas)
        self.keeper.backfill(self._with_rows(deltas), until_us)
        self.keeper.begin_before_start()
        panes = deltas.sub * self.keeper.sub_us // self._pane_us
        words = fingerprints(list(deltas.keys), seed=SEED) if not self._digests else np.zeros(0, dtype=np.uint64)
        values = _numbers(deltas.keys) if self._digests else np.zeros(0)
        self._know_from(None if reach_us is None else -((reach_us - until_us) // self._pane_us))
        for pane in np.unique(panes[panes < until_us // self._pane_us]).tolist():
            here = panes == pane
            apart = None if self._digests else deltas.sums[here][:, 1]
            self._stations.put(pane, deltas.group[here], deltas.rows[here], apart, words, values)
        self._fed = until_us // self._pane_us - 1
        self._mark()
        for view in self._views.values():
            if view.candidates is not None and view.shape is not None and len(deltas.keys):
                cells = self._array(view, self._stations, until_us // self._pane_us - 1)
                many = view.candidates.counts_of(deltas.keys, cells) >= view.candidates.floor
                view.candidates.note([deltas.keys[at] for at in np.flatnonzero(many).tolist()])

    def _know_from(self, pane: int | None) -> None:
        """History begins with this pane; None: with the first row."""
        for at in self._stations:
            self._stations.begun[at] = pane
        for view in self._views.values():
            view.since = pane

    def _array(self, view: View, stations: KeptStations, pane: int) -> FloatArray:
        """What a view's station says of its window as of the last pane that it has."""
        station, length = stations[view.station_at(pane)], self._length_at(view.plan.window, pane)
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
        if self._fed is not None and self._past.due:
            self._mark()
        if self._dirty:
            views = [
                [number, [view.mark, view.since, view.made, view.stations]] for number, view in self._views.items()
            ]
            head = {
                "fed": self._fed, "marks": self._past.listed(), "rows_before": self._rows_before,
                "views": [*views, *self._read.items()],
            }  # fmt: skip
            self._saves.put("stations", partial(pack_record, head))
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
        self._names.restore(saved, dict(head.get("names", ())))
        if "marks" in head:
            self._past.restore(head["marks"], saved)
        else:
            self._past.take_over(self._fed, head["stations"], saved, self._saves)
        self._rows_before = head.get("rows_before")
        self._read = {int(number): read for number, read in head.get("views", ())}
        self._stations = self._past.newest(UNFED if self._fed is None else self._fed)


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
