"""A live table over a real Kafka topic; test_live_kafka.py has a whole site on one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.end_to_end.kafka import connector_jars
from tests.end_to_end.programs import processes_of, run_program

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.xdist_group("kafka")]

PROGRAM = """
import json, os, time
from pathlib import Path
from tacit.language.sentence import parse_watch
from tacit.pipelines.live_sources import TableSource
from tacit.pipelines.session import close_session, open_session
from tacit.pipelines.streaming import StreamingTable

servers = os.environ["SERVERS"]
spark = open_session(cores=2, memory="1g", conf={"spark.jars": os.environ["JARS"]})


def send(topic, lines):
    rows = spark.createDataFrame([(str(k), line) for k, line in enumerate(lines)], "key string, value string")
    rows.write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": topic}).save()


def until(ready):
    end = time.monotonic() + 90
    while not ready():
        assert time.monotonic() < end and all(each.failure() is None for each in tables), [t.failure() for t in tables]
        time.sleep(0.05)


watch = parse_watch(
    "CREATE WATCH w AS SELECT k, SUM(v) AS s, COUNT(*) AS n FROM t WHERE v >= 0 WINDOW LAST 1 MINUTE GROUP BY k "
    "ALERT WHEN s > 1"
)
sums, totals, tables = {}, {}, []


def open_table(name, **parts):
    def on_batch(number, batch):
        (deltas,) = batch.pane_outcomes([(watch, (0.0,) * len(watch.centres), 10_000_000)])
        for sub, group, row in zip(deltas.sub, deltas.group, deltas.sums.tolist()):
            place = sums.setdefault(name, {}).setdefault((int(sub), deltas.keys[group]), [0.0] * len(row))
            place[:] = [a + b for a, b in zip(place, row)]
        rows, no_time = totals.get(name, (0, 0))
        totals[name] = rows + batch.rows, no_time + batch.no_time

    source = TableSource("kafka", servers=servers, **parts)
    table = StreamingTable(
        spark, name, source, time="ts", checkpoint=Path("checkpoint " + name), trigger_s=0.2, on_batch=on_batch
    )
    tables.append(table)
    table.start()
    return table


SCHEMA = "ts BIGINT, k STRING, v DOUBLE"
rows = [(n, "ab"[n % 2], n - 5.0) for n in range(40)]
texts = [json.dumps({"ts": ts, "k": k, "v": v}) for ts, k, v in rows]
send("one", texts[:25])
first = open_table("json", topic="one", schema=SCHEMA)
until(lambda: totals.get("json") == (25, 0))
send("one", [*texts[25:32], "not json", json.dumps({"k": "a", "v": 1})])
until(lambda: totals["json"] == (34, 2))
until(first.is_idle)
first.stop()
send("one", texts[32:])
again = open_table("json", topic="one", schema=SCHEMA)  # takes up the checkpoint
until(lambda: totals["json"] == (42, 2))
assert again.checkpoint_id() == first.checkpoint_id()

expected = {}
for ts, k, v in rows:
    if v >= 0:
        place = expected.setdefault((ts // 10, json.dumps([k])), [0.0, 0.0])
        place[0] += v
        place[1] += 1.0
names = [each.name for each in watch.statistics]


def told(name):
    return {key: (row[names.index("sum(v)")], row[names.index("count(*)")]) for key, row in sums[name].items()}


assert told("json") == {key: tuple(row) for key, row in expected.items()}, told("json")

send("two", [f"{ts},{k},{v}" for ts, k, v in rows])
select = ("ts", "k", "v", "kafka.offset AS place")
csv = open_table("csv", topic="two", schema=SCHEMA, format="csv", select=select, options={"maxOffsetsPerTrigger": "7"})
assert csv.columns[-1] == ("place", "bigint")
until(lambda: totals.get("csv") == (40, 0))
assert told("csv") == told("json")

late = open_table("late", topic="two", schema=SCHEMA, format="csv", starting="latest")
until(late.is_idle)
send("two", ["7,a,3"])
until(lambda: totals.get("late") == (1, 0))
for table in tables:
    table.stop()
close_session(spark)
"""


def test_batches_of_topics_add_up(broker: str, tmp_path: Path) -> None:
    jars = ",".join(map(str, connector_jars()))
    done = run_program(PROGRAM, tmp_path, SERVERS=broker, JARS=jars)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert list((tmp_path / "temporary").iterdir()) == []
    assert processes_of(tmp_path) == []
