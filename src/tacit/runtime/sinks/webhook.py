"""Alerts as signed POST requests.

http.client is enough: one short request per alert, no redirects, no cookies, and it brings no dependency along.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from urllib.parse import urlsplit

from tacit.runtime.secret import Secret
from tacit.runtime.sinks.alert import as_line
from tacit.runtime.sinks.in_thread import in_thread
from tacit.runtime.sinks.sink import AlertDocument, SinkError
from tacit.vocabulary.errors import OptionError

__all__ = ["WebhookSink", "signature"]

ABOUT_THE_MESSAGE = {400, 413, 415, 422}  # what is wrong with the alert itself; everything else can be mended outside
RETRY_AFTER_MAX_S = 3600.0
QUOTED_MAX = 200


def signature(secret: bytes, body: bytes, at: int) -> str:
    """What ``Tacit-Signature`` says.

    >>> signature(b"secret", b"{}", 7)
    't=7,v1=76aad9429f417882918162a1928a38769fff65cc07b6bfa344ac9c5fb1e3448e'
    """
    return f"t={at},v1={hmac.new(secret, b'%d.' % at + body, hashlib.sha256).hexdigest()}"


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    retry_after: str | None
    text: str


class WebhookSink:
    """A POST per alert. 2xx takes it, 400, 413, 415 and 422 refuse it for good.

    Everything else is worth another try: a token that ran out, an address that is wrong and a server that is away can
    be mended outside, and no alert is lost meanwhile.
    """

    batch_max = 1

    def __init__(
        self,
        url: str,
        *,
        name: str = "webhook",
        secret: Secret | None = None,
        headers: Mapping[str, Secret] | None = None,
        timeout_seconds: float = 10.0,
        ca: Path | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name = name
        parts = urlsplit(url)
        self._host, self._port, self._encrypted = parts.hostname or "", parts.port, parts.scheme == "https"
        self._target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        self._place = f"{parts.scheme}://{parts.netloc}"  # without path and query, which may hold a key
        self._secret = None if secret is None else secret.reveal().encode()
        self._headers = {key: value.reveal() for key, value in (headers or {}).items()}
        self._timeout_s, self._clock = timeout_seconds, clock
        self._trust = _trust(ca) if self._encrypted else None

    async def deliver(self, alerts: Sequence[AlertDocument]) -> None:
        for alert in alerts:
            await self._deliver(alert)

    async def close(self) -> None:
        pass

    async def _deliver(self, alert: AlertDocument) -> None:
        body = as_line(alert)
        connection = self._connection()
        try:
            # The connection's own timeout is for each step; this one is for all of them.
            async with asyncio.timeout(self._timeout_s):
                answer = await in_thread(lambda: self._post(connection, alert, body), f"sink {self.name}")
        except TimeoutError:
            raise SinkError(f"{self._place} did not answer within {self._timeout_s:g} s", retry=True) from None
        except ssl.SSLCertVerificationError as error:
            raise SinkError(
                f"the certificate of {self._place} is not trusted: {error.verify_message}", retry=True
            ) from None
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise SinkError(f"{self._place} cannot be reached: {reason}", retry=True) from None
        finally:
            _cut(connection)  # a thread that still waits for an answer ends with it
        self._judge(answer)

    def _connection(self) -> http.client.HTTPConnection:
        if self._encrypted:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout_s, context=self._trust)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout_s)

    def _post(self, connection: http.client.HTTPConnection, alert: AlertDocument, body: bytes) -> _Answer:
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "User-Agent": "tacit",
            "Connection": "close",
            **self._headers,
            "Tacit-Alert-Id": _header(str(alert["id"])),
        }
        if self._secret is not None:
            headers["Tacit-Signature"] = signature(self._secret, body, int(self._clock()))
        connection.request("POST", self._target, body=body, headers=headers)
        response = connection.getresponse()
        text = "" if 200 <= response.status < 300 else response.read(QUOTED_MAX).decode(errors="replace")
        return _Answer(response.status, response.getheader("Retry-After"), " ".join(text.split()))

    def _judge(self, answer: _Answer) -> None:
        if 200 <= answer.status < 300:
            return
        said = f"{self._place} answered {answer.status}" + (f" ({answer.text})" if answer.text else "")
        if 300 <= answer.status < 400:
            raise SinkError(f"{said}, which is a redirection; write the address it leads to", retry=True)
        retry = answer.status not in ABOUT_THE_MESSAGE
        raise SinkError(said, retry=retry, after_seconds=self._after(answer.retry_after) if retry else None)

    def _after(self, text: str | None) -> float | None:
        """Retry-After is a number of seconds, or a date."""
        if text is None:
            return None
        if text.strip().isdecimal():
            return min(float(text), RETRY_AFTER_MAX_S)
        try:
            until = parsedate_to_datetime(text)
        except ValueError:
            return None
        if until.tzinfo is None:
            until = until.replace(tzinfo=UTC)
        now = datetime.fromtimestamp(self._clock(), tz=UTC)
        return min(max((until - now).total_seconds(), 0.0), RETRY_AFTER_MAX_S)


def _trust(ca: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=None if ca is None else str(ca))
    except (OSError, ssl.SSLError):
        raise OptionError(f"{ca} is not a certificate authority that can be read (PEM)") from None


def _header(text: str) -> str:
    """Headers are ASCII on one line; an id that is not is sent escaped."""
    return text.encode("unicode_escape").decode("ascii")


def _cut(connection: http.client.HTTPConnection) -> None:
    with suppress(OSError, AttributeError):
        connection.sock.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        connection.close()
