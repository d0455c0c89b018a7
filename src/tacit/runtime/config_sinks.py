"""Sinks of a configuration: where alerts go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from tacit.runtime.config_types import BesidePath, Name, Seconds, SecretOption, SecretValue, Section, Text

__all__ = ["FileSinkConfig", "KafkaSinkConfig", "LogSinkConfig", "SinkConfig", "WebhookSinkConfig"]


def _http(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    if scheme not in ("http", "https") or not separator or not rest.strip("/"):
        raise ValueError("must be a web address, such as https://example.org/alerts")
    if "@" in rest.split("/", 1)[0]:
        raise ValueError("must not hold a password; send one with headers, kept in a file or in the environment")
    return url


class _Sink(Section):
    """What every sink has."""

    name: Name | None = Field(
        None, description="What the sink is called, its kind unless told; two of a kind need names.", examples=["duty"]
    )
    changes: bool = Field(
        False,
        description="Does it get changes, too? New values of watches that track, and new orders of rankings.",
    )


class LogSinkConfig(_Sink):
    """`kind = "log"`: a line in the log of the coordinator, from the logger `tacit.alerts`."""

    kind: Literal["log"] = Field(description="`log`.", examples=["log"])
    level: Literal["info", "warning", "error"] = Field("warning", description="How loud.")


class FileSinkConfig(_Sink):
    """`kind = "file"`: a file of JSON lines, one per alert, on the disk before the alert counts as delivered."""

    kind: Literal["file"] = Field(description="`file`.", examples=["file"])
    path: BesidePath = Field(description="The file; it is made when it is not there.", examples=["alerts.jsonl"])


class WebhookSinkConfig(_Sink):
    """`kind = "webhook"`: a POST per alert, repeated until the other side takes it."""

    kind: Literal["webhook"] = Field(description="`webhook`.", examples=["webhook"])
    url: Annotated[str, AfterValidator(_http)] = Field(
        description="Where to.", repr=False, examples=["https://example.org/alerts"]
    )
    secret: SecretValue | None = Field(
        None,
        description="Signs each message: `Tacit-Signature: t=<unix seconds>,v1=<hex of HMAC-SHA256 over t.body>`.",
        examples=["file:webhook.secret"],
    )
    headers: Mapping[str, SecretValue] = Field(
        default_factory=dict,
        description="Headers to send along, such as Authorization.",
        examples=[{"Authorization": "env:WEBHOOK_AUTHORIZATION"}],
    )
    timeout_seconds: Seconds = Field(10.0, description="How long to wait for the other side.")
    ca: BesidePath | None = Field(
        None,
        description="A certificate authority to trust (PEM); without it, those of the machine.",
        examples=["ca.pem"],
    )


class KafkaSinkConfig(_Sink):
    """`kind = "kafka"`: a message per alert in a topic, keyed by the alert's id. Needs `pip install 'tacit[kafka]'`."""

    kind: Literal["kafka"] = Field(description="`kafka`.", examples=["kafka"])
    servers: Text = Field(description="Brokers to ask first, separated by commas.", examples=["kafka1:9092"])
    topic: Text = Field(description="The topic.", examples=["alerts"])
    timeout_seconds: Seconds = Field(10.0, description="How long to wait until all replicas have a message.")
    options: Mapping[str, SecretOption] = Field(
        default_factory=dict,
        repr=False,
        description='Further options of the kafka-python producer; a text may be "file:path" or "env:NAME".',
        examples=[{"security_protocol": "SASL_SSL", "sasl_plain_password": "env:KAFKA_PASSWORD"}],
    )


SinkConfig = Annotated[
    LogSinkConfig | FileSinkConfig | WebhookSinkConfig | KafkaSinkConfig, Field(discriminator="kind")
]
