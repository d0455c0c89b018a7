"""What a coordinator's store forgets: answers and alerts that are old, and all that is left of watches long dropped."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime

from tacit.runtime.kept_watch import KeptWatch
from tacit.runtime.store import Write

__all__ = ["pruning", "tidying"]

_OVERTAKEN = (
    "DELETE FROM changes WHERE lineage = ? AND pane < ? AND EXISTS (SELECT 1 FROM changes AS later"
    " WHERE later.lineage = changes.lineage AND later.key = changes.key AND later.pane > changes.pane"
    " AND later.pane <= ?)"
)
_OVERTAKEN_LISTS = (
    "DELETE FROM rankings WHERE lineage = ? AND pane < ? AND EXISTS (SELECT 1 FROM rankings AS later"
    " WHERE later.lineage = rankings.lineage AND later.list = rankings.list AND later.pane > rankings.pane"
    " AND later.pane <= ?)"
)
_OLD_ALERTS = (
    "DELETE FROM alerts WHERE json_extract(document, '$.raised') < ? AND id NOT IN (SELECT id FROM deliveries)"
)
_ENDED = "SELECT watch FROM ended WHERE at < ?"
_GONE = f"SELECT lineage FROM watches GROUP BY lineage HAVING SUM(number NOT IN ({_ENDED})) = 0"
_LONG_DROPPED = (
    f"DELETE FROM spans WHERE watch IN ({_ENDED})",
    f"DELETE FROM changes WHERE lineage IN ({_GONE})",
    f"DELETE FROM rankings WHERE lineage IN ({_GONE})",
    f"DELETE FROM counts WHERE lineage IN ({_GONE})",
    f"DELETE FROM ledger WHERE watch IN ({_GONE})",
    # The greatest number stays: none is ever given again.
    f"DELETE FROM watches WHERE number IN ({_ENDED}) AND number < (SELECT MAX(number) FROM watches)",
)


def pruning(watches: Iterable[KeptWatch], wall: float, keep_s: float) -> list[Write]:
    """Forget what is older than this. The newest answer of every group stays, and alerts that are to be delivered.

    ``watches`` are those that are kept; of one that was dropped before that time nothing stays.
    """
    writes: list[Write] = []
    for watch in watches:
        if watch.settlement is None:
            continue
        oldest = watch.settlement.final - int(keep_s * 1e6) // watch.pane_us
        writes.append(("DELETE FROM spans WHERE watch = ? AND last < ?", (watch.number, oldest)))
        for overtaken in (_OVERTAKEN, _OVERTAKEN_LISTS):
            writes.append((overtaken, (watch.lineage, oldest, oldest)))
        gone = "DELETE FROM rankings WHERE lineage = ? AND pane < ? AND members = '[]'"
        writes.append((gone, (watch.lineage, oldest)))
    before = wall - keep_s
    writes.append((_OLD_ALERTS, (datetime.fromtimestamp(before, UTC).isoformat(),)))
    writes.append(("DELETE FROM set_aside WHERE id NOT IN (SELECT id FROM alerts)", ()))
    writes += [(sql, (before,)) for sql in _LONG_DROPPED]
    writes.append(("DELETE FROM ended WHERE watch NOT IN (SELECT number FROM watches)", ()))
    return writes


def tidying(wall: float) -> list[Write]:
    """What a start makes good: watches that were dropped by an earlier release count as dropped now."""
    dropped = "(SELECT number FROM watches WHERE status = 'dropped')"
    return [
        ("INSERT OR IGNORE INTO ended SELECT number, ? FROM watches WHERE status = 'dropped'", (wall,)),
        (f"DELETE FROM groups WHERE watch IN {dropped}", ()),
        (f"DELETE FROM books WHERE watch IN {dropped}", ()),
    ]
