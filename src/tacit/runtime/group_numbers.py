"""The groups of a watch at a site, numbered in the order in which they were first seen here. There may be millions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import numpy as np

from tacit.protocols.topk.key_table import KeyTable
from tacit.runtime.blobs import Pieces, pack_record, unpack_record
from tacit.vocabulary import IntArray, ProtocolError

__all__ = ["GroupNumbers"]

_PREFIX = "keys/"


class GroupNumbers:
    """Keys and their numbers; each save writes the new keys only."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        self.keys = KeyTable()
        self._saved = self._handed = 0
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
            pieces.put(f"{_PREFIX}{self._saved}", partial(pack_record, self.keys[self._saved :]))
            self._handed = len(self.keys)

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
        groups._saved = groups._handed = len(groups.keys)
        return groups

    def check(self, group: IntArray) -> None:
        """ProtocolError unless these saved numbers, at least one, all have keys."""
        if len(group) == 0 or group.min() < 0 or group.max() >= len(self.keys):
            raise ProtocolError("saved groups of a watch are missing; delete this site's state and start again")
