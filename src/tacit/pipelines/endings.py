"""How Spark's Java ends, and what this process must forget of it: also when it was killed, or never came to listen."""

from __future__ import annotations

import subprocess
import traceback
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["end_java", "forget_session", "java_in"]

_EXIT_TIMEOUT_S = 10.0


def java_in(error: BaseException, launch: Any) -> Any:
    """The Java that PySpark had started when it was cut short: only the frame it was started in knows of it."""
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code is launch.__code__:
            return frame.f_locals.get("proc")
    return None


def end_java(process: Any, gateway: Any) -> None:
    """Java ends when its standard input does; one that will not, or that never came to listen, is ended."""
    forget_gateway()
    if gateway is not None:
        gateway.shutdown()
    if process is None:
        return
    process.stdin.close()
    try:
        process.wait(0 if gateway is None else _EXIT_TIMEOUT_S)
    except BaseException as error:
        process.kill()
        process.wait()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise


def forget_session(session: SparkSession) -> None:
    """What stopping does on the Python side, for a Spark that could not be stopped."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession as Sessions
    from pyspark.sql.context import SQLContext

    context: Any = session.sparkContext
    context._jsc = None
    if getattr(context, "_accumulatorServer", None):
        context._accumulatorServer.shutdown()
        context._accumulatorServer = None
    SparkContext._active_spark_context = None
    Sessions._instantiatedSession = Sessions._activeSession = SQLContext._instantiatedContext = None


def forget_gateway() -> None:
    """PySpark keeps the Java it started for good; the next session must start its own."""
    from pyspark import SparkContext

    SparkContext._gateway = None
    SparkContext._jvm = None
