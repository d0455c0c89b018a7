"""A coordinator in this process: its state folder, its service in an event loop of its own thread, its sinks."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from tacit.language.plan import WatchPlan
from tacit.language.statement_kinds import CreateWatch
from tacit.language.statements import parse_statements, statement_lines
from tacit.runtime.config import Config
from tacit.runtime.configured_tables import configured_tables
from tacit.runtime.coordinator import Coordinator
from tacit.runtime.kept_watch import Tuning
from tacit.runtime.locks import hold
from tacit.runtime.rehearsal import rehearse
from tacit.runtime.service import Service
from tacit.runtime.sinks.delivery import Delivery
from tacit.runtime.sinks.making import make_sinks
from tacit.runtime.sinks.sink import AlertDocument
from tacit.runtime.store import Store, Write, has_watches
from tacit.transport.security import ServerSecurity, TlsFiles, hashed
from tacit.vocabulary import OptionError, SentenceError

__all__ = ["CoordinatorRunner", "check_watches", "security_of"]

_log = logging.getLogger(__name__)


class CoordinatorRunner:
    """``start`` returns when it listens; ``failure`` is why it ended by itself; ``stop`` ends it."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.failure: BaseException | None = None
        self.ended = threading.Event()
        self._held = ExitStack()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None
        self._service: Service | None = None
        self._ready: Future[int] = Future()
        self._thread = threading.Thread(target=self._run, name="tacit-coordinator", daemon=True)

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._ready.result()

    def start(self) -> None:
        """Listen. What stands in the way is raised here."""
        self._held.enter_context(hold(self.config.coordinator.state, "coordinator"))
        try:
            self._thread.start()
            self._ready.result()
        except BaseException:
            self._held.close()
            raise

    def stop(self) -> None:
        """End it, after everything is stored."""
        if self._loop is not None and self._stop is not None:
            with suppress(RuntimeError):  # it has ended by itself, maybe just now
                self._loop.call_soon_threadsafe(self._stop.set)
        if self._thread.is_alive():
            self._thread.join()
        self._held.close()

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Run something in the coordinator's loop, and wait for it."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(60)

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """What a client would ask, without the network."""
        assert self._service is not None
        answer: dict[str, Any] = self.call(self._service._ask(request, ""))
        return answer

    def _run(self) -> None:
        try:
            asyncio.run(self._main())
        except BaseException as error:
            if not self._ready.done():
                self._ready.set_exception(error)
            else:
                self.failure = error
                _log.error("the coordinator failed: %s", error)
        finally:
            self.ended.set()

    async def _main(self) -> None:
        settings = self.config.coordinator
        self._loop, self._stop = asyncio.get_running_loop(), asyncio.Event()
        sinks = make_sinks(self.config.sinks)
        store = Store(settings.state)
        takes_changes = {sink.name: each.changes for sink, each in zip(sinks, self.config.sinks, strict=True)}
        _forget_strangers(store, takes_changes)
        fresh = store.one("SELECT 1 FROM watches LIMIT 1") is None
        tuning = Tuning(
            lease=settings.lease_seconds, gather=settings.gather_seconds, backlog=settings.backlog_panes,
            resend=min(1.0, settings.lease_seconds / 5),
        )  # fmt: skip
        expected = {*self.config.sites, *settings.tokens.sites}
        coordinator = Coordinator(
            store, now=time.monotonic(), expected=expected, configured=configured_tables(self.config),
            protocol=settings.protocol, heartbeat=settings.heartbeat_seconds, tuning=tuning,
        )  # fmt: skip
        if fresh:
            _read_watches(coordinator, settings.watches)
        service = self._service = Service(
            store, coordinator, sinks=takes_changes, keep_s=settings.keep_days * 86_400.0
        )  # fmt: skip
        await service.start(settings.listen, security_of(self.config))
        deliveries = [Delivery(sink, _Backlog(service)) for sink in sinks]
        tasks = [asyncio.create_task(delivery.run()) for delivery in deliveries]
        tasks.append(asyncio.create_task(_wake(service, deliveries)))
        self._ready.set_result(service.port)
        failing = asyncio.create_task(service.wait())
        stopping = asyncio.create_task(self._stop.wait())
        await asyncio.wait({failing, stopping}, return_when=asyncio.FIRST_COMPLETED)
        for task in (*tasks, stopping):
            task.cancel()
        await asyncio.gather(*tasks, stopping, return_exceptions=True)
        failed = failing.exception() if failing.done() and not failing.cancelled() else None
        failing.cancel()
        await asyncio.gather(failing, return_exceptions=True)
        await service.stop()
        if failed is not None:
            raise failed


