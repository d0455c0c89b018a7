"""One Spark for all tests of a run: starting it costs seconds, and a process can hold only one."""

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


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A real Spark with two tasks at a time."""
    pytest.importorskip("pyspark", reason="Spark is not installed; run: pip install 'tacit[site]'")
    from tacit.pipelines.session import close_session, open_session

    session = open_session("tacit-tests", cores=2, memory="1g")
    yield session
    close_session(session)
