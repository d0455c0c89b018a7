"""The log, the file and the topic as sinks. A real broker takes part in the tests of the live system."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tacit.runtime.config_sinks import FileSinkConfig, KafkaSinkConfig, LogSinkConfig, WebhookSinkConfig
from tacit.runtime.secret import Secret
from tacit.runtime.sinks import SinkError, make_sinks
from tacit.runtime.sinks.json_lines import FileSink
from tacit.runtime.sinks.kafka_topic import KafkaSink
from tacit.runtime.sinks.log_line import LogSink
from tacit.vocabulary.errors import MachineError
from tests.runtime.sinks.memory import alert


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_log_line_says_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="tacit.alerts"):
        asyncio.run(LogSink(level="info").deliver([alert(1), alert(2, side=None, value=None, group=["north", None])]))
    assert [record.getMessage() for record in caplog.records] == [
        "hot at 1970-01-01T00:00:01Z: met: 1.5 [hot/1]",
        "hot [north, NULL] at 1970-01-01T00:00:02Z: new value [hot/2]",
    ]
    assert caplog.records[0].alert == alert(1)  # type: ignore[attr-defined]


def test_a_file_gets_a_line_per_alert(tmp_path: Path) -> None:
    path = tmp_path / "made" / "alerts.jsonl"
    sink = FileSink(path)
    asyncio.run(sink.deliver([alert(1, group=["zwölf\n"]), alert(2, value=None)]))
    asyncio.run(sink.deliver([alert(3)]))
    assert lines(path) == [alert(1, group=["zwölf\n"]), alert(2, value=None), alert(3)]


@pytest.mark.parametrize("torn", ['{"id": "hot/2", "wat', "x" * 200_000, '{"id": "zw\u00f6'])
def test_a_torn_last_line_is_taken_off(tmp_path: Path, torn: str, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "alerts.jsonl"
    asyncio.run(FileSink(path).deliver([alert(1)]))
    with path.open("ab") as file:
        file.write(torn.encode()[:-1])
    asyncio.run(FileSink(path).deliver([alert(2)]))
    assert lines(path) == [alert(1), alert(2)]
    assert "ended in the middle of a line" in caplog.text


def test_a_file_that_is_only_torn(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_text('{"id": ')
    asyncio.run(FileSink(path).deliver([alert(2)]))
    assert lines(path) == [alert(2)]


def test_a_whole_last_line_that_only_lacks_its_end_stays(tmp_path: Path) -> None:
    path = tmp_path / "alerts.jsonl"
    path.write_text('{"note": "edited"}')
    asyncio.run(FileSink(path).deliver([alert(2)]))
    assert lines(path) == [{"note": "edited"}, alert(2)]


def test_a_file_may_be_moved_away(tmp_path: Path) -> None:
    path, sink = tmp_path / "alerts.jsonl", FileSink(tmp_path / "alerts.jsonl")
    asyncio.run(sink.deliver([alert(1)]))
    path.rename(tmp_path / "alerts.old")
    asyncio.run(sink.deliver([alert(2)]))
    assert lines(path) == [alert(2)]


def test_a_file_that_cannot_be_written_is_tried_again(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(SinkError, match="folder cannot be written: Is a directory") as caught:
        asyncio.run(FileSink(tmp_path / "folder").deliver([alert(1)]))
    assert caught.value.retry


class FakeKafkaError(Exception):
    pass


class MessageSizeTooLargeError(FakeKafkaError):
    pass


class FakeKafka(ModuleType):
    """Just enough of kafka-python to see what it is told."""

    def __init__(self) -> None:
        super().__init__("kafka")
        self.settings: list[dict[str, Any]] = []
        self.sent: list[tuple[str, bytes, bytes]] = []
        self.closed = 0
        self.mood: Exception | None = None
        fake = self

        class Pending:
            def get(self, timeout: float) -> None:
                if fake.mood is not None:
                    raise fake.mood

        class KafkaProducer:
            def __init__(self, **settings: Any) -> None:
                fake.settings.append(settings)

            def send(self, topic: str, key: bytes, value: bytes) -> Pending:
                fake.sent.append((topic, key, value))
                return Pending()

            def close(self, timeout: float) -> None:
                fake.closed += 1

        self.KafkaProducer = KafkaProducer


@pytest.fixture
def kafka(monkeypatch: pytest.MonkeyPatch) -> FakeKafka:
    fake, errors = FakeKafka(), ModuleType("kafka.errors")
    errors.KafkaError = FakeKafkaError  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "kafka", fake)
    monkeypatch.setitem(sys.modules, "kafka.errors", errors)
    return fake


def test_a_topic_gets_a_message_per_alert_keyed_by_its_id(kafka: FakeKafka) -> None:
    sink = KafkaSink("a:1, b:2", "alerts", options={"sasl_plain_password": Secret("pw"), "linger_ms": 5})

    async def story() -> None:
        await sink.deliver([alert(1), alert(2)])
        await sink.deliver([alert(3)])
        await sink.close()

    asyncio.run(story())
    (settings,) = kafka.settings
    assert settings["bootstrap_servers"] == ["a:1", "b:2"]
    assert (settings["acks"], settings["sasl_plain_password"], settings["linger_ms"]) == ("all", "pw", 5)
    assert [(topic, key) for topic, key, _value in kafka.sent] == [
        ("alerts", b"hot/1"),
        ("alerts", b"hot/2"),
        ("alerts", b"hot/3"),
    ]
    assert json.loads(kafka.sent[0][2]) == alert(1)
    assert kafka.closed == 1


def test_brokers_that_are_away_are_asked_again_by_a_new_producer(kafka: FakeKafka) -> None:
    sink = KafkaSink("a:1", "alerts")
    kafka.mood = FakeKafkaError("away")
    with pytest.raises(SinkError, match="Kafka at a:1 did not take an alert for alerts: FakeKafkaError") as caught:
        asyncio.run(sink.deliver([alert(1)]))
    assert caught.value.retry
    kafka.mood = None
    asyncio.run(sink.deliver([alert(1)]))
    assert (len(kafka.settings), kafka.closed) == (2, 1)
    kafka.mood = MessageSizeTooLargeError()
    with pytest.raises(SinkError) as refused:
        asyncio.run(sink.deliver([alert(2)]))
    assert not refused.value.retry


def test_without_kafka_python_the_way_to_get_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "kafka", None)
    with pytest.raises(MachineError, match=r"pip install 'tacit\[kafka\]'"):
        KafkaSink("a:1", "alerts")


def test_sinks_are_made_from_their_configuration(kafka: FakeKafka, tmp_path: Path) -> None:
    made = make_sinks(
        [
            LogSinkConfig(kind="log"),
            FileSinkConfig(kind="file", path=tmp_path / "a.jsonl", name="kept"),
            WebhookSinkConfig(kind="webhook", url="http://127.0.0.1:1/x"),
            KafkaSinkConfig(kind="kafka", servers="a:1", topic="t"),
        ]
    )
    assert [sink.name for sink in made] == ["log", "kept", "webhook", "kafka"]
