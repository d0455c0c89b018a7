"""TLS on real sockets: good certificates pass, each bad one is refused with what is wrong with it."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from tacit.transport.certificates import make_certificates
from tacit.transport.security import ClientTls, ServerSecurity, TlsFiles, hashed, read_token
from tacit.vocabulary import OptionError
from tests.transport.grpc_lab import linked, listening, run

LONG_AGO = datetime.datetime(2001, 1, 1, tzinfo=datetime.UTC)
LATER = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=2)


@pytest.fixture(scope="module")
def certs(tmp_path_factory) -> dict[str, Path]:
    """Folders of certificates: good ones, of another CA, expired, not yet valid, and for another host."""
    root = tmp_path_factory.mktemp("certs")
    make_certificates(root / "good", sites=["north", "south"], clients=["desk"])
    make_certificates(root / "other", sites=["north"])
    for name, now, hosts in (("expired", LONG_AGO, ()), ("early", LATER, ()), ("elsewhere", None, ["far.example"])):
        folder = root / name
        folder.mkdir()
        for file in ("ca.pem", "ca.key"):
            (folder / file).write_bytes((root / "good" / file).read_bytes())
        make_certificates(folder, hosts=hosts, sites=["north"], days=30, renew=True, now=now)
    return {folder.name: folder for folder in root.iterdir()}


def server(folder: Path, *, client_ca: Path | None = None, tokens: bool = False) -> ServerSecurity:
    names = ("north", "south") if tokens else ()
    site_tokens = hashed({name: read_token(folder / "sites" / f"{name}.token") for name in names})
    return ServerSecurity(TlsFiles(folder / "server.pem", folder / "server.key"), client_ca, site_tokens)


def identity(folder: Path, site: str) -> TlsFiles:
    return TlsFiles(folder / "sites" / f"{site}.pem", folder / "sites" / f"{site}.key")


def test_tls_with_tokens(certs):
    good = certs["good"]

    async def test():
        token = read_token(good / "sites" / "north.token")
        async with listening(security=server(good, tokens=True)) as address:
            async with linked(address, token=token, tls=ClientTls(good / "ca.pem")) as site:
                await site.until("up")
                await site.is_well()
            async with linked(address, "south", token=token, tls=ClientTls(good / "ca.pem")) as site:
                assert "is not one that this coordinator accepts" in (await site.until("down"))[1]

    run(test)


@pytest.mark.parametrize(
    ("shown", "trusted", "reason"),
    [
        ("expired", "good", "has expired: renew it with `tacit certs --renew`"),
        ("early", "good", "is not valid yet"),
        ("elsewhere", "good", "is not for the address 127.0.0.1"),
        ("other", "good", "comes from a CA that is not trusted here"),
        ("good", "other", "comes from a CA that is not trusted here"),
    ],
)
def test_a_site_refuses_a_coordinator_whose_certificate_does_not_hold(certs, shown, trusted, reason):
    async def test():
        tls = ClientTls(certs[trusted] / "ca.pem")
        async with listening(security=server(certs[shown])) as address, linked(address, tls=tls) as site:
            _, said, fatal = await site.until("down")
            assert said.startswith(f"the certificate of the coordinator at {address} {reason}")
            assert fatal

    run(test)


def test_a_host_name_that_the_certificate_does_not_hold(certs):
    async def test():
        tls = ClientTls(certs["good"] / "ca.pem")
        async with listening(security=server(certs["elsewhere"])) as address:
            async with linked(address.replace("127.0.0.1", "localhost"), tls=tls) as site:
                assert "is not for the host name localhost" in (await site.until("down"))[1]

    run(test)


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        ("expired", "has expired"),
        ("other", "does not come from the CA in"),
        (None, "asks for a certificate, and none was given"),
    ],
)
def test_mutual_tls_refuses_a_site_whose_certificate_does_not_hold_and_no_other(certs, shown, reason):
    good = certs["good"]

    async def test():
        async with listening(security=server(good, client_ca=good / "ca.pem")) as address:
            async with linked(address, "south", tls=ClientTls(good / "ca.pem", identity(good, "south"))) as south:
                await south.until("up")
                tls = ClientTls(good / "ca.pem", identity(certs[shown], "north") if shown else None)
                async with linked(address, tls=tls) as north:
                    _, said, fatal = await north.until("down")
                    assert reason in said
                    assert fatal
                await south.is_well()

    run(test)


def test_one_speaks_tls_and_the_other_does_not(certs):
    async def test():
        async with listening(security=server(certs["good"])) as address, linked(address) as site:
            _, said, fatal = await site.until("down")
            assert "speaks TLS: give the CA file" in said
            assert fatal
        async with listening() as address, linked(address, tls=ClientTls(certs["good"] / "ca.pem")) as site:
            _, said, fatal = await site.until("down")
            assert "does not speak TLS" in said
            assert fatal

    run(test)


def test_files_that_are_no_certificates_are_named(certs, tmp_path):
    good, junk = certs["good"], tmp_path / "junk"
    junk.write_text("nothing")
    with pytest.raises(OptionError, match="junk holds no certificates"):
        ClientTls(junk).credentials()
    with pytest.raises(OptionError, match=r"missing\.pem cannot be read: No such file"):
        ClientTls(tmp_path / "missing.pem").credentials()
    with pytest.raises(OptionError, match="are no certificate and its key"):
        ServerSecurity(TlsFiles(good / "server.pem", good / "sites" / "north.key")).credentials()
    with pytest.raises(OptionError, match="junk holds no certificates"):
        server(good, client_ca=junk).credentials()

    async def test():
        async with listening(security=server(good)) as address, linked(address, tls=ClientTls(junk)) as site:
            _, said, fatal = await site.until("down")
            assert "junk holds no certificates" in said
            assert fatal

    run(test)


def test_a_renewed_certificate_is_taken_up_when_the_site_dials_again(tmp_path):
    make_certificates(tmp_path, sites=["north"])
    security = server(tmp_path, client_ca=tmp_path / "ca.pem")
    security.credentials()
    tls = ClientTls(tmp_path / "ca.pem", identity(tmp_path, "north"))

    async def test():
        async with listening(security=security) as address:
            make_certificates(tmp_path, renew=True, days=1, now=LONG_AGO)
            async with linked(address, tls=tls) as site:
                assert "has expired" in (await site.until("down"))[1]
                make_certificates(tmp_path, renew=True)
                await site.until("up")
                await site.is_well()

    run(test)
