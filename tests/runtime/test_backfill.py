"""History through a whole site, with a real Spark: a watch that comes late has a full window."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tacit.runtime.config import Config
from tacit.runtime.config_models import SparkConfig
from tacit.runtime.site_runner import SiteRunner, SparkHost
from tacit.vocabulary import OptionError
from tests.runtime.light import LightSystem, until

FIRST = "CREATE WATCH first AS SELECT SUM(x) AS s FROM d WINDOW LAST 2 SECONDS EVERY 1 SECOND TRACK s WITHIN 0.5"
LATE = FIRST.replace("WATCH first", "WATCH late").replace("2 SECONDS", "60 SECONDS")
TABLE = {
    "source": "files", "format": "csv", "schema": "ms BIGINT, x DOUBLE, mine BOOLEAN", "options": {"sep": ";"},
    "select": ["ms / 1000D AS ts", "x", "mine"], "where": "mine", "time": "ts", "clock": "event",
    "watermark": "0 seconds", "idle_seconds": 0.1, "trigger_seconds": 0.1,
}  # fmt: skip


def put(folder: Path, name: str, seconds: Iterable[int]) -> None:
    """A file with two rows a second, of which one belongs to the site."""
    folder.mkdir(exist_ok=True)
    lines = [f"{second}000;{x};{mine}" for second in seconds for x, mine in ((1, "true"), (100, "false"))]
    (folder / f"{name}.part").write_text("\n".join(["ms;x;mine", *lines]) + "\n")
    (folder / f"{name}.part").rename(folder / f"{name}.csv")


def site(system: LightSystem, spark: SparkSession, history: Path | None) -> SiteRunner:
    (system.folder / "in").mkdir()
    table = {**TABLE, "path": str(system.folder / "in")} | ({} if history is None else {"backfill": str(history)})
    written = {"sites": {"north": {"coordinator": system.address, "tables": {"d": table}}}}
    host = SparkHost(SparkConfig())
    host._session, host.generation = spark, 1
    return SiteRunner("north", Config.model_validate(written, context={"folder": system.folder}), host, system.links)


@pytest.mark.parametrize("apart", [True, False], ids=["another folder", "the table's own files"])
def test_history_is_read_as_the_table_is(tmp_path: Path, spark: SparkSession, apart: bool) -> None:
    history = tmp_path / "history"
    put(history, "old", range(1000, 1110))
    with LightSystem(tmp_path / "system") as system:
        system.runner.ask({"sql": FIRST})
        runner = site(system, spark, history if apart else None)
        runner.start()
        try:

            def reading() -> bool:
                runner.mind()
                assert runner.failure is None
                return runner.status == "reading"

            until(reading, "the watch")
            put(system.folder / "in", "a", range(1100 if apart else 1000, 1110))
            until(lambda: system.watch("first")["state"] == "valid", "an answer")
            system.runner.ask({"sql": LATE})
            agent = runner.agent
            assert agent is not None
            until(lambda: 2 in agent.watches and not agent.wants_history("d"), "the history, which no row brings")
            put(system.folder / "in", "b", range(1110, 1115))
            until(lambda: system.watch("late")["state"] == "valid", "a full window")
            assert system.watch("late")["answer"][0]["value"] == pytest.approx(60, abs=0.5)
            assert system.watch("late")["problems"] == {}
        finally:
            runner.stop()


def test_a_history_that_is_not_there_or_not_like_the_table_is_refused_at_the_start(
    tmp_path: Path, spark: SparkSession
) -> None:
    with LightSystem(tmp_path / "system") as system:
        runner = site(system, spark, tmp_path / "nowhere")
        with pytest.raises(OptionError, match=r"the backfill of table d cannot be used: .*nowhere does not exist"):
            runner.start()


def test_a_watch_created_after_all_was_read_is_valid_though_no_row_comes(tmp_path: Path, spark: SparkSession) -> None:
    """Its window is filled from the very files that were read; those that come later bring their rows once."""
    with LightSystem(tmp_path / "system") as system:
        system.runner.ask({"sql": FIRST})
        runner = site(system, spark, None)
        runner.start()
        try:

            def reading() -> bool:
                runner.mind()
                assert runner.failure is None
                return runner.status == "reading"

            until(reading, "the watch")
            put(system.folder / "in", "a", range(1000, 1110))
            until(lambda: system.watch("first")["state"] == "valid", "an answer")
            longer = LATE.replace("EVERY 1 SECOND", "EVERY 7 SECONDS")  # panes that the rows so far end in the midst of
            system.runner.ask({"sql": longer})
            until(lambda: system.watch("late")["state"] == "valid", "a full window of what was read")
            assert system.watch("late")["answer"][0]["value"] == pytest.approx(60, abs=0.5)
            put(system.folder / "in", "b", range(1110, 1128))
            until(lambda: system.watch("late")["as_of"] == "1970-01-01T00:18:47Z", "the pane that ends with these")
            assert system.watch("late")["state"] == "valid"
            assert system.watch("late")["answer"][0]["value"] == pytest.approx(60, abs=0.5)
        finally:
            runner.stop()
