"""The session from outside: a process of its own per test, as a process has one Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tacit.pipelines.private_folders import PrivateFolder, remove_left_folders
from tacit.pipelines.session import open_session
from tacit.pipelines.signals import deliver, signals_wait
from tacit.vocabulary.errors import OptionError

pytestmark = pytest.mark.e2e


def start(program: str, tmp_path: Path, **environment: str) -> subprocess.Popen[str]:
    """Start a program in an empty folder, with an empty home and its own folder for temporary files."""
    for name in ("work", "home", "temporary"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "work" / "program.py").write_text(textwrap.dedent(program))
    source = Path(__file__).parents[2] / "src"
    inherited = {key: value for key, value in os.environ.items() if key in ("PATH", "JAVA_HOME", "LD_LIBRARY_PATH")}
    chosen = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(source)}
    return subprocess.Popen(
        [sys.executable, "program.py"],
        cwd=tmp_path / "work",
        env=inherited | chosen | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(program: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    with start(program, tmp_path, **environment) as process:
        out, err = process.communicate(timeout=300)
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def processes_of(folder: Path) -> list[int]:
    """The processes whose arguments name the folder; Java's do, as Spark keeps its files there."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            named = str(folder).encode() in (each / "cmdline").read_bytes()
        except OSError:
            continue
        found += [int(each.name)] if named else []
    return found


def listeners_of(folder: Path) -> list[int]:
    """Those of them that listen on a port, as Java does before Spark itself starts in it."""
    rows = [line.split() for name in ("tcp", "tcp6") for line in Path("/proc/net", name).read_text().splitlines()[1:]]
    listening = {f"socket:[{row[9]}]" for row in rows if row[3] == "0A"}
    return [each for each in processes_of(folder) if not listening.isdisjoint(_files_of(each))]


def _files_of(process: int) -> set[str]:
    found = set()
    with suppress(OSError):
        for each in Path(f"/proc/{process}/fd").iterdir():
            with suppress(OSError):
                found.add(os.readlink(each))
    return found


def wait_until(ready: Callable[[], object]) -> None:
    end = time.monotonic() + 60.0
    while not ready() and time.monotonic() < end:
        time.sleep(0.02)


def test_a_session_is_quiet_private_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run(
        """
        import os, signal, sys
        import pyspark.sql
        from tacit.pipelines.session import close_session, open_session

        touched = ("JAVA_HOME", "PYSPARK_PYTHON", "SPARK_HOME", "SPARK_LOCAL_DIRS", "SPARK_LOCAL_IP")
        before = [os.environ.get(name) for name in touched]
        spark = open_session("test", cores=1, memory="512m")
        assert [os.environ.get(name) for name in touched] == before
        conf = spark.conf
        assert conf.get("spark.sql.session.timeZone") == "UTC"
        assert conf.get("spark.sql.shuffle.partitions") == "1"
        row = spark.sql("SELECT unix_timestamp(TIMESTAMP'2024-07-01 00:00:00') AS s").collect()[0]
        assert row["s"] == 1719792000

        def python_of_worker(batches):
            import sys
            import pyarrow
            for batch in batches:
                yield pyarrow.RecordBatch.from_pydict({"path": [sys.executable] * batch.num_rows})

        paths = spark.range(1).mapInArrow(python_of_worker, "path string").collect()
        assert paths[0]["path"] == sys.executable

        other = open_session("second")  # the same Spark, with settings of its own
        assert other.sparkContext is spark.sparkContext
        close_session(other)
        assert spark.range(3).count() == 3

        def listening():
            found = []
            for table in ("/proc/net/tcp", "/proc/net/tcp6"):
                if os.path.exists(table):
                    rows = [line.split() for line in open(table).readlines()[1:]]
                    found += [(row[1].rpartition(":")[0], row[9]) for row in rows if row[3] == "0A"]
            return found

        def sockets(pid):
            links = []
            for name in os.listdir(f"/proc/{pid}/fd"):
                try:
                    links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
                except OSError:
                    pass
            return links

        java = str(spark.sparkContext._gateway.proc.pid)
        if os.path.isdir("/proc"):
            mine = sockets(java) + sockets(os.getpid())
            addresses = {address for address, inode in listening() if f"socket:[{inode}]" in mine}
            assert addresses <= {"0100007F", "0000000000000000FFFF00000100007F"}, addresses
            assert addresses

        close_session(spark)
        close_session(spark)
        if os.path.isdir("/proc"):
            assert not os.path.exists(f"/proc/{java}")

        class Interrupted(pyspark.sql.SparkSession):
            def __init__(self, context):
                signal.raise_signal(signal.SIGINT)  # when PySpark has put its own handler in the place
                super().__init__(context)

        seen, pyspark.sql.SparkSession = [], Interrupted
        signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
        again = open_session("again", cores=1)
        signal.raise_signal(signal.SIGINT)
        assert seen == [signal.SIGINT] * 2  # whoever has a handler of his own keeps it
        assert again.range(5).count() == 5  # closed when the process ends
        """,
        tmp_path,
    )
    assert done.stderr == ""
    assert (done.returncode, done.stdout) == (0, "")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert [path.name for path in (tmp_path / "work").iterdir()] == ["program.py"]


