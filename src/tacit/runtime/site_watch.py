"""A watch at a site: its windows, shared by watches that need the same ones, and its half of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.functions.goals import SketchGoal, Top, Track
from tacit.functions.statistics import shifted
from tacit.language.plan import WatchPlan
from tacit.language.shape import Shape, shape_of, zone_kind
from tacit.protocols.frequent.lookout import Lookout
from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.gauges.making import gauge_of
from tacit.protocols.messages import Message
from tacit.protocols.past import EVERY
from tacit.protocols.rounds import Nominator
from tacit.protocols.site import Site
from tacit.protocols.topk.challenger import Challenger
from tacit.runtime.numbering import Numbering
from tacit.runtime.rank_steps import RankFeed
from tacit.runtime.repeats import Repeats
from tacit.runtime.resolvers import expiry_of
from tacit.runtime.sketch_data import SketchData
from tacit.runtime.sketch_views import ARRAYS, View
from tacit.runtime.watch_data import Panes, WatchData, data_key, scope_of
from tacit.vocabulary import DataError, FloatArray
from tacit.vocabulary.answers import MET
from tacit.vocabulary.batches import LARGEST
from tacit.vocabulary.calendar import iso_time
from tacit.wire.control import Counts, Install

__all__ = ["HISTORY", "SiteWatch", "WatchData", "Witness", "data_key", "data_of", "scope_of"]

Witness = Callable[[int, int, int, FloatArray, FloatArray | None, Sequence[str]], None]
"""Hears of every pane that is closed: site, watch, pane, vectors, weights, keys (tests/runtime/judge.py)."""

HISTORY = 10_000
"""So many panes that nobody settled are kept; a coordinator that is away for longer finds the newest."""


def data_of(plan: WatchPlan, saved: dict[str, bytes] | None = None) -> WatchData:
    """What a site keeps for a watch: windows, or sketches; as it was saved, or new."""
    return (SketchData if isinstance(plan.goal, SketchGoal) else WatchData)(plan, saved)


@dataclass(slots=True, eq=False)
class SiteWatch:
    """A watch under its number: what the coordinator said of it, its data, and, once it is measured, its machine."""

    number: int
    install: Install
    plan: WatchPlan
    data: WatchData
    sides: tuple[WatchData | None, ...] = ()  # of an inner product both; None: the site has no such table
    settled: int | None = None
    shape: Shape | None = None
    machine: Site | Challenger | Nominator | Gauger | Lookout | None = None
    feed: RankFeed | None = None  # of a ranking
    numbering: Numbering | None = None
    waiting: list[Message] = field(default_factory=list)  # until its groups have numbers
    asked: set[str] = field(default_factory=set)
    offered: object = None  # what was last offered and counted, on this link
    counted: object = None
    witness: Witness | None = None
    announced: int = 0  # how many of the data's groups were said on this link to be there
    repeats: Repeats = field(default_factory=Repeats)

    @property
    def kept(self) -> tuple[WatchData, ...]:
        """The windows or sketches that it needs: one, or those of both sides."""
        return tuple(dict.fromkeys(side for side in self.sides if side is not None)) or (self.data,)

    @property
    def panes(self) -> list[Panes]:
        """Where each of these is, in panes of the watch."""
        return [data.panes_for(self.number) for data in self.kept]

    @property
    def closed(self) -> int | None:
        """The last pane that is closed in all that it needs."""
        closed = [panes.closed for panes in self.panes]
        return None if None in closed else min(each for each in closed if each is not None)

    @property
    def first(self) -> int | None:
        """The pane of the first row."""
        return min((panes.first for panes in self.panes if panes.first is not None), default=None)

    def counts(self) -> Counts:
        """What was counted since the watch came, of both sides together."""
        found = [data.counts_of(self.number) for data in self.kept]
        full = [each.full_from for each in found]
        whole = None if None in full else max(each for each in full if each is not None)
        events, panes, late, no_time = (
            sum(getattr(each, name) for each in found) for name in ("events", "panes", "late", "no_time")
        )
        return Counts(events, panes, late, whole, no_time)

    @property
    def grouped(self) -> bool:
        """Has it groups?"""
        return self.plan.grouping is not None

    @property
    def by_member(self) -> bool:
        """Is it one of GROUP BY EACH?"""
        return self.data.by_member

    def start(self, site: int, session: int) -> None:
        """Make the machine, unless the watch is paused or was not measured yet."""
        install, keeper = self.install, self.data.keeper
        if install.measure is None or install.begin is None or install.paused:
            return
        begin = known = install.begin if self.settled is None else max(install.begin, self.settled)
        for each in self.panes:
            if each.started_at is not None:
                begin = max(begin, each.started_at)
            if each.oldest is not None and each.oldest > (each.begin or 0):
                begin = max(begin, each.oldest)  # older ones were settled and forgotten
        self.announced = 0
        self.repeats.forget()
        if isinstance(self.data, SketchData):
            self.machine = self._sketch_machine(site, self.data, begin, session - 1)
            # Panes that it has lost are not settled by that: how far it may go on depends on it (pacing.py).
            self.machine.final = self.machine.silent = known - 1
            return
        if self.data.steps is not None:
            self.feed = RankFeed(self.plan, keeper, self.data.steps)
            self.machine = self._ranking_machine(site, self.feed, begin, session - 1)
            return
        self.shape = shape_of(self.plan, install.measure, zone_kind(self.plan, install.protocol))
        self.machine = Site(
            site, self.shape.monitor, len(keeper.keys), weighted=self.shape.form.weighted, template=self.by_member,
            history=HISTORY, begin=begin, session=session - 1, recentres=install.protocol == "recentre",
            fits=EVERY if install.protocol == "fitted" else 0,
        )  # fmt: skip
        self.numbering = Numbering(keeper.number, template=self.by_member) if self.grouped else None

    def _ranking_machine(self, site: int, feed: RankFeed, begin: int, session: int) -> Challenger | Nominator:
        goal = self.plan.goal
        assert isinstance(goal, Top)
        if goal.using == "topico":
            expiry = expiry_of(self.plan)
            return Nominator(
                site, feed.table, goal.k, expiry=expiry, history=HISTORY, begin=begin, session=session
            )  # fmt: skip
        return Challenger(site, feed.table, history=HISTORY, begin=begin, session=session)

    def _sketch_machine(self, site: int, data: SketchData, begin: int, session: int) -> Gauger | Lookout:
        goal = self.plan.goal
        assert isinstance(goal, SketchGoal)
        view = data.view(self.number)
        if view.candidates is not None:
            view.candidates.forget_told()
            view.tended = True
            return Lookout(site, view.candidates, history=ARRAYS, begin=begin, session=session)
        return Gauger(site, gauge_of(goal), history=ARRAYS, begin=begin, session=session)

    def close(self, pane: int, sums: FloatArray) -> tuple[Message, ...]:
        """A pane is closed, with these sums around the site's own centres; DataError when they are too large.

        What is not finite is no message, and what is nearly so would not be when the coordinator adds it up.
        """
        machine, shape, measure = self.machine, self.shape, self.install.measure
        assert isinstance(machine, Site)
        assert shape is not None
        assert measure is not None
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            moved = shifted(sums, self.plan.shifts, np.array(self.data.around), measure.centres)
            whole = self.data.whole(moved)
            self._check_sums(pane, whole)
            vectors, weights = shape.vectors(whole)
        if self.witness is not None:
            self._show(self.witness, pane, vectors, weights)
        machine.grow_groups(len(vectors))
        return machine.close_pane(pane, vectors, weights)

    def _check_sums(self, pane: int, sums: FloatArray) -> None:
        fine = (np.abs(sums) <= LARGEST).all(axis=0)
        if fine.all():
            return
        place = int(np.argmin(fine))
        names = [*(each.name for each in self.plan.statistics), "the number of rows"]
        at = iso_time((pane + 1) * self.data.keeper.pane_us)
        raise DataError(
            f"watch {self.plan.name}, table {self.plan.table}, the pane that ends at {at}: {names[place]} over the"
            f" window is beyond {LARGEST:g}, too large to be computed with; divide the values by a power of"
            " ten, or leave such rows out with WHERE"
        )

    def _show(self, witness: Witness, pane: int, vectors: FloatArray, weights: FloatArray | None) -> None:
        """Under GROUP BY EACH a witness sees the groups that are there; the first is what all others have."""
        assert self.machine is not None
        keys: Sequence[str] = self.data.keeper.keys
        if self.by_member:
            shown = [0, *(group for group, since in self.data.there if since <= pane)]
            vectors, weights = vectors[shown], None if weights is None else weights[shown]
            keys = [keys[group] for group in shown]
        witness(self.machine.site, self.number, pane, vectors, weights, keys)

    @property
    def announces(self) -> bool:
        """Does the condition hold of nothing at all? Then the first row of a group is news, though no zone is left.

        Under GROUP BY EACH a group has a value before its first row: that is news while a condition holds of such
        groups, or what is tracked of them is not what it is of nothing.
        """
        shape, machine, tracks = self.shape, self.machine, isinstance(self.plan.goal, Track)
        if shape is None or not isinstance(machine, Site) or not self.grouped:
            return False
        nothing = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else 0.0)
        if tracks and self.by_member:
            now, none = shape.monitor.tracked(np.concatenate([machine.estimate_of_all, nothing])).tolist()
            return not (now == none or (np.isnan(now) and np.isnan(none)))
        at = machine.estimate_of_all if self.by_member else nothing
        return not tracks and bool(shape.monitor.answers(at)[0] == MET)

    def catch_up(self) -> list[Message]:
        """Close in the machine what is closed in the windows."""
        machine, keeper = self.machine, self.data.keeper
        out: list[Message] = []
        if machine is None or keeper.closed is None:
            return out
        begin, oldest = keeper.begin, keeper.oldest
        if isinstance(machine, Challenger | Nominator):
            return self._catch_up_scores(machine)
        if isinstance(machine, Gauger | Lookout):
            return self._catch_up_arrays(machine)
        nothing: FloatArray = np.zeros((len(keeper.keys), keeper.dimension))
        for pane in range(max(machine.closed, keeper.closed - HISTORY) + 1, keeper.closed + 1):
            if begin is None or pane < begin:  # before its first row the site held nothing
                out += self.close(pane, nothing)
            elif oldest is not None and pane >= oldest:
                out += self.close(pane, keeper.vector(pane)[0])
        return out

    def _catch_up_scores(self, machine: Challenger | Nominator) -> list[Message]:
        """``catch_up`` of a ranking, which hears of what panes have changed."""
        feed, keeper = self.feed, self.data.keeper
        assert feed is not None
        assert keeper.closed is not None
        out: list[Message] = []
        for pane in range(max(machine.closed, keeper.closed - HISTORY) + 1, keeper.closed + 1):
            before = keeper.begin is None or pane < keeper.begin  # its first row: the site held nothing
            if not before and (keeper.oldest is None or pane < keeper.oldest):
                continue
            out += machine.close_pane(pane, *(((), 0) if before else feed.close(pane)))
            if self.witness is not None:
                nothing = (np.zeros((0, 1)), np.zeros(0), ())
                self.witness(machine.site, self.number, pane, *(nothing if before else feed.held(pane)))
        return out

    def _catch_up_arrays(self, machine: Gauger | Lookout) -> list[Message]:
        """``catch_up`` of a watch on sketches, which has an array for every pane."""
        closed = self.closed
        if closed is None:
            return []
        out: list[Message] = []
        for pane in range(max(machine.closed, closed - ARRAYS) + 1, closed + 1):
            parts = [self._array(side, pane) for side in self.sides or (self.data,)]
            if any(part is None for part in parts):
                continue
            array = np.concatenate([part for part in parts if part is not None])
            view = self._view
            if isinstance(machine, Lookout):  # which may have tidied up since they came
                out += machine.close_pane(pane, array, view.seen.get(pane, ()))
            else:
                out += machine.close_pane(pane, array)
            if self.witness is not None:
                names = () if view.candidates is None else tuple(view.candidates.keys)
                self.witness(machine.site, self.number, pane, array.reshape(1, -1), None, names)
        return out

    @property
    def _view(self) -> View:
        assert isinstance(self.data, SketchData)
        return self.data.view(self.number)

    def _array(self, side: WatchData | None, pane: int) -> FloatArray | None:
        """What a side has at a pane, if that is known; nothing before its first row, or where there is no table."""
        if side is None:
            return np.zeros(self._view.cells)
        assert isinstance(side, SketchData)
        view, begin = side.view(self.number), side.panes_for(self.number).begin
        array = view.arrays.get(pane)
        if array is None and (begin is None or pane < begin):
            return np.zeros(view.size)
        return array
