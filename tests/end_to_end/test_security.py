"""A real coordinator with TLS, mutual TLS and tokens: whoever does not belong is refused, and harms nobody."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tacit.cli.certs import configuration
from tacit.runtime.link_thread import LinkThread
from tacit.transport import grpc_link
from tacit.transport.admission import calling_card
from tacit.transport.certificates import make_certificates
from tacit.transport.grpc_client import ask
from tacit.transport.security import ClientTls, TlsFiles, read_token
from tacit.vocabulary import TacitError
from tacit.wire.frames import encode_frame
from tests.end_to_end.system import System, environment, until
from tests.runtime.light import LightSite, rows

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("secured")]

SITES = ("north", "south", "west")
WATCH = "CREATE WATCH flow AS SELECT COUNT(*) AS n FROM events WINDOW LAST 5 SECONDS EVERY 1 SECOND ALERT WHEN n > 30"
LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)


class Secured:
    """A coordinator process and two good sites, which are fed and stay linked throughout."""

    def __init__(self, folder: Path, held: ExitStack) -> None:
        self.folder, self.held = folder, held
        self.links = LinkThread()
        held.callback(self.links.stop)
        names = [part for name in SITES for part in ("--site", name)]
        subprocess.run(
            [sys.executable, "-m", "tacit", "certs", str(folder / "certs"), *names, "--client", "desk"],
            cwd=folder, env=environment(folder), check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        self.certs = folder / "certs"
        token, tls = read_token(self.certs / "clients" / "desk.token"), self.tls("desk", "clients")
        self.system = System(
            folder, (), f"{WATCH};\n", token=token, tls=tls, gather=6
        )  # both are fed before it has passed
        text = self.system.config.read_text()
        secured = configuration(self.certs, SITES, ["desk"])
        for name in SITES:  # sites of this file dial this coordinator
            secured = secured.replace(
                f'[sites."{name}"]\n', f'[sites."{name}"]\ncoordinator = "{self.system.address}"\n'
            )
        table = '[tables.events]\nsource = "rate"\n'
        self.system.config.write_text(f"{text}\n{secured}\n\n{table}")
        held.enter_context(self.system)
        self.system.start("coordinator")
        self.system.wait_for_coordinator()
        self.system.ask("DROP SITE west")  # which has not come: nobody is to wait for it
        self.good = [self.site(name) for name in SITES[:2]]
        self.fed = 0

    def tls(self, name: str, kind: str = "sites", certs: Path | None = None) -> ClientTls:
        own = (certs or self.certs) / kind / name
        return ClientTls(self.certs / "ca.pem", TlsFiles(own.with_suffix(".pem"), own.with_suffix(".key")))

    def site(self, name: str, *, token: str | None = None, certs: Path | None = None) -> LightSite:
        token = token or read_token(self.certs / "sites" / f"{name}.token")
        self.fed_sites = getattr(self, "fed_sites", 0) + 1
        made = LightSite(
            self.folder / f"site{self.fed_sites}",
            name,
            self.system.address,
            self.links,
            token=token,
            tls=self.tls(name, certs=certs),
            tables=("events",),
        )
        self.held.callback(made.stop)
        return made

    def feed(self, seconds: int = 5) -> None:
        """The good sites go on, and the answer follows them."""
        for _ in range(seconds):
            self.fed += 1
            for site in self.good:
                site.feed(rows(WATCH, [1_000 + self.fed], 0.0, ["a"] * (2 + self.fed % 9)), "events")
        wanted = 1_000 + self.fed - 2
        until(lambda: (self._flow("pane") or 0) >= wanted, story=self.system.watches)
        settled = ("valid", "filling", "stale")  # in between it may be resolving; west may come and go
        until(lambda: self._flow("state") in settled, story=self.system.watches)
        assert [site.downs for site in self.good] == [[], []]

    def _flow(self, what: str) -> Any:
        """Of the watch; None where nobody answers in time."""
        return self.system.watches().get("flow", {}).get(what)

    def refused(self, bad: LightSite, reason: str, *, fatal: bool) -> None:
        """It is told why, in one sentence, and the others do not notice."""
        self.feed(2)
        until(lambda: bad.downs)
        assert reason in bad.downs[0][0]
        assert bad.downs[0][1] is fatal
        assert "\n" not in bad.downs[0][0]
        self.feed(2)


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    folder = tmp_path_factory.mktemp("secured")
    with ExitStack() as held:
        yield (made := Secured(folder, held))
        assert made.system.stop("coordinator") == 0
        for secret in (made.certs / "sites").glob("*.token"):
            assert read_token(secret) not in made.system.log("coordinator")


def _begin(secured: Secured) -> None:
    """Rows that come before a site knows of a watch are not its."""
    for site in secured.good:
        until(lambda site=site: site.agent.knows_watches)


def test_the_good_ones_are_answered(secured: Secured) -> None:
    _begin(secured)
    secured.feed()


def test_a_wrong_token_is_refused(secured: Secured) -> None:
    bad = secured.site("west", token=read_token(secured.certs / "sites" / "north.token"))
    secured.refused(bad, "is not one that this coordinator accepts", fatal=True)


def test_an_expired_certificate_is_refused(secured: Secured, tmp_path: Path) -> None:
    for name in ("ca.pem", "ca.key"):
        (tmp_path / name).write_bytes((secured.certs / name).read_bytes())
    make_certificates(tmp_path, sites=["west"], days=30, renew=True, now=LONG_AGO)
    secured.refused(secured.site("west", certs=tmp_path), "has expired", fatal=True)


def test_another_version_is_refused(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    token = read_token(secured.certs / "sites" / "west.token")
    card = (("tacit-protocol", "1"), *calling_card(token=token, site="west")[1:])
    with monkeypatch.context() as patch:
        patch.setattr(grpc_link, "calling_card", lambda **_: card)
        bad = secured.site("west")
        until(lambda: bad.downs)
    secured.refused(bad, "speaks version 1 of tacit's protocol and this coordinator speaks version", fatal=True)


@pytest.mark.parametrize("frame", [b"\xff\xfe garbled", encode_frame([b"\x08\x96\x01 no message"])])
def test_a_garbled_message_ends_that_link_only(secured: Secured, frame: bytes) -> None:
    bad = secured.site("west")
    until(lambda: bad.agent.number is not None)
    bad.say(frame)
    until(lambda: bad.downs)
    assert "\n" not in bad.downs[0][0]
    bad.stop()
    secured.feed(2)


def test_a_client_with_a_wrong_token_or_none_is_refused(secured: Secured) -> None:
    for token in ("wrong", None):
        with pytest.raises(TacitError, match="token"):
            ask(secured.system.address, {"sql": "SHOW WATCHES"}, token=token, tls=secured.tls("desk", "clients"))
    with pytest.raises(TacitError, match="certificate"):
        ask(
            secured.system.address, {"sql": "SHOW WATCHES"}, token=secured.system.token,
            tls=ClientTls(secured.certs / "ca.pem"),
        )  # fmt: skip
    secured.feed(1)
