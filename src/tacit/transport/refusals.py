"""What a failed call means to a person: a sentence, and whether trying again can help."""

from __future__ import annotations

import grpc

from tacit.transport.security import ClientTls
from tacit.transport.tls_probe import Refusal, probe

__all__ = ["Refusal", "explain"]

_FATAL = {
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.PERMISSION_DENIED,
}


def explain(code: grpc.StatusCode, details: str | None, address: str, tls: ClientTls | None) -> Refusal:
    """Put the end of a call into words. This may dial the address, so it blocks for up to some seconds."""
    if code is grpc.StatusCode.UNAVAILABLE:
        # gRPC's own word, with details for programmers; a coordinator never says it.
        return probe(address, tls) or Refusal(f"the coordinator at {address} broke off", fatal=False)
    if code is grpc.StatusCode.RESOURCE_EXHAUSTED and "larger than max" in (details or ""):
        return Refusal(f"a message is larger than the coordinator at {address} takes ({details})", fatal=False)
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Refusal(f"the coordinator at {address} did not answer in time", fatal=False)
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Refusal(f"what answers at {address} is not a coordinator of tacit", fatal=True)
    if code is grpc.StatusCode.OK:
        return Refusal(f"the coordinator at {address} ended the stream", fatal=False)
    sentence = " ".join((details or "").split())[:1000]
    return Refusal(sentence or f"the coordinator at {address} refused ({code.name})", code in _FATAL)
