"""The ledger: messages and bytes per (source, target, kind).

It stands at the wire; protocols know nothing of it. Heartbeats are counted and shown, but no total includes them: they
are the price of knowing that a site is alive, whatever is watched.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tacit.protocols.messages import Message
from tacit.wire.kinds import HEARTBEATS, KINDS
from tacit.wire.sizes import size
from tacit.wire.topk_codec import WRITE, topk_size

__all__ = ["COORDINATOR", "Ledger"]

COORDINATOR = -1
"""The coordinator as a source or target; sites are numbered from 0."""


class Ledger:
    """Counts messages; cheap enough to be told of every one.

    >>> from tacit.protocols.messages import Heartbeat, Leave
    >>> ledger = Ledger()
    >>> ledger.add(0, COORDINATOR, Leave(0, session=1))
    >>> ledger.add(0, COORDINATOR, Heartbeat(0, 0, 0, 0, 0))
    >>> ledger.messages, ledger.by_kind()
    (1, {'heartbeat': 1, 'leave': 1})
    """

    def __init__(self) -> None:
        self._entries: dict[tuple[int, int, str], list[int]] = {}

    def add(self, source: int, target: int, message: Message) -> None:
        """One message went from source to target."""
        length = topk_size(message) if type(message) in WRITE else size(message)  # type: ignore[arg-type]
        key = (source, target, KINDS[type(message)])
        entry = self._entries.get(key)
        if entry is None:
            self._entries[key] = [1, length]
        else:
            entry[0] += 1
            entry[1] += length

    def add_many(self, kind: str, source: int, targets: Iterable[int], count: int, bytes: int) -> None:
        """To each target went ``count`` messages of this kind, ``bytes`` bytes in all."""
        for target in targets:
            entry = self._entries.setdefault((source, target, kind), [0, 0])
            entry[0] += count
            entry[1] += bytes

    def merge(self, other: Ledger) -> None:
        """Add everything that another ledger holds."""
        for (source, target, kind), (count, volume) in other._entries.items():
            self.add_many(kind, source, (target,), count, volume)

    @property
    def messages(self) -> int:
        """All messages but heartbeats."""
        return sum(entry[0] for key, entry in self._entries.items() if key[2] not in HEARTBEATS)

    @property
    def bytes(self) -> int:
        """The bytes of all messages but heartbeats."""
        return sum(entry[1] for key, entry in self._entries.items() if key[2] not in HEARTBEATS)

    @property
    def heartbeats(self) -> tuple[int, int]:
        """How many heartbeats and answers to them, and their bytes."""
        entries = [entry for key, entry in self._entries.items() if key[2] in HEARTBEATS]
        return sum(entry[0] for entry in entries), sum(entry[1] for entry in entries)

    def by_kind(self) -> dict[str, int]:
        """Messages of every kind that was sent, heartbeats too, in the order of KINDS."""
        return {kind: entry[0] for kind, entry in self._kinds().items()}

    def bytes_by_kind(self) -> dict[str, int]:
        """Bytes of every kind that was sent, heartbeats too, in the order of KINDS."""
        return {kind: entry[1] for kind, entry in self._kinds().items()}

    def count(self, *, source: int | None = None, target: int | None = None, kind: str | None = None) -> int:
        """Messages with this source, target and kind; None means any.

        >>> ledger = Ledger()
        >>> ledger.add_many("request", COORDINATOR, [0, 1, 2], 1, 10)
        >>> ledger.count(source=COORDINATOR), ledger.count(target=2, kind="request")
        (3, 1)
        """
        wanted = (source, target, kind)
        return sum(
            entry[0]
            for key, entry in self._entries.items()
            if all(want is None or want == have for want, have in zip(wanted, key, strict=True))
        )

    def as_dict(self) -> dict[str, Any]:
        """Totals, kinds and every entry, as plain values for JSON."""
        beats, beat_bytes = self.heartbeats
        return {
            "total": self.messages,
            "bytes": self.bytes,
            "by_kind": {kind: count for kind, count in self.by_kind().items() if kind not in HEARTBEATS},
            "heartbeats": {"messages": beats, "bytes": beat_bytes},
            "entries": [
                {"source": _name(source), "target": _name(target), "kind": kind, "messages": count, "bytes": volume}
                for (source, target, kind), (count, volume) in sorted(self._entries.items())
            ],
        }

    def _kinds(self) -> dict[str, list[int]]:
        sums: dict[str, list[int]] = {kind: [0, 0] for kind in KINDS.values()}
        for (_, _, kind), (count, volume) in self._entries.items():
            entry = sums.setdefault(kind, [0, 0])
            entry[0] += count
            entry[1] += volume
        return {kind: entry for kind, entry in sums.items() if entry[0]}


def _name(process: int) -> int | str:
    return "coordinator" if process == COORDINATOR else process
