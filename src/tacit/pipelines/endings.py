"""How Spark's Java ends, and what this process must forget of it: also when it was killed, or never came to listen."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Start", "end_java", "forget_session"]

_EXIT_TIMEOUT_S = 3.0
_LOOK_S = 0.05


class Start:
    """A Spark that is being started, and what a signal may do about it: end its Java, so that nobody waits for it."""

    def __init__(self) -> None:
        self.gateway: Any = None
        self.is_cut = False
        self.launch: Any = None  # PySpark's function, before it is called
        self._ended = threading.Event()
        self._starter = threading.get_ident()

    def __enter__(self) -> Start:
        return self

    def __exit__(self, *story: object) -> None:
        self._ended.set()

    def process(self, error: BaseException) -> Any:
        """The Java that there is when the start was cut short."""
        if self.gateway is not None:
            return self.gateway.proc
        return self._among(frame for frame, _ in traceback.walk_tb(error.__traceback__))

    def cut_short(self) -> None:
        """End Java as soon as there is one; whoever starts it then finds it gone."""
        if not self.is_cut:
            self.is_cut = True
            threading.Thread(target=self._cut, name="tacit-cut-short", daemon=True).start()

    def _cut(self) -> None:
        while not self._ended.is_set():
            process = None if self.gateway is None else self.gateway.proc
            if process is None:
                frame = sys._current_frames().get(self._starter)
                process = self._among(frame for frame, _ in traceback.walk_stack(frame))
            if process is not None:
                _kill(process)
                return
            self._ended.wait(_LOOK_S)

    def _among(self, frames: Iterable[FrameType]) -> Any:
        """Only the frame that PySpark starts Java in knows of it before it listens."""
        for frame in frames:
            if self.launch is not None and frame.f_code is self.launch.__code__:
                return frame.f_locals.get("proc")
        return None


def _kill(process: Any) -> None:
    """Spark's script is a shell at first, which runs a Java that finds out how to start the real one."""
    helpers: list[str] = []
    with suppress(OSError):
        helpers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    process.kill()
    for helper in helpers:
        with suppress(OSError):
            os.kill(int(helper), signal.SIGKILL)


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
