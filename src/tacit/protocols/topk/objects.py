"""The objects of one list at a site, in arrays that grow."""

from __future__ import annotations

import numpy as np

from tacit.vocabulary import ByteArray, FloatArray, IntArray

__all__ = ["Objects"]


class Objects:
    """A ``Table`` (contest.py) that owns its arrays.

    >>> objects = Objects()
    >>> objects.change("a", 2.0, 1)
    >>> objects.values[objects.find("a")], objects.find("b")
    (np.float64(2.0), -1)
    """

    def __init__(self) -> None:
        self.values: FloatArray = np.zeros(16)
        self.counts: IntArray = np.zeros(16, dtype=np.int64)
        self.deltas: FloatArray = np.zeros(16)
        self.flags: ByteArray = np.zeros(16, dtype=np.uint8)
        self.told: FloatArray = np.zeros(16)
        self._keys: list[str] = []
        self._place: dict[str, int] = {}

    @property
    def size(self) -> int:
        """How many objects there are."""
        return len(self._keys)

    def find(self, key: str) -> int:
        """Where the object is, or -1."""
        return self._place.get(key, -1)

    def key(self, place: int) -> str:
        """The key of the object there."""
        return self._keys[place]

    def add(self, key: str) -> int:
        """Make room for an object without rows."""
        at = self._place[key] = len(self._keys)
        self._keys.append(key)
        if at == len(self.values):
            self.values, self.counts, self.deltas, self.flags, self.told = (
                np.concatenate([each, np.zeros_like(each)])
                for each in (self.values, self.counts, self.deltas, self.flags, self.told)
            )
        return at

    def change(self, key: str, score: float, rows: int) -> None:
        """Rows of an object came (or went, with negative numbers)."""
        at = self.find(key)
        at = self.add(key) if at < 0 else at
        self.values[at] += score
        self.counts[at] += rows
