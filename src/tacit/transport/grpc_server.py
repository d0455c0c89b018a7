"""The coordinator's port: sites link up by a stream of frames both ways, clients ask and follow in JSON.

One service with three methods, spoken in plain bytes. Whoever calls is looked at first (``admission.py``). What goes
wrong on one stream ends that stream, with a code and a sentence, and no other.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from typing import Any, NoReturn

import grpc
from grpc import aio

from tacit.transport.admission import RefusedError, admit_client, admit_site
from tacit.transport.limits import ServerLimits
from tacit.transport.refusal_log import RefusalLog
from tacit.transport.security import ServerSecurity, check_listen, split_address
from tacit.transport.server_link import ServerLink
from tacit.vocabulary.errors import InputError, MachineError, ProtocolError, TacitError

__all__ = ["ERROR_KEY", "SERVICE", "Server", "serve"]

SERVICE = "tacit.Tacit"
ERROR_KEY = "tacit-error"
"""The trailing metadata that says which error a refusal is, so that a client can raise the same."""

_STOPS = "the coordinator stops"
SENTENCE_MAX = 4000  # HTTP/2 headers carry it

OnLink = Callable[[ServerLink], Awaitable[None]]
OnAsk = Callable[[dict[str, Any], str], Awaitable[dict[str, Any]]]
OnFollow = Callable[[dict[str, Any], str], AsyncGenerator[dict[str, Any], None]]

_log = logging.getLogger(__name__)


async def serve(
    address: str,
    *,
    security: ServerSecurity,
    on_link: OnLink,
    on_ask: OnAsk,
    on_follow: OnFollow,
    limits: ServerLimits | None = None,
) -> Server:
    """Listen, and call back: ``on_link(link)`` once per site's stream, for as long as that stream lasts;
    ``on_ask(request, client)`` and ``on_follow(request, client)`` once per question, with the name that the client's
    token proved (empty where no tokens are asked for). ``on_follow`` is an async generator: it waits while its client
    reads slowly, and is closed when the client leaves.

    A ProtocolError out of ``on_link`` ends that stream with its sentence; a TacitError out of the others reaches the
    client as it is. ``address`` is HOST:PORT; port 0 takes a free one.
    """
    host, _ = split_address(address)
    check_listen(host, security)
    server = Server(security, on_link, on_ask, on_follow, ServerLimits() if limits is None else limits)
    await server._start(address)
    return server


class Server:
    """A listening coordinator; see ``serve``."""

    def __init__(
        self, security: ServerSecurity, on_link: OnLink, on_ask: OnAsk, on_follow: OnFollow, limits: ServerLimits
    ) -> None:
        self.port = 0
        self._security, self._limits = security, limits
        self._on_link, self._on_ask, self._on_follow = on_link, on_ask, on_follow
        self._links: set[ServerLink] = set()
        self._following: set[asyncio.Task[Any]] = set()
        self._is_stopping = False
        self._refusals = RefusalLog()
        self._ended = asyncio.Event()
        handlers = {
            "Link": grpc.stream_stream_rpc_method_handler(self._link),
            "Ask": grpc.unary_unary_rpc_method_handler(self._ask),
            "Follow": grpc.unary_stream_rpc_method_handler(self._follow),
        }
        self._server = aio.server(options=limits.options(), maximum_concurrent_rpcs=limits.calls)
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, handlers),))

    async def _start(self, address: str) -> None:
        credentials = self._security.credentials()
        try:
            if credentials is None:
                self.port = self._server.add_insecure_port(address)
            else:
                self.port = self._server.add_secure_port(address, credentials)
        except RuntimeError as error:
            await self._server.stop(None)
            raise MachineError(
                f"cannot listen on {address}: the port is taken, or this machine has no such address; choose another"
            ) from error
        await self._server.start()

    async def stop(self, grace: float = 1.0) -> None:
        """Say goodbye to sites and followers, let questions end within ``grace`` seconds, and stop listening."""
        self._is_stopping = True
        for link in tuple(self._links):
            link.close(_STOPS)
        for task in tuple(self._following):
            task.cancel()
        await self._server.stop(grace)
        if self._links:
            await self._ended.wait()

    # Each handler: admit, do, and turn what goes wrong into a status.

    async def _link(self, _: Any, context: Any) -> None:
        try:
            site = admit_site(context.invocation_metadata(), self._security)
        except RefusedError as refused:
            self._refusals.note(context.peer(), refused.sentence)
            await context.abort(refused.code, refused.sentence)
        link = ServerLink(site, context, self._limits)
        self._links.add(link)
        self._ended.clear()
        try:
            await link.run(self._on_link)
        finally:
            self._links.discard(link)
            if not self._links:
                self._ended.set()

    def _admit_client(self, context: Any) -> str:
        """The name of the client that calls; a refusal is logged."""
        try:
            return admit_client(context.invocation_metadata(), self._security)
        except RefusedError as refused:
            self._refusals.note(context.peer(), refused.sentence)
            raise

    async def _ask(self, data: bytes, context: Any) -> bytes:
        try:
            client = self._admit_client(context)
            return _to_json(await self._on_ask(_from_json(data), client))
        except Exception as error:
            await _abort(context, error)

    async def _follow(self, data: bytes, context: Any) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._following.add(task)
        try:
            client = self._admit_client(context)
            async with aclosing(self._on_follow(_from_json(data), client)) as answers:
                await context.send_initial_metadata(())
                async for answer in answers:
                    await context.write(_to_json(answer))
        except asyncio.CancelledError:
            if not self._is_stopping:  # then the client is gone
                raise
            await context.abort(grpc.StatusCode.ABORTED, _STOPS)
        except Exception as error:
            await _abort(context, error)
        finally:
            self._following.discard(task)


def _to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _from_json(data: bytes) -> dict[str, Any]:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("a question came that is not JSON") from error
    if not isinstance(value, dict):
        raise ProtocolError("a question came that is not a JSON object")
    return value


async def _abort(context: Any, error: Exception) -> NoReturn:
    """End a client's call with what went wrong."""
    if isinstance(error, aio.AbortError):
        raise error
    if isinstance(error, RefusedError):
        await context.abort(error.code, error.sentence)
    if isinstance(error, TacitError):
        wrong = isinstance(error, InputError | ProtocolError)
        code = grpc.StatusCode.INVALID_ARGUMENT if wrong else grpc.StatusCode.ABORTED
        await context.abort(code, str(error)[:SENTENCE_MAX], ((ERROR_KEY, type(error).__name__),))
    _log.error("a question failed", exc_info=error)
    await context.abort(grpc.StatusCode.INTERNAL, "the coordinator failed over this question; its log says why")
    raise AssertionError("abort raises")
