"""A running coordinator: one event loop around the coordinator's mind, its store, its port and its sinks.

Everything that arrives is worked on at once, in memory; what follows from it is sent only when what it rests on is
stored. Commits are made by one thread, each for all that gathered while the one before was under way.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import AsyncGenerator, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tacit._version import __version__
from tacit.protocols.messages import Request
from tacit.runtime.alert_documents import ALERT
from tacit.runtime.coordinator import Addressed, Coordinator
from tacit.runtime.published import published_page
from tacit.runtime.reports import alerts_after, answer_document, site_rows, watch_rows
from tacit.runtime.store import Store, Write
from tacit.transport.grpc_server import Server, serve
from tacit.transport.limits import ServerLimits, oversize
from tacit.transport.security import ServerSecurity
from tacit.transport.server_link import ServerLink
from tacit.vocabulary import MachineError, OptionError, ProtocolError
from tacit.wire.codec import encode, open_envelope
from tacit.wire.control import Beats, BeatsAnswer, Opening, Tallies
from tacit.wire.frames import cut_frames, decode_frame
from tacit.wire.kinds import KINDS
from tacit.wire.ledger import COORDINATOR

__all__ = ["Service"]

_TICK_S = 0.2
_LEDGER_S = 5.0  # totals only: a crash may lose so much of them
_PRUNE_S = 3_600.0
_COMPLAIN_S = 60.0
_FOLLOW_S = 0.2  # answers to one subscriber are at least so far apart; what changed in between comes together

_log = logging.getLogger(__name__)


class Service:
    """A coordinator that listens. ``start`` it, ``wait`` for its failure if you like, and ``stop`` it."""

    def __init__(
        self,
        store: Store,
        coordinator: Coordinator,
        *,
        sinks: Mapping[str, bool] | None = None,
        limits: ServerLimits | None = None,
        keep_s: float = 30 * 86_400.0,
    ) -> None:
        self.store, self.coordinator, self._limits, self._keep_s = store, coordinator, limits, keep_s
        self.message_bytes = (ServerLimits() if limits is None else limits).message_bytes
        self.sinks = dict(sinks or {})  # by name those that alerts are due to: are changes due to them too?
        self.links: dict[int, ServerLink] = {}
        self._instances: dict[int, str] = {}  # by site, of its link
        self._unwelcomed: set[ServerLink] = set()  # nothing goes there before the welcome
        self.alerted = asyncio.Event()  # alerts were stored since it was last cleared
        self._server: Server | None = None
        self._sends: list[tuple[ServerLink, list[bytes]]] = []
        self._work = asyncio.Event()
        self._committed = asyncio.Condition()
        self._round = 0
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="tacit-store")
        self._torn: BaseException | None = None  # why a commit failed
        self._tasks: list[asyncio.Task[None]] = []
        self._followers: dict[asyncio.Event, str] = {}
        self._shown: dict[int, str] = {}
        self._alerts_seen = 0
        self._complained = -_COMPLAIN_S

    @property
    def port(self) -> int:
        """The port that is listened on."""
        return 0 if self._server is None else self._server.port

    async def start(self, address: str, security: ServerSecurity) -> None:
        """Listen and work from now on."""
        self._server = await serve(
            address, security=security, on_link=self._link, on_ask=self._ask, on_follow=self._follow,
            limits=self._limits,
        )  # fmt: skip
        self._tasks = [asyncio.create_task(work()) for work in (self._commit_all, self._tick_on, self._count)]
        self._work.set()

    async def wait(self) -> None:
        """Until something fails that a coordinator cannot go on without; that error is raised."""
        done, _ = await asyncio.wait(self._tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()

    async def stop(self) -> None:
        """Say goodbye, store what is left, and let go of everything. After a commit that failed nothing is stored:
        what came later rests on it."""
        if self._server is not None:
            await self._server.stop()
        for task in self._tasks:
            task.cancel()
        for task in self._tasks:
            with suppress(asyncio.CancelledError, Exception):
                await task
        try:
            await asyncio.get_running_loop().run_in_executor(self._writer, int)  # what is under way has its turn first
            if self._torn is None:
                writes, _ = self._taken()
                await self._store([*writes, *self._totals()])
        finally:
            self._writer.shutdown()
            self.store.close()

    # Sites

    async def _link(self, link: ServerLink) -> None:
        opening = await self._opening(link)
        now = time.monotonic()
        other = self._rival(link.site, opening, now)
        if other is not None:
            sentence = (
                f"another process runs as site {link.site}, from {other.peer}, with another state folder; only one may"
                " run: stop one of them, or give it another name"
            )
            _log.warning("site %s from %s is refused: %s", link.site, link.peer, sentence)
            link.refuse(sentence)
            return
        number, out = self.coordinator.open(link.site, opening, now)
        before = self.links.get(number)
        if before is not None:
            before.close("this site has linked up anew")
        self.links[number] = link
        self._instances[number] = opening.instance
        self._unwelcomed.add(link)
        _log.info("site %s linked up from %s", link.site, link.peer)
        self._say(out)
        try:
            async for frame in link:
                now = time.monotonic()
                said: list[Addressed] = []
                try:
                    for data in decode_frame(frame):
                        about, kind, message = open_envelope(data)
                        self._note(about, number, COORDINATOR, kind, message, data)
                        said += self.coordinator.receive(number, about, message, now)
                finally:  # also where the frame is garbled further on: what came before it was taken
                    self._say(said)
        finally:
            self._unwelcomed.discard(link)
            if self.links.get(number) is link:
                del self.links[number]
                self.coordinator.close(number, time.monotonic())
                _log.info("site %s is gone", link.site)
                self._work.set()

    async def _opening(self, link: ServerLink) -> Opening:
        async for frame in link:
            messages = [open_envelope(data)[2] for data in decode_frame(frame)]
            if len(messages) != 1 or not isinstance(messages[0], Opening):
                break
            return messages[0]
        raise ProtocolError("a site's first message must say who it is")

    def _rival(self, name: str, opening: Opening, now: float) -> ServerLink | None:
        """The link of another process under this name that is alive.

        A process has the instance of its state folder, which it alone holds: one that died and is back has the same,
        and takes the place of its old stream at once. Another one's stream counts as alive for a lease.
        """
        site = self.coordinator.sites.named(name)
        link = None if site is None else self.links.get(site.number)
        if site is None or link is None or self._instances.get(site.number) == opening.instance:
            return None
        return link if now - site.seen <= self.coordinator.tuning.lease else None

    def _say(self, out: Iterable[Addressed]) -> None:
        """To be sent after the next commit. Whoever is not there hears it, or what came of it, when it links up.

        A request rests on nothing that is stored, and a resolution may take many: it goes at once, unless it names
        groups whose numbers are still to be said.
        """
        later: dict[ServerLink, list[bytes]] = {}
        at_once: list[tuple[ServerLink, list[bytes]]] = []
        for site, about, message in out:
            link, watch = self.links.get(site), self.coordinator.watches.get(about)
            if link is None:
                continue
            try:
                data = encode(message, about)
            except ProtocolError as error:
                if watch is not None:
                    watch.fail(f"it says what cannot be sent: {error}", error=error)
                continue
            if (problem := oversize(KINDS[type(message)], len(data), self.message_bytes)) is not None:
                if watch is not None:  # the link would end over it, and over the same one again when it is back
                    watch.fail(f"{problem}; DROP WATCH {watch.plan.name} and create it anew")
                continue
            self._note(about, COORDINATOR, site, KINDS[type(message)], message, data)
            hasty = isinstance(message, Request) and watch is not None and watch.plan.grouping is None
            if hasty and link not in self._unwelcomed:
                at_once.append((link, [data]))
            else:
                later.setdefault(link, []).append(data)
        self._send(at_once)
        self._sends += later.items()
        self._work.set()

    def _note(self, about: int, source: int, target: int, kind: str, message: object, data: bytes) -> None:
        if isinstance(message, Beats | BeatsAnswer | Tallies):
            self.coordinator.accounts.sent_together(message.watches, kind, len(data))
        else:
            self.coordinator.accounts.sent(about, source, target, kind, len(data))

    # Storing, and sending after it

    async def _commit_all(self) -> None:
        while True:
            await self._work.wait()
            self._work.clear()
            sends, self._sends = self._sends, []
            writes, alerts = self._taken()
            await self._store(writes)
            self._send(sends)
            if alerts:
                self.alerted.set()
            self._tell_followers()
            async with self._committed:
                self._round += 1
                self._committed.notify_all()

    def _taken(self) -> tuple[list[Write], int]:
        writes, alerts = self.coordinator.take(time.monotonic())
        raised = datetime.now(UTC).isoformat().replace("+00:00", "Z")
        for alert in alerts:
            document = _json({**alert, "raised": raised})
            writes.append(
                (
                    "INSERT OR IGNORE INTO alerts (id, watch, document, kind) VALUES (?, ?, ?, ?)",
                    (alert["id"], alert["watch"], document, alert["kind"]),
                )
            )
            writes += [
                ("INSERT OR IGNORE INTO deliveries SELECT ?, id, seq FROM alerts WHERE id = ?", (sink, alert["id"]))
                for sink, takes_changes in self.sinks.items()
                if takes_changes or alert["kind"] == ALERT
            ]
        return writes, len(alerts)

    async def _store(self, writes: list[Write], *, ours: bool = True) -> None:
        if writes:
            commit = asyncio.get_running_loop().run_in_executor(self._writer, self._commit, writes, ours)
            commit.add_done_callback(lambda done: done.cancelled() or done.exception())  # who waited may be gone
            await asyncio.shield(commit)

    def _commit(self, writes: list[Write], ours: bool) -> None:
        """In the writer's thread, one at a time. None after one of ours that failed: a store has no gaps."""
        if self._torn is not None:
            raise MachineError(
                f"nothing is stored after a commit that failed ({self._torn}); start the coordinator again"
            )
        try:
            self.store.commit(writes)
        except BaseException as error:
            self._torn = error if ours else None
            raise

    async def stored(self, writes: list[Write]) -> None:
        """Store something of others, in turn with everything else; nothing of ours rests on it."""
        await self._store(writes, ours=False)

    def _send(self, sends: list[tuple[ServerLink, list[bytes]]]) -> None:
        """Hand over what was said, to the very link that it was said to: a new one of that site is told all anew."""
        together: dict[ServerLink, list[bytes]] = {}
        for link, envelopes in sends:
            together.setdefault(link, []).extend(envelopes)
        for link, envelopes in together.items():
            link.send(*cut_frames(envelopes))
            self._unwelcomed.discard(link)

    async def _settled(self) -> None:
        """Until everything that was worked on before now is stored and sent."""
        async with self._committed:
            wanted = self._round + 2  # a commit may be under way that began before
            self._work.set()
            while self._round < wanted:
                self._work.set()
                await self._committed.wait()

    async def _tick_on(self) -> None:
        while True:
            await asyncio.sleep(_TICK_S)
            self._say(self.coordinator.tick(time.monotonic()))
            shown = {watch.number: watch.shown_state for watch in self.coordinator.watches.values()}
            for number, state in shown.items():
                if self._shown.get(number) != state:
                    self.coordinator.watches[number].news = True
            self._shown = shown
            self._work.set()

    async def _count(self) -> None:
        pruned = -_PRUNE_S
        while True:
            await asyncio.sleep(_LEDGER_S)
            await self._store(self._totals())
            self._look_at_store()
            if time.monotonic() - pruned >= _PRUNE_S:
                pruned = time.monotonic()
                await self._store(self.coordinator.prune(self._keep_s))
                self.coordinator.alert_counts.recount()

    def _totals(self) -> list[Write]:
        """What is stored now and then: a crash may lose the newest of it."""
        return [*self.coordinator.ledger_writes(), *self.coordinator.sites.sightings(time.monotonic())]

    def _look_at_store(self) -> None:
        """Complain about a store that was removed, again and again: from now on nothing is kept."""
        now = time.monotonic()
        if not self.store.is_gone or now - self._complained < _COMPLAIN_S:
            return
        self._complained = now
        _log.error(
            "%s was removed or replaced while the coordinator runs: answers go on, but what happens from now on is lost"
            " when it ends, watches and undelivered alerts too. Save the sentences (tacit watch list --json), stop the"
            " coordinator, start it again and create the watches anew",
            self.store.path,
        )

    # Clients

    async def _ask(self, request: dict[str, Any], client: str) -> dict[str, Any]:
        now = time.monotonic()
        if "sql" in request:
            results, out = self.coordinator.ask(_text(request, "sql"), now)
            self._say(out)
            await self._settled()
            return {"results": results}
        if request.get("status"):
            watches, sites = watch_rows(self.coordinator, now), site_rows(self.coordinator, now)
            return {"release": __version__, "watches": watches, "sites": sites}
        if "published" in request:
            watch = self.coordinator.find(_text(request, "published"))
            names = {number: site.name for number, site in self.coordinator.sites.items()}
            first, after = _whole(request, "first") or 0, _whole(request, "after") or 0
            return published_page(self.store, watch.plan.name, watch.lineage, names, first, after)
        raise OptionError("a question is {sql: …}, {status: true} or {published: watch}")

    async def _follow(self, request: dict[str, Any], client: str) -> AsyncGenerator[dict[str, Any], None]:
        name = self.coordinator.find(_text(request, "watch")).plan.name
        news = asyncio.Event()
        self._followers[news] = name.casefold()
        last: dict[str, Any] | None = None
        newest = _whole(request, "after")
        try:
            while True:
                watch = self.coordinator.find(name)
                document = answer_document(self.coordinator, watch, time.monotonic())
                newest, told = alerts_after(self.store, watch.plan.name, newest)
                if _differs(document, last) or told:
                    last = document
                    alerts = [each for each in told if each["kind"] == ALERT]
                    changes = [each for each in told if each["kind"] != ALERT]
                    yield {**document, "alerts": alerts, "changes": changes, "newest": newest}
                await news.wait()
                news.clear()
                await asyncio.sleep(_FOLLOW_S)
        finally:
            del self._followers[news]

    def _tell_followers(self) -> None:
        fresh = {w.plan.name.casefold() for w in self.coordinator.watches.values() if w.news}
        fresh |= self.coordinator.ended
        self.coordinator.ended.clear()
        for watch in self.coordinator.watches.values():
            watch.news = False
        for news, name in self._followers.items():
            if name in fresh:
                news.set()


def _text(request: dict[str, Any], key: str) -> str:
    value = request.get(key)
    if not isinstance(value, str):
        raise OptionError(f"the question's {key} must be a text")
    try:
        value.encode()  # JSON can carry half of a letter, and no store takes it
    except UnicodeEncodeError as error:
        raise OptionError(
            f"the question's {key} has half a letter at place {error.start + 1}; send whole ones"
        ) from None
    return value


def _whole(request: dict[str, Any], key: str) -> int | None:
    value = request.get(key)
    if value is not None and not isinstance(value, int):
        raise OptionError(f"the question's {key} must be a whole number")
    return value


def _differs(document: dict[str, Any], last: dict[str, Any] | None) -> bool:
    """Is there anything new but the time that passed?"""

    def plain(value: dict[str, Any]) -> dict[str, Any]:
        return {
            **value,
            "stale": [each["site"] for each in value["stale"]],
            "missing": [(each["site"], each["reason"]) for each in value["missing"]],
        }

    return last is None or plain(document) != plain(last)


def _json(value: Any) -> str:

    return json.dumps(value, ensure_ascii=False)
