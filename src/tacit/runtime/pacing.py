"""How fast the panes of recorded data pass at a site.

Where time is now, panes pass with it. A recording may bring years in one batch. Its panes pass as the watches claim
them: a site closes only so many that nobody has looked at yet, and keeps the rows of the others in its windows, so
every pane gets its answer and no alert is skipped. A stretch in which windows stay as they are passes at once: to the
machines it is like one pane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.protocols.claims import Claimant
from tacit.runtime.watch_data import WatchData

__all__ = ["AHEAD", "paced"]

AHEAD = 256
"""So many panes are closed that a watch has not claimed; the default of ``backlog_panes`` is more."""


def paced(
    data: WatchData,
    machines: Sequence[tuple[Claimant[Any] | None, int]],
    reached_us: int,
    elsewhere_us: int | None,
) -> tuple[int, bool]:
    """The watermark for now, and whether it holds panes back.

    ``machines`` are those of the watches on this data, each with how many panes of the windows are one of its own; None
    is a watch that has not begun. One that was told nothing goes as far as another site has (``elsewhere_us``): sites
    that came to a watch at different times of a recording have their first common pane where the last of them came.
    One that came within a pane of a watch has none yet, and closes it.
    """
    keeper = data.keeper
    first = keeper.first if keeper.closed is None else keeper.begin
    reached = reached_us // keeper.pane_us - 1
    closed = keeper.closed if keeper.closed is not None else first
    if not machines or first is None or closed is None:
        return reached_us, False
    last = reached
    for machine, each in machines:
        if machine is None:
            last = min(last, (first // each + AHEAD + 1) * each - 1)
        elif machine.version or elsewhere_us is None:
            last = min(last, (machine.silent + AHEAD + 1) * each - 1)
        else:
            other = elsewhere_us // keeper.pane_us - 1
            last = min(last, max((machine.silent + AHEAD + 1) * each - 1, other, (machine.oldest + 1) * each - 1))
    last = max(last, closed, closed if data.quiet_through is None else data.quiet_through)
    return (reached_us, False) if last >= reached else ((last + 1) * keeper.pane_us, True)
