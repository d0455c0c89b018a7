"""What a live site keeps for its watches on sketches: one sketch of a key for all of them, fed pane by pane.

Watches that count the same key of the same rows by the same panes share this, whatever they promise and however long
their windows are: a *station* (sketches/stations.py) is made for the strictest accuracy and the longest window that was
asked for when it was made, and every watch reads its own shape and window off it. A watch that asks for more than any
station has gets a new one, which begins empty; stations that nobody reads go. Rows without a value are counted apart:
frequent keys count them, the others do not.

Rows are summed by pane and key until their pane is closed; then they are in the sketch, and nothing else is kept of
them. What is saved with every batch is the sketches as they are, the open panes, and the names of frequent keys. After
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
from tacit.runtime.blobs import Change, pack, pack_record, unpack, unpack_record
from tacit.runtime.pane_windows import PaneKeeper
from tacit.runtime.watch_data import WatchData
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.hashing import fingerprints, places_of, row_words
from tacit.sketches.parameters import Shape
from tacit.sketches.stations import CellStation, DigestStation
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import FloatArray, IntArray, WordArray
from tacit.vocabulary.batches import PaneDeltas, RowBlock
from tacit.vocabulary.calendar import period_start
from tacit.wire.control import Counts

__all__ = ["ARRAYS", "SketchData", "View"]

ARRAYS = 1_000
"""Of so many panes that nobody settled a site keeps its arrays."""
_LOWERED = 8.0  # to a so manieth a threshold may be lowered before names of keys are missing
_DAY_US = 86_400_000_000
_PERIODS_US = {"week": 7 * _DAY_US, "month": 31 * _DAY_US, "year": 366 * _DAY_US}


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
    arrays: dict[int, FloatArray] = field(default_factory=dict)
    seen: dict[int, list[str]] = field(default_factory=dict)  # by pane: the keys that came in it and have enough rows

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
        self._stations: dict[int, CellStation | DigestStation] = {}
        self._begun: dict[int, int | None] = {}  # by station: the first pane that it has
        self._views: dict[int, View] = {}
        self._names: dict[int, dict[str, Any]] = {}  # as they were saved, by the numbers of watches
        self._words: WordArray = np.zeros(0, dtype=np.uint64)  # by group
        self._values: FloatArray = np.zeros(0)
        self._fed: int | None = None
        self._saved_at: int | None = None
        super().__init__(plan, saved, kept=live_plan(plan))

    def _make_keeper(self) -> _Panes:
        return _Panes(self.kept.window.every, len(self.kept.statistics) + 1)

    # Views

    def join(self, number: int, plan: WatchPlan, was: int | None = None) -> View:
        """A watch comes to read: it gets a station that has all it needs, or a new one.

        ``was`` is the number that it had before it was altered, paused or resumed.
        """
        if number in self._views and self._views[number].plan.text == plan.text:
            return self._views[number]
        goal = plan.goal
        assert isinstance(goal, SketchGoal)
        length = _length(plan.window)
        shape = None if isinstance(goal, Quantile) else shape_of(goal)
        station = next((at for at in self._stations if self._serves(at, goal, shape, length)), None)
        if station is None:
            station = self._add_station(goal, shape, length)
        view = View(plan, station, self._begun[station], shape)
        if isinstance(goal, Frequent):
            view.candidates = self._candidates(number, goal, view, was)
        self._views[number] = view
        if self._fed is not None:
            self._read(view, self._fed)
        return view

    def view(self, number: int) -> View:
        """How this watch reads."""
        return self._views[number]

    def leave(self, numbers: Sequence[int]) -> None:
        """Only these watches are left; stations that none of them reads go."""
        self._views = {number: view for number, view in self._views.items() if number in numbers}
        self._names = {number: names for number, names in self._names.items() if number in numbers}
        used = {view.station for view in self._views.values()}
        if self._views:
            self._stations = {at: each for at, each in self._stations.items() if at in used}

    def _serves(self, at: int, goal: SketchGoal, shape: Shape | None, length: int) -> bool:
        station = self._stations[at]
        if isinstance(station, DigestStation):
            return isinstance(goal, Quantile) and station.points == points_of(goal) and station.length >= length
        own = station.shape
        assert shape is not None
        wide = own.depth >= shape.depth and own.width >= shape.width and own.width % shape.width == 0
        return wide and own.epsilon_window <= shape.epsilon_window and station.window.length >= length

    def _add_station(self, goal: SketchGoal, shape: Shape | None, length: int) -> int:
        """One for the strictest accuracy and the longest window of all that read, this one included."""
        number = max(self._stations, default=-1) + 1
        if isinstance(goal, Quantile):
            self._stations[number] = DigestStation(length, points_of(goal))
        else:
            assert shape is not None
            shapes = [shape, *(view.shape for view in self._views.values() if view.shape is not None)]
            strictest = Shape(
                min(each.epsilon_cells for each in shapes), min(each.epsilon_window for each in shapes),
                min(each.delta_cells for each in shapes), 0.0,
            )  # fmt: skip
            longest = max([length, *(_length(view.plan.window) for view in self._views.values())])
            self._stations[number] = CellStation(SlidingWindow(longest), strictest, seed=SEED)
        self._begun[number] = None if self._fed is None else self._fed + 1
        return number

    def _candidates(self, number: int, goal: Frequent, view: View, was: int | None) -> Candidates:
        """The names that were saved, or that it had before, if they are of use to the watch as it is now.

        A floor may be that of a threshold of up to eight times as much, however often it was altered: floors that are
        a 128th at most leave room for shares.
        """
        assert view.shape is not None
        terms, saved = terms_of(goal), self._names.get(number)
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
        elif self._fed is not None and (view.since is None or view.since <= self._fed):
            view.named = self._fed + 1
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
        self._fed = pane
        names = self.keeper.keys
        for view in self._views.values():
            self._read(view, pane)
            if view.candidates is not None and len(group) and view.shape is not None:
                places = places_of(self._words[group], row_words(SEED, view.shape.depth), view.shape.width)
                counts = view.arrays[pane][places].min(axis=1)
                seen = group[counts >= view.candidates.floor].tolist()
                view.seen[pane] = [names[each] for each in seen]
                view.candidates.note(view.seen[pane])

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int, from_us: int = 0) -> None:
        """History before the start; with it the stations are as of the pane before, for whoever comes from now on."""
        assert isinstance(deltas, PaneDeltas)
        self.keeper.backfill(self._with_rows(deltas), until_us)
        self._fed = until_us // self._every_us - 1
        panes = deltas.sub * self.keeper.sub_us // self._every_us
        words = fingerprints(list(deltas.keys), seed=SEED) if not self._digests else np.zeros(0, dtype=np.uint64)
        values = _numbers(deltas.keys) if self._digests else np.zeros(0)
        for pane in np.unique(panes[panes < until_us // self._every_us]).tolist():
            here = panes == pane
            self._put(pane, deltas.group[here], deltas.sums[here], deltas.rows[here], words, values)
        for view in self._views.values():
            if view.candidates is not None and view.shape is not None and len(deltas.keys):
                last, station = until_us // self._every_us - 1, self._stations[view.station]
                assert isinstance(station, CellStation)
                length = self._length_at(view.plan.window, last)
                cells = station.cells(view.shape.depth, view.shape.width, length, last, apart=True)
                many = view.candidates.counts_of(deltas.keys, cells) >= view.candidates.floor
                view.candidates.note([deltas.keys[at] for at in np.flatnonzero(many).tolist()])
        self._cut_short(from_us, until_us)

    def _cut_short(self, from_us: int, until_us: int) -> None:
        """Of a watch that came while history was read, and is longer than what was read, the window is not full."""
        for at, station in self._stations.items():
            length = station.length if isinstance(station, DigestStation) else station.window.length
            if from_us > 0 and length * self._every_us > until_us - from_us:
                self._begun[at] = until_us // self._every_us
        for view in self._views.values():
            view.since = self._begun[view.station]

    def _put(
        self, pane: int, group: IntArray, sums: FloatArray, rows: IntArray, words: WordArray, values: FloatArray
    ) -> None:  # fmt: skip
        """So many rows of each group, into every station; by key the second sum says which have no value."""
        for station in self._stations.values():
            if isinstance(station, DigestStation):
                finite = np.isfinite(values[group])  # what is infinite has no rank that could be told
                kept, weights = station.digest_of(values[group][finite], rows[finite].astype(np.float64))
                station.put(pane, kept, weights)
            elif len(group):
                station.take_counts(words[group], rows, pane, sums[:, 1] > 0.5)

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
            return _length(window)
        if window.kind != "since":
            return None
        end = (pane + 1) * self._every_us
        begin = int(period_start(np.array([end - 1]), window.unit or "day")[0])
        return max(1, pane + 1 - begin // self._every_us)

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
            return since + _length(window) - 1
        boundary = period_start(np.array([since * self._every_us - 1]), window.unit or "day", next_one=True)
        return int(boundary[0]) // self._every_us

    # What is saved

    def changes(self) -> list[Change]:
        """What is to be saved: the stations as they are, and names."""
        changes = super().changes()
        if self._fed is None or self._saved_at == self._fed:
            return changes
        head = {
            "fed": self._fed,
            "stations": [[at, self._begun[at], isinstance(each, DigestStation)] for at, each in self._stations.items()],
            "names": [
                [number, _names_of(view)] for number, view in self._views.items() if view.candidates is not None
            ],
        }  # fmt: skip
        changes.append(Change("stations", pack_record(head)))
        for at, station in self._stations.items():
            if isinstance(station, DigestStation):
                changes.append(Change(f"station/{at}", pack(json.dumps(station.state()).encode())))
            else:
                changes.append(Change(f"station/{at}", pack(station.sketch.to_bytes())))
                apart = None if station.apart is None else pack(station.apart.to_bytes())
                changes.append(Change(f"station/{at}/apart", apart))  # None: it may be that of one that is gone
        self._saved_at = self._fed
        return changes

    def _restore(self, saved: dict[str, bytes]) -> None:
        super()._restore(saved)
        if "stations" not in saved:
            return
        head = unpack_record("stations", saved["stations"])
        self._fed = self._saved_at = head["fed"]
        for at, begun, digests in head["stations"]:
            state = unpack(f"station/{at}", saved[f"station/{at}"])
            self._begun[at] = begun
            if digests:
                self._stations[at] = DigestStation.of(json.loads(state))
            else:
                name, apart = f"station/{at}/apart", None
                if name in saved:
                    apart = EcmSketch.from_bytes(unpack(name, saved[name]))
                self._stations[at] = CellStation.of(EcmSketch.from_bytes(state), apart)
        self._names = dict(head["names"])
        if self._fed is not None:
            self.keeper.settle(self._fed)


def _names_of(view: View) -> dict[str, Any]:
    """The names of a view's candidates, the floor that they were kept from, and in which window."""
    assert view.candidates is not None
    candidates, window = view.candidates, view.plan.window
    return {"keys": candidates.keys, "floor": candidates.floor, "since": view.named, "window": _span(window)}


def _span(window: Window) -> list[Any]:
    return [window.kind, window.duration_us, window.unit]


def _length(window: Window) -> int:
    """Panes of a window of time, or of the longest that a window of another kind can become."""
    every = int(window.every.duration_us or 1)
    if window.kind == "time":
        return -(-int(window.duration_us or 1) // every)
    if window.kind == "since":
        return -(-_PERIODS_US.get(window.unit or "day", _DAY_US) // every)
    return LONGEST


def _places(shape: Shape, keys: Sequence[str]) -> IntArray:
    return places_of(fingerprints(list(keys), seed=SEED), row_words(SEED, shape.depth), shape.width)


def _numbers(keys: Sequence[str]) -> FloatArray:
    """The values that are the keys of groups."""
    return np.array([float(json.loads(key)[0]) for key in keys], dtype=np.float64)
