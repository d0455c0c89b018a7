"""Which sites a coordinator knows: those that ever linked up, and those that are expected; their tables and numbers."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import inf

from tacit.language.key_kinds import key_kinds
from tacit.language.plan import WatchPlan
from tacit.runtime.store import Write

__all__ = ["KnownSite", "KnownSites"]

_KINDS_MAX = 4_096


@dataclass(slots=True)
class KnownSite:
    """A site that has ever linked up, or that is expected."""

    number: int
    name: str
    tables: dict[str, dict[str, str]]  # columns and their types, by table
    seen: float
    online: bool = False
    linked: float = -inf  # when its present link came up
    recorded: frozenset[str] = frozenset()  # the tables whose time only rows make pass, once the site has said so


class KnownSites(Mapping[int, KnownSite]):
    """Sites by their numbers, which they keep for ever.

    ``rows`` are those of the store: number, name, tables, and when the site was last heard, by the calendar's clock.
    """

    def __init__(
        self,
        rows: Iterable[tuple[int, str, str, float]],
        expected: Iterable[str],
        *,
        now: float,
        wall: Callable[[], float],
    ) -> None:
        self._clock_at_zero = wall() - now  # the calendar's time when the coordinator's own clock was 0
        self._sites = {
            number: KnownSite(number, name, json.loads(tables), min(now, seen - self._clock_at_zero))
            for number, name, tables, seen in rows
        }
        self._stored_seen = {site.number: site.seen for site in self._sites.values()}
        self._numbers = {site.name: site.number for site in self._sites.values()}
        self._wall = wall
        self.revision = 0  # grows whenever a site comes, or says that it has other tables
        self._writes: list[Write] = []
        self._kinds: dict[str, tuple[str, ...]] = {}  # of keys, by the watch's sentence
        self._expected = {self.admit(name, now).number for name in sorted(expected)}

    def __getitem__(self, number: int) -> KnownSite:
        return self._sites[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._sites)

    def __len__(self) -> int:
        return len(self._sites)

    def named(self, name: str) -> KnownSite | None:
        """The site of this name, if there ever was one."""
        number = self._numbers.get(name)
        return None if number is None else self._sites[number]

    def admit(self, name: str, now: float) -> KnownSite:
        """The site of this name, which gets a number if it has none."""
        site = self.named(name)
        if site is None:
            site = KnownSite(max(self._sites, default=-1) + 1, name, {}, now)
            self._sites[site.number], self._numbers[name] = site, site.number
            self.revision += 1
            self._store(site)
        return site

    def learn(self, site: KnownSite, tables: dict[str, dict[str, str]], recorded: frozenset[str] = frozenset()) -> None:
        """A site has these tables now; of those in ``recorded`` only rows make the time pass."""
        self.revision += 1
        site.recorded = recorded
        if tables != site.tables:
            site.tables = tables
            self._kinds.clear()
            self._store(site)

    def dismiss(self, site: KnownSite) -> None:
        """A site is expected no more, and no watch must fit its tables; if it comes back, it says what it has."""
        self._expected.discard(site.number)
        site.tables = {}
        self._kinds.clear()
        self.revision += 1
        self._store(site)

    def online(self) -> list[KnownSite]:
        """Those that are linked up."""
        return [site for site in self._sites.values() if site.online]

    def expected(self) -> list[KnownSite]:
        """Those that are configured, whether they have come or not."""
        return [self._sites[number] for number in sorted(self._expected)]

    def with_any(self, tables: Collection[str]) -> list[KnownSite]:
        """Those that have one of these tables, as far as they ever said."""
        return [site for site in self._sites.values() if not site.tables.keys().isdisjoint(tables)]

    def key_kinds(self, plan: WatchPlan) -> tuple[str, ...]:
        """What the parts of a group's key are, by the columns of all sites that have the watch's table."""
        if plan.grouping is None:
            return ()
        if plan.text not in self._kinds:
            if len(self._kinds) >= _KINDS_MAX:  # sentences that were altered and dropped are among them
                self._kinds.clear()
            tables = [site.tables[plan.table] for site in self._sites.values() if plan.table in site.tables]
            self._kinds[plan.text] = key_kinds(plan, tables)
        return self._kinds[plan.text]

    def waited_for(self, tables: Collection[str]) -> set[int]:
        """The sites that a start waits for: those that are expected and may have a table, and those that have one."""
        have = {site.number for site in self.with_any(tables) if site.online}
        return have | self.required(tables)

    def required(self, tables: Collection[str]) -> frozenset[int]:
        """The sites without which an answer over these tables is not valid: expected, and not known to have none."""
        return frozenset(
            n for n in self._expected if not (own := self._sites[n].tables) or not own.keys().isdisjoint(tables)
        )

    def waiting_since(self, tables: Collection[str]) -> float:
        """From when on a start over these tables is patient: since the last site it waits for has linked up.

        Of recordings nothing is late, so a start waits for ever for a required site that has not linked up; else it
        would begin where the rows of the others begin.
        """
        waited = [self._sites[number] for number in self.waited_for(tables)]
        if self.are_recorded(tables) and not all(site.online for site in waited):
            return inf
        return max((site.linked for site in waited if site.online), default=-inf)

    def are_recorded(self, tables: Collection[str]) -> bool:
        """Does some site read one of these tables with an event clock?"""
        return any(not site.recorded.isdisjoint(tables) for site in self._sites.values())

    def silent_since(self, number: int, heard: float) -> float:
        """Since when a site is silent that a watch has ``heard`` then: this coordinator may have started after that."""
        return min(heard, self._sites[number].seen)

    def sightings(self, now: float) -> list[Write]:
        """When sites were last heard, as far as that changed: it is told after a restart of the coordinator."""
        self._clock_at_zero = self._wall() - now
        fresh = [site for site in self._sites.values() if self._stored_seen.get(site.number) != site.seen]
        self._stored_seen |= {site.number: site.seen for site in fresh}
        sql = "UPDATE sites SET seen = ? WHERE number = ?"
        return [(sql, (self._clock_at_zero + site.seen, site.number)) for site in fresh]

    def take_writes(self) -> list[Write]:
        """What must be stored since the last time."""
        writes, self._writes = self._writes, []
        return writes

    def _store(self, site: KnownSite) -> None:
        values = (site.number, site.name, json.dumps(site.tables), self._clock_at_zero + site.seen)
        self._writes.append(("INSERT OR REPLACE INTO sites VALUES (?, ?, ?, ?)", values))
