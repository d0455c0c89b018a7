"""A live table over a growing folder: batches add up, failures are told, a checkpoint goes on."""

from __future__ import annotations

import faulthandler
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tacit.language.schema_check import check_columns
from tacit.pipelines.batches import SparkBatch
from tacit.pipelines.live_sources import TableSource
from tacit.pipelines.streaming import StreamingTable
from tacit.vocabulary.batches import PaneDeltas
from tacit.vocabulary.errors import DataError, SentenceError, TacitError
from tests.pipelines.plans import count_of, sum_of, watch

SECOND = 1_000_000
SCHEMA = "ts BIGINT, v DOUBLE"


def until(ready: Callable[[], object], *, seconds: float = 180.0, told: Callable[[], object] = str) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            faulthandler.dump_traceback(all_threads=True)
            raise AssertionError(f"waited too long: {told()}")
        time.sleep(0.02)


class Folder:
    """A folder that files come into, whole."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()

    def put(self, name: str, *rows: tuple[Any, Any]) -> None:
        part = self.path / f"{name}.part"
        part.write_text("ts,v\n" + "".join(f"{ts},{v}\n" for ts, v in rows))
        part.rename(self.path / f"{name}.csv")


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path / "in")


@pytest.fixture
def open_table(spark: SparkSession, tmp_path: Path, folder: Folder) -> Iterator[Callable[..., StreamingTable]]:
    made: list[StreamingTable] = []

    def make(on_batch: Callable[[int, SparkBatch], None], **parts: Any) -> StreamingTable:
        parts = {"time": "ts", "checkpoint": tmp_path / "checkpoint", "trigger_s": 0.1} | parts
        source = parts.pop("source", TableSource("files", path=str(folder.path), format="csv", schema=SCHEMA))
        made.append(StreamingTable(spark, "air", source, on_batch=on_batch, **parts))
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_batches_add_up_and_a_checkpoint_goes_on(open_table: Any, folder: Folder) -> None:
    plan = watch(sum_of("v"), count_of("v"), where="v > 0")
    found: list[tuple[int, str, list[int], list[float]]] = []

    def take(number: int, batch: SparkBatch) -> None:
        (deltas,) = batch.pane_outcomes([(plan, (), 10 * SECOND)])
        assert isinstance(deltas, PaneDeltas)
        found.append((number, table.checkpoint_id(), deltas.sub.tolist(), deltas.sums[:, 0].tolist()))

    table = open_table(take)
    assert table.columns == (("ts", "bigint"), ("v", "double"))
    check_columns(plan, dict(table.columns))
    assert (table.alive(), table.is_idle(), table.failure(), table.checkpoint_id()) == (False, False, None, "")
    table.start()
    assert table.alive()
    until(table.is_idle)
    assert found == []
    folder.put("a", (1, 1.5), (12, 2.0), (3, -1.0))
    until(lambda: found)
    until(table.is_idle)
    table.stop()
    table.stop()
    assert (table.alive(), table.is_idle(), table.failure()) == (False, False, None)

    folder.put("b", (14, 4.0))
    table = open_table(take, source=TableSource("files", path=str(folder.path), schema=table.schema))
    table.start()
    until(lambda: len(found) == 2)
    mark = found[0][1]
    assert found == [(0, mark, [0, 1], [1.5, 2.0]), (1, mark, [1], [4.0])]
    assert len(mark) == 36


def test_files_per_batch(open_table: Any, folder: Folder) -> None:
    for number in range(3):
        folder.put(f"{number}", (number, 1.0))
    rows: list[int] = []
    source = TableSource("files", path=str(folder.path), files_per_batch=1)
    table = open_table(lambda number, batch: rows.append(batch.rows), source=source)
    table.start()
    until(lambda: len(rows) == 3)
    assert rows == [1, 1, 1]


@pytest.mark.parametrize(
    ("error", "kind", "told"),
    [
        (ValueError("out of\nspace"), TacitError, "table air: ValueError: out of space"),
        (DataError("a row is odd"), DataError, "table air: a row is odd"),
        (None, SentenceError, "table air: a row divides by zero; write NULLIF(divisor, 0)"),
    ],
    ids=["any", "ours", "Spark's"],
)
def test_an_exception_ends_the_query_and_the_batch_comes_again(
    open_table: Any, folder: Folder, capfd: Any, error: Exception | None, kind: type, told: str
) -> None:
    def fail(number: int, batch: SparkBatch) -> None:
        if error is not None:
            raise error
        batch.row_block(watch(("bad", "1 / (ts - ts)")), ())

    folder.put("a", (1, 1.0), (2, 2.0))
    table = open_table(fail)
    table.start()
    until(lambda: not table.alive())
    assert type(table.failure()) is kind
    assert str(table.failure()).startswith(told)
    assert not table.is_idle()
    table.stop()
    assert table.failure() is not None
    again: list[tuple[int, int]] = []
    table = open_table(lambda number, batch: again.append((number, batch.rows)))
    table.start()
    until(table.is_idle)
    assert again == [(0, 2)]
    assert capfd.readouterr().err == ""


def test_what_spark_cannot_read_is_told_too(open_table: Any, folder: Folder, capfd: Any) -> None:
    (folder.path / "a.csv").write_text("when,what\n1,2\n")
    table = open_table(lambda number, batch: print(batch.rows))
    table.start()
    until(lambda: not table.alive())
    assert isinstance(table.failure(), DataError)
    assert str(table.failure()).endswith("a.csv: its header is not that of the others")
    assert capfd.readouterr() == ("", "")


def test_stopping_in_the_middle_of_a_batch_is_no_failure(open_table: Any, folder: Folder) -> None:
    inside, stop = threading.Event(), threading.Event()
    taken: list[int] = []

    def slowly(number: int, batch: SparkBatch) -> None:
        inside.set()
        stop.wait(60)
        taken.append(batch.rows)

    folder.put("a", (1, 1.0))
    table = open_table(slowly)
    table.start()
    inside.wait(60)
    assert not table.is_idle()
    ending = threading.Thread(target=table.stop)
    ending.start()
    stop.set()
    ending.join(60)
    assert (table.alive(), table.failure()) == (False, None)


def test_a_table_without_its_time_column_is_refused_at_once(open_table: Any) -> None:
    with pytest.raises(DataError, match="there is no column named when to take the time from"):
        open_table(lambda number, batch: None, time="when")


def test_two_tables_at_a_time(open_table: Any, folder: Folder, tmp_path: Path, capfd: Any) -> None:
    rows: dict[str, int] = {}
    folder.put("a", *((k, 1.0) for k in range(50)))

    def take(name: str) -> Callable[[int, SparkBatch], None]:
        def on_batch(number: int, batch: SparkBatch) -> None:
            rows[name] = rows.get(name, 0) + batch.rows

        return on_batch

    tables = [open_table(take(name), checkpoint=tmp_path / f"checkpoint {name}") for name in "ab"]
    rate = TableSource("rate", rows_per_second=50, select=("timestamp AS ts", "value AS v"))
    tables.append(open_table(take("rate"), source=rate, checkpoint=tmp_path / "checkpoint rate"))
    for table in tables:
        table.start()
    complete = lambda: rows.get("a") == rows.get("b") == 50 and rows.get("rate", 0) > 0  # noqa: E731
    until(lambda: complete() or any(table.failure() for table in tables), told=lambda: (rows, tables))
    assert [table.failure() for table in tables] == [None] * 3
    for table in tables:
        table.stop()
    assert capfd.readouterr().err == ""
