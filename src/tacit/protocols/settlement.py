"""The coordinator's half on the clock of panes: who claimed what, which pane is settled, who is stale.

A pane is *settled* when every site has either claimed it silent under the zone the coordinator holds for that site, or
has reported it and the report has been resolved. Panes are settled in order, so what happens at a pane depends on the
data of that pane alone, not on when messages arrive: live and replay agree whatever the interleaving. A claim counts
only for the very version of the zone it was made under; silence is not a claim.

Loss, doubling and reordering: requests, zones and reports are sent again until the answer shows that they arrived
(a zone's receipt is the version in the next heartbeat); older numbers, versions and sessions change nothing. A site
whose lease ran out is *stale*: the others go on, its last vector counts, and answers say so.

Late settlement. A pane that was settled while a site was *missing* (stale, required and never seen, or idle: closed by
the time of other sites only) is *provisional*; ``final`` is the last pane before the first provisional one. Sites keep
everything after it. When nobody is missing any more, the settlement *rewinds*: a collection is made at the first
provisional pane, and all panes from there on are settled once more, now with everybody. A collection starts from
nothing but the vectors of its pane, so what is published after a rewind is what would have been published had nobody
been missing.

The roster changes only together with a *collection*, which asks everyone for everything: at the start, when a site
joins (at the first pane that it holds and that is not settled) or leaves, when a site cannot give the vector of the
pane in question, when the settlement rewinds, and, where skipping is allowed, when more than ``backlog`` panes wait. It
is made at the next pane if all hold it, else at the first that all hold (for a backlog: the newest); panes in between
are published as a gap: nobody can answer for them, and their state is unknown.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.protocols.members import NEVER, Seen
from tacit.protocols.messages import (
    Fit,
    Heartbeat,
    HeartbeatAnswer,
    Hello,
    Leave,
    Message,
    Reply,
    Report,
    checks_again,
)
from tacit.protocols.resolver import Estate, next_version
from tacit.protocols.tenure import TRANSITIONS, Phase, Tenure
from tacit.protocols.topico import Nomination
from tacit.protocols.topk.messages import Challenge, Showing
from tacit.vocabulary import Answer, Missing, ProtocolError, State

__all__ = ["TRANSITIONS", "Estate", "Phase", "Settlement"]

_VERSION_MAX = 1 << 62
_SITES_MAX = 1 << 16  # arrays are as long as the largest number; a larger one is an error of whoever gave it


class Settlement(Tenure):
    """Pure machine: messages and the time in, messages out.

    ``published`` receives every answer and is never read here: a process that runs for long takes them out of it.
    """

    def grow_groups(self, groups: int) -> tuple[Message, ...]:
        """There are groups up to this number now; call it before the first message that names one of them."""
        return self.resolver.grow_groups(groups)

    def receive(self, message: Message, now: float) -> tuple[Message, ...]:
        """One message from a site."""
        out: list[Message] = []
        match message:
            case Hello():
                out += self._hello(message, now)
            case Leave():
                out += self._leave(message)
            case Heartbeat() if message.site in self._members.seen:
                out += self._heartbeat(message, now)
            case Heartbeat():  # it thinks that it counts, but its hello was lost: let it say it again
                out.append(Leave(message.site, self._members.left.get(message.site, 0)))
            case Report() | Challenge() | Nomination() if message.site in self._members.seen:
                out += self._report(message, now)
            case Reply() | Showing() if message.site in self._members.seen:
                self._hear(message.site, now)
                self.resolver.check(message)
                out += self._resolved(self.resolver.receive(message), now)
            case Fit() if message.site in self._members.seen:
                self._hear(message.site, now)
                self.resolver.learn(message)
        return tuple(out + self._settle(now))

    def beat(
        self, site: int, closed: int, silent: int, version: int, now: float, *, idle_panes: int = 0
    ) -> tuple[Message, ...] | None:
        """A heartbeat, without its answer: whoever bundles the answers of many watches says ``settled`` in them.

        None when the site is not known, and must be told so by ``receive``. A thousand sites with ten watches say ten
        thousand a second, nearly all of which change nothing but a number: hence no message is made here.
        """
        seen = self._members.seen.get(site)
        if seen is None:
            return None
        self._note_idle(site, closed, idle_panes, now)
        out = self._claim(site, seen, closed, silent, version, now)
        settling = self.phase is Phase.SETTLING and not self._recollect and self.final == self.settled
        if settling and self._members.waits(self.settled, self.backlog):
            return tuple(out)
        return tuple(out + self._settle(now))

    def tick(self, now: float) -> tuple[Message, ...]:
        """Time passed: leases run out, and what may be lost is sent again."""
        for site, seen in self._members.seen.items():
            if not seen.stale and now - seen.heard > self._lease:
                self._members.lose(site)
                if self._members.counts(site):
                    self.resolver.available[site] = False
                    self._doubtful.add(site)
                    self._end_epoch(site, seen)
                self._abandon_if_awaited(site)
        out: list[Message] = []
        if self.resolver.awaited and now - self._asked >= self._resend:
            self._asked = now
            out += self.resolver.awaited
        return tuple(out + self._settle(now))

    def _end_epoch(self, site: int, seen: Seen) -> None:
        """A lost site may take for granted what nobody knows of (centres.py): what it comes to by itself is void."""
        if self.resolver.epoch > 1:
            self.resolver.versions[site] = next_version(int(self.resolver.versions[site]), self.resolver.epoch)
            self.resolver.touched.add(site)
            seen.report = None

    def _become(self, event: str) -> None:
        self.phase = TRANSITIONS[self.phase, event]

    def _hear(self, site: int, now: float) -> None:
        self._members.hear(site, now)
        if self._members.counts(site):
            self.resolver.available[site] = True

    def _hello(self, hello: Hello, now: float) -> list[Message]:
        site, session = hello.site, hello.session
        if not 0 <= site < _SITES_MAX:
            raise ProtocolError(f"a site calls itself number {site}; numbers go from 0 to {_SITES_MAX - 1}")
        seen = self._members.seen.get(site)
        if session <= self._members.left.get(site, -1) or (seen is not None and session < seen.session):
            return []  # it was overtaken by a leave or by a newer hello
        self.newest = max(self.newest, hello.closed)
        if seen is None:
            self._members.seen[site] = Seen(session, now, hello.oldest, hello.closed)
            self._members.changed()
            return []
        self._members.leaving.discard(site)
        self._hear(site, now)
        fresh = session > seen.session
        if fresh:
            self._members.changed()
            self._members.idle.pop(site, None)  # what it closed while it was idle is undone
            seen.silent, seen.report = min(seen.silent, hello.closed), None
        seen.session = session
        seen.oldest = hello.oldest if fresh else max(seen.oldest, hello.oldest)
        seen.closed = hello.closed if fresh else max(seen.closed, hello.closed)
        if not self._members.counts(site):
            return []
        needed = self._pane if self.phase in (Phase.COLLECTING, Phase.RESOLVING) else self.settled + 1
        if needed < hello.oldest <= hello.closed:
            self._abandon()
            self._recollect = True
            return []
        if self._may_rewind():  # all are asked anew at once
            return []
        return self._snapshot(site, now) if fresh or now - seen.sent >= self._resend else []

    def _leave(self, leave: Leave) -> list[Message]:
        site = leave.site
        members = self._members
        seen = members.seen.get(site)
        members.left[site] = max(leave.session, members.left.get(site, -1))
        members.changed()
        if seen is not None and leave.session >= seen.session:
            if members.may_count(site):
                members.leaving.add(site)
                self._recollect = True
            else:
                members.forget(site)
            self._abandon_if_awaited(site)
        return [leave]  # so that the site may stop saying it

    def _heartbeat(self, beat: Heartbeat, now: float) -> list[Message]:
        answer = self._settled_answer(beat.site)
        seen = self._members.seen[beat.site]
        self._note_idle(beat.site, beat.closed, beat.idle_panes, now)
        return [answer, *self._claim(beat.site, seen, beat.closed, beat.silent, beat.version, now)]

    def _settled_answer(self, site: int) -> HeartbeatAnswer:
        return HeartbeatAnswer(site, self.settled, max(0, self.settled - self.final))

    def _note_idle(self, site: int, closed: int, idle_panes: int, now: float) -> None:
        """How far a site's own rows have come, where others' rows have taken it further."""
        idle = self._members.idle
        if idle_panes:
            last, since = idle.get(site, (NEVER, now))
            idle[site] = max(closed - idle_panes, last), since
        elif idle:
            idle.pop(site, None)

    def _claim(
        self, site: int, seen: Seen, closed: int, silent: int, version: int, now: float
    ) -> list[Message]:  # fmt: skip
        if seen.stale:
            self._hear(site, now)
        seen.heard = now  # one that is not stale is available already
        if closed > seen.closed:
            seen.closed = closed
            if closed > self.newest:
                self.newest = closed
        if not self._members.counts(site):
            return []
        held = self.resolver.versions[site]
        if version == held:
            if silent > seen.silent:
                seen.silent = silent
        elif version > held:
            self._overtake(site, version)
        elif now - seen.sent >= self._resend:
            return self._snapshot(site, now)
        return []

    def _overtake(self, site: int, version: int) -> None:
        """The site holds a zone that these books do not know: they are an older copy. All are asked anew."""
        if version > _VERSION_MAX:
            raise ProtocolError(f"site {site} says that it was told a zone of version {version}")
        self.resolver.versions[site] = next_version(version, self.resolver.epoch)
        self.resolver.touched.add(site)
        self._abandon()
        self._recollect = True

    def _report(self, report: Report | Challenge | Nomination, now: float) -> list[Message]:
        self._hear(report.site, now)
        self.resolver.check(report)
        seen = self._members.seen[report.site]
        if not self._members.counts(report.site):
            return []
        if report.version > self.resolver.versions[report.site]:
            self._overtake(report.site, report.version)
        if report.version != self.resolver.versions[report.site]:
            return []
        if report.pane <= self.settled:
            return self._snapshot(report.site, now) if now - seen.sent >= self._resend else []
        seen.closed = max(seen.closed, report.pane)
        self.newest = max(self.newest, report.pane)
        seen.silent = max(seen.silent, report.pane - 1)
        seen.report = report
        return []

    def _snapshot(self, site: int, now: float) -> list[Message]:
        """Its zone once more; while all are asked anew it is not known who will count, and all are told at the end."""
        if self.phase is Phase.COLLECTING:
            return []
        seen = self._members.seen[site]
        seen.sent, seen.report = now, None
        if self.resolver.versions[site] == 0:
            return []
        return [self.resolver.snapshot(site, self.settled)]

    def _awaits_in_vain(self) -> bool:
        """Is somebody asked who cannot be expected to answer: lost or gone since the resolution began?"""
        known = self._members
        return any(known.seen[each.site].stale or each.site in known.leaving for each in self.resolver.awaited)

    def _abandon_if_awaited(self, site: int) -> None:
        if any(request.site == site for request in self.resolver.awaited):
            self._abandon()

    def _abandon(self) -> None:
        """Forget the collection or resolution under way; what it was for is begun again."""
        if self.phase not in (Phase.COLLECTING, Phase.RESOLVING):
            return
        anew = self.resolver.abandon()
        if self.phase is Phase.COLLECTING:
            self._members.withdraw()
            anew = True
        self._recollect = self._recollect or anew
        self._become("a member cannot answer")

    def _settle(self, now: float) -> list[Message]:
        """Settle as many panes as what is known allows."""
        out: list[Message] = []
        more: list[Message] | None = []
        while more is not None:
            out += more
            more = None
            if self.phase is Phase.GATHERING:
                more = self._collect(now)
            elif self.phase is Phase.SETTLING:
                more = self._next_pane(now)
        return out

    def _collect(self, now: float) -> list[Message] | None:
        """Begin a collection, if all members hold a pane that is not settled."""
        start = self.final if self._may_rewind() else self.settled
        start = min(start, self.final - 1) if self._once_more else start
        gathered = self._members.gather(start, self.final, self._expected)
        if gathered is None:
            return None
        self._start = start
        self._pane, self._asked = gathered.newest if self._newest else gathered.pane, now
        self._recollect = self._newest = False
        self.resolver.grow(gathered.members[-1] + 1)
        self._members.propose(gathered.members)
        self.resolver.available[:] = False
        self.resolver.available[gathered.able] = True
        self._doubtful = set(self.stale)
        self._become("every member holds the pane")
        return self._resolved(self.resolver.collect_all(self._pane), now)

    def _next_pane(self, now: float) -> list[Message] | None:
        known, pane, backlog = self._members, self.settled + 1, self.backlog
        self._recollect = self._recollect or self._may_rewind()
        if not self._recollect and (known.waits(self.settled, backlog) or known.lag(self.settled, backlog)):
            return None
        live = [(site, known.seen[site]) for site in self.roster if not known.seen[site].stale]
        late = backlog is not None and bool(live) and min(seen.closed for _, seen in live) - self._ahead > backlog
        claimed = min((seen.silent for _, seen in live), default=NEVER)
        if not self._recollect and claimed > self.settled:
            self._become("claims of the next pane")
            self._publish(self.settled + 1, claimed, set(self.stale))
            return []
        if self._recollect or late or known.newcomers(self.settled, self.final):
            self._newest = late
            self._become("the roster changes or the backlog is long")
            return []
        reports = [(site, seen.report) for site, seen in live if seen.reports(pane)]
        if not reports or any(seen.silent < pane and not seen.reports(pane) for _, seen in live):
            return None
        self._become("violations of the next pane")
        self._pane, self._asked, self._doubtful = pane, now, set(self.stale)
        messages = self.resolver.resolve(pane, reports)
        if not messages and not self.resolver.awaited:  # recentring: that the pane is settled is all they need to know
            for site, _ in reports:
                seen = known.seen[site]
                seen.silent, seen.report = pane, None
                seen.sent = now  # so that it needs no snapshot
            self._become("the resolver has ended")
            self._publish(pane, pane, {*self.stale, *self._doubtful})
            return [self._settled_answer(site) for site, _ in reports]  # of a recording the next pane is waiting
        return self._resolved(messages, now)

    def _resolved(self, messages: tuple[Message, ...], now: float) -> list[Message]:
        """What the resolver said; unless it still waits for replies, its pane is done."""
        if not messages or self.phase not in (Phase.COLLECTING, Phase.RESOLVING):
            return list(messages)
        if self.resolver.awaited:
            if self._awaits_in_vain():
                self._abandon()
                return []
            self._asked = now
            return list(messages)
        done = not any(map(checks_again, messages))
        for message in messages:
            seen = self._members.seen[message.site]
            seen.sent, seen.report = now, None
            seen.silent = self._pane if done else self._pane - 1
        if self.phase is Phase.COLLECTING:
            self._expected = 1
            self._members.let_go()
            self._become("the last awaited reply")
            self._settle_before(self._pane)
        else:
            self._become("the resolver has ended")
        if done:
            self._publish(self._pane, self._pane, {*self.stale, *self._doubtful})
        return list(messages)

    @property
    def _ahead(self) -> int:
        """The pane that skipping is counted from: panes that are settled late were answered once."""
        return max(self.settled, self.front)

    def _may_rewind(self) -> bool:
        """Are there provisional panes, and is nobody missing any more of whom the first of them needs something?"""
        if self.final >= self.settled or self._members.certain <= self.final:
            return False
        return {*self.stale, *self.absent} <= self._members.hopeless | self._members.leaving

    def _settle_before(self, pane: int) -> None:
        """A collection of this pane has ended: panes before it that were not settled are a gap."""
        start, self.settled = max(self._start, self.final), pane - 1
        if start == self.final:
            self.final = max(self.final, pane - 1)
        answered = self._first <= start or start < self.front  # before its first collection a watch owes no answer
        if start < pane - 1 and answered and not self.skips:
            nothing = np.empty(0, dtype=np.int64)
            lost = tuple(site for site in self.roster if self._members.seen[site].oldest > start + 1)
            gap = Answer(pane - 1, State.UNKNOWN, nothing, np.empty((0, 0)), self.roster, lost, start + 1)
            self.published.append(gap)
        self.skips = self._once_more = False

    def _publish(self, first: int, pane: int, stale: set[int]) -> None:
        """Say the answer of panes ``first`` to ``pane``. A site that was missing at any moment of it makes it stale."""
        certain, front = self._members.certain, self.front
        for end in sorted({end for end in (certain, front) if first <= end < pane}):
            self._publish(first, end, stale)
            first = end + 1
        missing = {*stale, *self.absent, *(self._members.idle_at(pane) if pane > certain else ())}
        state = State.STALE if missing else State.VALID
        if self.final == first - 1 and self._members.hopeless.issuperset(missing):
            self.final = pane
        answer = self.resolver.answer(pane, state, self.roster, tuple(sorted(missing)), first)
        absences = tuple(Missing(site, *self.absence(site)) for site in answer.stale)
        self.published.append(replace(answer, missing=absences, late=pane <= front, final=self.final))
        self.settled, self.front = pane, max(self.front, pane)
        if self.backlog is not None:  # what was answered without somebody longer ago stays as it was answered
            self.final = max(self.final, self.settled - self.backlog)
