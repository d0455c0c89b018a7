"""A watch at a site: its windows, shared by watches that need the same ones, and its half of the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tacit.functions.goals import Top, Track
from tacit.functions.statistics import shifted
from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.language.shape import SAMPLE, Shape, shape_of, zone_kind
from tacit.protocols.messages import Message
from tacit.protocols.past import EVERY
from tacit.protocols.rounds import Nominator
from tacit.protocols.site import Site
from tacit.protocols.topk.challenger import Challenger
from tacit.runtime.blobs import Change, pack_arrays, pack_record, unpack_arrays, unpack_record
from tacit.runtime.numbering import Numbering
from tacit.runtime.rank_steps import RankFeed, RankSteps
from tacit.runtime.repeats import Repeats
from tacit.runtime.resolvers import expiry_of
from tacit.runtime.windows import WindowKeeper, restore_keeper, window_keeper
from tacit.vocabulary import BoolArray, DataError, FloatArray
from tacit.vocabulary.answers import MET
from tacit.vocabulary.batches import LARGEST, PaneDeltas, RowBlock, SampleRows
from tacit.vocabulary.calendar import iso_time
from tacit.wire.control import Counts, Install, Sample

__all__ = ["HISTORY", "SiteWatch", "WatchData", "Witness", "data_key", "scope_of"]

Witness = Callable[[int, int, int, FloatArray, FloatArray | None, Sequence[str]], None]
"""Hears of every pane that is closed: site, watch, pane, vectors, weights, keys (runtime/judge.py)."""

_THERE = "there/"

HISTORY = 10_000
"""So many panes that nobody settled are kept; a coordinator that is away for longer finds the newest."""


def data_key(plan: WatchPlan) -> str:
    """The same for watches that keep the same sums over the same windows: thresholds and margins do not matter."""
    story = [
        plan.table, plan.where, [each.present for each in plan.statistics], plan.centres,
        None if plan.grouping is None else [type(plan.grouping).__name__, asdict(plan.grouping)], asdict(plan.window),
    ]  # fmt: skip
    if isinstance(plan.grouping, ByMember):
        story.append([each.absent for each in plan.statistics])
    if isinstance(plan.goal, Top):
        story.append("ranking")
    return hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()[:32]


def scope_of(key: str) -> str:
    """Where the pieces of data with this key are saved."""
    return f"data:{key}"


class WatchData:
    """Windows of the statistics of a plan, the number of rows as one more, and what a start needs to know.

    Under GROUP BY EACH the first group, whose key is the empty text, holds what rows add to groups whose member they
    lack, and every other group what its rows add to it beyond that; the last statistic counts its rows.
    """

    def __init__(self, plan: WatchPlan, saved: dict[str, bytes] | None = None) -> None:
        self.plan, self.key = plan, data_key(plan)
        self.events = self.panes = self.late = self.no_time = 0
        self.bases: dict[int, list[int]] = {}  # what was counted when a watch came to share these windows
        self.batch: int | None = None  # the last one of its table when it was saved
        self.centres: list[float | None] = [None] * len(plan.centres)
        self.sample: SampleRows | None = None
        self.waiting = True  # for its first batch, before which it is decided where its data begins
        self.held = bool(saved)  # panes are held back (pacing.py), or were before a restart
        self.there: list[tuple[int, int]] = []  # groups, and the first pane that was closed with rows of it
        self._is_there: BoolArray = np.zeros(0, dtype=np.bool_)  # by group
        self._there_saved = self._there_handed = 0
        self.by_member = isinstance(plan.grouping, ByMember)
        dimension, ranks = len(plan.statistics) + 1, isinstance(plan.goal, Top)
        if saved:
            self.keeper: WindowKeeper = restore_keeper(
                plan.window, dimension, saved, template=self.by_member, sparse=ranks
            )
            self._restore(saved)
        else:
            keys = () if isinstance(plan.grouping, ByKey) else ("",)
            self.keeper = window_keeper(plan.window, dimension, keys, template=self.by_member, sparse=ranks)
        self.steps = RankSteps(self.keeper) if ranks else None

    @property
    def scope(self) -> str:
        """Where its pieces are saved."""
        return scope_of(self.key)

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

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int) -> None:
        """History before the start."""
        self.keeper.backfill(self._with_rows(deltas), until_us)

    def close(self, pane: int) -> None:
        """A pane was closed in the windows: count it, and note the groups that are there with it."""
        if self.steps is not None:
            self.panes += bool(self.steps.step(pane).moved)
            return
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


@dataclass(slots=True, eq=False)
class SiteWatch:
    """A watch under its number: what the coordinator said of it, its data, and, once it is measured, its machine."""

    number: int
    install: Install
    plan: WatchPlan
    data: WatchData
    settled: int | None = None
    shape: Shape | None = None
    machine: Site | Challenger | Nominator | None = None
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
        begin = install.begin if self.settled is None else max(install.begin, self.settled)
        if keeper.started_at is not None:
            begin = max(begin, keeper.started_at)
        if keeper.oldest is not None and keeper.oldest > (keeper.begin or 0):
            begin = max(begin, keeper.oldest)  # older ones were settled and forgotten
        self.announced = 0
        self.repeats.forget()
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
