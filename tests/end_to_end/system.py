"""A whole tacit of operating-system processes: a coordinator and sites, each ``python -m tacit …``, on loopback.

Nothing is waited for by the clock: the coordinator is asked, and the sites' logs are read. At the end every process
is gone, whatever happened; a process that is left is an error.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from tacit.transport.grpc_client import ask
from tacit.transport.security import ClientTls
from tacit.vocabulary import TacitError
from tests.end_to_end.kafka import free_ports
from tests.end_to_end.programs import SOURCE, processes_of
from tests.end_to_end.proxy import Proxy

__all__ = ["READS", "LinkedSystem", "System", "children_of", "environment", "javas_of", "until"]

READS = "reads its tables"  # what a site's log says each time its queries are started
PATIENCE_S = 300.0  # of a machine that is busy; nothing that goes well takes nearly as long


def until(ready: Callable[[], Any], *, seconds: float = PATIENCE_S, story: Callable[[], object] = lambda: "") -> Any:
    """Ask again and again until the answer is true, and return it."""
    end = time.monotonic() + seconds
    while not (answer := ready()):
        assert time.monotonic() < end, f"not within {seconds:g} s: {story()}"
        time.sleep(0.05)
    return answer


def environment(folder: Path) -> dict[str, str]:
    """What the processes of a test see: this source, and a folder of its own for temporary files and for a home."""
    for name in ("temporary", "home"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    kept = ("PATH", "JAVA_HOME", "LD_LIBRARY_PATH", "TACIT_CACHE_DIR")
    inherited = {key: os.environ[key] for key in kept if key in os.environ}
    return {
        **inherited, "HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(SOURCE),
        "PYTHONUNBUFFERED": "1", "TACIT_DEBUG": "1",
    }  # fmt: skip


def children_of(process: int) -> list[int]:
    """The processes that a process started, and theirs."""
    parents: dict[int, list[int]] = {}
    for each in Path("/proc").glob("[0-9]*"):
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents.setdefault(int(fields[1]), []).append(int(each.name))
    found, look = [], [process]
    while look:
        mine = parents.get(look.pop(), [])
        found += mine
        look += mine
    return found


def javas_of(process: int) -> list[int]:
    """The Java machines among them; a machine that runs a program is, for a moment, two that look alike."""
    found = set[int]()
    for child in children_of(process):
        if _is_java(child) and not _is_java(_parent_of(child)):
            found.add(child)
    return sorted(found)


def _is_java(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/exe").resolve().name == "java"
    except OSError:
        return False


def _parent_of(process: int) -> int:
    try:
        return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


class System:
    """A configuration in a folder and its processes. Use it in a ``with``; nothing is started by itself."""

    def __init__(
        self,
        folder: Path,
        sites: Sequence[str],
        watches: str,
        *,
        lease: float = 4.0,
        gather: float = 300.0,
        protocol: str = "coordinator",
        coordinator: str = "",
        tables: str = "",
        spark: str = 'master = "local[1]"\nmemory = "512m"',
        sinks: str = "",
        dial: Mapping[str, int] | None = None,
        token: str | None = None,
        tls: ClientTls | None = None,
        site: str = "",
    ) -> None:
        self.folder, self.sites = folder, tuple(sites)
        self.token, self.tls = token, tls
        (self.port,) = free_ports(1)
        self.address = f"127.0.0.1:{self.port}"
        self.config = folder / "tacit.toml"
        self.alerts_file = folder / "alerts.jsonl"
        self.running: dict[str, subprocess.Popen[bytes]] = {}
        self._starts: dict[str, int] = {}
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "watches.sql").write_text(watches)
        dialled = {name: (dial or {}).get(name, self.port) for name in sites}
        parts = [
            f'[coordinator]\nlisten = "{self.address}"\nlease_seconds = {lease}\nprotocol = "{protocol}"\n'
            f'heartbeat_seconds = 0.5\ngather_seconds = {gather}\nwatches = ["watches.sql"]\n{coordinator}',
            f'[[sinks]]\nkind = "file"\npath = "{self.alerts_file}"\nchanges = true\n{sinks}',
            f"[spark]\n{spark}",
            tables,
            *(f'[sites.{name}]\ncoordinator = "127.0.0.1:{port}"\n{site}' for name, port in dialled.items()),
        ]
        self.config.write_text("\n\n".join(parts) + "\n")
        for name in sites:
            (folder / "data" / name).mkdir(parents=True, exist_ok=True)

    def __enter__(self) -> System:
        return self

    def __exit__(self, *story: object) -> None:
        self.close()

    # Processes

    def start(self, name: str) -> None:
        """Start ``coordinator`` or a site."""
        command = ["coordinator", str(self.config)] if name == "coordinator" else ["site", str(self.config), name]
        self.run(name, *command)

    def run(self, name: str, *command: str) -> subprocess.Popen[bytes]:
        """Start any command of the program under a name; what it says goes to ``NAME.log``."""
        self._starts[name] = self._starts.get(name, 0) + 1
        whole = [sys.executable, "-X", "faulthandler", "-m", "tacit", *command]
        with self.log_path(name).open("ab") as log:
            self.running[name] = subprocess.Popen(
                whole, cwd=self.folder, env=environment(self.folder), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True,
            )  # fmt: skip
        return self.running[name]

    def start_all(self) -> None:
        """Start everything, and wait until every site reads."""
        self.start("coordinator")
        self.wait_for_coordinator()
        for name in self.sites:
            self.start(name)
        for name in self.sites:
            self.wait_for_site(name)

    def wait_for_coordinator(self) -> None:
        """Until it answers."""
        until(lambda: self.status() is not None, story=lambda: self.log("coordinator"))

    def wait_for_site(self, name: str, reads: int = 1) -> None:
        """Until the coordinator says that it is online and its log says for the ``reads``-th time that it reads."""

        def ready() -> bool:
            assert self.running[name].poll() is None, self.log(name)
            return self.is_online(name) and self.reads(name) >= reads

        until(ready, story=lambda: self.log(name))

    def reads(self, name: str) -> int:
        """How often a site began to read."""
        return self.log(name).count(READS)

    def batches(self, name: str) -> int:
        """How many micro-batches of its tables a site has in its windows."""
        store = self.folder / "state" / name / "site.sqlite"
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=10.0)) as database:
            (found,) = database.execute("SELECT COALESCE(SUM(batch + 1), 0) FROM batches").fetchone()
        return int(found)

    def is_online(self, name: str) -> bool:
        """Does the coordinator say that it has a link of the site?"""
        return self._links(name) == [True]

    def is_offline(self, name: str) -> bool:
        """Does it say that it has none? Where nobody answers, neither is so."""
        return self._links(name) == [False]

    def _links(self, name: str) -> list[bool]:
        status = self.status()
        return [] if status is None else [row["online"] for row in status["sites"] if row["site"] == name]

    def kill(self, name: str) -> None:
        """kill -9 of one process, and of that one only."""
        process = self.running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self, name: str, seconds: float = 60.0, *, by: int = signal.SIGTERM) -> int:
        """Ask a process to end: its exit code."""
        process = self.running.pop(name)
        process.send_signal(by)
        return process.wait(seconds)

    def close(self) -> None:
        """End everything for certain."""
        for process in self.running.values():
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        end = time.monotonic() + 20.0
        for process in self.running.values():
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.running.clear()
        end = time.monotonic() + 30.0
        while processes_of(self.folder) and time.monotonic() < end:
            time.sleep(0.05)
        left = processes_of(self.folder)
        for each in left:
            os.kill(each, signal.SIGKILL)
        assert left == [], "processes were left behind"

    # Asking

    def log_path(self, name: str) -> Path:
        """Where a process's log is."""
        return self.folder / f"{name}.log"

    def log(self, name: str) -> str:
        """What a process said so far."""
        path = self.log_path(name)
        return path.read_text(errors="replace") if path.exists() else ""

    def ask(self, sql: str) -> list[dict[str, Any]]:
        """The results of statements."""
        found: list[dict[str, Any]] = ask(self.address, {"sql": sql}, token=self.token, tls=self.tls)["results"]
        return found

    def status(self) -> dict[str, Any] | None:
        """Watches and sites; None where nobody answers."""
        try:
            return ask(self.address, {"status": True}, token=self.token, tls=self.tls, timeout_s=5.0)
        except TacitError:
            return None

    def watches(self) -> dict[str, dict[str, Any]]:
        """The watches by name; nothing where nobody answers."""
        status = self.status()
        return {} if status is None else {watch["watch"]: watch for watch in status["watches"]}

    @property
    def store(self) -> Path:
        """The coordinator's file."""
        return self.folder / "state" / "coordinator" / "coordinator.sqlite"


