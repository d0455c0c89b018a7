"""What ``tacit doctor`` looks at: one function per thing, each giving what it found and what to do about it.

This module and ``doctor`` need only the standard library, and run on Pythons too old for the rest of tacit: a doctor
who falls ill with the patient is of no use.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import socket
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["CHECKS", "Check", "examine", "supported_minors"]

OLDEST_PYTHON = (3, 11)
PACKAGES = (
    "cryptography", "grpcio", "matplotlib", "numba", "numpy", "protobuf", "pyarrow", "pydantic", "rich", "sqlglot",
    "typer",
)  # fmt: skip
PORT = 7070  # what a coordinator listens on unless told
DISK_NEEDED = 1 << 30
MEMORY_NEEDED = 4 << 30

_INSTALL = "run: pip install tacit (in the repository: make)"


@dataclass(frozen=True)
class Check:
    """One finding. A `problem` keeps tacit from running; a `note` is worth knowing."""

    name: str
    state: str  # "ok", "note" or "problem"
    found: str
    advice: str = ""


def examine(with_spark: bool = True) -> list[Check]:
    """All findings, in the order of the list `CHECKS`. No check can keep the others from being made."""
    findings = []
    for name, check in CHECKS.items():
        if name == "Spark job" and not with_spark:
            continue
        try:
            findings.append(check(name))
        except Exception as error:
            findings.append(Check(name, "problem", f"the check itself failed: {type(error).__name__}: {error}"))
    return findings


def check_python(name: str) -> Check:
    version = ".".join(str(part) for part in sys.version_info[:3])
    if sys.version_info < OLDEST_PYTHON:
        return Check(name, "problem", version, "install Python 3.11 or newer; then: make PYTHON=/path/to/it")
    minors = supported_minors("numba")
    if minors and sys.version_info.minor not in minors:
        newest = f"3.{max(minors)}"
        advice = f"use Python {newest}: make clean, then make PYTHON=/path/to/python{newest}"
        return Check(name, "problem", f"{version}, which Numba does not support yet (newest: {newest})", advice)
    support = f"; Numba supports 3.{min(minors)} to 3.{max(minors)}" if minors else ""
    return Check(name, "ok", f"{version}{support}")


def supported_minors(package: str) -> list[int]:
    """Which Pythons 3.x a package says it supports; empty when it is not installed or does not say.

    ``Requires-Python`` seldom has an upper end, so the classifiers count, within what it allows.

    >>> 12 in supported_minors("numba")
    True
    """
    try:
        metadata = importlib.metadata.metadata(package)
    except importlib.metadata.PackageNotFoundError:
        return []
    named = re.findall(r"Python :: 3\.(\d+)$", "\n".join(metadata.get_all("Classifier") or []), re.MULTILINE)
    required = " ".join(metadata.get_all("Requires-Python") or [])
    lowest = re.search(r">=\s*3\.(\d+)", required)
    above = re.search(r"<\s*3\.(\d+)", required)
    floor, ceiling = int(lowest.group(1)) if lowest else 0, int(above.group(1)) if above else 1000
    return sorted(minor for minor in map(int, named) if floor <= minor < ceiling)


def check_packages(name: str) -> Check:
    missing = [package for package in PACKAGES if _version(package) is None]
    if missing:
        return Check(name, "problem", f"missing: {', '.join(missing)}", _INSTALL)
    return Check(name, "ok", ", ".join(f"{package} {_version(package)}" for package in PACKAGES))


def check_numba(name: str) -> Check:
    if _version("numba") is None:
        return Check(name, "problem", "not installed", _INSTALL)
    try:
        numba = importlib.import_module("numba")
        total = numba.njit(_total)(10)
    except Exception as error:
        return Check(name, "problem", _one_line(error), "reinstall it: pip install --force-reinstall numba")
    correct = total == _total(10)
    return Check(name, "ok" if correct else "problem", "compiles" if correct else f"computed {total} for 45")


def _total(count: int) -> int:
    total = 0
    for number in range(count):
        total += number
    return total


def check_java(name: str) -> Check:
    try:
        from tacit.pipelines.java import find_java
        from tacit.vocabulary.errors import TacitError
    except ImportError as error:
        return Check(name, "problem", f"not looked for: {_one_line(error)}", "install the missing packages first")
    try:
        java = find_java()
    except TacitError as error:
        reason, _, advice = str(error).rpartition("; ")
        return Check(name, "problem", reason, advice)
    why = "".join(f"; {reason}" for reason in java.passed_over)
    wrapped = f" started through {java.home / 'bin' / 'java'}" if java.wrapped else ""
    return Check(name, "ok", f"{java.version} from {java.source}: {java.executable}{wrapped}{why}")


def check_spark(name: str) -> Check:
    version = _version("pyspark")
    if version is None:
        return Check(name, "problem", "not installed", "run: pip install 'tacit[site]' (a coordinator needs none)")
    if not version.startswith("4."):
        return Check(name, "problem", f"pyspark {version}", "tacit needs pyspark 4: pip install 'tacit[site]'")
    pandas = _version("pandas")
    if pandas is None or int(pandas.split(".")[0]) >= 3:
        return Check(
            name, "note", f"pyspark {version}, pandas {pandas}", "Spark 4 wants pandas 2: pip install 'pandas<3'"
        )
    return Check(name, "ok", f"pyspark {version}, pandas {pandas}")


def check_kafka(name: str) -> Check:
    """Said, not tried: most machines read no Kafka, and fetching the connector takes the network."""
    version = _version("pyspark")
    if version is None:
        return Check(name, "ok", "only tables of Kafka need a connector, and those need Spark")
    package = f"spark-sql-kafka-0-10_2.13:{version}"
    return Check(name, "ok", f"tables of Kafka fetch {package} from Maven; docs/LIVE.md says how to give jars by hand")


def check_spark_job(name: str) -> Check:
    try:
        from tacit.pipelines.session import close_session, open_session
        from tacit.vocabulary.errors import TacitError
    except ImportError as error:
        return Check(name, "problem", f"not run: {_one_line(error)}", "install the missing packages first")
    try:
        spark = open_session("tacit doctor", cores=1, memory="1g")
    except TacitError as error:
        return Check(name, "problem", _one_line(error), "TACIT_SPARK_LOG=1 tacit doctor shows Spark's own log")
    try:
        doubled = spark.range(100).mapInArrow(_unchanged, "id bigint").selectExpr("sum(id * 2) AS total")
        total = doubled.collect()[0]["total"]
    except Exception as error:
        return Check(name, "problem", _one_line(error), "TACIT_SPARK_LOG=1 tacit doctor shows Spark's own log")
    finally:
        close_session(spark)
    if total != 9900:
        return Check(name, "problem", f"computed {total} for 9900", "reinstall pyspark")
    return Check(name, "ok", "ran, with Python workers and Arrow")


def _unchanged(batches):  # type: ignore[no-untyped-def]
    yield from batches


def check_cache(name: str) -> Check:
    from tacit._cache import cache_folder

    folder = cache_folder()
    chosen = os.environ.get("TACIT_CACHE_DIR")
    if chosen and os.path.abspath(chosen) != str(folder):
        return Check(name, "note", f"TACIT_CACHE_DIR={chosen} cannot be written; using {folder}", "choose another")
    if os.path.dirname(folder) == tempfile.gettempdir() and not chosen:
        advice = "set TACIT_CACHE_DIR to keep compiled kernels"
        return Check(name, "note", f"{folder}, as the home folder cannot be written", advice)
    return Check(name, "ok", str(folder))


def check_room(name: str) -> Check:
    folder = tempfile.gettempdir()
    disk, memory = shutil.disk_usage(folder).free, _memory_available()
    found = f"{_gigabytes(disk)} free in {folder}" + (f", {_gigabytes(memory)} of memory" if memory else "")
    if disk < DISK_NEEDED:
        return Check(name, "note", found, "Spark sorts on disk: free some, or set TMPDIR to a folder with room")
    if memory and memory < MEMORY_NEEDED:
        return Check(name, "note", found, "4 GB or more are comfortable with Spark on the same machine")
    return Check(name, "ok", found)


def _memory_available() -> int:
    """Bytes of memory that can be had, or 0 where the system does not tell."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            found = re.search(r"MemAvailable:\s+(\d+) kB", file.read())
        return int(found.group(1)) * 1024 if found else 0
    except OSError:
        names = getattr(os, "sysconf_names", {})
        known = "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if known else 0


