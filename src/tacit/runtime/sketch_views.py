"""How a watch reads the sketches of a site: its arrays by pane, in its own shape, window and panes.

Sketches are fed by panes that may be shorter than those of a watch (sketch_data.py): so many of them, ``each``, are one
of the watch's. Everything that leaves this room is in panes of the watch.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass, field

from tacit.functions.goals import Quantile
from tacit.language.plan import WatchPlan
from tacit.protocols import held
from tacit.protocols.frequent.candidates import Candidates
from tacit.protocols.gauges.making import points_of
from tacit.runtime.window_keeper import WindowKeeper
from tacit.sketches.parameters import Shape
from tacit.vocabulary import FloatArray

__all__ = ["View", "ViewPanes"]


@dataclass(slots=True, eq=False)
class View:
    """How one watch reads a station: its arrays by pane, and the names of its candidates."""

    plan: WatchPlan
    stations: list[tuple[int | None, int]]  # from which pane of the sketch on it reads which; None: from the first
    since: int | None  # the station's pane from which on it knows all rows; None: from the first
    shape: Shape | None = None
    each: int = 1  # so many panes of the station are one of the watch
    named: int | None = None  # the station's pane from which on names are known; None: of all rows that it has
    candidates: Candidates | None = None
    tended: bool = False  # a machine looks after its candidates
    made: int | None = None  # the last pane of the sketch when its station was made; None: it is there from the first
    settled: int | None = None  # panes before this one are not asked for any more
    arrays: dict[int, FloatArray] = field(default_factory=dict)  # those in memory; of a run its first
    seen: dict[int, list[str]] = field(default_factory=dict)  # by pane: the keys that came in it and have enough rows
    arriving: dict[str, None] = field(default_factory=dict)  # the same of the pane that is not over yet, each once
    saved: tuple[list[str], int, float, int | None, int] | None = None  # the names on disk, and what they are for

    @property
    def station(self) -> int:
        """The station that it reads now."""
        return self.stations[-1][1]

    def reads(self, station: int, pane: int | None) -> None:
        """It reads this one from a pane of the sketch on; None: for all panes."""
        self.stations = [(None, station)] if pane is None else [*self.stations, (pane, station)]

    def station_at(self, pane: int) -> int:
        """The station that it read at a pane of the sketch."""
        return next(each for since, each in reversed(self.stations) if since is None or since <= pane)

    @property
    def mark(self) -> int:
        """By which it is known that it is the same watch."""
        return zlib.crc32(self.plan.text.encode())

    @property
    def cells(self) -> int:
        """How many cells the watch sees."""
        return 0 if self.shape is None else self.shape.depth * self.shape.width

    @property
    def size(self) -> int:
        """How long its arrays are."""
        goal = self.plan.goal
        return 1 + points_of(goal) if isinstance(goal, Quantile) else self.cells

    def pane(self, pane: int) -> int:
        """The last pane of the watch that is over at the end of a pane of the station."""
        return (pane + 1) // self.each - 1

    def ends(self, pane: int) -> bool:
        """Does a pane of the watch end with this one of the station?"""
        return (pane + 1) % self.each == 0

    def from_pane(self, pane: int) -> int:
        """The first pane of the watch that ends with this one of the station, or after it.

        >>> from tacit.language.sentence import parse_watch
        >>> plan = parse_watch("CREATE WATCH w AS SELECT SELF_JOIN_SIZE(k) AS f FROM t TRACK f WITHIN 5 PERCENT")
        >>> view = View(plan, [(None, 0)], None, each=3)
        >>> [view.from_pane(pane) for pane in range(5)], [view.pane(pane) for pane in range(5)]
        ([0, 0, 0, 1, 1], [-1, -1, 0, 0, 0])
        """
        return pane // self.each

    def put(self, pane: int, array: FloatArray) -> None:
        """What the watch sees at the end of its pane; arrays that nobody asks for any more go."""
        self.arrays[pane] = array
        self.seen[pane], self.arriving = list(self.arriving), {}
        while len(self.arrays) > 1 and len(self.arrays) * array.nbytes > held.BYTES:  # they can be made again
            del self.arrays[next(iter(self.arrays))]

    def settle(self, pane: int) -> None:
        """Arrays before this pane are not asked for any more."""
        self.settled = pane
        self.forget(pane)

    def forget(self, pane: int) -> None:
        """Let arrays of panes before this one go, but the newest."""
        newest = next(reversed(self.arrays), pane)
        for old in [each for each in self.arrays if each < pane and each != newest]:
            del self.arrays[old]
        for old in [each for each in self.seen if each < pane]:
            del self.seen[old]


@dataclass(frozen=True, slots=True)
class ViewPanes:
    """Where the windows of a site are in the panes of a watch: what a keeper says of its own."""

    keeper: WindowKeeper
    view: View
    first_known: Callable[[View], int | None]

    @property
    def pane_us(self) -> int:
        """How long a pane of the watch is."""
        return self.keeper.pane_us * self.view.each

    @property
    def closed(self) -> int | None:
        """The last pane that is over."""
        return None if self.keeper.closed is None else self.view.pane(self.keeper.closed)

    @property
    def first(self) -> int | None:
        """The pane of the first row."""
        return None if self.keeper.first is None else self.view.from_pane(self.keeper.first)

    @property
    def begin(self) -> int | None:
        """The first pane that could ever be asked for."""
        return None if self.keeper.begin is None else self.view.from_pane(self.keeper.begin)

    @property
    def started_at(self) -> int | None:
        """The pane that was the next one when the site began to keep this; None: it has had all rows."""
        return None if self.keeper.started_at is None else self.view.from_pane(self.keeper.started_at)

    @property
    def oldest(self) -> int | None:
        """The oldest pane of which an array can be had; that after the last, if there is none."""
        return self.first_known(self.view)
