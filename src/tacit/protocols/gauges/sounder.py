"""The coordinator's half of a value kept by gauges: two phases (the seed's section 6.4).

**First phase.** Sites that report say their gauges, a few numbers each. The coordinator asks more sites for theirs,
twice as many at each turn, until the mean of those it has, with their slacks, is within the limits; each of them then
gets the slack that brings it to the mean. The sum of slacks stays 0, and whoever was not asked is not told either.

**Second phase.** If all who are there have been asked and the mean is beyond the limits, all are asked for their
arrays. From these follow the value and a new bearing, which everybody is told; slacks are 0 again.

A site that is stale keeps what was last collected from it, and its slack until the next sounding.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.protocols.gauges.gauge import Bearing, Gauge
from tacit.protocols.gauges.gauger import ONLY, padded, row_of
from tacit.protocols.messages import AdjustSlack, Fit, Message, NewEstimate, Reply, Report, Request, Snapshot
from tacit.protocols.resolver import Estate
from tacit.vocabulary import Answer, BoolArray, FloatArray, IntArray, ProtocolError, State
from tacit.vocabulary.answers import MET

__all__ = ["Sounder"]

_LARGEST = 1e300


class Sounder:
    """Messages in, messages out; knows nothing of clocks, leases or loss (a ``Resolver``).

    What sites were told is not kept beyond a crash: all are asked anew then.
    """

    epoch, forgetful = 1, True

    def __init__(self, gauge: Gauge, sites: int) -> None:
        self.gauge = gauge
        self.roster: BoolArray = np.ones(sites, dtype=np.bool_)
        self.available: BoolArray = np.ones(sites, dtype=np.bool_)
        self.versions: IntArray = np.zeros(sites, dtype=np.int64)
        self.collected: FloatArray = np.zeros((sites, gauge.size))
        self.slack: FloatArray = np.zeros((sites, gauge.gauges))
        self.requests = self.full_syncs = self.balanced = 0
        self.touched: set[int] = set()
        self.bearing: Bearing | None = None
        self._pane = 0
        self._whole = False
        self._read: dict[int, FloatArray] = {}  # what sites said in the phase under way
        self._awaited: dict[int, Request] = {}
        self._recent: IntArray = np.zeros(sites, dtype=np.int64)  # when each was last asked, to ask others first

    @property
    def awaited(self) -> tuple[Request, ...]:
        """The questions whose answers are missing."""
        return tuple(self._awaited.values())

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; not while a resolution is under way."""
        more = sites - len(self.roster)
        if more <= 0:
            return
        none = np.zeros(more, dtype=np.bool_)
        self.roster, self.available = np.append(self.roster, none), np.append(self.available, none)
        self.versions = np.append(self.versions, np.zeros(more, dtype=np.int64))
        self._recent = np.append(self._recent, np.zeros(more, dtype=np.int64))
        self.collected = np.concatenate([self.collected, np.zeros((more, self.gauge.size))])
        self.slack = np.concatenate([self.slack, np.zeros((more, self.gauge.gauges))])

    def grow_groups(self, groups: int) -> tuple[()]:
        """There is one group."""
        return ()

    def check(self, message: Message) -> None:
        """ProtocolError for what is no report or reply of this watch."""
        if not isinstance(message, Report | Reply):
            raise ProtocolError(f"site {getattr(message, 'site', '?')} speaks of a ranking, and the watch is none")
        rows, site = message.rows, message.site
        if len(rows.groups) != 1 or rows.groups[0] != 0 or len(rows.weights):
            raise ProtocolError(f"site {site} speaks of groups that the watch does not have")
        sizes = (self.gauge.gauges,) if isinstance(message, Report) else (self.gauge.gauges, self.gauge.size)
        if rows.sums.shape not in [(1, size) for size in sizes]:
            raise ProtocolError(f"site {site} says {rows.sums.size} numbers, which is not what the watch has")
        if not (np.abs(rows.sums) <= _LARGEST).all():
            raise ProtocolError(f"site {site} says numbers that cannot be computed with")

    def resolve(self, pane: int, reports: Sequence[tuple[int, Report]]) -> tuple[Message, ...]:
        """The first phase, with what sites reported."""
        self._idle()
        self._pane, self._whole = pane, False
        self._read = {site: report.rows.sums[0] for site, report in reports}
        return self._balance()

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """The second phase: ask everyone who can be asked for everything."""
        self._idle()
        self._pane = pane
        return self._sound()

    def receive(self, reply: Reply) -> tuple[Message, ...]:
        """An answer to one of our questions; others (late, doubled) change nothing."""
        request = self._awaited.get(reply.site)
        if request is None or request.number != reply.number:
            return ()
        wanted = self.gauge.size if self._whole else self.gauge.gauges
        if reply.rows.sums.size != wanted:
            raise ProtocolError(f"site {reply.site} answers something else than it was asked")
        del self._awaited[reply.site]
        self._read[reply.site] = reply.rows.sums[0]
        if self._awaited:
            return ()
        return self._take_bearing() if self._whole else self._balance()

    def learn(self, fit: Fit) -> None:
        """Nobody fits zones here."""

    def abandon(self) -> bool:
        """Forget the resolution under way. It had no effects: what follows from answers is told with the last one."""
        self._awaited, self._read = {}, {}
        whole, self._whole = self._whole, False
        return whole

    def snapshot(self, site: int, pane: int) -> Snapshot:
        """All that a site needs to go on from this pane; after a crash that is nothing, and all are asked anew."""
        sites, gauge = int(np.count_nonzero(self.roster)), self.gauge
        row = np.zeros(1 + gauge.gauges + gauge.numbers) if self.bearing is None else self.bearing.row()
        wide = max(len(row), self.gauge.size)  # tables of a snapshot are all as wide as the widest
        row, collected, slack = (padded(each, wide) for each in (row, self.collected[site], self.slack[site]))
        return Snapshot(site, int(self.versions[site]), pane, sites, row[None], row_of(collected), slack[None])

    def recompute(self) -> None:
        """Nothing is kept of what sites were told: all are asked anew."""

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``."""
        value = 0.0 if self.bearing is None else self.bearing.value
        return Answer(pane, state, np.array([MET]), np.array([[value]]), roster, stale, first)

    def estate(self, roster: tuple[int, ...], left: dict[int, int]) -> Estate:
        """Who counted, and what was last collected from each."""
        return Estate(roster, left, self.collected[:, None, :].copy(), np.ones((len(self.roster), 1)))

    def inherit(self, estate: Estate) -> None:
        """Take over what was last collected, where it is of the same size."""
        self.grow(len(estate.collected))
        if estate.collected.shape[1:] == (1, self.gauge.size):
            self.collected[: len(estate.collected)] = estate.collected[:, 0]
        self.touched.update(estate.roster)

    def words(self) -> str:
        """What happened so far, in words."""
        return f"balanced {self.balanced} times among some sites; everyone was asked {self.full_syncs} times"

    def _idle(self) -> None:
        if self._awaited:
            raise ProtocolError("a resolution is under way; the next one waits for its end")

    def _there(self) -> list[int]:
        return np.flatnonzero(self.available & self.roster).tolist()

    def _balance(self) -> tuple[Message, ...]:
        """Tell slacks if those who have spoken are in balance, else ask others, or everyone for everything."""
        assert self.bearing is not None
        spoken = sorted(self._read)
        gauges = np.stack([self._read[site] for site in spoken])
        level = (gauges + self.slack[spoken]).mean(axis=0)
        if (level <= self._room(self.bearing.limits)).all():
            return self._adjust(spoken, level - gauges)
        rest = [site for site in self._there() if site not in self._read]
        if not rest:
            return self._sound()
        rest.sort(key=lambda site: (self._recent[site], site))
        return self._ask(rest[: len(spoken)], ONLY)

    def _room(self, limits: FloatArray) -> FloatArray:
        """A balance that leaves no room would be lost with the next row."""
        return 0.9 * limits

    def _adjust(self, sites: list[int], slacks: FloatArray) -> tuple[Message, ...]:
        """The slacks of these sites add up to what they did before, but for rounding, which one of them makes up."""
        slacks[-1] += self.slack[sites].sum(axis=0) - slacks.sum(axis=0)
        self.balanced += 1
        self.slack[sites] = slacks
        told: list[Message] = []
        for site, slack in zip(sites, slacks, strict=True):
            told.append(AdjustSlack(site, self._next(site), self._pane, ONLY, slack.reshape(1, -1)))
        self._read = {}
        return tuple(told)

    def _sound(self) -> tuple[Message, ...]:
        self._whole, self._read = True, {}
        return self._ask(self._there(), ONLY[:0])

    def _ask(self, sites: Sequence[int], groups: IntArray) -> tuple[Message, ...]:
        for site in sorted(sites):
            self.requests += 1
            self._recent[site] = self.requests
            self._awaited[site] = Request(site, self.requests, self._pane, groups)
        return tuple(self._awaited.values())

    def _take_bearing(self) -> tuple[Message, ...]:
        """All have said their arrays: tell them the bearing.

        Who was not asked is told what was collected from it, which is not its own array of this pane. It must be told
        something, lost or not: what it claimed before, it claimed of another bearing.
        """
        heard, self._read, self._whole = self._read, {}, False
        for site, array in heard.items():
            self.collected[site] = array
        self.full_syncs += 1
        members = np.flatnonzero(self.roster)
        self.slack[:] = 0.0
        self.bearing = self.gauge.bearing(self.collected[members])
        row = self.bearing.row().reshape(1, -1)
        versions = {site: self._next(site) for site in members.tolist()}
        return tuple(
            NewEstimate(site, version, self._pane, len(members), ONLY, row)
            if site in heard
            else self.snapshot(site, self._pane)
            for site, version in versions.items()
        )

    def _next(self, site: int) -> int:
        self.versions[site] += 1
        self.touched.add(site)
        return int(self.versions[site])
