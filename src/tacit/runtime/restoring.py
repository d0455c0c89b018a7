"""A watch as its coordinator's store knows it."""

from __future__ import annotations

import json
from typing import Any

from tacit.functions.goals import Frequent, Top
from tacit.language.sentence import parse_watch
from tacit.runtime.answers import Said, said_of
from tacit.runtime.guarded import fail
from tacit.runtime.kept_watch import KeptWatch, Tuning
from tacit.runtime.rank_teller import Lists
from tacit.runtime.store import Store, unpack
from tacit.wire.control import Counts, Measure

__all__ = ["restored"]

_KEYS = "SELECT key FROM groups WHERE watch = ? ORDER BY number"


def restored(store: Store, row: dict[str, Any], tuning: Tuning, start: int, now: float) -> KeptWatch:
    """The watch of this row. One whose books cannot be read has failed and says so; others are kept."""
    number, lineage = row["number"], row["lineage"]
    measure = None if row["centres"] is None else Measure(unpack(row["centres"]), unpack(row["units"]))
    plan = parse_watch(row["text"])
    said = _lists(store, lineage) if isinstance(plan.goal, Top | Frequent) else _values(store, lineage)
    watch = KeptWatch(
        number, plan, protocol=row["protocol"], created=now, tuning=tuning, start=start,
        lineage=lineage, status=row["status"], measure=measure, begin=row["begin"], said=said,
        keys=[key for (key,) in store.all(_KEYS, (number,))],
    )  # fmt: skip
    counted = store.one("SELECT counted FROM counts WHERE lineage = ?", (lineage,))
    for site, events, panes, late, *more in [] if counted is None else unpack(counted[0]).tolist():
        watch.counts[site] = Counts(events, panes, late, None, *more)  # rows without a time were not counted once
    books = store.all("SELECT site, collected, weights, slack, used FROM books WHERE watch = ?", (number,))
    try:
        watch.resume(row, {site: (a, b, c, d) for site, a, b, c, d in books}, now)
    except Exception as error:
        fail(watch, error)
    return watch


def _values(store: Store, lineage: int) -> dict[str, Said]:
    rows = store.all("SELECT key, side, value, compared FROM changes WHERE lineage = ? ORDER BY pane", (lineage,))
    return {key: said_of(*said) for key, *said in rows}


def _lists(store: Store, lineage: int) -> Lists:
    rows = store.all("SELECT list, members FROM rankings WHERE lineage = ? ORDER BY pane", (lineage,))
    found = {name: dict(json.loads(members)) for name, members in rows}
    return {name: members for name, members in found.items() if members}
