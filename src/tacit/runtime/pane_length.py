"""How long a pane is where sites run live, and the shortest that can be kept."""

from __future__ import annotations

from math import gcd

from tacit.language.explain import every_text
from tacit.language.plan import Every, Window
from tacit.vocabulary import SentenceError

__all__ = ["LEAST_US", "SUB_PANES", "TICK_US", "check_pieces", "check_step", "pane_length"]

TICK_US = 1_000_000
"""A watch by panes of rows is looked at once a second: sites share a clock of time, not of rows."""

LEAST_US = 1_000
"""The shortest step that is kept live: every pane is closed, checked and settled by itself."""

SUB_PANES = 1_000_000
"""A window of time is kept in pieces, of which both its length and its step are multiples: at most so many."""


def pane_length(window: Window) -> int:
    """The length of a pane in microseconds.

    >>> from tacit.language.plan import Every
    >>> pane_length(Window("rows", Every(rows=100), rows=1000))
    1000000
    """
    return TICK_US if window.every.duration_us is None else window.every.duration_us


def check_step(window: Window) -> None:
    """SentenceError for a step that cannot be kept live; the hint is the least one that can.

    >>> check_step(Window("time", Every(duration_us=1), duration_us=2_000_000))
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.SentenceError: EVERY 1 MICROSECOND is too short: ... write EVERY 1 MILLISECOND
    """
    every_us = window.every.duration_us
    if every_us is not None and every_us < LEAST_US:
        raise SentenceError(
            f"EVERY {_words(every_us)} is too short: the answer is looked at every millisecond at most",
            hint=f"write EVERY {_words(_least(int(window.duration_us or LEAST_US), LEAST_US))}",
        )
    check_pieces(window)


def check_pieces(window: Window) -> None:
    """SentenceError for a window of time that would be kept in too many pieces."""
    every_us = window.every.duration_us
    if window.kind != "time" or every_us is None:
        return
    length_us = int(window.duration_us or 0)
    pieces = length_us // gcd(every_us, length_us)
    if pieces > SUB_PANES:
        raise SentenceError(
            f"a window is kept in pieces that divide both its length and its step, which would be {pieces:,} here, and "
            f"{SUB_PANES:,} is the most",
            hint=f"write EVERY {_words(_least(length_us, every_us))}",
        )


def _least(length_us: int, every_us: int) -> int:
    """The shortest step, of this length or more, that goes into a window a whole number of times."""
    parts = max(1, min(SUB_PANES, length_us // every_us))
    while length_us % parts:
        parts -= 1
    return length_us // parts


def _words(duration_us: int) -> str:
    return every_text(Every(duration_us=duration_us)).replace(",", "").upper()
