"""A live table on a real standalone cluster of two workers; test_live_cluster.py has a whole site on one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.end_to_end.cluster import running_cluster
from tests.end_to_end.programs import processes_of, run_program

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.long,
    pytest.mark.xdist_group("cluster"),
    pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked up in /proc"),
]

PROGRAM = """
import os, time
from pathlib import Path
from tacit.language.sentence import parse_watch
from tacit.pipelines.live_sources import TableSource
from tacit.pipelines.session import close_session, open_session
from tacit.pipelines.streaming import StreamingTable

conf = {"spark.executor.memory": "512m", "spark.executor.cores": "1", "spark.cores.max": "2"}
conf["spark.executor.extraJavaOptions"] = "-Dtacit.test=" + os.environ["MARK"]
spark = open_session("on a cluster", memory="512m", master=os.environ["MASTER"], conf=conf)
assert spark.sparkContext.master == os.environ["MASTER"]
assert spark.conf.get("spark.sql.shuffle.partitions") == "2"


def until(ready):
    end = time.monotonic() + 120
    while not ready():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


until(lambda: spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == 3)  # the driver and two executors
Path("in").mkdir()


def put(name, rows):
    Path("in", name + ".part").write_text("ts,k,v\\n" + "".join(f"{ts},{k},{v}\\n" for ts, k, v in rows))
    Path("in", name + ".part").rename(Path("in", name + ".csv"))


watch = parse_watch(
    "CREATE WATCH w AS SELECT k, SUM(v) AS s FROM t WHERE v > 2 WINDOW LAST 1 MINUTE GROUP BY k ALERT WHEN s > 1"
)
place = [each.name for each in watch.statistics].index("sum(v)")
sums, done = {}, []


def on_batch(number, batch):
    (deltas,) = batch.pane_outcomes([(watch, (0.0,) * len(watch.centres), 10_000_000)])
    block = batch.row_block(watch, (0.0,) * len(watch.centres))
    assert len(block.t) == deltas.rows.sum()
    for sub, group, row in zip(deltas.sub.tolist(), deltas.group.tolist(), deltas.sums):
        sums[sub, deltas.keys[group]] = sums.get((sub, deltas.keys[group]), 0.0) + row[place]
    done.append(batch.rows)


def table():
    source = TableSource("files", path="in", format="csv", schema="ts BIGINT, k STRING, v DOUBLE")
    made = StreamingTable(
        spark, "t", source, time="ts", checkpoint=Path("checkpoint"), trigger_s=0.2, on_batch=on_batch
    )
    made.start()
    return made


rows = [(n // 3, "abc"[n % 3], float(n % 7)) for n in range(120)]
for part in range(4):
    put(f"first {part}", rows[part * 20 : part * 20 + 20])
live = table()
assert live.alive()
until(lambda: sum(done) == 80 and live.is_idle())
live.stop()
assert not live.alive()
put("second", rows[80:])
live = table()
until(lambda: sum(done) == 120)
expected = {}
for ts, k, v in rows:
    if v > 2:
        expected[ts // 10, f'["{k}"]'] = expected.get((ts // 10, f'["{k}"]'), 0.0) + v
assert sums == expected, (sums, expected)
assert live.failure() is None
live.stop()
close_session(spark)
"""


def test_a_live_table_runs_on_two_workers(tmp_path: Path) -> None:
    with running_cluster(tmp_path / "cluster", workers=2) as master:
        done = run_program(PROGRAM, tmp_path / "driver", MASTER=master, MARK=str(tmp_path))
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
        assert list((tmp_path / "driver" / "temporary").iterdir()) == []
        ran = list((tmp_path / "cluster").glob("work*/app-*/*/stderr"))
        assert len(ran) == 2, ran
    end = time.monotonic() + 20.0
    while processes_of(tmp_path) and time.monotonic() < end:
        time.sleep(0.05)
    assert processes_of(tmp_path) == []
