"""One system with a watch of every kind over recorded data, judged by the product until the data ends."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.end_to_end.every_kind import SCHEMA, sentences, steps_table, write_rows
from tests.end_to_end.feeding import BASE_S
from tests.end_to_end.system import System, environment, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("live")]

pytest.importorskip("duckdb")

SITES = ("north", "south")
STEPS, FILES, SEED = 120, 3, 17
TABLE = f"""[tables.recorded]
source = "files"
path = "recorded/{{site}}"
format = "parquet"
schema = "{SCHEMA}"
time = "ts"
watermark = "0 seconds"
clock = "event"
idle_seconds = 600
"""


@pytest.mark.parametrize("kill", [False, True], ids=["in peace", "killed"])
def test_every_kind_of_watch_is_right_at_every_pane(tmp_path: Path, kill: bool) -> None:
    """Also when everything is killed at once while the sites catch up, and started again."""
    each = STEPS // FILES
    with System(tmp_path / "live", SITES, sentences("recorded"), tables=TABLE) as system:
        for place, site in enumerate(SITES):
            for file in range(FILES):
                steps = range(file * each, (file + 1) * each)
                rows = steps_table(SEED, place, steps, [(BASE_S + step) * 1_000_000 for step in steps])
                write_rows(system.folder / "recorded", site, f"{file:03d}", rows)
        system.run("all", "up", str(system.config))
        system.wait_for_coordinator()
        if kill:
            until(lambda: any(watch["pane"] for watch in system.watches().values()), story=lambda: system.log("all"))
            system.kill("all")
            system.run("all", "up", str(system.config))
            system.wait_for_coordinator()
        command = [sys.executable, "-m", "tacit", "verify", str(system.config), "--until-end", "--json"]
        judged = subprocess.run(
            command, capture_output=True, text=True, timeout=500, check=False, env=environment(system.folder)
        )  # fmt: skip
        assert judged.returncode == 0, (judged.stdout, judged.stderr, system.log("all")[-3000:])
    verdicts = json.loads(judged.stdout)["verdicts"]
    assert len(verdicts) == 11
    assert all(verdict["good"] and verdict["panes"] > 20 for verdict in verdicts)
    assert all(verdict["crossings"] for verdict in verdicts if verdict["kind"] == "condition")
