"""The sections of a configuration file; ``make configuration`` writes docs/CONFIGURATION.md from these models."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, model_validator

from tacit.runtime.config_sinks import SinkConfig
from tacit.runtime.config_tables import Table
from tacit.runtime.config_types import (
    Address,
    BesidePath,
    Master,
    Name,
    Seconds,
    SecretValue,
    Section,
    Text,
    is_loopback,
)
from tacit.vocabulary.errors import OptionError

__all__ = ["ClientTls", "Config", "CoordinatorConfig", "ServerTls", "SiteConfig", "SparkConfig", "Tokens"]


class ServerTls(Section):
    """The coordinator's certificate. `tacit certs` makes a development authority and certificates."""

    certificate: BesidePath = Field(description="The certificate (PEM).", examples=["certs/server.pem"])
    key: BesidePath = Field(description="Its private key (PEM).", examples=["certs/server.key"])
    client_ca: BesidePath | None = Field(
        None,
        description="Sites and clients must have a certificate of this authority (mutual TLS).",
        examples=["certs/ca.pem"],
    )


class Tokens(Section):
    """Who may connect. Each token is the secret itself, `file:path` or `env:NAME`."""

    sites: Mapping[Name, SecretValue] = Field(
        default_factory=dict, description="A token per site.", examples=[{"north": "file:certs/sites/north.token"}]
    )
    clients: Mapping[Name, SecretValue] = Field(
        default_factory=dict, description="A token per client.", examples=[{"desk": "env:TACIT_TOKEN"}]
    )


class CoordinatorConfig(Section):
    """The coordinator: where it listens, where it keeps what it knows, and how patient it is."""

    listen: Address = Field(
        "127.0.0.1:7070",
        description="The address sites and clients dial. Beyond this machine it needs `tls` and `tokens`.",
    )
    state: BesidePath = Field(
        Path("state/coordinator"), validate_default=True, description="The folder where everything is kept."
    )
    lease_seconds: Seconds = Field(
        30.0,
        description="After how long without a sign of a site the answers that depend on it are stale. A site that is "
        "started again is back after 13 to 22 seconds, most of which Spark takes.",
    )
    heartbeat_seconds: Seconds = Field(1.0, description="How often a site that has nothing to say says so.")
    gather_seconds: Seconds = Field(
        30.0, description="How long a new watch waits for the sites that are expected before it starts without them."
    )
    backlog_panes: Annotated[int, Field(gt=0)] | None = Field(
        None,
        description="Allows watches on tables with a wall clock to skip panes: when more than this many wait for their "
        "answer, as after the coordinator was away, a watch goes on at the newest, and those between are a gap, whose "
        "state is `unknown`. Nor are more panes settled late when a site is back. Not set: no pane is skipped. Tables "
        'with `clock = "event"` never skip any.',
        examples=[600],
    )
    keep_days: Annotated[float, Field(gt=0)] = Field(
        30.0, description="How long answers and alerts of the past are kept; what holds now is kept for ever."
    )
    watches: tuple[BesidePath, ...] = Field(
        (), description="Files of CREATE WATCH sentences, run at the first start.", examples=[["watches.sql"]]
    )
    protocol: Literal["auto", "coordinator", "broadcast", "recentre", "fitted"] = Field(
        "auto",
        description="How all watches are kept: `coordinator` balances a violation between a few sites, `broadcast` "
        "tells every site of it, `recentre` lets a site that left its zone go on from where it is. `auto` recentres "
        "what is tracked and balances the others; `fitted` gives each site a zone that fits its past.",
    )
    tls: ServerTls | None = Field(None, description="TLS.")
    tokens: Tokens = Field(default_factory=Tokens, description="Who may connect.")

    @model_validator(mode="after")
    def _fits(self) -> CoordinatorConfig:
        if self.lease_seconds < 2 * self.heartbeat_seconds:
            raise ValueError(
                f"has lease_seconds = {self.lease_seconds:g}, and one late heartbeat would end the lease; make it at "
                f"least {2 * self.heartbeat_seconds:g}, twice heartbeat_seconds"
            )
        if not is_loopback(self.listen) and (self.tls is None or not self.tokens.sites):
            lacking = "[coordinator.tls]" if self.tls is None else "[coordinator.tokens] with a token per site"
            raise ValueError(
                f"listens beyond this machine ({self.listen}), so it needs {lacking}; or listen on 127.0.0.1"
            )
        return self


