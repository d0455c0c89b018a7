"""The diagrams in docs/PROTOCOLS.md are those of the transition tables."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_shows_the_tables():
    command = [sys.executable, str(ROOT / "tools" / "draw_protocols.py"), "--check"]
    done = subprocess.run(command, env={"PYTHONPATH": str(ROOT / "src"), "PATH": ""}, timeout=120, check=False)
    assert done.returncode == 0, "run: make diagrams"
