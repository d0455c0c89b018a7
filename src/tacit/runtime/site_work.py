"""What a micro-batch says to the windows of a site: the part of it that Spark does, outside of the agent's lock."""

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

__all__ = ["Work", "begin", "compute"]


@dataclass(slots=True)
class Work:
    """What a batch says to one set of windows."""

    data: WatchData
    deltas: PaneDeltas | RowBlock | None = None
    drawn: tuple[float | None, ...] = ()
    sample: tuple[int, SampleRows] | None = None
    history: PaneDeltas | None = None
    start_us: int | None = None


def begin(table: SiteTable, data: WatchData) -> Work:
    """Where the data of a watch begins that came while rows flow: after the rows that passed without it."""
    work = Work(data)
    if data.waiting:
        data.waiting = False
        seen = table.clock.max_time
        if seen is not None:
            pane = data.keeper.pane_us
            work.start_us = (seen // pane + 1) * pane
            data.keeper.start(work.start_us)
    return work


def compute(table: SiteTable, works: Sequence[Work], batch: Batch, measured: Collection[str]) -> None:
    """Let Spark work; nothing is changed yet. Data whose key is among ``measured`` needs no sample."""
    centres: dict[int, tuple[float, ...]] = {}
    for place, work in enumerate(works):
        data = work.data
        around = data.around
        if None in data.centres:
            work.drawn = batch.draw_centres(data.plan)
            around = tuple(
                (0.0 if new is None else new) if old is None else old
                for old, new in zip(data.centres, work.drawn, strict=True)
            )
        centres[place] = around
    timed = [(place, work) for place, work in enumerate(works) if work.data.keeper.sub_us is not None]
    wanted = [(work.data.plan, centres[place], int(work.data.keeper.sub_us or 1)) for place, work in timed]
    for (_, work), deltas in zip(timed, batch.pane_deltas(wanted) if wanted else [], strict=True):
        work.deltas = deltas
    for place, work in enumerate(works):
        if work.data.keeper.sub_us is None:
            work.deltas = batch.row_block(work.data.plan, centres[place])
        if work.data.key not in measured:
            _compute_sample(work, centres[place], batch)
        if work.start_us is not None and table.history is not None and work.data.keeper.sub_us is not None:
            lo = work.start_us - int(work.data.plan.window.duration_us or work.start_us)
            before = table.history(lo, work.start_us)
            (work.history,) = before.pane_deltas([(work.data.plan, centres[place], work.data.keeper.sub_us)])


def _compute_sample(work: Work, centres: tuple[float, ...], batch: Batch) -> None:
    data, deltas = work.data, work.deltas
    keeper = data.keeper
    if deltas is None:
        return
    times = deltas.t if isinstance(deltas, RowBlock) else deltas.sub * int(keeper.sub_us or 1)
    if keeper.open_from_us is not None:
        times = times[times >= keeper.open_from_us]
    if not len(times):
        return
    first = int(times.min()) // keeper.pane_us
    if keeper.first is None or first <= keeper.first:
        lo = first * keeper.pane_us
        work.sample = (first, batch.sample(data.plan, centres, lo, lo + keeper.pane_us, SAMPLE))
