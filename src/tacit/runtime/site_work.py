"""What a micro-batch says to the windows of a site: the part of it that Spark does, outside of the agent's lock.

Nothing is changed before Spark is done: a batch that dies on the way is begun again, history included.
"""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tacit.functions.goals import SketchGoal, Top
from tacit.language.shape import SAMPLE
from tacit.runtime.pane_clock import AHEAD_US
from tacit.runtime.site_table import SiteTable
from tacit.runtime.site_watch import WatchData
from tacit.vocabulary import BoolArray, InputError
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows
from tacit.vocabulary.calendar import DAY_US, iso_time

if TYPE_CHECKING:
    from tacit.pipelines.batches import Batch

__all__ = ["Work", "begin", "compute", "compute_history", "wants_history", "warn_of_times"]

_log = logging.getLogger(__name__)


@dataclass(slots=True)
class Work:
    """What a batch says to one set of windows."""

    data: WatchData
    deltas: PaneDeltas | RowBlock | None = None
    drawn: tuple[float | None, ...] = ()
    sample: tuple[int, SampleRows] | None = None
    history: PaneDeltas | None = None
    begins: bool = False
    start_us: int | None = None  # where it begins, if it does not begin with the first row
    after_us: int | None = None  # where it begins if there is no history: after all rows that passed without it
    through: int | None = None  # the last batch that passed without it
    seen_us: int | None = None  # the newest time of its rows
    reach_us: int | None = None  # how much history is read; None: all there is
    problem: InputError | None = None

    @property
    def centres(self) -> tuple[float, ...]:
        """What contributions are taken around: the data's centres, and those that were just drawn."""
        drawn = self.drawn or (None,) * len(self.data.centres)
        chosen = (new if old is None else old for old, new in zip(self.data.centres, drawn, strict=True))
        return tuple(0.0 if centre is None else centre for centre in chosen)

    def rows_after(self, time_us: int) -> int:
        """How many rows lie in sub-panes that begin after an instant."""
        deltas = self.deltas
        if deltas is None:
            return 0
        whole = np.ones_like(deltas.group)  # under GROUP BY EACH one entry of a row is that of no member
        if self.data.by_member:
            whole = (deltas.group == (deltas.keys.index("") if "" in deltas.keys else -1)).astype(np.int64)
        if isinstance(deltas, RowBlock):
            return int(whole[deltas.t > time_us].sum())
        return int((whole * deltas.rows)[deltas.sub * int(self.data.keeper.sub_us or 1) > time_us].sum())

    @property
    def late_before_us(self) -> int | None:
        """Rows before this are late for these windows, if some are among the rows."""
        boundary = None if self.begins else self.data.keeper.late_before_us
        if boundary is None or self.deltas is None:
            return None
        deltas = self.deltas
        times = deltas.t if isinstance(deltas, RowBlock) else deltas.sub * int(self.data.keeper.sub_us or 1)
        started = self.data.keeper.start_us
        late = (times < boundary) & (times >= (started if started is not None else times))
        return boundary if late.any() else None

    def add(self) -> None:
        """Put it into the windows."""
        data = self.data
        if self.begins:
            data.waiting = False
            if self.start_us is not None and self.history is not None:
                data.keeper.start(self.start_us)
                before = self.history.sub * int(data.keeper.sub_us or 1) < self.start_us
                data.backfill(_those(self.history, before), self.start_us, self.reach_us)
                data.add_again(_those(self.history, ~before))
            elif self.after_us is not None:
                data.keeper.start(self.after_us)
        if self.drawn:
            data.draw(self.drawn)
        if self.sample is not None:
            data.add_sample(*self.sample)
        if self.deltas is not None:
            data.add(self.deltas)


