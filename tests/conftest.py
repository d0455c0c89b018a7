"""One Spark for all tests of a run: starting it costs seconds, and a process can hold only one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A real Spark with two tasks at a time."""
    pytest.importorskip("pyspark", reason="Spark is not installed; run: pip install 'tacit[site]'")
    from tacit.pipelines.session import close_session, open_session

    session = open_session("tacit-tests", cores=2, memory="1g")
    yield session
    close_session(session)
