"""One quiet Spark per process, here or on a cluster: opened with the settings tacit needs, closed without a trace.

- Spark's log, Java's warnings and the Python workers' output go to a file in a private folder; nothing reaches the
  user unless ``TACIT_SPARK_LOG=1`` or ``verbose=True``.
- Nothing listens beyond loopback, and Spark's web page is off.
- Time is UTC whatever the machine's zone is.
- Everything that Spark writes for itself lies in the private folder, which goes away with the session.
- A Spark whose Java was killed is closed like any other, and the next one can be opened in the same process.
- An interrupt (or SIGTERM) that comes while Spark starts ends the Java that is starting, and leaves neither Java nor
  the folder behind, whoever called; where the program only takes a note of signals, Spark starts in spite of it.
- What a process that was killed left in the temporary folder, the next one removes.
"""

from __future__ import annotations

import atexit
import logging
import os
import shlex
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from tacit.pipelines.endings import Start, end_java, forget_session
from tacit.pipelines.java import Java, find_java
from tacit.pipelines.masters import cluster_settings
from tacit.pipelines.private_folders import PrivateFolder, remove_left_folders
from tacit.pipelines.signals import deliver, signals_wait
from tacit.vocabulary.errors import MachineError, OptionError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["close_session", "java_alive", "open_session", "session_beside"]

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_SESSION_SETTINGS = (
    "spark.sql.session.timeZone",
    "spark.sql.codegen.hugeMethodLimit",
    "spark.sql.execution.arrow.pyspark.enabled",
    "spark.sql.shuffle.partitions",
)


@dataclass(frozen=True, slots=True)
class _Owned:
    """The session that this process started, with all that must go when it is closed."""

    session: SparkSession
    gateway: Any
    folder: PrivateFolder
    on_interrupt: Any  # what SIGINT did before, and what PySpark makes of it while the session lives
    on_interrupt_open: Any


_owned: _Owned | None = None


def open_session(
    name: str = "tacit",
    *,
    cores: Literal["*"] | int = "*",
    memory: str = "2g",
    shuffle_partitions: int | None = None,
    short_work: bool = True,
    verbose: bool = False,
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    packages: Sequence[str] = (),
) -> SparkSession:
    """A Spark session in this process.

    A process has one Spark. If it has one already, whoever started it, the answer is a new session of that one with
    tacit's own settings, and `cores`, `memory`, `short_work`, `master`, `conf` and `packages` have no effect.

    Args:
        name: what the session is called in Spark's log.
        cores: how many tasks run at a time; ``"*"`` is one per core of the machine.
        memory: the most that Java may keep in its heap, such as ``"2g"``.
        shuffle_partitions: parts that data is regrouped into; one per task that runs at a time unless told.
        short_work: compile Java quickly rather than well. A session starts sooner and jobs of seconds end sooner;
            jobs of minutes are better off without.
        verbose: let Spark's log through to standard error.
        master: the cluster to run on, such as ``"spark://127.0.0.1:7077"``; here, with `cores`, unless told.
        conf: settings of Spark by name, for clusters. Those that would let anything listen beyond loopback without
            authentication and encryption are refused.
        packages: Java packages to fetch, as ``"group:name:version"``.
    """
    conf = dict(conf or {})
    master = master or conf.get("spark.master")
    cluster = cluster_settings(master, conf, packages)
    shuffle_partitions = shuffle_partitions or (int(conf.get("spark.cores.max", 0)) if master else 0)
    session_settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.codegen.hugeMethodLimit": "8000",  # longer generated methods are never compiled by the JVM
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.shuffle.partitions": str(shuffle_partitions or _task_slots(cores)),
    }
    spark = _running_session()
    if spark is None:
        where = master or f"local[{cores}]"
        settings = session_settings | cluster
        spark = _start(name, where, memory, settings, short_work, verbose or _log_wanted())
    else:
        spark = spark.newSession()
        for key, value in session_settings.items():
            spark.conf.set(key, value)
    return spark


def session_beside(spark: SparkSession) -> SparkSession:
    """Another session of the same Spark, with the same settings of tacit's but views and settings of its own."""
    beside = spark.newSession()
    for key in _SESSION_SETTINGS:
        beside.conf.set(key, spark.conf.get(key) or "")
    return beside


