"""What is wrong with a message that came, in half a sentence; ``decode`` makes the whole one of it."""

from __future__ import annotations

__all__ = ["PANE_MAX", "UnfitError", "pane_in_range"]

PANE_MAX = 1 << 62
"""No pane is further from 0, so that a few can be added up; the least number means: before any pane."""


class UnfitError(ValueError):
    """What does not fit, in half a sentence."""


def pane_in_range(pane: int) -> int:
    """The number of a pane as it came, if it can be one."""
    if not -PANE_MAX <= pane <= PANE_MAX:
        raise UnfitError("it has the number of a pane that is too large")
    return pane
