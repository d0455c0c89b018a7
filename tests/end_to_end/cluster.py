"""A real standalone Spark cluster from the pip package: a master and workers, each its own process, on loopback."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark

from tacit.pipelines.java import find_java
from tests.end_to_end.kafka import free_ports

__all__ = ["running_cluster"]

_READY_TIMEOUT_S = 90.0
_EXIT_TIMEOUT_S = 20.0


@contextmanager
def running_cluster(folder: Path, *, workers: int) -> Iterator[str]:
    """The master's address, ``spark://host:port``; all processes are gone at the end."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    master = f"spark://127.0.0.1:{port}"
    with ExitStack() as running:
        running.enter_context(_daemon(folder, "master", "master.Master", f"--port={port}", "--webui-port=0"))
        _wait_for(port, folder / "master.log")
        for number in range(workers):
            work = f"--work-dir={folder / f'work{number}'}"
            options = ("--webui-port=0", "--cores=1", "--memory=1g", work, master)
            running.enter_context(_daemon(folder, f"worker{number}", "worker.Worker", *options))
        yield master


@contextmanager
def _daemon(folder: Path, name: str, kind: str, *options: str) -> Iterator[None]:
    home = Path(pyspark.__file__).parent
    spare = folder / f"{name}.spare"
    spare.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "JAVA_HOME": str(find_java().home),
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(spare),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": f"-Djava.io.tmpdir={spare} -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
    }
    command = [str(home / "bin" / "spark-class"), f"org.apache.spark.deploy.{kind}", "--host=127.0.0.1", *options]
    # Spark's own words are "--name value".
    command = [part for each in command for part in (each.split("=", 1) if each.startswith("--") else [each])]
    with (folder / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, cwd=folder, stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(_EXIT_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for(port: int, log: Path) -> None:
    end = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            assert time.monotonic() < end, log.read_text()[-2000:]
            time.sleep(0.1)
