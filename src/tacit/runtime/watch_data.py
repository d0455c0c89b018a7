"""The windows of a watch at a site, shared by watches that need the same ones."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, replace
from typing import Any, Protocol

import numpy as np

from tacit.functions.goals import Quantile, SketchGoal, Top
from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.language.shape import SAMPLE
from tacit.runtime.blobs import Change, pack_arrays, pack_record, unpack_arrays, unpack_record
from tacit.runtime.rank_steps import RankSteps
from tacit.runtime.windows import WindowKeeper, window_keeper
from tacit.vocabulary import BoolArray, FloatArray
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows
from tacit.wire.control import Counts, Sample

__all__ = ["Panes", "WatchData", "data_key", "scope_of"]

_THERE = "there/"


def data_key(plan: WatchPlan) -> str:
    """The same for watches that keep the same sums over the same windows: thresholds and margins do not matter.

    On sketches it is the same for watches that count the same keys by the same panes: windows do not matter either, nor
    whether rows without a value count. (A site may feed a sketch by shorter panes than a watch has: sketch_data.py.)
    """
    if isinstance(plan.goal, SketchGoal):
        quantile = isinstance(plan.goal, Quantile)
        keys = [asdict(key if quantile else replace(key, missing=None)) for key in plan.keys]
        told = ["sketch", "values" if quantile else "equal keys and none", keys, asdict(plan.window.every)]
        return hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest()[:32]
    grouping = {} if plan.grouping is None else asdict(plan.grouping)
    grouping.pop("alike", None)  # which is of sketches
    story = [
        plan.table, plan.where, [each.present for each in plan.statistics], plan.centres,
        [type(plan.grouping).__name__, grouping] if grouping else None, asdict(plan.window),
    ]  # fmt: skip
    if isinstance(plan.grouping, ByMember):
        story.append([each.absent for each in plan.statistics])
    if isinstance(plan.goal, Top):
        story.append("ranking")
    return hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()[:32]


def scope_of(key: str) -> str:
    """Where the pieces of data with this key are saved."""
    return f"data:{key}"


class Panes(Protocol):
    """Where windows are, in panes of a watch (window_keeper.py says what each means)."""

    @property
    def pane_us(self) -> int: ...
    @property
    def first(self) -> int | None: ...
    @property
    def closed(self) -> int | None: ...
    @property
    def begin(self) -> int | None: ...
    @property
    def started_at(self) -> int | None: ...
    @property
    def oldest(self) -> int | None: ...


class WatchData:
    """Windows of the statistics of a plan, the number of rows as one more, and what a start needs to know.

    Under GROUP BY EACH the first group, whose key is the empty text, holds what rows add to groups whose member they
    lack, and every other group what its rows add to it beyond that; the last statistic counts its rows.
    """

    def __init__(
        self, plan: WatchPlan, saved: dict[str, bytes] | None = None, *, kept: WatchPlan | None = None
    ) -> None:
        self.asked = plan
        self.kept = plan if kept is None else kept
        self.plan, self.key = self.kept, data_key(plan)  # the plan of what is kept, which rows are summed by
        plan = self.kept
        self.events = self.panes = self.late = self.no_time = 0
        self.bases: dict[int, list[int]] = {}  # what was counted when a watch came to share these windows
        self.batch: int | None = None  # the last one of its table when it was saved
        self.batch_before: int | None = None  # the last one that passed without these windows, while they wait
        self.centres: list[float | None] = [None] * len(plan.centres)
        self.sample: SampleRows | None = None
        self.waiting = True  # for its first batch, before which it is decided where its data begins
        self.handed = False  # its first batch is being computed
        self.held = bool(saved)  # panes are held back (pacing.py), or were before a restart
        self.borrowed = False  # panes after ``own_closed`` were closed by the time of other sites, and are not saved
        self.own_closed: int | None = None
        self.there: list[tuple[int, int]] = []  # groups, and the first pane that was closed with rows of it
        self._is_there: BoolArray = np.zeros(0, dtype=np.bool_)  # by group
        self._there_saved = self._there_handed = 0
        self.by_member = isinstance(plan.grouping, ByMember)
        self.keeper: WindowKeeper = self._make_keeper()
        if saved:
            self.keeper.restore(saved)
            self._restore(saved)
        self.steps = RankSteps(self.keeper) if isinstance(plan.goal, Top) else None

    def _make_keeper(self) -> WindowKeeper:
        plan = self.kept
        keys = () if isinstance(plan.grouping, ByKey) else ("",)
        ranks = isinstance(plan.goal, Top)
        return window_keeper(
            plan.window, len(plan.statistics) + 1, keys, template=self.by_member, sparse=ranks
        )  # fmt: skip

    @property
    def scope(self) -> str:
        """Where its pieces are saved."""
        return scope_of(self.key)

    def panes_for(self, number: int) -> Panes:
        """Where this is, in the panes of a watch."""
        return self.keeper

    @property
    def around(self) -> tuple[float, ...]:
        """The site's own centres; 0 as long as there was no value."""
        return tuple(0.0 if centre is None else centre for centre in self.centres)

    @property
    def counted(self) -> list[int]:
        """Events, panes that changed, late rows and rows without a time, since there are these windows."""
        return [self.events, self.panes, self.late, self.no_time]

    def counts_of(self, number: int) -> Counts:
        """What was counted since this watch came."""
        base = self.bases.get(number, [0] * len(self.counted))
        events, panes, late, no_time = (now - before for now, before in zip(self.counted, base, strict=True))
        return Counts(events, panes, late, self.keeper.full_from(), no_time)

    def draw(self, drawn: tuple[float | None, ...]) -> None:
        """Choose centres that are not chosen yet; before, there was no value, so nothing was summed around them."""
        self.centres = [old if old is not None else new for old, new in zip(self.centres, drawn, strict=True)]

    def add(self, deltas: PaneDeltas | RowBlock) -> None:
        """Rows of a batch."""
        added = self.keeper.add(self._with_rows(deltas))
        self.events += added.rows
        self.late += added.late

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int, reach_us: int | None = None) -> None:
        """History before the start, of so much time; None: all there is."""
        self.keeper.backfill(self._with_rows(deltas), until_us)
        self.keeper.begin_before_start()
        assert self.keeper.closed is not None
        self.close(self.keeper.closed, self.keeper.closed)

    def add_again(self, deltas: PaneDeltas) -> None:
        """Rows of open panes that passed before there were these windows: none of them is counted as an event."""
        self.keeper.add(self._with_rows(deltas))

    @property
    def history_us(self) -> int | None:
        """How much history fills its windows; None: all there is."""
        return self.plan.window.duration_us

    def runs(self, closing: range) -> Iterator[tuple[int, int]]:
        """These panes, those in a row together in which windows stay as they are: a clock may leap over years."""
        pane = closing.start
        while pane < closing.stop:
            oldest = self.keeper.oldest
            known = oldest is not None and pane >= oldest  # others were settled without this site
            last = min(closing.stop - 1, self.keeper.same_until(pane)) if known else pane
            yield pane, last
            pane = last + 1

    @property
    def quiet_through(self) -> int | None:
        """The last pane, closed or not, through which windows stay as they are at the last that is closed."""
        return self.keeper.quiet_through

    @property
    def nbytes(self) -> int:
        """What the panes that are not settled for good take up."""
        return self.keeper.nbytes

    def drop_oldest(self) -> bool:
        """There is no room for all panes that are not settled for good: the oldest half goes. Was there any?"""
        oldest, closed = self.keeper.oldest, self.keeper.closed
        if oldest is None or closed is None or oldest >= closed:
            return False
        self.keeper.settle(oldest + (closed - oldest + 1) // 2)
        if self.steps is not None:
            self.steps.settle()
        return True

    def close(self, first: int, last: int) -> None:
        """Panes in which windows stay as they are were closed: count them, and note the groups that are there."""
        if self.steps is not None:
            self.panes += bool(self.steps.step(first).moved)
            return
        pane = first
        sums, changed = self.keeper.vector(pane)
        self.panes += changed
        if self.plan.grouping is None:
            return
        more = len(sums) - len(self._is_there)
        self._is_there = np.append(self._is_there, np.zeros(more, dtype=np.bool_))
        fresh = (sums[:, -1] > 0.0) & ~self._is_there
        fresh[:1] &= not self.by_member  # which is no group of its own
        self._is_there |= fresh
        self.there += [(group, pane) for group in np.flatnonzero(fresh).tolist()]

    def drop_groups(self) -> bool:
        """Forget groups without rows, where there are very many; then the machines of its watches must begin anew."""
        if self.steps is None or not self.keeper.drop_groups():
            return False
        self.steps = RankSteps(self.keeper)
        return True

    def whole(self, sums: FloatArray) -> FloatArray:
        """The windows' sums of every group, from what is kept of it."""
        if not self.by_member:
            return sums
        whole: FloatArray = sums + sums[0]
        whole[0] = sums[0]
        whole[:, -1] = sums[0, -1]  # every row counts in every group
        return whole

    def _with_rows(self, deltas: PaneDeltas | RowBlock) -> PaneDeltas | RowBlock:
        """The number of rows as the last statistic: it is the weight of watches that average over all rows."""
        if isinstance(deltas, RowBlock):
            values = np.concatenate([deltas.values, np.ones((len(deltas.t), 1))], axis=1)
            return RowBlock(deltas.t, deltas.hash, deltas.group, values, deltas.keys)
        sums = np.concatenate([deltas.sums, deltas.rows[:, None].astype(np.float64)], axis=1)
        return PaneDeltas(deltas.sub, deltas.group, deltas.rows, sums, deltas.keys)

    def add_sample(self, first: int, sample: SampleRows) -> None:
        """Rows of the first pane; those with the least keys are kept."""
        if self.sample is not None and first == self.keeper.first:
            keys = np.concatenate([self.sample.keys, sample.keys])
            least = np.argsort(keys, kind="stable")[:SAMPLE]
            values = np.concatenate([self.sample.values, sample.values])[least]
            sample = SampleRows(keys[least], values, np.concatenate([self.sample.centres, sample.centres])[least])
        self.sample = sample

    def offered(self) -> Sample | None:
        """The sample as it travels."""
        if self.sample is None:
            return None
        return Sample(self.sample.keys, self.sample.values, np.array(self.around), self.sample.centres)

    def changes(self) -> list[Change]:
        """What is to be saved."""
        record = {
            "centres": self.centres, "events": self.events, "panes": self.panes, "late": self.late,
            "no_time": self.no_time, "waiting": self.waiting, "batch": self.batch, "bases": list(self.bases.items()),
            "pane_us": self.keeper.pane_us,
        }  # fmt: skip
        changes = [*self.keeper.changes(), Change("own", pack_record(record))]
        if self.sample is not None:
            table = np.concatenate([self.sample.values, self.sample.centres], axis=1)
            changes.append(Change("sample", pack_arrays((self.sample.keys,), table)))
        if self._there_saved < len(self.there):
            groups, panes = np.array(self.there[self._there_saved :], dtype=np.int64).T
            blob = pack_arrays((groups, panes), np.empty((len(groups), 0)))
            changes.append(Change(f"{_THERE}{self._there_saved}", blob))
            self._there_handed = len(self.there)
        return changes

    def saved(self) -> None:
        """What ``changes`` gave last is on disk."""
        self.keeper.saved()
        self._there_saved = max(self._there_saved, self._there_handed)

    def _restore(self, saved: dict[str, bytes]) -> None:
        record: dict[str, Any] = unpack_record("own", saved["own"])
        self.centres, self.waiting, self.batch = record["centres"], record["waiting"], record.get("batch")
        self.events, self.panes, self.late = record["events"], record["panes"], record["late"]
        self.no_time = record.get("no_time", 0)  # an earlier release did not count them
        self.bases = {number: [*base, 0][: len(self.counted)] for number, base in record.get("bases", ())}
        if "sample" in saved:
            d, k = len(self.plan.statistics), len(self.plan.centres)
            (keys,), table = unpack_arrays("sample", saved["sample"], 1, d + k)
            self.sample = SampleRows(keys, table[:, :d], table[:, d:])
        for first in sorted(int(key.removeprefix(_THERE)) for key in saved if key.startswith(_THERE)):
            (groups, panes), _ = unpack_arrays(f"{_THERE}{first}", saved[f"{_THERE}{first}"], 2, 0)
            self.there += zip(groups.tolist(), panes.tolist(), strict=True)
        self._is_there = np.zeros(len(self.keeper.keys), dtype=np.bool_)
        self._is_there[[group for group, _ in self.there]] = True
        self._there_saved = self._there_handed = len(self.there)
