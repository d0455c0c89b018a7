"""A site in this process: Spark's queries, the agent that takes their batches, the link, and what to do when one dies.

Several sites may share one Spark. When its Java dies, it is started anew and the queries take up their checkpoints;
meanwhile the link stays, and no pane passes by the clock: only Spark can say that there was nothing to read.
"""

from __future__ import annotations

import logging
import signal
import threading
import time
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit._version import __version__
from tacit.runtime.config_models import Config, SparkConfig
from tacit.runtime.config_tables import FileTable, Table, source_of
from tacit.runtime.link_thread import HeldLink, LinkThread
from tacit.runtime.locks import hold
from tacit.runtime.memory import give_back_arrays
from tacit.runtime.pane_clock import TableClock
from tacit.runtime.site_agent import SiteAgent
from tacit.runtime.site_store import SiteStore
from tacit.runtime.site_table import SiteTable
from tacit.transport.grpc_link import SiteLink
from tacit.transport.security import ClientTls, TlsFiles
from tacit.vocabulary import InputError, MachineError, OptionError, TacitError

if TYPE_CHECKING:
    from tacit.pipelines.batches import SparkBatch
    from tacit.pipelines.live_sources import TableSource
    from tacit.pipelines.streaming import StreamingTable

__all__ = ["SiteRunner", "SparkGoneError", "SparkHost"]

_log = logging.getLogger(__name__)

_DEATHS = 5  # in a row, of a Spark that lives for less than a minute: then it is not the machine's bad luck
_SHORT_S = 60.0
_DYING_S = 3.0


def _source(table: Table) -> TableSource:
    from tacit.pipelines.live_sources import TableSource

    return TableSource(**source_of(table), where=table.where)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


class SparkGoneError(MachineError):
    """Spark died again and again, or could not be started: nobody tries any more."""


class SparkHost:
    """The one Spark of this process."""

    def __init__(self, settings: SparkConfig, packages: tuple[str, ...] = ()) -> None:
        self.settings, self.packages = settings, (*settings.packages, *packages)
        self.generation = 0
        self._session: Any = None
        self._deaths = 0  # in a row, each after a short life; a start that failed is one
        self._started = 0.0
        self._gave_up: SparkGoneError | None = None
        self._lock = threading.Lock()

    def session(self) -> Any:
        """The session; Spark is started if there is none or it has died."""
        from tacit.pipelines.session import close_session, java_alive, open_session

        with self._lock:
            if self._gave_up is not None:
                raise self._gave_up
            if self._session is not None and java_alive(self._session):
                return self._session
            if self._session is not None:
                with suppress(Exception):
                    close_session(self._session)
                self._session = None
                if time.monotonic() - self._started >= _SHORT_S:
                    self._deaths = 0
                self._died("its Java ended by itself")
                _log.warning("Spark's Java has died; it is started anew")
            master = self.settings.master
            local = master.startswith("local")
            cores: Any = "*"
            if local and "[" in master:
                inside = master[master.index("[") + 1 : -1].split(",")[0]
                cores = "*" if inside == "*" else int(inside)
            conf = {key: _text(value) for key, value in self.settings.conf.items()}
            here = threading.current_thread() is threading.main_thread()
            on_interrupt = signal.getsignal(signal.SIGINT) if here else None
            try:
                self._session = open_session(
                    "tacit", cores=cores, memory=self.settings.memory, master=None if local else master, conf=conf,
                    packages=tuple(dict.fromkeys(self.packages)),
                )  # fmt: skip
            except Exception as error:
                self._died(str(error))
                raise
            self._started = time.monotonic()
            if on_interrupt is not None:  # PySpark puts its own in the place, and whoever runs this has one
                signal.signal(signal.SIGINT, on_interrupt)
            self.generation += 1
            return self._session

    def _died(self, why: str) -> None:
        self._deaths += 1
        if self._deaths >= _DEATHS:
            self._gave_up = SparkGoneError(
                f"Spark died or did not start {self._deaths} times in a row, each within a minute ({why}); run: tacit"
                " doctor"
            )
            raise self._gave_up

    def alive(self) -> bool:
        """Is Java there?"""
        from tacit.pipelines.session import java_alive

        return self._session is not None and java_alive(self._session)

    def ends(self) -> bool:
        """Is Java gone, or about to be? One that is killed breaks its connections a moment before it has ended."""
        end = time.monotonic() + _DYING_S
        while self.alive():
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        return True

    def close(self) -> None:
        """End it."""
        from tacit.pipelines.session import close_session

        with self._lock:
            if self._session is not None:
                with suppress(Exception):
                    close_session(self._session)
                self._session = None


