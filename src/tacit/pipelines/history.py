"""What a table held before a watch began: rows between two instants, read once from files, as one batch."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from tacit.pipelines.batches import SparkBatch
from tacit.pipelines.failures import one_sentence
from tacit.pipelines.session import session_beside
from tacit.pipelines.sources import read_data
from tacit.pipelines.time import time_column, utc

__all__ = ["read_history"]


def read_history(spark: SparkSession, path: Path, time: str, where: str | None, lo_us: int, hi_us: int) -> SparkBatch:
    """The rows of files with a time in [lo, hi)."""
    session = session_beside(spark)
    with utc(session), one_sentence():
        frame = read_data(session, path)
        moment = time_column(frame, time).micros
        frame = frame.where((moment >= sf.lit(lo_us)) & (moment < sf.lit(hi_us)))
        return SparkBatch(frame.where(where) if where else frame, time)
