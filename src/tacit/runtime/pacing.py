"""How fast the panes of recorded data pass at a site.

Where time is now, panes pass with it, and a coordinator that was away for long goes on at the newest. A recording
may bring years in one batch. Its panes pass as the watches claim them: a site closes only so many that nobody has
looked at yet, and keeps the rows of the others in its windows, so every pane gets its answer and no alert is skipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.protocols.claims import Claimant
from tacit.runtime.window_keeper import WindowKeeper

__all__ = ["AHEAD", "LEAP", "paced"]

AHEAD = 256
"""So many panes are closed that a watch has not claimed; the default of ``backlog_panes`` is more."""
LEAP = 1_000_000
"""More panes than this are not walked through one by one: a row has a wrong time, or nothing happened for years."""


def paced(
    keeper: WindowKeeper,
    machines: Sequence[tuple[Claimant[Any] | None, int]],
    reached_us: int,
    kept: int,
    elsewhere_us: int | None = None,
) -> tuple[int, bool]:
    """The watermark for now, and whether it holds panes back; ``kept`` are the panes that nobody settled.

    ``machines`` are those of the watches on these windows, each with how many panes of the windows are one of its own;
    None is a watch that has not begun. With ``elsewhere_us`` one goes as far as another site has: of sketches a site
    that was killed knows its last pane only, which may be ahead of what all others have closed, and then no nearer pane
    is known to all. While it was told nothing, nothing is settled that it would have to keep: sites that came to a
    watch at different times of a recording have their first common pane where the last of them came. One that came
    within a pane of a watch has none yet, and closes it.
    """
    first = keeper.first if keeper.closed is None else keeper.begin
    reached = reached_us // keeper.pane_us - 1
    closed = keeper.closed if keeper.closed is not None else first
    if not machines or first is None or closed is None or reached - closed > LEAP:
        return reached_us, False
    last = reached
    for machine, each in machines:
        if machine is None:
            last = min(last, (first // each + AHEAD + 1) * each - 1)
        else:
            followed = closed if elsewhere_us is None else elsewhere_us // keeper.pane_us - 1
            furthest = max((machine.silent + AHEAD + 1) * each - 1, followed)
            if machine.version or elsewhere_us is None:
                furthest = min(furthest, (machine.final + kept // 2 + 1) * each - 1)
            else:
                furthest = max(furthest, (machine.oldest + 1) * each - 1)
            last = min(last, furthest)
    last = max(last, closed)
    return (reached_us, False) if last >= reached else ((last + 1) * keeper.pane_us, True)
