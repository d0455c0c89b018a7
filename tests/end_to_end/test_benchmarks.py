"""Every benchmark of `tacit bench --list` runs in its small size, so that none breaks unseen."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.cli.bench import descriptions, find_folder

NAMES = sorted(descriptions(find_folder()))


def test_all_that_can_be_run_are_found() -> None:
    assert {"many_sites", "peer", "policies", "replay", "topk", "verify_matrix", "zones"} <= set(NAMES)


@pytest.mark.long
@pytest.mark.e2e
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs(name: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tacit", "bench", name, "--quick", "--out", str(tmp_path / "out")]
    environment = {key: value for key, value in os.environ.items() if key != "TACIT_DATA"}
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, timeout=3_600)
    assert done.returncode == 0, done.stdout[-4_000:] + done.stderr[-4_000:]
    assert f"== {name}:" in done.stdout
