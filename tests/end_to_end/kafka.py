"""A real Kafka broker from its jars: KRaft mode, one process, on loopback, with everything it keeps in one folder."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyspark

from tacit.pipelines.java import find_java
from tests.end_to_end.maven import NoJarsError, fetched

__all__ = ["connector_jars", "free_ports", "running_broker"]

_BROKER = "4.1.0"
_READY_TIMEOUT_S = 90.0
_DICE = random.SystemRandom()  # processes of one test run must not throw the same
_CLIENT, _POOL = "org.apache.kafka:kafka-clients:3.9.1", "org.apache.commons:commons-pool2:2.12.1"
# (connector, the part of it that knows of tokens): that of this Spark, else one before it, which works with it too. Not
# every repository has all versions of both.
_CONNECTORS = ((pyspark.__version__, pyspark.__version__), ("4.2.0", "4.2.0"), ("4.2.0", "4.0.0"))


def connector_jars() -> list[Path]:
    """Spark's Kafka connector and what it needs beside Spark."""
    reasons = []
    for connector, tokens in _CONNECTORS:
        wanted = [
            f"org.apache.spark:spark-sql-kafka-0-10_2.13:{connector}",
            f"org.apache.spark:spark-token-provider-kafka-0-10_2.13:{tokens}",
            _CLIENT,
            _POOL,
        ]
        try:
            return fetched(f"spark-{pyspark.__version__}-kafka", wanted, alone=True)
        except NoJarsError as error:
            reasons.append(str(error))
    raise NoJarsError("; ".join(reasons))


@contextmanager
def running_broker(folder: Path) -> Iterator[str]:
    """Its address, ``host:port``; it is gone at the end."""
    jars = fetched(f"kafka-{_BROKER}", [f"org.apache.kafka:kafka_2.13:{_BROKER}"])
    folder.mkdir(parents=True)
    port, controller = free_ports(2)
    properties = folder / "server.properties"
    properties.write_text(
        "process.roles=broker,controller\n"
        "node.id=1\n"
        f"controller.quorum.voters=1@127.0.0.1:{controller}\n"
        f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}\n"
        f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}\n"
        "controller.listener.names=CONTROLLER\n"
        "listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT\n"
        f"log.dirs={folder / 'data'}\n"
        "offsets.topic.replication.factor=1\n"
        "transaction.state.log.replication.factor=1\n"
        "transaction.state.log.min.isr=1\n"
        "num.partitions=2\n"
    )
    java = [str(find_java().executable), "-Xmx256m", "-XX:TieredStopAtLevel=1", "-cp", ":".join(map(str, jars))]
    # A cluster id that begins with "-", as one of 64 random ones does, would be read as an option.
    form = [*java, "kafka.tools.StorageTool", "format", "-t", "MkU3OEVBNTcwNTJENDM2Qk", "-c", str(properties)]
    formed = subprocess.run(form, capture_output=True, text=True, timeout=60)
    assert formed.returncode == 0, formed.stdout + formed.stderr
    with (folder / "broker.log").open("wb") as log:
        process = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=log, stderr=log)
        try:
            _wait_for(port, process, folder / "broker.log")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def free_ports(count: int) -> list[int]:
    """Ports of loopback that nobody listens on; nor will anybody soon who takes any port, as Java and sockets do."""
    found: list[int] = []
    while len(found) < count:
        port = _DICE.randrange(10_000, _first_of_any())
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        found += [] if port in found else [port]
    return found


def _first_of_any() -> int:
    """Where the ports begin that the system hands out."""
    try:
        return max(20_000, int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0]))
    except OSError:
        return 32_768


def _wait_for(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + _READY_TIMEOUT_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1.0).close()
            return
        except OSError:
            assert process.poll() is None and time.monotonic() < end, log.read_text()[-2000:]  # noqa: PT018
            time.sleep(0.1)
