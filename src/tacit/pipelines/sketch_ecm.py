"""ECM-sketches of DataFrames: built where the rows are, merged in a tree (docs/SKETCHES.md, "On Spark").

Spark turns keys, times and counts into whole numbers natively (``sketch_columns``), each task sketches its partition
from Arrow batches, and sketches are merged in rounds: tasks merge about ``fan_in`` of them each, and the last few are
merged by whoever asked. Merging over h levels lets the error of a window counter grow from e to (1 + e)^(h + 1) - 1,
so tasks start with the error from which it grows to what was asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from operator import index
from typing import Required, SupportsIndex, TypedDict, Unpack

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql import types as st

from tacit.pipelines.columns import column, resolve
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.sketch_columns import Given, Window, arrivals, sliding_window
from tacit.pipelines.sketch_functions import arrow_function, sketch_merge_all
from tacit.pipelines.sketch_tasks import (
    LEFT_OUT,
    PART,
    SKETCH,
    TIME,
    Recipe,
    build,
    build_groups,
    merge_part,
    shipped,
    sum_group,
)
from tacit.sketches import Counter, EcmSketch, Query
from tacit.vocabulary.errors import MergeError, OptionError

__all__ = ["EcmOptions", "ecm", "ecm_by"]

BATCH_ROWS = 65_536
"""Rows of an Arrow batch: Spark's own 10,000 take twice as long, and much larger ones leave the caches."""

_BATCH_SETTING, _BATCH_DEFAULT = "spark.sql.execution.arrow.maxRecordsPerBatch", "10000"
_PARTS_GUESS = 256
_SKETCHES = f"{SKETCH} BINARY, {LEFT_OUT} BIGINT"