class LinkedSystem(System):
    """A system whose links can be cut and whose parts can be killed, one by one; what to wait for is the test's."""

    def __init__(self, folder: Path, sites: Sequence[str], watches: str, **options: Any) -> None:
        self._proxies = {name: Proxy(0, port) for name, port in zip(sites, free_ports(len(sites)), strict=True)}
        dial = {name: proxy.port for name, proxy in self._proxies.items()}
        super().__init__(folder, sites, watches, dial=dial, **options)
        for proxy in self._proxies.values():
            proxy.target = self.port

    def cut(self, name: str) -> None:
        """Break a site's link, and let it have no other."""
        self._proxies[name].cut()

    def mend(self, name: str) -> None:
        """Let a site whose link was cut have one again."""
        self._proxies[name].mend()

    def javas(self, name: str) -> list[int]:
        """The Java machines of a site; none where its process does not run."""
        process = self.running.get(name)
        return [] if process is None else javas_of(process.pid)

    def kill_java(self, name: str) -> bool:
        """kill -9 of a site's Java and of nothing else; False where there is none."""
        javas = self.javas(name)
        for java in javas:
            with suppress(ProcessLookupError):
                os.kill(java, signal.SIGKILL)
        return bool(javas)

    def close(self) -> None:
        try:
            super().close()
        finally:
            for proxy in self._proxies.values():
                proxy.cut()
