"""Which watches a site keeps, and their windows: they come and go; watches that need the same windows share them."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from tacit.language.plan import WatchPlan
from tacit.language.recorded import side_plans
from tacit.language.schema_check import check_columns
from tacit.language.sentence import parse_watch
from tacit.protocols.claims import Claimant
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import HISTORY, SiteWatch, WatchData, Witness, data_key, data_of, scope_of
from tacit.runtime.sketch_data import ARRAYS, SketchData
from tacit.vocabulary import OptionError, TacitError
from tacit.wire.codec import open_envelope
from tacit.wire.control import Install

__all__ = ["Book"]

_log = logging.getLogger(__name__)


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
        key = data_key(plan)
        if key not in self.data:
            self.data[key] = (self._restored(plan) if restore else None) or self._empty(plan)
        data = self.data[key]
        self._count_from(number, install, data)
        if isinstance(data, SketchData):
            data.join(number, plan, self._ended.get(install.name) if install.begin is not None else None)
        return data

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

    def machines(self, data: WatchData) -> list[Claimant[Any] | None]:
        """The machines of the watches on these windows that are not paused; None for one that has not begun."""
        return [each.machine for each in self.watches.values() if data in each.kept and not each.install.paused]

    def abreast_us(self, data: WatchData, until_us: int) -> int:
        """How far this data may go so that a watch on two tables still has its arrays when the other one is as far."""
        others = [
            other.keeper.closed
            for watch in self.watches.values()
            if data in watch.kept and not watch.install.paused
            for other in watch.kept
            if other is not data and other.keeper.closed is not None
        ]
        return min([until_us, *((closed + ARRAYS + 1) * data.keeper.pane_us for closed in others)])

    def is_measured(self, data: WatchData) -> bool:
        """Is every watch on these windows measured, so that no sample is needed?"""
        watches = [watch for watch in self.watches.values() if data in watch.kept]
        return bool(watches) and all(watch.install.measure is not None for watch in watches)

    def settle(self, data: WatchData) -> None:
        """Forget panes that no watch on this data needs any more, and those that nobody asked for in too long."""
        keeper = data.keeper
        if keeper.closed is None:
            return
        sharing = [each for each in self.watches.values() if data in each.kept and not each.install.paused]
        oldest = keeper.closed - HISTORY
        if all(each.machine is not None for each in sharing):
            settled = [each.machine.settled for each in sharing if each.machine is not None]
            # Others may have gone on without this site: what they settled it must still close itself, to count it.
            oldest = max(oldest, min([*settled, keeper.closed]))
        elif keeper.oldest is None or oldest <= keeper.oldest:
            return
        keeper.settle(oldest)
        if data.steps is not None:
            data.steps.settle()


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
