"""What a watch says: an answer, as of a pane, with its state."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from tacit.vocabulary.arrays import FloatArray, IntArray

__all__ = ["MET", "NOT_MET", "UNKNOWN", "Answer", "Missing", "State"]

NOT_MET, MET, UNKNOWN = 0, 1, 2
"""The side of a condition. Unknown: an expression has no value (SQL's NULL); it counts as not met."""


class State(Enum):
    """How far an answer can be trusted."""

    FILLING = "filling"  # its window is not full yet
    VALID = "valid"  # within its promise at its pane
    RESOLVING = "resolving"  # a site left its zone and the sites are being asked
    STALE = "stale"  # a site is missing: its lease ran out, it never came, or its table is idle
    UNKNOWN = "unknown"  # nobody can answer for these panes any more


@dataclass(frozen=True, slots=True)
class Missing:
    """A site, by its number, that an answer goes on without: since when, on the coordinator's clock, and why."""

    site: int
    since: float
    reason: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of a watch as of a pane, one row per group.

    ``sides`` holds NOT_MET, MET or UNKNOWN; ``estimates`` the statistics the answer was computed from. ``roster``
    names the sites that count, because sites may join and leave; ``stale`` those that are missing.
    ``missing`` says of every site that is missing since when and why. ``late``: the panes were settled again after a
    site that was missing had come back. A ranking has no groups but ``lists``: their members, the first in rank first,
    with the scores that are known of them.
    """

    pane: int
    state: State
    sides: IntArray
    estimates: FloatArray
    roster: tuple[int, ...]
    stale: tuple[int, ...] = ()
    first: int | None = None  # the same answer holds from this pane on (None: for ``pane`` alone)
    lists: Mapping[str, Mapping[str, float]] | None = None
    missing: tuple[Missing, ...] = ()
    late: bool = False
    final: int | None = None  # the last pane that will not be settled once more (None: ``pane``)
