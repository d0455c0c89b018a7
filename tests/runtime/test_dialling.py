"""How sites and clients of one machine reach the coordinator of its configuration, also with TLS and everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.cli.certs import configuration
from tacit.runtime.config import load_config
from tacit.runtime.coordinator_runner import CoordinatorRunner
from tacit.runtime.dialling import client_dialling, site_address
from tacit.runtime.local import LocalSites
from tacit.runtime.processes import Processes
from tacit.transport.certificates import make_certificates
from tests.end_to_end.kafka import free_ports

SITES = ("north", "south")


@pytest.fixture
def secured(tmp_path: Path) -> Path:
    """A configuration that listens everywhere and wants certificates; one site says where it dials."""
    make_certificates(tmp_path / "certs", sites=SITES, clients=["desk"])
    (port,) = free_ports(1)
    text = f'[coordinator]\nlisten = "0.0.0.0:{port}"\n\n' + configuration(tmp_path / "certs", SITES, ["desk"])
    text = text.replace('[sites."south"]\n', f'[sites."south"]\ncoordinator = "localhost:{port}"\n')
    path = tmp_path / "tacit.toml"
    path.write_text(text + '\n[tables.t]\nsource = "rate"\n')
    return path


def test_sites_beside_a_coordinator_dial_what_they_are_told(secured: Path) -> None:
    config = load_config(secured)
    port = int(config.coordinator.listen.rpartition(":")[2])
    sites = LocalSites(config, config.sites, port=port)
    assert [runner.address for runner in sites.runners] == [f"127.0.0.1:{port}", f"localhost:{port}"]
    sites.links.stop()


def test_a_port_that_is_found_at_the_start_is_the_one_that_is_dialled(tmp_path: Path) -> None:
    (tmp_path / "tacit.toml").write_text('[coordinator]\nlisten = "127.0.0.1:0"\n[sites.north]\n')
    assert site_address(load_config(tmp_path / "tacit.toml"), "north", 4321) == "127.0.0.1:4321"


def test_processes_ask_a_coordinator_that_wants_certificates(secured: Path) -> None:
    config = load_config(secured)
    runner = CoordinatorRunner(config)
    runner.start()
    try:
        processes = Processes({}, config)
        status = processes.status()
        assert status is not None, processes.silence
        assert {site["site"] for site in status["sites"]} <= set(SITES)
    finally:
        runner.stop()
    assert processes.status() is None
    assert "no coordinator listens at" in (processes.silence or "")


def test_a_client_shows_what_there_is_to_show(secured: Path) -> None:
    certs = secured.parent / "certs"
    dialling = client_dialling(load_config(secured))
    assert (dialling.ca, dialling.certificate) == (certs / "ca.pem", certs / "clients" / "desk.pem")
    assert dialling.token == (certs / "clients" / "desk.token").read_text().strip()
    assert dialling.token not in repr(dialling)
    (certs / "clients" / "desk.pem").unlink()
    assert client_dialling(load_config(secured)).certificate == certs / "sites" / "north.pem"
