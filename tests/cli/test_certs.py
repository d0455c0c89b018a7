"""``tacit certs`` says what it made and how to use it."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

from typer.testing import CliRunner

from tacit.cli.certs import configuration
from tacit.cli.main import app
from tacit.vocabulary.errors import OptionError


def test_it_prints_what_it_made_and_a_configuration_that_uses_it(tmp_path: Path) -> None:
    folder = tmp_path / "certs"
    done = CliRunner().invoke(app, ["certs", str(folder), "--site", "north", "--site", "Zürich", "--client", "desk"])
    assert done.exit_code == 0
    assert "  sites/north.token\n" in done.stdout
    said = tomllib.loads(done.stdout[done.stdout.index("[coordinator.tls]") :])
    assert set(said["coordinator"]["tokens"]["sites"]) == {"north", "Zürich"} == set(said["sites"])
    assert set(said["coordinator"]["tokens"]["clients"]) == {"desk"}
    named = [*said["coordinator"]["tls"].values()]
    for site in said["sites"].values():
        named += [site["token"].removeprefix("file:"), *site["tls"].values()]
    assert all(Path(path).is_file() for path in named)


def test_json_for_programs(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["certs", str(tmp_path / "certs"), "--json"])
    assert all(Path(path).is_file() for path in json.loads(done.stdout)["made"])


def test_it_does_not_write_over_what_is_there_and_renews_when_told(tmp_path: Path) -> None:
    runner, folder = CliRunner(), str(tmp_path / "certs")
    assert runner.invoke(app, ["certs", folder]).exit_code == 0
    assert isinstance(runner.invoke(app, ["certs", folder]).exception, OptionError)
    renewed = runner.invoke(app, ["certs", folder, "--renew"])
    assert "server.pem" in renewed.stdout
    assert "ca.pem" not in renewed.stdout
    assert "Restart the coordinator" in renewed.stdout


def test_odd_names_are_written_as_toml_reads_them() -> None:
    said = tomllib.loads(configuration(Path('a "folder"'), ["north.east 1"], ["desk"]))
    assert said["sites"]["north.east 1"]["tls"]["ca"] == 'a "folder"/ca.pem'
