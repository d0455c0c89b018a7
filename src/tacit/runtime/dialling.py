"""How a configuration's coordinator is reached from this machine: by its sites, and by whoever asks it something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tacit.runtime.config_models import Config

__all__ = ["Dialling", "client_dialling", "site_address"]

_EVERYWHERE = ("", "0.0.0.0", "::")


@dataclass(frozen=True, slots=True, repr=False)
class Dialling:
    """Where the coordinator is, and what a client shows it."""

    address: str
    token: str | None = None
    ca: Path | None = None
    certificate: Path | None = None
    key: Path | None = None


def site_address(config: Config, name: str, port: int) -> str:
    """Where a site dials a coordinator that runs beside it; ``port`` is the one that it got where it may have any."""
    host, _, wanted = config.site(name).coordinator.rpartition(":")
    return f"{host}:{port if wanted == '0' else wanted}"


def client_dialling(config: Config) -> Dialling:
    """How a client of this machine asks; OptionError when the token is not where it should be."""
    tokens = config.coordinator.tokens.clients
    token = next((token.reveal() for token in tokens.values()), None)
    server = config.coordinator.tls
    if server is None:
        return Dialling(_client_address(config), token)
    folder = server.certificate.parent  # where `tacit certs` puts everything
    sites = [site.tls for site in config.sites.values() if site.tls is not None]
    authorities = [*(tls.ca for tls in sites), server.client_ca, *_there(folder / "ca.pem")]
    ca = next((each for each in authorities if each is not None), None)
    if server.client_ca is None:
        return Dialling(_client_address(config), token, ca)
    # Any certificate of that authority will do.
    pairs = [(folder / "clients" / f"{name}.pem", folder / "clients" / f"{name}.key") for name in tokens]
    pairs += [(tls.certificate, tls.key) for tls in sites if tls.certificate is not None and tls.key is not None]
    shown = next((pair for pair in pairs if all(each.exists() for each in pair)), (None, None))
    return Dialling(_client_address(config), token, ca, *shown)


def _there(path: Path) -> Iterator[Path]:
    if path.exists():
        yield path


def _client_address(config: Config) -> str:
    """Where the coordinator listens; of one that listens everywhere, where its sites dial."""
    listen = config.coordinator.listen
    host, _, port = listen.rpartition(":")
    if host.strip("[]") in _EVERYWHERE:
        return next(
            (site.coordinator for site in config.sites.values() if site.coordinator != listen), f"localhost:{port}"
        )
    return listen
