"""Where the cache is, on machines with and without a home."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tacit._cache import _find, cache_folder


def test_the_chosen_folder_comes_first_and_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TACIT_CACHE_DIR", str(tmp_path / "a b" / "c"))
    assert cache_folder() == tmp_path / "a b" / "c"
    assert (tmp_path / "a b" / "c").is_dir()


def test_then_the_desktop_standard_then_the_home(tmp_path: Path) -> None:
    xdg, home = str(tmp_path / "xdg"), str(tmp_path / "home")
    os.mkdir(home)
    assert _find("", xdg, home, str(tmp_path)) == tmp_path / "xdg" / "tacit"
    assert _find("", "", home, str(tmp_path)) == tmp_path / "home" / ".cache" / "tacit"


@pytest.mark.parametrize("home", ["~", "", "{}/no/such/home"])
def test_without_a_home_there_is_a_private_folder(tmp_path: Path, home: str) -> None:
    folder = _find("", "relative/is/ignored", home.format(tmp_path), str(tmp_path))
    assert folder.parent == tmp_path
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_may_write_to_is_not_used(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    shared = tmp_path / f"tacit-{os.getuid()}"
    shared.mkdir()
    shared.chmod(0o777)
    folder = _find("", "", str(tmp_path / "no home"), str(tmp_path))
    assert folder != shared
    assert folder.stat().st_mode & 0o077 == 0


def test_a_file_in_the_place_of_the_chosen_folder_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert _find(str(tmp_path / "file"), str(tmp_path), "", str(tmp_path)) == tmp_path / "tacit"
