"""How long a pane is where sites run live."""

from __future__ import annotations

from tacit.language.plan import Window

__all__ = ["TICK_US", "pane_length"]

TICK_US = 1_000_000
"""A watch by panes of rows is looked at once a second: sites share a clock of time, not of rows."""


def pane_length(window: Window) -> int:
    """The length of a pane in microseconds.

    >>> from tacit.language.plan import Every
    >>> pane_length(Window("rows", Every(rows=100), rows=1000))
    1000000
    """
    return TICK_US if window.every.duration_us is None else window.every.duration_us
