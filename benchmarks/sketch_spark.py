"""Rows per second of ``ecm`` on Spark, against Python that only takes the rows and hands them back.

The same generated rows (keys of which few are frequent, times that rise within each partition) go through
``mapInArrow`` with a function that does nothing, and through ``tacit.pipelines.ecm``, in turns, in the same Spark with
two tasks at a time. The one that does nothing runs with Spark's own batches of 10,000 rows and with the larger ones
that ``ecm`` asks for; the bar is held against the faster of the two. ``ecm`` runs with ``ordered=True``, which these
rows are, and once more without, so that Spark sorts them. Its answers are compared with exact counts first.
"""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from benchmarks.common import parser, show

DESCRIPTION = "rows per second of an ECM-sketch of a DataFrame against an identity in Python"

BAR = 0.5
EPSILON, DELTA = 0.05, 0.05
ROWS_A_TICK = 100
PARTS = 32
CHECKED = 200
BATCHES = "spark.sql.execution.arrow.maxRecordsPerBatch"


def main(arguments: list[str]) -> int:
    """Measure and print; 1 when the bar is missed (a quick run only prints)."""
    options = parser("sketch_spark", DESCRIPTION)
    options.add_argument("--rows", type=int, help="rows of the frame (default 100 million, quick 5 million)")
    options.add_argument("--runs", type=int, help="interleaved runs of each (default 3, quick 1)")
    chosen = options.parse_args(arguments)
    rows = chosen.rows or (5_000_000 if chosen.quick else 100_000_000)
    runs = chosen.runs or (1 if chosen.quick else 3)

    from tacit.pipelines.session import close_session, open_session

    spark = open_session("tacit bench", cores=2, short_work=False)
    try:
        fine = _compare(spark, rows, runs)
    finally:
        close_session(spark)
    return 0 if fine or chosen.quick else 1


def _compare(spark: Any, rows: int, runs: int) -> bool:
    from tacit.pipelines import ecm
    from tacit.pipelines.sketch_ecm import BATCH_ROWS

    frame = _frame(spark, rows)
    asked: dict[str, Any] = {
        "key": "key", "time": "time", "window": max(1, rows // ROWS_A_TICK // 4), "epsilon": EPSILON, "delta": DELTA
    }  # fmt: skip

    def identity(batch_rows: int) -> None:
        spark.conf.set(BATCHES, str(batch_rows))
        try:
            frame.mapInArrow(_unchanged, frame.schema).write.format("noop").mode("overwrite").save()
        finally:
            spark.conf.unset(BATCHES)

    ways: dict[str, Callable[[], object]] = {
        "identity, batches of 10,000": lambda: identity(10_000),
        f"identity, batches of {BATCH_ROWS:,}": lambda: identity(BATCH_ROWS),
        "ecm, rows in order": lambda: ecm(frame, ordered=True, **asked),
        "ecm, rows sorted first": lambda: ecm(frame, **asked),
    }
    _check(frame, ecm(frame, ordered=True, **asked), asked["window"])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for run in range(runs + 1):
        for name, way in ways.items():
            start = time.perf_counter()
            way()
            if run:  # the first is for nothing: the JVM compiles
                seconds[name].append(time.perf_counter() - start)
    middle = {name: statistics.median(each) for name, each in seconds.items()}
    *identities, best, _ = middle
    base = min(middle[name] for name in identities)
    show(
        f"{rows:,} rows, {PARTS} partitions, 2 tasks at a time, {runs} runs; epsilon {EPSILON}, delta {DELTA}",
        ("job", "seconds, median", "least", "most", "rows/s", "rate / identity"),
        [
            (name, middle[name], min(seconds[name]), max(seconds[name]), int(rows / middle[name]), base / middle[name])
            for name in ways
        ],
    )
    ratio = base / middle[best]
    print(f"  ratio {ratio:.2f}, bar {BAR}: {'held' if ratio >= BAR else 'MISSED'}")
    print(f"  load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    return ratio >= BAR


def _frame(spark: Any, rows: int) -> Any:
    """Keys of 20 bits, shifted right by a random number of bits: like Zipf's law with exponent 1, and cheap to make."""
    return spark.range(0, rows, numPartitions=PARTS).selectExpr(
        "shiftright(xxhash64(id) & 1048575L, CAST(xxhash64(id, 1) & 15L AS INT)) AS key",
        f"id DIV {ROWS_A_TICK} AS time",
    )


def _check(frame: Any, sketch: Any, window: int) -> None:
    """The frequent keys of the window, against exact counts."""
    counted = frame.where(f"time > {sketch.now - window}").groupBy("key").count()
    total = int(counted.agg({"count": "sum"}).collect()[0][0])
    frequent = counted.orderBy("count", ascending=False).limit(CHECKED).collect()
    errors = [abs(sketch.estimate(row["key"]) - row["count"]) / total for row in frequent]
    most = f"off by at most {max(errors):.2%} of {total:,} arrivals; asked {EPSILON:.0%}"
    print(f"  the {CHECKED} most frequent keys: {most}", flush=True)
    if sum(error > EPSILON for error in errors) > DELTA * len(errors):
        raise AssertionError("the sketch does not keep what it promises")


def _unchanged(batches: Iterable[Any]) -> Iterator[Any]:
    yield from batches
