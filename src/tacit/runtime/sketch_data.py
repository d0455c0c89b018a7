"""What a live site keeps for its watches on sketches: one sketch of a key for all of them, fed pane by pane.

Watches that count the same key of the same rows by the same panes share this, whatever they promise and however long
their windows are: a *station* (kept_stations.py) is made for the strictest accuracy and the longest window that was
asked for when it was made, and every watch reads its own shape and window off it. (Digests of values serve windows
of time alike; watches since a start, or on all rows, have their own.) A watch that asks for more than any
station has gets a new one, which begins empty; stations that nobody reads go. Rows without a value are counted apart:
frequent keys count them, the others do not.

Rows are summed by pane and key until their pane is closed; then they are in the sketch, and nothing else is kept of
them. What is saved with every batch is the sketches that changed, the open panes, and the names of frequent keys. After
a start the site holds its arrays of the last closed pane only: whoever needs an older one asks everyone anew.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, Quantile, SketchGoal
from tacit.language.plan import Every, WatchPlan, Window
from tacit.language.recorded import live_plan
from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.frequent.shares import HIGHEST
from tacit.protocols.gauges.making import SEED, points_of, shape_of, terms_of
from tacit.runtime.blobs import Change, Pieces, pack_record, unpack_record
from tacit.runtime.kept_stations import KeptStations, panes_of
from tacit.runtime.pane_windows import PaneKeeper
from tacit.runtime.watch_data import WatchData
from tacit.sketches.digest_stations import DigestStation
from tacit.sketches.hashing import fingerprints, places_of, row_words
from tacit.sketches.parameters import Shape
from tacit.sketches.stations import CellStation
from tacit.vocabulary import FloatArray, IntArray, WordArray
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tacit.vocabulary.calendar import first_pane, period_start
from tacit.wire.control import Counts

__all__ = ["ARRAYS", "SketchData", "View"]

ARRAYS = 1_100
"""Of so many panes that nobody settled a site keeps its arrays: twice what the fastest may be ahead (pacing.py), and
that is more than twice ``AHEAD`` and less than ``backlog_panes``."""
NAMES = 1 << 20
"""So many names are kept for a watch on frequent keys that is paused or has not begun."""
_NAMES = "names/"
_LOWERED = 8.0  # to a so manieth a threshold may be lowered before names of keys are missing


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


@dataclass(slots=True, eq=False)
class View:
    """How one watch reads a station: its arrays by pane, and the names of its candidates."""

    plan: WatchPlan
    station: int
    since: int | None  # the pane from which on its station knows all rows; None: from the first
    shape: Shape | None = None
    named: int | None = None  # the pane from which on names are known; None: of all rows that the station has
    candidates: Candidates | None = None
    tended: bool = False  # a machine looks after its candidates
    arrays: dict[int, FloatArray] = field(default_factory=dict)
    seen: dict[int, list[str]] = field(default_factory=dict)  # by pane: the keys that came in it and have enough rows
    saved: tuple[list[str], int, float, int | None] | None = None  # the names that are on disk, and what they are for

    @property
    def cells(self) -> int:
        """How many cells the watch sees."""
        return 0 if self.shape is None else self.shape.depth * self.shape.width

    @property
    def size(self) -> int:
        """How long its arrays are."""
        goal = self.plan.goal
        return 1 + points_of(goal) if isinstance(goal, Quantile) else self.cells


class SketchData(WatchData):
    """Stations of a key, and the views of the watches on it."""

    keeper: _Panes

    def __init__(self, plan: WatchPlan, saved: dict[str, bytes] | None = None) -> None:
        self._digests = isinstance(plan.goal, Quantile)
        self._every_us = int(plan.window.every.duration_us or 1)
        self._stations = KeptStations()
        self._saves, self._dirty = Pieces(), False  # is there something that is not among them?
        self._views: dict[int, View] = {}
        self._names: dict[int, dict[str, Any]] = {}  # as they were saved, by the numbers of watches
        self._words: WordArray = np.zeros(0, dtype=np.uint64)  # by group
        self._values: FloatArray = np.zeros(0)
        self._fed: int | None = None
        super().__init__(plan, saved, kept=live_plan(plan))

    def _make_keeper(self) -> _Panes:
        return _Panes(self.kept.window.every, len(self.kept.statistics) + 1)

    # Views

    def join(self, number: int, plan: WatchPlan, was: int | None = None) -> View:
        """A watch comes to read: it gets a station that has all it needs, or a new one.

        ``was`` is the number that it had before it was altered, paused or resumed.
        """
        if number in self._views and self._views[number].plan.text == plan.text:
            self._views[number].tended = False
            return self._views[number]
        goal = plan.goal
        assert isinstance(goal, SketchGoal)
        shape = None if isinstance(goal, Quantile) else shape_of(goal)
        station = self._stations.serving(goal, shape, plan.window)
        if station is None:
            station = self._add_station(goal, shape, plan.window)
        view = View(plan, station, self._stations.begun[station], shape)
        if isinstance(goal, Frequent):
            view.candidates = self._candidates(number, goal, view, was)
        self._views[number] = view
        self._dirty = True
        if self._fed is not None:
            self._read(view, self._fed)
        return view

    def view(self, number: int) -> View:
        """How this watch reads."""
        return self._views[number]

    def leave(self, numbers: Sequence[int]) -> None:
        """Only these watches are left; stations that none of them reads go."""
        for number in [each for each in (*self._views, *self._names) if each not in numbers]:
            self._views.pop(number, None)
            self._names.pop(number, None)
            self._saves.delete(f"{_NAMES}{number}")
        if self._views:
            self._dirty |= self._stations.keep_only({view.station for view in self._views.values()}, self._saves)

    def _add_station(self, goal: SketchGoal, shape: Shape | None, window: Window) -> int:
        """One for the strictest accuracy and the longest window of all that read, this one included."""
        views = list(self._views.values())
        shapes = [each for each in (shape, *(view.shape for view in views)) if each is not None]
        windows = [window, *(view.plan.window for view in views)]
        return self._stations.add(goal, shapes, windows, self._next)

    @property
    def _next(self) -> int | None:
        """The first pane that a watch that comes now sees from its first row on; None: it has missed none."""
        if self._fed is not None:
            return self._fed + 1
        return self.keeper.started_at if self.keeper.backfilled else None

    def _candidates(self, number: int, goal: Frequent, view: View, was: int | None) -> Candidates:
        """The names that were saved, or that it had before, if they are of use to the watch as it is now.

        A floor may be that of a threshold of up to eight times as much, however often it was altered: floors that are
        a 128th at most leave room for shares.
        """
        assert view.shape is not None
        terms, saved = terms_of(goal), self._names.pop(number, None)
        before = None if was is None else self._views.get(was)
        if saved is None and before is not None and before.station == view.station:
            saved = _names_of(before)
        candidates = Candidates(partial(_places, view.shape), terms.most)
        if saved is not None and saved.get("window") != _span(view.plan.window):
            saved = None  # of another watch, which had the number or the name before
        if saved is not None and saved["floor"] <= terms.most / HIGHEST * _LOWERED:
            candidates.floor = max(candidates.floor, float(saved["floor"]))
            candidates.note(saved["keys"])
            view.named = saved["since"]
        elif self._next is not None and (view.since is None or view.since < self._next):
            view.named = self._next
        return candidates

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
        return [*self.keeper.with_rows(closing.start, closing[-most:].start), *closing[-most:]]

    def close(self, pane: int) -> None:
        """A pane was closed: what is in it goes into the stations, and every view reads its array."""
        group, sums = self.keeper.contents(pane)
        self.panes += bool(len(group))
        self._learn_keys()
        self._put(pane, group, sums, np.rint(sums[:, -1]).astype(np.int64), self._words, self._values)
        self._fed, self._dirty = pane, True
        names = self.keeper.keys
        for view in self._views.values():
            self._read(view, pane)
            if view.candidates is not None and len(group) and view.shape is not None:
                places = places_of(self._words[group], row_words(SEED, view.shape.depth), view.shape.width)
                counts = view.arrays[pane][places].min(axis=1)
                seen = group[counts >= view.candidates.floor].tolist()
                view.seen[pane] = [names[each] for each in seen]
                view.candidates.note(view.seen[pane])
            if view.candidates is not None and not view.tended:
                self._tidy(view, view.candidates, pane)

    def _tidy(self, view: View, candidates: Candidates, pane: int) -> None:
        """Of a watch without a machine names are forgotten as a machine would, and there are never too many."""
        candidates.tidy(view.arrays.values())
        if len(candidates) > NAMES:
            counts = candidates.counts(view.arrays[pane])
            candidates.keep(counts > np.partition(counts, -NAMES)[-NAMES])
            view.named = pane + 1

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int, reach_us: int | None = None) -> None:
        """History before the start; a watch that came while it was read may want more than there is of it."""
        assert isinstance(deltas, PaneDeltas)
        self.keeper.backfill(self._with_rows(deltas), until_us)
        panes = deltas.sub * self.keeper.sub_us // self._every_us
        words = fingerprints(list(deltas.keys), seed=SEED) if not self._digests else np.zeros(0, dtype=np.uint64)
        values = _numbers(deltas.keys) if self._digests else np.zeros(0)
        self._know_from(None if reach_us is None else -((reach_us - until_us) // self._every_us))
        for pane in np.unique(panes[panes < until_us // self._every_us]).tolist():
            here = panes == pane
            self._put(pane, deltas.group[here], deltas.sums[here], deltas.rows[here], words, values)
        self._dirty = True
        for view in self._views.values():
            if view.candidates is not None and view.shape is not None and len(deltas.keys):
                last, station = until_us // self._every_us - 1, self._stations[view.station]
                assert isinstance(station, CellStation)
                length = self._length_at(view.plan.window, last)
                cells = station.cells(view.shape.depth, view.shape.width, length, last, apart=True)
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

    def _read(self, view: View, pane: int) -> None:
        station, length = self._stations[view.station], self._length_at(view.plan.window, pane)
        if isinstance(station, DigestStation):
            array = station.array(length, pane)
        else:
            assert view.shape is not None
            apart = isinstance(view.plan.goal, Frequent)
            array = station.cells(view.shape.depth, view.shape.width, length, pane, apart=apart)
        view.arrays[pane] = array
        oldest = max(pane - ARRAYS, -(1 << 62) if self.keeper.oldest is None else self.keeper.oldest - 1)
        for old in [each for each in view.arrays if each < oldest]:
            del view.arrays[old]
            view.seen.pop(old, None)

    def _length_at(self, window: Window, pane: int) -> int | None:
        if window.kind == "time":
            return panes_of(window)
        if window.kind != "since":
            return None
        return pane + 1 - first_pane(pane, self._every_us, window.unit or "day")

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
        return Counts(counts.events, counts.panes, counts.late, full, counts.no_time)

    def _full_after(self, window: Window, since: int) -> int:
        """The first pane whose window lies in the panes from this one on."""
        if window.kind == "time":
            return since + panes_of(window) - 1
        boundary = period_start(np.array([since * self._every_us - 1]), window.unit or "day", next_one=True)
        return int(boundary[0]) // self._every_us

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
            self._save_names()
            self._dirty = False
        return changes + self._saves.changes()

    def _save_names(self) -> None:
        """Those of watches whose names are not what they were."""
        for number, view in self._views.items():
            if view.candidates is not None:
                keys = view.candidates.keys
                now = (keys, len(keys), view.candidates.floor, view.named)
                if view.saved is None or view.saved[0] is not keys or view.saved[1:] != now[1:]:
                    self._saves.put(f"{_NAMES}{number}", partial(pack_record, _names_of(view)))
                    view.saved = now

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
        self._names = dict(head.get("names", ()))  # where an earlier release had them
        for key in saved:
            if key.startswith(_NAMES):
                self._names[int(key.removeprefix(_NAMES))] = unpack_record(key, saved[key])
        if self._fed is not None:
            self.keeper.settle(self._fed)


def _names_of(view: View) -> dict[str, Any]:
    """The names of a view's candidates, the floor that they were kept from, and in which window."""
    assert view.candidates is not None
    candidates, window = view.candidates, view.plan.window
    return {"keys": candidates.keys, "floor": candidates.floor, "since": view.named, "window": _span(window)}


def _span(window: Window) -> list[Any]:
    return [window.kind, window.duration_us, window.unit]


def _places(shape: Shape, keys: Sequence[str]) -> IntArray:
    return places_of(fingerprints(list(keys), seed=SEED), row_words(SEED, shape.depth), shape.width)


def _numbers(keys: Sequence[str]) -> FloatArray:
    """The values that are the keys of groups."""
    return np.array([float(json.loads(key)[0]) for key in keys], dtype=np.float64)
