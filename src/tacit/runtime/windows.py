"""Panes and windows at a live site: the door.

    keeper = window_keeper(plan.window, len(plan.statistics), keys=("",))    # the one group there is without GROUP BY
    keeper.add(deltas); for pane in keeper.close_through(watermark_us): sums, changed = keeper.vector(pane)
    keeper.settle(pane); write(keeper.changes()); keeper.saved()

A watch of time windows takes ``PaneDeltas`` by sub-panes of ``keeper.sub_us``, one that counts rows takes ``RowBlock``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.language.plan import Window
from tacit.runtime.blobs import Change
from tacit.runtime.pane_windows import PaneKeeper
from tacit.runtime.row_windows import RowKeeper
from tacit.runtime.window_keeper import Added, WindowKeeper

__all__ = ["Added", "Change", "PaneKeeper", "RowKeeper", "WindowKeeper", "restore_keeper", "window_keeper"]


def window_keeper(
    window: Window, dimension: int, keys: Sequence[str] = (), *, template: bool = False, sparse: bool = False
) -> WindowKeeper:
    """A new keeper of a watch's windows, of d statistics; ``keys`` are groups that exist before their first row.

    With ``template`` every row is an entry of the first of them, and further ones of the groups whose member it has.
    With ``sparse`` there may be millions of groups, and what a pane changed is asked for, not all sums.

    >>> from tacit.language.plan import Every
    >>> window_keeper(Window("time", Every(duration_us=6_000_000), duration_us=10_000_000), 1).sub_us
    2000000
    """
    kind = RowKeeper if window.kind == "rows" or window.every.rows is not None else PaneKeeper
    return kind(window, dimension, keys, template=template, sparse=sparse)


def restore_keeper(
    window: Window, dimension: int, saved: Mapping[str, bytes], *, template: bool = False, sparse: bool = False
) -> WindowKeeper:
    """The keeper that was saved: it goes on as if it had never stopped. ProtocolError when something is not whole."""
    keeper = window_keeper(window, dimension, template=template, sparse=sparse)
    keeper.restore(saved)
    return keeper
