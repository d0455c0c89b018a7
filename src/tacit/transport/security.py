"""Who may listen, who may dial: TLS files, tokens, and the rule that nothing is open to the network without both.

A token is a random text that a site or a client holds; the coordinator keeps only its SHA-256. A site's token proves
one site's name. Without any token configured a coordinator listens on loopback only and takes every name.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import secrets
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from tacit.vocabulary.errors import OptionError

__all__ = [
    "ClientTls",
    "ServerSecurity",
    "TlsFiles",
    "check_dial",
    "check_listen",
    "hashed",
    "is_loopback",
    "new_token",
    "read_token",
    "split_address",
    "token_hash",
]

_NOBODY = hashlib.sha256(b"").hexdigest()


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """A certificate (PEM, with its chain) and its private key."""

    certificate: Path
    key: Path


@dataclass(frozen=True, slots=True)
class ClientTls:
    """How a site or a client speaks TLS: whom it trusts (None: the machine's own list), and who it is, if asked."""

    ca: Path | None = None
    identity: TlsFiles | None = None

    def credentials(self) -> grpc.ChannelCredentials:
        """What gRPC dials with; the files are read anew each time, so that renewed ones are taken up."""
        if self.ca is not None:
            _parses(self.ca)
        if self.identity is not None:
            _fit(self.identity)
        return grpc.ssl_channel_credentials(
            root_certificates=None if self.ca is None else _bytes(self.ca),
            private_key=None if self.identity is None else _bytes(self.identity.key),
            certificate_chain=None if self.identity is None else _bytes(self.identity.certificate),
        )


@dataclass(frozen=True, slots=True)
class ServerSecurity:
    """What a coordinator shows and asks for. Tokens are given as ``token_hash`` of them, by site and by client.

    With ``client_ca`` sites and clients must show a certificate of that authority too (mutual TLS).
    """

    tls: TlsFiles | None = None
    client_ca: Path | None = None
    site_tokens: Mapping[str, str] = field(default_factory=dict)
    client_tokens: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.client_ca is not None and self.tls is None:
            raise OptionError("certificates can be asked of sites only over TLS: give the coordinator's own too")
        for name, stored in (*self.site_tokens.items(), *self.client_tokens.items()):
            if len(stored) != len(_NOBODY) or set(stored.lower()) - set("0123456789abcdef"):
                raise OptionError(f"the token of {name!r} is not given as a SHA-256 of 64 hexadecimal digits")

    @property
    def has_tokens(self) -> bool:
        """Is a token asked for? Then it is asked of sites and of clients."""
        return bool(self.site_tokens or self.client_tokens)

    def is_site(self, name: str, token: str) -> bool:
        """Does this token prove this site's name?"""
        return _proves(token, self.site_tokens.get(name, _NOBODY))

    def site_of(self, token: str) -> str | None:
        """The site whose token this is."""
        return _owner(token, self.site_tokens)

    def client_of(self, token: str) -> str | None:
        """The client whose token this is."""
        return _owner(token, self.client_tokens)

    def credentials(self) -> grpc.ServerCredentials | None:
        """What gRPC listens with; None without TLS."""
        if self.tls is None:
            return None
        _fit(self.tls)
        if self.client_ca is not None:
            _parses(self.client_ca)
        return grpc.ssl_server_credentials(
            [(_bytes(self.tls.key), _bytes(self.tls.certificate))],
            root_certificates=None if self.client_ca is None else _bytes(self.client_ca),
            require_client_auth=self.client_ca is not None,
        )


def check_dial(address: str, token: str | None, tls: ClientTls | None) -> None:
    """Refuse to send a token over the network where everyone can read it."""
    host, _ = split_address(address)
    if token is not None and tls is None and not is_loopback(host):
        raise OptionError(
            f"a token would travel to {address} for everyone to read: give the CA file, so that TLS is spoken"
        )


def hashed(tokens: Mapping[str, str]) -> dict[str, str]:
    """Tokens by name, as a ServerSecurity keeps them."""
    return {name: token_hash(token) for name, token in tokens.items()}


def new_token() -> str:
    """A token nobody can guess."""
    return secrets.token_urlsafe(32)


def token_hash(token: str) -> str:
    """What a coordinator keeps of a token.

    >>> token_hash("secret")[:16]
    '2bb80d537b1da3e3'
    """
    return hashlib.sha256(token.encode()).hexdigest()


def read_token(path: Path) -> str:
    """The token in a file."""
    token = _bytes(path).decode(errors="replace").strip()
    if not token or not token.isascii() or not token.isprintable():
        raise OptionError(f"{path} holds no token: it must be one line of printable letters")
    return token


def split_address(address: str) -> tuple[str, int]:
    """Host and port of an address.

    >>> split_address("127.0.0.1:7070"), split_address("[::1]:0")
    (('127.0.0.1', 7070), ('::1', 0))
    """
    host, colon, port = address.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not colon or not port.isascii() or not port.isdigit() or int(port) > 65535 or (":" in bare and bare == host):
        raise OptionError(f"{address!r} is no address: write HOST:PORT, such as 127.0.0.1:7070 or [::1]:7070")
    return bare, int(port)


def is_loopback(host: str) -> bool:
    """Is everything that this host name stands for on this machine only?"""
    if not host:
        return False  # every interface
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise OptionError(f"the host {host!r} is not known here") from error
    return all(ipaddress.ip_address(str(place[4][0]).partition("%")[0]).is_loopback for place in found)


def check_listen(host: str, security: ServerSecurity) -> None:
    """Refuse to be open to the network without TLS and tokens.

    >>> check_listen("127.0.0.1", ServerSecurity())
    >>> check_listen("0.0.0.0", ServerSecurity())
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: 0.0.0.0 can be reached from other machines, which needs TLS and tokens, ...
    """
    if is_loopback(host):
        return
    missing = [word for word, there in (("TLS", security.tls), ("tokens", security.has_tokens)) if not there]
    if missing:
        raise OptionError(
            f"{host or 'every interface'} can be reached from other machines, which needs TLS and tokens, and"
            f" {' and '.join(missing)} {'is' if missing == ['TLS'] else 'are'} missing; make them with `tacit certs`,"
            " or listen on 127.0.0.1"
        )


def _proves(token: str, stored: str) -> bool:
    # Of an empty token nothing is proven, though its hash stands for whoever is not there.
    return hmac.compare_digest(token_hash(token), stored.lower()) and bool(token)


def _owner(token: str, stored: Mapping[str, str]) -> str | None:
    owners = [name for name, each in stored.items() if _proves(token, each)]  # all are compared: time tells nothing
    return owners[0] if owners else None


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise OptionError(f"{path} cannot be read: {error.strerror or error}") from error


def _fit(files: TlsFiles) -> None:
    """Refuse a certificate and a key that do not belong together: gRPC would only fail to connect."""
    _bytes(files.certificate), _bytes(files.key)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(files.certificate, files.key, password="")
    except (ssl.SSLError, OSError) as error:
        raise OptionError(
            f"{files.certificate} and {files.key} are no certificate and its key without password"
        ) from error


def _parses(path: Path) -> None:
    _bytes(path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except (ssl.SSLError, OSError) as error:
        raise OptionError(f"{path} holds no certificates (PEM)") from error
