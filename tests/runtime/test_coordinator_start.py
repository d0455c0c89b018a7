"""What a coordinator refuses at its start, and says so that it can be mended."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tacit.runtime.config import Config
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
