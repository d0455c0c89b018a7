"""One list at one site: scores, adjustments, and the constraints that keep the site silent.

The site's side of Babcock and Olston. With A_i the adjusted score of object i here (its score and its adjustment),
every A_t inside must be at least every A_s outside; objects that nobody has told of have the adjustment 0.

A list is *open* or *closed*. In an open one an object that the site has never seen counts as 0, so that every A_t must
be at least 0, too, and new objects cost nothing while they are small. In a closed one the coordinator knows every
object there is: a site says so when it has rows of another. Lists begin closed, are open as soon as k objects have
scores that allow it, and are closed again when too few are left (or always, when the smallest are looked for: scores
are then negative, and one that has just come is at the top). One site guards each object that matters, and says so when
it has no rows of it any more: as long as it has, the object is there.

Sums that round are compared within 2^-46 of their sizes; with whole scores below 2^46 that is no difference.
"""

from __future__ import annotations

from heapq import nsmallest
from typing import Protocol

import numpy as np

from tacit.protocols.topk.messages import ALL, Entries, Flag, Ranked, Shown, Sought, no_entries
from tacit.vocabulary import BoolArray, ByteArray, FloatArray, IntArray

__all__ = ["ROUNDING", "Contest", "Table"]

ROUNDING = 2.0**-46
MEMBER, GUARD, KNOWN = int(Flag.MEMBER), int(Flag.GUARD), int(Flag.KNOWN)


class Table(Protocol):
    """The objects of a list at a site, as arrays whose first ``size`` places are in use."""

    @property
    def values(self) -> FloatArray:
        """Their scores here."""

    @property
    def counts(self) -> IntArray:
        """How many rows there are of them."""

    @property
    def deltas(self) -> FloatArray:
        """Their adjustments."""

    @property
    def flags(self) -> ByteArray:
        """What the coordinator has said that they are (``Flag``)."""

    @property
    def told(self) -> FloatArray:
        """What their scores count as."""

    @property
    def size(self) -> int:
        """How many objects there are."""

    def find(self, key: str) -> int:
        """Where the object is, or -1."""

    def add(self, key: str) -> int:
        """Make room for an object without rows."""

    def key(self, place: int) -> str:
        """The key of the object there."""


