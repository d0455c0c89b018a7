"""Why no connection came about: the address is dialled once more with plain sockets and ``ssl``, which tell.

gRPC keeps to itself why a TLS handshake failed, and its servers hang up without an alert on a certificate that they do
not accept. So what the coordinator shows is verified here, and what we showed is looked at when it hangs up.
"""

from __future__ import annotations

import datetime
import socket
import ssl
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509

from tacit.transport.security import ClientTls, split_address
from tacit.vocabulary.errors import OptionError

__all__ = ["Refusal", "probe"]

PROBE_S = 3.0

# The verification codes of OpenSSL (X509_V_ERR_*) that have a remedy of their own.
_UNTRUSTED = "comes from a CA that is not trusted here: give the right CA file"
_VERIFY = {
    9: "is not valid yet: compare the clocks of the two machines",
    10: "has expired: renew it with `tacit certs --renew`",
    18: "is signed by nobody but itself: give the right CA file",
    19: _UNTRUSTED,
    20: _UNTRUSTED,
    62: "is not for the host name {host}: dial a name that it holds, or renew it with --host {host}",
    64: "is not for the address {host}: dial a name that it holds, or renew it with --host {host}",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call failed; ``fatal`` when only an operator can mend it."""

    sentence: str
    fatal: bool


def probe(address: str, tls: ClientTls | None) -> Refusal | None:
    """What stands between here and the coordinator at an address; None when nothing does. Blocks for some seconds."""
    host, port = split_address(address)
    try:
        context = _context(tls)
        if not _greets(host, port, context) and tls is not None and not _greets(host, port, context):
            return Refusal(_unwelcome(address, tls), fatal=True)  # twice: it does not just happen to stop
    except _UnreachableError as error:
        return error.refusal
    except OptionError as error:
        return Refusal(str(error), fatal=True)
    except ssl.SSLCertVerificationError as error:
        remedy = _VERIFY.get(error.verify_code, f"cannot be verified: {error.verify_message}").format(host=host)
        return Refusal(f"the certificate of the coordinator at {address} {remedy}", fatal=True)
    except OSError as error:  # of TLS; so whoever listens there is reached
        if tls is None:
            return None
        if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
            return Refusal(f"the coordinator at {address} does not speak TLS: leave the TLS settings out", fatal=True)
        return Refusal(f"the coordinator at {address} broke off while TLS was set up", fatal=False)
    if tls is None:
        return Refusal(f"the coordinator at {address} speaks TLS: give the CA file that belongs to it", fatal=True)
    return None


class _UnreachableError(Exception):
    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.refusal = Refusal(sentence, fatal=False)


def _greets(host: str, port: int, context: ssl.SSLContext) -> bool:
    """Does the server say something of its own after the handshake, as HTTP/2 does?"""
    with _connection(host, port) as plain, context.wrap_socket(plain, server_hostname=host) as wrapped:
        try:
            return wrapped.recv(1) != b""
        except (ssl.SSLError, ConnectionError):
            return False


def _connection(host: str, port: int) -> socket.socket:
    address = f"{host}:{port}"
    try:
        return socket.create_connection((host, port), timeout=PROBE_S)
    except socket.gaierror as error:
        raise _UnreachableError(f"the host {host!r} of the coordinator is not known here; check the address") from error
    except ConnectionRefusedError as error:
        raise _UnreachableError(
            f"no coordinator listens at {address}; start it with `tacit coordinator`, or check the address"
        ) from error
    except TimeoutError as error:
        raise _UnreachableError(
            f"the coordinator at {address} did not answer in time; check the address and firewalls"
        ) from error
    except OSError as error:
        reason = error.strerror or error
        raise _UnreachableError(f"the coordinator at {address} cannot be reached: {reason}") from error


def _context(tls: ClientTls | None) -> ssl.SSLContext:
    if tls is None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # only to learn whether it speaks TLS
    else:
        tls.credentials()  # refuses files that cannot work, with a sentence
        context = ssl.create_default_context(cafile=tls.ca)
        if tls.identity is not None:
            context.load_cert_chain(tls.identity.certificate, tls.identity.key)
    context.set_alpn_protocols(["h2"])
    return context


def _unwelcome(address: str, tls: ClientTls) -> str:
    """What is wrong with what we showed, as far as can be seen from here."""
    if tls.identity is None:
        return f"the coordinator at {address} asks for a certificate, and none was given"
    path, now = tls.identity.certificate, datetime.datetime.now(datetime.UTC)
    shown = x509.load_pem_x509_certificate(path.read_bytes())
    if shown.not_valid_after_utc < now:
        return f"the certificate {path} has expired: renew it with `tacit certs --renew`"
    if shown.not_valid_before_utc > now:
        return f"the certificate {path} is not valid yet: compare the clocks of the two machines"
    if tls.ca is not None and not _is_issued_by(shown, tls.ca):
        return (
            f"the certificate {path} does not come from the CA in {tls.ca}, and the coordinator at {address} refuses it"
        )
    return (
        f"the coordinator at {address} refuses the certificate {path}: it must come from the CA that is trusted there"
    )


def _is_issued_by(shown: x509.Certificate, ca: Path) -> bool:
    for authority in x509.load_pem_x509_certificates(ca.read_bytes()):
        try:
            shown.verify_directly_issued_by(authority)
        except Exception:  # of many kinds, by what does not fit
            continue
        return True
    return False
