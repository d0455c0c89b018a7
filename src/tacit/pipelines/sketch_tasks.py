"""What Spark's Python workers do with sketches: build them from Arrow batches, and merge them.

A task keeps one sketch over all its batches (or one after the other, in frames sorted by group) and hands over its
bytes. Nothing here looks at single rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from tacit.sketches.ecm import EcmSketch
from tacit.vocabulary import IntArray, WordArray

__all__ = ["LEFT_OUT", "PART", "SKETCH", "build", "build_groups", "merge_part", "merged", "shipped"]

PART, SKETCH, LEFT_OUT = "__tacit_part", "sketch", "rows_left_out"
"""Which task made a sketch, its bytes, and how many rows had a NULL and are not in it."""


def shipped(function: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
    """The function with these last arguments, to be called in workers: they look for this package where we found it."""
    module, name, paths = function.__module__, function.__name__, list(sys.path)

    # A function inside a function is pickled whole, so a worker can run it before it can import this package.
    def call(*columns: Any, **named: Any) -> Any:
        import sys as worker_sys
        from importlib import import_module as worker_import

        worker_sys.path.extend(path for path in paths if path not in worker_sys.path)
        return getattr(worker_import(module), name)(*columns, *arguments, **named)

    return call


def build(batches: Iterable[pa.RecordBatch], empty: bytes) -> Iterator[pa.RecordBatch]:
    """One row with the sketch of all arrivals of this task; none where there were no rows."""
    sketch, rows, left_out = EcmSketch.from_bytes(empty), 0, 0
    for batch in batches:
        rows += len(batch)
        left_out += _count(sketch, batch)
    if rows:
        yield _row([pa.array([_task()], pa.int32())], [PART], sketch.to_bytes(), left_out)


def build_groups(batches: Iterable[pa.RecordBatch], empty: bytes, groups: int) -> Iterator[pa.RecordBatch]:
    """A row for each group, of which the first so many columns are the key. Rows of a group come together."""
    key: pa.RecordBatch | None = None
    sketch, left_out = EcmSketch.from_bytes(empty), 0
    for batch in batches:
        keys, rest = batch.select(range(groups)), batch.select(range(groups, batch.num_columns))
        starts = _starts(keys)
        for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
            here = keys.slice(start, 1)
            if key is None or not key.equals(here):  # NaN differs from itself: then a group has several sketches
                if key is not None:
                    yield _row(key.columns, key.schema.names, sketch.to_bytes(), left_out)
                key, sketch, left_out = here, EcmSketch.from_bytes(empty), 0
            left_out += _count(sketch, rest.slice(start, end - start))
    if key is not None:
        yield _row(key.columns, key.schema.names, sketch.to_bytes(), left_out)


def merge_part(batches: Iterable[pa.RecordBatch], parts: int, empty: bytes | None) -> Iterator[pa.RecordBatch]:
    """One row with all sketches of this task merged, for a task of the next round, of which there are so many.

    Without any there is none, or the one that is empty if that is given.
    """
    table = pa.Table.from_batches(list(batches)) if (batches := list(batches)) else None
    if table is not None and len(table):
        table = table.sort_by(PART)  # so that the same rows give the same sketch
        found, left_out = merged(table.column(SKETCH).to_pylist()), pc.sum(table.column(LEFT_OUT)).as_py()
    elif empty is not None:
        found, left_out = empty, 0
    else:
        return
    yield _row([pa.array([_task() % parts], pa.int32())], [PART], found, left_out)


def merged(sketches: Sequence[bytes]) -> bytes:
    """The bytes of one sketch of all; one alone is what it is, and was not merged."""
    if len(sketches) == 1:
        return sketches[0]
    from tacit.sketches.loading import load

    opened = [load(each) for each in sketches]
    return type(opened[0]).merge_all(opened).to_bytes()


def _count(sketch: EcmSketch, batch: pa.RecordBatch) -> int:
    """Count a batch of WORD, TIME and COUNT columns; how many rows were left out."""
    rows = len(batch)
    if any(each.null_count for each in batch.columns):
        batch = batch.drop_null() if hasattr(batch, "drop_null") else batch
    names = batch.schema.names
    from tacit.pipelines.sketch_columns import COUNT, TIME, WORD

    words: WordArray = batch.column(WORD).to_numpy().view(np.uint64)
    times: IntArray | None = batch.column(TIME).to_numpy() if TIME in names else None
    counts: IntArray | None = batch.column(COUNT).to_numpy() if COUNT in names else None
    sketch.update_words(words, times, counts)
    return rows - len(batch)


def _starts(keys: pa.RecordBatch) -> list[int]:
    """Where the runs of equal keys begin."""
    rows = len(keys)
    if not rows:
        return []
    differs = np.zeros(rows - 1, dtype=np.bool_)
    for each in keys.columns:
        before, after = each.slice(0, rows - 1), each.slice(1)
        differs |= pc.fill_null(pc.not_equal(before, after), False).to_numpy(zero_copy_only=False)
        differs |= pc.xor(pc.is_null(before), pc.is_null(after)).to_numpy(zero_copy_only=False)
    return [0, *(np.flatnonzero(differs) + 1).tolist()]


def _row(keys: list[pa.Array], names: list[str], sketch: bytes, left_out: int) -> pa.RecordBatch:
    columns = [*keys, pa.array([sketch], pa.binary()), pa.array([left_out], pa.int64())]
    return pa.RecordBatch.from_arrays(columns, [*names, SKETCH, LEFT_OUT])


def _task() -> int:
    context = TaskContext.get()
    return 0 if context is None else context.partitionId()
