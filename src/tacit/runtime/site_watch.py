"""A watch at a site: its windows, shared by watches that need the same ones, and its half of the protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from tacit.functions.goals import SketchGoal, Top, Track
from tacit.functions.statistics import shifted
from tacit.language.plan import WatchPlan
from tacit.language.shape import Shape, shape_of, zone_kind
from tacit.protocols.frequent.lookout import Lookout
from tacit.protocols.gauges.gauger import Gauger
from tacit.protocols.gauges.making import gauge_of
from tacit.protocols.members import NEVER
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
from tacit.runtime.watch_data import Panes, WatchData, data_key, scope_of
from tacit.vocabulary import DataError, FloatArray
from tacit.vocabulary.answers import MET
from tacit.vocabulary.batches import LARGEST
from tacit.vocabulary.calendar import iso_time
from tacit.wire.control import Counts, Install

__all__ = ["SiteWatch", "WatchData", "Witness", "data_key", "data_of", "scope_of"]

Witness = Callable[[int, int, int, FloatArray, FloatArray | None, Sequence[str]], None]
"""Hears of every pane that is closed: site, watch, pane, vectors, weights, keys (tests/runtime/judge.py)."""

_SHOWN = 100_000


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
        """The pane of the first row; where older panes were settled for others, the first that can be given."""
        found = [(panes.first, panes) for panes in self.panes if panes.first is not None]
        if not found:
            return None
        first = min(each for each, _ in found)
        known = [each.oldest for _, each in found if each.oldest is not None and each.oldest > (each.begin or 0)]
        return max([first, *known])

    @property
    def idle_panes(self) -> int:
        """How many of the newest closed panes were closed by the time of other sites only."""
        closed = self.closed
        if closed is None or not any(data.borrowed for data in self.kept):
            return 0
        own = [self._own_closed(data) for data in self.kept]
        before = NEVER if self.install.begin is None else self.install.begin - 1
        return closed - min(before if each is None else min(each, closed) for each in own)

    def _own_closed(self, data: WatchData) -> int | None:
        """The last pane that rows of this site have closed."""
        if not data.borrowed:
            return data.panes_for(self.number).closed
        if data.own_closed is None or not isinstance(data, SketchData):
            return data.own_closed
        return data.view(self.number).pane(data.own_closed)

    def go_back(self, before: WatchData, after: WatchData) -> list[str]:
        """Its data is what is stored again. The keys of groups whose numbers were told on this link, in that order."""
        told = [] if self.numbering is None else [before.keeper.keys[each] for each in self.numbering.told]
        if self.data is before:
            self.data = after
        self.sides = tuple(after if side is before else side for side in self.sides)
        self.waiting.clear()
        self.asked.clear()
        if self.machine is not None:
            self.settled = self.machine.final
        return told

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
        begin = known = self._begin_at(install.begin)
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
            begin=begin, session=session - 1, recentres=install.protocol == "recentre",
            fits=EVERY if install.protocol == "fitted" else 0,
        )  # fmt: skip
        self.machine.makes(self._made_again)
        self.numbering = Numbering(keeper.number, template=self.by_member) if self.grouped else None

    def _begin_at(self, begin: int) -> int:
        """The first pane of the machine: that after which all is settled for good, and that one itself if it is here.

        On a quiet stream it may be the last one for long that anybody can be asked for.
        """
        if self.settled is not None:
            return max(begin, self.settled)
        before = begin - 1
        for each in self.panes:
            if each.oldest is None or each.closed is None or each.begin is None:
                return begin
            if not max(each.oldest, each.begin) <= before <= each.closed:
                return begin
        return before

    def _ranking_machine(self, site: int, feed: RankFeed, begin: int, session: int) -> Challenger | Nominator:
        goal = self.plan.goal
        assert isinstance(goal, Top)
        if goal.using == "topico":
            expiry = expiry_of(self.plan)
            return Nominator(
                site, feed.table, goal.k, expiry=expiry, begin=begin, session=session
            )  # fmt: skip
        return Challenger(site, feed.table, begin=begin, session=session)

    def _sketch_machine(self, site: int, data: SketchData, begin: int, session: int) -> Gauger | Lookout:
        goal = self.plan.goal
        assert isinstance(goal, SketchGoal)
        view = data.view(self.number)
        if view.candidates is not None:
            view.candidates.forget_told()
            view.tended = True
            return Lookout(site, view.candidates, make=self._array_again, begin=begin, session=session)
        return Gauger(site, gauge_of(goal), make=self._array_again, begin=begin, session=session)

    def close(self, pane: int, sums: FloatArray, last: int) -> tuple[Message, ...]:
        """A pane is closed, and those up to ``last``, with these sums; DataError when they are too large."""
        machine = self.machine
        assert isinstance(machine, Site)
        vectors, weights = self._vectors(pane, sums)
        if self.witness is not None:
            for each in _shown(pane, last):
                self._show(self.witness, each, vectors, weights)
        machine.grow_groups(len(vectors))
        return machine.close_pane(pane, vectors, weights, last)

    def _vectors(self, pane: int, sums: FloatArray) -> tuple[FloatArray, FloatArray | None]:
        """The vectors and weights of a pane with these sums around the site's own centres.

        What is not finite is no message, and what is nearly so would not be when the coordinator adds it up.
        """
        shape, measure = self.shape, self.install.measure
        assert shape is not None
        assert measure is not None
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            moved = shifted(sums, self.plan.shifts, np.array(self.data.around), measure.centres)
            whole = self.data.whole(moved)
            self._check_sums(pane, whole)
            return shape.vectors(whole)

    def _made_again(self, pane: int) -> tuple[FloatArray, FloatArray | None]:
        """The vectors and weights of a closed pane, to the bit as they were."""
        keeper = self.data.keeper
        if keeper.begin is None or pane < keeper.begin:
            return self._vectors(pane, np.zeros((len(keeper.keys), keeper.dimension)))
        return self._vectors(pane, keeper.vector_again(pane))

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
        machine.idle_panes = self.idle_panes
        begin, oldest = keeper.begin, keeper.oldest
        if isinstance(machine, Challenger | Nominator):
            return self._catch_up_scores(machine)
        if isinstance(machine, Gauger | Lookout):
            return self._catch_up_arrays(machine)
        nothing: FloatArray = np.zeros((len(keeper.keys), keeper.dimension))
        pane = machine.closed + 1
        while pane <= keeper.closed:
            last = pane
            if begin is None or pane < begin:  # before its first row the site held nothing
                last = keeper.closed if begin is None else min(keeper.closed, begin - 1)
                out += self.close(pane, nothing, last)
            elif oldest is not None and pane >= oldest:
                last = keeper.same_until(pane)
                out += self.close(pane, keeper.vector(pane)[0], last)
            elif oldest is not None:
                last = oldest - 1
            pane = last + 1
        return out

    def _catch_up_scores(self, machine: Challenger | Nominator) -> list[Message]:
        """``catch_up`` of a ranking, which hears of what panes have changed."""
        feed, keeper = self.feed, self.data.keeper
        assert feed is not None
        assert keeper.closed is not None
        out: list[Message] = []
        begin, oldest, pane = keeper.begin, keeper.oldest, machine.closed + 1
        while pane <= keeper.closed:
            if begin is None or pane < begin:  # before its first row the site held nothing
                last = keeper.closed if begin is None else min(keeper.closed, begin - 1)
                out += machine.close_pane(pane, (), 0, last)
            elif oldest is None or pane < oldest:
                pane = pane + 1 if oldest is None else oldest
                continue
            else:
                last = keeper.same_until(pane)
                out += machine.close_pane(pane, *feed.close(pane), last)
            for each in _shown(pane, last) if self.witness is not None else ():
                assert self.witness is not None
                nothing = (np.zeros((0, 1)), np.zeros(0), ())
                before = begin is None or pane < begin
                self.witness(machine.site, self.number, each, *(nothing if before else feed.held(each)))
            pane = last + 1
        return out

    def _catch_up_arrays(self, machine: Gauger | Lookout) -> list[Message]:
        """``catch_up`` of a watch on sketches, which has an array for every pane."""
        closed = self.closed
        if closed is None:
            return []
        assert isinstance(self.data, SketchData)
        out: list[Message] = []
        pane = machine.closed + 1
        while pane <= closed:
            names = self.data.names_at(self.number, pane) if isinstance(machine, Lookout) else ()
            array, last = self._array(pane), min(closed, self._same_until(pane))
            if array is not None and isinstance(machine, Lookout):  # which may have tidied up since they came
                out += machine.close_pane(pane, array, names, last)
            elif array is not None and isinstance(machine, Gauger):
                out += machine.close_pane(pane, array, last)
            for each in _shown(pane, last) if self.witness is not None else ():
                if self.witness is None or array is None:
                    continue
                view = self.data.view(self.number)
                keys = () if view.candidates is None else tuple(view.candidates.keys)
                self.witness(machine.site, self.number, each, array.reshape(1, -1), None, keys)
            pane = last + 1
        return out

    def _array_again(self, pane: int) -> FloatArray:
        """The array of a closed pane, to the bit as it was."""
        array = self._array(pane)
        assert array is not None, "it is not asked for what is settled for good"
        return array

    def _array(self, pane: int) -> FloatArray | None:
        """What all sides have at a pane; None where that is not known. Of a table that is not here there is nothing."""
        assert isinstance(self.data, SketchData)
        parts: list[FloatArray] = []
        for side in self.sides or (self.data,):
            if side is None:
                parts.append(np.zeros(self.data.view(self.number).cells))
                continue
            assert isinstance(side, SketchData)
            part = side.array(self.number, pane)
            if part is None:
                return None
            parts.append(part)
        return np.concatenate(parts)

    def _same_until(self, pane: int) -> int:
        """The last closed pane through which the arrays of all sides stay as they are."""
        found = [side.same_until(self.number, pane) for side in self.kept if isinstance(side, SketchData)]
        return max(pane, min(found))


def _shown(first: int, last: int) -> Iterable[int]:
    """The panes of a run that a witness hears of: all, unless a clock has leapt over years."""
    return range(first, last + 1) if last - first < _SHOWN else (first, last)
