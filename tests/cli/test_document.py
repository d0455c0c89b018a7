"""docs/REPLAY.md is true: its examples run, one after the other, in an empty folder."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.recording.vary import PARAMETERS

PAGE = (Path(__file__).parents[2] / "docs" / "REPLAY.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(python|toml|)\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.middle
@pytest.mark.usefixtures("spark")
def test_every_example_runs(
    tacit: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    for kind, block in BLOCKS:
        if kind == "toml":
            Path("tacit.toml").write_text(block, encoding="utf-8")
            continue
        if kind == "python":
            exec(compile(block, "docs/REPLAY.md", "exec"), {})
            continue
        for line in block.splitlines():
            command, *words = shlex.split(line)
            assert command == "tacit"
            done = tacit(*words)
            assert (done.code, done.err) == (0, ""), line
    assert "messages for 4000 events; 0 missed" in capsys.readouterr().out
    assert sorted(path.name for path in folder.iterdir()) == [
        "hot.png", "hot.sql", "incoming", "prepared", "readings.csv", "swept", "tacit.toml",
    ]  # fmt: skip
    assert sum(1 for _ in (folder / "swept" / "sweep.csv").open()) == 11


def test_everything_that_can_be_varied_is_named() -> None:
    table = PAGE.split("| `--vary` |")[1].split("\n\n")[0]
    assert set(PARAMETERS) <= set(re.findall(r"`(\w+)`", table))
