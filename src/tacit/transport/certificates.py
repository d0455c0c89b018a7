"""A small certificate authority for development and for closed networks: one CA, and what coordinator and sites need.

    FOLDER/ca.pem, ca.key               the authority: everyone trusts ca.pem, ca.key stays with the operator
    FOLDER/server.pem, server.key       the coordinator
    FOLDER/sites/NAME.pem, .key, .token what one site holds
    FOLDER/clients/NAME.pem, .key, .token

Keys are on the curve P-256 and, as tokens, readable by their owner only. Nothing is ever written over, but for a
renewal of certificates, which keeps the CA and the tokens.
"""

from __future__ import annotations

import datetime
import ipaddress
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from tacit.transport.security import new_token
from tacit.vocabulary.errors import OptionError

__all__ = ["DAYS_CA", "HOSTS", "make_certificates"]

DAYS_CA = 3650
HOSTS = ("localhost", "127.0.0.1", "::1")
_SKEW = datetime.timedelta(minutes=5)  # for clocks that are a little behind


@dataclass(frozen=True, slots=True)
class _Pair:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_certificates(
    folder: Path,
    *,
    hosts: Sequence[str] = (),
    sites: Sequence[str] = (),
    clients: Sequence[str] = (),
    days: int = 365,
    renew: bool = False,
    now: datetime.datetime | None = None,
) -> list[Path]:
    """Make what is named, and say which files were written.

    Without ``renew`` the folder gets a new CA and must have none. With it, the CA that is there signs a new server
    certificate and those of all sites and clients there, and of new ones that are named; tokens that are there stay.
    ``hosts`` are the names and addresses that sites dial; without any: those of before, or this machine's own.
    """
    now = datetime.datetime.now(datetime.UTC) if now is None else now
    hosts = hosts or (_hosts_before(folder) if renew else HOSTS)
    _check(hosts, sites, clients, days)
    if renew:
        authority = _read_authority(folder)
        sites = [*_there(folder / "sites"), *sites]
        clients = [*_there(folder / "clients"), *clients]
    else:
        taken = [path for path in (folder / "ca.pem", folder / "ca.key", folder / "server.pem") if path.exists()]
        if taken:
            raise OptionError(f"{taken[0]} is there already; use --renew for new certificates of the same CA")
        authority = _new_authority(now)
    try:
        return _write_all(folder, authority, hosts, sites, clients, now, days, renew)
    except OSError as error:
        raise OptionError(f"{error.filename or folder} cannot be written: {error.strerror or error}") from error


def _write_all(
    folder: Path,
    authority: _Pair,
    hosts: Sequence[str],
    sites: Sequence[str],
    clients: Sequence[str],
    now: datetime.datetime,
    days: int,
    renew: bool,
) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    if not renew:
        made += _write_pair(folder / "ca", authority)
    server = _sign(authority, hosts[0], _alternatives(hosts), ExtendedKeyUsageOID.SERVER_AUTH, now, days)
    made += _write_pair(folder / "server", server)
    for part, names in (("sites", sites), ("clients", clients)):
        for name in dict.fromkeys(names):
            (folder / part).mkdir(exist_ok=True)
            pair = _sign(authority, name, None, ExtendedKeyUsageOID.CLIENT_AUTH, now, days)
            made += _write_pair(folder / part / name, pair)
            token = folder / part / f"{name}.token"
            if not token.exists():
                _write_secret(token, new_token().encode() + b"\n")
                made.append(token)
    return made


def _check(hosts: Sequence[str], sites: Sequence[str], clients: Sequence[str], days: int) -> None:
    if not 1 <= days <= DAYS_CA:
        raise OptionError(f"--days {days}: a certificate can last from 1 to {DAYS_CA} days")
    for host in hosts:
        if not _is_address(host) and not re.fullmatch(r"(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252})", host):
            raise OptionError(f"--host {host!r} is neither a host name nor an address")
    for name in (*sites, *clients):
        # Names become file names, and the common name of a certificate has 64 letters at most.
        if not re.fullmatch(r"[\w][\w .-]{0,63}", name):
            raise OptionError(
                f"{name!r} cannot be a file name: use letters, digits, '.', '-', '_' and at most 64 of them"
            )


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _alternatives(hosts: Sequence[str]) -> x509.SubjectAlternativeName:
    return x509.SubjectAlternativeName(
        [x509.IPAddress(ipaddress.ip_address(host)) if _is_address(host) else x509.DNSName(host) for host in hosts]
    )


def _there(folder: Path) -> list[str]:
    return sorted(path.stem for path in folder.glob("*.pem"))


def _hosts_before(folder: Path) -> Sequence[str]:
    try:
        server = x509.load_pem_x509_certificate((folder / "server.pem").read_bytes())
        names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (OSError, ValueError, x509.ExtensionNotFound):
        return HOSTS
    return [*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))] or HOSTS


def _new_authority(now: datetime.datetime) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    # A name of its own, so that certificates of two authorities are told apart.
    serial = x509.random_serial_number()
    name = _name(f"tacit CA {serial & 0xFFFFFFFF:08x}")
    usage = _usage(signs_certificates=True)
    certificate = (
        _builder(name, name, key.public_key(), now, DAYS_CA)
        .serial_number(serial)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .sign(key, hashes.SHA256())
    )
    return _Pair(certificate, key)


def _sign(
    authority: _Pair,
    name: str,
    alternatives: x509.SubjectAlternativeName | None,
    purpose: x509.ObjectIdentifier,
    now: datetime.datetime,
    days: int,
) -> _Pair:
    key = ec.generate_private_key(ec.SECP256R1())
    issuer = authority.certificate
    builder = (
        _builder(_name(name[:64]), issuer.subject, key.public_key(), now, days)
        .serial_number(x509.random_serial_number())
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(authority.key.public_key()), critical=False)
    )
    if alternatives is not None:
        builder = builder.add_extension(alternatives, critical=False)
    return _Pair(builder.sign(authority.key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime, days: int
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .not_valid_before(now - _SKEW)
        .not_valid_after(now + datetime.timedelta(days=days))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        encipher_only=False,
        decipher_only=False,
    )


def _read_authority(folder: Path) -> _Pair:
    try:
        certificate = x509.load_pem_x509_certificate((folder / "ca.pem").read_bytes())
        key = serialization.load_pem_private_key((folder / "ca.key").read_bytes(), password=None)
    except OSError as error:
        raise OptionError(f"{folder} holds no CA to renew with: {error.strerror or error}") from error
    except (ValueError, TypeError) as error:
        raise OptionError(f"{folder}/ca.pem and ca.key are no certificate and its key") from error
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != certificate.public_key():
        raise OptionError(f"{folder}/ca.key is not the key of {folder}/ca.pem")
    return _Pair(certificate, key)


def _write_pair(stem: Path, pair: _Pair) -> list[Path]:
    certificate, key = stem.with_name(stem.name + ".pem"), stem.with_name(stem.name + ".key")
    pem = pair.key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    _write_secret(key, pem)
    _replace(certificate, pair.certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    return [certificate, key]


def _write_secret(path: Path, data: bytes) -> None:
    _replace(path, data, 0o600)


def _replace(path: Path, data: bytes, mode: int) -> None:
    """Write a file in one step, with its mode from the first moment on."""
    draft = path.with_name(path.name + ".new")
    draft.unlink(missing_ok=True)
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    draft.replace(path)
