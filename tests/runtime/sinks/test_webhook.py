"""The webhook against a real server on this machine: one that fails, dawdles, hangs up, redirects and refuses."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tacit.runtime.secret import Secret
from tacit.runtime.sinks import Delivery, SinkError
from tacit.runtime.sinks.webhook import WebhookSink
from tacit.vocabulary.errors import OptionError
from tests.runtime.sinks.memory import MemoryBacklog, Pauses, alert

Mood = int | tuple[int, dict[str, str]] | Callable[[BaseHTTPRequestHandler], None]


class Receiver(ThreadingHTTPServer):
    """Answers by a list of moods, then with 204; remembers every request."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        self.moods: list[Mood] = []
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.ended = threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.requests.append((self.path, dict(self.headers.items()), body))
                mood = receiver.moods.pop(0) if receiver.moods else 204
                if callable(mood):
                    mood(self)
                    return
                status, headers = mood if isinstance(mood, tuple) else (mood, {})
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                said = b"" if status == 204 else b"said\nthe server"
                self.send_header("Content-Length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, format: str, *arguments: Any) -> None:
                pass

        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/hook?key=s3cret"

    @property
    def ids(self) -> list[str]:
        return [headers["Tacit-Alert-Id"] for _path, headers, _body in self.requests]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    server = Receiver()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.ended.set()
    server.shutdown()
    thread.join()
    server.server_close()


def send(sink: WebhookSink, number: int = 1) -> None:
    asyncio.run(sink.deliver([alert(number)]))


def hang_up(handler: BaseHTTPRequestHandler) -> None:
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def test_an_alert_is_posted_and_signed(receiver: Receiver) -> None:
    secret = "a shared secret"
    headers = {"Authorization": Secret("Bearer x")}
    send(WebhookSink(receiver.url, secret=Secret(secret), headers=headers, clock=lambda: 1_700_000_000.9))
    ((path, sent, body),) = receiver.requests
    assert path == "/hook?key=s3cret"
    assert json.loads(body) == alert(1)
    assert sent["Tacit-Alert-Id"] == "hot/1"
    assert sent["Authorization"] == "Bearer x"
    assert sent["Content-Type"].startswith("application/json")
    # As a receiver would do it, from the documentation alone.
    found = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", sent["Tacit-Signature"])
    assert found is not None
    expected = hmac.new(secret.encode(), found[1].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert hmac.compare_digest(found[2], expected)
    assert found[1] == "1700000000"


def test_without_a_secret_nothing_is_signed(receiver: Receiver) -> None:
    send(WebhookSink(receiver.url))
    assert "Tacit-Signature" not in receiver.requests[0][1]


@pytest.mark.parametrize("mood", [500, 503, 429, 408, 425, 401, 403, 404, 405, 410, 302, 308, hang_up])
def test_what_may_pass_is_worth_another_try(receiver: Receiver, mood: Mood) -> None:
    receiver.moods = [mood]
    with pytest.raises(SinkError) as caught:
        send(WebhookSink(receiver.url))
    assert caught.value.retry
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("status", [400, 413, 415, 422])
def test_a_refusal_is_final_and_quoted(receiver: Receiver, status: int) -> None:
    receiver.moods = [status]
    with pytest.raises(SinkError, match=rf"answered {status} \(said the server\)") as caught:
        send(WebhookSink(receiver.url))
    assert not caught.value.retry


def test_a_redirection_is_not_followed(receiver: Receiver) -> None:
    receiver.moods = [(302, {"Location": "http://127.0.0.1:1/"})]
    with pytest.raises(SinkError, match="redirection; write the address it leads to") as caught:
        send(WebhookSink(receiver.url))
    assert caught.value.retry
    assert len(receiver.requests) == 1


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("99999999", 3600.0),
        ("Tue, 14 Nov 2023 22:14:20 GMT", 60.0),
        ("Tue, 14 Nov 2000 22:14:20 GMT", 0.0),
        ("soon", None),
    ],
)
def test_retry_after_is_honoured(receiver: Receiver, text: str, seconds: float | None) -> None:
    receiver.moods = [(503, {"Retry-After": text})]
    with pytest.raises(SinkError) as caught:
        send(WebhookSink(receiver.url, clock=lambda: 1_700_000_000.0))
    assert caught.value.after_seconds == seconds


