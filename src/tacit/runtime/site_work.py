"""What a micro-batch says to the windows of a site: the part of it that Spark does, outside of the agent's lock.

Nothing is changed before Spark is done: a batch that dies on the way is begun again, history included.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.language.shape import SAMPLE
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import WatchData
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows

if TYPE_CHECKING:
    from tacit.pipelines.batches import Batch

__all__ = ["Work", "begin", "compute", "compute_history", "wants_history"]


@dataclass(slots=True)
class Work:
    """What a batch says to one set of windows."""

    data: WatchData
    deltas: PaneDeltas | RowBlock | None = None
    drawn: tuple[float | None, ...] = ()
    sample: tuple[int, SampleRows] | None = None
    history: PaneDeltas | None = None
    begins: bool = False
    start_us: int | None = None

    @property
    def centres(self) -> tuple[float, ...]:
        """What contributions are taken around: the data's centres, and those that were just drawn."""
        drawn = self.drawn or (None,) * len(self.data.centres)
        chosen = (new if old is None else old for old, new in zip(self.data.centres, drawn, strict=True))
        return tuple(0.0 if centre is None else centre for centre in chosen)

    def add(self) -> None:
        """Put it into the windows."""
        data = self.data
        if self.begins:
            data.waiting = False
            if self.start_us is not None:
                data.keeper.start(self.start_us)
                if self.history is not None:
                    data.backfill(self.history, self.start_us)
        if self.drawn:
            data.draw(self.drawn)
        if self.sample is not None:
            data.add_sample(*self.sample)
        if self.deltas is not None:
            data.add(self.deltas)


def begin(table: SiteTable, data: WatchData) -> Work:
    """Where the data of a watch begins that came while rows flow: after the rows that passed without it."""
    work = Work(data, begins=data.waiting)
    seen = table.clock.max_time
    if data.waiting and seen is not None:
        pane = data.keeper.pane_us
        work.start_us = (seen // pane + 1) * pane
    return work


def wants_history(table: SiteTable, data: WatchData) -> bool:
    """Is there history to be read before the data begins? Windows of rows fill with the rows to come."""
    timed = data.keeper.sub_us is not None
    return data.waiting and timed and table.history is not None and table.clock.max_time is not None


def compute(table: SiteTable, works: Sequence[Work], batch: Batch, measured: Collection[str]) -> None:
    """Let Spark work. Data whose key is among ``measured`` needs no sample."""
    for work in works:
        if None in work.data.centres:
            work.drawn = batch.draw_centres(work.data.plan)
    timed = [work for work in works if work.data.keeper.sub_us is not None]
    wanted = [(work.data.plan, work.centres, int(work.data.keeper.sub_us or 1)) for work in timed]
    for work, deltas in zip(timed, batch.pane_deltas(wanted) if wanted else [], strict=True):
        work.deltas = deltas
    for work in works:
        if work.data.keeper.sub_us is None:
            work.deltas = batch.row_block(work.data.plan, work.centres)
        if work.data.key not in measured:
            _compute_sample(work, batch)
    compute_history(table, works)


def compute_history(table: SiteTable, works: Sequence[Work]) -> None:
    """Let Spark read what lies before the start of windows that begin."""
    for work in works:
        if work.start_us is None or table.history is None or not wants_history(table, work.data):
            continue
        plan, sub_us = work.data.plan, int(work.data.keeper.sub_us or 1)
        before = table.history(work.start_us - int(plan.window.duration_us or work.start_us), work.start_us)
        if not work.drawn and None in work.data.centres:
            work.drawn = before.draw_centres(plan)
        (work.history,) = before.pane_deltas([(plan, work.centres, sub_us)])


def _compute_sample(work: Work, batch: Batch) -> None:
    data, deltas = work.data, work.deltas
    keeper = data.keeper
    if deltas is None:
        return
    times = deltas.t if isinstance(deltas, RowBlock) else deltas.sub * int(keeper.sub_us or 1)
    for begin_us in (keeper.open_from_us, work.start_us):
        if begin_us is not None:
            times = times[times >= begin_us]
    if not len(times):
        return
    first = int(times.min()) // keeper.pane_us
    if keeper.first is None or first <= keeper.first:
        lo = first * keeper.pane_us
        work.sample = (first, batch.sample(data.plan, work.centres, lo, lo + keeper.pane_us, SAMPLE))
