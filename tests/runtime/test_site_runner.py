"""What becomes of a site whose Spark or whose query dies for good. Spark itself is not started here."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tacit.pipelines import session as spark_session
from tacit.runtime.config import Config
from tacit.runtime.config_models import SparkConfig
from tacit.runtime.site_runner import SiteRunner, SparkGoneError, SparkHost
from tacit.vocabulary import DataError, MachineError
from tests.runtime.light import COLUMNS, LightSystem, rows, until

TOTAL = "CREATE WATCH total AS SELECT SUM(x) AS s FROM d WINDOW LAST 2 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"


class Table:
    """A query that is told what became of it."""

    columns = tuple(COLUMNS.items())

    def __init__(self) -> None:
        self.died: DataError | None = None

    def start(self) -> None: ...

    def stop(self) -> None: ...

    def is_idle(self) -> bool:
        return False

    def checkpoint_id(self) -> str:
        return "checkpoint"

    def failure(self) -> DataError | None:
        return self.died


class Runner(SiteRunner):
    """A site whose table is told what to read."""

    def _open_tables(self) -> None:
        self.host.session()
        self._generation = self.host.generation
        self._tables = {"d": Table()}  # type: ignore[dict-item]

    def feed(self, number: int, seconds: range) -> None:
        batch: Any = rows(TOTAL, seconds, 5)
        batch.time_problem = None
        self._take("d", number, batch)


class Host:
    """A Spark that lives."""

    generation = 1

    def session(self) -> None: ...

    def alive(self) -> bool:
        return True

    def ends(self) -> bool:
        return False


def site(system: LightSystem, host: Any) -> Runner:
    table = {"source": "rate", "time": "ts", "clock": "event", "watermark": "0 seconds"}
    written = {"sites": {"north": {"coordinator": system.address, "tables": {"d": table}}}}
    config = Config.model_validate(written, context={"folder": system.folder})
    return Runner("north", config, host, system.links)


def test_a_site_that_failed_hangs_up_so_that_its_answers_go_stale(tmp_path: Path) -> None:
    with LightSystem(tmp_path, lease_seconds=1) as system:
        system.runner.ask({"sql": TOTAL})
        runner = site(system, Host())
        runner.start()
        try:
            until(lambda: runner.agent is not None and runner.agent.watches, "the watch")
            runner.mind()
            for number in range(3):
                runner.feed(number, range(100 + 10 * number, 110 + 10 * number))
            until(lambda: system.watch("total")["state"] == "valid", "an answer")
            runner._tables["d"].died = DataError("the file is damaged")  # type: ignore[attr-defined]
            runner.mind()
            assert (runner.status, str(runner.failure)) == ("failed", "the file is damaged")
            until(lambda: system.watch("total")["state"] == "stale", "the end of the lease")
        finally:
            runner.stop()


@pytest.fixture
def spark(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Spark's sessions, made up: whether it starts, and whether it lives."""
    story = SimpleNamespace(starts=0, alive=True, broken=False)

    def open_session(*_: object, **__: object) -> object:
        story.starts += 1
        if story.broken:
            raise MachineError("no memory is left")
        return object()

    monkeypatch.setattr(spark_session, "open_session", open_session)
    monkeypatch.setattr(spark_session, "close_session", lambda _: None)
    monkeypatch.setattr(spark_session, "java_alive", lambda _: story.alive)
    return story


def test_a_spark_that_dies_again_and_again_is_given_up(
    tmp_path: Path, spark: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LightSystem(tmp_path, lease_seconds=1) as system:
        system.runner.ask({"sql": TOTAL})
        runner = site(system, SparkHost(SparkConfig()))
        runner.start()
        try:
            until(lambda: runner.agent is not None and runner.agent.watches, "the watch")
            runner.mind()
            spark.alive = False
            for _ in range(20):
                runner.mind()
            assert isinstance(runner.failure, SparkGoneError)
            assert "5 times in a row" in str(runner.failure)
            assert spark.starts == 5
        finally:
            runner.stop()


def test_a_spark_that_does_not_start_again_is_given_up(spark: SimpleNamespace) -> None:
    host = SparkHost(SparkConfig())
    host.session()
    spark.alive, spark.broken = False, True
    for _ in range(3):
        with pytest.raises(MachineError, match=r"^no memory is left"):
            host.session()
    for _ in range(2):
        with pytest.raises(SparkGoneError, match="no memory is left"):
            host.session()


def test_a_spark_that_dies_once_in_a_while_is_not_given_up(
    spark: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("tacit.runtime.site_runner.time.monotonic", lambda: now[0])
    host = SparkHost(SparkConfig())
    host.session()
    spark.alive = False
    for _ in range(20):
        now[0] += 61
        host.session()
    assert host.generation == 21
