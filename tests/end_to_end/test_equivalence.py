"""The same rows through live sites and through ``tacit replay --step pane``: the same answers and the same alerts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.comparing import same_as_replay
from tests.end_to_end.feeding import BASE_S, TABLES, Feeder
from tests.end_to_end.judging import WATCHES, read_live, replayed, script
from tests.end_to_end.system import System, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("live")]

SITES = ("east", "north", "west")
STEPS = 90
SPARK = 'master = "local[2]"\nmemory = "1g"'


@pytest.mark.parametrize("protocol", ["coordinator", "broadcast"])
def test_live_sites_say_what_a_replay_says(protocol: str, tmp_path: Path) -> None:
    """Three sites around one Spark; the rows come in uneven portions."""
    with System(tmp_path / "live", SITES, script(), protocol=protocol, tables=TABLES, lease=60, spark=SPARK) as system:
        feeder = Feeder(system.folder, SITES, seed=3, pause_s=0.0, ties=True)
        system.run("up", "up", str(system.config))
        system.wait_for_coordinator()
        for portion in (1, 4, 20, 30, 2, STEPS - 57):
            for _ in range(portion):
                feeder.step()
            until(lambda: _pane(system, "heat") >= feeder.steps - 2, story=lambda: (system.log("up"), system.watches()))
        last = feeder.finish()
        until(lambda: all(_pane(system, watch.name, watch.pane_us) >= last - 2 for watch in WATCHES))
        assert system.stop("up") == 0, system.log("up")
        live = read_live(system.store)
    feeder.write_all(tmp_path / "all.parquet")
    (tmp_path / "replay").mkdir()
    reports = replayed(tmp_path / "replay", tmp_path / "all.parquet", WATCHES, protocol)
    for watch in WATCHES:
        told = live.told[watch.name]
        same_as_replay(watch, told, *reports[watch.name], feeder.steps)
        assert "stale" not in told.states.values()


def _pane(system: System, name: str, pane_us: int = 1_000_000) -> int:
    """The step that a watch's answer is as of; -1 before the first."""
    watch = system.watches().get(name)
    if watch is None or watch["pane"] is None:
        return -1
    return int((watch["pane"] + 1) * pane_us // 1_000_000 - BASE_S - 1)
