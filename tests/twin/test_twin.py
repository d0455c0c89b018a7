"""Replays against the brute-force twin: every answer, and what the report says about answers and events."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from itertools import product
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

from tacit.language import parse_watch
from tacit.recording.report import Alert, Report
from tacit.recording.run import record, replay_prepared
from tacit.recording.settings import Settings
from tests.tiers import parametrize_in_tiers
from tests.twin.data import sources
from tests.twin.judge import Truth, complaints, iso, truth_of
from tests.twin.meaning import Track, Watch
from tests.twin.order import Ordered, in_order
from tests.twin.watches_of_aggregates import OF_AGGREGATES
from tests.twin.watches_of_shapes import OF_SHAPES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STEPS = ("event", "pane")
PROTOCOLS = ("coordinator", "broadcast")
SOURCES = sources()
WATCHES = OF_AGGREGATES + OF_SHAPES


@cache
def ordered(name: str) -> Ordered:
    """The rows of a source in the twin's order."""
    source = SOURCES[name]
    return in_order(source.table.to_pylist(), site=source.site, time=source.time)


@pytest.fixture(scope="module")
def frames(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, DataFrame]]:
    """The sources as Spark reads them, read once: preparing the recordings takes most of the time here."""
    folder = tmp_path_factory.mktemp("sources")
    read = {}
    for name, source in SOURCES.items():
        file = folder / f"{name}.parquet"
        pq.write_table(source.table, file)
        read[name] = spark.read.parquet(str(file)).coalesce(1).cache()
    yield read
    for frame in read.values():
        frame.unpersist()


def replays(
    spark: SparkSession, frame: DataFrame, watch: Watch, *, steps: tuple[str, ...], protocols: tuple[str, ...]
) -> dict[tuple[str, str], Report]:
    """The report of every step and protocol, from one recording."""
    source = SOURCES[watch.data]
    plan = parse_watch(f"CREATE WATCH w AS {watch.sentence}")
    recording, seconds = record(spark, plan, frame, site=source.site, time=source.time)
    reports = {}
    for step, protocol in product(steps, protocols):
        settings = Settings(protocol, step, policy="lru", verify=True)
        reports[step, protocol] = replay_prepared(plan, recording, seconds, settings).replay.report
    return reports


SLOW = ("chi square", "a tiny correlation")
IN_TURN = [
    pytest.param(each, marks=pytest.mark.long if each.name in SLOW else (), id=each.name)
    for first in range(4)
    for each in WATCHES[first::4]
]


@parametrize_in_tiers("watch", IN_TURN, in_test=len(WATCHES) // 4)
def test_replay_says_the_truth(spark: SparkSession, frames: dict[str, DataFrame], watch: Watch) -> None:
    data = ordered(watch.data)
    reports = replays(spark, frames[watch.data], watch, steps=STEPS, protocols=PROTOCOLS)
    events = sum(map(watch.where, data.rows))
    without_time_or_site = SOURCES[watch.data].table.num_rows - len(data.rows)
    for step in STEPS:
        truth = truth_of(watch, data, step)
        for protocol in PROTOCOLS:
            report = reports[step, protocol]
            assert complaints(watch, truth, report) == [], (step, protocol)
            assert (report.updates, report.centralised["messages"]) == (events, events)
            assert sum(report.left_out.values()) == without_time_or_site
            assert report.sites == data.sites
            if step == "pane":
                assert report.pane_shipping["messages"] == sum(len(moment.changed) for moment, _ in truth)


@pytest.mark.parametrize("name", ["a mean", "values, tracked"])
def test_a_tampered_report_is_caught(spark: SparkSession, frames: dict[str, DataFrame], name: str) -> None:
    watch = next(watch for watch in WATCHES if watch.name == name)
    (report,) = replays(spark, frames[watch.data], watch, steps=("event",), protocols=("coordinator",)).values()
    truth = truth_of(watch, ordered(watch.data), "event")
    assert complaints(watch, truth, report) == []
    assert report.max_error is not None
    first, *others = report.alerts
    tampered: dict[str, dict[str, Any]] = {
        "an alert is left out": {"alerts": others},
        "an alert comes a step late": {"alerts": [_a_step_later(first, truth), *others]},
        "an alert has another time": {"alerts": [replace(first, at="1970-01-01T00:00:00.5Z"), *others]},
        "an alert is of no group": {"alerts": [replace(first, group="x"), *others]},
        "the error was larger": {"max_error": report.max_error + 1},
        "a step was missed": {"missed": 1},
    }
    if not isinstance(watch.goal, Track):
        tampered["the truth crossed at every step"] = {"crossings": len(truth)}
    for what, changes in tampered.items():
        assert complaints(watch, truth, replace(report, **changes)), what


def _a_step_later(alert: Alert, truth: Truth) -> Alert:
    later = alert.update + 1
    return replace(alert, update=later, at=iso(truth[later][0].time_us))
