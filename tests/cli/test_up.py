"""``tacit up`` and ``tacit site`` before Spark is started: what is found then, and how an interrupt ends them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.cli import live
from tacit.runtime.site_runner import SparkHost

Tacit = Callable[..., Any]


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A site without its token file; Spark must not be started."""

    def session(_: SparkHost) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(SparkHost, "session", session)
    path = tmp_path / "tacit.toml"
    path.write_text(
        '[coordinator]\nlisten = "127.0.0.1:0"\n[tables.t]\nsource = "rate"\n[sites.east]\ntoken = "file:east.token"\n'
    )
    return path


@pytest.mark.parametrize("command", [("up",), ("site", "east")], ids=" ".join)
def test_a_token_that_is_not_there_is_found_before_spark_is_started(
    command: tuple[str, ...], tacit: Tacit, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "load_kernels", lambda: None)
    done = tacit(command[0], config, *command[1:])
    assert done.code == 2
    assert done.err.startswith(f"tacit: the file {config.with_name('east.token')} does not exist")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["INT", "TERM"])
def test_an_interrupt_ends_it_while_kernels_are_compiled(
    number: int, code: int, tacit: Tacit, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compiling takes minutes and looks at no event: the signal itself must end it."""

    def compile_for_long() -> None:
        os.kill(os.getpid(), number)
        time.sleep(0.2)  # the handler runs here at the latest
        raise AssertionError("compiling went on")

    monkeypatch.setattr(live, "load_kernels", compile_for_long)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a job in the background does not have
    try:
        assert tacit("up", config).code == code
    finally:
        signal.signal(signal.SIGINT, before)
