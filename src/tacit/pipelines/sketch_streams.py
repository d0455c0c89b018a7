"""Sketches of streams: each micro-batch leaves its own, and any of them are merged later.

A stream has no end to be sketched at, but its batches have. ``foreachBatch`` calls what :func:`ecm_batches` makes: it
writes one sketch of the batch (or one for each group) into a folder of its own. A batch that comes again after a
failure writes the same folder again, so each row is in exactly one sketch. Windows by time do not care in which batch
a row came: when sketches are merged, all arrivals are in the order of their times, also late ones.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Unpack

from pyspark.sql import DataFrame

from tacit.pipelines.sketch_ecm import EcmOptions, ecm_by
from tacit.sketches.hashing import fingerprint

__all__ = ["BATCH", "ecm_batches"]

BATCH = "batch"
"""The column of a batch's number, by which the folder is divided."""


def ecm_batches(
    folder: str | Path, by: Sequence[str] = (), **options: Unpack[EcmOptions]
) -> Callable[[DataFrame, int], None]:
    """A function for ``foreachBatch`` that keeps the sketches of each batch as Parquet in the folder.

    The folder then holds the rows of :func:`ecm_by` (its options are the same) with the number of their ``batch``. Say
    in ``merges_later`` how often they will be merged, one above the other: once if not told.

    ::

        keep = ecm_batches("clicks", key="page", time="ts", window=timedelta(hours=1), epsilon=0.01, delta=0.01)
        stream.writeStream.foreachBatch(keep).option("checkpointLocation", "clicks-checkpoint").start()
        spark.read.parquet("clicks").agg(sketch_merge_all("sketch"))
    """
    chosen: EcmOptions = {"merges_later": 1, **options}
    source = chosen.get("source", 0)

    def keep(frame: DataFrame, number: int) -> None:
        own: EcmOptions = {**chosen, "source": fingerprint(f"batch {number}", seed=source) - 2**63}
        made = ecm_by(frame, by, **own)
        made.write.mode("overwrite").parquet(f"{folder}/{BATCH}={number}")

    return keep
