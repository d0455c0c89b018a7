"""One watch at the coordinator: it starts from offers, is kept by a settlement, and says what to store and to send.

Messages in, messages and writes out; the time is an argument. What leads to a start is in ``starting.py``, what people
are told in ``answers.py``, the protocol itself in ``protocols/``.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from math import inf
from typing import Any

import numpy as np

from tacit.functions.goals import Frequent, SketchGoal, Top
from tacit.language.plan import ByKey, ByMember, WatchPlan
from tacit.language.shape import Shape, shape_of, zone_kind
from tacit.protocols.members import NEVER
from tacit.protocols.messages import Heartbeat, HeartbeatAnswer, Hello, Message
from tacit.protocols.resolver import Estate, Resolver
from tacit.protocols.settlement import Phase, Settlement
from tacit.runtime.answers import Teller, ValueTeller
from tacit.runtime.checks import check_offer, check_panes, pane_max
from tacit.runtime.history import History
from tacit.runtime.kept_books import KeptBooks, StoredBooks, resume, stored_estate
from tacit.runtime.pane_length import pane_length
from tacit.runtime.provisional import taking_back
from tacit.runtime.rank_teller import RankTeller
from tacit.runtime.resolvers import gauge_resolver, list_resolver, vector_resolver
from tacit.runtime.spans import Spans
from tacit.runtime.starting import begin_at
from tacit.runtime.store import Write, pack
from tacit.runtime.tuning import Tuning
from tacit.vocabulary import Answer, IntArray, ProtocolError, State
from tacit.wire.control import Clock, Control, Counts, Install, Measure, Name, Numbers, Offer, There
from tacit.wire.frames import key_runs

__all__ = ["GROUPS_MAX", "KeptWatch", "Outbound", "Tuning"]

GROUPS_MAX = 1 << 20
_KEYS_AT_ONCE = 1 << 16

_log = logging.getLogger(__name__)

Outbound = tuple[int, Message | Control]
"""To which site, what."""


class KeptWatch:
    """A watch under one number. An altered or resumed watch has a new number and the same ``lineage``."""

    def __init__(
        self,
        number: int,
        plan: WatchPlan,
        *,
        protocol: str,
        created: float,
        tuning: Tuning,
        start: int,
        lineage: int | None = None,
        status: str = "running",
        measure: Measure | None = None,
        begin: int | None = None,
        said: dict[str, Any] | None = None,
        keys: Sequence[str] = (),
        estate: Estate | None = None,
        history: History | None = None,
    ) -> None:
        self.number, self.plan, self.protocol, self.created, self.status = number, plan, protocol, created, status
        self.lineage = number if lineage is None else lineage
        self.tuning = tuning
        self.pane_us = pane_length(plan.window)
        self._pane_max = pane_max(self.pane_us)
        self.problem = ""  # why the coordinator keeps it no more, if that is so
        self._torn = False  # what is in memory must not be stored
        self.measure, self.begin = measure, begin
        self.offers: dict[int, Offer] = {}
        self.required: frozenset[int] = frozenset()  # the sites without which no answer is valid
        self._hopeless: frozenset[int] = frozenset()  # those that said why they cannot keep it
        self._recorded = False  # does it read tables whose time only rows make pass?
        self.missing_logged: tuple[int, ...] = ()  # the missing sites that the log has told of
        self.sites_revision = -1  # of the known sites when the required ones were last told
        self.counts: dict[int, Counts] = {}
        self.full_from: dict[int, int] = {}
        self._fuller = False  # full_from is not stored as it is
        self._fills_anew = 0  # how often it changed
        self._full_mark: tuple[int, int] | None = None
        self._all_full_from = -inf
        self._counted = False  # since they were last stored
        # Under GROUP BY EACH the first group stands for all that have no number yet, and nothing is said of it.
        self.keys: list[str] = list(keys) or ([] if isinstance(plan.grouping, ByKey) else [""])
        self.by_member = isinstance(plan.grouping, ByMember)
        self._given_keys = len(keys)
        self.settlement: Settlement | None = None
        self.shape: Shape | None = None
        self.teller: Teller | RankTeller | None = None
        self.ranks = isinstance(plan.goal, Top | Frequent)  # then it speaks of lists of keys, which have no numbers
        self.gauged = isinstance(plan.goal, SketchGoal) and not self.ranks
        self.alerts: list[dict[str, Any]] = []  # raised since they were last taken
        self.answered: Answer | None = None  # the last answer that is shown: not one of panes that are settled late
        self.history = History() if history is None else history
        self.news = False  # something to show has changed since it was last looked at
        self._said: dict[str, Any] = {} if said is None else said
        self._numbers = {key: number for number, key in enumerate(self.keys)}
        # Where a condition holds of nothing at all, a group is spoken of from the first pane on with rows of it; so it
        # is under GROUP BY EACH, where every group has a value before its first row.
        self._there_from: dict[int, int] | None = None
        self._told: dict[int, int] = {}  # how many groups each site was told of, on its present link
        self._start = start
        self._writes: list[Write] = []
        self._spans = Spans(number)
        self._books = KeptBooks(number)
        self.estate = estate  # of the watch under its last number, until this one goes on from it
        if measure is not None and begin is not None and status == "running":
            self._begin(expected=1)
            if estate is not None and self.settlement is not None:
                self.settlement.succeed(estate, created)
                self.estate = None
        elif estate is not None:
            self._writes += self._books.estate_writes(estate, self.keys)

    # What the coordinator calls

    def install(self) -> Install:
        """The watch as a site is told of it; one that joins a running watch begins after what is settled for good."""
        begin = self.begin if self.settlement is None else self.settlement.final + 1
        return Install(
            self.plan.name, self.plan.text, self.protocol, self.status == "paused", begin,
            self.measure if self.status == "running" else None,
        )  # fmt: skip

    def link_up(self, site: int) -> None:
        """A site's stream is new: it knows no numbers of groups, and is welcome even if it was sent away."""
        self._told[site] = 0
        if self.settlement is not None:
            self.settlement.readmit(site)
        if site in self.offers and self.offers[site].problem:
            self.forget_offer(site)  # if it still is a problem, the site says so again

    def receive(self, site: int, message: Message | Control, now: float) -> list[Outbound]:
        """One message from a site."""
        if self.problem:
            return []
        check_panes(site, message, self._pane_max)
        match message:
            case Offer():
                check_offer(site, message, self.plan, self._pane_max)
                self.offers[site] = message
                self.news = True
                self._find_hopeless()
                return []
            case Counts():
                self.count(site, message)
                return []
            case Name():
                return self._name(site, message)
            case There():
                return self._note_there(site, message)
            case Hello() | Heartbeat() if message.site != site:
                raise ProtocolError(f"site {site} speaks in the name of site {message.site}")
        if self.settlement is None or not isinstance(message, Message):
            return []
        if getattr(message, "site", site) != site:
            raise ProtocolError(f"site {site} speaks in the name of site {getattr(message, 'site', None)}")
        self._check_groups(message)
        out = self._after(self.settlement.receive(message, now))
        if getattr(self.settlement.resolver, "objects", 0) > GROUPS_MAX:
            self.fail(
                f"more than {GROUPS_MAX:,} groups have come near the head of its lists; DROP WATCH {self.plan.name},"
                " and group by something coarser or narrow it down with WHERE"
            )
            return []
        return out

    def forget_offer(self, site: int) -> None:
        """What the site offered, or said that it cannot do, says nothing any more."""
        self.offers.pop(site, None)
        self._find_hopeless()

    def require(self, sites: frozenset[int], *, recorded: bool) -> None:
        """No answer is valid without these sites. Of tables that are ``recorded`` no pane is ever skipped."""
        self.required, self._recorded = sites, recorded
        self._tell_requirements()

    def _find_hopeless(self) -> None:
        hopeless = frozenset(site for site, offer in self.offers.items() if offer.problem)
        if hopeless != self._hopeless:
            self._hopeless = hopeless
            self._tell_requirements()

    def _tell_requirements(self) -> None:
        if self.settlement is not None:
            self.settlement.require(self.required, self._hopeless)
            self.settlement.backlog = None if self._recorded else self.tuning.backlog

    def beat(
        self, site: int, number: int, closed: int, silent: int, version: int, idle_panes: int, now: float
    ) -> list[Outbound]:
        """A heartbeat that came with those of other watches; its answer goes with theirs."""
        settlement = self.settlement
        if settlement is None or self.problem:
            return []
        if closed > self._pane_max or silent > self._pane_max:
            check_panes(site, Heartbeat(site, number, closed, silent, version), self._pane_max)
        messages = settlement.beat(site, closed, silent, version, now, idle_panes=idle_panes)
        if messages is None:
            messages = settlement.receive(Heartbeat(site, number, closed, silent, version, idle_panes), now)
        return self._after(messages) if messages else []

    def take_counts(self) -> IntArray | None:
        """The counts of each site (site, events, panes, late, no_time), unless nothing changed since the last time."""
        if not self._counted:
            return None
        self._counted = False
        rows = [(site, each.events, each.panes, each.late, each.no_time) for site, each in self.counts.items()]
        return np.array(rows, dtype=np.int64)

    def tick(
        self, now: float, expected: Collection[int], online: Collection[int], since: float = -inf
    ) -> list[Outbound]:
        """Time passed. A start is patient from ``since`` on, if that is later than when the watch was created."""
        if self.status != "running" or self.problem:
            return []
        if self.settlement is not None:
            if self.settlement.phase is Phase.GATHERING and now - self.created > self.tuning.gather:
                self.settlement.expect(1)
            return self._after(self.settlement.tick(now))
        patient = now - max(self.created, since) <= self.tuning.gather
        beginning = begin_at(self.plan, self.offers, expected, patient=patient)
        if beginning is None:
            return []
        self.measure, self.begin = beginning.measure, beginning.pane
        self._begin(beginning.sites)
        self._writes.append(
            (
                "UPDATE watches SET begin = ?, centres = ?, units = ? WHERE number = ?",
                (self.begin, pack(self.measure.centres), pack(self.measure.units), self.number),
            )
        )
        install = self.install()
        return [(site, install) for site in online]

    def take_writes(self) -> list[Write]:
        """What must be stored before anything is sent that this watch said since the last time."""
        if self._torn:
            return []
        settlement = self.settlement
        if self._fuller:
            self._fuller = False
            known = json.dumps({str(site): pane for site, pane in self.full_from.items()})
            self._writes.append(("UPDATE watches SET full_from = ? WHERE number = ?", (known, self.number)))
        if settlement is not None:
            for answer in settlement.published:
                if answer.pane != self.begin or self.lineage != self.number:  # of nothing at all nothing is said
                    self._publish(answer)
            settlement.published.clear()
            self._correct()
            self._writes += self._books.writes(settlement, self.keys)
        writes, self._writes = self._writes, []
        return writes

    def take_alerts(self) -> list[dict[str, Any]]:
        """The alerts raised since the last time."""
        alerts, self.alerts = self.alerts, []
        return alerts

    def fail(self, why: str, *, error: Exception | None = None) -> None:
        """It is kept no more, and says why; others go on. After an ``error`` what is stored stays as it was before."""
        if error is not None:
            self._torn = True
            self.alerts.clear()
        if not self.problem:
            self.problem, self.news = why, True
            _log.error("the watch %s is kept no more: %s", self.plan.name, why, exc_info=error)

    @property
    def shown_state(self) -> str:
        """Its state in one word, for people."""
        if self.status != "running":
            return self.status
        return "failed" if self.problem else self.state.value

    @property
    def said(self) -> dict[str, Any]:
        """What is shown of each group (``Said``), or the lists of a ranking (``Lists``): that of ``answered``."""
        return self._said if self.history.shown is None else self.history.shown

    @property
    def last_said(self) -> dict[str, Any]:
        """What was last said of each group at the pane that was settled last."""
        return self._said

    @property
    def missing(self) -> tuple[int, ...]:
        """The sites that its answers go on without."""
        return () if self.settlement is None else self.settlement.missing

    @property
    def state(self) -> State:
        """What the answer would be called now."""
        settlement = self.settlement
        if settlement is None or self.answered is None:
            return State.FILLING
        if settlement.state is not State.VALID:
            return settlement.state
        return State.FILLING if self._fills(self.answered.pane) else State.VALID

    # How it is kept

    def _begin(self, expected: int) -> None:
        assert self.measure is not None
        assert self.begin is not None
        resolver: Resolver
        if self.ranks:
            resolver = list_resolver(self.plan)
            self.teller = RankTeller(self.plan, self.lineage, self.pane_us, self._said)
        elif self.gauged:
            resolver = gauge_resolver(self.plan)
            self.teller = ValueTeller(self.plan, self.lineage, self.pane_us, self._said)
        else:
            shape = self.shape = shape_of(self.plan, self.measure, zone_kind(self.plan, self.protocol))
            resolver = vector_resolver(shape, self.protocol, len(self.keys), template=self.by_member)
            self.teller = Teller(self.plan, shape, self.lineage, self.pane_us, self._said)
            if self.teller.is_met_by_nothing or self.by_member:
                self._there_from = {}
        resolver.requests = self._start << 32  # a reply to a request of an earlier life answers nothing of this one
        tuning = self.tuning
        self.settlement = Settlement(
            resolver, expected=expected, begin=self.begin, lease=tuning.lease, resend=tuning.resend,
            backlog=tuning.backlog, now=self.created,
        )  # fmt: skip
        self._tell_requirements()

    def _after(self, messages: tuple[Message, ...]) -> list[Outbound]:
        """Messages with their addresses; before one that names groups, what these are called."""
        out: list[Outbound] = []
        settlement = self.settlement
        assert settlement is not None
        for message in messages:
            site = message.site
            if self.plan.grouping is not None and not self.ranks and not isinstance(message, HeartbeatAnswer):
                out += self._tell_numbers(site)
            out.append((site, message))
            if isinstance(message, HeartbeatAnswer) and settlement.newest > NEVER:
                out.append((site, Clock(settlement.newest)))
        return out

    def _tell_numbers(self, site: int) -> list[Outbound]:
        out: list[Outbound] = []
        while (told := self._told.get(site, 0)) < len(self.keys):
            for keys in key_runs(self.keys[told : told + _KEYS_AT_ONCE]):
                out.append((site, Numbers(told, keys)))
                told += len(keys)
            self._told[site] = told
        return out

    def _name(self, site: int, name: Name) -> list[Outbound]:
        anew = self._number(site, name.keys)
        return [] if anew is None else [*self._tell_numbers(site), *anew]

    def _number(self, site: int, keys: Sequence[str]) -> list[Outbound] | None:
        """Give numbers to groups, and say what others must then be asked anew; None when the watch ends of it."""
        if self.plan.grouping is None or self.ranks:
            raise ProtocolError(f"site {site} names groups of a watch that has none")
        for key in keys:
            if key not in self._numbers:
                if len(self.keys) >= GROUPS_MAX:
                    name = self.plan.name
                    self.fail(
                        f"it has more than {GROUPS_MAX:,} groups; DROP WATCH {name}, and group by something coarser or"
                        " narrow it down with WHERE"
                    )
                    return None
                self._numbers[key] = len(self.keys)
                self.keys.append(key)
        return [] if self.settlement is None else self._after(self.settlement.grow_groups(len(self.keys)))

    def _note_there(self, site: int, there: There) -> list[Outbound]:
        """A site has rows of these groups from this pane on."""
        anew = self._number(site, there.keys)
        if anew is None:
            return []
        for key in there.keys if self._there_from is not None else ():
            assert self._there_from is not None
            number = self._numbers[key]
            self._there_from[number] = min(there.pane, self._there_from.get(number, there.pane))
        return [*self._tell_numbers(site), *anew] if self.by_member else anew

    def _check_groups(self, message: Message) -> None:
        rows = getattr(message, "rows", None)
        if rows is not None and len(rows.groups) and int(rows.groups[-1]) >= len(self.keys):
            raise ProtocolError("a message names a group that has no number yet")
        if getattr(message, "known", 0) > len(self.keys):
            raise ProtocolError("a message knows of more groups than there are")

    def count(self, site: int, counts: Counts) -> None:
        """What a site has seen of this watch so far."""
        check_panes(site, counts, self._pane_max)
        self.counts[site] = counts
        self._counted = True
        if self.full_from.get(site) != counts.full_from:
            if counts.full_from is None:  # it began anew with empty windows
                del self.full_from[site]
            else:
                self.full_from[site] = counts.full_from
            self._fuller = True
            self._fills_anew += 1

    def _fills(self, pane: int) -> bool:
        """Is some site's window not full yet at this pane? Asked for every pane, and answered from what is at hand."""
        if self.settlement is None:
            return False
        mark = (self.settlement.membership, self._fills_anew)
        if self._full_mark != mark:
            self._full_mark = mark
            known = (self.full_from.get(site, inf) for site in self.settlement.roster)
            self._all_full_from = max(known, default=-inf)
        return self._all_full_from > pane

    # What is told and stored

    def _publish(self, answer: Answer) -> None:
        assert self.teller is not None
        self.news = True
        first = answer.pane if answer.first is None else answer.first
        if answer.pane <= self.history.kept:  # all were asked anew; what was said of this pane stands
            self.answered = answer
            return
        if first <= self.history.newest:
            self._go_back(first)
        self.history.newest = answer.pane
        if answer.state is State.UNKNOWN:
            self._note_gap(answer, first)
            return
        if self.answered is None or answer.pane >= self.answered.pane:
            self.answered, self.history.shown = answer, None
        state = State.FILLING if answer.state is State.VALID and self._fills(first) else answer.state
        answer = replace(answer, state=state)
        if isinstance(self.teller, RankTeller):
            writes, alerts = self.teller.tell(answer)
            self._writes += writes
        else:
            changed, alerts = self.teller.tell(answer, self.keys, self._there_from)
            self._writes += self.teller.writes(changed)
        final = answer.pane if answer.final is None else answer.final
        self.history.provisional.note(self.teller.replaced, final)
        self.teller.replaced.clear()
        self.alerts += self.history.provisional.fresh(alerts, final=answer.pane <= final)
        self._writes.append(self._spans.write(answer, state))

    def _go_back(self, pane: int) -> None:
        """Panes from this one on were answered without somebody who is back now: they are answered once more."""
        assert self.teller is not None
        history = self.history
        if history.shown is None:
            history.shown = dict(self._said)
        _log.info("the watch %s settles panes %d to %d once more", self.plan.name, pane, history.newest)
        history.provisional.take_back(pane, self._said)
        history.gaps = [(first, last, lost) for first, last, lost in history.gaps if last < pane]
        self.teller.begin_anew()
        self._spans.begin_anew()
        self._writes += taking_back(self.lineage, pane)

    def _note_gap(self, answer: Answer, first: int) -> None:
        """Nobody can answer for these panes any more."""
        _log.warning("the watch %s has no answer for panes %d to %d", self.plan.name, first, answer.pane)
        self.history.gaps.append((first, answer.pane, answer.stale))
        self._writes.append(self._spans.write(answer, State.UNKNOWN))

    def _correct(self) -> None:
        """All is settled for good: who was told something else in between is told what holds."""
        settlement, provisional = self.settlement, self.history.provisional
        if provisional.is_empty or settlement is None or settlement.final < settlement.front:
            return
        answer = self.answered
        if answer is not None and self.teller is not None:
            self.alerts += self.teller.correct(replace(answer, late=True), provisional.told)
        provisional.forget()

    def resume(self, row: Mapping[str, Any], books: StoredBooks, now: float) -> None:
        """Go on from what was stored; ``row`` is the watch's, ``books`` the sites' of this watch."""
        self.full_from = {int(site): pane for site, pane in json.loads(row["full_from"]).items()}
        self._books.know(self._given_keys)
        settlement = self.settlement
        if settlement is None or row["settled"] is None:
            self.estate = stored_estate(row, books, template=self.by_member)
            return
        resume(settlement, row, books, now)
        self.history.newest = settlement.settled
        self.history.kept = settlement.final
        if settlement.roster:
            pane = row["settled"]
            self.answered = settlement.resolver.answer(pane, State.VALID, settlement.roster, (), pane)