class SiteRunner:
    """One site. ``start`` it, call ``mind`` now and then, ``stop`` it."""

    def __init__(
        self,
        name: str,
        config: Config,
        host: SparkHost,
        links: LinkThread,
        *,
        address: str | None = None,
    ) -> None:
        self.name, self.config, self.host, self.links = name, config.site(name), host, links
        self.address = self.config.coordinator if address is None else address
        self.status = "starting"
        self.failure: TacitError | None = None
        self.agent: SiteAgent | None = None
        self._held = ExitStack()
        self._tables: dict[str, StreamingTable] = {}
        self._generation = 0
        self._link: HeldLink | None = None
        self._said = ""
        self._reading = False
        self._filler: threading.Thread | None = None
        self._end = threading.Event()
        self._timer = threading.Thread(target=self._beat, name=f"tacit-{name}", daemon=True)

    def start(self) -> None:
        """Open everything. What stands in the way is raised here."""
        give_back_arrays()
        state = self._held.enter_context(hold(self.config.state, f"site {self.name}"))
        try:
            self._open_tables()
            store = SiteStore(state)
            self._held.callback(store.close)
            tables = [self._site_table(name, table) for name, table in self.config.tables.items()]
            self.agent = SiteAgent(
                self.name, store, tables, release=__version__, say=self._say, wall_us=lambda: time.time_ns() // 1000,
            )  # fmt: skip
            self._link = self.links.hold(self._make_link)
            self._link.start()
            self._timer.start()
        except BaseException:
            self.stop()
            raise
        self.status = "linking up"

    def mind(self) -> None:
        """Look after the queries: start them when the watches are known, and again when Spark was lost."""
        agent = self.agent
        if agent is None or self.failure is not None:
            return
        try:
            if self._link is not None and (broken := self._link.failure()) is not None:
                raise TacitError(f"the link of site {self.name} failed: {broken}")
            if not self._reading:
                if agent.knows_watches:
                    self._read()
            elif not self.host.alive() or self._generation != self.host.generation:
                self.status = "Spark is started anew"
                agent.stop_reading()
                self._end_tables()
                self._open_tables()
                self._read()
            else:
                for table in self._tables.values():
                    error = table.failure()
                    if error is not None and self.host.alive():
                        raise error
        except SparkGoneError as error:
            self._fail(error)
        except TacitError as error:
            if not self.host.ends():  # else it is seen again, and mended, at the next look
                self._fail(error)

    def _fail(self, error: TacitError) -> None:
        """This site cannot go on. It hangs up: as long as it was heard of, its answers would pass for good ones."""
        self.failure, self.status = error, "failed"
        _log.error("site %s: %s", self.name, error)
        self._end.set()
        if self._link is not None:
            self._link.stop()
        if self.agent is not None:
            self.agent.link_down()

    def stop(self) -> None:
        """Stop reading and hang up. What was not finished comes again after the next start."""
        self._end.set()
        if self.agent is not None:
            self.agent.stop_reading()
        if self._timer.is_alive():
            self._timer.join(5)
        self._end_tables()
        if self._link is not None:
            self._link.stop()
        self._held.close()
        self.status = "stopped"

    # Spark

    def _open_tables(self) -> None:
        from tacit.pipelines.streaming import StreamingTable

        spark = self.host.session()
        self._generation = self.host.generation
        self._tables = {}
        for name, table in self.config.tables.items():
            self._tables[name] = StreamingTable(
                spark, name, _source(table), time=table.time, checkpoint=self.config.state / "checkpoints" / name,
                trigger_s=table.trigger_seconds, on_batch=partial(self._take, name),
            )  # fmt: skip

    def _take(self, name: str, number: int, batch: SparkBatch) -> None:
        assert self.agent is not None
        self.agent.take_batch(name, self._tables[name].checkpoint_id(), number, batch)
        if (problem := batch.time_problem) and problem != self._said:
            self._said = problem
            _log.warning("site %s, table %s: %s", self.name, name, problem)

    def _read(self) -> None:
        for table in self._tables.values():
            table.start()
        self._reading = True
        self.status = "reading"
        _log.info("site %s reads its tables: %s", self.name, ", ".join(self._tables))

    def _end_tables(self) -> None:
        for table in self._tables.values():
            with suppress(Exception):
                table.stop()

    def _site_table(self, name: str, table: Table) -> SiteTable:
        clock = TableClock(table.watermark_us, table.clock, round(table.idle_seconds * 1_000_000))
        history = None
        if table.backfill:
            self._check_history(name, table, table.backfill)
            history = partial(self._history, table, table.backfill)
        elif table.backfill is None and isinstance(table, FileTable):
            history = partial(self._own_history, name, table)
        late_file = None if table.late_rows is None else Path(table.late_rows)
        return SiteTable(
            name, dict(self._tables[name].columns), clock, history, table.keep_megabytes << 20, late_file=late_file
        )

    def _fill(self, name: str) -> None:
        """Read history beside the heartbeats, which go on."""
        assert self.agent is not None
        try:
            self.agent.fill(name)
        except Exception as error:
            if not self._end.is_set() and not self.host.ends():  # else it is tried again
                self._fail(error if isinstance(error, TacitError) else TacitError(f"site {self.name}: {error!r}"))

    def _check_history(self, name: str, table: Table, path: str) -> None:
        from tacit.pipelines.history import check_history

        try:
            check_history(self.host.session(), _source(table), path, table.time)
        except InputError as error:
            raise OptionError(f"the backfill of table {name} cannot be used: {error}") from None

    def _history(self, table: Table, path: str, lo_us: int, hi_us: int, through: int | None) -> SparkBatch | None:
        from tacit.pipelines.history import read_history

        return read_history(self.host.session(), _source(table), path, table.time, lo_us, hi_us)

    def _own_history(
        self, name: str, table: FileTable, lo_us: int, hi_us: int, through: int | None
    ) -> SparkBatch | None:  # fmt: skip
        """The files that the table was read from, read again; where that cannot be, windows begin empty."""
        from tacit.pipelines.history import read_again

        try:
            checkpoint = self.config.state / "checkpoints" / name
            return read_again(self.host.session(), _source(table), table.path, table.time, lo_us, checkpoint, through)
        except InputError as error:
            _log.warning(
                "site %s: the files of table %s cannot be read again, so windows of new watches begin empty (backfill"
                " names another place): %s", self.name, name, error,
            )  # fmt: skip
            return None

    # The link

    def _make_link(self) -> SiteLink:
        tls = None
        if self.config.tls is not None:
            identity = None
            if self.config.tls.certificate is not None and self.config.tls.key is not None:
                identity = TlsFiles(self.config.tls.certificate, self.config.tls.key)
            tls = ClientTls(self.config.tls.ca, identity)
        return SiteLink(
            self.address, self.name, on_up=self._up, on_frame=self._frame, on_down=self._down,
            token=None if self.config.token is None else self.config.token.reveal(), tls=tls,
        )  # fmt: skip

    def _say(self, frame: bytes) -> bool:
        return self._link is not None and self._link.send(frame)

    def _up(self) -> None:
        if self.agent is not None:
            self._say(self.agent.opening())

    def _frame(self, frame: bytes) -> None:
        if self.agent is not None:
            self.agent.receive(frame)

    def _down(self, reason: str, fatal: bool) -> None:
        if self.agent is not None:
            self.agent.link_down()
        if reason != self._said and not self._end.is_set():
            self._said = reason
            (_log.error if fatal else _log.warning)("site %s has no link: %s", self.name, reason)

    def _beat(self) -> None:
        while not self._end.wait(1.0 if self.agent is None else self.agent.heartbeat_s):
            if self.agent is None:
                continue
            asked_us = self.agent.wall_us()
            idle = {name: self._reading and table.is_idle() for name, table in self._tables.items()}
            try:
                self.agent.tick(idle, asked_us)
                for name in (name for name, is_idle in idle.items() if is_idle and self.agent.wants_history(name)):
                    if self._filler is None or not self._filler.is_alive():
                        self._filler = threading.Thread(target=self._fill, args=(name,), daemon=True)
                        self._filler.start()
            except Exception as error:
                if self._end.is_set():
                    return
                self._fail(error if isinstance(error, TacitError) else TacitError(f"site {self.name}: {error!r}"))
