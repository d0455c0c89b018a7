"""The coordinator's half of frequent keys: decides them one by one, as sites come to speak of them.

A site that speaks of a key says its count. The coordinator asks other sites for theirs, twice as many at each turn,
until those who have spoken can share their allowances anew among themselves. If it has asked all who are there, it
knows the count of all, decides whether the key is inside, and divides the threshold anew. What goes to one site in one
round, of however many keys, is one message.

A site that is stale keeps its allowance of each key: what it may have had is counted as that.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from tacit.protocols.frequent.shares import OTHERS, Terms, above, below, defaults, floor_of
from tacit.protocols.messages import Message
from tacit.protocols.resolver import ListResolver
from tacit.protocols.topk.messages import ALL, Challenge, Flag, Inquiry, Ranked, Ranking, Showing, Shown, Sought
from tacit.vocabulary import Answer, FloatArray, ProtocolError, State
from tacit.vocabulary.batches import LARGEST
from tacit.vocabulary.keys import key_order

__all__ = ["Census"]

_ROOM = 0.1  # of an allowance: a balance that leaves less would soon be lost
_KEYS_MOST = 1024  # outside keys that are kept beside four for each inside; with more all are asked anew


@dataclass(slots=True)
class _Case:
    """What is known of a key: is it inside, the allowances (nan: the default), the counts that sites last said."""

    inside: bool
    allowed: FloatArray
    counts: FloatArray

    def grow(self, more: int) -> None:
        self.allowed = np.append(self.allowed, np.full(more, np.nan))
        self.counts = np.append(self.counts, np.full(more, np.nan))


class Census(ListResolver):
    """Messages in, messages out; knows nothing of clocks, leases or loss (a ``Resolver``)."""

    def __init__(self, terms: Terms, sites: int) -> None:
        super().__init__(sites)
        self.terms = terms
        self.cases: dict[str, _Case] = {}
        self.default: FloatArray = np.full(sites, np.nan)
        self._pane = 0
        self._whole = False  # all is asked anew
        self._spoken: dict[str, dict[int, float]] = {}  # of the keys in question, who has said which count
        self._floors: dict[int, float] = {}  # from which count on each site remembers keys, at most
        self._changed: dict[int, dict[str, None]] = {}  # what sites are to be told of when all is decided
        self._awaited: dict[int, Inquiry] = {}
        self._lists: dict[str, dict[str, float]] | None = None

    @property
    def awaited(self) -> tuple[Inquiry, ...]:
        """The inquiries whose answers are missing."""
        return tuple(self._awaited.values())

    @property
    def inside(self) -> tuple[str, ...]:
        """The keys of the answer, in order."""
        return tuple(sorted(key for key, case in self.cases.items() if case.inside))

    def grow(self, sites: int) -> None:
        """Make room for sites up to this number; not while a resolution is under way."""
        more = sites - len(self.roster)
        super().grow(sites)
        if more > 0:
            self.default = np.append(self.default, np.full(more, np.nan))
            for case in self.cases.values():
                case.grow(more)

    def check(self, message: Message) -> None:
        """ProtocolError for what is no part of a watch on frequent keys."""
        if not isinstance(message, Challenge | Showing):
            raise ProtocolError(f"site {getattr(message, 'site', '?')} reports vectors, and the watch is on keys")
        for shown in message.lists:
            values = shown.entries.values
            if not ((values >= 0.0) & (values <= LARGEST)).all() or not 0.0 <= shown.border <= LARGEST:
                raise ProtocolError(f"site {message.site} says counts that are none")
            if len(set(shown.entries.keys)) != len(shown.entries.keys):
                raise ProtocolError(f"site {message.site} speaks twice of a key")
        if [shown.list for shown in message.lists] != [""]:
            raise ProtocolError(f"site {message.site} speaks of lists that the watch does not have")

    def resolve(self, pane: int, reports: Sequence[tuple[int, Challenge]]) -> tuple[Message, ...]:
        """Decide the keys that sites speak of at a pane."""
        self._idle()
        self._pane = pane
        for site, challenge in reports:
            self._hear(site, challenge.lists[0])
        if self._crowded() or any(self._floors[site] > self.default[site] for site, _ in reports):
            return self._begin_anew()
        for site, _ in reports:
            self._changed.setdefault(site, {})  # who has spoken is answered
        return self._go_on()

    def collect_all(self, pane: int) -> tuple[Message, ...]:
        """Begin anew: ask all who are there for every key with more than an equal share of the threshold."""
        self._idle()
        self._pane = pane
        return self._begin_anew()

    def receive(self, showing: Showing) -> tuple[Message, ...]:
        """An answer to one of our inquiries; others (late, doubled) change nothing."""
        inquiry = self._awaited.get(showing.site)
        if inquiry is None or inquiry.number != showing.number:
            return ()
        shown, wanted = showing.lists[0], inquiry.lists[0]
        if not set(wanted.keys) <= set(shown.entries.keys):
            raise ProtocolError(f"site {showing.site} showed other keys than it was asked for")
        del self._awaited[showing.site]
        self._hear(showing.site, shown)
        return () if self._awaited else self._go_on()

    def abandon(self) -> bool:
        """Forget the resolution under way; some keys may have been decided that nobody was told of."""
        self._awaited, self._spoken, self._changed, self._whole = {}, {}, {}, False
        return True

    def snapshot(self, site: int, pane: int) -> Ranking:
        """All that a site needs to go on from this pane."""
        return self._ranking(site, pane, self.cases, whole=True)

    def recompute(self) -> None:
        """Nothing is kept of what sites were told: all are asked anew."""

    def answer(self, pane: int, state: State, roster: tuple[int, ...], stale: tuple[int, ...], first: int) -> Answer:
        """What is said of the panes from ``first`` to ``pane``: the keys inside, with the counts last heard of."""
        if self._lists is None:
            counts = {key: self._count(case) for key, case in self.cases.items() if case.inside}
            ranked = sorted(counts.items(), key=lambda pair: (-pair[1], key_order(pair[0])))
            self._lists = {"": dict(ranked)} if ranked else {}
        return self.said(self._lists, pane, state, roster, stale, first)

    def words(self) -> str:
        """What is known, in words."""
        return f"{len(self.inside)} keys inside, {len(self.cases)} known; everyone was asked {self.full_syncs} times"

    def _idle(self) -> None:
        if self._awaited:
            raise ProtocolError("a resolution is under way; the next one waits for its end")

    def _crowded(self) -> bool:
        inside = len(self.inside)
        return len(self.cases) - inside > _KEYS_MOST + 4 * inside

    def _there(self) -> list[int]:
        return np.flatnonzero(self.available & self.roster).tolist()

    def _hear(self, site: int, shown: Shown) -> None:
        self._floors[site] = shown.border
        for key, count in zip(shown.entries.keys, shown.entries.values.tolist(), strict=True):
            self._spoken.setdefault(key, {})[site] = count

    def _begin_anew(self) -> tuple[Message, ...]:
        members = int(np.count_nonzero(self.roster))
        self._whole, self._spoken, self.cases = True, {}, {}
        self.full_syncs += 1
        return self._ask({site: [] for site in self._there()}, depth=ALL, relief=self.terms.most / max(1, members))

    def _ask(self, keys: dict[int, list[str]], depth: int = 0, relief: float = 0.0) -> tuple[Message, ...]:
        for site in sorted(keys):
            self.requests += 1
            sought = (Sought("", tuple(keys[site]), depth, relief),)
            self._awaited[site] = Inquiry(site, self.requests, self._pane, sought)
        return tuple(self._awaited.values())

    def _go_on(self) -> tuple[Message, ...]:
        """Ask for what is missing to decide the keys in question; when nothing is, tell what has changed."""
        if self._whole:
            self._divide()
        missing: dict[int, list[str]] = {}
        for key in sorted(self._spoken):
            for site in self._decide(key):
                missing.setdefault(site, []).append(key)
        if missing:
            return self._ask(missing)
        whole, changed = self._whole, self._changed
        self._spoken, self._changed, self._whole, self._lists = {}, {}, False, None
        told: list[Message] = []
        for site in np.flatnonzero(self.roster).tolist() if whole else sorted(changed):
            self.versions[site] += 1
            self.touched.add(site)
            told.append(self._ranking(site, self._pane, self.cases if whole else changed[site], whole=whole))
        return tuple(told)

    def _divide(self) -> None:
        """The default allowances of all who count; who is not there is told when it is again."""
        members = np.flatnonzero(self.roster)
        floors = np.array([self._floors.get(site, 0.0) for site in members.tolist()])
        self.default[:] = np.nan
        self.default[members] = defaults(floors, self.terms.most)
        for site in members.tolist():
            floor = floor_of(float(self.default[site]), self.terms.most)
            self._floors[site] = max(self._floors.get(site, 0.0), floor)

    def _decide(self, key: str) -> Iterable[int]:
        """Share anew among those who have spoken, or decide if all have; else who is to be asked next."""
        spoken = self._spoken[key]
        sites = sorted(spoken)
        counts = np.array([spoken[site] for site in sites])
        case = self.cases.get(key)
        if case is None:
            case = _Case(False, np.full(len(self.roster), np.nan), np.full(len(self.roster), np.nan))
        rest = [site for site in self._there() if site not in spoken]
        if rest and not self._whole and self._shared(key, case, sites, counts):
            return ()
        if rest:
            fewest = len(rest) if self._whole else len(sites)
            return sorted(rest, key=lambda site: (-self._spare(case, site), site))[:fewest]
        self._judge(key, case, sites, counts)
        return ()

    def _spare(self, case: _Case, site: int) -> float:
        """How much of a site's allowance is free, as far as is known."""
        count = case.counts[site]
        allowed = self._allowance(case, site)
        return float(allowed if np.isnan(count) else abs(allowed - count))

    def _allowance(self, case: _Case, site: int) -> float:
        return float(self.default[site] if np.isnan(case.allowed[site]) else case.allowed[site])

    def _shared(self, key: str, case: _Case, sites: list[int], counts: FloatArray) -> bool:
        """Can those who have spoken share what they are allowed together? Then they do."""
        budget = sum(self._allowance(case, site) for site in sites)
        total = float(counts.sum())
        free = total - budget if case.inside else budget - total
        if free < _ROOM * abs(budget):
            return False
        case.allowed[sites] = (below if case.inside else above)(counts, budget)
        case.counts[sites] = counts
        self.cases[key] = case
        self._tell(sites, key)
        return True

    def _judge(self, key: str, case: _Case, sites: list[int], counts: FloatArray) -> None:
        """All who are there have spoken."""
        case.counts[sites] = counts
        members = np.flatnonzero(self.roster).tolist()
        away = [site for site in members if site not in set(sites)]
        held = np.array([max(0.0, self._allowance(case, site)) for site in away])  # what they may have, at most
        total, was = float(counts.sum()), case.inside
        case.inside = total + self._last(case, away) > self.terms.threshold
        if case.inside:
            if not was:
                case.allowed[away] = 0.0
            theirs = float(np.nan_to_num(case.allowed[away]).sum())
            case.allowed[sites] = below(counts, self.terms.least - theirs)
        else:
            if was:
                held = np.array([float(self.default[site]) for site in away])
                case.allowed[away] = held
            case.allowed[sites] = above(counts, self.terms.most - held.sum())
        self.cases[key] = case
        self._tell(members if was != case.inside else sites, key)

    def _last(self, case: _Case, away: list[int]) -> float:
        return float(np.nan_to_num(case.counts[away]).sum())

    def _tell(self, sites: Iterable[int], key: str) -> None:
        for site in sites:
            self._changed.setdefault(site, {})[key] = None

    def _count(self, case: _Case) -> float:
        return float(np.nan_to_num(case.counts[self.roster]).sum())

    def _ranking(self, site: int, pane: int, keys: Iterable[str], *, whole: bool) -> Ranking:
        """What a site is told of these keys, and of all others, which the key without letters stands for."""
        named = [key for key in keys if not np.isnan(self.cases[key].allowed[site])]
        cases = [self.cases[key] for key in named]
        flags = tuple(int(Flag.KNOWN | (Flag.MEMBER if case.inside else 0)) for case in cases)
        default = float(np.nan_to_num(self.default[site], nan=-1.0))
        allowed = np.array([default, *(case.allowed[site] for case in cases)])
        told = Ranked("", (OTHERS, *named), allowed, (0, *flags), True, whole)
        return Ranking(site, int(self.versions[site]), pane, (told,), False, whole)