class SparkConfig(Section):
    """Spark at the sites."""

    master: Master = Field(
        "local[*]", description="Spark's master: `local[*]`, or a cluster such as `spark://host:7077`."
    )
    memory: Annotated[str, Field(pattern=r"^\d+[kmgKMG]$")] = Field("1g", description="The most that Java may use.")
    packages: tuple[Text, ...] = Field(
        (),
        description="Maven packages for Spark, such as the Kafka connector.",
        examples=[["org.apache.spark:spark-sql-kafka-0-10_2.13:4.3.0"]],
    )
    conf: Mapping[str, str | int | float | bool] = Field(
        default_factory=dict,
        repr=False,
        description="Further settings of Spark, by their full names.",
        examples=[{"spark.sql.shuffle.partitions": 2}],
    )


class ClientTls(Section):
    """How a site trusts the coordinator, and what it shows itself with."""

    ca: BesidePath | None = Field(
        None,
        description="The authority of the coordinator's certificate (PEM); without it, those of the machine.",
        examples=["certs/ca.pem"],
    )
    certificate: BesidePath | None = Field(
        None, description="The site's own certificate (PEM), for mutual TLS.", examples=["certs/sites/north.pem"]
    )
    key: BesidePath | None = Field(None, description="Its private key (PEM).", examples=["certs/sites/north.key"])

    @model_validator(mode="after")
    def _both_or_none(self) -> ClientTls:
        if (self.certificate is None) != (self.key is None):
            raise ValueError("has one of certificate and key; a certificate of its own needs both")
        return self


class SiteConfig(Section):
    """A site: whom it dials, where it keeps its state, and its tables. `{site}` in a text is replaced by its name."""

    coordinator: Address = Field(
        "127.0.0.1:7070", description="The coordinator's address; without it, `coordinator.listen`."
    )
    state: BesidePath = Field(
        Path("state/{site}"), validate_default=True, description="The folder where everything is kept."
    )
    token: SecretValue | None = Field(
        None,
        description="What it shows the coordinator: the secret itself, `file:path` or `env:NAME`.",
        examples=["file:certs/sites/north.token"],
    )
    tls: ClientTls | None = Field(None, description="TLS.")
    tables: Mapping[Name, Table] = Field(
        default_factory=dict,
        description="Its tables. Those of `[tables]` are there without being named; `NAME = false` leaves one out.",
    )

    @model_validator(mode="after")
    def _is_safe(self) -> SiteConfig:
        if not is_loopback(self.coordinator) and (self.tls is None or self.token is None):
            lacking = "its tls section" if self.tls is None else "its token"
            raise ValueError(f"dials another machine ({self.coordinator}), so it needs {lacking}")
        return self


class Config(Section):
    """One file says all: the coordinator, the sites, their tables, and where alerts go."""

    coordinator: CoordinatorConfig = Field(
        default_factory=CoordinatorConfig, validate_default=True, description="The coordinator."
    )
    sinks: tuple[SinkConfig, ...] = Field((), description="Where alerts go.")
    spark: SparkConfig = Field(default_factory=SparkConfig, description="Spark at the sites.")
    tables: Mapping[Name, Mapping[str, Any]] = Field(
        default_factory=dict,
        repr=False,
        description="What every site's table of that name has unless the site says so.",
    )
    sites: Mapping[Name, SiteConfig] = Field(default_factory=dict, description="The sites.")

    @model_validator(mode="after")
    def _sinks_have_names(self, info: ValidationInfo) -> Config:
        names = [sink.name or sink.kind for sink in self.sinks]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"has two sinks called {twice}; give each a name of its own")
        return self

    def site(self, name: str) -> SiteConfig:
        """The site of that name, with every default filled in."""
        if name not in self.sites:
            known = ", ".join(self.sites) or "none"
            raise OptionError(f"the configuration has no site {name}; it has {known}")
        return self.sites[name]

    def table_of(self, site: str, table: str) -> Table:
        """A table of a site, with every default filled in."""
        tables = self.site(site).tables
        if table not in tables:
            raise OptionError(f"the site {site} has no table {table}; it has {', '.join(tables) or 'none'}")
        return tables[table]
