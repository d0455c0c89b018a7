"""The sentences of the top-k protocol, as frozen values.

A watch keeps one list, or one for each value of its PER column; every message carries parts for the lists it is about.
Objects are named by their keys: a coordinator knows only those that were ever in question, a site only its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import IntFlag

import numpy as np

from tacit.vocabulary import BoolArray, FloatArray

__all__ = [
    "ALL",
    "Challenge",
    "Entries",
    "Flag",
    "Inquiry",
    "Ranked",
    "Ranking",
    "Showing",
    "Shown",
    "Sought",
    "no_entries",
]

ALL = -1  # as a depth: every object that the site has


class Flag(IntFlag):
    """What an object is at a site, as far as the coordinator has said."""

    MEMBER = 1  # it is in the set
    GUARD = 2  # the site says so when it has no rows of it any more
    KNOWN = 4  # the coordinator knows of it


@dataclass(frozen=True, slots=True, eq=False)
class Entries:
    """Objects with their scores at a site, and whether it has rows of them."""

    keys: tuple[str, ...]
    values: FloatArray
    held: BoolArray

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What a site shows of a list.

    ``border`` is the largest adjusted score among all objects that are not shown (-inf where there is none). With a
    ``relief`` the site shows one member that has fallen by so much below others, ``broken`` of them, and nothing else.
    Without, ``broken`` in a challenge says that so many are in question that they are not listed. In the answer to a
    question about a relief, ``broken`` is how many constraints would fail here.
    """

    list: str
    entries: Entries
    border: float
    relief: float = 0.0
    broken: int = 0


@dataclass(frozen=True, slots=True)
class Sought:
    """What a site is asked to show of a list: these objects, and with a ``depth`` its so many largest ones.

    With a depth the border is without adjustments. With a ``relief`` it is asked how many constraints would fail if
    the first object had so much less.
    """

    list: str
    keys: tuple[str, ...]
    depth: int = 0
    relief: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Ranked:
    """What a site is told of a list: new adjustments of some objects, and what these are now.

    ``open``: any object may come, and counts as 0 until it is told of. ``full``: all other adjustments are 0 and all
    other flags are down. ``plain``: violations of this pane are told plainly, without relief. A member's score is told
    again when it is further than ``width`` from what it counts as (``scores``; inf: it need not be known).
    """

    list: str
    keys: tuple[str, ...]
    deltas: FloatArray
    flags: tuple[int, ...]
    open: bool
    full: bool = False
    plain: bool = False
    width: float = math.inf
    scores: FloatArray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True, eq=False)
class Challenge:
    """At this pane the site's constraints do not hold (phase 1). ``updates`` is how many it has seen so far."""

    site: int
    number: int
    pane: int
    version: int
    updates: int
    lists: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Inquiry:
    """The coordinator asks a site as of a pane. ``number`` pairs it with its answer.

    Adjusted scores must be those that the coordinator knows of: a site that was told something else than this
    ``version`` does not answer (0: no adjustments are asked for).
    """

    site: int
    number: int
    pane: int
    lists: tuple[Sought, ...]
    version: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Showing:
    """The answer to an inquiry."""

    site: int
    number: int
    pane: int
    updates: int
    lists: tuple[Shown, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The coordinator tells a site its adjustments as of a pane; ``again``: the pane is to be checked once more.

    ``whole``: these are all lists that the coordinator knows, and all that it has to say of them (a snapshot).
    """

    site: int
    version: int
    pane: int
    lists: tuple[Ranked, ...]
    again: bool = False
    whole: bool = False


def no_entries() -> Entries:
    """Nothing to show."""
    return Entries((), np.empty(0), np.empty(0, dtype=np.bool_))
