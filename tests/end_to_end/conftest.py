"""What several of these tests need and start once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.end_to_end.kafka import connector_jars, running_broker
from tests.end_to_end.maven import NoJarsError, skip_or_fail
from tests.end_to_end.programs import processes_of


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a Kafka broker, gone without a trace at the end; where there are no jars, the test is skipped."""
    folder = tmp_path_factory.mktemp("broker") / "kafka"
    try:
        connector_jars()
        with running_broker(folder) as address:
            yield address
    except NoJarsError as error:
        skip_or_fail(str(error))
    assert processes_of(folder) == []
