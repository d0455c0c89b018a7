"""Signals that come while something half-made cannot be undone yet: they wait until it can."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["deliver", "signals_wait"]

_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def signals_wait(cut_short: Callable[[], None] = lambda: None) -> Iterator[list[int]]:
    """Inside, the first interrupt or request to end only gets onto the list; a second one interrupts at once.

    ``cut_short`` is called with the first one if it will end the work: its handler is Python's own, or has an attribute
    ``ends_work`` that is true. A handler of another kind may only take a note, and the work goes on.

    Python runs handlers in the main thread only, so anywhere else nothing can come and nothing is changed.
    """
    waiting: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield waiting
        return

    def note(number: int, _frame: object) -> None:
        waiting.append(number)
        if len(waiting) > 1:
            raise KeyboardInterrupt
        if _ends_work(before[number]):
            cut_short()

    before: dict[int, Any] = {number: signal.getsignal(number) for number in _ENDING}
    held = [number for number, handler in before.items() if handler not in (None, signal.SIG_IGN)]
    for number in held:
        signal.signal(number, note)
    try:
        yield waiting
    finally:
        for number in held:
            if signal.getsignal(number) is note:  # PySpark may have put its own in the place
                signal.signal(number, before[number])


def _ends_work(handler: object) -> bool:
    return handler in (signal.SIG_DFL, signal.default_int_handler) or bool(getattr(handler, "ends_work", False))


def deliver(waiting: list[int], clean_up: Callable[[], None], on_interrupt: Any = None) -> None:
    """Let the signals that waited do what they would have done, cleaning up first if that ends the work.

    A handler that returns, because it only takes a note, lets the work go on. ``on_interrupt`` is that of an interrupt
    when it came, where another one (PySpark's, which ends the work) may have been put in its place since.
    """
    now = signal.getsignal(signal.SIGINT)
    try:
        if signal.SIGINT in waiting and on_interrupt is not None:
            signal.signal(signal.SIGINT, on_interrupt)
        for number in waiting:
            if signal.getsignal(number) is signal.SIG_DFL:  # ends the process on the spot
                clean_up()
            signal.raise_signal(number)
    except BaseException:
        clean_up()
        raise
    if waiting and signal.getsignal(signal.SIGINT) is on_interrupt and now is not None:
        signal.signal(signal.SIGINT, now)
