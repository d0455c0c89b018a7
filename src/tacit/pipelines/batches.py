"""One micro-batch of a live table: what it adds to the watches of the moment, by native Spark expressions.

A pass over the batch serves all watches that are grouped alike, and the first pass also counts rows and finds the
latest time. Python sees aggregates and Arrow blocks, never single rows. The batch is kept in memory only when it is
looked at more than twice (to keep it costs more than to read it again once); :meth:`SparkBatch.close` lets it go.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import median
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.pipelines.contributions import DRAWS, centre_draws, centre_values, contribution, sample_key
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.groups import group_columns, group_text, member_key, member_texts
from tacit.pipelines.order import row_hash
from tacit.pipelines.pane_sums import SUB, TIME, Family, Wanted, check_values, counts_of, families, numbered
from tacit.pipelines.time import TimeColumn, time_column, utc
from tacit.vocabulary import FloatArray, InputError
from tacit.vocabulary.batches import PaneDeltas, RowBlock, SampleRows

__all__ = ["Batch", "SparkBatch"]

_BAD, _HASH, _COUNTS = "__tacit_bad", "__tacit_hash", "__tacit_counts"
_TEXT, _KEY = "__tacit_text", "__tacit_sample"

_UNKEPT_PASSES = 2


class Batch(Protocol):
    """What a site asks of one micro-batch of a table."""

    @property
    def rows(self) -> int:
        """How many rows it has, WHERE or not."""

    @property
    def no_time(self) -> int:
        """How many of them have no time."""

    @property
    def max_time(self) -> int | None:
        """The latest time, in microseconds."""

    def rows_before(self, time_us: int) -> list[tuple[int, dict[str, Any]]]:
        """The rows with a time before this one, with their times."""

    def draw_centres(self, plan: WatchPlan) -> tuple[float | None, ...]:
        """A value among most of those of each expression that is centred; None where there is no value."""

    def pane_outcomes(self, wanted: Sequence[Wanted]) -> list[PaneDeltas | InputError]:
        """What the batch adds to each of these watches, by sub-pane and group, or why that cannot be computed."""

    def row_block(self, plan: WatchPlan, centres: tuple[float, ...]) -> RowBlock:
        """The rows that pass WHERE, in order."""

    def sample(self, plan: WatchPlan, centres: tuple[float, ...], lo_us: int, hi_us: int, count: int) -> SampleRows:
        """Of the rows with a time in [lo, hi) that pass WHERE, those with the least sample keys."""


@dataclass(frozen=True, slots=True)
class _Tally:
    rows: int
    timed: int
    latest: int | None
    bad: int
    first_bad: str | None


class SparkBatch:
    """A :class:`Batch` that is a DataFrame: its rows must be the same whenever Spark reads them again.

    ``time`` is the name of its time column, or what :func:`time_column` said of a frame with the same columns.
    """

    def __init__(self, frame: DataFrame, time: str | TimeColumn) -> None:
        self._spark, self._frame = frame.sparkSession, frame
        with self._spoken():
            self._moment = time_column(frame, time) if isinstance(time, str) else time
            columns = {TIME: self._moment.micros}
            if self._moment.bad is not None:
                columns[_BAD] = self._moment.bad
            self._base = frame.withColumns(columns)
        self._found: _Tally | None = None
        self._passes = 0
        self._kept = False

    @property
    def rows(self) -> int:
        """How many rows there are. Ask this after :meth:`pane_outcomes`, whose pass counts them along."""
        return self._tally().rows

    @property
    def no_time(self) -> int:
        """How many rows have no time, those included whose time cannot be read."""
        return self._tally().rows - self._tally().timed

    @property
    def max_time(self) -> int | None:
        """The latest time in microseconds; None when no row has one."""
        return self._tally().latest

    @property
    def time_problem(self) -> str | None:
        """Why some rows have no time although something stands in their time column, as a sentence; None if none."""
        found = self._tally()
        return str(self._moment.complain(found.bad, found.first_bad or "")) if found.bad else None

    def rows_before(self, time_us: int) -> list[tuple[int, dict[str, Any]]]:
        """The rows with a time before this one, with their times; values that JSON has not are texts."""
        with self._spoken():
            whole = sf.to_json(sf.struct(*(self._frame[name] for name in self._frame.columns)))
            rows = self._pass().where(sf.col(TIME) < time_us).select(TIME, whole.alias(_TEXT)).toArrow()
        texts = rows.column(_TEXT).to_pylist()
        return [(at, json.loads(text)) for at, text in zip(rows.column(TIME).to_pylist(), texts, strict=True)]

    def keep(self) -> None:
        """Keep the rows in memory from the next pass on, because several passes will follow."""
        if not self._kept:
            self._base.persist()
            self._kept = True

    def close(self) -> None:
        """Let go of what was kept in memory."""
        if self._kept:
            self._kept = False
            with one_sentence():
                self._base.unpersist()

    def draw_centres(self, plan: WatchPlan) -> tuple[float | None, ...]:
        """The median of a few values drawn by hash for each expression that is centred; None where there is none."""
        if not plan.centres:
            return ()
        with self._spoken():
            rows = self._pass().withColumns({_HASH: self._hash(), _COUNTS: counts_of(plan.where)})
            draws = centre_draws(plan, sf.col(_COUNTS), sf.col(_HASH), sf.col(TIME))
            drawn = rows.agg(*self._tally_columns(), *draws)
            names = [[f"draw{i}_{k}" for k in range(DRAWS)] for i in range(len(plan.centres))]
            table = drawn.withColumns({name: sf.col(f"{name}.value") for each in names for name in each}).toArrow()
            self._note(table)
        values = [[table.column(name)[0].as_py() for name in each] for each in names]
        return tuple(None if each[0] is None else median(each) for each in values)

    def pane_outcomes(self, wanted: Sequence[Wanted]) -> list[PaneDeltas | InputError]:
        """What the batch adds to each watch; an error of one (a row divides by zero …) stands in its own place only."""
        outcomes: dict[int, PaneDeltas | InputError] = {}
        found = families(wanted)
        if self._passes + len(found) > _UNKEPT_PASSES:
            self.keep()
        for family in found:
            outcomes.update(zip(family.places, self._outcomes(family), strict=True))
        return [outcomes[place] for place in range(len(wanted))]

    def row_block(self, plan: WatchPlan, centres: tuple[float, ...]) -> RowBlock:
        """The rows that pass WHERE, sorted by (time, hash); where both are equal, by what they contribute.

        Under GROUP BY EACH each row is followed by what it adds to the groups whose member it has.
        """
        with self._spoken():
            rows = self._pass().withColumn(_HASH, self._hash()).where(counts_of(plan.where))
            if isinstance(plan.grouping, ByMember):
                return _member_block(rows, plan, plan.grouping, centres)
            if isinstance(plan.grouping, ByKey):
                rows = rows.withColumns(group_columns(plan.grouping, sf.lit(True)))
                rows = rows.withColumn(_TEXT, group_text(rows, plan.grouping))
            else:
                rows = rows.withColumn(_TEXT, sf.lit(""))
            table = rows.select(TIME, _HASH, _TEXT, *_contributions(plan, centres)).toArrow()
        t, hashes = table.column(TIME).to_numpy(), table.column(_HASH).to_numpy()
        group, keys = numbered(table.column(_TEXT))
        values = _matrix(table, 3, len(plan.statistics))
        with np.errstate(over="ignore"):  # what overflows is refused
            check_values(plan, np.abs(values).sum(axis=0, keepdims=True))
        order = np.lexsort((hashes, t))
        same = (np.diff(t[order]) == 0) & (np.diff(hashes[order]) == 0)
        if same.any():
            order = np.lexsort((group, *values.T[::-1], hashes, t))
        keys = keys if plan.grouping is not None else ("",)
        return RowBlock(t[order], hashes[order], group[order], values[order], keys)

    def sample(self, plan: WatchPlan, centres: tuple[float, ...], lo_us: int, hi_us: int, count: int) -> SampleRows:
        """At most ``count`` rows, in the order of their sample keys."""
        with self._spoken():
            everyone = sf.lit(True)
            inside = (sf.col(TIME) >= lo_us) & (sf.col(TIME) < hi_us)
            rows = self._pass().where(inside & counts_of(plan.where))
            centred = [each.alias(f"c{i}") for i, each in enumerate(centre_values(plan, everyone))]
            key = sample_key(plan, sf.col(TIME), everyone).alias(_KEY)
            table = rows.select(key, *_contributions(plan, centres), *centred).orderBy(_KEY).limit(count).toArrow()
        values = _matrix(table, 1, len(plan.statistics))
        check_values(plan, values)
        at = _matrix(table, 1 + len(plan.statistics), len(plan.centres))
        return SampleRows(table.column(_KEY).to_numpy(), values, at)

    def _outcomes(self, family: Family) -> Sequence[PaneDeltas | InputError]:
        """The pass of a family; when it fails, one for each of its watches, to see which of them are at fault."""
        try:
            with self._spoken():
                table = family.aggregate(self._pass(), *self._tally_columns(by_sub_pane=True)).toArrow()
                self._note(table)
            return family.cut(table)
        except InputError as error:
            if len(family.members) == 1:
                return [error]
        self.keep()
        return [outcome for member in family.members for outcome in self._outcomes(families([member])[0])]

    def _pass(self) -> DataFrame:
        """The rows, for one more pass."""
        self._passes += 1
        if self._passes > _UNKEPT_PASSES:
            self.keep()
        return self._base

    def _tally(self) -> _Tally:
        if self._found is None:
            with self._spoken():
                self._note(self._pass().agg(*self._tally_columns()).toArrow())
        assert self._found is not None
        return self._found

    def _hash(self) -> Column:
        return row_hash(self._frame, leave_out=self._moment.name)

    def _tally_columns(self, *, by_sub_pane: bool = False) -> list[Column]:
        """The counts of all rows, to go along with the first pass; by sub-panes those with a time need no count."""
        if self._found is not None:
            return []
        columns = [sf.count("*").alias("rows"), sf.max(TIME).alias("latest")]
        if not by_sub_pane:
            columns.append(sf.count(TIME).alias("timed"))
        if self._moment.bad is not None:
            columns += [sf.count(_BAD).alias("bad"), sf.min(_BAD).alias("first_bad")]
        return columns

    def _note(self, table: pa.Table) -> None:
        if self._found is not None:
            return
        found: dict[str, list[Any]] = {
            name: [each for each in table.column(name).to_pylist() if each is not None]
            for name in ("rows", "timed", "latest", "bad", "first_bad")
            if name in table.column_names
        }
        self._found = _Tally(
            rows=sum(found["rows"]),
            timed=sum(found["timed"]) if "timed" in found else _timed(table),
            latest=max(found["latest"], default=None),
            bad=sum(found.get("bad", [])),
            first_bad=min(found.get("first_bad", []), default=None),
        )

    @contextmanager
    def _spoken(self) -> Iterator[None]:
        """Inside, times without a zone are UTC and Spark's errors are sentences."""
        with one_sentence(), utc(self._spark):
            yield


