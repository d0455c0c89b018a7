"""The stations of a live site that its watches on one key read (sketches/stations.py, sketches/digest_stations.py).

Every station has a number. As bytes they are a list of them, and blobs: of one of cells its sketches, of one of digests
all its digests (sketch_past.py says when they are saved).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tacit.functions.goals import Quantile, SketchGoal
from tacit.language.plan import Window
from tacit.protocols.gauges.making import SEED, points_of
from tacit.runtime.blobs import pack, pack_arrays, unpack, unpack_arrays
from tacit.sketches.digest_stations import DigestStation, GrowingDigests, Place, SlidingDigests
from tacit.sketches.ecm import EcmSketch
from tacit.sketches.parameters import Shape
from tacit.sketches.quantiles import Digest
from tacit.sketches.stations import CellStation
from tacit.sketches.window import LONGEST, SlidingWindow
from tacit.vocabulary import FloatArray, IntArray, WordArray
from tacit.vocabulary.calendar import DAY_US, first_pane

__all__ = ["KeptStations", "panes_of"]

_PERIODS_US = {"week": 7 * DAY_US, "month": 31 * DAY_US, "year": 366 * DAY_US}


class KeptStations:
    """Stations by their numbers; panes are of ``pane_us``."""

    def __init__(self, pane_us: int) -> None:
        self._pane_us = pane_us
        self.begun: dict[int, int | None] = {}  # by station: the first pane that it has; None: from the first row on
        self._stations: dict[int, CellStation | DigestStation] = {}
        self._kinds: dict[int, list[Any]] = {}  # of digests: how many points, and which windows

    def __getitem__(self, number: int) -> CellStation | DigestStation:
        return self._stations[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._stations)

    def __len__(self) -> int:
        return len(self._stations)

    def serving(self, goal: SketchGoal, shape: Shape | None, window: Window) -> int | None:
        """A station that has all that a watch needs."""
        return next((number for number in self if self.serves(number, goal, shape, window)), None)

    def serves(self, number: int, goal: SketchGoal, shape: Shape | None, window: Window) -> bool:
        """Has this station all that a watch needs?"""
        station = self._stations[number]
        if isinstance(station, DigestStation):
            if not isinstance(goal, Quantile):
                return False
            if window.kind == "time" and isinstance(station, SlidingDigests):
                return station.points == points_of(goal) and station.length >= self._panes_of(window)
            return self._kinds[number] == self._kind(goal, window)
        own = station.shape
        assert shape is not None
        wide = own.depth >= shape.depth and own.width >= shape.width and own.width % shape.width == 0
        long = station.window.length >= self._panes_of(window)
        return wide and own.epsilon_window <= shape.epsilon_window and long

    def add(
        self, goal: SketchGoal, shapes: Sequence[Shape], windows: Sequence[Window], begun: int | None
    ) -> int:  # fmt: skip
        """A station for the strictest of these accuracies and the longest of these windows; the first is the goal's.

        Digests are of one accuracy, and of windows of one kind. Its rows are those from pane ``begun`` on.
        """
        number = max(self, default=-1) + 1
        if isinstance(goal, Quantile):
            timed = [window for window in windows if window.kind == windows[0].kind == "time"]
            self._kinds[number] = self._kind(goal, max(timed, key=self._panes_of, default=windows[0]))
            self._stations[number] = _digests(self._kinds[number])
        else:
            strictest = Shape(
                min(each.epsilon_cells for each in shapes), min(each.epsilon_window for each in shapes),
                min(each.delta_cells for each in shapes), 0.0,
            )  # fmt: skip
            longest = max(self._panes_of(window) for window in windows)
            self._stations[number] = CellStation(SlidingWindow(longest), strictest, seed=SEED)
        self.begun[number] = begun
        return number

    def put(
        self, pane: int, group: IntArray, rows: IntArray, apart: FloatArray | None, words: WordArray, values: FloatArray
    ) -> None:  # fmt: skip
        """So many rows of each group are in this pane; ``apart`` is above 0 for those without a value."""
        for station in self._stations.values():
            if isinstance(station, DigestStation):
                finite = np.isfinite(values[group])  # what is infinite has no rank that could be told
                station.take_counts(values[group][finite], rows[finite].astype(np.float64), pane)
            elif len(group):
                assert apart is not None
                station.take_counts(words[group], rows, pane, apart > 0.5)

    def keep_only(self, numbers: Collection[int]) -> bool:
        """The others go; were there any?"""
        gone = [number for number in self if number not in numbers]
        for number in gone:
            del self._stations[number], self.begun[number]
            self._kinds.pop(number, None)
        return bool(gone)

    def listed(self) -> list[Any]:
        """Which stations there are, for ``restore``."""
        return [[number, self.begun[number], self._kinds.get(number)] for number in self]

    def blobs(self) -> dict[str, bytes]:
        """What is in them, by names that begin with ``station/``."""
        found: dict[str, bytes] = {}
        for number, station in self._stations.items():
            if isinstance(station, DigestStation):
                kept = station.kept.items()
                found.update((_name(number, place), pack_arrays((), np.stack(made, axis=1))) for place, made in kept)
            else:
                found[f"station/{number}"] = pack(station.sketch.to_bytes())
                if station.apart is not None:
                    found[_apart(number)] = pack(station.apart.to_bytes())
        return found

    @classmethod
    def restored(cls, pane_us: int, listed: Sequence[Any], blobs: Mapping[str, bytes]) -> KeptStations:
        """What was listed, with what was in them; digests of an earlier release begin anew."""
        made = cls(pane_us)
        digests: dict[int, dict[Place, Digest]] = {}
        for name in blobs:
            if name.count("/") > 2:
                place, each = _restored(name, blobs[name])
                digests.setdefault(int(name.split("/")[1]), {})[place] = each
        for number, begun, kind in listed:
            cells = blobs.get(f"station/{number}")
            if isinstance(kind, list):
                station = made._stations[number] = _digests(kind)
                station.restore(digests.get(number, {}))
                made._kinds[number] = kind
            elif not kind and cells is not None:
                apart = blobs.get(_apart(number))
                sketch = EcmSketch.from_bytes(unpack(f"station/{number}", cells))
                other = None if apart is None else EcmSketch.from_bytes(unpack(_apart(number), apart))
                made._stations[number] = CellStation.of(sketch, other)
            else:
                continue
            made.begun[number] = begun
        return made

    def _panes_of(self, window: Window) -> int:
        return panes_of(window, self._pane_us)

    def _kind(self, goal: Quantile, window: Window) -> list[Any]:
        points = points_of(goal)
        if window.kind == "time":
            return [points, "time", self._panes_of(window)]
        return [points, "since", self._pane_us, window.unit or "day"] if window.kind == "since" else [points, "all"]


def panes_of(window: Window, pane_us: int) -> int:
    """Panes of a window of time, or of the longest that a window of another kind can become."""
    if window.kind == "time":
        return -(-int(window.duration_us or 1) // pane_us)
    if window.kind == "since":
        return -(-_PERIODS_US.get(window.unit or "day", DAY_US) // pane_us)
    return LONGEST


def _digests(kind: list[Any]) -> DigestStation:
    points, name, *more = kind
    if name == "time":
        return SlidingDigests(more[0], points)
    return GrowingDigests(points, partial(first_pane, every_us=more[0], unit=more[1]) if name == "since" else None)


def _name(number: int, place: Place) -> str:
    return f"station/{number}/{place[0]}/{place[1]}"


def _apart(number: int) -> str:
    return f"station/{number}/apart"


def _restored(name: str, blob: bytes) -> tuple[Place, Digest]:
    _, level, number = name.rsplit("/", 2)
    table = unpack_arrays(name, blob, 0, 2)[1]
    return (int(level), int(number)), (table[:, 0].copy(), table[:, 1].copy())
