"""A live table: one streaming query without state that hands over each micro-batch.

The query keeps nothing between batches, so watches may come and go without touching it. Which rows are in which batch
is decided by Spark's checkpoint: a batch that was not finished when the process ended comes again, with the same number
and the same rows, and whoever takes it must know it again by (checkpoint id, batch number).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tacit.pipelines.batches import SparkBatch
from tacit.pipelines.failures import GONE, one_sentence, translate, translate_java
from tacit.pipelines.live_sources import TableSource, open_source
from tacit.pipelines.session import java_alive, session_beside
from tacit.pipelines.time import time_column
from tacit.vocabulary.errors import MachineError, TacitError

__all__ = ["OnBatch", "StreamingTable"]

OnBatch = Callable[[int, SparkBatch], None]
_STOP_TIMEOUT = "60s"


class StreamingTable:
    """The query of one table. It is made, then started once; when it has ended, a new one takes up its checkpoint.

    ``on_batch(batch number, batch)`` is called in a thread of Spark's, one batch at a time; when it returns the batch
    is done for good. An exception there ends the query, and :meth:`failure` tells it. It must not call :meth:`stop`.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        source: TableSource,
        *,
        time: str,
        checkpoint: Path | str,
        trigger_s: float,
        on_batch: OnBatch,
    ) -> None:
        """Look at the source: it must be there and have the time column ``time``."""
        self.name = name
        self._spark = session_beside(spark)
        self._spark.conf.set("spark.sql.streaming.stopTimeout", _STOP_TIMEOUT)
        self._spark.conf.set("spark.sql.session.timeZone", "UTC")  # batches inherit it
        self._on_batch = on_batch
        self._checkpoint = str(checkpoint.absolute()) if isinstance(checkpoint, Path) else checkpoint
        self._trigger_ms = max(0, round(trigger_s * 1000))
        self._query: StreamingQuery | None = None
        self._id = ""
        self._started = threading.Event()
        self._stopping = False
        self._failure: TacitError | None = None
        with one_sentence():
            self._frame = open_source(self._spark, source)
            self.columns = tuple((field.name, field.dataType.simpleString()) for field in self._frame.schema)
            self._moment = time_column(self._frame, time)

    @property
    def schema(self) -> str:
        """The columns in Spark's DDL: given as a source's schema, they stay the same whatever files come."""
        return ", ".join(f"`{name.replace('`', '``')}` {kind}" for name, kind in self.columns)

    def start(self) -> None:
        """Start the query, from the checkpoint if there is one."""
        writer = self._frame.writeStream.foreachBatch(self._take).queryName(self.name)
        writer = writer.option("checkpointLocation", self._checkpoint)
        with one_sentence():
            self._query = writer.trigger(processingTime=f"{self._trigger_ms} milliseconds").start()
            self._id = str(self._query.id)
        self._started.set()

    def checkpoint_id(self) -> str:
        """The id that Spark gave the checkpoint when it was made: another one means that batches count from 0 again.

        It is known as soon as the query has started, and before the first batch is handed over.
        """
        return self._id

    def alive(self) -> bool:
        """Whether the query runs: not before it is started, after it ended for whatever reason, or without Java."""
        if self._query is None or not java_alive(self._spark):
            return False
        try:
            return bool(self._query.isActive)
        except (Py4JError, OSError):
            return False

    def is_idle(self) -> bool:
        """Whether Spark looked for rows when it last could and found none, and is not at work on any."""
        if self._query is None or not java_alive(self._spark):
            return False
        try:
            status = self._query.status
        except (Py4JError, OSError):
            return False
        busy = status["isTriggerActive"] or status["isDataAvailable"]
        return not busy and str(status["message"]).startswith("Waiting")  # not: initialising, stopped, failed

    def failure(self) -> TacitError | None:
        """Why the query ended by itself, in one sentence; None while it runs, or when it was stopped."""
        if self._failure is None and self._query is not None and not self._stopping:
            self._failure = self._why_ended()
        return self._failure

    def stop(self) -> None:
        """End the query; a batch that is being taken is cut short and comes again. Stopping twice does nothing."""
        self.failure()  # after this there is no telling
        self._stopping = True
        if self.alive() and self._query is not None:
            with one_sentence(), suppress(Py4JError):
                self._query.stop()

    def __repr__(self) -> str:
        try:
            status = self._query.status if self._query is not None and self.alive() else None
        except (Py4JError, OSError):
            status = None
        return f"StreamingTable({self.name!r}, alive={self.alive()}, failure={self.failure()!r}, status={status})"

    def _take(self, frame: DataFrame, number: int) -> None:
        """What Spark calls with each batch."""
        self._started.wait()
        try:
            batch = SparkBatch(frame, self._moment)
            try:
                with one_sentence():
                    self._on_batch(int(number), batch)
            finally:
                batch.close()
        except BaseException as error:
            if not self._stopping and self._failure is None:
                self._failure = self._told(error)
            raise

    def _why_ended(self) -> TacitError | None:
        query: Any = self._query
        try:
            if not java_alive(self._spark):
                return self._told(MachineError(GONE))
            if query.isActive:
                return None
            failed = query._jsq.exception()
            return self._told(translate_java(failed.get())) if failed.isDefined() else None
        except (Py4JError, OSError):
            return self._told(MachineError(GONE))

    def _told(self, error: BaseException) -> TacitError:
        """The error as one sentence that names the table."""
        if not java_alive(self._spark):
            error = MachineError(GONE)
        elif isinstance(error, (PySparkException, Py4JError)):
            error = translate(error)
        if isinstance(error, TacitError):
            return type(error)(f"table {self.name}: {error}")
        return TacitError(f"table {self.name}: {type(error).__name__}: {' '.join(str(error).split())}")
