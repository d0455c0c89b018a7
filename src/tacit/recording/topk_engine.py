"""Replays a top-k watch: a kernel through silence, the machines of protocols/topk at every violation.

All sites live in flat arrays; ``Contest`` objects look at the part of one list at one site. Every message is counted as
it would cross the wire.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from tacit.protocols._kernels_topk import advance, look
from tacit.protocols.topk.bout import Rules
from tacit.protocols.topk.contest import Contest
from tacit.protocols.topk.leeway import Policy
from tacit.protocols.topk.messages import Challenge, Flag, Inquiry, Ranking, Showing
from tacit.protocols.topk.ranker import Ranker
from tacit.recording.topk_arrays import Arenas, TopkRows, arenas_of
from tacit.recording.updates import Updates
from tacit.vocabulary import ByteArray, FloatArray, IntArray
from tacit.vocabulary.arrays import AnyArray
from tacit.wire.ledger import COORDINATOR, Ledger

__all__ = ["SetChange", "TopkEngine", "TopkOutcome", "first_windows"]

_BLOCK = 1 << 20
_CHUNK = 1 << 16
MEMBER = int(Flag.MEMBER)


@dataclass(frozen=True, slots=True)
class SetChange:
    """From this update on the list has these members (object numbers)."""

    update: int
    list: int
    members: tuple[int, ...]
    scores: tuple[float, ...]


@dataclass(slots=True)
class TopkOutcome:
    """What a replay did."""

    changes: list[SetChange] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    violations: int = 0
    full_syncs: int = 0
    entries: list[int] = field(default_factory=list)  # of every message that carries objects
    talks: list[tuple[int, int]] = field(default_factory=list)  # (update, messages of its resolution)


class _ArenaTable:
    """The objects of one arena (``contest.Table``): slices of the engine's arrays."""

    def __init__(self, engine: TopkEngine, arena: int) -> None:
        self._engine, self._arena = engine, arena
        self._found: dict[str, int] = {}
        self._sorted = int(engine.arenas.used[arena])  # objects that have rows come first, in order

    @property
    def _slice(self) -> slice:
        arenas, arena = self._engine.arenas, self._arena
        begin = int(arenas.start[arena])
        return slice(begin, begin + int(arenas.room[arena]))

    @property
    def values(self) -> FloatArray:
        return self._engine.values[self._slice]

    @property
    def counts(self) -> IntArray:
        return self._engine.counts[self._slice]

    @property
    def deltas(self) -> FloatArray:
        return self._engine.deltas[self._slice]

    @property
    def flags(self) -> ByteArray:
        return self._engine.flags[self._slice]

    @property
    def told(self) -> FloatArray:
        return self._engine.told[self._slice]

    @property
    def size(self) -> int:
        return int(self._engine.arenas.used[self._arena])

    def find(self, key: str) -> int:
        at = self._found.get(key)
        if at is None:
            number = self._engine.number(self._arena, key)
            own = self._engine.arenas.object[self._slice][: self._sorted]
            at = int(np.searchsorted(own, number))
            at = self._found[key] = at if at < len(own) and own[at] == number else -1
        return at

    def add(self, key: str) -> int:
        arenas, arena = self._engine.arenas, self._arena
        at = int(arenas.used[arena])
        if at == arenas.room[arena]:
            self._engine.make_room(arena)
        number = self._engine.number(arena, key)
        self._found[key] = at
        arenas.object[int(arenas.start[arena]) + at] = number
        arenas.used[arena] += 1
        return at

    def key(self, place: int) -> str:
        return self._engine.rows.keys[int(self._engine.arenas.object[self._slice][place])]


