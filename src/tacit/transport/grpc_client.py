"""Asking a coordinator: one question and its answer, or a question and answers from then on. No asyncio."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from typing import Any, NoReturn

import grpc

from tacit.transport.admission import calling_card
from tacit.transport.limits import LinkLimits
from tacit.transport.refusals import explain
from tacit.transport.security import ClientTls, check_dial
from tacit.vocabulary import errors
from tacit.vocabulary.errors import ProtocolError, TacitError

__all__ = ["UnreachableError", "ask", "follow"]

ANSWER_S = 60.0
_ERROR_KEY = "tacit-error"


class UnreachableError(TacitError):
    """The coordinator is away, or broke off: asking again later may help."""


def ask(
    address: str,
    request: Mapping[str, Any],
    *,
    token: str | None = None,
    tls: ClientTls | None = None,
    timeout_s: float = ANSWER_S,
) -> dict[str, Any]:
    """The coordinator's answer. What it refuses, and what stands in the way, is a TacitError of one sentence."""
    with _channel(address, token, tls) as channel:
        try:
            data = channel.unary_unary("/tacit.Tacit/Ask")(
                json.dumps(request).encode(), metadata=calling_card(token=token), timeout=timeout_s
            )
        except grpc.RpcError as error:
            _fail(error, address, tls)
    return _answer(data)


def follow(
    address: str, request: Mapping[str, Any], *, token: str | None = None, tls: ClientTls | None = None
) -> Generator[dict[str, Any], None, None]:
    """The coordinator's answers as they come, until it has no more or the iterator is closed."""
    with _channel(address, token, tls) as channel:
        stream = channel.unary_stream("/tacit.Tacit/Follow")(
            json.dumps(request).encode(), metadata=calling_card(token=token)
        )
        try:
            for data in stream:
                yield _answer(data)
        except grpc.RpcError as error:
            _fail(error, address, tls)
        finally:
            stream.cancel()


def _channel(address: str, token: str | None, tls: ClientTls | None) -> Any:
    check_dial(address, token, tls)
    options = LinkLimits().options()
    if tls is None:
        return grpc.insecure_channel(address, options=options)
    return grpc.secure_channel(address, tls.credentials(), options=options)


def _answer(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise ProtocolError("the coordinator's answer is not JSON") from error
    if not isinstance(value, dict):
        raise ProtocolError("the coordinator's answer is not a JSON object")
    return value


def _fail(error: Any, address: str, tls: ClientTls | None) -> NoReturn:
    """Raise what the coordinator raised, where it said so; else say what stood in the way."""
    said = dict(error.trailing_metadata() or ()).get(_ERROR_KEY)
    kind = getattr(errors, str(said), TacitError) if said in errors.__all__ else TacitError
    if said is not None:
        raise kind(error.details() or "the coordinator refused") from None
    refusal = explain(error.code(), error.details(), address, tls)
    raise (TacitError if refusal.fatal else UnreachableError)(refusal.sentence) from None