def check_loopback(name: str) -> Check:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            with socket.create_connection(server.getsockname()[:2], timeout=5):
                return Check(name, "ok", "127.0.0.1 can be listened on and reached")
    except OSError as error:
        return Check(name, "problem", _one_line(error), "Spark and Python talk over 127.0.0.1: allow it")


def check_grpc(name: str) -> Check:
    """A server and a client of gRPC on a port of their own: a proxy in the environment, say, can stand in between."""
    try:
        import tacit.transport  # noqa: F401, I001  # sets gRPC up
        import grpc
    except ImportError as error:
        return Check(name, "problem", f"not tried: {_one_line(error)}", "install the missing packages first")
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        server = grpc.server(pool)
        echo = grpc.unary_unary_rpc_method_handler(lambda data, context: data)
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("tacit.Doctor", {"Echo": echo}),))
        try:
            port = server.add_insecure_port("127.0.0.1:0")
            server.start()
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                channel.unary_unary("/tacit.Doctor/Echo")(b"hello", timeout=5)
        except (RuntimeError, grpc.RpcError) as error:
            reason = _one_line(error) if isinstance(error, RuntimeError) else error.code().name
            return Check(name, "problem", f"a call over 127.0.0.1 failed: {reason}", "unset http_proxy for 127.0.0.1")
        finally:
            server.stop(None).wait()
    return Check(name, "ok", "a call over 127.0.0.1 went there and back")


