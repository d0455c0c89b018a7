"""A watch at a site: its windows, shared by watches that need the same ones, and its half of the protocol."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tacit.functions.goals import Track
from tacit.functions.statistics import shifted
from tacit.language.plan import WatchPlan
from tacit.language.shape import SAMPLE, Shape, shape_of
from tacit.protocols.messages import Message
from tacit.protocols.site import Site
from tacit.runtime.blobs import Change, pack_arrays, pack_record, unpack_arrays, unpack_record
from tacit.runtime.numbering import Numbering
from tacit.runtime.repeats import Repeats
from tacit.runtime.windows import WindowKeeper, restore_keeper, window_keeper
from tacit.vocabulary import DataError, FloatArray
from tacit.vocabulary.answers import MET
from tacit.vocabulary.batches import LARGEST, PaneDeltas, RowBlock, SampleRows
from tacit.vocabulary.calendar import iso_time
from tacit.wire.control import Counts, Install, Sample

__all__ = ["HISTORY", "SiteWatch", "WatchData", "Witness", "data_key", "scope_of"]

Witness = Callable[[int, int, int, FloatArray, FloatArray | None, Sequence[str]], None]
"""Hears of every pane that is closed: site, watch, pane, vectors, weights, keys (runtime/judge.py)."""

HISTORY = 10_000
"""So many panes that nobody settled are kept; a coordinator that is away for longer finds the newest."""


def data_key(plan: WatchPlan) -> str:
    """The same for watches that keep the same sums over the same windows: thresholds and margins do not matter."""
    story = [
        plan.table, plan.where, [each.present for each in plan.statistics], plan.centres,
        None if plan.grouping is None else [type(plan.grouping).__name__, asdict(plan.grouping)], asdict(plan.window),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(story, sort_keys=True).encode()).hexdigest()[:32]


def scope_of(key: str) -> str:
    """Where the pieces of data with this key are saved."""
    return f"data:{key}"


class WatchData:
    """Windows of the statistics of a plan, the number of rows as one more, and what a start needs to know."""

    def __init__(self, plan: WatchPlan, saved: dict[str, bytes] | None = None) -> None:
        self.plan, self.key = plan, data_key(plan)
        self.events = self.panes = self.late = self.no_time = 0
        self.bases: dict[int, list[int]] = {}  # what was counted when a watch came to share these windows
        self.batch: int | None = None  # the last one of its table when it was saved
        self.centres: list[float | None] = [None] * len(plan.centres)
        self.sample: SampleRows | None = None
        self.waiting = True  # for its first batch, before which it is decided where its data begins
        self.held = bool(saved)  # panes are held back (pacing.py), or were before a restart
        dimension = len(plan.statistics) + 1
        if saved:
            self.keeper: WindowKeeper = restore_keeper(plan.window, dimension, saved)
            self._restore(saved)
        else:
            self.keeper = window_keeper(plan.window, dimension, () if plan.grouping is not None else ("",))

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
        added = self.keeper.add(_with_rows(deltas))
        self.events += added.rows
        self.late += added.late

    def backfill(self, deltas: PaneDeltas | RowBlock, until_us: int) -> None:
        """History before the start."""
        self.keeper.backfill(_with_rows(deltas), until_us)

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
        return changes

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


def _with_rows(deltas: PaneDeltas | RowBlock) -> PaneDeltas | RowBlock:
    """The number of rows as the last statistic: it is the weight of watches that average over all rows."""
    if isinstance(deltas, RowBlock):
        values = np.concatenate([deltas.values, np.ones((len(deltas.t), 1))], axis=1)
        return RowBlock(deltas.t, deltas.hash, deltas.group, values, deltas.keys)
    sums = np.concatenate([deltas.sums, deltas.rows[:, None].astype(np.float64)], axis=1)
    return PaneDeltas(deltas.sub, deltas.group, deltas.rows, sums, deltas.keys)


@dataclass(slots=True, eq=False)
class SiteWatch:
    """A watch under its number: what the coordinator said of it, its data, and, once it is measured, its machine."""

    number: int
    install: Install
    plan: WatchPlan
    data: WatchData
    settled: int | None = None
    shape: Shape | None = None
    machine: Site | None = None
    numbering: Numbering | None = None
    waiting: list[Message] = field(default_factory=list)  # until its groups have numbers
    asked: set[str] = field(default_factory=set)
    offered: object = None  # what was last offered and counted, on this link
    counted: object = None
    witness: Witness | None = None
    there: dict[str, int] = field(default_factory=dict)  # the first pane, of those looked at, with rows of a group
    unsaid: list[str] = field(default_factory=list)  # of these, what was not said on this link
    repeats: Repeats = field(default_factory=Repeats)

    @property
    def grouped(self) -> bool:
        """Has it groups?"""
        return self.plan.grouping is not None

    def start(self, site: int, session: int) -> None:
        """Make the machine, unless the watch is paused or was not measured yet."""
        install, keeper = self.install, self.data.keeper
        if install.measure is None or install.begin is None or install.paused:
            return
        self.shape = shape_of(self.plan, install.measure)
        begin = install.begin if self.settled is None else max(install.begin, self.settled)
        if keeper.started_at is not None:
            begin = max(begin, keeper.started_at)
        if keeper.oldest is not None and keeper.oldest > (keeper.begin or 0):
            begin = max(begin, keeper.oldest)  # older ones were settled and forgotten
        self.machine = Site(
            site, self.shape.monitor, len(keeper.keys), weighted=self.shape.form.weighted, history=HISTORY,
            begin=begin, session=session - 1,
        )  # fmt: skip
        self.numbering = Numbering(keeper.number) if self.grouped else None

    def close(self, pane: int, sums: FloatArray) -> tuple[Message, ...]:
        """A pane is closed, with these sums around the site's own centres; DataError when they are too large.

        What is not finite is no message, and what is nearly so would not be when the coordinator adds it up.
        """
        machine, shape, measure = self.machine, self.shape, self.install.measure
        assert machine is not None
        assert shape is not None
        assert measure is not None
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is refused
            moved = shifted(sums, self.plan.shifts, np.array(self.data.around), measure.centres)
            self._check_sums(pane, moved)
            vectors, weights = shape.vectors(moved)
        if self.witness is not None:
            self.witness(machine.site, self.number, pane, vectors, weights, self.data.keeper.keys)
        machine.grow_groups(len(vectors))
        if self.announces:
            self._note_groups(pane, sums)
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

    @property
    def announces(self) -> bool:
        """Does the condition hold of nothing at all? Then the first row of a group is news, though no zone is left."""
        shape = self.shape
        if shape is None or not self.grouped or isinstance(self.plan.goal, Track):
            return False
        nothing = np.full((1, shape.monitor.dimension), np.nan if shape.form.weighted else 0.0)
        return bool(shape.monitor.answers(nothing)[0] == MET)

    def _note_groups(self, pane: int, sums: FloatArray) -> None:
        keys = self.data.keeper.keys
        for group in np.flatnonzero(sums[:, -1] > 0.0).tolist():
            if keys[group] not in self.there:
                self.there[keys[group]] = pane
                self.unsaid.append(keys[group])

    def catch_up(self) -> list[Message]:
        """Close in the machine what is closed in the windows."""
        machine, keeper = self.machine, self.data.keeper
        out: list[Message] = []
        if machine is None or keeper.closed is None:
            return out
        begin, oldest = keeper.begin, keeper.oldest
        nothing: FloatArray = np.zeros((len(keeper.keys), keeper.dimension))
        for pane in range(max(machine.closed, keeper.closed - HISTORY) + 1, keeper.closed + 1):
            if begin is None or pane < begin:  # before its first row the site held nothing
                out += self.close(pane, nothing)
            elif oldest is not None and pane >= oldest:
                out += self.close(pane, keeper.vector(pane)[0])
        return out
