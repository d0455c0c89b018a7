"""Replays against the brute-force twin: every answer, and what the report says about answers and events."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from tacit.language import parse_watch
from tacit.recording.report import Report
from tacit.recording.run import record, replay_prepared
from tacit.recording.settings import Settings
from tests.twin.data import Source, sources
from tests.twin.judge import complaints, truth_of
from tests.twin.meaning import Watch
from tests.twin.order import Ordered, in_order
from tests.twin.watches_of_aggregates import OF_AGGREGATES
from tests.twin.watches_of_shapes import OF_SHAPES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STEPS = ("event", "pane")
PROTOCOLS = ("coordinator", "broadcast")
SOURCES = sources()
WATCHES = OF_AGGREGATES + OF_SHAPES


@cache
def ordered(name: str) -> Ordered:
    """The rows of a source in the twin's order."""
    source = SOURCES[name]
    return in_order(source.table.to_pylist(), site=source.site, time=source.time)


def replays(spark: SparkSession, folder: Path, watch: Watch) -> dict[tuple[str, str], Report]:
    """The report of every step and protocol, from one recording."""
    source: Source = SOURCES[watch.data]
    file = folder / "rows.parquet"
    pq.write_table(source.table, file)
    plan = parse_watch(f"CREATE WATCH w AS {watch.sentence}")
    recording, seconds = record(spark, plan, file, site=source.site, time=source.time)
    runs = {}
    for step in STEPS:
        for protocol in PROTOCOLS:
            settings = Settings(protocol, step, policy="lru", verify=True)
            runs[step, protocol] = replay_prepared(plan, recording, seconds, settings).replay.report
    return runs


@pytest.mark.parametrize("watch", WATCHES, ids=lambda watch: watch.name)
def test_replay_says_the_truth(spark: SparkSession, tmp_path: Path, watch: Watch) -> None:
    data = ordered(watch.data)
    reports = replays(spark, tmp_path, watch)
    for step in STEPS:
        truth = truth_of(watch, data, step)
        for protocol in PROTOCOLS:
            report = reports[step, protocol]
            assert complaints(watch, truth, report) == [], (step, protocol)
            events = sum(map(watch.where, data.rows))
            assert (report.updates, report.centralised["messages"]) == (events, events)
            assert sum(report.left_out.values()) == SOURCES[watch.data].table.num_rows - len(data.rows)
            assert report.sites == data.sites
            if step == "pane":
                assert report.pane_shipping["messages"] == sum(len(moment.changed) for moment, _ in truth)


def test_a_tampered_report_is_caught(spark: SparkSession, tmp_path: Path) -> None:
    condition, track = (next(w for w in WATCHES if w.name == name) for name in ("a mean", "values, tracked"))
    for watch in (condition, track):
        report = replays(spark, tmp_path, watch)["event", "coordinator"]
        truth = truth_of(watch, ordered(watch.data), "event")
        first, *others = report.alerts
        assert complaints(watch, truth, report) == []
        tampered = {
            "an alert is left out": replace(report, alerts=others),
            "an alert at another time": replace(report, alerts=[replace(first, at="1970-01-01T00:00:00.5Z"), *others]),
            "an alert of no group": replace(report, alerts=[replace(first, group="x"), *others]),
            "a larger error": replace(report, max_error=report.max_error + 1),
            "a missed step": replace(report, missed=1),
        }
        for what, wrong in tampered.items():
            assert complaints(watch, truth, wrong), f"{what}: {watch.name}"
    truth = truth_of(condition, ordered(condition.data), "event")
    report = replays(spark, tmp_path, condition)["event", "coordinator"]
    assert complaints(condition, truth, replace(report, crossings=report.crossings + 1))
