"""A client of a running coordinator: statements, answers, alerts, and changes as they come.

``tacit.connect`` makes one. Here it asks a coordinator that has no sites yet:

>>> import tempfile
>>> from pathlib import Path
>>> from tacit.runtime.config import Config
>>> from tacit.runtime.coordinator_runner import CoordinatorRunner
>>> with tempfile.TemporaryDirectory() as folder:
...     place = {"folder": Path(folder)}
...     config = Config.model_validate({"coordinator": {"listen": "127.0.0.1:0"}}, context=place)
...     coordinator = CoordinatorRunner(config)
...     coordinator.start()
...     with connect(f"127.0.0.1:{coordinator.port}") as client:
...         done = client.execute("CREATE WATCH hot AS SELECT AVG(temp) AS t FROM air ALERT WHEN t > 28")
...         print(done[0]["note"])
...         print([watch["watch"] for watch in client.watches()], client.answer("hot").state, client.alerts())
...         for change in client.follow("hot"):  # the first comes at once, further ones as they happen
...             print(change.answer.state, change.alerts)
...             break
...     coordinator.stop()
no site has a table named air yet; the watch starts when one comes
['hot'] filling []
filling ()
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from types import TracebackType
from typing import Any

from tacit.api.answers import Answer, Change
from tacit.transport.backoff import Backoff
from tacit.transport.grpc_client import UnreachableError, ask, follow
from tacit.transport.limits import LinkLimits
from tacit.transport.security import ClientTls, TlsFiles, check_dial
from tacit.vocabulary.errors import OptionError

__all__ = ["DEFAULT_ADDRESS", "Client", "connect", "quoted"]

DEFAULT_ADDRESS = "127.0.0.1:7070"
_FAR = 1 << 62  # beyond every pane


def connect(
    address: str = DEFAULT_ADDRESS,
    *,
    token: str | None = None,
    ca: str | Path | None = None,
    certificate: str | Path | None = None,
    key: str | Path | None = None,
) -> Client:
    """A client of the coordinator at HOST:PORT. Nothing is dialled before it is asked something.

    ``token`` is a client's own; ``ca`` the authority of the coordinator's certificate, with which TLS is spoken;
    ``certificate`` and ``key`` what the client shows where certificates are asked for. Beyond this machine a token
    travels over TLS only.

    >>> connect("127.0.0.1:7070").address
    '127.0.0.1:7070'
    >>> connect("example.org:7070", certificate="me.pem")
    Traceback (most recent call last):
        ...
    tacit.vocabulary.errors.OptionError: a certificate needs its key, and a key its certificate: give both
    """
    if (certificate is None) != (key is None):
        raise OptionError("a certificate needs its key, and a key its certificate: give both")
    tls = None
    if ca is not None or certificate is not None:
        identity = None if certificate is None or key is None else TlsFiles(Path(certificate), Path(key))
        tls = ClientTls(None if ca is None else Path(ca), identity)
    check_dial(address, token, tls)
    return Client(address, token, tls)


class Client:
    """Asks one coordinator. What it refuses, and what stands in the way, is a ``tacit.TacitError`` of one sentence."""

    def __init__(
        self,
        address: str,
        token: str | None = None,
        tls: ClientTls | None = None,
        *,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.address = address
        self._token, self._tls, self._sleep = token, tls, sleep

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Done with it. Nothing is held between questions, so there is nothing to lose."""

    def execute(self, sql: str) -> list[dict[str, Any]]:
        """Carry out statements (docs/LANGUAGE.md), and give the result of each. A script with an error does nothing."""
        results: list[dict[str, Any]] = self._ask({"sql": sql})["results"]
        return results

    def watches(self) -> list[dict[str, Any]]:
        """All watches by name, each with its answer, its state and what it cost."""
        return list(self._one("SHOW WATCHES")["watches"])

    def watch(self, name: str) -> dict[str, Any]:
        """Everything about one watch."""
        return dict(self._one(f"SHOW WATCH {quoted(name)}")["watch"])

    def sites(self) -> list[dict[str, Any]]:
        """All sites that were ever there or are expected."""
        return list(self._one("SHOW SITES")["sites"])

    def answer(self, name: str) -> Answer:
        """What a watch says now."""
        return Answer.of(self.watch(name))

    def alerts(self, name: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The newest alerts, of one watch or of all, the newest first."""
        whose = "" if name is None else f" FOR {quoted(name)}"
        return list(self._one(f"SHOW ALERTS{whose} LIMIT {int(limit)}")["alerts"])

    def changes(self, name: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """New values that are tracked, and new orders of rankings, of one watch or of all, the newest first."""
        whose = "" if name is None else f" FOR {quoted(name)}"
        return list(self._one(f"SHOW CHANGES{whose} LIMIT {int(limit)}")["changes"])

    def status(self) -> dict[str, Any]:
        """The coordinator's release, all watches and all sites."""
        return self._ask({"status": True})

    def published(self, name: str, *, first: int = -_FAR, after: int = 0) -> Iterator[dict[str, Any]]:
        """All that was published of a watch from the pane ``first`` on, as it is stored, in pages.

        A page has ``versions`` (number and text of the sentence; an altered watch has several), ``spans`` (version,
        first and last pane, state, sites, missing sites), ``changes`` (pane, group, side, value), ``lists`` (pane,
        list, members with scores), and ``alerts`` after the one with the number ``after``; ``newest`` is the number of
        the last one.
        """
        while True:
            page = self._ask({"published": name, "first": first, "after": after})
            yield page
            after = page["newest"]
            if page["next"] is None and not page["more_alerts"]:
                return
            first = _FAR if page["next"] is None else page["next"]

    def follow(self, name: str, *, reconnect: bool = False) -> Iterator[Change]:
        """The answer now, and every new one from now on, with its alerts; it ends with an error when the watch does.

        With ``reconnect`` a coordinator that is away is waited for, and what it told meanwhile comes then: no alert and
        no change is left out, and none comes twice. An answer that is replaced at once may be passed over.
        """
        for document in self.documents(name, reconnect=reconnect):
            yield Change(Answer.of(document), tuple(document["alerts"]), tuple(document["changes"]))

    def documents(self, name: str, *, reconnect: bool = False) -> Iterator[dict[str, Any]]:
        """As ``follow``, each change as the document that the coordinator sends."""
        backoff = Backoff(LinkLimits(), random.Random())
        request: dict[str, Any] = {"watch": name}
        while True:
            held = False
            try:
                with closing(follow(self.address, request, token=self._token, tls=self._tls)) as documents:
                    for document in documents:
                        held, request["after"] = True, document["newest"]
                        yield document
            except UnreachableError:
                if not reconnect:
                    raise
            self._sleep(backoff.pause(fatal=False, steady=held))

    def _one(self, sql: str) -> dict[str, Any]:
        return self.execute(sql)[0]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return ask(self.address, request, token=self._token, tls=self._tls)


def quoted(name: str) -> str:
    """A name as it stands in a statement.

    >>> quoted("hot"), quoted("a `b`")
    ('`hot`', '`a ``b```')
    """
    doubled = name.replace("`", "``")
    return f"`{doubled}`"
