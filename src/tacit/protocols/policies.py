"""In which order balancing asks sites: random (the seed's), least recently used, most opposite.

A policy sees what the coordinator knows and names, for each open group, the next site to ask. It is a measured choice:
`tacit bench policies` prints the table.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from tacit.vocabulary import BoolArray, FloatArray, IntArray, OptionError
from tacit.vocabulary.arrays import AnyArray

__all__ = ["DEFAULT_POLICY", "POLICIES", "LeastRecentlyUsed", "MostOpposite", "Policy", "Random", "policy_named"]


class Policy(ABC):
    """Chooses the next site to ask, per group, and learns who took part and what drift they were left with."""

    @abstractmethod
    def choose(self, groups: IntArray, candidates: BoolArray, mass: FloatArray) -> IntArray:
        """One site per open group. ``candidates`` (n, k) can be asked; ``mass`` (k, d) is what must be balanced."""

    def took_part(self, site: int, groups: IntArray, mass: FloatArray) -> None:  # noqa: B027
        """The site joined a balancing group and was left with this drift mass."""

    def renewed(self, groups: IntArray) -> None:  # noqa: B027
        """These groups have a new estimate: every drift is 0."""

    def grow_groups(self, groups: int, *, alike: bool = False) -> None:  # noqa: B027
        """There are groups up to this number now; the new ones are new, or ``alike``: as group 0 is."""


class Random(Policy):
    """The seed's order: any site not asked yet, uniformly."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def choose(self, groups: IntArray, candidates: BoolArray, mass: FloatArray) -> IntArray:
        return np.asarray(np.where(candidates, self._rng.random(candidates.shape), -1.0).argmax(axis=0), dtype=np.int64)


class LeastRecentlyUsed(Policy):
    """The site that was left in peace longest: it has had most time to drift back, and the load spreads evenly."""

    def __init__(self, sites: int, groups: int) -> None:
        self.used = np.zeros((sites, groups), dtype=np.int64)  # when a site last took part; kernels write here too
        self.clock = np.zeros(1, dtype=np.int64)

    def choose(self, groups: IntArray, candidates: BoolArray, mass: FloatArray) -> IntArray:
        self.used = _with_rows(self.used, len(candidates))
        used = self.used[: len(candidates), groups]
        return np.asarray(np.where(candidates, used, np.iinfo(np.int64).max).argmin(axis=0), dtype=np.int64)

    def took_part(self, site: int, groups: IntArray, mass: FloatArray) -> None:
        self.clock += 1
        self.used = _with_rows(self.used, site + 1)
        self.used[site, groups] = self.clock[0]

    def grow_groups(self, groups: int, *, alike: bool = False) -> None:
        self.used = _with_columns(self.used, groups, alike)


class MostOpposite(Policy):
    """The site whose last known drift points most against what must be balanced; the least recently used of equals."""

    def __init__(self, sites: int, groups: int, dimension: int) -> None:
        self.known = np.zeros((sites, groups, dimension))
        self.recency = LeastRecentlyUsed(sites, groups)

    def choose(self, groups: IntArray, candidates: BoolArray, mass: FloatArray) -> IntArray:
        self.known = _with_rows(self.known, len(candidates))
        along = np.einsum("nkd,kd->nk", self.known[: len(candidates), groups], mass)
        along = np.where(candidates, along, np.inf)
        return self.recency.choose(groups, candidates & (along <= along.min(axis=0)), mass)

    def took_part(self, site: int, groups: IntArray, mass: FloatArray) -> None:
        self.recency.took_part(site, groups, mass)
        self.known = _with_rows(self.known, site + 1)
        self.known[site, groups] = mass

    def renewed(self, groups: IntArray) -> None:
        self.known[:, groups] = 0.0

    def grow_groups(self, groups: int, *, alike: bool = False) -> None:
        self.known = _with_columns(self.known, groups, alike)
        self.recency.grow_groups(groups, alike=alike)


def _with_rows(array: AnyArray, rows: int) -> AnyArray:
    """The array, with zeros added so that it has at least this many rows: sites may join."""
    more = rows - len(array)
    return array if more <= 0 else np.concatenate([array, np.zeros((more, *array.shape[1:]), dtype=array.dtype)])


def _with_columns(array: AnyArray, columns: int, alike: bool) -> AnyArray:
    """The array, with zeros or copies of the first added, so that it has so many columns: groups may appear."""
    more = columns - array.shape[1]
    if more <= 0:
        return array
    fresh = np.zeros((len(array), more, *array.shape[2:]), dtype=array.dtype)
    if alike and array.shape[1]:
        fresh[:] = array[:, :1]
    return np.concatenate([array, fresh], axis=1)


POLICIES = ("lru", "opposite", "random")
DEFAULT_POLICY = "lru"


def policy_named(name: str, *, sites: int, groups: int, dimension: int, rng: np.random.Generator) -> Policy:
    """The policy of this name.

    >>> type(policy_named("lru", sites=3, groups=1, dimension=2, rng=np.random.default_rng(0))).__name__
    'LeastRecentlyUsed'
    """
    if name == "random":
        return Random(rng)
    if name == "lru":
        return LeastRecentlyUsed(sites, groups)
    if name == "opposite":
        return MostOpposite(sites, groups, dimension)
    raise OptionError(f"there is no balancing policy named {name!r}; choose one of {', '.join(POLICIES)}")
