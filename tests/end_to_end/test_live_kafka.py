"""A site whose table is a Kafka topic, and alerts that go into another one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.end_to_end.kafka import connector_jars
from tests.end_to_end.system import System, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("kafka")]

WATCH = (
    "CREATE WATCH load AS SELECT SUM(v) AS s FROM readings WINDOW LAST 3 SECONDS EVERY 1 SECOND ALERT WHEN s > 100;\n"
)
BEGIN = 1_767_225_600


def test_rows_from_a_topic_and_alerts_into_one(broker: str, tmp_path: Path) -> None:
    kafka = pytest.importorskip("kafka", reason="kafka-python is not installed; run: pip install 'tacit[kafka]'")
    jars = ",".join(map(str, connector_jars()))
    tables = (
        f'[tables.readings]\nsource = "kafka"\nservers = "{broker}"\ntopic = "readings.{{site}}"\n'
        'schema = "ts BIGINT, v BIGINT"\ntime = "ts"\nwatermark = "0 seconds"\nclock = "event"\n'
    )
    sinks = f'[[sinks]]\nkind = "kafka"\nservers = "{broker}"\ntopic = "alerts"\n'
    spark = f'master = "local[1]"\nmemory = "512m"\nconf = {{ "spark.jars" = "{jars}" }}'
    producer = kafka.KafkaProducer(bootstrap_servers=broker, acks="all")
    # One partition in use: rows of several would come in any order, and the watermark leaves no time for that.
    with System(tmp_path / "live", ("north",), WATCH, tables=tables, sinks=sinks, spark=spark) as system:
        _send(producer, [(step, 10) for step in range(5)])
        system.start_all()
        until(lambda: _seconds(system) >= 4, story=lambda: (system.watches(), system.log("north")))
        _send(producer, [(step, 10 if step % 20 < 10 else 60) for step in range(5, 41)])
        until(lambda: _seconds(system) >= 40, story=lambda: (system.watches(), system.log("north")))
        alerts = system.ask("SHOW ALERTS")[0]["alerts"][::-1]
        consumer = kafka.KafkaConsumer(
            "alerts", bootstrap_servers=broker, auto_offset_reset="earliest", consumer_timeout_ms=1_000
        )
        found: list[dict[str, object]] = []

        def all_sunk() -> bool:
            found.extend(json.loads(message.value) for message in consumer)
            return len({each["id"] for each in found}) >= len(alerts)

        until(all_sunk, seconds=60, story=lambda: (found, alerts))
        consumer.close()
        assert system.stop("north") == 0
        assert system.stop("coordinator") == 0
    producer.close()
    assert [(each["side"], each["pane"] + 1 - BEGIN) for each in alerts] == [
        ("above", 12),
        ("below", 22),
        ("above", 32),
    ]
    unique = {each["id"]: each for each in found}
    assert unique == {each["id"]: each for each in alerts}


def _send(producer, rows: list[tuple[int, int]]) -> None:
    for step, v in rows:
        producer.send("readings.north", json.dumps({"ts": BEGIN + step, "v": v}).encode(), partition=0)
    producer.flush()


def _seconds(system: System) -> int:
    watch = system.watches().get("load")
    return -1 if watch is None or watch["pane"] is None else watch["pane"] + 1 - BEGIN
