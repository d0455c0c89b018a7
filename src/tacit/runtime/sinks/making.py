"""From the sinks of a configuration to sinks that deliver."""

from __future__ import annotations

from collections.abc import Iterable

from tacit.runtime.config_sinks import FileSinkConfig, KafkaSinkConfig, LogSinkConfig, SinkConfig, WebhookSinkConfig
from tacit.runtime.sinks.json_lines import FileSink
from tacit.runtime.sinks.kafka_topic import KafkaSink
from tacit.runtime.sinks.log_line import LogSink
from tacit.runtime.sinks.sink import Sink
from tacit.runtime.sinks.webhook import WebhookSink

__all__ = ["make_sinks"]


def make_sinks(configured: Iterable[SinkConfig]) -> tuple[Sink, ...]:
    """A sink for each; OptionError or MachineError when one cannot work here."""
    return tuple(_make(each) for each in configured)


def _make(config: SinkConfig) -> Sink:
    name = config.name or config.kind
    match config:
        case LogSinkConfig():
            return LogSink(name, config.level)
        case FileSinkConfig():
            sink = FileSink(config.path, name)
            sink.check()
            return sink
        case WebhookSinkConfig():
            return WebhookSink(
                config.url,
                name=name,
                secret=config.secret,
                headers=config.headers,
                timeout_seconds=config.timeout_seconds,
                ca=config.ca,
            )
        case KafkaSinkConfig():
            return KafkaSink(
                config.servers,
                config.topic,
                name=name,
                timeout_seconds=config.timeout_seconds,
                options=config.options,
            )