def _forget_strangers(store: Store, sinks: Mapping[str, bool]) -> None:
    """Nothing waits for a sink that is no longer configured: nobody would ever take it.

    ``sinks``: by name, does it take changes? Of one that takes them no more, changes that waited are dropped too.
    """
    for sink, takes_changes in sinks.items():
        if not takes_changes:
            changes = "SELECT id FROM alerts WHERE kind = 'change'"
            store.commit([(f"DELETE FROM deliveries WHERE sink = ? AND id IN ({changes})", (sink,))])
    for sink, count in store.all("SELECT sink, COUNT(*) FROM deliveries GROUP BY sink"):
        if sink not in sinks:
            _log.warning("%d alerts waited for the sink %s, which is no longer configured: dropped", count, sink)
            store.commit([("DELETE FROM deliveries WHERE sink = ?", (sink,))])


def check_watches(config: Config) -> None:
    """Refuse files of watches that the first start would refuse, before anybody waits for what a start needs.

    Where a store has watches already, the files are not read.
    """
    if has_watches(config.coordinator.state):
        return
    configured = configured_tables(config)
    expected = {name: configured.get(name, {}) for name in (*config.sites, *config.coordinator.tokens.sites)}
    known: list[tuple[WatchPlan, str]] = []
    for path in config.coordinator.watches:
        text = _text_of(path)
        try:
            statements = parse_statements(text) if text.strip() else ()
            rehearse(statements, known, ((name, {}, False) for name in expected), statement_lines(text), expected)
        except SentenceError as error:
            raise SentenceError(f"{path}: {error}") from None
        known += [(each.plan, "running") for each in statements if isinstance(each, CreateWatch)]


def _read_watches(coordinator: Coordinator, files: Sequence[Path]) -> None:
    for path in files:
        text = _text_of(path)
        if not text.strip():
            _log.warning("the file of watches %s is empty", path)
            continue
        try:
            coordinator.ask(text, time.monotonic())
        except SentenceError as error:
            raise SentenceError(f"{path}: {error}") from None


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise OptionError(f"the watches in {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise OptionError(f"the watches in {path} are not a text in UTF-8; save the file as one") from None


async def _wake(service: Service, deliveries: Sequence[Delivery]) -> None:
    while True:
        await service.alerted.wait()
        service.alerted.clear()
        for delivery in deliveries:
            delivery.wake()


class _Backlog:
    """The store's alerts as sinks take them."""

    def __init__(self, service: Service) -> None:
        self._service = service

    async def undelivered(self, sink: str, limit: int) -> Sequence[AlertDocument]:
        rows = self._service.store.all(
            "SELECT a.document FROM deliveries d JOIN alerts a ON a.id = d.id WHERE d.sink = ? ORDER BY d.seq LIMIT ?",
            (sink, limit),
        )
        return [json.loads(document) for (document,) in rows]

    async def delivered(self, sink: str, ids: Sequence[str]) -> None:
        writes: list[Write] = [("DELETE FROM deliveries WHERE sink = ? AND id = ?", (sink, each)) for each in ids]
        await self._service.stored(writes)

    async def parked(self, sink: str, id: str, reason: str) -> None:
        await self._service.stored(
            [
                ("INSERT OR REPLACE INTO set_aside VALUES (?, ?, ?)", (sink, id, reason)),
                ("DELETE FROM deliveries WHERE sink = ? AND id = ?", (sink, id)),
            ]
        )


def security_of(config: Config) -> ServerSecurity:
    """What the coordinator shows and asks for."""
    settings = config.coordinator
    tls = settings.tls
    return ServerSecurity(
        tls=None if tls is None else TlsFiles(tls.certificate, tls.key),
        client_ca=None if tls is None else tls.client_ca,
        site_tokens=hashed({name: token.reveal() for name, token in settings.tokens.sites.items()}),
        client_tokens=hashed({name: token.reveal() for name, token in settings.tokens.clients.items()}),
    )
