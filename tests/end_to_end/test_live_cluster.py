"""A site whose Spark is a standalone cluster with two workers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.end_to_end.cluster import running_cluster
from tests.end_to_end.programs import processes_of
from tests.end_to_end.system import System, until

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]

BEGIN = 1_767_225_600
WATCHES = """
CREATE WATCH load AS SELECT SUM(v) AS s FROM readings WINDOW LAST 3 SECONDS EVERY 1 SECOND ALERT WHEN s > 100;
CREATE WATCH kinds AS SELECT k, COUNT(*) AS n FROM readings WINDOW LAST 4 SECONDS EVERY 1 SECOND GROUP BY k
  ALERT WHEN n > 1;
"""
TABLES = """[tables.readings]
source = "files"
path = "data/{site}"
format = "json"
schema = "ts BIGINT, k STRING, v BIGINT"
time = "ts"
watermark = "0 seconds"
clock = "event"
"""


def test_a_site_on_two_workers(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "cluster", workers=2) as master:
        spark = (
            f'master = "{master}"\nmemory = "512m"\nconf = {{ "spark.executor.memory" = "512m", '
            '"spark.executor.cores" = 1, "spark.cores.max" = 2 }'
        )
        with System(tmp_path / "live", ("north",), WATCHES, tables=TABLES, spark=spark) as system:
            _put(system, "first", range(5))
            system.start_all()
            until(lambda: _seconds(system) >= 4, story=lambda: (system.watches(), system.log("north")))
            _put(system, "second", range(5, 41))
            until(lambda: _seconds(system) >= 40, story=lambda: (system.watches(), system.log("north")))
            alerts = system.ask("SHOW ALERTS FOR load")[0]["alerts"][::-1]
            groups = {tuple(row["group"]): row["value"] for row in system.watches()["kinds"]["answer"]}
            # Each worker has an executor of the site, also one that came later than the site did.
            until(lambda: len(list((tmp_path / "cluster").glob("work*/app-*/*/stderr"))) == 2)
            assert system.stop("north") == 0
            assert system.stop("coordinator") == 0
    assert [(each["side"], each["pane"] + 1 - BEGIN) for each in alerts] == [
        ("above", 12),
        ("below", 22),
        ("above", 32),
    ]
    assert groups.keys() == {("a",), ("b",)}
    until(lambda: processes_of(tmp_path) == [], seconds=20)


def _put(system: System, name: str, steps: range) -> None:
    rows = [{"ts": BEGIN + step, "k": "ab"[step % 2], "v": 10 if step % 20 < 10 else 60} for step in steps]
    coming = system.folder / f"{name}.json"
    coming.write_text("".join(json.dumps(row) + "\n" for row in rows))
    os.rename(coming, system.folder / "data" / "north" / f"{name}.json")


def _seconds(system: System) -> int:
    watch = system.watches().get("load")
    return -1 if watch is None or watch["pane"] is None else watch["pane"] + 1 - BEGIN