class Contest:
    """Constraints over a table; ``table`` may be changed between calls."""

    def __init__(self, name: str, table: Table, *, relief: int = 20) -> None:
        self.name, self.table = name, table
        self.open = False
        self.plain = False  # tell the violations of this pane plainly
        self.width = np.inf
        self._relief = relief
        self._inside: IntArray = np.empty(0, dtype=np.int64)  # where the members are
        self._ceiling = np.inf  # no object outside is above it, as far as changes were looked at

    def forget(self) -> None:
        """Nobody has told anything of this list."""
        table = self.table
        table.deltas[: table.size] = 0.0
        table.flags[: table.size] = 0
        self.open = self.plain = False
        self.width = np.inf
        self._note_members()

    def install(self, ranked: Ranked) -> None:
        """What the coordinator has said holds from now on."""
        table = self.table
        places = [table.find(key) for key in ranked.keys]
        places = [table.add(key) if at < 0 else at for key, at in zip(ranked.keys, places, strict=True)]
        if ranked.full:
            table.deltas[: table.size] = 0.0
            table.flags[: table.size] = 0
        table.deltas[places] = ranked.deltas
        if len(ranked.scores):
            table.told[places] = ranked.scores
        table.flags[places] = ranked.flags
        self.open, self.plain, self.width = ranked.open, ranked.plain, ranked.width
        self._note_members()

    def _note_members(self) -> None:
        self._inside = np.flatnonzero(self.table.flags[: self.table.size] & MEMBER)
        self._ceiling = np.inf

    def violated(self) -> bool:
        """Must the site speak?"""
        return bool(self._concerned().any()) or self._below_nothing()

    def look(self) -> bool:
        """Look at every object: must the site speak?"""
        outside = self._outside()
        self._ceiling = float(self._lowered(np.flatnonzero(outside)).max(initial=-np.inf))
        return self.violated()

    def look_at(self, places: IntArray) -> bool:
        """Must the site speak, when it need not before these changed? Costs as much as there are of them."""
        flags, counts, low = self.table.flags[places], self.table.counts[places], self._low()
        member, known = (flags & MEMBER) != 0, (flags & KNOWN) != 0
        guarded = GUARD | MEMBER if self.open else GUARD
        if (((flags & guarded) == guarded) & (counts == 0)).any() or (self.open and low < 0.0):
            return True
        if not self.open and ((counts > 0) & ~known).any():
            return True
        if self.width < np.inf:
            inside = places[member]
            if (np.abs(self.table.values[inside] - self.table.told[inside]) > self.width).any():
                return True
        outside = places[~member if self.open else known & ~member]
        self._ceiling = max(self._ceiling, float(self._lowered(outside).max(initial=-np.inf)))
        return self._ceiling > low and self.look()

    def _lowered(self, places: IntArray) -> FloatArray:
        """Adjusted scores, less what rounding may have added to them."""
        values, deltas = self.table.values[places], self.table.deltas[places]
        return np.asarray(values + deltas - ROUNDING * (np.abs(values) + np.abs(deltas)))

    def challenge(self) -> Shown:
        """What the site says when it must: the members, all that is wrong, and the border of the rest."""
        table, n = self.table, self.table.size
        concerned = self._concerned()
        relief = None if self.plain else self._one_member_fell(concerned)
        if relief is not None:
            at, amount = relief
            broken = int(np.count_nonzero(concerned & self._outside()))
            return Shown(self.name, self._entries(np.array([at])), 0.0, amount, broken)
        member = (table.flags[:n] & MEMBER) != 0
        broken = int(np.count_nonzero(concerned & ~member))
        if broken > self._relief and not self.plain:
            return Shown(self.name, no_entries(), 0.0, 0.0, broken)
        return self._shown(concerned | member)

    def show(self, sought: Sought) -> Shown:
        """The answer to a question."""
        table, n = self.table, self.table.size
        places = [at for at in map(table.find, sought.keys) if at >= 0]
        if sought.relief:
            return Shown(self.name, no_entries(), 0.0, sought.relief, self._would_break(places, sought.relief))
        shown = np.zeros(n, dtype=np.bool_)
        shown[places] = True
        absent = [key for key in sought.keys if table.find(key) < 0]
        if not sought.depth:
            return self._shown(shown, absent)
        held = np.flatnonzero(table.counts[:n] > 0)
        border = -np.inf
        if sought.depth != ALL and sought.depth < len(held):
            held, border = self._foremost(held, sought.depth)
        shown[held] = True
        return Shown(self.name, self._entries(np.flatnonzero(shown), absent), border)

    def _foremost(self, held: IntArray, depth: int) -> tuple[IntArray, float]:
        """The so many largest of more, of equals those whose keys come first; and the largest of the others.

        Where an object is in the table depends on when it was first heard of, and must not matter.
        """
        scores = self.table.values[held]
        last = -np.partition(-scores, depth - 1)[depth - 1]
        ahead, equal = held[scores > last], held[scores == last]
        wanted = depth - len(ahead)
        if wanted < len(equal):
            chosen = nsmallest(wanted, equal.tolist(), key=self.table.key)
            return np.concatenate([ahead, np.array(chosen, dtype=np.int64)]), float(last)
        return np.concatenate([ahead, equal]), float(scores[scores < last].max())

    def _outside(self) -> BoolArray:
        """The objects outside. In an open list one without rows and adjustment is like all that nobody has seen.

        Rows of it may have come in a pane that is closed already: that must not matter for the one we look at.
        """
        table, n = self.table, self.table.size
        flags = table.flags[:n]
        if self.open:
            return np.asarray(((flags & MEMBER) == 0) & ((table.counts[:n] > 0) | (table.deltas[:n] != 0.0)))
        return np.asarray((flags & (MEMBER | KNOWN)) == KNOWN)

    def _low(self) -> float:
        """The least adjusted score inside, with what rounding may have taken from it."""
        table, inside = self.table, self._inside
        if not len(inside):
            return float(np.inf)
        values, deltas = table.values[inside], table.deltas[inside]
        return float((values + deltas).min() + ROUNDING * (np.abs(values) + np.abs(deltas)).max())

    def _concerned(self) -> BoolArray:
        """The objects outside that are above a member, those that are new, and those that have gone from here."""
        table, n = self.table, self.table.size
        values, deltas, flags, counts = table.values[:n], table.deltas[:n], table.flags[:n], table.counts[:n]
        above = values + deltas - ROUNDING * (np.abs(values) + np.abs(deltas)) > self._low()
        wrong = self._outside() & above
        if not self.open:
            wrong |= (counts > 0) & ((flags & KNOWN) == 0)
        guarded = GUARD | MEMBER if self.open else GUARD
        wrong |= ((flags & guarded) == guarded) & (counts == 0)
        if self.width < np.inf:
            wrong |= ((flags & MEMBER) != 0) & (np.abs(values - table.told[:n]) > self.width)
        return np.asarray(wrong)

    def _below_nothing(self) -> bool:
        """Is a member below what an object that nobody has seen would have?"""
        return self.open and self._low() < 0.0

    def _one_member_fell(self, concerned: BoolArray) -> tuple[int, float] | None:
        """The member that alone is below many others, and by how much; None if it is not so."""
        table, n = self.table, self.table.size
        flags = table.flags[:n]
        above = concerned & self._outside()
        if np.count_nonzero(above) <= self._relief or self._comes_or_goes():
            return None
        adjusted = table.values[:n] + table.deltas[:n]
        inside = np.flatnonzero(flags & MEMBER)
        high = float(adjusted[above].max())
        fallen = inside[adjusted[inside] < high]
        if len(fallen) != 1 or high < 0.0:
            return None
        at = int(fallen[0])
        return at, high - float(adjusted[at])

    def _comes_or_goes(self) -> bool:
        """Is there an object that the coordinator does not know, or one guarded here that has gone?"""
        table, n = self.table, self.table.size
        flags, counts = table.flags[:n], table.counts[:n]
        guarded = GUARD | MEMBER if self.open else GUARD
        gone = ((flags & guarded) == guarded) & (counts == 0)
        return bool(gone.any()) or (not self.open and bool(((counts > 0) & ((flags & KNOWN) == 0)).any()))

    def _would_break(self, places: list[int], amount: float) -> int:
        """How many constraints would fail here if the object, or one without rows, had so much less."""
        table, n = self.table, self.table.size
        adjusted = table.values[:n] + table.deltas[:n]
        low = (float(adjusted[places[0]]) if places else 0.0) - amount
        return int(np.count_nonzero(adjusted[self._outside()] > low)) + int(self.open and low < 0.0)

    def _shown(self, shown: BoolArray, absent: list[str] | None = None) -> Shown:
        table, n = self.table, self.table.size
        rest = self._outside() & ~shown
        adjusted = table.values[:n][rest] + table.deltas[:n][rest]
        border = float(adjusted.max(initial=0.0 if self.open else -np.inf))
        return Shown(self.name, self._entries(np.flatnonzero(shown), absent), border)

    def _entries(self, places: IntArray, absent: list[str] | None = None) -> Entries:
        table, missing = self.table, absent or []
        keys = (*(table.key(at) for at in places.tolist()), *missing)
        values = np.concatenate([table.values[places], np.zeros(len(missing))])
        held = np.concatenate([table.counts[places] > 0, np.zeros(len(missing), dtype=np.bool_)])
        return Entries(keys, values, held)
