"""The coordinator's mind: which sites there are, which watches, and what each is told. No sockets, no clock, no files.

The service (``service.py``) hands it decoded messages and the time, stores what it writes, and sends what it says.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from math import inf
from typing import Any

from tacit.functions.goals import Top
from tacit.language.altering import altered
from tacit.language.explain import explain_text
from tacit.language.places import closest
from tacit.language.plan import WatchPlan
from tacit.language.sentence import parse_watch
from tacit.language.shape import protocol_for
from tacit.language.statement_kinds import (
    AlterWatch,
    CreateWatch,
    DropSite,
    DropWatch,
    ExplainWatch,
    PauseWatch,
    ResumeWatch,
    ShowAlerts,
    ShowChanges,
    ShowSites,
    ShowWatch,
    ShowWatches,
    Statement,
)
from tacit.language.statements import parse_statements, statement_lines
from tacit.protocols.messages import Leave, Message
from tacit.runtime.accounts import Accounts
from tacit.runtime.alert_counts import AlertCounts
from tacit.runtime.alert_documents import ALERT, CHANGE, Document, named, valued
from tacit.runtime.guarded import Addressed, fail, spoken, writes_of
from tacit.runtime.kept_watch import KeptWatch, Tuning
from tacit.runtime.known_sites import KnownSites
from tacit.runtime.pruning import pruning, tidying
from tacit.runtime.rehearsal import no_watch, rehearse
from tacit.runtime.reports import alert_rows, explained, site_rows, watch_document, watch_rows
from tacit.runtime.restoring import restored
from tacit.runtime.store import Store, Write, pack
from tacit.vocabulary import ProtocolError
from tacit.wire.codec import VERSION
from tacit.wire.control import (
    Beats,
    BeatsAnswer,
    Control,
    Measure,
    Opening,
    Tallies,
    WatchSet,
    Welcome,
)

__all__ = ["Addressed", "Coordinator"]

_log = logging.getLogger(__name__)

_ANSWERS = 4  # to heartbeats in a lease, at least
_SITES = "SELECT number, name, tables, seen FROM sites"
_LEDGER = "SELECT * FROM ledger WHERE watch IN (SELECT lineage FROM watches WHERE status != 'dropped' UNION SELECT 0)"


class Coordinator:
    """Everything that a coordinator knows. It restores itself from its store."""

    def __init__(
        self,
        store: Store,
        *,
        now: float,
        expected: Iterable[str] = (),
        configured: Mapping[str, Mapping[str, Mapping[str, str]]] | None = None,
        protocol: str = "coordinator",
        heartbeat: float = 1.0,
        tuning: Tuning | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.store, self.protocol, self.heartbeat, self.wall = store, protocol, heartbeat, wall
        self.tuning = Tuning() if tuning is None else tuning
        self._configured = {} if configured is None else configured  # columns by site and table, before a site says so
        rows = ((n, name, tables, seen) for n, name, tables, seen in store.all(_SITES))
        self.sites = KnownSites(rows, expected, now=now, wall=wall)
        self.watches: dict[int, KeptWatch] = {}  # those that are kept or paused
        self.ended: set[str] = set()  # names of watches that ended, until somebody has told who follows them
        self.version = 0  # of the set of watches
        self.accounts = Accounts(store.all(_LEDGER), self._lineage_of)
        self.alert_counts = AlertCounts(store)
        self._answered: dict[int, float] = {}  # when a site's heartbeats were last answered
        self._lineages: dict[int, int] = {}  # of numbers that were let go while their watch goes on
        self._last_number = 0
        self._writes: list[Write] = []
        self._alerts: list[Document] = []  # of watches that were let go
        self._untold: list[Addressed] = []  # what somebody must hear though what brought it failed
        self._start, self._life = store.next_start(), store.life
        self._restore(now)
        for watch in self._running():
            self._require_sites(watch)
            if watch.settlement is not None:  # one that had not begun waits for all that it waited for
                have = {site.number for site in self.sites.with_any(watch.plan.tables)}
                watch.settlement.expect(max(1, len(have | self.waited_for(watch))))

    # Sites

    def open(self, name: str, opening: Opening, now: float) -> tuple[int, list[Addressed]]:
        """A site links up: its number, and what it is told first."""
        if opening.version != VERSION:
            raise ProtocolError(
                f"site {name} speaks version {opening.version} of the wire and this coordinator version {VERSION}; run"
                " the same release of tacit everywhere"
            )
        if opening.site != name:
            raise ProtocolError(f"the site that proved to be {name} calls itself {opening.site}")
        site = self.sites.admit(name, now)
        site.online, site.seen, site.linked = True, now, now
        tables = {offer.name: dict(offer.columns) for offer in opening.tables}
        self.sites.learn(site, tables, frozenset(offer.name for offer in opening.tables if offer.event_clock))
        number = site.number
        out: list[Addressed] = [
            (number, 0, Welcome(number, self.tuning.lease, self.heartbeat, self._life)),
            self._watch_set(number),
        ]
        for watch in self._running():
            watch.link_up(number)
            if not tables.keys().isdisjoint(watch.plan.tables):
                out.append((number, watch.number, watch.install()))
        return number, out

    def close(self, number: int, now: float) -> None:
        """A site's stream ended."""
        self.sites[number].online, self.sites[number].seen = False, now
        for watch in self._running():
            watch.news = True

    def receive(self, number: int, about: int, message: Message | Control, now: float) -> list[Addressed]:
        """One message from a site about a watch, or many; a watch that is no more is passed over."""
        self.sites[number].seen = now
        if isinstance(message, Beats):
            return self._beats(number, message, now)
        if isinstance(message, Tallies):
            for each, counts in zip(message.watches, message.counts, strict=True):
                counting = self.watches.get(each)
                if counting is not None:
                    counting.count(number, counts)
            return []
        watch = self.watches.get(about)
        if watch is None:
            return []
        return spoken(watch, watch.receive, number, message, now)

    def _beats(self, number: int, beats: Beats, now: float) -> list[Addressed]:
        """The heartbeats of many watches; their answers travel together, too.

        A site that keeps up needs them only now and then, to forget old panes; one that is behind learns at once how
        far others are, for its tables may be idle.
        """
        if beats.site != number:
            raise ProtocolError(f"site {number} speaks in the name of site {beats.site}")
        out: list[Addressed] = []
        answers: list[tuple[int, int, int, int]] = []
        due = now - self._answered.get(number, -inf) >= self.tuning.lease / _ANSWERS
        columns = (beats.watches, beats.numbers, beats.closed, beats.silent, beats.versions, beats.idle_panes)
        for about, beat, closed, silent, version, idle_panes in zip(*columns, strict=True):
            watch = self.watches.get(about)
            if watch is None or watch.settlement is None or watch.problem:
                continue
            try:
                out += spoken(watch, watch.beat, number, beat, closed, silent, version, idle_panes, now)
            except ProtocolError:
                self._untold += out  # which other sites wait for
                raise
            settlement = watch.settlement
            newest, settled = settlement.newest, settlement.settled
            answers.append((about, settled, newest, max(0, settled - settlement.final)))
            due = due or newest > closed or silent < settled <= closed
        if answers and due:
            self._answered[number] = now
            out.append((number, 0, BeatsAnswer(number, *zip(*answers, strict=True))))
        return out

    def tick(self, now: float) -> list[Addressed]:
        """Time passed."""
        out, self._untold = self._untold, []
        for watch in self._running():
            if watch.sites_revision != self.sites.revision:
                self._require_sites(watch)
            expected: Collection[int] = ()
            online: Collection[int] = ()
            since = -inf
            if watch.settlement is None:  # who is waited for matters before it has begun
                expected = self.waited_for(watch)
                since = self.sites.waiting_since(watch.plan.tables)
                online = [each.number for each in self.sites.with_any(watch.plan.tables) if each.online]
                if self.lacking(watch.plan):
                    continue  # it would count as empty
            try:
                out += spoken(watch, watch.tick, now, expected, online, since)
            except ProtocolError as error:  # there is no stream to blame
                fail(watch, error)
        return out

    def _require_sites(self, watch: KeptWatch) -> None:
        """Tell a watch which sites no answer is valid without, and whether it may ever skip panes."""
        tables = watch.plan.tables
        watch.require(self.sites.required(tables), recorded=self.sites.are_recorded(tables))
        watch.sites_revision = self.sites.revision

    def lacking(self, plan: WatchPlan) -> list[str]:
        """The tables of a watch that no site has."""
        return [table for table in plan.tables if not self.sites.with_any([table])]

    def near(self, missing: Iterable[str]) -> str:
        """Which tables may be meant by names that no site has."""
        known = {table for site in self.sites.values() for table in site.tables}
        near = [meant for table in missing if (meant := closest(table, known, cutoff=0.6))]
        return f" (did you mean {' or '.join(near)}?)" if near else ""

    def waited_for(self, watch: KeptWatch) -> set[int]:
        """The sites that its start waits for."""
        return self.sites.waited_for(watch.plan.tables)

    def ledger_writes(self) -> list[Write]:
        """The totals that changed since the last time, to be stored now and then."""
        writes = self.accounts.writes()
        for watch in self._running():
            counted = watch.take_counts()
            if counted is not None:
                writes.append(("INSERT OR REPLACE INTO counts VALUES (?, ?)", (watch.lineage, pack(counted))))
        return writes

    def _lineage_of(self, watch: int) -> int:
        kept = self.watches.get(watch)
        return self._lineages.get(watch, 0) if kept is None else kept.lineage

    def prune(self, keep_s: float) -> list[Write]:
        """Forget answers, alerts and dropped watches that are older than this; each group's newest answer stays."""
        return pruning(self._running(), self.wall(), keep_s)

    def take(self, now: float) -> tuple[list[Write], list[Document]]:
        """What must be stored before anything is sent, and the alerts and changes among it, with the sites' names."""
        writes, self._writes = [*self.sites.take_writes(), *self._writes], []
        alerts, self._alerts = self._alerts, []
        for watch in self.watches.values():
            writes += writes_of(watch)
            alerts += self._alerts_of(watch)
            if watch.answered is not None and watch.missing != watch.missing_logged:
                self._log_missing(watch)
        if not alerts:
            return writes, []
        names = {number: site.name for number, site in self.sites.items()}
        for alert in alerts:
            for missing in alert["missing"]:
                missing["since"] = self.sites.silent_since(missing["site"], missing["since"])
        return writes, [named(alert, names, self.wall() - now) for alert in alerts]

    def _alerts_of(self, watch: KeptWatch) -> list[Document]:
        """The alerts and changes of a watch since the last time."""
        alerts = watch.take_alerts()
        if not alerts or watch.plan.grouping is None:
            return alerts
        kinds, goal = self.sites.key_kinds(watch.plan), watch.plan.goal
        return [valued(alert, kinds, goal.per if isinstance(goal, Top) else 0) for alert in alerts]

    def _log_missing(self, watch: KeptWatch) -> None:
        """Say once of which sites a watch goes without, and why."""
        settlement, name, before = watch.settlement, watch.plan.name, watch.missing_logged
        watch.missing_logged = watch.missing
        for site in watch.missing:
            if site not in before and settlement is not None:
                why = settlement.absence(site)[1]
                _log.warning("the watch %s goes on without site %s: %s", name, self.sites[site].name, why)
        for site in before:
            if site not in watch.missing and site in self.sites:
                _log.info("the watch %s is kept with site %s again", name, self.sites[site].name)

    # Questions

    def ask(self, text: str, now: float) -> tuple[list[dict[str, Any]], list[Addressed]]:
        """Carry out statements: a result for each, and what sites are told. All are understood before any is done."""
        results: list[dict[str, Any]] = []
        out: list[Addressed] = []
        statements = parse_statements(text)
        rehearse(
            statements,
            ((watch.plan, "failed" if watch.problem else watch.status) for watch in self._running()),
            ((site.name, site.tables, site.online) for site in self.sites.values()),
            statement_lines(text),
            {site.name: self._configured.get(site.name, {}) for site in self.sites.expected()},
        )
        try:
            for statement in statements:
                result, told = self._carry_out(statement, now)
                results.append(result)
                out += told
        except BaseException:
            self._untold += out  # what was done is done, and sites must know
            raise
        return results, out

    def find(self, name: str) -> KeptWatch:
        """The watch of this name; SentenceError when there is none."""
        for watch in self._running():
            if watch.plan.name.casefold() == name.casefold():
                return watch
        raise no_watch(name, (watch.plan.name for watch in self._running()))

    def _carry_out(self, statement: Statement, now: float) -> tuple[dict[str, Any], list[Addressed]]:
        match statement:
            case CreateWatch(plan):
                return self._create(plan, now)
            case DropWatch(name, if_exists):
                if if_exists and not any(w.plan.name.casefold() == name.casefold() for w in self._running()):
                    return {"statement": "drop", "watch": name, "done": False}, []
                watch = self.find(name)
                return {"statement": "drop", "watch": watch.plan.name, "done": True}, self._drop(watch)
            case DropSite(name):
                return {"statement": "drop site", "site": name, "done": True}, self._drop_site(name, now)
            case PauseWatch(name):
                watch = self.find(name)
                return self._again("pause", watch, watch.plan, "paused", now)
            case ResumeWatch(name):
                watch = self.find(name)
                return self._again("resume", watch, watch.plan, "running", now)
            case AlterWatch(name):
                watch = self.find(name)
                plan = parse_watch(altered(watch.plan.text, statement))
                return self._again("alter", watch, plan, watch.status, now)
            case ShowWatches():
                return {"statement": "show watches", "watches": watch_rows(self, now)}, []
            case ShowWatch(name):
                return {"statement": "show watch", "watch": watch_document(self, self.find(name), now)}, []
            case ShowSites():
                return {"statement": "show sites", "sites": site_rows(self, now)}, []
            case ShowAlerts(name, limit):
                wanted = None if name is None else self.find(name).plan.name
                return {"statement": "show alerts", "alerts": alert_rows(self.store, ALERT, wanted, limit)}, []
            case ShowChanges(name, limit):
                wanted = None if name is None else self.find(name).plan.name
                return {"statement": "show changes", "changes": alert_rows(self.store, CHANGE, wanted, limit)}, []
            case ExplainWatch(name, plan):
                text = explain_text(plan) if plan is not None else explained(self.find(name))
                return {"statement": "explain", "watch": name, "text": text}, []
        raise AssertionError(statement)

    def _drop_site(self, name: str, now: float) -> list[Addressed]:
        site = self.sites.named(name)
        assert site is not None, "a rehearsal has found it"
        self.sites.dismiss(site)
        number = site.number
        out: list[Addressed] = []
        for watch in self._running():
            watch.forget_offer(number)
            session = 0 if watch.settlement is None else watch.settlement.sessions.get(number, 0)
            out += spoken(watch, watch.receive, number, Leave(number, session), now)
        return out

    def _create(self, plan: WatchPlan, now: float) -> tuple[dict[str, Any], list[Addressed]]:
        protocol = protocol_for(plan, self.protocol)
        watch = KeptWatch(
            self._next_number(), plan, protocol=protocol, created=now, tuning=self.tuning, start=self._start
        )  # fmt: skip
        note = None
        if missing := self.lacking(plan):
            names = " or ".join(missing) + " yet" + self.near(missing)
            note = f"no site has a table named {names}; the watch starts when one comes"
        return {"statement": "create", "watch": plan.name, "done": True, "note": note}, self._install(watch)

    def _again(
        self, what: str, old: KeptWatch, plan: WatchPlan, status: str, now: float
    ) -> tuple[dict[str, Any], list[Addressed]]:
        """The watch goes on under a new number: other zones, the same windows at the sites."""
        begin, settlement = old.begin, old.settlement
        if settlement is not None:
            # The last pane is answered anew: on a stream that is quiet the next one may be long in coming.
            answered = settlement.roster and old.begin is not None and settlement.final >= old.begin
            begin = settlement.final + (0 if answered and settlement.final == settlement.front else 1)
            old.history.kept = begin - 1
            old.history.newest = max(old.history.newest, settlement.final) if begin > settlement.final else begin - 1
        watch = KeptWatch(
            self._next_number(), plan, protocol=old.protocol, created=now, tuning=self.tuning, start=self._start,
            lineage=old.lineage, status=status, measure=old.measure, begin=begin, said=dict(old.last_said),
            keys=old.keys, history=old.history, estate=old.estate if old.settlement is None else old.settlement.estate,
        )  # fmt: skip
        watch.answered = old.answered
        watch.full_from = dict(old.full_from)
        watch.counts = dict(old.counts)
        if watch.settlement is not None:
            watch.settlement.expect(max(1, len(self.waited_for(watch))))
            watch.settlement.skips = what == "resume"
        return {"statement": what, "watch": plan.name, "done": True}, [*self._end(old), *self._install(watch)]

    def _install(self, watch: KeptWatch) -> list[Addressed]:
        self.watches[watch.number] = watch
        self._require_sites(watch)
        self.version += 1
        measure = watch.measure
        self._writes.append(
            (
                "INSERT INTO watches (number, lineage, name, text, protocol, status, created, begin, centres, units)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    watch.number, watch.lineage, watch.plan.name, watch.plan.text, watch.protocol, watch.status,
                    self.wall(), watch.begin, *_packed(measure),
                ),
            )
        )  # fmt: skip
        out: list[Addressed] = []
        for site in self.sites.online():
            watch.link_up(site.number)
            out.append(self._watch_set(site.number))
            if not site.tables.keys().isdisjoint(watch.plan.tables):
                out.append((site.number, watch.number, watch.install()))
        return out

    def _drop(self, watch: KeptWatch) -> list[Addressed]:
        """End a watch for good."""
        out = self._end(watch)
        self._writes += self.accounts.writes()
        self.accounts.forget(watch.lineage)
        self._lineages = {number: lineage for number, lineage in self._lineages.items() if lineage != watch.lineage}
        return out

    def _end(self, watch: KeptWatch) -> list[Addressed]:
        """Let go of a watch under its number; what was said of it stays stored for a while."""
        number = watch.number
        watch.status = "dropped"
        self._writes += writes_of(watch)
        self._alerts += self._alerts_of(watch)
        self._writes.append(("UPDATE watches SET status = 'dropped' WHERE number = ?", (number,)))
        self._writes.append(("INSERT OR REPLACE INTO ended VALUES (?, ?)", (number, self.wall())))
        self._writes.append(("DELETE FROM books WHERE watch = ?", (number,)))
        self._writes.append(("DELETE FROM groups WHERE watch = ?", (number,)))
        self._lineages[number] = watch.lineage
        self.ended.add(watch.plan.name.casefold())
        del self.watches[number]
        self.version += 1
        return [self._watch_set(site.number) for site in self.sites.online()]

    def _watch_set(self, site: int) -> Addressed:
        return site, 0, WatchSet(self.version, tuple(watch.number for watch in self._running()))

    def _running(self) -> list[KeptWatch]:
        return list(self.watches.values())

    def _next_number(self) -> int:
        """One that no watch ever had: sites may still speak of those that are gone."""
        self._last_number += 1
        return self._last_number

    # What is stored

    def _restore(self, now: float) -> None:
        names = [row[1] for row in self.store.all("PRAGMA table_info(watches)")]
        self._writes += tidying(self.wall())
        (self._last_number,) = self.store.one("SELECT COALESCE(MAX(number), 0) FROM watches") or (0,)
        for values in self.store.all("SELECT * FROM watches WHERE status != 'dropped' ORDER BY number"):
            row = dict(zip(names, values, strict=True))
            self.watches[row["number"]] = restored(self.store, row, self.tuning, self._start, now, self.sites.key_kinds)
        self.version = self._last_number


def _packed(measure: Measure | None) -> tuple[bytes | None, bytes | None]:
    return (None, None) if measure is None else (pack(measure.centres), pack(measure.units))
