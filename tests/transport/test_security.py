"""Nothing is open to the network without TLS and tokens, and tokens prove what they should."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from tacit.transport import security as room
from tacit.transport.security import (
    ClientTls,
    ServerSecurity,
    TlsFiles,
    check_dial,
    check_listen,
    hashed,
    new_token,
    read_token,
    token_hash,
)
from tacit.vocabulary import OptionError
from tests.transport.grpc_lab import listen, run

TLS = TlsFiles(Path("server.pem"), Path("server.key"))
TOKENS = {"north": token_hash("secret")}


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "", "10.1.2.3", "192.0.2.7"])
@pytest.mark.parametrize(
    ("security", "missing"),
    [
        (ServerSecurity(), "TLS and tokens are missing"),
        (ServerSecurity(tls=TLS), "tokens are missing"),
        (ServerSecurity(site_tokens=TOKENS), "TLS is missing"),
    ],
)
def test_the_network_needs_tls_and_tokens(host, security, missing):
    with pytest.raises(OptionError, match=missing) as caught:
        check_listen(host, security)
    assert "\n" not in str(caught.value)
    check_listen(host, ServerSecurity(tls=TLS, site_tokens=TOKENS))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_needs_nothing(host):
    check_listen(host, ServerSecurity())


def test_a_name_is_what_it_stands_for(monkeypatch):
    def resolve(host, *_, **__):
        addresses = {"here": ["127.0.0.1", "::1"], "both": ["127.0.0.1", "192.0.2.7"], "there": ["192.0.2.7"]}[host]
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(room.socket, "getaddrinfo", resolve)
    check_listen("here", ServerSecurity())
    for host in ("both", "there"):
        with pytest.raises(OptionError, match=f"{host} can be reached from other machines"):
            check_listen(host, ServerSecurity())


def test_a_name_that_is_not_known_is_refused(monkeypatch):
    def fail(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(room.socket, "getaddrinfo", fail)
    with pytest.raises(OptionError, match="'nowhere' is not known here"):
        check_listen("nowhere", ServerSecurity())


def test_a_server_does_not_even_start_to_listen_there():
    async def test():
        with pytest.raises(OptionError, match="can be reached from other machines"):
            await listen("0.0.0.0:0")

    run(test)


def test_a_token_does_not_travel_in_the_clear():
    with pytest.raises(OptionError, match="for everyone to read"):
        check_dial("192.0.2.7:7070", "secret", None)
    check_dial("192.0.2.7:7070", "secret", ClientTls())
    check_dial("192.0.2.7:7070", None, None)
    check_dial("127.0.0.1:7070", "secret", None)


def test_tokens_prove_one_name_each():
    security = ServerSecurity(site_tokens=hashed({"a": "one", "b": "two"}), client_tokens=hashed({"desk": "three"}))
    assert security.is_site("a", "one")
    assert not security.is_site("a", "two")
    assert not security.is_site("c", "one")
    assert not security.is_site("c", "")
    assert (security.client_of("three"), security.client_of("one"), security.client_of("")) == ("desk", None, None)
    assert (security.site_of("two"), security.site_of("three")) == ("b", None)


def test_new_tokens_differ_and_are_long():
    assert len({new_token() for _ in range(100)}) == 100
    assert len(new_token()) >= 40


def test_a_token_file_holds_one_line(tmp_path):
    (tmp_path / "token").write_text("abc\n")
    assert read_token(tmp_path / "token") == "abc"
    (tmp_path / "token").write_text("\n")
    with pytest.raises(OptionError, match="holds no token"):
        read_token(tmp_path / "token")


def test_what_cannot_be_a_security_is_refused():
    with pytest.raises(OptionError, match="64 hexadecimal digits"):
        ServerSecurity(site_tokens={"north": "the token itself"})
    with pytest.raises(OptionError, match="only over TLS"):
        ServerSecurity(client_ca=Path("ca.pem"))
