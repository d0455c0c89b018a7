"""The wheel, installed beside nothing of the repository, runs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PARTS = ("pyproject.toml", "README.md", "LICENSE", "src")

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("wheel")]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a virtual environment that has the wheel; what the wheel needs is borrowed from this one."""
    folder = tmp_path_factory.mktemp("an installed wheel")
    source = folder / "source"
    source.mkdir()
    for name in PARTS:
        if (ROOT / name).is_dir():
            skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
            shutil.copytree(ROOT / name, source / name, ignore=skipped)
        elif (ROOT / name).exists():
            shutil.copy(ROOT / name, source / name)
    python = [sys.executable, "-m"]
    quiet = {"check": True, "capture_output": True, "text": True}
    subprocess.run([*python, "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(source)], **quiet)  # type: ignore[call-overload]
    shutil.rmtree(source)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env", with_pip=False, symlinks=True)
    (packages,) = (folder / "env").glob("lib/python*/site-packages")
    # Appended to the path, so the wheel comes first; the editable install of this environment is not followed.
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
    target = ["--python", str(folder / "env" / "bin" / "python")]
    subprocess.run([*python, "pip", *target, "install", "--no-deps", "--no-index", str(wheel)], **quiet)  # type: ignore[call-overload]
    return folder


def run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run a program of the environment in an empty folder, with an empty home."""
    for name in ("home", "work"):
        (folder / name).mkdir(exist_ok=True)
    environment = {key: os.environ[key] for key in ("PATH", "JAVA_HOME") if key in os.environ}
    environment["HOME"] = str(folder / "home")
    program = str(folder / "env" / "bin" / command[0])
    return subprocess.run(
        [program, *command[1:]],
        cwd=folder / "work",
        env=environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_it_is_the_wheel_that_runs(installed: Path) -> None:
    where = run(installed, "python", "-c", "import tacit; print(tacit.__file__)")
    assert where.stdout.startswith(str(installed / "env")), where.stderr


def test_help_and_version(installed: Path) -> None:
    shown = run(installed, "tacit", "--help")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "doctor" in shown.stdout
    assert run(installed, "tacit", "--version").stdout == "tacit 0.1.0\n"


def test_the_doctor_finds_everything_and_runs_spark(installed: Path) -> None:
    done = run(installed, "tacit", "doctor", "--json")
    assert done.stderr == ""
    report = json.loads(done.stdout)
    states = {check["name"]: (check["state"], check["found"]) for check in report["checks"]}
    assert done.returncode == 0, states
    assert states["Spark job"] == ("ok", "ran, with Python workers and Arrow")
    assert list((installed / "work").iterdir()) == []


def test_everything_is_in_it(installed: Path) -> None:
    (package,) = (installed / "env").glob("lib/python*/site-packages/tacit")
    wanted = {path.relative_to(ROOT / "src" / "tacit") for path in (ROOT / "src" / "tacit").rglob("*.*")}
    missing = {path for path in wanted if path.suffix in (".py", ".proto", ".typed") and not (package / path).exists()}
    assert missing == set()