def check_port(name: str) -> Check:
    """The coordinator's usual port: free, or a coordinator's."""
    address = f"127.0.0.1:{PORT}"
    try:
        with socket.create_server(("127.0.0.1", PORT)):
            return Check(name, "ok", f"{PORT} is free for a coordinator")
    except OSError as error:
        taken = _one_line(error)
    try:
        from tacit.transport.grpc_client import ask
        from tacit.vocabulary.errors import TacitError
    except ImportError:
        return Check(name, "note", f"{PORT} is taken: {taken}", "set coordinator.listen to another, unless it is yours")
    try:
        status = ask(address, {"status": True}, timeout_s=5)
    except TacitError as error:
        if "token" in str(error) or "speaks TLS" in str(error):
            return Check(name, "ok", f"a coordinator answers at {address}, and asks who we are")
        advice = "set coordinator.listen to another port, or end the program that has this one"
        return Check(name, "note", f"{PORT} is taken, and not by a coordinator: {_one_line(error)}", advice)
    watches = len(status["watches"])
    return Check(name, "ok", f"a coordinator of release {status['release']} answers at {address}, watches: {watches}")


def check_state(name: str) -> Check:
    """Coordinator and sites keep their state beside the configuration, in a database that needs locks."""
    import sqlite3

    folder = os.getcwd()
    try:
        with tempfile.TemporaryDirectory(prefix=".tacit-doctor-", dir=folder) as place:
            database = sqlite3.connect(os.path.join(place, "state.sqlite"))
            try:
                database.execute("PRAGMA journal_mode = WAL")
                database.execute("CREATE TABLE t (x)")
                database.commit()
            finally:
                database.close()
    except (OSError, sqlite3.Error) as error:
        advice = "run tacit from a folder on a local disk that can be written, or set `state` in the configuration"
        return Check(name, "note", f"{folder} cannot hold state: {_one_line(error)}", advice)
    return Check(name, "ok", f"{folder} can hold state")


def check_venv(name: str) -> Check:
    missing = [module for module in ("venv", "ensurepip") if importlib.util.find_spec(module) is None]
    if missing:
        package = f"python3.{sys.version_info.minor}-venv"
        advice = f"only the Makefile needs it: install the package {package}, or use a Python from python.org"
        return Check(name, "note", f"this Python has no module {' and '.join(missing)}", advice)
    return Check(name, "ok", "virtual environments can be made")


def check_make(name: str) -> Check:
    if path := shutil.which("make"):
        return Check(name, "ok", path)
    advice = "only the repository's short commands need it: install the package make, or use pip install '.[site]'"
    return Check(name, "note", "not found", advice)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _gigabytes(count: int) -> str:
    return f"{count / (1 << 30):.1f} GB"


def _one_line(error: BaseException) -> str:
    """The error as part of a sentence; of a traceback only the last line, which says what happened."""
    text = str(error)
    if "Traceback" in text:
        text = [line for line in text.splitlines() if line.strip() and not line.startswith((" ", "\t"))][-1]
    text = " ".join(text.split()) or type(error).__name__
    return text if len(text) <= 300 else text[:297] + "..."


CHECKS: dict[str, Callable[[str], Check]] = {
    "Python": check_python,
    "packages": check_packages,
    "Numba": check_numba,
    "Java": check_java,
    "Spark": check_spark,
    "Kafka": check_kafka,
    "Spark job": check_spark_job,
    "loopback": check_loopback,
    "gRPC": check_grpc,
    "port": check_port,
    "state": check_state,
    "cache": check_cache,
    "room": check_room,
    "venv": check_venv,
    "make": check_make,
}
