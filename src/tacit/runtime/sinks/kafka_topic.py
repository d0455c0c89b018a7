"""Alerts as messages of a Kafka topic, keyed by their ids."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from tacit.runtime.secret import Secret
from tacit.runtime.sinks.alert import as_line
from tacit.runtime.sinks.in_thread import in_thread
from tacit.runtime.sinks.sink import AlertDocument, SinkError
from tacit.vocabulary.errors import MachineError

__all__ = ["KafkaSink"]

# What is wrong with the message itself; everything else (brokers, rights, a missing topic) can be mended outside.
REFUSALS = {"MessageSizeTooLargeError", "RecordListTooLargeError", "InvalidRecordError"}


class KafkaSink:
    """A message per alert, acknowledged by all replicas before it counts. The producer is made at the first alert."""

    batch_max = 100

    def __init__(
        self,
        servers: str,
        topic: str,
        *,
        name: str = "kafka",
        timeout_seconds: float = 10.0,
        options: Mapping[str, Secret | int | float | bool] | None = None,
    ) -> None:
        self.name = name
        self._topic, self._timeout_s = topic, timeout_seconds
        self._servers = [each.strip() for each in servers.split(",")]
        self._options = {
            key: value.reveal() if isinstance(value, Secret) else value for key, value in (options or {}).items()
        }
        self._producer: Any = None
        try:
            self._kafka = import_module("kafka")
        except ImportError:
            raise MachineError("alerts go to Kafka with kafka-python; run: pip install 'tacit[kafka]'") from None

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        await in_thread(lambda: self._send(alerts), f"sink {self.name}")

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            await in_thread(lambda: producer.close(timeout=1), f"sink {self.name}")

    def _send(self, alerts: Sequence[AlertDocument]) -> None:
        errors: Any = import_module("kafka.errors")
        try:
            if self._producer is None:
                self._producer = self._kafka.KafkaProducer(**self._settings())
            waiting = [
                self._producer.send(self._topic, key=str(alert["id"]).encode(), value=as_line(alert))
                for alert in alerts
            ]
            for each in waiting:
                each.get(timeout=self._timeout_s)
        except errors.KafkaError as error:
            # Whatever still waits in the producer comes again from the backlog: it must not come twice from here, too.
            producer, self._producer = self._producer, None
            if producer is not None:
                producer.close(timeout=0)
            kind = type(error).__name__
            reason = f"Kafka at {', '.join(self._servers)} did not take an alert for {self._topic}: {kind}"
            raise SinkError(reason, retry=kind not in REFUSALS) from None

    def _settings(self) -> dict[str, Any]:
        limit_ms = int(self._timeout_s * 1000)
        return {
            "client_id": "tacit",
            "bootstrap_timeout_ms": limit_ms,
            "max_block_ms": limit_ms,
            "request_timeout_ms": limit_ms,
            "delivery_timeout_ms": limit_ms,
            **self._options,
            "bootstrap_servers": self._servers,
            "acks": "all",
        }
