"""What all tests share: one Spark, which takes seconds to start, and a line on the random schedules of this run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Machines are shared: how long an example takes says nothing about what is tested.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say which random schedules were judged, so that a failure can be repeated on any commit."""
    reports = (report for reports in terminalreporter.stats.values() for report in reports)
    if any("::test_fresh_seeds[" in getattr(report, "nodeid", "") for report in reports):
        from tests.simulation.slices import fresh_slice

        terminalreporter.section("random schedules")
        terminalreporter.line(f"{fresh_slice()}")
        terminalreporter.line(f"again: {fresh_slice().replay}")


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A real Spark with two tasks at a time."""
    pytest.importorskip("pyspark", reason="Spark is not installed; run: pip install 'tacit[site]'")
    from tacit.pipelines.session import close_session, open_session

    session = open_session("tacit-tests", cores=2, memory="1g")
    yield session
    close_session(session)
