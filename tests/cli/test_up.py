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
from tacit.cli.doing import Doing
from tacit.cli.up import Screen
from tacit.runtime.site_runner import SparkHost
from tacit.runtime.store import Store
from tacit.vocabulary import MachineError
from tests.runtime.light import until

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
    last = done.err.splitlines()[-1]
    assert last.startswith(f"tacit: the file {config.with_name('east.token')} does not exist")


@pytest.mark.parametrize("more", [(), ("--json",)], ids=["plain", "json"])
def test_without_a_terminal_every_step_of_the_start_is_a_line(
    more: tuple[str, ...], tacit: Tacit, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark does not start here, so the last line is why."""
    monkeypatch.setattr(live, "load_kernels", lambda: None)
    monkeypatch.setattr("tacit._kernel_cache.are_compiled", lambda: False)
    config.with_name("east.token").write_text("secret")
    monkeypatch.setattr(SparkHost, "session", no_java)
    done = tacit("up", config, *more)
    assert done.err.splitlines() == [
        "tacit: setting up",
        "tacit: compiling kernels, once on this machine: it takes a few minutes",
        "tacit: starting the coordinator",
        "tacit: starting Spark for east",
        "tacit: ending",
        "tacit: there is no Java here",
    ]
    assert done.out == ""


@pytest.mark.parametrize("command", [("up",), ("up", "--processes"), ("coordinator",)], ids=" ".join)
def test_a_slip_in_a_file_of_watches_is_found_before_anything_is_loaded(
    command: tuple[str, ...], tacit: Tacit, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def compiled() -> None:
        raise AssertionError("kernels were loaded")

    monkeypatch.setattr(live, "load_kernels", compiled)
    text = config.read_text().replace("127.0.0.1:0", "127.0.0.1:7999")
    config.write_text(text.replace("[tables.t]", 'watches = ["watches.sql"]\n[tables.t]'))
    Store(config.with_name("state") / "coordinator").close()  # of a start that failed over its watches
    for item, words in (("AVG(value) AS m FROM s", "there is no table named s"), ("AVG(vale) AS m FROM t", "value?")):
        config.with_name("watches.sql").write_text(f"CREATE WATCH w AS SELECT {item} TRACK m WITHIN 1")
        done = tacit(command[0], config, *command[1:])
        assert done.code == 2
        assert done.err.splitlines()[-1].startswith(f"tacit: {config.with_name('watches.sql')}: ")
        assert words in done.err


def no_java(_: SparkHost) -> None:
    """What starting Spark says on a machine without Java."""
    raise MachineError("there is no Java here")


def test_what_takes_long_is_said_again(capsys: pytest.CaptureFixture[str]) -> None:
    said: list[str] = []

    def still() -> bool:
        said.append(capsys.readouterr().err)
        return "still compiling" in "".join(said)

    with Doing(still_s=0.02) as doing:
        doing.say("compiling")
        doing.say("compiling")  # nothing new
        until(still)
        doing.say("")
        capsys.readouterr()
    assert "".join(said).count("tacit: compiling\n") == 1


def test_a_screen_without_a_terminal_tells_sites_and_states_when_they_change(
    capsys: pytest.CaptureFixture[str],
) -> None:
    row = {"watch": "hot", "waiting_for": [], "answer": [], "state": "filling"}
    with Screen() as screen:
        for status in ("linking up", "linking up", "reading"):
            screen.sites({"north": (status, ["air", "water"])})
        for state in ("filling", "filling", "valid", "resolving", "valid", "stale"):
            screen.table([{**row, "state": state, "waiting_for": ["south"] if state == "filling" else []}])
    lines = [line.removeprefix("tacit: ") for line in capsys.readouterr().err.splitlines()]
    assert lines == [
        "site north: linking up", "site north: reading air, water", "watch hot: filling, waiting for south",
        "watch hot: valid", "watch hot: stale",
    ]  # fmt: skip


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
