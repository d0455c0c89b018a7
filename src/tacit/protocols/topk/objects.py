"""The objects of one list at a site, in arrays that grow. There may be millions."""

from __future__ import annotations

import numpy as np

from tacit.protocols.topk.key_table import KeyTable
from tacit.vocabulary import ByteArray, FloatArray, IntArray
from tacit.vocabulary.arrays import AnyArray

__all__ = ["Objects"]


class Objects:
    """A ``Table`` (contest.py) that owns its arrays. ``keys`` may be another's, who adds to them, too.

    >>> objects = Objects()
    >>> objects.change("a", 2.0, 1)
    >>> objects.values[objects.find("a")], objects.find("b")
    (np.float64(2.0), -1)
    """

    def __init__(self, keys: KeyTable | None = None) -> None:
        self._keys = KeyTable() if keys is None else keys
        self._values: FloatArray = np.zeros(0)
        self._counts: IntArray = np.zeros(0, dtype=np.int64)
        self._deltas: FloatArray = np.zeros(0)
        self._flags: ByteArray = np.zeros(0, dtype=np.uint8)
        self._told: FloatArray = np.zeros(0)

    @property
    def values(self) -> FloatArray:
        """Their scores here."""
        self._fit()
        return self._values

    @property
    def counts(self) -> IntArray:
        """How many rows there are of them."""
        self._fit()
        return self._counts

    @property
    def deltas(self) -> FloatArray:
        """Their adjustments."""
        self._fit()
        return self._deltas

    @property
    def flags(self) -> ByteArray:
        """What the coordinator has said that they are."""
        self._fit()
        return self._flags

    @property
    def told(self) -> FloatArray:
        """What their scores count as; room for it is made when it is first wanted."""
        self._fit()
        if len(self._told) < len(self._values):
            self._told = _wider(self._told, len(self._values))
        return self._told

    @property
    def size(self) -> int:
        """How many objects there are."""
        return len(self._keys)

    def find(self, key: str) -> int:
        """Where the object is, or -1."""
        return self._keys.find(key)

    def key(self, place: int) -> str:
        """The key of the object there."""
        return self._keys[place]

    def add(self, key: str) -> int:
        """Make room for an object without rows."""
        return int(self._keys.number([key])[0])

    def change(self, key: str, score: float, rows: int) -> None:
        """Rows of an object came (or went, with negative numbers)."""
        at = self.add(key)
        self.values[at] += score
        self.counts[at] += rows

    def _fit(self) -> None:
        """Zeros for objects that came since, with some room beyond."""
        if len(self._keys) > len(self._values):
            room = len(self._keys) + max(16, len(self._keys) // 4)
            self._values, self._counts, self._deltas, self._flags = (
                _wider(each, room) for each in (self._values, self._counts, self._deltas, self._flags)
            )


def _wider(array: AnyArray, room: int) -> AnyArray:
    wide = np.zeros(room, dtype=array.dtype)
    wide[: len(array)] = array
    return wide