def _timed(table: pa.Table) -> int:
    """How many rows have a time, of an aggregation by sub-panes."""
    return sum(each for each in table.filter(table.column(SUB).is_valid()).column("rows").to_pylist() if each)


def _member_block(rows: DataFrame, plan: WatchPlan, grouping: ByMember, centres: tuple[float, ...]) -> RowBlock:
    """Rows in order, each as an entry of no member and one of every member that it has."""
    rows = rows.withColumns(group_columns(grouping, sf.lit(True)))
    texts = sf.array_sort(member_texts(rows, grouping)).alias(_TEXT)
    absent = _contributions(plan, centres, absent=True)
    table = rows.select(TIME, _HASH, texts, *_contributions(plan, centres), *absent).toArrow()
    t, hashes = table.column(TIME).to_numpy(), table.column(_HASH).to_numpy()
    d = len(plan.statistics)
    present, others = _matrix(table, 3, d), _matrix(table, 3 + d, d)
    for values in (present, others):
        check_values(plan, np.abs(values).sum(axis=0, keepdims=True))
    lists = table.column(_TEXT)
    sizes = pc.list_value_length(lists).to_numpy().astype(np.int64)
    member, names = numbered(pc.list_flatten(lists))
    ends = np.cumsum(sizes)
    order = np.lexsort((hashes, t))  # rows alike in both are alike in all
    row = np.repeat(order, sizes[order] + 1)
    within = np.arange(len(row)) - np.repeat(np.cumsum(sizes[order] + 1) - sizes[order] - 1, sizes[order] + 1)
    whole = within == 0
    group = np.full(len(row), len(names), dtype=np.int64)
    group[~whole] = member[(ends - sizes)[row[~whole]] + within[~whole] - 1]
    values = np.where(whole[:, None], others[row], (present - others)[row])
    return RowBlock(t[row], hashes[row], group, values, (*map(member_key, names), ""))


def _contributions(plan: WatchPlan, centres: tuple[float, ...], *, absent: bool = False) -> list[Column]:
    everyone = sf.lit(True)  # WHERE has been asked before
    texts = [each.absent if absent else each.present for each in plan.statistics]
    letter = "a" if absent else "p"
    return [contribution(text, centres, everyone).alias(f"{letter}{i}") for i, text in enumerate(texts)]


def _matrix(table: pa.Table, first: int, width: int) -> FloatArray:
    """Columns of doubles side by side; nan where there is no value."""
    columns = [table.column(first + index).to_numpy() for index in range(width)]
    return np.column_stack(columns) if columns else np.empty((table.num_rows, 0))
