"""How a site answers for panes that its sketches have read past: stations as they were, and the rows that came since.

A sketch cannot go back. So its stations are saved as they were after some panes (*marks*), and the contents of all
later panes stay in the windows (sketch_data.py): the stations after any pane since the oldest mark are those of the
mark before it, fed with the panes between. They are the same to the bit, for what stations hold follows from what came
in which pane alone. A mark is made when stations come or go, and else when the contents since the last one are as large
as the mark would be; so what is written is at most twice what comes. Marks go when panes are settled for good.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tacit.runtime.blobs import Pieces
from tacit.runtime.kept_stations import KeptStations

__all__ = ["UNFED", "SketchPast"]

UNFED = -(1 << 61)
"""The pane of a mark that was made before any pane was fed."""
_SMALL = 1 << 20  # bytes of contents for which no mark is made
_PREFIX = "mark/"

Feed = Callable[[int, int, KeptStations], None]


@dataclass(frozen=True, slots=True)
class _Mark:
    """Stations as they were after a pane."""

    pane: int
    listed: list[Any]
    blobs: Mapping[str, bytes]

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.blobs.values()))


class SketchPast:
    """Marks, oldest first; ``feed(after, until, stations)`` puts in the contents of panes after one, up to another."""

    def __init__(self, pane_us: int, feed: Feed) -> None:
        self._pane_us, self._feed = pane_us, feed
        self._marks: list[_Mark] = []
        self._since = 0  # bytes of contents since the newest mark
        self._last: tuple[int, KeptStations] | None = None  # stations that were made again, and after which pane

    @property
    def oldest(self) -> int | None:
        """The oldest pane after which stations can be had; None when there is no mark."""
        return self._marks[0].pane if self._marks else None

    @property
    def nbytes(self) -> int:
        """What the marks take up that go when panes are settled for good."""
        return sum(mark.nbytes for mark in self._marks[:-1])

    def came(self, nbytes: int) -> None:
        """Contents of so many bytes were fed."""
        self._since += nbytes

    @property
    def due(self) -> bool:
        """Is it time for a mark?"""
        return not self._marks or self._since >= max(_SMALL, self._marks[-1].nbytes)

    def mark(self, pane: int, stations: KeptStations, saves: Pieces) -> None:
        """These are the stations after this pane, the newest one."""
        if self._marks and self._marks[-1].pane == pane:
            self._drop(self._marks.pop(), saves)
            self._last = None
        made = _Mark(pane, stations.listed(), stations.blobs())
        self._marks.append(made)
        self._since = 0
        for name, blob in made.blobs.items():
            saves.put(f"{_PREFIX}{pane}/{name}", partial(bytes, blob))

    def stations(self, pane: int) -> KeptStations:
        """The stations after a pane, which is none before the oldest mark; to be read before this is asked again."""
        mark = self._marks[bisect_right(self._marks, pane, key=lambda each: each.pane) - 1]
        if self._last is None or not mark.pane <= self._last[0] <= pane:
            self._last = mark.pane, KeptStations.restored(self._pane_us, mark.listed, mark.blobs)
        after, stations = self._last
        self._feed(after, pane, stations)
        self._last = pane, stations
        return stations

    def newest(self, pane: int) -> KeptStations:
        """The stations after the last pane, to go on from; nobody else has them."""
        stations, self._last = self.stations(pane), None
        return stations

    def forget(self, pane: int, saves: Pieces) -> bool:
        """Nothing before this pane will be asked for: marks that are not needed for it go. Did any?"""
        gone = bisect_right(self._marks, pane, key=lambda each: each.pane) - 1
        if gone <= 0:
            return False
        for mark in self._marks[:gone]:
            self._drop(mark, saves)
        del self._marks[:gone]
        if self._last is not None and self._last[0] < self._marks[0].pane:
            self._last = None
        return True

    def forget_oldest(self, pane: int, stations: KeptStations, saves: Pieces) -> bool:
        """There is no room: the oldest mark goes; ``stations`` are those after ``pane``, the newest."""
        if len(self._marks) == 1:
            self.mark(pane, stations, saves)
        return len(self._marks) > 1 and self.forget(self._marks[1].pane, saves)

    def listed(self) -> list[Any]:
        """What ``restore`` needs beside the blobs."""
        return [[mark.pane, mark.listed] for mark in self._marks]

    def restore(self, listed: Sequence[Any], saved: Mapping[str, bytes]) -> None:
        """The marks that were saved."""
        blobs: dict[int, dict[str, bytes]] = {}
        for key, blob in saved.items():
            if key.startswith(_PREFIX):
                pane, name = key.removeprefix(_PREFIX).split("/", 1)
                blobs.setdefault(int(pane), {})[name] = blob
        self._marks = [_Mark(pane, stations, blobs.get(pane, {})) for pane, stations in listed]

    def take_over(self, fed: int | None, listed: list[Any], saved: Mapping[str, bytes], saves: Pieces) -> None:
        """What an earlier release saved: the stations after the last pane alone."""
        blobs = {name: blob for name, blob in saved.items() if name.startswith("station/")}
        stations = KeptStations.restored(self._pane_us, listed, blobs)
        for name in blobs:
            saves.delete(name)
        self.mark(UNFED if fed is None else fed, stations, saves)

    def _drop(self, mark: _Mark, saves: Pieces) -> None:
        for name in mark.blobs:
            saves.delete(f"{_PREFIX}{mark.pane}/{name}")