class EcmOptions(TypedDict, total=False):
    """What :func:`ecm` and :func:`ecm_by` are told, by keyword."""

    key: Required[Given]
    """Whole numbers, texts or binary; a name or an expression."""
    time: Given | None
    """Timestamps or dates (a tick is a microsecond), or whole numbers (of whatever a tick is). None: window by rows."""
    window: Required[Window]
    """Ticks, a timedelta (with timestamps and dates), or a SlidingWindow."""
    epsilon: Required[float]
    """What a query may err by in the end, as a share of all arrivals of its range …"""
    delta: Required[float]
    """… except with this probability."""
    query: Query
    """``"point"``, or ``"inner_product"`` for self-join sizes and inner products too."""
    counter: Counter
    """``"histogram"``, ``"wave"`` or ``"random_wave"``."""
    seed: int
    """Sketches of different seeds cannot be merged."""
    count: Given | None
    """How often a row counts; once if left out."""
    ordered: bool
    """Rows of each partition come in the order of their times already, so they need no sorting."""
    merges_later: int
    """How often, one above the other, results will be merged again before they are asked; the guarantee is for then."""
    fan_in: int
    """How many sketches a task merges."""
    source: int
    """Which rows these are, for random waves: sketches that will be merged later come from different sources."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Options:
    """The same with what is left out."""

    key: Given
    time: Given | None = None
    window: Window
    epsilon: float
    delta: float
    query: Query = "point"
    counter: Counter = "histogram"
    seed: int = 0
    count: Given | None = None
    ordered: bool = False
    merges_later: int = 0
    fan_in: int = 16
    source: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.fan_in, SupportsIndex) or index(self.fan_in) < 2:
            raise OptionError(f"a task merges 2 sketches or more, and fan_in is {self.fan_in}")
        if not isinstance(self.merges_later, SupportsIndex) or index(self.merges_later) < 0:
            raise OptionError(f"sketches are merged 0 times later or more, and merges_later is {self.merges_later}")


@one_sentence()
def ecm(frame: DataFrame, **options: Unpack[EcmOptions]) -> EcmSketch:
    """The ECM-sketch of the rows of a DataFrame; what it is told is in :class:`EcmOptions`.

    A point query errs by at most ``epsilon`` times the arrivals of its range, except with probability ``delta``, after
    all merging. Rows whose key, time or count is NULL are left out, as COUNT(key) leaves them out (``ecm_by`` says how
    many). Rows of a partition are sorted by their time first, unless they are ``ordered`` already; of rows that are
    said to be ordered and are not, late ones count at the latest time before them (``sketch.late`` of them).

    ::

        clicks = ecm(df, key="page", time="ts", window=timedelta(hours=1), epsilon=0.01, delta=0.01)
        clicks.estimate("/index.html"), clicks.estimate("/index.html", 60_000_000)
    """
    chosen = _chosen(frame, options)
    parts = _partitions(frame)
    tree = _tree(frame, parts, chosen.fan_in)
    columns, recipe = _recipe(frame, chosen, len(tree))
    by_rows = recipe.lineage.window.by == "rows"
    if by_rows:
        _check_whole(parts or 0)
        tree = []
    made = _merged_in_tasks(_partials(frame, columns, recipe, chosen), tree[:-1], last=None)
    with one_sentence(), _large_batches(frame.sparkSession):
        table = made.toArrow().sort_by(PART)
    found = table.column(SKETCH)
    if by_rows:
        _check_whole(len(found))
    if not len(found):
        return recipe.empty()
    opened = (EcmSketch.from_bytes(each.as_py()) for each in found)
    return EcmSketch.merge_all(opened) if len(found) > 1 else next(opened)


@one_sentence()
def ecm_by(frame: DataFrame, by: Sequence[str] = (), **options: Unpack[EcmOptions]) -> DataFrame:
    """One row for each group of rows: its columns, the bytes of its ECM-sketch, and how many of its rows had a NULL.

    The columns are those of ``by`` (names, or one name), then ``sketch`` (BINARY) and ``rows_left_out`` (BIGINT).
    Without ``by`` there is one row, whatever the frame holds. Options are those of :func:`ecm`. Keep the rows in a
    table, ask them with the functions of ``sketch_functions``, and merge any of them with ``sketch_merge_all``; say in
    ``merges_later`` how often that will be done, one above the other.

    ::

        hourly = ecm_by(df.withColumn("hour", sf.date_trunc("hour", "ts")), ["hour"], key="page", time="ts",
                        window=timedelta(hours=1), epsilon=0.01, delta=0.01, merges_later=1)
    """
    chosen = _chosen(frame, options)
    names = _groups(frame, by)
    tree = [] if names else _tree(frame, _partitions(frame), chosen.fan_in)
    columns, recipe = _recipe(frame, chosen, 1 if names else len(tree))
    if recipe.lineage.window.by == "rows":
        raise OptionError("ecm_by merges sketches, which windows by rows do not allow; use windows by time")
    if not names:
        # The last round has one task, which is there also where there are no rows.
        partials = _merged_in_tasks(_partials(frame, columns, recipe, chosen), tree[:-1], last=recipe)
        return partials.drop(PART)
    keys = [column(name) for name in names]
    told = frame.select(*keys, *columns).sortWithinPartitions(*keys, TIME)
    schema = st.StructType([frame.schema[name] for name in names])
    made = told.mapInArrow(
        shipped(build_groups, recipe, len(names)), schema.add(SKETCH, "binary").add(LEFT_OUT, "long")
    )
    add = arrow_function(shipped(sum_group), st.LongType(), aggregate=True)
    return made.groupBy(*keys).agg(sketch_merge_all(SKETCH).alias(SKETCH), add(LEFT_OUT).alias(LEFT_OUT))


def _chosen(frame: DataFrame, options: EcmOptions) -> _Options:
    if frame.isStreaming:
        raise OptionError("a stream has no end to be sketched at; sketch its batches, as ecm_batches does")
    return _Options(**options)


def _recipe(frame: DataFrame, chosen: _Options, levels: int) -> tuple[tuple[Column, ...], Recipe]:
    """The columns that tasks see, and the sketch that they make; all that can be wrong is found before a job runs."""
    told = arrivals(frame, key=chosen.key, time=chosen.time, count=chosen.count, seed=chosen.seed)
    window = sliding_window(chosen.window, in_micros=told.in_micros)
    if window.by == "time" and chosen.time is None:
        raise OptionError("a sliding window by time needs the time of each row; give time=, or a window by rows")
    if window.by == "rows" and chosen.time is not None:
        raise OptionError("a sliding window by rows counts its rows itself; leave time out")
    sketch = EcmSketch.for_query(
        chosen.epsilon, chosen.delta, window=window, query=chosen.query, counter=chosen.counter, seed=chosen.seed,
        levels=0 if window.by == "rows" else levels + chosen.merges_later, source=chosen.source,
    )  # fmt: skip
    return told.columns, Recipe(sketch.lineage, chosen.source)


def _partials(frame: DataFrame, columns: tuple[Column, ...], recipe: Recipe, chosen: _Options) -> DataFrame:
    told = frame.select(*columns)
    if chosen.time is not None and not chosen.ordered:
        told = told.sortWithinPartitions(TIME)
    return told.mapInArrow(shipped(build, recipe), f"{PART} INT, {_SKETCHES}")


def _merged_in_tasks(partials: DataFrame, rounds: Sequence[int], *, last: Recipe | None) -> DataFrame:
    """Merged by so many tasks in each round, then (with ``last``) by one task that makes a sketch in any case."""
    for tasks in [*rounds, *([1] if last is not None else [])]:
        spread = partials.repartitionById(tasks, sf.pmod(column(PART), sf.lit(tasks)))
        empty = last if tasks == 1 else None
        partials = spread.mapInArrow(shipped(merge_part, empty), f"{PART} INT, {_SKETCHES}")
    return partials


def _tree(frame: DataFrame, parts: int | None, fan_in: int) -> list[int]:
    """How many sketches each round of merging leaves, the last of them one; no round where there is one sketch.

    Where nobody knows how many there will be, it is a guess: with more, tasks merge more than ``fan_in`` of them, over
    as many levels, so that all promises hold.
    """
    if parts is None:
        parts = max(_PARTS_GUESS, int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 0))
    rounds: list[int] = []
    while parts > 1:
        parts = math.ceil(parts / fan_in)
        rounds.append(parts)
    return rounds


def _partitions(frame: DataFrame) -> int | None:
    """How many tasks read the frame; None where rows are shuffled, since Spark then decides that while it runs."""
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        return None
    return int(plan.execute().getNumPartitions())


def _check_whole(parts: int) -> None:
    if parts > 1:
        raise MergeError(
            f"the last rows of {parts} partitions together are not known, since nobody knows which rows of one came "
            "before which of another; use a window by time, or put all rows into one partition with coalesce(1)"
        )


def _groups(frame: DataFrame, by: Sequence[str]) -> list[str]:
    listed = [by] if isinstance(by, str) else list(by)
    if other := [each for each in listed if not isinstance(each, str)]:
        raise OptionError(f"groups of sketches are by columns of the frame, by their names, and {other[0]!r} is none")
    names = list(dict.fromkeys(resolve(frame, each, role="group") for each in listed))
    for name in names:
        kind = frame.schema[name].dataType
        if not isinstance(kind, st.AtomicType):
            raise OptionError(f"groups of sketches are by plain values, and {name} is {kind.simpleString()}")
        if name.lower() in (SKETCH, LEFT_OUT):
            raise OptionError(f"the column {name} is what the result is called; rename it before it is grouped by")
    return names


@contextmanager
def _large_batches(spark: SparkSession) -> Iterator[None]:
    """Inside, Arrow batches are as large as is best for sketches, unless their size was chosen already."""
    if spark.conf.get(_BATCH_SETTING) != _BATCH_DEFAULT:
        yield
        return
    spark.conf.set(_BATCH_SETTING, str(BATCH_ROWS))
    try:
        yield
    finally:
        spark.conf.set(_BATCH_SETTING, _BATCH_DEFAULT)
