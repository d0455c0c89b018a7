"""What a failed call means to a person: a sentence, and whether trying again can help.

gRPC hides why a TLS connection failed, so the address is asked once more with plain ``ssl``, which tells.
"""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass

import grpc

from tacit.transport.security import ClientTls, split_address
from tacit.vocabulary.errors import OptionError

__all__ = ["Refusal", "explain"]

PROBE_S = 3.0

_FATAL = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
}

# The verification codes of OpenSSL (X509_V_ERR_*) that have a remedy of their own.
_VERIFY = {
    9: "is not valid yet: compare the clocks of the two machines",
    10: "has expired: renew it with `tacit certs --renew`",
    18: "is signed by nobody but itself: give the right CA file",
    19: "comes from a CA that is not trusted here: give the right CA file",
    20: "comes from a CA that is not trusted here: give the right CA file",
    62: "is not for the host name {host}: dial a name that it holds, or renew it with --host {host}",
    64: "is not for the address {host}: dial a name that it holds, or renew it with --host {host}",
}
_ALERTS = {
    "CERTIFICATE_REQUIRED": "the coordinator at {address} asks for a certificate, and none was given",
    "HANDSHAKE_FAILURE": "the coordinator at {address} asks for a certificate, and none that it takes was given",
    "UNKNOWN_CA": "the coordinator at {address} does not trust the CA of the certificate that was shown",
    "CERTIFICATE_EXPIRED": "the certificate that was shown to the coordinator at {address} has expired: renew it with"
    " `tacit certs --renew`",
    "BAD_CERTIFICATE": "the coordinator at {address} does not accept the certificate that was shown",
    "CERTIFICATE_UNKNOWN": "the coordinator at {address} does not accept the certificate that was shown",
}


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a call failed; ``fatal`` when only an operator can mend it."""

    sentence: str
    fatal: bool


def explain(code: grpc.StatusCode, details: str | None, address: str, tls: ClientTls | None) -> Refusal:
    """Put the end of a call into words. This may dial the address, so it blocks for up to some seconds."""
    if code is grpc.StatusCode.UNAVAILABLE:
        refusal = _probe(address, tls)
        if refusal is not None:
            return refusal
        if not details or _is_grpc_talk(details):
            return Refusal(f"the coordinator at {address} broke off", fatal=False)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in (details or ""):
        return Refusal(f"a message is larger than the coordinator at {address} takes ({details})", fatal=False)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Refusal(f"the coordinator at {address} did not answer in time", fatal=False)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Refusal(f"what answers at {address} is not a coordinator of tacit", fatal=True)
    if code is grpc.StatusCode.OK:
        return Refusal(f"the coordinator at {address} ended the stream", fatal=False)
    return Refusal(_one_line(details) or f"the coordinator at {address} refused ({code.name})", code in _FATAL)


def _is_grpc_talk(details: str) -> bool:
    talk = (
        "failed to connect",
        "Socket closed",
        "Connection reset",
        "recvmsg",
        "GOAWAY",
        "Stream removed",
        "keepalive",
    )
    return any(each.lower() in details.lower() for each in talk)


def _one_line(details: str | None) -> str:
    return " ".join((details or "").split())[:1000]


def _probe(address: str, tls: ClientTls | None) -> Refusal | None:
    """Dial once by hand and say what stands in the way; None when nothing does."""
    host, port = split_address(address)
    try:
        context = _context(tls)
        with socket.create_connection((host, port), timeout=PROBE_S) as plain:
            with context.wrap_socket(plain, server_hostname=host) as wrapped:
                # A server that asks for certificates says no only after the handshake, where its greeting would be.
                wrapped.recv(1)
    except ssl.SSLCertVerificationError as error:
        remedy = _VERIFY.get(error.verify_code, f"cannot be verified: {error.verify_message}").format(host=host)
        return Refusal(f"the certificate of the coordinator at {address} {remedy}", fatal=True)
    except ssl.SSLError as error:
        return None if tls is None else _alert(error, address)
    except socket.gaierror:
        return Refusal(f"the host {host!r} of the coordinator is not known here; check the address", fatal=False)
    except ConnectionRefusedError:
        sentence = f"no coordinator listens at {address}; start it with `tacit coordinator`, or check the address"
        return Refusal(sentence, fatal=False)
    except TimeoutError:
        return Refusal(
            f"the coordinator at {address} did not answer in time; check the address and firewalls", fatal=False
        )
    except OSError as error:
        return Refusal(f"the coordinator at {address} cannot be reached: {error.strerror or error}", fatal=False)
    except OptionError as error:
        return Refusal(str(error), fatal=True)
    if tls is None:
        return Refusal(f"the coordinator at {address} speaks TLS: give the CA file that belongs to it", fatal=True)
    return None


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


def _alert(error: ssl.SSLError, address: str) -> Refusal | None:
    reason = error.reason or ""
    if reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE", "PACKET_LENGTH_TOO_LONG"):
        return Refusal(f"the coordinator at {address} does not speak TLS: leave the TLS settings out", fatal=True)
    for alert, sentence in _ALERTS.items():
        if reason.endswith(alert):
            return Refusal(sentence.format(address=address), fatal=True)
    return Refusal(f"the coordinator at {address} broke off TLS ({reason or error})", fatal=False)
