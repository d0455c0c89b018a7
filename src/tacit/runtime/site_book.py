"""Which watches a site keeps, and their windows: they come and go; watches that need the same windows share them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from math import gcd
from typing import Any

import numpy as np

from tacit.functions.goals import Quantile, SketchGoal
from tacit.language.plan import WatchPlan
from tacit.language.recorded import side_plans
from tacit.language.schema_check import check_columns
from tacit.language.sentence import parse_watch
from tacit.protocols.claims import Claimant
from tacit.runtime.blobs import unpack_record
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import SiteWatch, WatchData, Witness, data_key, data_of, scope_of
from tacit.runtime.sketch_data import SketchData, by_panes
from tacit.vocabulary import OptionError, TacitError
from tacit.wire.codec import open_envelope
from tacit.wire.control import Install

__all__ = ["Book"]

_log = logging.getLogger(__name__)

_FINER = 64
"""A sketch is fed by panes of a so manieth of a watch's, if that serves two watches; not by shorter ones."""


class Book:
    """The watches of a site by their numbers. It restores itself from the site's store; use it under the agent's lock.

    A watch that cannot be kept here is in ``problems``, with the reason, and not in ``watches``.
    """

    def __init__(self, store: SiteStore, tables: Mapping[str, SiteTable], witness: Witness | None = None) -> None:
        self.store, self.tables, self.witness = store, tables, witness
        self.watches: dict[int, SiteWatch] = {}
        self.problems: dict[int, str] = {}
        self.data: dict[str, WatchData] = {}
        self._installs: dict[int, Install] = {}
        self._keys: dict[int, tuple[str, ...]] = {}  # of the windows that a watch needs, also of one that is a problem
        self._ended: dict[str, int] = {}  # numbers by name, of watches that ended since the last batch
        self._given_up: set[int] = set()  # problems that came with the rows
        for number, envelope, settled in store.watches():
            _, _, message = open_envelope(envelope)
            assert isinstance(message, Install)
            self._take(number, message, restore=True)
            if number in self.watches:
                self.watches[number].settled = settled
        used = {scope_of(key) for keys in self._keys.values() for key in keys}
        store.forget((), [scope for scope in store.scopes("data:") if scope not in used])

    def serve(self, life: str) -> None:
        """The coordinator lives by this store of its own; of another one neither watches nor zones mean anything."""
        if self.store.serves != life:
            self.forget_all_but(())
            self.store.serves = life

    def install(self, number: int, install: Install, envelope: bytes) -> bool:
        """Take a watch over from the coordinator; False when nothing is new about it."""
        known = self._installs.get(number)
        if known is not None and _alike(known, install):
            return False
        if known is not None and known.text != install.text:  # the number of another watch, before a reset
            self.watches.pop(number, None)
            self.store.forget([number], ())
        self.store.install(number, envelope)
        if known is not None and known.text == install.text and number in self._given_up:
            self._installs[number] = install
            return False
        if (
            known is not None
            and number in self.watches
            and known.measure is not None
            and not _measured_alike(known, install)
        ):
            for data in self.watches[number].kept:
                data.bases.pop(number, None)  # another watch, of a coordinator that was reset
        self._take(number, install)
        return True

    def refuse(self, number: int, why: str) -> None:
        """A watch that came and cannot be understood: a problem, and nothing of it is kept."""
        if number in self.watches:
            self.give_up_one(number, why)
        elif self.problems.get(number) != why:
            self.problems[number] = why
            _log.error("a watch cannot be kept at this site: %s", why)

    def _take(self, number: int, install: Install, *, restore: bool = False) -> None:
        """Understand a watch; one that cannot be kept here is a problem.

        Windows are restored at the start of the site only: what was saved of windows that are not in memory lacks the
        rows that were read since.
        """
        self._installs[number] = install
        self.problems.pop(number, None)
        self._given_up.discard(number)
        try:
            before = self.watches.pop(number, None)
            plan = parse_watch(install.text)
            here = [table for table in plan.tables if table in self.tables]
            if not here:
                raise OptionError(f"this site has no table named {' or '.join(plan.tables)}")
            sides = side_plans(plan)
            self._keys[number] = tuple(data_key(side) for side in sides if side.table in here)
            for table in here:
                check_columns(plan, self.tables[table].columns, table=table)
            parts = [self._part(number, install, side, restore) if side.table in here else None for side in sides]
            self._keys[number] = tuple(part.key for part in parts if part is not None)
            data = next(part for part in parts if part is not None)
            watch = SiteWatch(number, install, plan, data, tuple(parts), witness=self.witness)
            if before is not None:
                watch.settled = before.settled
            self.watches[number] = watch
        except TacitError as error:
            self.problems[number] = str(error)
            _log.error("watch %s cannot be kept at this site: %s", install.name, error)

    def _part(self, number: int, install: Install, plan: WatchPlan, restore: bool) -> WatchData:
        """The windows or the sketches that a watch, or one side of it, needs; watches that need the same share them."""
        was = self._ended.get(install.name) if install.begin is not None else None
        kept = self._sketched(number, was, plan, restore) if isinstance(plan.goal, SketchGoal) else plan
        key = data_key(kept)
        if key not in self.data:
            self.data[key] = (self._restored(kept) if restore else None) or self._empty(kept)
        data = self.data[key]
        self._count_from(number, install, data)
        if isinstance(data, SketchData):
            data.join(number, plan, was)
        return data

    def _sketched(self, number: int, was: int | None, plan: WatchPlan, restore: bool) -> WatchPlan:
        """The plan by the panes of the sketch that a watch reads: of one that is here, or its own.

        A watch stays where it is, and where it was under another number if that has what it needs. A new sketch for
        another window or accuracy is fed along with one that is here, unless there is history, which only one of its
        own would have. Digests would be larger together than apart.
        """
        every = int(plan.window.every.duration_us or 1)
        if restore and (pane_us := self._pane_before(number, plan)) is not None:
            return by_panes(plan, pane_us)
        alike = [data for data in self.data.values() if isinstance(data, SketchData) and data.counts_what(plan)]
        fits = [data for data in alike if every % data.keeper.pane_us == 0]
        serving = [data for data in fits if data.has_all_of(plan)]
        serving = (
            [data for data in fits if data.is_read_by(number)]
            or [data for data in serving if was is not None and data.is_read_by(was)]
            or serving
        )
        if not serving and not isinstance(plan.goal, Quantile) and data_key(plan) not in self.data:
            serving = [data for data in fits if data.untouched or self.tables[plan.table].history is None]
            if not serving:
                serving = [self._finer(data, plan) for data in alike if data.untouched and _measure(data, every)][:1]
        return by_panes(plan, max((data.keeper.pane_us for data in serving), default=every))

    def _pane_before(self, number: int, plan: WatchPlan) -> int | None:
        """The length of the panes of the sketch that a watch read before the site was started."""
        for scope in self.store.scopes("data:"):
            own = self.store.piece(scope, "own")
            record = {} if own is None else unpack_record("own", own)
            pane_us: int | None = record.get("pane_us")  # an earlier release did not say
            if pane_us is None or number not in dict(record["bases"]):
                continue
            if scope == scope_of(data_key(by_panes(plan, pane_us))):
                return pane_us
        return None

    def _finer(self, data: SketchData, plan: WatchPlan) -> SketchData:
        """A sketch by panes that suit one into which no row came, and a new watch; it takes its place."""
        finer = data_of(by_panes(plan, _measure(data, int(plan.window.every.duration_us or 1))))
        assert isinstance(finer, SketchData)
        data.move_to(finer)
        self.data[finer.key] = finer
        for number, watch in self.watches.items():
            if data in watch.kept:
                watch.data = finer if watch.data is data else watch.data
                watch.sides = tuple(finer if side is data else side for side in watch.sides)
                self._keys[number] = tuple(each.key for each in watch.kept)
        del self.data[data.key]
        self.store.forget((), [data.scope])
        return finer

    def _count_from(self, number: int, install: Install, data: WatchData) -> None:
        """A watch counts what comes after it; one that was altered goes on counting under its new number."""
        if number not in data.bases:
            old = self._ended.get(install.name, number) if install.begin is not None else number
            data.bases[number] = data.bases.get(old, data.counted)

    def _restored(self, plan: WatchPlan) -> WatchData | None:
        """Windows as they were saved; None where there are none, or where the table was read on without them."""
        saved = self.store.pieces(scope_of(data_key(plan)))
        data = data_of(plan, saved) if saved else None
        return data if data is not None and data.batch == self.store.last_batch(plan.table) else None

    def _empty(self, plan: WatchPlan) -> WatchData:
        self.store.forget((), [scope_of(data_key(plan))])
        return data_of(plan)

    def give_back(self, table: str) -> dict[int, list[str]]:
        """Rows came to a table that had borrowed time: its windows are what is stored again.

        The watches on them must begin anew, as after a start; with each go the keys of groups that have numbers.
        """
        told: dict[int, list[str]] = {}
        for data in [each for each in self.of(table) if each.borrowed]:
            saved = self.store.pieces(data.scope)
            stored = data_of(data.asked, saved) if saved else data_of(data.asked)
            stored.bases = data.bases
            if isinstance(data, SketchData) and isinstance(stored, SketchData):
                data.rejoin(stored)
            self.data[data.key] = stored
            for watch in [each for each in self.watches.values() if data in each.kept]:
                told.setdefault(watch.number, []).extend(watch.go_back(data, stored))
        return told

    def forget_all_but(self, numbers: Iterable[int]) -> None:
        """Only these watches are left."""
        keep = set(numbers)
        gone = [number for number in self._installs if number not in keep]
        for number in gone:
            self._ended[self._installs.pop(number).name] = number
            self._keys.pop(number, None)
            self.problems.pop(number, None)
            self._given_up.discard(number)
            self.watches.pop(number, None)
        for number in self.problems.keys() - keep:  # of watches that could not even be read
            del self.problems[number]
        self.store.forget(gone, ())
        # Windows stay until the next batch: an altered watch comes under a new number at once, and wants them.

    def forget_data(self) -> None:
        """Windows that no watch needs go."""
        self._ended.clear()
        used = {data.key for watch in self.watches.values() for data in watch.kept}
        gone = [data for key, data in self.data.items() if key not in used]
        for data in gone:
            del self.data[data.key]
        self.store.forget((), [data.scope for data in gone])
        for data in self.data.values():
            data.bases = {number: base for number, base in data.bases.items() if number in self._installs}
            if isinstance(data, SketchData):
                data.leave([number for number, watch in self.watches.items() if data in watch.kept])

    def give_up(self, data: WatchData, why: str) -> list[int]:
        """These windows lack rows that could not be computed: their watches are problems, until the site starts again.

        Nothing more is said of such a watch, so that its lease runs out: its answer must not pass for that of all rows.
        """
        numbers = [number for number, watch in self.watches.items() if data in watch.kept]
        for number in numbers:
            self.give_up_one(number, why)
        del self.data[data.key]
        self.store.forget((), [data.scope])
        return numbers

    def give_up_one(self, number: int, why: str) -> None:
        """This watch is a problem, until the site starts again; its windows go when no other watch needs them."""
        watch = self.watches.pop(number)
        self.problems[number] = why
        self._given_up.add(number)
        _log.error("watch %s is not kept at this site any more: %s", watch.install.name, why)

    def of(self, table: str) -> list[WatchData]:
        """The windows of a table."""
        return [data for data in self.data.values() if data.plan.table == table]

    def machines(self, data: WatchData) -> list[tuple[Claimant[Any] | None, int]]:
        """The machines of the watches on these windows that are not paused; None for one that has not begun.

        With each goes how many panes of the windows are one of its own.
        """
        return [
            (each.machine, data.panes_for(each.number).pane_us // data.keeper.pane_us)
            for each in self.watches.values()
            if data in each.kept and not each.install.paused
        ]

    def names_of(self, data: WatchData) -> list[str]:
        """The watches on these windows."""
        return [watch.install.name for watch in self.watches.values() if data in watch.kept]

    def is_unsettled(self, data: WatchData) -> bool:
        """Are there closed panes, or such that could be, that are not settled for good with every site?"""
        for watch in self.watches.values():
            if data not in watch.kept or watch.install.paused:
                continue
            panes = data.panes_for(watch.number)
            if panes.closed is None or (panes.first is not None and panes.closed < panes.first):
                continue
            if data.held or watch.machine is None or watch.machine.final < panes.closed:
                return True
        return False

    def is_measured(self, data: WatchData) -> bool:
        """Is every watch on these windows measured, so that no sample is needed?"""
        watches = [watch for watch in self.watches.values() if data in watch.kept]
        return bool(watches) and all(watch.install.measure is not None for watch in watches)

    def settle(self, data: WatchData) -> None:
        """Forget panes that no watch on this data needs any more."""
        keeper = data.keeper
        if keeper.closed is None:
            return
        if isinstance(data, SketchData):
            self._settle_sketch(data)
            return
        sharing = [each for each in self.watches.values() if data in each.kept and not each.install.paused]
        if any(each.machine is None for each in sharing):
            return
        settled = [each.machine.final for each in sharing if each.machine is not None]
        # Others may have gone on without this site: what they settled it must still close itself, to count it.
        keeper.settle(min([*settled, keeper.closed]))
        if data.steps is not None:
            data.steps.settle()

    def make_room(self, data: WatchData, keep_bytes: int) -> None:
        """Let the oldest panes that are not settled for good go, where there is no room for all of them."""
        dropped = False
        while data.nbytes > keep_bytes and data.drop_oldest():
            dropped = True
        for watch in [each for each in self.watches.values() if data in each.kept] if dropped else ():
            oldest = [each.oldest for each in watch.panes if each.oldest is not None]
            if watch.machine is not None and oldest:
                watch.machine.forget(max(oldest))

    def _settle_sketch(self, data: SketchData) -> None:
        """Of each watch its own arrays go, and then what no watch needs."""
        for watch in self.watches.values():
            closed = data.panes_for(watch.number).closed if data in watch.kept else None
            if closed is not None and watch.install.paused:
                data.settle(watch.number, closed)
            elif closed is not None and watch.machine is not None:
                data.settle(watch.number, min(watch.machine.final, closed))
        data.trim()


def _measure(data: SketchData, every: int) -> int:
    """The length of panes that suit both; 0: it is too short to be worth it."""
    pane_us = gcd(data.keeper.pane_us, every)
    return pane_us if pane_us * _FINER >= min(data.keeper.pane_us, every) else 0


def _alike(one: Install, other: Install) -> bool:
    """Does a watch go on as it was? Its begin does not matter: it is where one that joins only now would begin."""
    if (one.text, one.protocol, one.paused) != (other.text, other.protocol, other.paused):
        return False
    return _measured_alike(one, other)


def _measured_alike(one: Install, other: Install) -> bool:
    """Are they measured alike?"""
    if one.measure is None or other.measure is None:
        return one.measure is other.measure
    return np.array_equal(one.measure.centres, other.measure.centres) and np.array_equal(
        one.measure.units, other.measure.units
    )
