"""The same rows through live sites and through ``tacit replay --step pane``: the same answers and the same alerts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit.vocabulary.calendar import iso_time
from tests.end_to_end.comparing import alerts_told, same_as_replay
from tests.end_to_end.feeding import BASE_S, LATE_TABLE, TABLES, Feeder
from tests.end_to_end.judging import WATCHES, S, Watch, mean, read_live, replayed, script
from tests.end_to_end.system import System, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("live")]

SITES = ("east", "north", "west")
STEPS = 90
SPARK = 'master = "local[2]"\nmemory = "1g"'


LATE_WATCHES = (
    Watch(
        "late_heat",
        "SELECT AVG(v / 7) AS mean FROM late WINDOW LAST 8 SECONDS EVERY 1 SECOND ALERT WHEN mean > 8.3 MARGIN 0.3",
        S, mean("v"), duration_us=8 * S, threshold=8.3, slack=0.3,
    ),
    Watch(
        "late_spread",
        "SELECT device, STDDEV(w / 3) AS s FROM late WINDOW LAST 10 SECONDS EVERY 2 SECONDS GROUP BY device"
        " TRACK s WITHIN 2",
        2 * S, mean("w"), duration_us=10 * S, slack=2.0, grouped=True,
    ),
)  # fmt: skip
EACH = "GROUP BY EACH(array(device, concat('v', CAST(v AS STRING)), device, NULL)) AS m"
EACH_WATCHES = (
    Watch(
        "members",
        f"SELECT m, COUNT_IF(PRESENT AND w > 50) AS n FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND {EACH}"
        " ALERT WHEN n > 12 MARGIN 2",
        S, mean("w"), duration_us=8 * S, threshold=12.0, slack=2.0, grouped=True,
    ),
    Watch(
        "gains",
        f"SELECT m, INFORMATION_GAIN(w > 60, PRESENT) AS g FROM readings WINDOW LAST 40 ROWS EVERY 2 SECONDS {EACH}"
        " ALERT WHEN g > 0.03",
        2 * S, mean("w"), rows=40, threshold=0.03, grouped=True,
    ),
    Watch(
        "others",
        f"SELECT m, SUM(w) FILTER (WHERE NOT PRESENT) AS n FROM readings WINDOW LAST 8 SECONDS EVERY 1 SECOND {EACH}"
        " TRACK n WITHIN 900",
        S, mean("w"), duration_us=8 * S, slack=900.0, grouped=True,
    ),
)  # fmt: skip
ROUNDING = 1e-9  # of values that are not whole numbers, relatively


@pytest.mark.middle
@pytest.mark.parametrize(
    "protocol", ["coordinator", *(pytest.param(each, marks=pytest.mark.long) for each in ("broadcast", "recentre"))]
)
def test_live_sites_say_what_a_replay_says(protocol: str, tmp_path: Path) -> None:
    """Three sites around one Spark; the rows come in uneven portions, and for a second table out of order, within its
    watermark; what is later than that is counted and changes nothing."""
    watches, tables = (*WATCHES, *LATE_WATCHES, *EACH_WATCHES), TABLES + LATE_TABLE
    with System(
        tmp_path / "live", SITES, script(watches), protocol=protocol, tables=tables, lease=60, spark=SPARK
    ) as system:
        feeder = Feeder(system.folder, SITES, seed=3, pause_s=0.0, ties=True, late=True)
        system.run("up", "up", str(system.config))
        system.wait_for_coordinator()
        for portion in (1, 4, 20, 30, 2, STEPS - 57):
            for _ in range(portion):
                feeder.step()
            until(lambda: _pane(system, "heat") >= feeder.steps - 2, story=lambda: (system.log("up"), system.watches()))
        last = feeder.finish()
        until(lambda: all(_pane(system, watch.name, watch.pane_us) >= last - 2 for watch in watches))
        too_late = feeder.put_too_late()
        until(lambda: (late := system.watches().get("late_heat")) and late["cost"]["late"] == too_late)
        assert system.stop("up") == 0, system.log("up")
        live = read_live(system.store)
    feeder.write_all(tmp_path / "all.parquet")
    (tmp_path / "replay").mkdir()
    reports = replayed(tmp_path / "replay", tmp_path / "all.parquet", watches, protocol)
    for watch in watches:
        told = live.told[watch.name]
        rounding = ROUNDING if watch in LATE_WATCHES else 0.0
        if watch in EACH_WATCHES[1:]:  # members have a value before they are spoken of, and a replay knows of it
            until_us = (BASE_S + feeder.steps) * S // watch.pane_us * watch.pane_us
            raised, (report, _, _) = told.alerts, reports[watch.name]
            assert raised
            assert alerts_told(raised, iso_time(until_us)) == alerts_told(report["alerts"], iso_time(until_us))
            continue
        same_as_replay(watch, told, *reports[watch.name], feeder.steps, rounding=rounding)
        assert "stale" not in told.states.values()


def _pane(system: System, name: str, pane_us: int = 1_000_000) -> int:
    """The step that a watch's answer is as of; -1 before the first."""
    watch = system.watches().get(name)
    if watch is None or watch["pane"] is None:
        return -1
    return int((watch["pane"] + 1) * pane_us // 1_000_000 - BASE_S - 1)