def test_a_spark_that_does_not_start_says_why_in_one_sentence(tmp_path: Path) -> None:
    done = run(
        """
        from tacit.pipelines.session import open_session
        from tacit.vocabulary.errors import MachineError

        try:
            open_session(memory="nonsense")
        except MachineError as error:
            print(error)
        """,
        tmp_path,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Spark did not start (")
    assert done.stdout.count("\n") == 1
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.middle
def test_the_log_is_there_when_asked_for(tmp_path: Path) -> None:
    done = run(
        """
        from tacit.pipelines.session import open_session

        spark = open_session(cores=1)
        spark.sparkContext._jvm.org.slf4j.LoggerFactory.getLogger("test").warn("a word from Java")
        """,
        tmp_path,
        TACIT_SPARK_LOG="1",
    )
    assert done.returncode == 0
    assert "a word from Java" in done.stderr


@pytest.mark.middle
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
@pytest.mark.parametrize(("signals", "when"), [
    ([signal.SIGINT], processes_of), ([signal.SIGTERM], processes_of), ([signal.SIGINT], listeners_of),
    ([signal.SIGINT] * 2, processes_of),
], ids=["interrupt", "end", "later", "twice"])  # fmt: skip
def test_a_signal_while_spark_starts_leaves_nothing_behind(
    tmp_path: Path, signals: list[signal.Signals], when: Callable[[Path], list[int]]
) -> None:
    """Also for a program that knows nothing of signals."""
    program = """
        import signal
        from tacit.pipelines.session import open_session

        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores interrupts
        open_session("test", cores=1, memory="512m")
        print("started")
    """
    spare = tmp_path / "temporary"
    with start(program, tmp_path) as process:
        wait_until(lambda: when(spare) or process.poll() is not None)
        for each in signals:
            process.send_signal(each)
            time.sleep(0.2)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out) == (-signals[0], "")
    assert ("KeyboardInterrupt" in err) == (signals[0] is signal.SIGINT)
    wait_until(lambda: not processes_of(tmp_path))
    assert processes_of(tmp_path) == []
    assert list(spare.iterdir()) == []


def test_what_a_killed_process_left_is_removed_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    program = """
        import os, signal
        from tacit.pipelines.private_folders import PrivateFolder

        PrivateFolder()
        os.kill(os.getpid(), signal.SIGKILL)
    """
    done = run(program, tmp_path / "killed", TMPDIR=str(tmp_path))
    (left,) = tmp_path.glob("tacit-spark-*")
    assert done.returncode == -signal.SIGKILL
    mine = PrivateFolder()
    foreign = tmp_path / "tacit-spark-foreign"  # nobody knows whose it is
    foreign.mkdir()
    remove_left_folders()
    assert not left.exists()
    assert sorted(tmp_path.glob("tacit-spark-*")) == sorted([mine.path, foreign])
    mine.remove()
    assert not mine.path.exists()


@pytest.mark.middle
def test_a_handler_that_only_takes_a_note_does_not_stop_the_start(tmp_path: Path) -> None:
    program = """
        import signal
        from tacit.pipelines.session import close_session, open_session

        seen = []
        signal.signal(signal.SIGTERM, lambda number, frame: seen.append(number))
        before = signal.getsignal(signal.SIGINT)
        spark = open_session("test", cores=1, memory="512m")
        assert spark.range(3).count() == 3
        close_session(spark)
        assert signal.getsignal(signal.SIGINT) is before
        print(seen)
    """
    with start(program, tmp_path) as process:
        # Not for any file: Python tries the folder out before there is a handler.
        wait_until(lambda: any((tmp_path / "temporary").glob("tacit-spark-*")) or process.poll() is not None)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=300)
    assert (process.returncode, out, err) == (0, "[15]\n", "")


