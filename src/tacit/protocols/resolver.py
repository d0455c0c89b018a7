"""What a settlement asks of whoever resolves the violations of a pane, whatever is watched.

A resolver knows nothing of clocks, leases or loss. Vectors with zones have theirs (threshold.py, broadcast.py), and so
have rankings (topk/ranker.py); what those of vectors have in common with regard to a settlement is here, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.functions.monitor import Monitor, Zones
from tacit.protocols.books import Books, spelled_out
from tacit.protocols.messages import Fit, Message, Reply, Report, Rows
from tacit.vocabulary import Answer, BoolArray, FloatArray, IntArray, ProtocolError, State

__all__ = ["Estate", "ListResolver", "Resolver", "VectorResolver", "next_version"]


@dataclass(frozen=True, slots=True, eq=False)
class Estate:
    """Who counted, who left (in which session), and what was last collected: (sites, groups, d), (sites, groups).

    Of a ranking nothing is handed on but who counted: its arrays are empty.
    """

    roster: tuple[int, ...]
    left: dict[int, int]
    collected: FloatArray
    weights: FloatArray


class Resolver(Protocol):
    """Messages in, messages out. Arrays are by site; ``grow`` makes room for more of them."""

    versions: IntArray
    """Of what each site was told last."""
    available: BoolArray
    """Who can be asked."""
    requests: int
    full_syncs: int
    touched: set[int]
    """Sites of which something must be stored anew; whoever keeps it durable takes them out."""

    @property
    def epoch(self) -> int:
        """What is told has a version that is the next multiple of this."""

    @property
    def forgetful(self) -> bool:
        """Is what sites were told lost with it, so that all are asked anew after a crash?"""

    @property
    def roster(self) -> BoolArray:
        """Who counts; written to by whoever decides it."""

    @property
    def awaited(self) -> Sequence[Any]:
        """The questions (each has a ``site``) whose answers are missing, to be said again when they may be lost."""

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; not while a resolution is under way."""

    def grow_groups(self, groups: int) -> tuple[Message, ...]:
        """There are groups up to this number now."""

    def check(self, message: Message) -> None:
        """ProtocolError for a report or a reply that does not fit this watch."""

    def resolve(self, pane: int, reports: Sequence[tuple[int, Any]]) -> tuple[Message, ...]:
        """Resolve what sites reported of one pane."""

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Ask everyone who can be asked for everything."""

    def receive(self, message: Any) -> tuple[Message, ...]:
        """An answer to one of our questions; others (late, doubled) change nothing."""

    def learn(self, fit: Fit) -> None:
        """A site says where its vectors usually are."""

    def abandon(self) -> bool:
        """Forget the resolution under way; True when all must be asked anew, for it had effects already."""

    def snapshot(self, site: int, pane: int) -> Message:
        """All that a site needs to go on from the pane after this one."""

    def recompute(self) -> None:
        """What is kept was restored: whatever follows from it is to be computed anew."""

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``."""

    def estate(self, roster: tuple[int, ...], left: dict[int, int]) -> Estate:
        """What a successor of another shape starts from."""

    def inherit(self, estate: Estate) -> None:
        """Take over what was last collected."""


