"""Sketches of the batches of a real streaming query."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.pipelines import ecm, ecm_batches
from tacit.pipelines.sketch_functions import sketch_merge_all
from tacit.sketches import EcmSketch
from tests.tiers import parametrize_in_tiers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ASKED: dict[str, Any] = {"key": "key", "time": "time", "window": 1_000, "epsilon": 0.05, "delta": 0.01}


def stream(spark: SparkSession, rows: Path, keep: Any, checkpoint: Path) -> None:
    """All files that are there, one a batch."""
    schema = spark.read.parquet(str(rows)).schema
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(rows))
    query = source.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    running = query.trigger(availableNow=True).start()
    assert running.awaitTermination(120)
    assert running.exception() is None


@parametrize_in_tiers("counter", ["histogram", "random_wave"], in_test=1)
def test_a_stream_leaves_sketches_that_merge_to_that_of_all_rows(
    spark: SparkSession, tmp_path: Path, counter: Any
) -> None:
    dice = np.random.default_rng(8)
    keys, times = np.minimum(dice.zipf(1.4, 3_000), 200), np.arange(3_000) - dice.integers(0, 300, 3_000)
    rows, kept = tmp_path / "rows", tmp_path / "sketches"
    rows.mkdir()
    for number in range(3):  # late rows come up to 300 ticks after others, also in a later batch
        part = slice(1_000 * number, 1_000 * (number + 1))
        pq.write_table(pa.table({"key": keys[part], "time": times[part]}), rows / f"{number}.parquet")
    asked = ASKED | {"counter": counter, "epsilon": 0.05 if counter == "histogram" else 0.2}
    keep = ecm_batches(kept, ["odd"], **asked)

    def with_group(frame: Any, number: int) -> None:
        keep(frame.selectExpr("*", "key % 2 = 1 AS odd"), number)
        if number == 1:
            keep(frame.selectExpr("*", "key % 2 = 1 AS odd"), number)  # as after a failure

    stream(spark, rows, with_group, tmp_path / "checkpoint")
    found = spark.read.parquet(str(kept))
    assert sorted(found.select("batch", "odd").collect()) == [(n, odd) for n in range(3) for odd in (False, True)]
    (row,) = found.agg(sketch_merge_all("sketch").alias("sketch")).collect()
    merged, whole = EcmSketch.from_bytes(row.sketch), ecm(spark.read.parquet(str(rows)), **asked)
    assert merged.now == whole.now == times.max()
    assert merged.late == 0
    true = Counter(keys[times > times.max() - 1_000].tolist())
    for sketch in (merged, whole):
        assert sketch.point_error <= asked["epsilon"] * (1 + 1e-9)
        missed = [key for key in true if abs(sketch.estimate(key) - true[key]) > asked["epsilon"] * true.total()]
        assert len(missed) <= len(true) // 100