def test_an_interrupt_that_waited_does_what_it_would_have_done_when_it_came() -> None:
    seen: list[int] = []

    def take_a_note(number: int, _frame: object) -> None:
        seen.append(number)

    before = signal.signal(signal.SIGINT, take_a_note)
    try:
        with signals_wait() as waiting:
            signal.raise_signal(signal.SIGINT)
            signal.signal(signal.SIGINT, signal.default_int_handler)  # as PySpark does when it is up
        deliver(waiting, lambda: None, take_a_note)
        assert seen == [signal.SIGINT]
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("cores", [0, -1])
def test_cores_must_be_positive(cores: int) -> None:
    with pytest.raises(OptionError, match="cores is"):
        open_session(cores=cores)


@pytest.mark.middle
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc")
def test_a_killed_java_is_noticed_and_a_table_goes_on_in_the_next_session(tmp_path: Path) -> None:
    """Also while a batch is being taken: it comes again, with its number, and no row is lost or doubled."""
    program = """
        import os, signal, threading, time
        from pathlib import Path
        from tacit.pipelines.live_sources import TableSource
        from tacit.pipelines.session import close_session, java_alive, open_session
        from tacit.pipelines.streaming import StreamingTable

        Path("in").mkdir()

        def put(name, *rows):
            Path("in", name + ".part").write_text("ts,v\\n" + "".join(f"{ts},{v}\\n" for ts, v in rows))
            Path("in", name + ".part").rename(Path("in", name + ".csv"))

        def until(ready):
            end = time.monotonic() + 120
            while not ready():
                assert time.monotonic() < end, "waited too long"
                time.sleep(0.02)

        def table(spark, on_batch):
            source = TableSource("files", path="in", format="csv", schema="ts BIGINT, v DOUBLE")
            made = StreamingTable(
                spark, "air", source, time="ts", checkpoint=Path("checkpoint"), trigger_s=0.1, on_batch=on_batch
            )
            made.start()
            return made

        seen, inside, gone, ids = {}, threading.Event(), threading.Event(), set()

        def take(number, batch):
            ids.add(air.checkpoint_id())
            seen[number] = seen.get(number, []) + [batch.rows]

        def linger(number, batch):
            inside.set()
            gone.wait(60)
            take(number, batch)

        def kill(spark):
            java = spark.sparkContext._gateway.proc.pid
            os.kill(java, signal.SIGKILL)
            until(lambda: not air.alive())
            gone.set()
            assert not air.is_idle()
            assert str(air.failure()).startswith("table air: Spark's Java process has ended"), air.failure()
            air.stop()
            until(lambda: not java_alive(spark))

        put("a", (1, 2.0), (2, 3.0))
        spark = open_session("first", cores=1, memory="512m")
        air = table(spark, take)
        until(air.is_idle)
        assert seen == {0: [2]} and air.failure() is None, (seen, air.failure())
        kill(spark)
        put("b", (3, 1.0))
        close_session(spark)
        gone.clear()

        spark = open_session("second", cores=1, memory="512m")
        air = table(spark, linger)
        assert inside.wait(60)
        kill(spark)

        spark = open_session("third", cores=1, memory="512m")  # the second was never closed
        air = table(spark, take)
        until(air.is_idle)
        put("c", (4, 1.0), (5, 1.0), (6, 1.0))
        until(lambda: 2 in seen and air.is_idle())
        assert seen == {0: [2], 1: [1], 2: [3]} and len(ids) == 1, (seen, ids)
        air.stop()
        assert (air.alive(), air.is_idle(), air.failure()) == (False, False, None)
        close_session(spark)
        leftover = [each.name for each in threading.enumerate() if not each.daemon]
        assert leftover == ["MainThread"], leftover
    """
    done = run(program, tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert processes_of(tmp_path) == []
