"""``tacit demo`` as ``make demo`` runs it: four live sites, a minute, every crossing told, and little said."""

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
def test_a_minute_of_the_demo() -> None:
    """A minute, as a watch that is new costs most at its start: a shorter run says nothing of what it costs."""
    command = [sys.executable, "-m", "tacit", "demo", "--seconds", "60", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=dict(os.environ), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    status = json.loads(done.stdout)
    watched = {"devices", "evenness", "failing", "heat", "load", "often", "worst"}
    assert {watch["watch"] for watch in status["watches"]} == watched
    assert all(watch["answer"] for watch in status["watches"] if watch["watch"] not in ("devices", "often"))
    assert len(status["sites"]) == 4
    verdicts = {verdict["watch"]: verdict for verdict in status["verdicts"]}
    assert all(verdict["wrong"] == [] for verdict in verdicts.values())
    assert sum(verdict["panes"] for verdict in verdicts.values()) > 100
    assert verdicts["heat"]["crossings"] >= 2
    assert all(verdict["untold"] == [] for verdict in verdicts.values())
    assert verdicts["heat"]["alerts"] >= verdicts["heat"]["crossings"]
    costs = [watch["cost"] for watch in status["watches"] if watch["watch"] in ("failing", "heat", "load")]
    said = sum(cost["messages"]["total"] for cost in costs)
    assert said <= 0.05 * sum(cost["centralised"]["messages"] for cost in costs)
    assert said <= 0.4 * sum(cost["pane_shipping"]["messages"] for cost in costs)
    assert 0 < status["first_answer_messages"] < sum(watch["cost"]["messages"]["total"] for watch in status["watches"])
    assert verdicts["heat"]["panes"] >= 45  # however long the start took: a minute counts from the first answer
