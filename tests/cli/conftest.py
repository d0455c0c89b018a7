"""The command as a user runs it, in this process: arguments in, exit code and both outputs back."""

from __future__ import annotations

import csv
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from tacit.cli import work
from tacit.cli.main import run

ROWS, SITES = 900, 3


@dataclass(frozen=True)
class Done:
    """What a run of the command left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def tacit(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Callable[..., Done]:
    """``tacit("replay", …)``; temporary files go where leftovers are seen."""
    spare = tmp_path / "tmp"
    spare.mkdir()

    def call(*words: object) -> Done:
        monkeypatch.setattr(sys, "argv", ["tacit", *map(str, words)])
        monkeypatch.setattr(tempfile, "tempdir", str(spare))
        monkeypatch.setattr(work, "_LINE_S", float("inf"))  # a slow machine's progress would stand among what is judged
        with pytest.raises(SystemExit) as ended:
            run()
        captured = capsys.readouterr()
        assert list(spare.iterdir()) == []
        code = ended.value.code
        return Done(code if isinstance(code, int) else 0, captured.out, captured.err)

    return call


@pytest.fixture(scope="session")
def readings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A CSV of three stations whose mean crosses 10 and comes back: station, ts, x, y, label."""
    path = tmp_path_factory.mktemp("data") / "readings.csv"
    rng = np.random.default_rng(7)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["station", "ts", "x", "y", "label"])
        for k in range(ROWS):
            mean = 8.0 + 4.0 * np.sin(k / ROWS * 2 * np.pi)
            x = "" if k % 97 == 0 else round(rng.normal(mean, 1.0), 3)
            writer.writerow(
                [f"s{k % SITES}", 1_700_000_000 + 10 * k, x, round(rng.normal(5.0, 1.0), 3), f"kind {k % 4}"]
            )
    return path


@pytest.fixture(scope="session")
def where(readings: Path) -> list[str]:
    """The options that lead to the readings."""
    return ["--data", str(readings), "--site", "station", "--time", "ts"]


@pytest.fixture
def sentence(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a watch into a file."""

    def write(text: str) -> Path:
        path = tmp_path / "watch.sql"
        path.write_text(text, encoding="utf-8")
        return path

    return write
