"""How a threshold is divided among sites, key by key.

A site's count of a key is what its sketch estimates: the least of the key's cells there. What all sites together have
is the sum f of these; it is at most what the sum of the sketches would say, because a sum of minima is at most the
minimum of sums, and so Lemma 1 of the seed holds of it.

A key outside the answer has an *allowance* a_i at every site, and these sum to at most threshold + margin: while every
site has at most its own, f is at most that. A key inside has allowances that sum to at least threshold - margin, and
every site has at least its own. Keys that nobody has spoken of are outside, with the default allowance of each site.

>>> above(np.array([30.0, 0.0]), 100.0), below(np.array([80.0, 40.0]), 90.0)
(array([82.49999995, 17.49999998]), array([60.00000002, 30.00000001]))
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.vocabulary import FloatArray, ProtocolError

__all__ = ["CAUTION", "FLOOR", "HIGHEST", "OTHERS", "UNTOLD", "Terms", "above", "below", "defaults", "floor_of"]

CAUTION = 1e-9
"""Of what is free so much stays free, so that the rounding of sums cannot make a wrong answer valid."""
OTHERS = ""
"""Stands for all keys of which nothing else is said; no key has so few letters."""
FLOOR = 16.0
"""A site remembers keys that have at least a so manieth of its default allowance: a smaller one may be told."""
UNTOLD = 4096.0
"""Before it is told one, it remembers keys that have at least a so manieth of the threshold."""
HIGHEST = 1024.0
"""And always those that have at least a so manieth of the threshold, so that many sites that were once alone fit."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What a watch on frequent keys promises: inside is who has more than the threshold, give or take the margin."""

    threshold: float
    margin: float = 0.0

    @property
    def most(self) -> float:
        """What the allowances of a key outside may sum to."""
        return self.threshold + self.margin

    @property
    def least(self) -> float:
        """What the allowances of a key inside must sum to."""
        return self.threshold - self.margin


def floor_of(default: float, most: float) -> float:
    """From which count on a site with this default allowance remembers keys, of which all sites may have the most.

    >>> floor_of(64.0, 8192.0), floor_of(8192.0, 8192.0)
    (4.0, 8.0)
    """
    return min(default / FLOOR, most / HIGHEST)


def above(counts: FloatArray, budget: float) -> FloatArray:
    """Allowances of a key outside: the counts, and of what is left half alike and half by the counts."""
    total = float(counts.sum())
    left = (budget - total) * (1.0 - CAUTION)
    return np.asarray(counts + left * 0.5 * (1.0 / len(counts) + _portions(counts, total)))


def below(counts: FloatArray, budget: float) -> FloatArray:
    """Allowances of a key inside: each site may lose the same share of what it has."""
    total = float(counts.sum())
    return np.asarray(counts - (total - budget) * (1.0 - CAUTION) * _portions(counts, total))


def _portions(counts: FloatArray, total: float) -> FloatArray:
    return counts / total if total > 0.0 else np.full(len(counts), 1.0 / len(counts))


def defaults(floors: FloatArray, budget: float) -> FloatArray:
    """Allowances of keys that nobody speaks of: alike, but at no site below what it remembers keys from.

    ProtocolError when these are more than there is to divide: a site of this watch says no such floor.

    >>> defaults(np.array([1.0, 60.0, 1.0]), 90.0).round(3)
    array([15., 60., 15.])
    """
    budget *= 1.0 - CAUTION
    if floors.sum() > budget:
        raise ProtocolError("the sites of a watch on frequent keys remember too few of them for its threshold")
    found = np.full(len(floors), budget / max(1, len(floors)))
    high = np.zeros(len(floors), dtype=np.bool_)
    while (floors[~high] > found[~high]).any():
        high |= floors > found
        found[high] = floors[high]
        found[~high] = (budget - floors[high].sum()) / max(1, np.count_nonzero(~high))
    return found
