"""An interrupt ends a command with its own code, wherever it came."""

from __future__ import annotations

import subprocess
import sys

_COMMAND = """
from tacit.cli import main

def app():
    exec("raise KeyboardInterrupt")  # as in the text that a dataclass is made of

main.app = app
main.run()
"""


def test_an_interrupt_in_an_executed_text_is_one_like_any_other(tmp_path):
    (tmp_path / "command.py").write_text(_COMMAND)
    done = subprocess.run(
        [sys.executable, "-m", "command"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "tacit: interrupted\n")