def test_a_server_that_dawdles_is_given_up_for_now(receiver: Receiver) -> None:
    def dawdle(_handler: BaseHTTPRequestHandler) -> None:
        receiver.ended.wait()

    def drip(handler: BaseHTTPRequestHandler) -> None:  # each step is quick, and it never ends
        try:
            while not receiver.ended.wait(0.01):
                handler.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        except OSError:
            pass

    receiver.moods = [dawdle, drip]
    for _mood in range(2):
        with pytest.raises(SinkError, match=r"did not answer within 0\.3 s") as caught:
            send(WebhookSink(receiver.url, timeout_seconds=0.3))
        assert caught.value.retry


def test_nobody_there() -> None:
    with socket.socket() as taken:  # by nobody who listens, and by nobody else meanwhile
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(SinkError, match="cannot be reached: Connection refused") as caught:
            send(WebhookSink(f"http://127.0.0.1:{taken.getsockname()[1]}/"))
    assert caught.value.retry


def test_a_server_without_tls_is_not_trusted_with_https(receiver: Receiver) -> None:
    with pytest.raises(SinkError) as caught:
        send(WebhookSink(receiver.url.replace("http:", "https:")))
    assert caught.value.retry
    assert receiver.requests == []


def test_a_certificate_must_be_of_a_trusted_authority_and_of_this_host(receiver: Receiver, tmp_path: Path) -> None:
    certificate, key = _certificate(tmp_path, "localhost")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    receiver.socket = context.wrap_socket(receiver.socket, server_side=True)
    url = f"https://localhost:{receiver.server_port}/"
    with pytest.raises(SinkError, match="is not trusted: self-signed certificate") as caught:
        send(WebhookSink(url))
    assert caught.value.retry
    with pytest.raises(SinkError, match=r"is not trusted: .*not valid for"):
        send(WebhookSink(url.replace("localhost", "127.0.0.1"), ca=certificate))
    assert receiver.requests == []
    send(WebhookSink(url, ca=certificate))
    assert receiver.ids == ["hot/1"]


def _certificate(folder: Path, host: str) -> tuple[Path, Path]:
    """A certificate that vouches for itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    paths[1].write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    return paths


def test_an_authority_that_cannot_be_read_is_said_at_the_start(tmp_path: Any) -> None:
    with pytest.raises(OptionError, match="not a certificate authority"):
        WebhookSink("https://example.org/", ca=tmp_path / "none.pem")


def test_a_server_that_fails_at_first_gets_everything_in_order(receiver: Receiver) -> None:
    receiver.moods = [500, hang_up, (429, {"Retry-After": "9"}), 401, 404, 204, 400]
    backlog, pauses = MemoryBacklog([alert(1), alert(2), alert(3)]), Pauses()

    async def story() -> None:
        delivery = Delivery(WebhookSink(receiver.url), backlog, sleep=pauses)
        while await delivery.step():
            pass

    asyncio.run(story())
    assert receiver.ids == ["hot/1"] * 6 + ["hot/2", "hot/3"]
    assert len({body for _path, headers, body in receiver.requests if headers["Tacit-Alert-Id"] == "hot/1"}) == 1
    assert backlog.taken["webhook"] == ["hot/1", "hot/3"]
    assert list(backlog.refused["webhook"]) == ["hot/2"]
    assert pauses.seconds[2] == 9.0


def test_ending_does_not_wait_for_an_answer(receiver: Receiver) -> None:
    asked = threading.Event()

    def dawdle(_handler: BaseHTTPRequestHandler) -> None:
        asked.set()
        receiver.ended.wait()

    receiver.moods = [dawdle]

    async def story() -> None:
        task = asyncio.create_task(
            Delivery(WebhookSink(receiver.url, timeout_seconds=3600), MemoryBacklog([alert(1)])).run()
        )
        await asyncio.to_thread(asked.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(story())  # comes back although the server has not answered