def java_alive(spark: SparkSession) -> bool:
    """Whether Spark's Java is still there, as far as this process can see; it does not ask Java anything."""
    gateway = spark.sparkContext._gateway
    process = getattr(gateway, "proc", None) if gateway is not None else None
    return process is None or process.poll() is None


def close_session(spark: SparkSession) -> None:
    """End the Spark that `open_session` started, and remove all that it kept.

    Closing twice, or closing a session of a Spark that someone else started, does nothing.
    """
    global _owned
    if _owned is None or _owned.session is not spark:
        return
    owned, _owned = _owned, None
    try:
        _stop(owned)
    finally:
        forget_session(owned.session)
        end_java(owned.gateway.proc, owned.gateway)
        owned.folder.remove()
        _restore_interrupt(owned)


def _stop(owned: _Owned) -> None:
    """Stop Spark, unless its Java is gone: then there is nobody to tell."""
    from py4j.protocol import Py4JNetworkError

    with warnings.catch_warnings(), suppress(Py4JNetworkError, OSError):
        warnings.simplefilter("ignore", RuntimeWarning)  # PySpark's own, when Java ends while it is asked
        if owned.gateway.proc.poll() is None:
            owned.session.stop()


def _answers(owned: _Owned) -> bool:
    """Whether Spark's Java is there: one that was just killed is no more reachable before it has ended."""
    from py4j.protocol import Py4JNetworkError

    try:
        return owned.gateway.proc.poll() is None and owned.gateway.jvm.System.nanoTime() is not None
    except (Py4JNetworkError, OSError):
        return False


def _restore_interrupt(owned: _Owned) -> None:
    """PySpark's handler cancels jobs of a Spark that is gone."""
    here = threading.current_thread() is threading.main_thread()
    if here and owned.on_interrupt is not None and signal.getsignal(signal.SIGINT) is owned.on_interrupt_open:
        signal.signal(signal.SIGINT, owned.on_interrupt)


def _close_at_exit() -> None:
    if _owned is not None:
        close_session(_owned.session)


def _log_wanted() -> bool:
    return os.environ.get("TACIT_SPARK_LOG", "") not in ("", "0")


def _task_slots(cores: Literal["*"] | int) -> int:
    if cores == "*":
        return os.cpu_count() or 1
    if cores >= 1:
        return cores
    raise OptionError(f'cores is {cores!r}, but must be at least 1, or "*" for all')


def _running_session() -> SparkSession | None:
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if _owned is not None and not _answers(_owned):
        close_session(_owned.session)  # its Java was killed
    if _owned is not None and SparkContext._active_spark_context is not None:
        return _owned.session
    return SparkSession.getActiveSession()


def _start(
    name: str, master: str, memory: str, settings: dict[str, str], short_work: bool, verbose: bool
) -> SparkSession:
    global _owned
    start = Start()
    on_interrupt = signal.getsignal(signal.SIGINT)
    with signals_wait(start.cut_short) as waiting, start:
        owned = _launch(start, name, master, memory, settings, short_work, verbose)
        if owned is not None:
            _owned = replace(owned, on_interrupt=on_interrupt)
            atexit.register(_close_at_exit)
    if owned is None:
        deliver(waiting or [signal.SIGINT], lambda: None)
        raise KeyboardInterrupt
    deliver(waiting, lambda: close_session(owned.session), on_interrupt)
    if on_interrupt is signal.default_int_handler and owned.on_interrupt_open is not on_interrupt:
        signal.signal(signal.SIGINT, owned.on_interrupt_open)  # whoever has a handler of his own keeps it
    return owned.session


