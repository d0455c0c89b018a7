"""``tacit reset`` removes state and nothing else, and only when nobody uses it."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.runtime.locks import hold

CONFIG = "[sites.north]\n[sites.south]\nstate = 'elsewhere'\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    path = home / "tacit.toml"
    path.write_text(CONFIG)
    for folder, what in (("state/coordinator", "coordinator"), ("state/north", "site north")):
        with hold(home / folder, what) as held:
            (held / "checkpoints").mkdir()
            (held / "checkpoints" / "data").write_text("x")
    return path


def test_state_goes_and_the_rest_stays(tacit: Callable[..., Any], config: Path) -> None:
    (config.parent / "elsewhere").mkdir()
    (config.parent / "elsewhere" / "thesis.txt").write_text("years of work")
    done = tacit("reset", config, "--yes")
    assert done.code == 0, done.err
    assert f"to be removed: {config.parent / 'state' / 'north'} (the state of site north)\n" in done.out
    assert "left alone:" in done.out
    assert "forgot the state in 2 folders\n" in done.out
    assert list((config.parent / "state").iterdir()) == []
    assert (config.parent / "elsewhere" / "thesis.txt").exists()
    assert config.exists()
    again = tacit("reset", config, "--yes")
    assert again.code == 0
    assert "nothing to forget" in again.out


def test_json(tacit: Callable[..., Any], config: Path) -> None:
    done = tacit("reset", config, "--yes", "--json")
    state = config.parent / "state"
    assert json.loads(done.out) == {"removed": [str(state / "coordinator"), str(state / "north")], "kept": []}


def test_state_in_use_keeps_everything(tacit: Callable[..., Any], config: Path) -> None:
    north = config.parent / "state" / "north"
    with hold(north, "site north"):
        done = tacit("reset", config, "--yes")
    assert done.code == 2
    assert f"the state in {north} is in use by site north (process " in done.err
    assert (config.parent / "state" / "coordinator" / "checkpoints" / "data").exists()


def test_without_a_terminal_it_wants_a_word(
    tacit: Callable[..., Any], config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO())  # whatever the tests are started from
    done = tacit("reset", config)
    assert done.code == 2
    assert "say --yes" in done.err
    assert (config.parent / "state" / "north" / "checkpoints" / "data").exists()


@pytest.mark.parametrize(("answer", "left"), [("n\n", True), ("y\n", False)])
def test_at_a_terminal_it_asks(
    tacit: Callable[..., Any], config: Path, monkeypatch: pytest.MonkeyPatch, answer: str, left: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr("sys.stdin", Terminal(answer))
    done = tacit("reset", config)
    assert done.code == 0
    assert "Forget everything in these folders?" in done.out
    assert (config.parent / "state" / "north").exists() == left


def test_a_link_stays_and_what_it_leads_to_is_emptied(tacit: Callable[..., Any], config: Path) -> None:
    real = config.parent / "disk"
    (config.parent / "state" / "north").rename(real)
    (config.parent / "state" / "north").symlink_to(real)
    (real / "site.sqlite").symlink_to(config)
    assert tacit("reset", config, "--yes").code == 0
    assert list(real.iterdir()) == []
    assert config.exists()


def test_a_configuration_that_is_not_there(tacit: Callable[..., Any], tmp_path: Path) -> None:
    done = tacit("reset", tmp_path / "none.toml", "--yes")
    assert done.code == 2
    assert "there is no configuration" in done.err


def test_files_of_others_in_a_state_folder_stay(tacit: Callable[..., Any], config: Path) -> None:
    north = config.parent / "state" / "north"
    (north / "notes.txt").write_text("mine")
    (north / "plots").mkdir()
    (north / "site.sqlite-wal").write_text("tacit's")
    done = tacit("reset", config, "--yes")
    assert done.code == 0, done.err
    assert f"left alone: {north / 'notes.txt'}, which is not tacit's\n" in done.out
    assert {each.name for each in north.iterdir()} == {"notes.txt", "plots", "tacit-state.json", "LOCK"}
    assert not (config.parent / "state" / "coordinator").exists()
    with hold(north, "site north"):  # the folder can be used again
        pass
    found = json.loads(tacit("reset", config, "--yes", "--json").out)
    assert found == {"removed": [str(north)], "kept": [str(north / "notes.txt"), str(north / "plots")]}