class TopkEngine:
    """Replays one watch; ``run`` once."""

    def __init__(
        self, rows: TopkRows, updates: Updates, *, policy: Policy | None = None, relief: int = 20
    ) -> None:  # fmt: skip
        self.rows, self.updates, self.outcome = rows, updates, TopkOutcome()
        self.arenas: Arenas = arenas_of(rows)
        goal = rows.goal
        epsilon = float(np.floor(goal.within)) if rows.exact else goal.within
        ranked = np.inf if goal.ranked is None else goal.ranked
        quantum = 1.0 if rows.exact else 0.0
        rules = Rules(goal.k, epsilon, quantum, policy or Policy(), closed=not goal.largest, ranked=ranked)
        self.ranker = Ranker(rules, rows.sites)
        places, count = len(self.arenas.object), len(rows.lists) * rows.sites
        self.values, self.deltas, self.told = np.zeros((3, places))
        self._whole, self._lost = (np.zeros(0 if rows.exact else places) for _ in range(2))
        self.counts = np.zeros(places, dtype=np.int64)
        self.flags = np.zeros(places, dtype=np.uint8)
        self._members = np.zeros(count, dtype=np.int64)
        most = int(np.bincount(rows.list_of, minlength=1).max())  # objects that a list can have
        self._cells = np.zeros((count, min(goal.k, most)), dtype=np.int64)
        self._opened, self._width = np.zeros(count, dtype=np.bool_), np.full(count, np.inf)
        self._floor, self._ceiling = np.full(count, np.inf), np.full(count, -np.inf)
        self._contests = [
            Contest(rows.lists[arena // rows.sites], _ArenaTable(self, arena), relief=relief) for arena in range(count)
        ]
        self._places: list[dict[str, int]] = []
        self._names = {name: number for number, name in enumerate(rows.lists)}
        self._said: dict[int, dict[int, float]] = {}
        self._updates_seen = np.zeros(rows.sites, dtype=np.int64)
        self._sent = 0

    def number(self, arena: int, key: str) -> int:
        """The number of an object of an arena's list; -1 for one that the recording does not have."""
        if not self._places:
            self._places = [{} for _ in self.rows.lists]
            for number, (each, name) in enumerate(zip(self.rows.keys, self.rows.list_of.tolist(), strict=True)):
                self._places[name][each] = number
        return self._places[arena // self.rows.sites].get(key, -1)

    def make_room(self, arena: int) -> None:
        """Twice the room for an arena: all that is behind it moves."""
        arenas = self.arenas
        more, end = int(arenas.room[arena]), int(arenas.start[arena] + arenas.room[arena])

        def wider(array: AnyArray, nothing: int = 0) -> AnyArray:
            return np.insert(array, end, np.full(more, nothing, dtype=array.dtype)) if len(array) else array

        self.values, self.deltas, self.told = map(wider, (self.values, self.deltas, self.told))
        self._whole, self._lost = wider(self._whole), wider(self._lost)
        self.counts, self.flags = wider(self.counts), wider(self.flags)
        arenas.object = wider(arenas.object, -1)
        arenas.start[arenas.start >= end] += more
        arenas.room[arena] += more

    def run(self, progress: Callable[[int, int], None] | None = None) -> TopkOutcome:
        """Replay everything; ``progress`` hears (updates done, updates in all) now and then."""
        updates, rows, arenas = self.updates, self.rows, self.arenas
        at_lo, at_hi = first_windows(updates, rows.sites)
        count = len(self._members)
        dirty, out = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        marked = np.zeros(count, dtype=np.bool_)
        done, total = 0, len(updates.site)
        while done < total:
            end = min(total, done + _BLOCK)
            while end < total and not updates.last[end - 1]:
                end += 1
            done, broken = advance(
                done, end, updates.site, updates.lo, updates.hi, updates.last, at_lo, at_hi, arenas.arena,
                arenas.local, rows.score, rows.exact, arenas.start, arenas.used, self._members, self._cells,
                self._opened, self._width, self.values, self._whole, self._lost, self.counts, self.deltas, self.flags,
                self.told, self._floor, self._ceiling, self._updates_seen, dirty, marked, out,
            )  # fmt: skip
            if broken:
                self._resolve(done - 1, sorted(out[:broken].tolist()))
            if progress is not None:
                progress(done, total)
        self.outcome.full_syncs = self.ranker.full_syncs
        return self.outcome

    def _resolve(self, update: int, broken: list[int]) -> None:
        """One step's violations, to their end."""
        before, sites, touched = self._sent, self.rows.sites, set(broken)
        while broken:
            self.outcome.violations += len(broken)
            said: dict[int, list[int]] = {}
            for arena in broken:
                said.setdefault(arena % sites, []).append(arena)
            reports = {site: tuple(self._contests[a].challenge() for a in said[site]) for site in sorted(said)}
            seen = {site: int(self._updates_seen[site]) for site in reports}
            for site, lists in reports.items():
                version = int(self.ranker.versions[site])
                self._send(site, COORDINATOR, Challenge(site, 1, update, version, seen[site], lists))
            messages = self.ranker.start(update, reports, seen)
            while messages and isinstance(messages[0], Inquiry):
                messages = self._ask(messages)
            changed: set[int] = set()
            for message in messages:
                assert isinstance(message, Ranking)
                self._send(COORDINATOR, message.site, message)
                for ranked in message.lists:
                    arena = self._names[ranked.list] * sites + message.site
                    self._contests[arena].install(ranked)
                    changed.add(arena)
            touched |= changed
            broken = sorted(arena for arena in changed if self._refresh(arena))
        for arena in touched:
            self._contests[arena].plain = False
        for name in sorted({arena // sites for arena in touched}):
            self._note_set(update, name)
        self.outcome.talks.append((update, self._sent - before))

    def _ask(self, inquiries: tuple[Inquiry | Ranking, ...]) -> tuple[Inquiry | Ranking, ...]:
        answers: tuple[Inquiry | Ranking, ...] = ()
        for inquiry in inquiries:
            assert isinstance(inquiry, Inquiry)
            self._send(COORDINATOR, inquiry.site, inquiry)
            contests = [
                self._contests[self._names[each.list] * self.rows.sites + inquiry.site] for each in inquiry.lists
            ]
            lists = tuple(contest.show(sought) for contest, sought in zip(contests, inquiry.lists, strict=True))
            seen = int(self._updates_seen[inquiry.site])
            showing = Showing(inquiry.site, inquiry.number, inquiry.pane, seen, lists)
            self._send(inquiry.site, COORDINATOR, showing)
            answers = self.ranker.receive(showing)
        return answers

    def _refresh(self, arena: int) -> bool:
        """The kernel's view of an arena that was told something; is a constraint broken?"""
        arenas, contest = self.arenas, self._contests[arena]
        table = contest.table
        members = np.flatnonzero(table.flags[: table.size] & MEMBER)
        self._members[arena] = len(members)
        self._cells[arena, : len(members)] = members
        self._opened[arena], self._width[arena] = contest.open, contest.width
        return bool(
            look(
                arena,
                arenas.start,
                arenas.used,
                self._members,
                self._cells,
                self._opened,
                self._width,
                self.values,
                self.counts,
                self.deltas,
                self.flags,
                self.told,
                self._floor,
                self._ceiling,
            )
        )

    def _note_set(self, update: int, name: int) -> None:
        scores = self.ranker.scores(self.rows.lists[name])
        said = {self.number(name * self.rows.sites, key): score for key, score in scores.items()}
        before = self._said.get(name, {})
        if set(said) != set(before) or (self.rows.goal.ranked is not None and said != before):
            self._said[name] = said
            self.outcome.changes.append(SetChange(update, name, tuple(said), tuple(said.values())))

    def _send(self, source: int, target: int, message: Challenge | Inquiry | Showing | Ranking) -> None:
        self._sent += 1
        self.outcome.ledger.add(source, target, message)
        match message:
            case Challenge() | Showing():
                self.outcome.entries.append(sum(len(each.entries) for each in message.lists))
            case Ranking():
                self.outcome.entries.append(sum(len(each.keys) for each in message.lists))


def first_windows(updates: Updates, sites: int) -> tuple[IntArray, IntArray]:
    """Every window starts empty, at its site's first row."""
    lo, missing = np.zeros(sites, dtype=np.int64), set(range(sites))
    for begin in range(0, len(updates.site), _CHUNK):
        if not missing:
            break
        found, at = np.unique(updates.site[begin : begin + _CHUNK], return_index=True)
        for site, place in zip(found.tolist(), at.tolist(), strict=True):
            if site in missing:
                missing.discard(site)
                lo[site] = updates.lo[begin + place]
    return lo, lo.copy()
