"""The session from outside: a process of its own per test, as a process has one Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tacit.pipelines.session import open_session
from tacit.vocabulary.errors import OptionError

pytestmark = pytest.mark.e2e


def run(program: str, tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program in an empty folder, with an empty home and its own folder for temporary files."""
    for name in ("work", "home", "temporary"):
        (tmp_path / name).mkdir()
    (tmp_path / "work" / "program.py").write_text(textwrap.dedent(program))
    source = Path(__file__).parents[2] / "src"
    inherited = {key: value for key, value in os.environ.items() if key in ("PATH", "JAVA_HOME", "LD_LIBRARY_PATH")}
    chosen = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "temporary"), "PYTHONPATH": str(source)}
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path / "work",
        env=inherited | chosen | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_session_is_quiet_private_and_leaves_nothing_behind(tmp_path: Path) -> None:
    done = run(
        """
        import os, sys
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

        again = open_session("again", cores=1)
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


@pytest.mark.parametrize("cores", [0, -1])
def test_cores_must_be_positive(cores: int) -> None:
    with pytest.raises(OptionError, match="cores is"):
        open_session(cores=cores)
