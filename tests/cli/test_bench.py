"""``tacit bench``: benchmarks are found, named and run; their failure is the command's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.cli import bench

Tacit = Callable[..., Any]
GOOD = (
    'DESCRIPTION = "{name} is measured"\n\n\ndef main(arguments):\n    print("{name}", arguments)\n    return {code}\n'
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of benchmarks: two that can be run, one that fails, and a helper that is none."""
    found = tmp_path / "measures"
    found.mkdir()
    for name, code in (("fast", 0), ("slow", 0), ("wrong", 1)):
        (found / f"{name}.py").write_text(GOOD.format(name=name, code=code))
    (found / "common.py").write_text("raise RuntimeError('not to be run')\n")
    monkeypatch.setattr(bench, "find_folder", lambda: found)
    return found


@pytest.mark.usefixtures("folder")
def test_list_says_what_there_is(tacit: Tacit) -> None:
    done = tacit("bench", "--list")
    assert (done.code, done.err) == (0, "")
    assert done.out == "fast   fast is measured\nslow   slow is measured\nwrong  wrong is measured\n"


@pytest.mark.usefixtures("folder")
def test_names_come_first_and_the_rest_is_the_benchmark_s_own(tacit: Tacit) -> None:
    done = tacit("bench", "slow", "fast", "--data-dir", "here", "--quick")
    assert done.code == 0
    assert done.out.splitlines() == [
        "== slow: slow is measured", "slow ['--data-dir', 'here', '--quick']",
        "== fast: fast is measured", "fast ['--data-dir', 'here', '--quick']",
    ]  # fmt: skip


@pytest.mark.usefixtures("folder")
def test_help_is_of_the_command_or_of_the_benchmark_that_is_named(tacit: Tacit) -> None:
    for word in ("--help", "-h"):
        assert "tacit bench NAME" in tacit("bench", word).out
        assert tacit("bench", "fast", word).out == f"== fast: fast is measured\nfast ['{word}']\n"


@pytest.mark.usefixtures("folder")
def test_one_that_fails_fails_the_command_and_does_not_stop_the_others(tacit: Tacit) -> None:
    done = tacit("bench", "wrong", "fast")
    assert (done.code, done.err) == (1, "failed: wrong\n")
    assert "fast []" in done.out


@pytest.mark.usefixtures("folder")
def test_an_unknown_name(tacit: Tacit) -> None:
    done = tacit("bench", "quick")
    assert (done.code, done.out) == (2, "")
    assert done.err == "tacit: there is no benchmark named 'quick'; the benchmarks are fast, slow, wrong\n"


def test_where_there_is_no_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, tacit: Tacit) -> None:
    monkeypatch.setattr(bench, "__file__", str(tmp_path / "a" / "b" / "c" / "bench.py"))
    monkeypatch.chdir(tmp_path)
    done = tacit("bench", "--list")
    assert (done.code, done.out) == (1, "")
    assert "benchmarks are not installed" in done.err
