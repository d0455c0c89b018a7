"""What long commands share: a Spark session that is closed again, progress on a terminal, JSON that is always valid."""

from __future__ import annotations

import json
import logging
import math
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tacit.recording.run import spark_room

__all__ = [
    "Bar",
    "PlainLines",
    "as_json",
    "no_interrupt_lost",
    "orderly_end",
    "output",
    "progress",
    "show",
    "spark_session",
]

_AGAIN_S = 0.1
_PIPE_WIDTH = 120
_POLL_S = 0.5
_LINE_S = 30.0  # between two lines of progress where there is no terminal


@contextmanager
def spark_session(name: str) -> Iterator[Any]:
    """A session for one command; the Spark that was started for it ends with it."""
    room = spark_room()
    _quiet_logging()
    with orderly_end():
        spark = room.open_session(name)
        try:
            yield spark
        except BaseException:
            with suppress(Exception):  # a connection that was cut short may not close well; the first error counts
                room.close_session(spark)
            raise
        room.close_session(spark)


def _quiet_logging() -> None:
    """Py4j logs the trace of a call that an interrupt cuts short; without a handler Python would print it."""
    root = logging.getLogger()
    if not root.handlers:
        root.addHandler(logging.NullHandler())


@contextmanager
def orderly_end() -> Iterator[None]:
    """Inside, a request to end (SIGTERM) unwinds like an interrupt, so that nothing is left behind."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def no_interrupt_lost() -> Iterator[None]:
    """Inside, an interrupt or a request to end (``orderly_end``) that others swallow is raised until somebody heeds it.

    Python raises it wherever it is: also in what C code has called, as when kernels are loaded, and there it is lost,
    or comes out as an error of whatever was under way.
    """
    ends: dict[int, BaseException] = {}
    if threading.current_thread() is threading.main_thread():
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            ends[signal.SIGINT] = KeyboardInterrupt()
        if signal.getsignal(signal.SIGTERM) is _end:
            ends[signal.SIGTERM] = SystemExit(128 + signal.SIGTERM)
    if not ends:
        yield
        return
    came: list[int] = []

    def note(number: int, _frame: object) -> None:
        if number in ends:
            came.append(number)
        signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        raise ends[came[0]]

    def unraisable(story: sys.UnraisableHookArgs) -> None:
        if story.exc_value not in ends.values():  # what was lost comes again, and needs no trace on the terminal
            hook(story)

    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    before = {number: signal.signal(number, note) for number in (*ends, signal.SIGALRM)}
    try:
        yield
    except Exception:
        if came:
            raise ends[came[0]] from None
        raise
    finally:
        sys.unraisablehook = hook
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise ends[came[0]]


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


_end.ends_work = True  # type: ignore[attr-defined]  # a Spark that is just starting is not waited for


def output() -> Console:
    """Where results go. A pipe has no width of its own and gets a generous one, so that tables are not cut."""
    return Console(width=None if sys.stdout.isatty() else _PIPE_WIDTH, highlight=False)


def show(console: Console, what: RenderableType) -> None:
    """Print; where nobody sees colours, without the blanks that fill lines up."""
    if console.is_terminal:
        console.print(what)
        return
    with console.capture() as held:
        console.print(what)
    console.file.write("".join(line.rstrip() + "\n" for line in held.get().splitlines()))


class PlainLines:
    """Progress where there is no terminal: a line on standard error for every half minute that something takes.

    >>> said, seconds = [], iter([0.0, 10.0, 31.0, 40.0])
    >>> lines = PlainLines(said.append, lambda: next(seconds))
    >>> lines.begin("w: replaying")
    >>> for done in (100, 2_500, 2_600):
    ...     lines.measure(done, 10_000)
    ...     lines.tick()
    >>> said
    ['w: replaying, 2,500 of 10,000 (25 %)']
    """

    def __init__(self, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._write, self._clock = write, clock
        self._text, self._measure = "", ""
        self._said = self._clock()

    def begin(self, text: str) -> None:
        """Something else is done from now on."""
        self._text, self._measure = text, ""

    def measure(self, done: int, total: int) -> None:
        """So much of it is done."""
        self._measure = f", {done:,} of {total:,} ({100 * done // max(1, total)} %)"

    def tick(self) -> None:
        """Say how far it is, if that was not said lately; called every second or so."""
        now = self._clock()
        if self._text and now - self._said >= _LINE_S:
            self._said = now
            self._write(self._text + self._measure)

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Inside, lines are written as time passes, whatever the main thread is busy with."""
        ended = threading.Event()

        def follow() -> None:
            while not ended.wait(1.0):
                self.tick()

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


class Bar:
    """Says what is being done: as a line with a bar on a terminal, else as plain lines, once work takes long."""

    def __init__(self, shown: Progress | None, lines: PlainLines | None = None) -> None:
        self._shown, self._lines = shown, lines
        self._task = None if shown is None else shown.add_task("", total=None)

    def say(self, text: str) -> None:
        """What is being done now, without a measure."""
        if self._shown is not None and self._task is not None:
            self._shown.reset(self._task, description=text, total=None)
        elif self._lines is not None:
            self._lines.begin(text)

    def measured(self, text: str) -> Callable[[int, int], None] | None:
        """A function that hears (done, in all), or None where nobody looks."""
        self.say(text)
        if self._lines is not None:
            return self._lines.measure
        if self._shown is None or self._task is None:
            return None
        shown, task = self._shown, self._task
        return lambda done, total: shown.update(task, completed=done, total=total)

    @contextmanager
    def tasks_of(self, spark: Any, text: str, total: int) -> Iterator[None]:
        """Inside, the bar follows the tasks of the session's running jobs."""
        tell = self.measured(text)
        if tell is None:
            yield
            return
        ended = threading.Event()
        tracker = spark.sparkContext.statusTracker()

        def follow() -> None:
            while not ended.wait(_POLL_S):
                stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
                tell(sum(stage.numCompletedTasks for stage in stages if stage is not None), total)

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()


@contextmanager
def progress() -> Iterator[Bar]:
    """A bar on standard error while the command works; where that is no terminal, lines about what takes long."""
    console = Console(stderr=True)
    if not console.is_terminal:
        lines = PlainLines(lambda text: print(f"tacit: {text}", file=sys.stderr, flush=True))
        with lines.ticking():
            yield Bar(None, lines)
        return
    columns = (
        SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True) as shown:
        yield Bar(shown)


def as_json(value: Any) -> str:
    """JSON that any parser reads: a number that is not finite becomes null.

    >>> as_json({"max_error": float("inf")})
    '{\\n  "max_error": null\\n}'
    """
    return json.dumps(_finite(value), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
