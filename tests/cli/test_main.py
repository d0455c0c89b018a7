"""Errors become one sentence and an exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tacit.cli import main
from tacit.cli.work import no_interrupt_lost, orderly_end
from tacit.vocabulary.errors import DataError, MachineError, SentenceError

ROOT = Path(__file__).parents[2]


def outcome(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> int | str | None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    with pytest.raises(SystemExit) as ended:
        main.run()
    return ended.value.code


@pytest.mark.parametrize(
    ("error", "code", "sentence"),
    [
        (SentenceError("there is no so3", line=1, column=8), 2, "tacit: line 1, column 8: there is no so3\n"),
        (DataError("a.csv is empty"), 2, "tacit: a.csv is empty\n"),
        (MachineError("no Java"), 1, "tacit: no Java\n"),
        (KeyboardInterrupt(), 130, "tacit: interrupted\n"),
        (
            ValueError("a\nb"),
            1,
            "tacit: unexpected ValueError: a b (a defect of tacit; TACIT_DEBUG=1 shows where)\n",
        ),
    ],
)
def test_one_sentence_and_the_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: BaseException, code: int, sentence: str
) -> None:
    monkeypatch.delenv("TACIT_DEBUG", raising=False)
    assert outcome(monkeypatch, error) == code
    assert capsys.readouterr() == ("", sentence)


@pytest.mark.parametrize("error", [DataError("a.csv is empty"), ValueError("a")])
def test_debugging_shows_where(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(main, "app", fail)
    monkeypatch.setenv("TACIT_DEBUG", "1")
    with pytest.raises(type(error)):
        main.run()


def tacit(*arguments: str) -> subprocess.CompletedProcess[str]:
    """The command of this source tree, whether or not a tacit is installed."""
    command = [sys.executable, "-m", "tacit.cli.main", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_as_a_process() -> None:
    assert tacit("--version").stdout == "tacit 0.1.0\n"
    assert "doctor" in tacit("--help").stdout
    wrong = tacit("nonsense")
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "No such command 'nonsense'" in wrong.stderr


def _swallow_one() -> None:
    with no_interrupt_lost(), suppress(BaseException):
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_others_swallow_is_raised_in_the_end() -> None:
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            _swallow_one()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        with no_interrupt_lost():
            pass
    finally:
        signal.signal(signal.SIGINT, before)


def _wrap(number: int) -> None:
    """As compilers do: what C code has called may only raise errors."""
    with no_interrupt_lost():
        try:
            signal.raise_signal(number)
        except BaseException:
            raise RuntimeError("something was raised meanwhile") from None


def test_an_end_that_comes_out_as_an_error_is_an_end() -> None:
    with orderly_end():
        with pytest.raises(SystemExit) as ended:
            _wrap(signal.SIGTERM)
        assert ended.value.code == 128 + signal.SIGTERM
        with pytest.raises(ZeroDivisionError), no_interrupt_lost():
            _ = 1 / 0
