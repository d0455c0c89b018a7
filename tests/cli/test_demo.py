"""``tacit demo``: four live sites, and not one wrong answer. A longer one is run by hand: it takes a minute."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib

import pytest

from tacit.cli.demo import SITES, configuration


def test_the_configuration_is_one() -> None:
    assert tuple(sorted(tomllib.loads(configuration())["sites"])) == SITES


@pytest.mark.e2e
@pytest.mark.xdist_group("live")
def test_the_demo_answers_and_is_right() -> None:
    command = [sys.executable, "-m", "tacit", "demo", "--seconds", "25", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    status = json.loads(done.stdout)
    assert {watch["watch"] for watch in status["watches"]} == {"devices", "failing", "heat", "load"}
    assert all(watch["answer"] for watch in status["watches"] if watch["watch"] != "devices")
    assert all(verdict["wrong"] == [] for verdict in status["verdicts"])
    assert sum(verdict["panes"] for verdict in status["verdicts"]) > 20
    assert len(status["sites"]) == 4
