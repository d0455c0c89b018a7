"""Lines on standard error that say what a command is doing while it starts, for whoever has no terminal to look at."""

from __future__ import annotations

import threading
import time

import typer

__all__ = ["Doing", "with_seconds"]

_STILL_S = 30.0
_SOON_S = 3.0


class Doing:
    """``say`` what is being done; what takes long is said again every half minute. Use it as a context manager."""

    def __init__(self, *, still_s: float = _STILL_S) -> None:
        self._still_s = still_s
        self._text = ""
        self._since = self._said = 0.0
        self._lock = threading.Lock()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._repeat, name="tacit-doing", daemon=True)

    def __enter__(self) -> Doing:
        self._thread.start()
        return self

    def __exit__(self, *story: object) -> None:
        self._end.set()

    def say(self, text: str) -> None:
        """This is being done from now on; an empty text: nothing that would be worth a line."""
        with self._lock:
            if text == self._text:
                return
            self._text = text
            self._since = self._said = time.monotonic()
            self._line(text)

    def _repeat(self) -> None:
        while not self._end.wait(self._still_s / 10):
            with self._lock:
                if self._text and time.monotonic() - self._said >= self._still_s:
                    self._said = time.monotonic()
                    self._line(f"still {with_seconds(self._text, self._since)}")

    def _line(self, text: str) -> None:
        if text:
            typer.echo(f"tacit: {text}", err=True)


def with_seconds(text: str, since: float) -> str:
    """What is being done, and for how long, where that is more than a moment."""
    passed = time.monotonic() - since
    return text if passed < _SOON_S else f"{text} ({passed:.0f} s)"
