"""What a coordinator refuses at its start, and says so that it can be mended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit.runtime.config import Config, load_config
from tacit.runtime.configured_tables import configured_tables
from tacit.runtime.coordinator_runner import CoordinatorRunner
from tacit.vocabulary import InputError, OptionError

HOT = "CREATE WATCH hot AS SELECT AVG(x) AS m FROM d WINDOW LAST 10 SECONDS EVERY 1 SECOND ALERT WHEN m > 8"


def started(folder: Path, **settings: Any) -> CoordinatorRunner:
    """A coordinator that has started, or the error that kept it from it."""
    coordinator = {"listen": "127.0.0.1:0", "watches": settings.pop("watches", [])}
    config = Config.model_validate({"coordinator": coordinator, **settings}, context={"folder": folder})
    runner = CoordinatorRunner(config)
    runner.start()
    return runner


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{HOT};\n\nCREATE WATCH cold AS SELECT AVG(x) FROM d ALRT WHEN m > 1", "line 3, column 43: "),
        (f"-- hot\n{HOT};\n{HOT}", "statement 2 of 2 (line 3): there is a watch named hot already"),
        (HOT.replace("1 SECOND", "1 MICROSECOND"), "hot: EVERY 1 MICROSECOND is too short"),
        (b"\xff\xfe", "are not a text in UTF-8"),
    ],
)
def test_an_error_in_a_file_of_watches_names_the_file_and_the_line(
    tmp_path: Path, text: str | bytes, words: str
) -> None:
    path = tmp_path / "hot.sql"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "first.sql").write_text("-- only a comment")
    with pytest.raises(InputError, match=re.escape(words)) as caught:
        started(tmp_path, watches=["first.sql", "hot.sql"])
    assert str(path) in str(caught.value)
    path.write_text(HOT)  # nothing was kept of what came before the error
    runner = started(tmp_path, watches=["first.sql", "hot.sql"])
    assert [watch["watch"] for watch in runner.ask({"status": True})["watches"]] == ["hot"]
    runner.stop()


def test_a_file_of_alerts_that_cannot_be_written_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for path in ("file/alerts.jsonl", "folder"):  # root may write wherever there can be a file
        with pytest.raises(OptionError, match=rf"the sink pager cannot write to {tmp_path / path}: .*; name a file"):
            started(tmp_path, sinks=[{"kind": "file", "name": "pager", "path": path}])
    runner = started(tmp_path, sinks=[{"kind": "file", "path": "new/alerts.jsonl"}])
    runner.stop()
    assert (tmp_path / "new" / "alerts.jsonl").read_text() == ""


AIR = """
[coordinator]
listen = "127.0.0.1:0"
watches = ["watches.sql"]
[tables.air]
source = "files"
path = "air/{site}"
time = "ts"
schema = "ts TIMESTAMP, station STRING, no2 DOUBLE"
[tables.water]
source = "kafka"
servers = "localhost:9092"
topic = "water"
time = "ts"
schema = "ts TIMESTAMP, level DOUBLE"
select = ["ts", "level / 100 AS metres"]
[sites.north]
[sites.south.tables]
water = false
"""


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ("AVG(no2) AS m FROM aer", "there is no table named aer; did you mean air?"),
        (
            "AVG(no3) AS m FROM air",
            "there is no column named no3; did you mean no2?; the table air of site north is meant",
        ),
        ("AVG(station) AS m FROM air", "station is of type string where a number is expected"),
        ("AVG(no2) AS m FROM air", None),
        ("AVG(metres) AS m FROM water", None),  # what Spark makes of SELECT is not known here
    ],
)
def test_before_sites_come_sentences_are_checked_against_their_configuration(
    tmp_path: Path, sentence: str, words: str | None
) -> None:
    (tmp_path / "tacit.toml").write_text(AIR)
    text = f"CREATE WATCH w AS SELECT {sentence} WINDOW LAST 1 HOUR EVERY 1 MINUTE ALERT WHEN m > 1"
    (tmp_path / "watches.sql").write_text("-- none")
    runner = CoordinatorRunner(load_config(tmp_path / "tacit.toml"))
    runner.start()
    try:
        if words is None:
            assert runner.ask({"sql": text})["results"][0]["done"]
        else:
            with pytest.raises(InputError, match=re.escape(words)):
                runner.ask({"sql": text})
    finally:
        runner.stop()


def test_columns_of_parquet_files_are_known_before_sites_come(tmp_path: Path) -> None:
    text = AIR.replace('schema = "ts TIMESTAMP, station STRING, no2 DOUBLE"\n', "").replace("air/{site}", "air")
    (tmp_path / "tacit.toml").write_text(text)
    config = load_config(tmp_path / "tacit.toml")
    assert configured_tables(config)["north"] == {"air": {}, "water": {}}
    (tmp_path / "air").mkdir()
    table = pa.table({"ts": pa.array([0], pa.timestamp("us")), "no2": [1.5], "n": [1], "tags": [["a"]]})
    pq.write_table(table, tmp_path / "air" / "part.parquet")
    assert configured_tables(config)["north"]["air"] == {
        "ts": "timestamp", "no2": "double", "n": "bigint", "tags": "array<string>",
    }  # fmt: skip
    (tmp_path / "air" / "station=Aoti").mkdir()  # a column that stands in no file
    assert configured_tables(config)["north"]["air"] == {}
