"""The resolution of one list at one pane: who was asked, what was shown, and what follows from it.

Phases (seed 002, section 3.1, corrected as in ALGORITHMS.md, section 3). Phase 2 tries to settle with each reporting
site alone: its adjusted scores and the coordinator's own adjustments prove that nothing outside has overtaken. Phase 3
asks everyone for the objects in question, chooses the set anew and shares out all leeway. It fails when an object that
is not in question might be ahead; then the threshold algorithm searches all sites for the largest, deeper and deeper,
and all adjustments begin anew.

A member that alone has fallen below many others (appendix C) is relieved first: the site that would break the fewest
constraints takes over what it lacks, and is resolved plainly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum

import numpy as np

from tacit.protocols.topk.leeway import parts
from tacit.protocols.topk.messages import ALL, Ranked, Shown, Sought
from tacit.protocols.topk.rules import Rules, all_finite, check_numbers, holds
from tacit.protocols.topk.standings import NOBODY, Standings
from tacit.vocabulary import BoolArray, FloatArray, IntArray, ProtocolError
from tacit.vocabulary.keys import key_order

__all__ = ["OBJECTS_MOST", "Bout", "Phase", "Rules"]


OBJECTS_MOST = 1 << 16
"""When so many objects of a list have been in question all begins anew, and only those that matter are known."""


class Phase(Enum):
    """How far a resolution has come."""

    RELIEVING = "relieving"
    ASKING = "asking everyone"
    SEARCHING = "searching"
    DONE = "done"


class Bout:
    """One list, from violations to what sites are told: ``needs``, then ``take``, until ``phase`` is DONE."""

    def __init__(
        self, rules: Rules, standings: Standings, roster: IntArray, available: Iterable[int], rates: FloatArray,
        most: int = OBJECTS_MOST,
    ) -> None:  # fmt: skip
        self.rules, self.standings, self.known = rules, standings, len(standings)
        self.phase = Phase.DONE
        self.told: dict[int, Ranked] = {}
        self.again = False
        self.asked_all = False
        self._roster, self._available, self._rates, self._most = roster, sorted(available), rates, most
        self._values: dict[int, dict[str, tuple[float, bool]]] = {}
        self._borders: dict[int, float] = {}
        self._broken: dict[int, int] = {}
        self._sought: tuple[str, ...] = ()
        self._depth = 0
        self._fallen: tuple[int, str, float] = (NOBODY, "", 0.0)

    def challenged(self, reports: Mapping[int, Shown]) -> None:
        """Sites have reported violations of this list. What cannot be is not believed: all are asked anew."""
        try:
            self.check(reports)
        except ProtocolError:
            self.search()
            return
        for site, shown in reports.items():
            rows = self.standings.rows(shown.entries.keys)
            self.standings.shown[rows, site] = shown.entries.values
        too_many = self.known > self._most or any(each.broken and not each.relief for each in reports.values())
        if too_many or self._is_far(self.standings.shown[self.standings.members]):
            self.search()
            return
        reliefs = {site: shown for site, shown in reports.items() if shown.relief > 0.0}
        if reliefs:
            self._relieve(reports, reliefs)
            return
        for site, shown in reports.items():
            self._note(site, shown)
        self._note_width()
        if not self._settle_alone(sorted(reports)):
            self._ask_everyone()

    def check(self, reports: Mapping[int, Shown]) -> None:
        """ProtocolError for reports that cannot be; nothing has changed then."""
        standings, name = self.standings, self.standings.name or "the list"
        for site, shown in reports.items():
            entries = shown.entries
            check_numbers(site, shown)
            if not len(entries) and not shown.broken:
                raise ProtocolError(f"site {site} challenges {name} and shows nothing")
            if shown.relief:
                row = standings.find(entries.keys[0]) if len(entries) == 1 else -1
                if row < 0 or not standings.member[row]:
                    raise ProtocolError(f"site {site} asks for relief of what is not in {name}")
            elif shown.border == -np.inf and not shown.broken and self._has_others(entries.keys):
                raise ProtocolError(f"site {site} shows no border of {name}, but there are others")

    def _has_others(self, keys: tuple[str, ...]) -> bool:
        """Are there objects outside beside these? In an open list there always may be."""
        places = [at for at in map(self.standings.find, keys) if at >= 0]
        return self.standings.open or bool(len(self.standings.rest(np.array(places, dtype=np.int64))))

    def _is_far(self, scores: FloatArray) -> bool:
        """Have scores become so small beside their adjustments that all must begin anew?"""
        return self.standings.is_far(scores, self.rules.epsilon, whole=bool(self.rules.quantum))

    def search(self) -> None:
        """Begin anew: the threshold algorithm over all available sites."""
        self._note_width()
        self.phase, self.asked_all = Phase.SEARCHING, True
        self._values, self._borders = {}, {}
        self._sought, self._depth = (), ALL if self.rules.closed else self.rules.k

    def needs(self) -> dict[int, Sought]:
        """What has to be asked now."""
        name = self.standings.name
        if self.phase is Phase.RELIEVING:
            site, key, amount = self._fallen
            others = [other for other in self._available if other != site]
            return {other: Sought(name, (key,), relief=amount) for other in others}
        if self.phase is Phase.ASKING:
            return {
                site: Sought(name, self._sought)
                for site in self._available
                if any(key not in self._values.get(site, {}) for key in self._sought)
            }
        if self.phase is Phase.SEARCHING:
            missing = {site: self._missing(site) for site in self._available}
            if any(missing.values()):
                return {site: Sought(name, keys) for site, keys in missing.items() if keys}
            return {
                site: Sought(name, (), self._depth)
                for site in self._available
                if site not in self._borders or self._borders[site] > -np.inf
            }
        return {}

    def take(self, shown: Mapping[int, Shown]) -> None:
        """All answers to what was asked."""
        searching_deep = self.phase is Phase.SEARCHING and not any(map(self._missing, self._available))
        for site, each in shown.items():
            if self.phase is Phase.RELIEVING:
                self._broken[site] = each.broken
            else:
                self._note(site, each, border=self.phase is Phase.ASKING or searching_deep)
        if self.phase is Phase.RELIEVING:
            self._hand_over()
        elif self.phase is Phase.ASKING:
            if not self._choose():
                self.search()
        elif not any(map(self._missing, self._available)):
            self._found()

    def check_answer(self, site: int, shown: Shown) -> None:
        """ProtocolError unless the site has shown what it was asked for; ``take`` relies on it."""
        check_numbers(site, shown)
        if self.phase is Phase.RELIEVING:
            return
        asking = self.phase is Phase.ASKING
        asked = self._sought if asking else self._missing(site)
        keys = set(shown.entries.keys)
        if not keys.issuperset(asked) or (asking and len(keys) != len(asked)):
            raise ProtocolError(f"site {site} showed other objects than it was asked for")
        if asking and shown.border == -np.inf and self._has_others(self._sought):
            raise ProtocolError(f"site {site} shows no border of {self.standings.name or 'the list'}")
        if self.phase is Phase.SEARCHING and not asked and self._depth == ALL and shown.border > -np.inf:
            raise ProtocolError(f"site {site} was asked for everything and says that there is more")

    def _note(self, site: int, shown: Shown, *, border: bool = True) -> None:
        entries = shown.entries
        known = self._values.setdefault(site, {})
        known.update(zip(entries.keys, zip(entries.values.tolist(), entries.held.tolist(), strict=True), strict=True))
        if border:
            self._borders[site] = shown.border

    def _note_width(self) -> None:
        """Each site may be off by its part of what the whole may be off."""
        width = self.rules.ranked / max(1, len(self._roster))
        quantum = self.rules.quantum
        self.standings.width = float(np.floor(width / quantum) * quantum) if quantum and width < np.inf else width

    # Phase 2.

    def _settle_alone(self, sites: list[int]) -> bool:
        """Settle with each of these sites alone, one after the other; nothing is changed unless it works for all."""
        standings, epsilon = self.standings, self.rules.epsilon
        deltas = standings.deltas
        changed: dict[int, tuple[IntArray, FloatArray]] = {}
        own = standings.deltas[:, 0].copy()
        shift = np.zeros(len(own))
        for site in sites:
            keys = tuple(self._values[site])
            if any(standings.find(key) < 0 for key in keys) and not standings.open:
                return False
            rows = standings.rows(keys)
            if len(deltas) != len(standings.deltas):
                deltas = standings.deltas
                own, shift = (np.concatenate([each, np.zeros(len(deltas) - len(own))]) for each in (own, shift))
            held = np.array([self._values[site][key][1] for key in keys], dtype=np.bool_)
            member = standings.member[rows]
            gone = (standings.guardian[rows] == site) & ~held
            if (gone | (~standings.known[rows] & (not standings.open))).any() or not member.any():
                return False
            values = np.array([self._values[site][key][0] for key in keys])
            adjusted, before = values + deltas[rows, site + 1], own[rows]
            borders = self._pair_of_borders(site, rows, member, adjusted, own)
            leeway = adjusted + before - sum(borders) + epsilon * member
            if not holds(leeway, member):
                return False
            given = 1.0 - self.rules.policy.kept(epsilon, standings.largest)
            share = parts(leeway, member, np.array([given]), self.rules.quantum)[:, 0]
            fresh = borders[1] - values + share
            shift[rows] += fresh - deltas[rows, site + 1]
            own[rows] = -(deltas[rows, 1:].sum(axis=1) + shift[rows])
            changed[site] = (rows, fresh)
        for site, (rows, fresh) in changed.items():
            standings.deltas[rows, site + 1] = fresh
            standings.balance(rows)
            self.told[site] = standings.ranked(rows, site)
        return True

    def _pair_of_borders(
        self, site: int, rows: IntArray, member: BoolArray, adjusted: FloatArray, own: FloatArray
    ) -> tuple[float, float]:
        """The borders of the coordinator and of the site, for the objects that are not in question."""
        standings, n = self.standings, len(self.standings)
        others = np.ones(n, dtype=np.bool_)
        others[rows] = False
        others &= ~standings.member[:n]
        if not standings.open:
            others &= standings.known[:n]
            if not others.any():
                return float(own[rows][member].min() + self.rules.epsilon), float(adjusted[member].min())
        border = self._borders[site]
        if border == -np.inf:
            raise ProtocolError(f"site {site} shows no border of {standings.name or 'the list'}, but there are others")
        least = 0.0 if standings.open else -np.inf
        return float(own[:n][others].max(initial=least)), border

    # Phase 3.

    def _ask_everyone(self) -> None:
        standings = self.standings
        keys = dict.fromkeys(standings.keys[row] for row in standings.members.tolist())
        for known in self._values.values():
            keys |= dict.fromkeys(known)
        self.phase, self._sought, self.asked_all = Phase.ASKING, tuple(keys), True
        if not self.needs():
            self.take({})

    def _choose(self) -> bool:
        """All have shown the objects in question: the new set and all adjustments, if that is proved to be right."""
        standings, rules, sites = self.standings, self.rules, np.array(self._available, dtype=np.int64)
        rows = standings.rows(self._sought)
        values, held = self._tables(self._sought)
        if self._is_far(values):
            return False
        deltas = standings.deltas[np.ix_(rows, sites + 1)]
        there: BoolArray = np.asarray(held.any(axis=1))
        if len(sites) < len(self._roster):  # who is away may have it
            there |= (standings.member[rows] | standings.known[rows]) & ~np.isin(standings.guardian[rows], sites)
        own = standings.deltas[rows, 0]
        sums = own + (values + deltas).sum(axis=1)
        all_finite(sums)
        member = self._largest(sums, there, self._sought)
        rest = standings.rest(rows)
        open_now = standings.open
        if np.count_nonzero(member) < rules.k and (open_now or len(rest)):
            return False
        if open_now or len(rest):
            borders = np.array([rest.max(initial=0.0 if open_now else -np.inf), *self._borders_of(sites)])
            if not np.isfinite(borders).all():
                raise ProtocolError(f"a site shows no border of {standings.name or 'the list'}, but there are others")
        else:
            borders = self._own_borders(values + deltas, own, member)
        if not open_now and not rules.closed and np.count_nonzero(member) == rules.k:
            wide = np.maximum(borders, 0.0) if len(rest) else np.zeros(len(borders))
            if (sums[member] - wide.sum() + rules.epsilon).min() >= 0.0:
                borders, open_now = wide, True
        leeway = sums - borders.sum() + rules.epsilon * member
        some = there | open_now  # of a closed list those that are not there do not count
        if member.any() and not holds(leeway[some], member[some]):
            return False
        standings.open = bool(open_now)
        self._share_out(rows[some], sites, values[some], leeway[some], member[some], borders)
        self._flag(rows, there, member, values, held, sites)
        standings.shown[np.ix_(rows, sites)] = values
        standings.largest = float(np.abs(sums).max(initial=0.0))
        self._tell_all(rows)
        return True

    def _borders_of(self, sites: IntArray) -> list[float]:
        return [self._borders[site] for site in sites.tolist()]

    def _own_borders(self, adjusted: FloatArray, own: FloatArray, member: BoolArray) -> FloatArray:
        """Where every object is in question, members themselves are the border."""
        if not member.any():
            return np.zeros(adjusted.shape[1] + 1)
        return np.array([own[member].min() + self.rules.epsilon, *adjusted[member].min(axis=0)])

    def _share_out(
        self, rows: IntArray, sites: IntArray, values: FloatArray, leeway: FloatArray, member: BoolArray,
        borders: FloatArray,
    ) -> None:  # fmt: skip
        """Algorithm 3.1 over everyone who takes part; an object's adjustments sum to 0 before and after."""
        standings = self.standings
        if not member.any():
            return
        _, fractions = self.rules.policy.fractions(self.rules.epsilon, standings.largest, self._rates[sites])
        fresh = borders[1:] - values + parts(leeway, member, fractions, self.rules.quantum)
        standings.deltas[np.ix_(rows, sites + 1)] = fresh
        standings.balance(rows)

    def _flag(
        self, rows: IntArray, there: BoolArray, member: BoolArray, values: FloatArray, held: BoolArray, sites: IntArray
    ) -> None:
        """Who is inside, which objects there are, and who guards them."""
        standings = self.standings
        best = np.where(held, values, -np.inf).argmax(axis=1)
        guardian = np.where(held.any(axis=1), sites[best], standings.guardian[rows])
        standings.member[:] = False
        standings.member[rows[member]] = True
        if standings.open:
            standings.known[:] = False
            standings.guardian[:] = NOBODY
        else:
            standings.known[rows] = there
            standings.deltas[rows[~there]] = 0.0
        standings.guardian[rows] = np.where(member | (there & (not standings.open)), guardian, NOBODY)

    def _largest(self, sums: FloatArray, there: BoolArray, keys: tuple[str, ...]) -> BoolArray:
        """The k largest of the objects that are there; of equals those with the smallest keys."""
        able = np.flatnonzero(there).tolist()
        able.sort(key=lambda at: (-sums[at], key_order(keys[at])))
        member = np.zeros(len(sums), dtype=np.bool_)
        member[able[: self.rules.k]] = True
        return member

    def _tables(self, keys: tuple[str, ...]) -> tuple[FloatArray, BoolArray]:
        """Scores (objects, sites) of who takes part, and who has rows of them."""
        nothing = (0.0, False)
        pairs = [[self._values[site].get(key, nothing) for site in self._available] for key in keys]
        table = np.array(pairs, dtype=np.float64).reshape(len(keys), len(self._available), 2)
        return table[:, :, 0].copy(), table[:, :, 1] > 0

    def _tell_all(self, rows: IntArray, *, full: bool = False) -> None:
        for site in self._roster.tolist():
            self.told[site] = self.standings.ranked(rows, site, full=full)
        self.phase = Phase.DONE

    # The threshold algorithm.

    def _missing(self, site: int) -> tuple[str, ...]:
        """What others have shown and this site has not; nothing where it has shown all that it has."""
        mine = self._values.get(site, {})
        if self._borders.get(site, -np.inf) == -np.inf:
            return ()
        keys = dict.fromkeys(key for known in self._values.values() for key in known)
        return tuple(key for key in keys if key not in mine)

    def _found(self) -> None:
        """All scores of what was shown are known: is the set among it?"""
        rules, sites = self.rules, np.array(self._available, dtype=np.int64)
        keys = tuple(dict.fromkeys(key for known in self._values.values() for key in known))
        values, held = self._tables(keys)
        sums = values.sum(axis=1)
        there: BoolArray = np.asarray(held.any(axis=1))
        all_finite(sums)
        member = self._largest(sums, there, keys)
        deepest = np.array(self._borders_of(sites))
        borders = np.array([0.0, *np.maximum(deepest, 0.0)])
        enough = np.count_nonzero(member) == rules.k
        opens = enough and not rules.closed and bool((sums[member] - borders.sum() + rules.epsilon).min() >= 0.0)
        if not opens and (deepest > -np.inf).any():
            self._depth = ALL if self._depth == ALL or self._depth > 1 << 20 else 2 * self._depth
            return
        standings = self.standings
        standings.reset()
        rows = standings.rows(keys)
        standings.open = bool(opens)
        standings.largest = float(np.abs(sums).max(initial=0.0))
        if not opens:
            borders = self._own_borders(values, np.zeros(len(rows)), member)
        leeway = sums - borders.sum() + rules.epsilon * member
        self._share_out(rows, sites, values, leeway, member, borders)
        self._flag(rows, there, member, values, held, sites)
        standings.shown[np.ix_(rows, sites)] = values
        self._tell_all(rows, full=True)

    # Appendix C.

    def _relieve(self, reports: Mapping[int, Shown], reliefs: Mapping[int, Shown]) -> None:
        if len(reports) > 1:  # others speak, too: let all say plainly what is wrong
            for site in reports:
                self.told[site] = self.standings.ranked(np.empty(0, dtype=np.int64), site, plain=True)
            self.again = True
            return
        ((site, shown),) = reliefs.items()
        self._fallen = (site, shown.entries.keys[0], shown.relief)
        self._broken = {site: shown.broken}
        self.phase = Phase.RELIEVING
        if not self.needs():
            self._hand_over()

    def _hand_over(self) -> None:
        """The site that would break the fewest constraints takes what the fallen member lacks."""
        standings, (site, key, amount) = self.standings, self._fallen
        taker = min(self._broken, key=lambda each: (self._broken[each], each != site, each))
        rows = standings.rows([key])
        if taker != site:
            standings.deltas[rows, site + 1] += amount
            standings.deltas[rows, taker + 1] -= amount
            standings.balance(rows)
            self.told[taker] = standings.ranked(rows, taker, plain=True)
        self.told[site] = standings.ranked(rows, site, plain=True)
        self.again, self.phase = True, Phase.DONE