def _launch(
    start: Start, name: str, master: str, memory: str, settings: dict[str, str], short_work: bool, verbose: bool
) -> _Owned | None:
    """Spark, or None when a signal has cut the start short; then nothing is left of it."""
    try:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise MachineError("Spark is not installed; run: pip install 'tacit[site]'") from error

    java = find_java()
    if start.is_cut:
        return None
    remove_left_folders()
    private = PrivateFolder()
    folder, log_path = private.path, private.path / "spark.log"
    conf = SparkConf(loadDefaults=False)
    conf.setAppName(name).setMaster(master)
    ours = _settings(folder, memory, java, short_work, verbose)
    options = " ".join(each[_JAVA_OPTIONS] for each in (ours, settings) if _JAVA_OPTIONS in each)
    for key, value in (ours | settings | {_JAVA_OPTIONS: options}).items():
        conf.set(key, value)
    if not verbose:
        _hush_py4j()
    try:
        with log_path.open("wb") as log, _environment(java, folder):
            start.launch = launch_gateway
            start.gateway = launch_gateway(conf, _outputs(log, verbose))  # type: ignore[no-untyped-call]
            with _our_interrupts() as theirs:
                context = SparkContext(conf=conf, gateway=start.gateway)
            session = SparkSession(context)
    except BaseException as error:
        end_java(start.process(error), start.gateway)
        reason = _last_words(log_path)
        private.remove()
        if (start.is_cut and isinstance(error, Exception)) or isinstance(error, _TheirInterruptError):
            return None
        if isinstance(error, Exception):
            raise MachineError(f"Spark did not start{reason}; run: tacit doctor") from error
        raise
    return _Owned(session, start.gateway, private, None, theirs[0])


class _TheirInterruptError(Exception):
    """PySpark's handler took an interrupt that was ours."""


@contextmanager
def _our_interrupts() -> Iterator[list[Any]]:
    """PySpark puts a handler of its own in the place of ours when its context is made: it is on the list, and ours is
    back at once. An interrupt that came in between is known again."""
    theirs: list[Any] = []
    ours = signal.getsignal(signal.SIGINT)
    try:
        try:
            yield theirs
        finally:
            theirs.append(signal.getsignal(signal.SIGINT))
            if theirs[0] is not ours and ours is not None:
                signal.signal(signal.SIGINT, ours)
    except KeyboardInterrupt as error:
        if theirs and theirs[0] is not ours:
            raise _TheirInterruptError from error
        raise


def _settings(folder: Path, memory: str, java: Java, short_work: bool, verbose: bool) -> dict[str, str]:
    """What must be known before Spark starts."""
    log4j = folder / "log4j2.properties"
    log4j.write_text(_log4j("warn" if verbose else "error"), encoding="utf-8")
    options = [f"-Dlog4j2.configurationFile={log4j}", f"-Djava.io.tmpdir={folder}", "-XX:-UsePerfData"]
    if short_work:
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
    return {
        "spark.driver.memory": memory,
        _JAVA_OPTIONS: shlex.join(options),
        "spark.local.dir": str(folder),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.python.worker.reuse": "true",
        "spark.sql.streaming.stopTimeout": "5s",  # a batch that cannot be cut short comes again; nobody waits for it
    }


def _log4j(level: str) -> str:
    return f"""rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{yy/MM/dd HH:mm:ss}} %p %c{{1}}: %m%n%ex
"""


@contextmanager
def _environment(java: Java, folder: Path) -> Iterator[None]:
    """What Spark's launcher and its context read from the environment, for as long as they need it."""
    import pyspark

    wanted = {
        "JAVA_HOME": str(java.home),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_LOCAL_IP": "127.0.0.1",
    }
    packaged = Path(pyspark.__file__).parent
    if (packaged / "jars").is_dir():  # another Spark on this machine may be of a version that does not fit
        wanted["SPARK_HOME"] = str(packaged)
    before = {key: os.environ.get(key) for key in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def _hush_py4j() -> None:
    """Py4J logs every error that it also raises, in part through the root logger."""
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    logging.getLogger().addFilter(_not_of_py4j)


def _not_of_py4j(record: logging.LogRecord) -> bool:
    return "py4j" not in Path(record.pathname).parts


def _outputs(log: IO[bytes], verbose: bool) -> dict[str, Any]:
    return {} if verbose else {"stdout": log, "stderr": log}


def _last_words(log_path: Path) -> str:
    """The line of the log that most likely says why, ready to be put into a sentence."""
    try:
        lines = [line.strip() for line in log_path.read_text(errors="replace").splitlines() if line.strip()]
    except OSError:
        return ""
    telling = [line for line in lines if "rror" in line or "xception" in line] or lines[-1:]
    return f" ({telling[0][:300]})" if telling else ""
