"""A state folder belongs to one process at a time, and to one thing for good."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tacit.runtime.locks import LOCK, MARKER, hold, is_ours, lock, owner_of
from tacit.vocabulary.errors import OptionError

HOLDER = """
import sys
from pathlib import Path
from tacit.runtime.locks import hold
with hold(Path(sys.argv[1]), "coordinator"):
    print("held", flush=True)
    sys.stdin.read()
"""


def start_holder(folder: Path) -> subprocess.Popen[bytes]:
    root = Path(__file__).resolve().parents[2]
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(root / "src")},
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    return holder


def test_a_folder_is_made_marked_and_held(tmp_path: Path) -> None:
    folder = tmp_path / "state" / "north"
    with hold(folder, "site north") as held:
        assert held == folder
        assert owner_of(folder) == "site north"
        with pytest.raises(OptionError, match=rf"in use by site north \(process {os.getpid()}\); end it first"):
            with hold(folder, "site north"):
                pass
    with hold(folder, "site north"):
        pass
    assert json.loads((folder / MARKER).read_text()) == {"format": 1, "state_of": "site north"}


def test_another_process_is_named_and_one_that_was_killed_holds_nothing(tmp_path: Path) -> None:
    holder = start_holder(tmp_path / "s")
    try:
        with pytest.raises(OptionError, match=rf"in use by coordinator \(process {holder.pid}\)"):
            with hold(tmp_path / "s", "coordinator"):
                pass
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    with hold(tmp_path / "s", "coordinator"):
        pass


def test_state_of_something_else_is_refused(tmp_path: Path) -> None:
    with hold(tmp_path / "s", "site north"):
        pass
    with pytest.raises(OptionError, match="is the state of site north, not of site south"):
        with hold(tmp_path / "s", "site south"):
            pass


def test_a_folder_with_other_files_is_refused_and_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(OptionError, match="holds files that are not tacit's"):
        with hold(tmp_path, "coordinator"):
            pass
    assert [each.name for each in tmp_path.iterdir()] == ["thesis.txt"]
    assert not is_ours(tmp_path)


def test_a_place_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OptionError, match="cannot be made"):
        with hold(tmp_path / "file" / "s", "coordinator"):
            pass


def test_a_damaged_marker_is_said(tmp_path: Path) -> None:
    (tmp_path / MARKER).write_text("{")
    with pytest.raises(OptionError, match=r"tacit-state\.json is damaged"):
        owner_of(tmp_path)


def test_a_lock_file_that_says_nothing_still_locks(tmp_path: Path) -> None:
    with lock(tmp_path, "x"):
        (tmp_path / LOCK).write_text("")
        with pytest.raises(OptionError, match="in use by another process"):
            with lock(tmp_path, "y"):
                pass
