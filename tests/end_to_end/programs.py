"""Programs that tests run in a process of their own: a process has one Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

__all__ = ["processes_of", "run_program"]

_TIMEOUT_S = 300
SOURCE = Path(__file__).parents[2] / "src"


def run_program(program: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a program to its end in an empty folder, with an empty home and its own folder for temporary files."""
    for name in ("work", "home", "temporary"):
        (folder / name).mkdir(parents=True)
    (folder / "work" / "program.py").write_text(textwrap.dedent(program))
    inherited = {key: value for key, value in os.environ.items() if key in ("PATH", "JAVA_HOME", "LD_LIBRARY_PATH")}
    chosen = {"HOME": str(folder / "home"), "TMPDIR": str(folder / "temporary"), "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, "-X", "faulthandler", "program.py"]
    process = subprocess.Popen(
        command,
        cwd=folder / "work",
        env=inherited | chosen | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        out, err = process.communicate(timeout=_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGABRT)  # it then tells where each of its threads is
        out, err = process.communicate()
        raise AssertionError(f"the program did not end within {_TIMEOUT_S} s\n{out}\n{err}") from None
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def processes_of(folder: Path) -> list[int]:
    """The processes whose arguments name the folder."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        try:
            named = str(folder).encode() in (each / "cmdline").read_bytes()
        except OSError:
            continue
        found += [int(each.name)] if named else []
    return found
