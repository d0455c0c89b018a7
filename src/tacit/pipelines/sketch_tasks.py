"""What Spark's Python workers do with sketches: build them from Arrow batches, and merge them.

A task keeps one sketch over all its batches (or, in frames sorted by group, one after the other) and hands over its
bytes. Nothing here looks at single rows.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from tacit.sketches import EcmSketch, load_merged
from tacit.sketches.ecm import EcmLineage
from tacit.sketches.hashing import fingerprint
from tacit.vocabulary.errors import TacitError

__all__ = [
    "COUNT",
    "LEFT_OUT",
    "PART",
    "SKETCH",
    "TIME",
    "WORD",
    "Recipe",
    "build",
    "build_groups",
    "merge_part",
    "merged",
    "run_shipped",
    "shipped",
    "sum_group",
]

WORD, TIME, COUNT = "__tacit_word", "__tacit_time", "__tacit_count"
"""What a sketch is told of a row: the key's 64 bits, when it came, how often it counts."""
PART, SKETCH, LEFT_OUT = "__tacit_part", "sketch", "rows_left_out"
"""Which task made a sketch, its bytes, and how many rows had a NULL and are not in it."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a task makes its sketches. ``source`` is of the whole frame: each sketch gets one of its own from it."""

    lineage: EcmLineage
    source: int

    def empty(self, part: int = 0, group: int = 0) -> EcmSketch:
        """The sketch of a task, or of the so-manieth group of a task, without arrivals."""
        drawn = fingerprint(f"{part}/{group}", seed=self.source) - 2**63
        lineage = self.lineage
        return EcmSketch(
            window=lineage.window, shape=lineage.shape, seed=lineage.seed, counter=lineage.counter, source=drawn
        )


def shipped(function: Callable[..., Any], *arguments: object) -> Callable[..., Any]:
    """The function with these first arguments, for workers: they look for this package where we found it."""
    module, name, packed, paths = function.__module__, function.__name__, pickle.dumps(arguments), list(sys.path)

    # A function inside a function is pickled whole, so a worker can run it before it can import this package.
    def call(*columns: Any, **named: Any) -> Any:
        import sys as worker_sys

        worker_sys.path.extend(path for path in paths if path not in worker_sys.path)
        from tacit.pipelines.sketch_tasks import run_shipped

        return run_shipped(module, name, packed, columns, named)

    return call


def run_shipped(module: str, name: str, packed: bytes, columns: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """Call in a worker what was shipped to it."""
    with _plainly():
        result = getattr(import_module(module), name)(*pickle.loads(packed), *columns, **named)
    return _each(result) if isinstance(result, Iterator) else result


def _each(results: Iterator[Any]) -> Iterator[Any]:
    with _plainly():
        yield from results


@contextmanager
def _plainly() -> Iterator[None]:
    """An error of ours leaves the worker as its sentence, without a trace of it: who reads it has no bug to look for.

    Spark's worker asks the environment when it tells an error, and ends then, so nobody else's trace is lost.
    """
    try:
        yield
    except TacitError:
        os.environ["SPARK_HIDE_TRACEBACK"] = "1"
        raise


def build(recipe: Recipe, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row with the sketch of all arrivals of this task; none where there were no rows."""
    sketch, rows, left_out = recipe.empty(_task()), 0, 0
    for batch in batches:
        rows += len(batch)
        left_out += _count(sketch, batch)
    if rows:
        yield _row([pa.array([_task()], pa.int32())], [PART], sketch.to_bytes(), left_out)


def build_groups(recipe: Recipe, keys: int, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each group, which the first so many columns are the key of. Rows of a group come together."""
    key: pa.RecordBatch | None = None
    sketch, made, left_out = recipe.empty(_task()), 0, 0
    for batch in batches:
        of_groups, rest = batch.select(list(range(keys))), batch.select(list(range(keys, batch.num_columns)))
        starts = _starts(of_groups)
        for start, end in zip(starts, [*starts[1:], len(batch)], strict=True):
            here = of_groups.slice(start, 1)
            if key is None or not key.equals(here):  # NaN differs from itself: such a group gets several sketches
                if key is not None:
                    yield _row(key.columns, key.schema.names, sketch.to_bytes(), left_out)
                    made += 1
                key, sketch, left_out = here, recipe.empty(_task(), made), 0
            left_out += _count(sketch, rest.slice(start, end - start))
    if key is not None:
        yield _row(key.columns, key.schema.names, sketch.to_bytes(), left_out)


def merge_part(empty: Recipe | None, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row with all sketches of this task merged; where there are none no row, or what is empty if that is given."""
    table = pa.Table.from_batches(given) if (given := list(batches)) else None
    if table is not None and len(table):
        table = table.sort_by(PART)  # so that the same rows give the same sketch
        found, left_out = merged(table.column(SKETCH).to_pylist()), pc.sum(table.column(LEFT_OUT)).as_py()
    elif empty is not None:
        found, left_out = empty.empty().to_bytes(), 0
    else:
        return
    yield _row([pa.array([_task()], pa.int32())], [PART], found, left_out)


def merged(sketches: Sequence[bytes]) -> bytes:
    """The bytes of one sketch of all; one alone is what it is, and was not merged."""
    if len(sketches) == 1:
        return sketches[0]
    return load_merged(sketches).to_bytes()


def sum_group(values: pa.Array) -> int:
    """The sum of the numbers of a group: beside another aggregate of Python Spark allows none of its own."""
    return int(pc.sum(values).as_py())


def _count(sketch: EcmSketch, batch: pa.RecordBatch) -> int:
    """Count a batch of WORD, TIME and COUNT columns; how many rows were left out."""
    rows, names = len(batch), batch.schema.names
    if any(each.null_count for each in batch.columns):
        batch = pc.drop_null(batch)
    words = batch.column(WORD).to_numpy().view(np.uint64)
    times = batch.column(TIME).to_numpy() if TIME in names else None
    counts = batch.column(COUNT).to_numpy() if COUNT in names else None
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
