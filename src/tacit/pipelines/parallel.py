"""Many runs of one Python function as Spark tasks: sweeps over thresholds, margins, windows, sites.

One task per item, so that a slow item does not hold up others, on as many cores as the session has, here or on a
cluster. The function and its items travel pickled; results come back in the order of the items.
"""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from pyspark import cloudpickle
from pyspark.sql import SparkSession

from tacit.pipelines.failures import one_sentence
from tacit.vocabulary.errors import TacitError

__all__ = ["run_tasks"]

Item = TypeVar("Item")
Result = TypeVar("Result")
_NAME_MAX = 80


def run_tasks(spark: SparkSession, function: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """``[function(item) for item in items]``, each call in its own Spark task.

    Every item is tried. If some failed the first of them decides: a :class:`TacitError` is raised as itself, anything
    else as a TacitError that names the item (its ``name`` if it has one, otherwise its text).
    """
    if not items:
        return []
    pack: Callable[[object], bytes] = cloudpickle.dumps
    packed = [pack((function, item)) for item in items]
    paths = list(sys.path)

    # A function inside a function is pickled whole, so a worker can run it before it can import this package.
    def work(pieces: Iterable[bytes]) -> Iterator[tuple[bool, bytes]]:
        import pickle as worker_pickle
        import sys as worker_sys

        from pyspark import cloudpickle as worker_cloudpickle

        pack_result: Callable[[object], bytes] = worker_cloudpickle.dumps
        worker_sys.path.extend(path for path in paths if path not in worker_sys.path)
        for piece in pieces:
            try:
                called, item = worker_pickle.loads(piece)
                yield True, pack_result(called(item))
            except Exception as error:
                try:
                    story = worker_pickle.dumps(error)
                    worker_pickle.loads(story)
                except Exception:
                    story = worker_pickle.dumps(RuntimeError(f"{type(error).__name__}: {error}"))
                yield False, story

    with one_sentence():
        outcomes = spark.sparkContext.parallelize(packed, len(packed)).mapPartitions(work).collect()
    results: list[Any] = []
    for item, (done, story) in zip(items, outcomes, strict=True):
        value = pickle.loads(story)
        if not done:
            if isinstance(value, TacitError):
                raise value
            what = str(value) if type(value) is RuntimeError else f"{type(value).__name__}: {value}"
            raise TacitError(f"{_name(item)}: {what}")
        results.append(value)
    return results


def _name(item: object) -> str:
    name = str(getattr(item, "name", item))
    return name if len(name) <= _NAME_MAX else name[: _NAME_MAX - 1] + "…"
