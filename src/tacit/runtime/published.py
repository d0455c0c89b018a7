"""All that a coordinator has published of a watch, from its store: for programs that judge it or draw its past.

What is read here is what was stored, so it is the same after a crash. A page ends where a pane ends; the reader asks
for the next one from ``next`` on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.runtime.store import Store

__all__ = ["published_page"]

_ROWS = 20_000  # changes, and alerts, of one page: a message must not become too large


def published_page(
    store: Store, name: str, lineage: int, names: Mapping[int, str], first: int, after: int
) -> dict[str, Any]:
    """Spans, changes and lists from the pane ``first`` on, and the alerts after the one with the number ``after``.

    ``spans`` say in which state panes were answered and for which sites; ``changes`` what was said from a pane on, by
    group; ``lists`` the members of a ranking or of a set of keys from a pane on. An altered watch has several
    ``versions``, each with the sentence it had then.
    """
    versions = store.all("SELECT number, text FROM watches WHERE lineage = ? ORDER BY number", (lineage,))
    numbers = [number for number, _ in versions]
    places = ", ".join("?" * len(numbers))
    until = _until(store, lineage, first)
    spans = store.all(
        f"SELECT watch, first, last, state, stale, roster FROM spans WHERE watch IN ({places}) AND last >= ?"
        " AND first < ? ORDER BY first, watch", (*numbers, first, until),
    )  # fmt: skip
    changes = store.all(
        "SELECT pane, key, side, value FROM changes WHERE lineage = ? AND pane >= ? AND pane < ? ORDER BY pane",
        (lineage, first, until),
    )
    lists = store.all(
        "SELECT pane, list, members FROM rankings WHERE lineage = ? AND pane >= ? AND pane < ? ORDER BY pane",
        (lineage, first, until),
    )
    alerts = store.all(
        "SELECT seq, document FROM alerts WHERE watch = ? AND seq > ? ORDER BY seq LIMIT ?", (name, after, _ROWS)
    )
    more = until < _END
    return {
        "watch": name,
        "versions": [{"number": number, "text": text} for number, text in versions],
        "spans": [
            {
                "version": number,
                "first": max(begin, first),
                "last": min(last, until - 1),
                "state": state,
                "sites": sorted(_name(names, site) for site in json.loads(roster)),
                "missing": sorted(_name(names, site) for site in json.loads(stale)),
            }
            for number, begin, last, state, stale, roster in spans
        ],
        "changes": [list(row) for row in changes],
        "lists": [[pane, name, json.loads(members)] for pane, name, members in lists],
        "alerts": [json.loads(document) for _, document in alerts],
        "newest": alerts[-1][0] if alerts else after,
        "next": until if more else None,
        "more_alerts": len(alerts) == _ROWS,
    }


_END = 1 << 62


def _until(store: Store, lineage: int, first: int) -> int:
    """The pane before which a page ends: one that holds about so many rows, but whole panes."""
    ends = [_END]
    for table in ("changes", "rankings"):
        row = store.one(
            f"SELECT pane FROM {table} WHERE lineage = ? AND pane >= ? ORDER BY pane LIMIT 1 OFFSET ?",
            (lineage, first, _ROWS),
        )
        if row is not None:
            ends.append(max(int(row[0]), first + 1))
    return min(ends)


def _name(names: Mapping[int, str], site: int) -> str:
    return names.get(site, f"site {site}")