class VectorResolver(ABC):
    """What a settlement asks of the resolvers of vectors: they have books, and zones made by a monitor."""

    monitor: Monitor
    zones: Zones
    books: Books
    touched: set[int]

    @property
    def roster(self) -> BoolArray:
        """Who counts."""
        return self.books.roster

    @abstractmethod
    def grow(self, sites: int) -> None:
        """Make room for sites up to this number."""

    @abstractmethod
    def grow_groups(self, groups: int) -> tuple[Message, ...]:
        """There are groups up to this number now."""

    @abstractmethod
    def start(self, pane: int, reports: Sequence[tuple[int, Rows]]) -> tuple[Message, ...]:
        """Resolve the violations of one pane."""

    def check(self, message: Message) -> None:
        """ProtocolError for rows that do not fit this watch."""
        if not isinstance(message, Report | Reply):
            raise ProtocolError(f"site {getattr(message, 'site', '?')} speaks of a ranking, and the watch is none")
        self.books.check(message.rows, may_be_empty=isinstance(message, Reply))
        if isinstance(message, Report) and self.books.template and message.known <= message.rows.groups[-1]:
            raise ProtocolError(f"site {message.site} reported a group whose number it does not know")

    def resolve(self, pane: int, reports: Sequence[tuple[int, Report]]) -> tuple[Message, ...]:
        """Resolve what sites reported of one pane."""
        return self.start(pane, [(site, self._reported(report)) for site, report in reports])

    def _reported(self, report: Report) -> Rows:
        """What a site reported, spelled out for groups of whose numbers it did not know."""
        count, rows = len(self.zones.answer), report.rows
        if not self.books.template or rows.groups[0] != 0 or report.known >= count:
            return rows
        return spelled_out(rows, np.arange(report.known, count))

    def recompute(self) -> None:
        """The books were restored: their estimates are the zones' again."""
        groups = np.arange(len(self.zones.answer))
        self.monitor.refresh(self.zones, groups, self.books.estimates(groups), make=False)

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``."""
        sides, estimates = self.zones.answer.astype(np.int64), self.zones.estimate.copy()
        return Answer(pane, state, sides, estimates, roster, stale, first)

    def estate(self, roster: tuple[int, ...], left: dict[int, int]) -> Estate:
        """What a successor starts from."""
        return Estate(roster, left, self.books.collected.copy(), self.books.weights.copy())

    def inherit(self, estate: Estate) -> None:
        """Take over what was last collected."""
        self.grow(len(estate.collected))
        self.grow_groups(estate.collected.shape[1])
        books = self.books
        books.collected[: len(estate.collected), : estate.collected.shape[1]] = estate.collected
        books.weights[: len(estate.weights), : estate.weights.shape[1]] = estate.weights
        self.touched.update(estate.roster)


class ListResolver:
    """What a settlement asks of the resolvers of rankings: nothing of what sites were told outlives them."""

    epoch, forgetful = 1, True

    def __init__(self, sites: int) -> None:
        self.roster: BoolArray = np.ones(sites, dtype=np.bool_)
        self.available: BoolArray = np.ones(sites, dtype=np.bool_)
        self.versions: IntArray = np.zeros(sites, dtype=np.int64)
        self.requests = self.full_syncs = 0
        self.touched: set[int] = set()  # sites whose versions changed

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number."""
        more = sites - len(self.roster)
        if more > 0:
            self.roster, self.available = (
                np.concatenate([each, np.zeros(more, dtype=np.bool_)]) for each in (self.roster, self.available)
            )
            self.versions = np.concatenate([self.versions, np.zeros(more, dtype=np.int64)])

    def grow_groups(self, groups: int) -> tuple[()]:
        """Objects have no numbers."""
        return ()

    def learn(self, fit: Fit) -> None:
        """Nobody fits zones here."""

    def estate(self, roster: tuple[int, ...], left: dict[int, int]) -> Estate:
        """Who counted; all are asked anew."""
        return Estate(roster, left, np.zeros((len(self.roster), 0, 0)), np.zeros((len(self.roster), 0)))

    def inherit(self, estate: Estate) -> None:
        """Make room for who counted."""
        self.grow(len(estate.collected))
        self.touched.update(estate.roster)

    def said(
        self, lists: Mapping[str, Mapping[str, float]], pane: int, state: State, roster: tuple[int, ...],
        stale: tuple[int, ...], first: int,
    ) -> Answer:  # fmt: skip
        """An answer with these lists."""
        return Answer(pane, state, np.empty(0, dtype=np.int64), np.empty((0, 0)), roster, stale, first, lists)


def next_version(version: int, epoch: int) -> int:
    """The version of a zone that is told after one of this version.

    >>> next_version(7, 1), next_version(7, 1 << 16)
    (8, 65536)
    """
    return (version // epoch + 1) * epoch
