"""Certificates that strict verifiers accept, secrets that only their owner reads, and nothing written over."""

from __future__ import annotations

import datetime
import ipaddress
import stat

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key
from cryptography.x509.oid import ExtendedKeyUsageOID
from cryptography.x509.verification import PolicyBuilder, Store

from tacit.transport.certificates import make_certificates
from tacit.vocabulary import OptionError


def load(path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def state(folder) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_strict_verifier_accepts_them(tmp_path):
    make_certificates(tmp_path, hosts=["db.example", "192.0.2.7"], sites=["north"], clients=["desk"])
    policy = PolicyBuilder().store(Store([load(tmp_path / "ca.pem")]))
    server = load(tmp_path / "server.pem")
    for host in (x509.DNSName("db.example"), x509.IPAddress(ipaddress.ip_address("192.0.2.7"))):
        assert len(policy.build_server_verifier(host).verify(server, [])) == 2
    for path in (tmp_path / "sites" / "north.pem", tmp_path / "clients" / "desk.pem"):
        shown = load(path)
        shown.verify_directly_issued_by(load(tmp_path / "ca.pem"))
        purposes = shown.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
        assert list(purposes) == [ExtendedKeyUsageOID.CLIENT_AUTH]
        assert load_pem_private_key(path.with_suffix(".key").read_bytes(), None).public_key() == shown.public_key()


def test_a_sites_certificate_is_no_servers_and_no_authority(tmp_path):
    make_certificates(tmp_path, sites=["north"])
    shown = load(tmp_path / "sites" / "north.pem")
    assert not shown.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    verifier = PolicyBuilder().store(Store([load(tmp_path / "ca.pem")])).build_server_verifier(x509.DNSName("north"))
    with pytest.raises(x509.verification.VerificationError):
        verifier.verify(shown, [])


def test_keys_and_tokens_are_their_owners_alone(tmp_path):
    made = make_certificates(tmp_path, sites=["north"], clients=["desk"])
    assert sorted(path.relative_to(tmp_path).as_posix() for path in made) == sorted(state(tmp_path))
    for path in made:
        assert stat.S_IMODE(path.stat().st_mode) == (0o644 if path.suffix == ".pem" else 0o600)
    assert (tmp_path / "sites" / "north.token").read_text() != (tmp_path / "clients" / "desk.token").read_text()


def test_nothing_is_written_over(tmp_path):
    make_certificates(tmp_path, sites=["north"])
    before = state(tmp_path)
    with pytest.raises(OptionError, match=r"ca\.pem is there already; use --renew"):
        make_certificates(tmp_path, sites=["south"])
    assert state(tmp_path) == before


def test_a_renewal_keeps_the_authority_the_hosts_and_the_tokens(tmp_path):
    make_certificates(tmp_path, hosts=["db.example", "::1"], sites=["north"], days=1)
    before = state(tmp_path)
    make_certificates(tmp_path, sites=["south"], renew=True, days=100)
    after = state(tmp_path)
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed == {
        "server.pem", "server.key", "sites/north.pem", "sites/north.key",
        "sites/south.pem", "sites/south.key", "sites/south.token",
    }  # fmt: skip
    server = load(tmp_path / "server.pem")
    names = server.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["db.example"]
    assert names.get_values_for_type(x509.IPAddress) == [ipaddress.ip_address("::1")]
    assert server.not_valid_after_utc > datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=90)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"sites": ["../../etc/north"]}, "cannot be a file name"),
        ({"clients": [""]}, "cannot be a file name"),
        ({"sites": ["n" * 65]}, "cannot be a file name"),
        ({"hosts": ["two words"]}, "neither a host name nor an address"),
        ({"days": 0}, "from 1 to"),
        ({"renew": True}, "holds no CA to renew with"),
    ],
)
def test_what_cannot_be_is_refused_and_leaves_nothing_behind(tmp_path, options, reason):
    with pytest.raises(OptionError, match=reason):
        make_certificates(tmp_path / "certs", **options)
    assert state(tmp_path) == {}


def test_a_key_of_another_authority_is_refused(tmp_path):
    make_certificates(tmp_path / "one")
    make_certificates(tmp_path / "two")
    (tmp_path / "one" / "ca.key").write_bytes((tmp_path / "two" / "ca.key").read_bytes())
    with pytest.raises(OptionError, match="is not the key of"):
        make_certificates(tmp_path / "one", renew=True)


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be written"):
        make_certificates(tmp_path / "file")
