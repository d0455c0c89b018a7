"""The groups of a watch at a site, numbered in the order in which they were first seen here. There may be millions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from tacit.protocols.topk.key_table import KeyTable
from tacit.runtime.blobs import Pieces, pack_record, unpack_record
from tacit.vocabulary import BoolArray, IntArray, ProtocolError

__all__ = ["GroupNumbers"]

_PREFIX = "keys/"
_AT_ONCE = 1 << 16


class GroupNumbers:
    """Keys and their numbers; each save writes the new keys only."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.keys = KeyTable()
        self._saved = self._handed = 0
        self._pieces: list[str] = []  # that were ever handed over
        self.number(keys)

    def number(self, keys: Iterable[str]) -> list[int]:
        """The numbers of keys, which get one if they have none.

        >>> groups = GroupNumbers(["b"])
        >>> groups.number(["a", "b"]), groups.keys[:]
        ([1, 0], ['b', 'a'])
        """
        numbers: list[int] = self.keys.number(list(keys)).tolist()
        return numbers

    def local(self, group: IntArray, keys: Sequence[str]) -> tuple[IntArray, tuple[str, ...]]:
        """The numbers of a batch's groups, given by index into its keys; and the keys that are new among them."""
        used = np.unique(group)
        before = len(self.keys)
        numbers = np.zeros(len(keys), dtype=np.int64)
        whole = len(used) == len(keys)
        numbers[used] = self.keys.number(keys if whole else [keys[index] for index in used.tolist()])
        return numbers[group], tuple(self.keys[before:])

    def hand_over(self, pieces: Pieces) -> None:
        """The keys that are not on disk yet."""
        if self._saved < len(self.keys):
            self._put(pieces, self._saved, len(self.keys))
            self._handed = len(self.keys)

    def _put(self, pieces: Pieces, first: int, end: int) -> None:
        name = f"{_PREFIX}{first}"
        pieces.put(name, partial(pack_record, self.keys[first:end]))
        self._pieces.append(name)

    def keep(self, which: BoolArray, pieces: Pieces) -> IntArray:
        """Only these groups stay, in their order; the new number of each old one, or -1. All are saved anew."""
        self.keys, numbers = self.keys.kept(which)
        for name in self._pieces:
            pieces.delete(name)
        self._pieces = []
        for first in range(0, len(self.keys), _AT_ONCE):
            self._put(pieces, first, first + _AT_ONCE)
        self._saved = self._handed = len(self.keys)
        return numbers

    def saved(self) -> None:
        """What was handed over last is on disk."""
        self._saved = self._handed

    @classmethod
    def restored(cls, saved: Mapping[str, bytes]) -> GroupNumbers:
        """The groups that were saved."""
        groups = cls()
        for first in sorted(int(key.removeprefix(_PREFIX)) for key in saved if key.startswith(_PREFIX)):
            if first != len(groups.keys):
                raise ProtocolError("saved groups of a watch are missing; delete this site's state and start again")
            groups.number(unpack_record(f"{_PREFIX}{first}", saved[f"{_PREFIX}{first}"]))
            groups._pieces.append(f"{_PREFIX}{first}")
        groups._saved = groups._handed = len(groups.keys)
        return groups

    def check(self, group: IntArray) -> None:
        """ProtocolError unless these saved numbers, at least one, all have keys."""
        if len(group) == 0 or group.min() < 0 or group.max() >= len(self.keys):
            raise ProtocolError("saved groups of a watch are missing; delete this site's state and start again")
