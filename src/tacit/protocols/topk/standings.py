"""What the coordinator knows of one list: which objects were ever in question, their adjustments, who is inside."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tacit.protocols.topk.messages import Flag, Ranked
from tacit.vocabulary import BoolArray, FloatArray, IntArray

__all__ = ["NOBODY", "Standings"]

NOBODY = -1
_FAR = 64.0
_EXACT = 2.0**44
_ROOM = 1 << 14  # objects that there is always room for


class Standings:
    """Rows are objects; column 0 of ``deltas`` is the coordinator's own adjustment, column j + 1 that of site j.

    Two facts hold after every settled step (the seed's invariants): every row of ``deltas`` sums to 0, and
    ``deltas[t, 0] + epsilon >= deltas[s, 0]`` for every t inside and s outside (in an open list also >= 0).
    """

    def __init__(self, name: str, sites: int) -> None:
        self.name = name
        self.open = False
        self.largest = 0.0  # the largest score at the last count
        self.reach = 0.0  # no adjustment has been larger since all began anew
        self.keys: list[str] = []
        self._place: dict[str, int] = {}
        self.deltas: FloatArray = np.zeros((16, sites + 1))
        self.member: BoolArray = np.zeros(16, dtype=np.bool_)
        self.known: BoolArray = np.zeros(16, dtype=np.bool_)
        self.guardian: IntArray = np.full(16, NOBODY, dtype=np.int64)
        self.shown: FloatArray = np.zeros((16, sites))  # what sites last showed
        self.width = np.inf

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def is_empty(self) -> bool:
        """Is it as if nobody had spoken of the list?"""
        return not (self.open or self.member[: len(self)].any() or self.known[: len(self)].any())

    @property
    def members(self) -> IntArray:
        """The rows of the objects inside."""
        return np.flatnonzero(self.member[: len(self)])

    def rows(self, keys: Iterable[str]) -> IntArray:
        """The rows of these objects; those that are new get one."""
        found = []
        for key in keys:
            at = self._place.get(key)
            if at is None:
                at = self._place[key] = len(self.keys)
                self.keys.append(key)
            found.append(at)
        while len(self.keys) > len(self.member):
            self._grow()
        return np.array(found, dtype=np.int64)

    def find(self, key: str) -> int:
        """The row of an object, or -1."""
        return self._place.get(key, -1)

    def grow_sites(self, sites: int) -> None:
        """Make room for sites up to this number."""
        more = sites + 1 - self.deltas.shape[1]
        if more > 0:
            self.deltas, self.shown = (
                np.concatenate([each, np.zeros((len(each), more))], axis=1) for each in (self.deltas, self.shown)
            )

    def reset(self) -> None:
        """Forget every object, and the room of very many."""
        self.keys, self._place, self.reach = [], {}, 0.0
        if len(self.member) > _ROOM:
            self.deltas, self.shown = (each[:_ROOM].copy() for each in (self.deltas, self.shown))
            self.member, self.known, self.guardian = (
                self.member[:_ROOM].copy(), self.known[:_ROOM].copy(), self.guardian[:_ROOM].copy()
            )  # fmt: skip
        self.deltas[:] = self.shown[:] = 0.0
        self.member[:] = self.known[:] = False
        self.guardian[:] = NOBODY

    def rest(self, rows: IntArray) -> FloatArray:
        """The coordinator's adjustments of the objects outside that are not among these."""
        others = np.ones(len(self), dtype=np.bool_)
        others[rows] = False
        others &= ~self.member[: len(self)]
        if not self.open:
            others &= self.known[: len(self)]
        return np.asarray(self.deltas[: len(self), 0][others])

    def balance(self, rows: IntArray) -> None:
        """The coordinator's adjustments are what the sites' sum to, with the sign changed: nothing is carried along."""
        self.deltas[rows, 0] = -self.deltas[rows, 1:].sum(axis=1)
        self.reach = max(self.reach, float(np.abs(self.deltas[rows]).max(initial=0.0)))

    def is_far(self, scores: FloatArray, epsilon: float, *, whole: bool) -> bool:
        """Are adjustments so much larger than these scores (objects, sites) that what they round away matters?

        Whole numbers are added exactly as long as they are not huge.
        """
        if not len(scores) or (whole and self.reach <= _EXACT):
            return False
        return self.reach > _FAR * (float(np.abs(scores).sum(axis=1).max()) + epsilon)

    def ranked(self, rows: IntArray, site: int, *, full: bool = False, plain: bool = False) -> Ranked:
        """What a site is told of these objects."""
        flags = (
            int(Flag.MEMBER) * self.member[rows]
            + int(Flag.GUARD) * (self.guardian[rows] == site)
            + int(Flag.KNOWN) * self.known[rows]
        )
        deltas = self.deltas[rows, site + 1]
        keys = tuple(self.keys[row] for row in rows.tolist())
        scores = self.shown[rows, site] if self.width < np.inf else np.empty(0)
        return Ranked(self.name, keys, deltas, tuple(flags.tolist()), self.open, full, plain, self.width, scores)

    def everything(self, site: int) -> Ranked:
        """All that a site must be told to start from nothing."""
        of_use = self.member[: len(self)] | self.known[: len(self)] | (self.deltas[: len(self), site + 1] != 0.0)
        return self.ranked(np.flatnonzero(of_use), site, full=True)

    def _grow(self) -> None:
        many = len(self.member)
        self.deltas, self.shown = (np.concatenate([each, np.zeros_like(each)]) for each in (self.deltas, self.shown))
        self.member = np.concatenate([self.member, np.zeros(many, dtype=np.bool_)])
        self.known = np.concatenate([self.known, np.zeros(many, dtype=np.bool_)])
        self.guardian = np.concatenate([self.guardian, np.full(many, NOBODY, dtype=np.int64)])
