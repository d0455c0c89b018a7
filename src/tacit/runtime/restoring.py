"""A watch as its coordinator's store knows it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from tacit.functions.goals import Frequent, Top
from tacit.language.plan import WatchPlan
from tacit.language.sentence import parse_watch
from tacit.runtime.answers import Said, said_of
from tacit.runtime.guarded import fail
from tacit.runtime.kept_watch import KeptWatch, Tuning
from tacit.runtime.provisional import Replaced
from tacit.runtime.rank_teller import Lists
from tacit.runtime.store import Store, unpack
from tacit.vocabulary.keys import key_values
from tacit.wire.control import Counts, Measure

__all__ = ["restored"]

_GAPS = (
    "SELECT first, last, stale FROM spans WHERE state = 'unknown' AND watch IN"
    " (SELECT number FROM watches WHERE lineage = ?) ORDER BY first"
)
_KEYS = "SELECT key FROM groups WHERE watch = ? ORDER BY number"


def restored(
    store: Store,
    row: dict[str, Any],
    tuning: Tuning,
    start: int,
    now: float,
    key_kinds: Callable[[WatchPlan], Sequence[str]],
) -> KeptWatch:
    """The watch of this row. One whose books cannot be read has failed and says so; others are kept.

    ``key_kinds`` gives the types of the values of a watch's groups.
    """
    number, lineage = row["number"], row["lineage"]
    measure = None if row["centres"] is None else Measure(unpack(row["centres"]), unpack(row["units"]))
    plan = parse_watch(row["text"])
    said, replaced = _lists(store, lineage) if isinstance(plan.goal, Top | Frequent) else _values(store, lineage)
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
        if row["final"] is not None:
            kinds, known = key_kinds(plan), {*said, *(key for _, key, _ in replaced)}
            keys = {json.dumps(key_values(key, kinds) if plan.grouping is not None else None): key for key in known}
            watch.history.provisional.restore(store, plan.name, row["final"], replaced, keys)
        watch.history.gaps = [
            (first, last, tuple(json.loads(lost))) for first, last, lost in store.all(_GAPS, (lineage,))
        ]
    except Exception as error:
        fail(watch, error)
    return watch


def _values(store: Store, lineage: int) -> tuple[dict[str, Said], list[Replaced]]:
    """What was last said by key, and what each saying has replaced."""
    rows = store.all("SELECT key, pane, side, value, compared FROM changes WHERE lineage = ? ORDER BY pane", (lineage,))
    said: dict[str, Said] = {}
    replaced: list[Replaced] = []
    for key, pane, *now in rows:
        replaced.append((pane, key, said.get(key)))
        said[key] = said_of(*now)
    return said, replaced


def _lists(store: Store, lineage: int) -> tuple[Lists, list[Replaced]]:
    rows = store.all("SELECT list, pane, members FROM rankings WHERE lineage = ? ORDER BY pane", (lineage,))
    said: Lists = {}
    replaced: list[Replaced] = []
    for name, pane, members in rows:
        replaced.append((pane, name, said.get(name)))
        said[name] = dict(json.loads(members))
        if not said[name]:
            del said[name]
    return said, replaced