def begin(table: SiteTable, data: WatchData, now_us: int) -> Work:
    """Where the data of a watch begins that came while rows flow: after the rows that passed without it.

    How much history is read is decided here, under the agent's lock: watches that come while Spark reads may want more.
    """
    work = Work(data, begins=data.waiting, reach_us=data.history_us)
    data.handed = True
    data.keeper.due_us = table.clock.reached
    work.through, work.seen_us = data.batch_before, table.clock.seen(now_us)
    if data.waiting and work.seen_us is not None:
        pane, reached = data.keeper.pane_us, table.clock.reached
        work.after_us = (work.seen_us // pane + 1) * pane
        # With history it begins where the table's time has come: what was read of later panes is read again, too.
        history = wants_history(table, data) and reached is not None
        work.start_us = reached // pane * pane if history and reached is not None else work.after_us
    return work


def wants_history(table: SiteTable, data: WatchData) -> bool:
    """Is there history to be read before the data begins? Windows of rows fill with the rows to come."""
    timed = data.keeper.sub_us is not None
    return data.waiting and timed and table.history is not None and table.clock.max_time is not None


def compute(table: SiteTable, works: Sequence[Work], batch: Batch, measured: Collection[str]) -> None:
    """Let Spark work. Data whose key is among ``measured`` needs no sample.

    A row that one watch cannot be computed of is that watch's ``problem``, and of no other.
    """
    for work in works:
        if None in work.data.centres:
            with _told_by(work):
                work.drawn = batch.draw_centres(work.data.plan)
    timed = [work for work in works if work.data.keeper.sub_us is not None and work.problem is None]
    wanted = [(work.data.plan, work.centres, int(work.data.keeper.sub_us or 1)) for work in timed]
    for work, outcome in zip(timed, batch.pane_outcomes(wanted) if wanted else [], strict=True):
        if isinstance(outcome, InputError):
            work.problem = outcome
        else:
            work.deltas = outcome
    for work in works:
        if work.problem is None:
            with _told_by(work):
                if work.data.keeper.sub_us is None:
                    work.deltas = batch.row_block(work.data.plan, work.centres)
                if work.data.key not in measured:
                    _compute_sample(work, batch)
    compute_history(table, works, measured)
    if any(work.problem is not None for work in works):
        _ = batch.rows  # raises when it is the batch that cannot be read, and no watch is at fault


def compute_history(table: SiteTable, works: Sequence[Work], measured: Collection[str] = ()) -> None:
    """Let Spark read what lies before the start of windows that begin."""
    for work in works:
        if work.start_us is None or work.problem is not None or not wants_history(table, work.data):
            continue
        assert table.history is not None
        plan, sub_us = work.data.plan, int(work.data.keeper.sub_us or 1)
        with _told_by(work):
            assert work.seen_us is not None
            before = table.history(
                work.start_us - int(work.reach_us or work.start_us), work.seen_us + 1, work.through
            )  # fmt: skip
            if before is None:  # nothing has been put there yet, or it cannot be read again
                continue
            if not work.drawn and None in work.data.centres:
                work.drawn = before.draw_centres(plan)
            (outcome,) = before.pane_outcomes([(plan, work.centres, sub_us)])
            if isinstance(outcome, InputError):
                raise outcome
            work.history = outcome
            if work.data.key not in measured and not isinstance(plan.goal, Top | SketchGoal):
                first = work.start_us // work.data.keeper.pane_us - 1
                work.sample = first, before.sample(plan, work.centres, 0, work.start_us, SAMPLE)


def warn_of_times(table: SiteTable, works: Sequence[Work], batch: Batch, now_us: int) -> None:
    """Say once that there are rows without a time, and once that there are rows with one ahead of now."""
    if batch.no_time and not table.no_time:
        _log.warning(
            "table %s has rows without a time (%d in this batch), which count nowhere", table.name, batch.no_time
        )
    newest = batch.max_time
    if newest is not None and table.clock.is_old(newest, now_us):
        days = (now_us - newest) // DAY_US
        _log.warning(
            "table %s: its first rows are old (the newest is of %s, %s day%s ago), and its clock is \"wall\": the time"
            " from then until now passes at once, without rows. For recorded data write clock = \"event\" for this"
            " table in the configuration, then run tacit reset and start again",
            table.name, iso_time(newest), f"{days:,}", "" if days == 1 else "s",
        )  # fmt: skip
    if newest is None or not table.clock.is_ahead(newest, now_us):
        return
    if not table.ahead:
        _log.warning(
            "table %s has rows with times up to %s, ahead of this machine's clock (%s): they count when their time"
            " comes; correct the times, or the clock", table.name, iso_time(newest), iso_time(now_us),
        )  # fmt: skip
    table.ahead += max([1, *(work.rows_after(now_us + AHEAD_US) for work in works)])


@contextmanager
def _told_by(work: Work) -> Iterator[None]:
    """What the user's sentence or data cannot do is told by the work; what the machine cannot do is raised."""
    try:
        yield
    except InputError as error:
        work.problem = error


def _those(deltas: PaneDeltas, which: BoolArray) -> PaneDeltas:
    return PaneDeltas(deltas.sub[which], deltas.group[which], deltas.rows[which], deltas.sums[which], deltas.keys)


def _compute_sample(work: Work, batch: Batch) -> None:
    data, deltas = work.data, work.deltas
    keeper = data.keeper
    if deltas is None or isinstance(data.plan.goal, Top | SketchGoal):  # which are compared as they are
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
