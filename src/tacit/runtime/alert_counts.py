"""How many alerts of each watch are stored, changes aside.

It is asked every second, and so counted on from where it was counted last.
"""

from __future__ import annotations

from tacit.runtime.store import Store

__all__ = ["AlertCounts"]

_NEWER = "SELECT COALESCE(SUM(kind = 'alert'), 0), COALESCE(MAX(seq), ?) FROM alerts WHERE watch = ? AND seq > ?"


class AlertCounts:
    """The alerts of a store by watch. ``recount`` when alerts were forgotten."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._counted: dict[str, tuple[int, int]] = {}  # by the name of a watch: how many, and the newest of them

    def of(self, watch: str) -> int:
        """How many there are of the watch of this name."""
        count, newest = self._counted.get(watch, (0, 0))
        more, newest = self._store.one(_NEWER, (newest, watch, newest)) or (0, newest)
        self._counted[watch] = (count + more, newest)
        return count + int(more)

    def recount(self) -> None:
        """Count from the first one the next time."""
        self._counted.clear()
