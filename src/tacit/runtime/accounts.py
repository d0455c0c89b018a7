"""What crossed the wire for each watch: messages and bytes by source, target and kind.

A thousand sites with ten watches send thirty thousand heartbeats, answers and counts a second, bundled by site. These
are noted as bundles and charged to the watches only when somebody asks, or when totals are stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from tacit.runtime.store import Write

__all__ = ["ANYONE", "Accounts"]

ANYONE = -2
"""The source and target of what travels in bundles: not told apart."""

Row = tuple[int, int, int, str, int, int]


class Accounts:
    """Totals by lineage, from ``rows`` of the store on. ``lineage_of`` gives a watch's lineage, or 0 for none.

    >>> accounts = Accounts([], lambda watch: watch)
    >>> accounts.sent(1, 0, -1, "report", 60)
    >>> accounts.sent_together((1, 2), "beats", 31)
    >>> list(accounts.of(1))
    [('report', 1, 60), ('beats', 1, 16)]
    """

    def __init__(self, rows: Iterable[Row], lineage_of: Callable[[int], int]) -> None:
        self._lineage_of = lineage_of
        self._entries: dict[int, dict[tuple[int, int, str], list[int]]] = {}  # messages, bytes, messages as stored
        self._bundles: dict[tuple[tuple[int, ...], str], list[int]] = {}
        for lineage, source, target, kind, messages, volume in rows:
            self._entries.setdefault(lineage, {})[source, target, kind] = [messages, volume, messages]

    def sent(self, watch: int, source: int, target: int, kind: str, volume: int) -> None:
        """A message of this watch crossed the wire."""
        self._add(self._lineage_of(watch), (source, target, kind), 1, volume)

    def sent_together(self, watches: tuple[int, ...], kind: str, volume: int) -> None:
        """A message of these watches crossed the wire: each is charged its part of the bytes."""
        bundle = self._bundles.get((watches, kind))
        if bundle is None:
            self._bundles[watches, kind] = [1, volume]
        else:
            bundle[0] += 1
            bundle[1] += volume

    def of(self, lineage: int) -> Iterator[tuple[str, int, int]]:
        """Kind, messages and bytes, for each source and target."""
        self._spread()
        for (_, _, kind), (messages, volume, _) in self._entries.get(lineage, {}).items():
            yield kind, messages, volume

    def writes(self) -> list[Write]:
        """The totals that changed since the last time."""
        self._spread()
        writes: list[Write] = []
        for lineage, entries in self._entries.items():
            for key, entry in entries.items():
                if entry[2] != entry[0]:
                    entry[2] = entry[0]
                    total = (lineage, *key, entry[0], entry[1])
                    writes.append(("INSERT OR REPLACE INTO ledger VALUES (?, ?, ?, ?, ?, ?)", total))
        return writes

    def forget(self, lineage: int) -> None:
        """A watch is no more."""
        self._spread()
        self._entries.pop(lineage, None)

    def _spread(self) -> None:
        bundles, self._bundles = self._bundles, {}
        for (watches, kind), (messages, volume) in bundles.items():
            for watch in watches:
                self._add(self._lineage_of(watch), (ANYONE, ANYONE, kind), messages, -(-volume // len(watches)))

    def _add(self, lineage: int, key: tuple[int, int, str], messages: int, volume: int) -> None:
        entries = self._entries.get(lineage)
        if entries is None:
            entries = self._entries[lineage] = {}
        entry = entries.get(key)
        if entry is None:
            entries[key] = [messages, volume, 0]
        else:
            entry[0] += messages
            entry[1] += volume
